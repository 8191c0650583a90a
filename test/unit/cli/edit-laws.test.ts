/** Tests properties that `reprise edit` and `reprise check` must have in all formats, with random specs that each format can represent. */
import { describe, expect, test } from "vitest";
import type { StepLeaf } from "../../../src/datasets/model/dataset.ts";
import { leavesOf } from "../../../src/datasets/model/leaves.ts";
import { openRlds, type RldsDataset, type StepSpec, writeCsv } from "../../../src/datasets/rlds/index.ts";
import { TestRandom } from "../../support/random.ts";
import { FLAGS, leaf, made } from "../../support/random-steps.ts";
import { all } from "../../support/rlds-data.ts";
import { scaled, some } from "../../support/size.ts";
import { editFiles, STATED } from "./edit-data.ts";
import type { Written } from "./formats.ts";
import { document, reprise } from "./support.ts";

const { fresh, WRITTEN: folders } = editFiles();

const WRITTEN: { readonly [format: string]: Written } = {
  ...folders,
  csv: {
    async write(data) {
      const file = fresh(".csv");
      await writeCsv(data, file);
      return file;
    },
    target() {
      const out = fresh(".csv");
      return { out, path: out, flags: [] };
    },
  },
};

const DTYPES = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bool", "string"];

/** Returns a random spec of numbers, vectors, matrices, images and texts, some of them in groups. */
function randomSpec(random: TestRandom): StepSpec {
  const shape = () => random.pick([[], [], [1], [3], [2, 3]]);
  const one = (): StepLeaf => {
    const dtype = random.pick(DTYPES);
    return leaf(dtype, dtype === "string" ? [] : shape());
  };
  const image = () => leaf("u8", [4, 5, 3]);
  const group = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`part${i}`, random.below(4) === 0 ? image() : one()]));
  const observation = random.below(4) === 0 ? leaf("f32", [3]) : { ...group(1 + random.below(3)), deep: group(1 + random.below(2)) };
  return {
    ...{ observation, action: leaf(random.pick(["f32", "f64"]), [2]), reward: leaf(random.pick(["f32", "f64"])) },
    discount: leaf("f32"),
    ...(random.below(2) === 0 && { timestamp: leaf("f64") }),
    ...FLAGS,
    mark: one(),
    marks: group(1 + random.below(2)),
  } as unknown as StepSpec;
}

/** Returns random episodes of the spec, with increasing timestamps. */
function randomData(spec: StepSpec, lengths: readonly number[]): RldsDataset<unknown> {
  const metadataSpec = { id: leaf("i64"), final_step: leaf("string") } as { readonly [name: string]: StepSpec };
  const metadata = (k: number) => ({ id: BigInt(k), final_step: k % 2 === 0 ? "observation" : "transition" });
  const data = made(spec, lengths, { metadataSpec, metadata, terminal: (k) => k % 3 !== 0 });
  for (const { steps } of data)
    for (const [i, step] of steps.entries()) if ("timestamp" in (spec as object)) (step as { timestamp: number }).timestamp = i / 10;
  return data as unknown as RldsDataset<unknown>;
}

/** Returns the episodes with faults that `repair` fixes. The second step of an episode always has a fault. */
function spoil(data: RldsDataset<unknown>, random: TestRandom): RldsDataset<unknown> {
  const faults: readonly object[] = [{ is_last: true }, { is_first: true }, { reward: Number.POSITIVE_INFINITY }, { action: [Number.NaN, 1] }];
  for (const { steps } of data as unknown as { readonly steps: object[] }[])
    for (const [i, step] of steps.entries()) if (i === 1 || random.below(4) === 0) steps[i] = { ...step, ...random.pick(faults) };
  return data;
}

async function contentOf(path: string, options: object) {
  const reader = await openRlds(path, options);
  const episodes = await all(reader);
  await reader.close();
  return { stepSpec: reader.stepSpec, metadataSpec: reader.metadataSpec, episodes };
}

/** Returns only the steps, because formats number episodes, and LeRobot also numbers frames across episodes. */
const stepsOf = async (path: string, options: object) =>
  (await contentOf(path, options)).episodes.map(({ steps }) => steps.map((step) => ({ ...(step as object), index: undefined, episode_index: undefined })));

const [LENGTHS, OTHERS] = [
  [5, 2, 7, 3],
  [3, 6],
];
const SEEDS = Array.from({ length: scaled(6, 1) }, (_, seed) => seed);

describe.each(some(Object.keys(WRITTEN), 2))("%s", (format) => {
  const { write, target } = WRITTEN[format] as Written;
  // Minari infos are read only on request.
  const [options, open] = format === "minari" ? [{ infos: true }, ["--open", "infos=true"]] : [{}, []];

  test.each(SEEDS)("spec %i: an edit without options or a reversed rename changes nothing", async (seed) => {
    const spec = randomSpec(new TestRandom(100 * seed + format.length));
    const path = await write(randomData(spec, LENGTHS));
    const before = await contentOf(path, options);
    const same = target();
    await document("edit", path, same.out, ...same.flags, ...open);
    expect(await contentOf(same.path, options), JSON.stringify(spec)).toEqual(before);
    const renamed = leavesOf(before.stepSpec as StepSpec).find(({ path: name }) => /(^|\/)mark$/.test(name))?.path as string;
    const [there, back] = [target(), target()];
    await document("edit", path, there.out, ...there.flags, ...open, "--rename", `${renamed}=${renamed}ed`);
    expect(leavesOf((await contentOf(there.path, options)).stepSpec as StepSpec).map(({ path: name }) => name)).toContain(`${renamed}ed`);
    await document("edit", there.path, back.out, ...back.flags, ...open, "--rename", `${renamed}ed=${renamed}`);
    expect(await contentOf(back.path, options), JSON.stringify(spec)).toEqual(before);
  });

  test.each(SEEDS)("spec %i: the parts of a concatenation equal the datasets", async (seed) => {
    const spec = randomSpec(new TestRandom(100 * seed + 50 + format.length));
    const [a, b] = [await write(randomData(spec, LENGTHS)), await write(randomData(spec, OTHERS))];
    const [joined, first, second] = [target(), target(), target()];
    await document("edit", a, joined.out, "--concat", b, ...joined.flags, ...open);
    await document("edit", joined.path, first.out, "--episodes", "0-3", ...first.flags, ...open);
    await document("edit", joined.path, second.out, "--episodes", "4-", ...second.flags, ...open);
    expect(await stepsOf(first.path, options), JSON.stringify(spec)).toEqual(await stepsOf(a, options));
    expect(await stepsOf(second.path, options), JSON.stringify(spec)).toEqual(await stepsOf(b, options));
  });

  test.each(SEEDS)("spec %i: check finds no fault after --mode repair", async (seed) => {
    const random = new TestRandom(100 * seed + 70 + format.length);
    const spec = randomSpec(random);
    const source = await (WRITTEN.jsonl as Written).write(spoil(randomData(spec, LENGTHS), random));
    expect(JSON.parse((await reprise("check", source, "--json")).stdout)).toMatchObject({ clean: false });
    const { out, path, flags } = target();
    await document("edit", source, out, ...flags, ...(STATED[format] ?? []), "--mode", "repair");
    expect(await document("check", path, "--ignore", "warnings"), JSON.stringify(spec)).toMatchObject({ clean: true, complete: true, faults: {} });
  });
});
