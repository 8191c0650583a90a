/** Tests steps with half floats in every format that Reprise writes: values are read back unchanged, with the dtype of the format. */
import { describe, expect, test } from "vitest";
import {
  memorySink,
  openJsonl,
  openLeRobot,
  openMinari,
  openParquet,
  openReplay,
  openTfds,
  pushEpisodes,
  type RldsDataset,
  type RldsReader,
  writeJsonl,
  writeLeRobot,
  writeMinari,
  writeParquet,
  writeTfds,
} from "../../../../src/datasets/rlds/index.ts";
import { memory } from "../../../../src/files/memory.ts";
import { bf16, bool, f16, f32, Replay } from "../../../../src/index.ts";
import { open, openRecording } from "../../../../src/recorder/index.ts";
import { roundHalf } from "../../../../src/schema/half.ts";
import { errorFrom } from "../../../support/later.ts";
import { bytesOf, errorOf, expectError } from "../../../support/refused.ts";

const FLAGS = { is_first: bool(), is_last: bool(), is_terminal: bool() };
const SPEC = { observation: { a: f16(3), b: bf16(2, 2), c: f16() }, action: bf16(2), reward: f32(), discount: f32(), ...FLAGS };
/** Numbers that f16 (A) and bf16 (B) represent exactly, including extremes. JSON needs special words for infinity and NaN. */
const A = [0, -0, 65504, -65504, 2 ** -24, -(2 ** -14), 1 + 2 ** -10, Number.POSITIVE_INFINITY, Number.NaN];
const B = [3.3895313892515355e38, 2 ** -133, -0, 1 + 2 ** -7, -1e-39, Number.NEGATIVE_INFINITY].map((x) => roundHalf("bf16", x));
const pick = <T>(from: readonly T[], i: number, n: number) => Array.from({ length: n }, (_, k) => from[(i + k) % from.length] as T);
const N = 12;
const steps = Array.from({ length: N }, (_, i) => ({
  observation: { a: Float32Array.from(pick(A, i, 3)), b: Float32Array.from(pick(B, i, 4)), c: A[i % A.length] as number },
  action: Float32Array.from(pick(B, 2 * i, 2)),
  reward: i / 4,
  discount: 1,
  ...{ is_first: i === 0, is_last: i === N - 1, is_terminal: i === N - 1 },
}));
const dataset = () => Object.assign([{ steps }], { stepSpec: SPEC, metadataSpec: {} }) as unknown as RldsDataset<unknown>;

type Open = () => Promise<RldsReader<unknown>>;
type Form = readonly [name: string, a: string, b: string, write: () => Promise<Open>];

const written = async (write: (rlds: RldsDataset<unknown>, to: Map<string, Uint8Array>) => Promise<unknown>) => {
  const files = memorySink();
  await write(dataset(), files);
  return files;
};
const FORMS: readonly Form[] = [
  [
    "JSON lines",
    "f16",
    "bf16",
    async () => {
      const files = await written((rlds, to) => writeJsonl(rlds, to));
      return () => openJsonl(new Blob([files.get("steps.jsonl") as Uint8Array<ArrayBuffer>]));
    },
  ],
  [
    "Parquet of ours",
    "f16",
    "bf16",
    async () => {
      const files = await written((rlds, to) => writeParquet(rlds, to));
      return () => openParquet(files);
    },
  ],
  [
    "TFDS",
    "f16",
    "bf16",
    async () => {
      const files = await written((rlds, to) => writeTfds(rlds, to, { name: "x" }));
      return () => openTfds(files);
    },
  ],
  [
    "LeRobot",
    "f16",
    "f32",
    async () => {
      const files = await written((rlds, to) => writeLeRobot(rlds, to, { fps: 10, finalStep: "transition" }));
      return () => openLeRobot(files);
    },
  ],
  [
    "Minari",
    "f16",
    "f32",
    async () => {
      const files = await written((rlds, to) => writeMinari(rlds, to, { id: "x/y-v0" }));
      return () => openMinari(files);
    },
  ],
] as const;

async function columnsIn(reader: RldsReader<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { steps: episode } of reader) for (const step of episode as Iterable<unknown>) found.push(step);
  return found;
}

