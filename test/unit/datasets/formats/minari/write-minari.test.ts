/** Tests writeMinari by reading its output with openMinari, and reading Parquet files of the real minari. .ci/exports.mjs reads the output with minari. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { leavesOf } from "../../../../../src/datasets/model/leaves.ts";
import {
  memorySink,
  openMinari,
  openRlds,
  type RldsDataset,
  RldsError,
  type SourceFolder,
  type StepSpec,
  sourceOf,
  writeMinari,
} from "../../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../../support/later.ts";
import { FLAGS, leaf, type MadeDataset, made } from "../../../../support/random-steps.ts";
import { expectError } from "../../../../support/refused.ts";
import { all } from "../../../../support/rlds-data.ts";
import { scaled } from "../../../../support/size.ts";

const SPEC = {
  observation: {
    at: leaf("f64", [2]),
    deep: [leaf("i32"), { said: leaf("string"), grid: leaf("u8", [2, 3]) }],
    camera: leaf("u8", [32, 40, 3]),
    gray: leaf("u8", [33, 32]),
  },
  action: { way: leaf("u8"), force: leaf("f32", [1]) },
  reward: leaf("f32"),
  ...FLAGS,
  note: leaf("string"),
  speed: leaf("f32", [2]),
} as const;
const METADATA = { success: leaf("bool"), score: leaf("f64"), options: { wind: leaf("f64"), name: leaf("string") } } as const;
const metadata = (k: number) => ({ success: k % 2 === 0, score: k / 3, options: { wind: k + 0.5, name: `n${k}` } });
const demonstrations = (lengths: readonly number[] = [4, 2, 6]) =>
  made(SPEC as unknown as StepSpec, lengths, { metadataSpec: METADATA, metadata, terminal: (k) => k !== 1 });

type Step = { readonly [name: string]: unknown };
const stepsAt = (data: MadeDataset, k: number) => data[k]?.steps as Step[];
const json = (files: Map<string, Uint8Array>, path: string) => JSON.parse(new TextDecoder().decode(files.get(path)));

async function written(data: MadeDataset, options: object = {}) {
  const files = memorySink();
  await writeMinari(data as unknown as RldsDataset<unknown>, files, { id: "made/all-v0", ...options });
  return files;
}

it("writeMinari keeps infos of Minari in place, and apart from fields with the same name", async () => {
  const more = { mark: leaf("f32"), aside: leaf("i64") };
  for (const [fields, wanted] of [
    [{ infos: more, note: leaf("string") }, ["aside", "mark", "note"]],
    [{ infos: { ...more, note: leaf("i32") }, note: leaf("string") }, ["infos/aside", "infos/mark", "infos/note", "note"]],
  ] as const) {
    const spec = { observation: leaf("f32", [2]), action: leaf("f32", [2]), reward: leaf("f32"), ...fields, ...FLAGS } as unknown as StepSpec;
    const files = memorySink();
    await writeMinari(made(spec, [3, 2]) as unknown as RldsDataset<unknown>, files, { id: "a-v0" });
    const reader = await openRlds(files, { infos: true });
    const [first] = await all(reader);
    expect(
      leavesOf((reader.stepSpec as { readonly infos: StepSpec }).infos)
        .map(({ path }) => path)
        .sort(),
    ).toEqual(wanted);
    const [step] = (first as MadeDataset[number]).steps as readonly { readonly infos: object }[];
    const [source] = stepsAt(made(spec, [3, 2]), 0) as unknown as readonly { readonly note: string; readonly infos: { readonly aside: bigint } }[];
    expect(step?.infos).toMatchObject(wanted.length === 3 ? { ...source?.infos, note: source?.note } : { infos: source?.infos, note: source?.note });
  }
});

it("writeMinari and openMinari keep observations, actions, rewards, ends, infos and metadata", async () => {
  const data = demonstrations();
  const files = await written(data, { description: "demonstrations" });
  const reader = await openRlds(files, { infos: true });
  expect(reader).toMatchObject({ format: "minari", name: "made/all-v0", episodes: 3, steps: 12 });
  expect(reader.about).toMatchObject({ description: "demonstrations", data_format: "parquet", jpeg_encoding: true });
  const found = await all(reader);
  for (const [k, { steps, ...about }] of found.entries()) {
    const expected = stepsAt(data, k);
    expect(about).toEqual({ ...metadata(k), final_step: "observation", id: BigInt(k), total_steps: BigInt(expected.length - 1) });
    expect(steps).toHaveLength(expected.length);
    for (const [i, step] of (steps as Step[]).entries()) {
      const { observation, action, reward, note, speed, is_first, is_last, is_terminal } = expected[i] as Step;
      const isFinal = i === expected.length - 1;
      expect(step).toMatchObject({ observation, infos: { note, speed }, is_first, is_last, is_terminal });
      if (!isFinal) expect(step).toMatchObject({ action, reward });
      // The discount is 0 for the action that led to the end, and for the final observation.
      expect(step.discount).toBe(isFinal || (i === expected.length - 2 && k !== 1) ? 0 : 1);
    }
  }
});

it('finalStep "transition" keeps the last action and repeats its observation as the final one', async () => {
  const data = demonstrations([3, 1]);
  const found = await all(await openMinari(await written(data, { finalStep: "transition" })));
  for (const [k, { steps }] of found.entries()) {
    const expected = stepsAt(data, k);
    expect(steps).toHaveLength(expected.length + 1);
    expected.forEach(({ action, reward, observation }, i) => {
      expect((steps as Step[])[i]).toMatchObject({ action, reward, observation });
    });
    expect((steps as Step[]).at(-1)).toMatchObject({ observation: expected.at(-1)?.observation, is_last: true, is_terminal: k === 0 });
  }
});

it("writeMinari writes the same bytes for the same data, and one table per episode", async () => {
  const files = await written(demonstrations([2, 3]));
  expect([...files.keys()]).toEqual(
    ["0/part-0.parquet", "0/metadata.json", "1/part-0.parquet", "1/metadata.json", "metadata.json"].map((path) => `made/all-v0/data/${path}`),
  );
  expect(await written(demonstrations([2, 3]))).toEqual(files);
});

it("writeMinari writes the spaces in the form of Gymnasium", async () => {
  const files = await written(demonstrations());
  const { observation_space, action_space, total_steps, total_episodes, dataset_id } = json(files, "made/all-v0/data/metadata.json");
  expect({ total_steps, total_episodes, dataset_id }).toEqual({ total_steps: 9, total_episodes: 3, dataset_id: "made/all-v0" });
  const ways = demonstrations().flatMap(({ steps }) => (steps as { readonly action: { readonly way: number } }[]).map(({ action }) => action.way));
  expect(JSON.parse(action_space.replaceAll(/-?Infinity/g, '"$&"'))).toEqual({
    type: "Dict",
    subspaces: {
      force: { type: "Box", dtype: "float32", shape: [1], low: ["-Infinity"], high: ["Infinity"] },
      way: { type: "Discrete", dtype: "int64", start: 0, n: Math.max(...ways) + 1 },
    },
  });
  const { subspaces } = JSON.parse(observation_space.replaceAll(/-?Infinity/g, '"$&"'));
  expect(Object.keys(subspaces)).toEqual(["at", "camera", "deep", "gray"]);
  expect(subspaces.deep).toMatchObject({
    type: "Tuple",
    subspaces: [{ type: "Box", dtype: "int32", shape: [], low: -2147483648, high: 2147483647 }, { type: "Dict" }],
  });
  expect(subspaces.deep.subspaces[1].subspaces.said).toMatchObject({ type: "Text", min_length: 0, max_length: 100 });
});

it("writeMinari stores images raw if one of them cannot be a PNG", async () => {
  const spec = { ...SPEC, observation: { rgb: leaf("u8", [32, 32, 3]), one: leaf("u8", [32, 32, 1]), many: leaf("u8", [32, 32, 7]) } } as unknown as StepSpec;
  const data = made(spec, [2]);
  const files = await written(data);
  expect(json(files, "made/all-v0/data/metadata.json").jpeg_encoding).toBe(false);
  const [{ steps }] = (await all(await openMinari(files))) as [{ readonly steps: Step[] }];
  expect(steps.map(({ observation }) => observation)).toEqual(stepsAt(data, 0).map(({ observation }) => observation));
});

it("writeMinari replaces a dataset with all its episodes, and keeps it if the new one fails", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-minari-"));
  try {
    const to = (data: MadeDataset, options: object = {}) => writeMinari(data as unknown as RldsDataset<unknown>, folder, { id: "a-v1", ...options });
    await to(demonstrations());
    expectError(await errorFrom(to(demonstrations([2]))), "IO", /not empty.*overwrite/);
    await to(demonstrations([2]), { overwrite: true });
    expect(await all(await openRlds(join(folder, "a-v1")))).toHaveLength(1);
    const failed = demonstrations([2, 2]);
    stepsAt(failed, 1)[1] = {};
    expectError(await errorFrom(to(failed, { overwrite: true })), "SPEC_MISMATCH");
    expect(await all(await openRlds(folder))).toHaveLength(1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe("rejects", () => {
  const base = { observation: leaf("f32", [2]), action: leaf("f32", [1]), reward: leaf("f32"), ...FLAGS };
  it.each([
    ["no action", { observation: leaf("f32"), reward: leaf("f32"), ...FLAGS }, /^a step must have an action/],
    ["bytes", { ...base, observation: { raw: leaf("bytes") } }, /^observation\/raw is bytes of shape \[\], but Minari cannot store bytes/],
    ["lists of texts", { ...base, words: leaf("string", [2]) }, /^a step\/words is string of shape \[2\], but Minari stores only single strings/],
    ["no elements", { ...base, action: leaf("f32", [0]) }, /a value without elements/],
    ["rewards of several numbers", { ...base, reward: leaf("f32", [2]) }, /^the reward must be a single number/],
    ["an empty observation", { ...base, observation: {} }, /^observation must have at least one leaf/],
  ] as const)("%s", async (_, spec, message) => {
    const files = memorySink();
    expectError(await errorFrom(writeMinari(made(spec as unknown as StepSpec, [2]) as never, files, { id: "a-v0" })), "UNSUPPORTED", message);
    expect(files.size).toBe(0);
  });

  it("episodes without steps, and data without episodes", async () => {
    expectError(await errorFrom(written(made(base as StepSpec, [2, 0]))), "INVALID_DATA", /an episode must have at least one step.*\(episode 1\)/);
    expectError(await errorFrom(written(made(base as StepSpec, []))), "EMPTY", /must have at least one episode/);
  });

  it.each([["a"], ["a-v"], ["/a-v0"], ["a//b-v0"], ["../a-v0"], ["a/b-v0/"], [5]] as const)("the id %o", async (id) => {
    const error = await errorFrom(writeMinari(made(base as StepSpec, [2]) as never, memorySink(), { id: id as string }));
    expect((error as Error).message).toMatch(/^id must be /);
  });
});

describe("a dataset of the real minari", () => {
  const DATA = join(import.meta.dirname, "../../../../data/extra");

  it("is equal in Parquet and HDF5", async () => {
    const options = { infos: true };
    const readers = [await openMinari(join(DATA, "minari/table/walk-v0"), options), await openMinari(join(DATA, "minari/walk/nested-v0"), options)] as const;
    const [parquet, hdf5] = [await all(readers[0]), await all(readers[1])];
    for (const reader of readers) await reader.close();
    // In Parquet, Minari stores single numbers among infos as lists with one element.
    const numbers = (value: unknown): unknown => {
      if (typeof value === "bigint") return Number(value);
      if (ArrayBuffer.isView(value)) return numbers(Array.from(value as unknown as ArrayLike<number>, Number));
      if (Array.isArray(value)) return value.length === 1 ? numbers(value[0]) : value.map(numbers);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, numbers(part)]));
    };
    expect(parquet).toHaveLength(hdf5.length);
    for (const [k, { steps }] of parquet.entries()) expect(numbers(steps)).toEqual(numbers(hdf5[k]?.steps));
  });
});

it("an episode can be read again after its table could not be opened once", async () => {
  const { folder } = await sourceOf(await written(demonstrations([3, 2])));
  let failures = 1;
  const shaky = {
    ...(folder as SourceFolder),
    async open(path: string) {
      if (path.includes("/1/part-0") && failures-- > 0) throw new RldsError("IO", "the network is away");
      return (folder as SourceFolder).open(path);
    },
  };
  const reader = await openMinari(shaky);
  expectError(await errorFrom(all(reader.startingAt?.(1) ?? [])), "IO", /the network is away/);
  expect((await all(reader.startingAt?.(1) ?? [])).map(({ steps }) => steps.length)).toEqual([2]);
});

describe("a damaged dataset", () => {
  it("reads or throws an error with a known code", async () => {
    const files = await written(demonstrations([3, 2]));
    const codes = ["CORRUPT", "UNSUPPORTED", "NOT_FOUND", "EMPTY", "SPEC_MISMATCH", "INVALID_DATA"];
    const paths = [...files.keys()];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), fc.nat(), fc.integer({ min: 0, max: 255 }), fc.boolean(), async (path, at, byte, cut) => {
        const bytes = (files.get(path) as Uint8Array).slice();
        bytes[at % bytes.length] = byte;
        const damaged = new Map([...files, [path, cut ? bytes.slice(0, at % bytes.length) : bytes]]);
        try {
          await all(await openMinari(damaged, { maxBytes: 2 ** 24 }));
        } catch (error) {
          expect(codes).toContain((error as { readonly code?: string }).code);
        }
      }),
      { numRuns: scaled(150, 30) },
    );
  });

  it("is rejected without tables, with several tables per episode or with another data_format", async () => {
    const files = await written(demonstrations([2]));
    const about = json(files, "made/all-v0/data/metadata.json");
    const withAbout = (more: object) =>
      new Map([...files, ["made/all-v0/data/metadata.json", new TextEncoder().encode(JSON.stringify({ ...about, ...more }))]]);
    expectError(
      await errorFrom(openMinari(withAbout({ data_format: "arrow" }))),
      "UNSUPPORTED",
      /data_format "arrow", but Reprise reads only hdf5 and parquet/,
    );
    expectError(await errorFrom(openMinari(new Map([...files].filter(([path]) => !path.endsWith(".parquet"))))), "EMPTY", /no episodes/);
    const twice = new Map([...files, ["made/all-v0/data/0/part-1.parquet", readFileSync(join(import.meta.dirname, "../../../../data/extra/plain.parquet"))]]);
    expectError(await errorFrom(openMinari(twice)), "UNSUPPORTED", /episode 0 has several tables/);
  });
});

it("writeMinari and openMinari keep random spaces", async () => {
  const node = fc.letrec<{ readonly node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 2 },
      fc.record({
        dtype: fc.constantFrom("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"),
        shape: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }),
      }),
      fc.record({ dtype: fc.constant("string"), shape: fc.constant([]) }),
      fc.array(tie("node"), { minLength: 1, maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "Z", "é", "long name"), tie("node"), { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
    ),
  })).node;
  await fc.assert(
    fc.asyncProperty(node, node, fc.array(fc.integer({ min: 2, max: 6 }), { minLength: 1, maxLength: 3 }), async (observation, action, lengths) => {
      const data = made({ observation, action, reward: leaf("f64"), ...FLAGS } as unknown as StepSpec, lengths);
      const found = await all(await openMinari(await written(data)));
      for (const [k, { steps }] of found.entries())
        for (const [i, step] of (steps as Step[]).entries()) {
          const expected = stepsAt(data, k)[i] as Step;
          expect(step.observation).toEqual(expected.observation);
          if (i < steps.length - 1) expect(step.action).toEqual(expected.action);
        }
    }),
    { numRuns: 30 },
  );
});
