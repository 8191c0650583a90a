/** Tests files of writeHdf5: Reprise, h5py and robomimic read them back unchanged. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { openHdf5 } from "../../../../../src/datasets/formats/hdf5/open-file.ts";
import { memorySink, openRlds, type RldsDataset, type StepSpec, writeHdf5 } from "../../../../../src/datasets/rlds/index.ts";
import { expectAlike } from "../../../../support/alike.ts";
import { all } from "../../../../support/columns.ts";
import { root } from "../../../../support/core.ts";
import { FLAGS, leaf, type MadeDataset, made } from "../../../../support/random-steps.ts";
import { pythonWith } from "../../../../support/real-python.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-hdf5-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A spec of all types that h5wasm can write. */
const stepSpec = {
  observation: { camera: { image: leaf("u8", [3, 2, 3]) }, state: leaf("f32", [4]), pair: [leaf("i64"), leaf("f64", [2])], said: leaf("string") },
  action: leaf("f64", [2]),
  ...{ reward: leaf("f32"), discount: leaf("f32"), ...FLAGS },
  ...{ i8: leaf("i8"), i16: leaf("i16", [2, 2]), u16: leaf("u16"), i32: leaf("i32"), u32: leaf("u32"), u64: leaf("u64", [2]), words: leaf("string", [2]) },
} as unknown as StepSpec;
const metadataSpec = { seed: leaf("i64"), operator: leaf("string"), weights: leaf("f32", [3]), final_step: leaf("string") } as {
  readonly [name: string]: StepSpec;
};
const metadata = (k: number) => ({
  ...{ seed: BigInt(k) - 2n ** 60n, operator: `operator \u{1f916} ${k}`, weights: Float32Array.of(k, 1, -0) },
  final_step: k % 3 === 1 ? "transition" : "observation",
});

type Step = { [name: string]: unknown };

/** Returns data that HDF5 can represent: final steps have zero outcomes, texts do not contain null characters, and discounts are 0 or 1. */
function everything(lengths: readonly number[], spec = stepSpec): MadeDataset {
  const data = made(spec, lengths, { metadataSpec, metadata, terminal: (k) => k % 2 === 0 });
  for (const [k, { steps }] of data.entries())
    for (const [i, step] of (steps as Step[]).entries()) {
      for (const name of ["words", "said"]) if (name in step) step[name] = (step[name] as string[]).map((text) => text.replaceAll("\0", ""));
      const observation = step.observation as Step | undefined;
      if (typeof observation?.said === "string") observation.said = observation.said.replaceAll("\0", "");
      if (metadata(k).final_step !== "observation" || i !== steps.length - 1) continue;
      Object.assign(step, { action: new Float64Array(2), reward: 0, discount: 0 });
    }
  return data;
}

const asDataset = (data: MadeDataset) => data as unknown as RldsDataset<unknown>;

async function bytesOf(data: RldsDataset<unknown>, options: Parameters<typeof writeHdf5>[2] = {}): Promise<Uint8Array<ArrayBuffer>> {
  const files = memorySink();
  await writeHdf5(data, files, options);
  expect([...files.keys()]).toEqual(["demo.hdf5"]);
  return files.get("demo.hdf5") as Uint8Array<ArrayBuffer>;
}

const openBytes = (bytes: Uint8Array<ArrayBuffer>, options = {}) => openRlds(new File([bytes], "demo.hdf5"), options);

test("every dtype, text and metadata are restored, with and without final observations", async () => {
  const data = everything([3, 5, 2, 40, 1 + 1]);
  const about = { env: "made", nested: { list: [1, 2] } };
  const reader = await openBytes(await bytesOf(asDataset(data), { about }));
  expect(reader.format).toBe("robomimic");
  expect(reader.stepSpec).toEqual(stepSpec);
  expect(reader.splits).toEqual(["train"]);
  expect(reader.about).toMatchObject({ ...about, env_args: '{"env_name":"","type":2,"env_kwargs":{}}' });
  let k = 0;
  for await (const { steps, num_samples, ...more } of reader) {
    const { steps: wanted, ...others } = data[k++] as MadeDataset[number];
    expect(more).toEqual(others);
    expect(num_samples).toBe(BigInt(wanted.length - Number(more.final_step === "observation")));
    expectAlike([...steps], wanted);
  }
  expect(k).toBe(5);
  await reader.close();
});

test("the same data produces the same bytes at any time", async () => {
  const data = asDataset(everything([3, 5]));
  const found = [];
  for (const time of [Date.UTC(2026, 0, 1), Date.UTC(2036, 6, 1)]) {
    vi.useFakeTimers({ now: time, toFake: ["Date"] });
    try {
      found.push(await bytesOf(data));
    } finally {
      vi.useRealTimers();
    }
  }
  expect(found[1]).toEqual(found[0]);
});