describe.each(FORMS)("%s", (name, a, b, write) => {
  test(`f16 is ${a}, bf16 is ${b}, and numbers equal the written ones`, async () => {
    const reader = await (await write())();
    expect(reader.stepSpec).toMatchObject({
      observation: { a: { dtype: a, shape: [3] }, b: { dtype: b, shape: [2, 2] }, c: { dtype: a } },
      action: { dtype: b },
    });
    const found = (await columnsIn(reader)) as typeof steps;
    expect(found.length).toBe(N);
    for (const [i, step] of found.entries()) {
      expect(step.observation.a, `${i}`).toEqual(steps[i]?.observation.a);
      expect([...step.observation.b], `${i}`).toEqual([...(steps[i]?.observation.b ?? [])]);
      // LeRobot represents a number as a list with one element.
      expect([step.observation.c].flatMap((c: unknown) => (typeof c === "number" ? c : [...(c as Float32Array)]))).toEqual([steps[i]?.observation.c]);
      // Minari omits the last action.
      if (i < N - 1) expect([...step.action]).toEqual([...(steps[i]?.action ?? [])]);
    }
  });

  test("a number that would become infinite as f16 is rejected", async () => {
    const files = memorySink();
    const bad = { ...steps[1], observation: { ...steps[1]?.observation, c: 65520 } };
    const rlds = Object.assign([{ steps: [steps[0], bad, steps[N - 1]] }], { stepSpec: SPEC, metadataSpec: {} }) as unknown as RldsDataset<unknown>;
    const writers = { "JSON lines": writeJsonl, "Parquet of ours": writeParquet, TFDS: writeTfds, LeRobot: writeLeRobot, Minari: writeMinari };
    const options = { name: "x", fps: 10, id: "x/y-v0" };
    const own = name === "TFDS" ? { name: options.name } : name === "LeRobot" ? { fps: 10 } : name === "Minari" ? { id: options.id } : {};
    const error = await errorFrom((writers[name as "TFDS"] as typeof writeTfds)(rlds, files, own as never));
    expectError(error, "SPEC_MISMATCH", /^observation\/c must .*f16.*-65504.*65504.*got 65520 \(episode 0, step 1\)/);
  });
});

test("a recording returns half floats unchanged and rejects numbers that are too large", async () => {
  const dir = memory();
  const spec = { observation: SPEC.observation, action: SPEC.action };
  const recorder = await open({ dir, spec, fps: 10 });
  for (const { observation, action } of steps) recorder.step({ observation, action });
  expectError(
    errorOf(() => recorder.step({ observation: { ...(steps[0] as (typeof steps)[0]).observation, c: 7e4 }, action: [0, 0] })),
    "INVALID_DATA",
    /^observation\.c must be finite as f16/,
  );
  expectError(
    errorOf(() => recorder.step({ observation: { ...(steps[0] as (typeof steps)[0]).observation, a: Float32Array.of(1, 7e4, 2) }, action: [0, 0] })),
    "INVALID_DATA",
    /^observation\.a must be finite as f16, .* got 70000/,
  );
  await recorder.endEpisode({ terminated: true });
  await recorder.close();
  const reader = await openRecording(dir);
  expect(reader.stepSpec).toMatchObject({ observation: { a: { dtype: "f16" }, b: { dtype: "bf16" } } });
  const found = (await columnsIn(reader as never)) as typeof steps;
  expect(found.map(({ observation, action }) => ({ observation, action }))).toEqual(steps.map(({ observation, action }) => ({ observation, action })));
});

test("episodes pushed into a Replay of half floats are read back from its snapshot", async () => {
  const replay = new Replay({ spec: SPEC, tables: { t: { maxSize: 50 } }, logger: null });
  await pushEpisodes(dataset() as never, replay.writer({ items: [{ table: "t", length: 1 }] }) as never);
  const reader = await openReplay(new Blob([new Uint8Array(bytesOf(replay))]));
  const found = (await columnsIn(reader as never)) as typeof steps;
  // The last observation does not have an action.
  expect(found.map(({ observation }) => observation)).toEqual(steps.map(({ observation }) => observation));
});
