/** Tests files of writeNpz: Reprise and NumPy read them back unchanged. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { memorySink, type NpzWriteOptions, openNpz, openRlds, type RldsDataset, type StepSpec, writeNpz } from "../../../../../src/datasets/rlds/index.ts";
import { expectAlike } from "../../../../support/alike.ts";
import { FLAGS, leaf, type MadeDataset, made } from "../../../../support/random-steps.ts";
import { pythonWith } from "../../../../support/real-python.ts";
import { whole } from "../../../../support/size.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-npz-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const stepSpec = {
  observation: { image: leaf("u8", [3, 2, 3]), state: leaf("f32", [4]), half: leaf("f16", [2]), deep: { said: leaf("string"), flags: leaf("bool", [2]) } },
  action: { way: leaf("i64"), force: leaf("f64", [1]) },
  ...{ reward: leaf("f64"), discount: leaf("f32"), ...FLAGS },
  ...{ i8: leaf("i8"), u16: leaf("u16", [2]), i32: leaf("i32"), u32: leaf("u32"), u64: leaf("u64", [1]), words: leaf("string", [2]), terminated: leaf("bool") },
} as unknown as StepSpec;
const metadataSpec = { success: leaf("bool"), operator: leaf("string"), weights: leaf("f32", [3]), final_step: leaf("string") } as {
  readonly [name: string]: StepSpec;
};
const metadata = (k: number) => ({
  ...{ success: k % 2 === 0, operator: `operator \u{1f916} ${k}`, weights: Float32Array.of(k, 1, -0) },
  final_step: k % 3 === 0 ? "transition" : "observation",
});

/** Returns data that NPZ can represent: texts do not end with null characters, and half floats are exact. */
function everything(lengths: readonly number[]): MadeDataset {
  const data = made(stepSpec, lengths, { metadataSpec, metadata, terminal: (k) => k % 2 === 0 });
  for (const { steps } of data) for (const step of steps as { observation: { half: Float32Array } }[]) step.observation.half = Float32Array.of(0.5, -2);
  return data;
}

async function bytesOf(data: RldsDataset<unknown>, options?: NpzWriteOptions): Promise<Uint8Array<ArrayBuffer>> {
  const files = memorySink();
  await writeNpz(data, files, options);
  expect([...files.keys()]).toEqual(["steps.npz"]);
  return files.get("steps.npz") as Uint8Array<ArrayBuffer>;
}

const openBytes = (bytes: Uint8Array<ArrayBuffer>) => openNpz(new File([bytes], "made.npz"));

test.each(["none", "deflate"] as const)("every dtype, text and metadata are restored, even in empty episodes (compression %s)", async (compression) => {
  const data = everything([3, 0, 5, 1, 2, 40]);
  const about = { env: "made", nested: { list: [1, 2] } };
  const reader = await openBytes(await bytesOf(data as unknown as RldsDataset<unknown>, { compression, about }));
  expect(reader.stepSpec).toEqual(stepSpec);
  expect(reader.metadataSpec).toEqual(metadataSpec);
  expect([reader.about, reader.episodes, reader.steps]).toEqual([about, 6, 51]);
  let k = 0;
  for await (const { steps, ...more } of reader) {
    const { steps: wanted, ...others } = data[k++] as MadeDataset[number];
    expect(more).toEqual(others);
    expectAlike([...steps], wanted);
  }
  expect(k).toBe(6);
});

test("the same data produces the same bytes, and episodes of one step stay separate", async () => {
  const data = everything([1, 1, 1]) as unknown as RldsDataset<unknown>;
  const bytes = await bytesOf(data);
  expect(await bytesOf(data)).toEqual(bytes);
  const found = [];
  for await (const { steps, operator, final_step } of await openBytes(bytes)) found.push([steps.length, operator, final_step]);
  expect(found).toEqual([0, 1, 2].map((k) => [1, metadata(k).operator, metadata(k).final_step]));
});

test("columns can be omitted, and the last steps keep their kinds", async () => {
  const bytes = await bytesOf(everything([2, 2]) as unknown as RldsDataset<unknown>);
  const reader = await openRlds(new File([bytes], "made.npz"), { only: ["observation/state"], without: ["operator"] });
  expect(Object.keys((reader.stepSpec as { readonly observation: object }).observation)).toEqual(["state"]);
  const kinds = [];
  for await (const { final_step } of reader) kinds.push(final_step);
  expect(kinds).toEqual(["transition", "observation"]);
});