test("rewritten robomimic files keep about and the metadata spec", async () => {
  const first = await openBytes(await bytesOf(asDataset(everything([4, 3])), { envArgs: { env_name: "Lift", type: 1, env_kwargs: { gripper: "panda" } } }));
  const again = await openBytes(await bytesOf(first as RldsDataset<unknown>, { about: first.about }));
  expect(again.about).toEqual(first.about);
  expect(again.metadataSpec).toEqual(first.metadataSpec);
  await Promise.all([first.close(), again.close()]);
});

test("unsupported data is reported as a loss, and strict, maxBytes and empty data throw", async () => {
  const spec = { ...stepSpec, blob: leaf("bytes") } as unknown as StepSpec;
  const data = asDataset(everything([3, 1, 0], spec));
  const { losses, episodes } = await writeHdf5(data, memorySink());
  // The second episode ends with a transition, which becomes a row.
  expect(losses).toEqual([
    { what: "blob", reason: "the robomimic layout stores only numbers and strings" },
    { what: "episodes without transitions", reason: "robomimic stores only transitions", episodes: 1 },
  ]);
  expect(episodes).toBe(2);
  const files = memorySink();
  await expect(writeHdf5(data, files, { strict: true })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  await expect(writeHdf5(asDataset(everything([9, 9])), files, { maxBytes: 1000 })).rejects.toThrow("Increase maxBytes, or write Parquet");
  await expect(writeHdf5(asDataset(everything([1])), files)).rejects.toMatchObject({ code: "EMPTY" });
  expect(files.size).toBe(0);
});

test("names that robomimic does not allow are changed in the file and reported as losses", async () => {
  const given = {
    ...{ obs: leaf("f32"), actions: leaf("i32"), dones: leaf("u16"), dones_: leaf("i32", [2]), truncated: [leaf("u8"), leaf("u8")] },
    ...{ "": leaf("i16"), "..": leaf("i8"), "a/b": leaf("f32"), a_b: leaf("f64"), states: leaf("f64", [3]) },
  };
  const observation = { "x/y": leaf("f32"), x_y: leaf("f64"), state: leaf("f32", [4]) };
  const spec = { ...stepSpec, ...given, observation } as unknown as StepSpec;
  const data = everything([3, 5], spec);
  const files = memorySink();
  const { losses } = await writeHdf5(asDataset(data), files);
  const called = { obs: "obs_", actions: "actions_", dones: "dones__", "truncated/0": "truncated_/_index_0", "truncated/1": "truncated_/_index_1" };
  const renamed: { readonly [path: string]: string } = { ...called, "": "_", "..": "__", "a/b": "a_b_", "observation/x/y": "observation/x_y_" };
  const nameOf = (what: string) => JSON.parse(what.replace("the name ", ""));
  expect(
    Object.fromEntries(losses.map(({ what, reason }) => [nameOf(what), reason.replace("robomimic does not allow this name, so the leaf is called ", "")])),
  ).toEqual(renamed);
  const reader = await openBytes(files.get("demo.hdf5") as Uint8Array<ArrayBuffer>);
  const found = (await all(reader)) as { steps: Iterable<Step> }[];
  await reader.close();
  for (const [k, { steps }] of found.entries())
    for (const [i, step] of [...steps].entries()) {
      const wanted = (data[k] as { steps: Step[] }).steps[i] as Step;
      for (const name of Object.keys(given)) {
        const next = name === "truncated" ? "truncated_" : (renamed[name] ?? name);
        expectAlike([step[next]], [wanted[name]]);
      }
      const { "x/y": xy, ...others } = wanted.observation as Step;
      expectAlike([step.observation], [{ ...others, x_y_: xy }]);
    }
  await expect(writeHdf5(asDataset(data), memorySink(), { strict: true })).rejects.toThrow(/strict forbids .*the name "dones"/);
});

test("robomimic states stay next to the observations, with one row per action", async () => {
  const source = join(root, "test/data/wild/hdf5_robots/robomimic.hdf5");
  const files = memorySink();
  const before = await openRlds(source);
  expect(await writeHdf5(before as RldsDataset<unknown>, files, { about: before.about, strict: true })).toMatchObject({ losses: [], episodes: 2 });
  const bytes = files.get("demo.hdf5") as Uint8Array<ArrayBuffer>;
  const after = await openBytes(bytes);
  expect(after.stepSpec).toEqual(before.stepSpec);
  const stepsOf = async (reader: AsyncIterable<unknown>) => ((await all(reader as never)) as { steps: Iterable<Step> }[]).map(({ steps }) => [...steps]);
  expectAlike(await stepsOf(after), await stepsOf(before));
  const { hdf5 } = await openHdf5(new File([bytes], "demo.hdf5"), [".hdf5"], {});
  for (const [demo, rows] of [5, 10].entries()) expect((await hdf5.column(`/data/demo_${demo}/states`)).rows).toBe(rows);
  await Promise.all([before.close(), after.close(), hdf5.close()]);
});

const DEMO = {
  observation: { state: leaf("f32", [4]), image: leaf("u8", [6, 8, 3]) },
  action: leaf("f32", [2]),
  ...{ reward: leaf("f32"), discount: leaf("f32"), ...FLAGS },
} as unknown as StepSpec;
const h5py = pythonWith("h5py");

function runPython(python: string, script: readonly string[], path: string) {
  const { stdout, stderr, status } = spawnSync(python, ["-W", "ignore", "-c", script.join("\n"), path], { encoding: "utf8" });
  expect([status, status === 0 ? "" : stderr]).toEqual([0, ""]);
  return JSON.parse(stdout.trim().split("\n").at(-1) as string);
}

async function demos(name: string, lengths: readonly number[]) {
  const data = made(DEMO, lengths, { metadataSpec, metadata, terminal: (k) => k % 2 === 0 });
  const path = join(folder, name);
  await writeHdf5(asDataset(data), path, { about: { env_args: '{"env_name": "Lift", "type": 1, "env_kwargs": {}}' } });
  return { path, data };
}

type Demo = { readonly observation: { readonly state: Float32Array; readonly image: Uint8Array }; readonly action: Float32Array };

test.skipIf(h5py === undefined)("h5py reads the file", async () => {
  const { path, data } = await demos("h5py.hdf5", [4, 3]);
  const found = runPython(
    h5py as string,
    [
      "import h5py, json, sys",
      "f = h5py.File(sys.argv[1])",
      "one = lambda d: {'n': int(d.attrs['num_samples']), 'dones': d['dones'][:].tolist(), 'operator': d.attrs['operator'], 'state': d['obs/state'][:].tolist(), 'next': d['next_obs/state'][:].tolist(), 'image': [str(d['obs/image'].dtype), list(d['obs/image'].shape), int(d['obs/image'][:].sum())], 'actions': d['actions'][:].tolist()}",
      "print(json.dumps({'total': int(f['data'].attrs['total']), 'env': f['data'].attrs['env_args'], 'train': [n.decode() for n in f['mask/train'][:]], 'demos': [one(f['data'][n]) for n in sorted(f['data'])]}))",
    ],
    path,
  );
  const rows = data.map(({ steps, final_step }) => (steps as Demo[]).slice(0, final_step === "observation" ? -1 : undefined));
  expect(found).toMatchObject({ total: 3 + 3, train: ["demo_0", "demo_1"], env: '{"env_name": "Lift", "type": 1, "env_kwargs": {}}' });
  expect(found.demos).toEqual(
    rows.map((steps, k) => {
      const all = data[k]?.steps as Demo[];
      const state = (i: number) => [...(all[Math.min(i, all.length - 1)] as Demo).observation.state];
      return {
        ...{ n: steps.length, dones: steps.map((_, i) => Number(k === 0 && i === steps.length - 1)), operator: metadata(k).operator },
        ...{ state: steps.map((_, i) => state(i)), next: steps.map((_, i) => state(i + 1)), actions: steps.map(({ action }) => [...action]) },
        image: ["uint8", [steps.length, 6, 8, 3], steps.reduce((sum, { observation }) => sum + observation.image.reduce((a, b) => a + b), 0)],
      };
    }),
  );
});

const robomimic = pythonWith("robomimic.utils.dataset");

test.skipIf(robomimic === undefined)("SequenceDataset of robomimic reads all transitions with next observations", async () => {
  const { path, data } = await demos("robomimic.hdf5", [4, 3]);
  const found = runPython(
    robomimic as string,
    [
      "import json, sys",
      "import robomimic.utils.obs_utils as O",
      "from robomimic.utils.dataset import SequenceDataset",
      "O.initialize_obs_utils_with_obs_specs({'obs': {'low_dim': ['state'], 'rgb': []}})",
      "d = SequenceDataset(sys.argv[1], obs_keys=['state'], dataset_keys=['actions', 'rewards', 'dones'], load_next_obs=True, filter_by_attribute='train')",
      "print(json.dumps([{'action': x['actions'][0].tolist(), 'done': int(x['dones'][0]), 'state': x['obs']['state'][0].tolist(), 'next': x['next_obs']['state'][0].tolist()} for x in (d[i] for i in range(len(d)))]))",
    ],
    path,
  );
  const wanted = data.flatMap(({ steps, final_step }, k) => {
    const all = steps as Demo[];
    const count = all.length - Number(final_step === "observation");
    return all.slice(0, count).map(({ action, observation }, i) => ({
      ...{ action: [...action], done: Number(k === 0 && i === count - 1), state: [...observation.state] },
      next: [...(all[Math.min(i + 1, all.length - 1)] as Demo).observation.state],
    }));
  });
  expect(found).toEqual(wanted);
});