test("bytes are reported as a loss, and strict, missing rewards and maxBytes throw", async () => {
  const spec = { ...stepSpec, blob: leaf("bytes") } as unknown as StepSpec;
  const data = made(spec, [2], {}) as unknown as RldsDataset<unknown>;
  const { losses } = await writeNpz(data, memorySink());
  expect(losses).toEqual([{ what: "blob", reason: "NumPy cannot store bytes of different lengths" }]);
  const files = memorySink();
  await expect(writeNpz(data, files, { strict: true })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  expect(files.size).toBe(0);
  const { reward: _, ...incomplete } = stepSpec as { [name: string]: StepSpec };
  await expect(writeNpz(made(incomplete, [2], {}) as unknown as RldsDataset<unknown>, files)).rejects.toMatchObject({ code: "SPEC_MISMATCH" });
  await expect(writeNpz(everything([9]) as unknown as RldsDataset<unknown>, files, { maxBytes: 100 })).rejects.toThrow("Increase maxBytes, or write Parquet");
  expect(files.size).toBe(0);
});

test("names that the archive cannot have are changed and reported as losses", async () => {
  const spec = { ...stepSpec, lengths: leaf("i32"), lengths_: leaf("i8"), episode: { id: leaf("i32") }, "a/b": leaf("f32") } as unknown as StepSpec;
  const data = made(spec, [2, 3], { metadataSpec: { lengths: leaf("i32"), "c/d": leaf("i32") }, metadata: (k) => ({ lengths: k, "c/d": 7 }) });
  const files = memorySink();
  const { losses } = await writeNpz(data as unknown as RldsDataset<unknown>, files);
  expect(losses.map(({ what, reason }) => [what, reason.replace("the archive has none like it, and the leaf is called ", "")])).toEqual([
    ['the name "a/b"', "a_b"],
    ['the name "episode/id"', "episode_/id"],
    ['the name "lengths"', "lengths__"],
    ['the name "episode/c/d"', "c_d"],
  ]);
  const reader = await openNpz(new File([...files.values()] as Uint8Array<ArrayBuffer>[], "steps.npz"));
  const wanted = data.map(({ steps }) => [...(steps as Iterable<{ [name: string]: unknown }>)]);
  const found: unknown[] = [];
  for await (const { steps, lengths, c_d } of reader as AsyncIterable<{ [name: string]: unknown }>)
    found.push([lengths, c_d, [...(steps as Iterable<{ [name: string]: unknown }>)].map((step) => [step.lengths__, step.lengths_, step.episode_, step.a_b])]);
  expect(found).toEqual(wanted.map((steps, k) => [k, 7, steps.map((step) => [step.lengths, step.lengths_, step.episode, step["a/b"]])]));
  await reader.close();
});

const python = pythonWith("numpy");

test.runIf(whole && python !== undefined)("NumPy reads the file", async () => {
  const data = everything([3, 0, 2]);
  for (const compression of ["none", "deflate"] as const) {
    const path = join(folder, `${compression}.npz`);
    await writeNpz(data as unknown as RldsDataset<unknown>, path, { compression });
    const script = [
      "import json, sys, numpy as np",
      "z = np.load(sys.argv[1])",
      "print(json.dumps({k: [str(z[k].dtype), list(z[k].shape)] + ([z[k].tolist()] if z[k].size < 20 and z[k].dtype.kind != 'f' else []) for k in z.files}))",
    ].join("\n");
    const { stdout, stderr, status } = spawnSync(python as string, ["-c", script, path], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    const { reprise: _, ...found } = JSON.parse(stdout);
    expect(found.lengths).toEqual(["int64", [3], [3, 0, 2]]);
    expect(found["observation/image"]).toEqual(["uint8", [5, 3, 2, 3]]);
    expect(found["observation/half"]).toEqual(["float16", [5, 2]]);
    expect(found["action/force"].slice(0, 2)).toEqual(["float64", [5, 1]]);
    expect(found.is_first).toEqual(["bool", [5], [true, false, false, true, false]]);
    expect(found["episode/success"]).toEqual(["bool", [3], [true, false, true]]);
    expect(found["episode/operator"][2]).toEqual([0, 1, 2].map((k) => metadata(k).operator));
    const steps = data.flatMap((episode) => episode.steps) as { observation: { deep: { said: string } } }[];
    expect(found["observation/deep/said"][2]).toEqual(steps.map(({ observation }) => observation.deep.said));
  }
});
