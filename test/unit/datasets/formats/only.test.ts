/** Tests the option `only` in every format: it omits columns of steps but keeps the metadata of episodes. */
import { describe, expect, it } from "vitest";
import { leavesOf } from "../../../../src/datasets/model/leaves.ts";
import {
  memorySink,
  openRlds,
  type RldsDataset,
  type RldsOptions,
  type RldsReader,
  type Sink,
  type Source,
  type StepSpec,
  writeCsv,
  writeHdf5,
  writeJsonl,
  writeLeRobot,
  writeMinari,
  writeNpz,
  writeParquet,
  writeTfds,
} from "../../../../src/datasets/rlds/index.ts";
import { all } from "../../../support/columns.ts";
import { errorFrom } from "../../../support/later.ts";
import { FLAGS, leaf } from "../../../support/random-steps.ts";
import { expectError } from "../../../support/refused.ts";
import { each } from "../../../support/size.ts";
import { dataFolder } from "../rlds/data.ts";

const stepSpec = {
  observation: { at: leaf("f32", [2]), speed: leaf("f32") },
  action: leaf("f32", [1]),
  reward: leaf("f32"),
  discount: leaf("f32"),
  mark: leaf("f32"),
  ...FLAGS,
} as unknown as StepSpec;

/** Three episodes that end with a transition and have metadata. */
const EPISODES = [0, 1, 2].map((e) => ({
  name: `episode ${e}`,
  success: e === 1,
  final_step: "transition",
  steps: Array.from({ length: 4 + e }, (_, i, last = 3 + e) => ({
    observation: { at: Float32Array.of(e, i), speed: i / 2 },
    action: Float32Array.of(i + 1),
    reward: i === last ? 1 : 0.25,
    discount: 1,
    mark: i,
    ...{ is_first: i === 0, is_last: i === last, is_terminal: i === last && e === 1 },
  })),
}));
const DATA = { stepSpec, [Symbol.asyncIterator]: async function* () { yield* EPISODES; } } as unknown as RldsDataset; // biome-ignore format: one line

const lines = (...rows: readonly object[]) => new Blob([rows.map((row) => JSON.stringify(row, (_, value) => (ArrayBuffer.isView(value) ? [...(value as Float32Array)] : value))).join("\n")]); // biome-ignore format: a line

async function written(write: (data: RldsDataset, sink: Sink) => Promise<unknown>): Promise<Source> {
  const sink = memorySink();
  await write(DATA, sink);
  return sink;
}

type Steps = (typeof EPISODES)[number]["steps"];
const columnsOf = (steps: Steps) => ({
  observations: { at: steps.map(({ observation }) => observation.at), speed: steps.map(({ observation }) => observation.speed) },
  actions: steps.map(({ action }) => action),
  rewards: steps.map(({ reward }) => reward),
  is_first: steps.map(({ is_first }) => is_first),
  is_last: steps.map(({ is_last }) => is_last),
  is_terminal: steps.map(({ is_terminal }) => is_terminal),
  marks: steps.map(({ mark }) => mark),
});

const WRITTEN: { readonly [format: string]: () => Promise<Source> } = {
  TFDS: () => written((data, sink) => writeTfds(data, sink, { name: "ours" })),
  LeRobot: () => written((data, sink) => writeLeRobot(data, sink, { fps: 10, task: "stack" })),
  Minari: () => written((data, sink) => writeMinari(data, sink, { id: "ours/data-v0" })),
  Parquet: () => written((data, sink) => writeParquet(data, sink)),
  "JSON lines": () => written((data, sink) => writeJsonl(data, sink)),
  NPZ: () => written((data, sink) => writeNpz(data, sink)),
  HDF5: () => written((data, sink) => writeHdf5(data, sink)),
  CSV: () => written((data, sink) => writeCsv(data, sink)),
  "a step per line": async () =>
    lines(...EPISODES.flatMap(({ steps, ...metadata }, episode) => steps.map((step) => ({ episode, ...step, final_step: metadata.final_step })))),
  "an episode per line": async () => lines(...EPISODES),
  "columns per line": async () => lines(...EPISODES.map(({ steps, ...metadata }) => ({ ...metadata, ...columnsOf(steps) }))),
};

const FILES = [
  "csv/pandas.csv",
  "d3rlpy/v1.h5",
  "d3rlpy/v2.h5",
  "dreamer",
  "extra/lerobot_v2",
  "extra/minari/table",
  "extra/minari/walk",
  "extra/npz/recorded.npz",
  "extra/plain.parquet",
  "golden/journal",
  "golden/snapshot.rpr",
  "minari/cartpole/scripted-v0",
  "tfds/cartpole_pixels",
  "tfrecord/trajectories.tfrecord",
  "wild/hdf5_robots/aloha",
  "wild/hdf5_robots/diffusion_policy.zarr",
  "wild/hdf5_robots/maniskill.h5",
  "wild/hdf5_robots/robomimic.hdf5",
  "wild/hdf5_robots/robosuite.hdf5",
  "wild/imitation.npz",
  "wild/minari/seeds/x-v0",
  "wild/starts.npz",
  "zarr/v3.zarr.zip",
];

async function read(from: Source, options: RldsOptions = {}) {
  const reader: RldsReader = await openRlds(from, options);
  try {
    return { reader, episodes: await all(reader) };
  } finally {
    await reader.close();
  }
}

/** Returns the fields that every selection of columns must keep. */
function outcomeOf({ steps, ...metadata }: { readonly steps: Iterable<unknown> }) {
  const ends = Array.from(steps as Iterable<{ readonly [name: string]: unknown }>, ({ action, reward, discount, is_first, is_last, is_terminal }) => ({
    ...{ action, reward, discount, is_first, is_last, is_terminal },
  }));
  return { metadata: { ...metadata }, ends };
}

async function expectSameOutcomes(from: Source): Promise<void> {
  const whole = await read(from);
  const [first] = leavesOf(whole.reader.stepSpec).filter(({ keys }) => keys[0] === "observation");
  const only = await read(from, { only: [first?.keys.join("/") as string] });
  expect(only.episodes.map(outcomeOf)).toEqual(whole.episodes.map(outcomeOf));
  expect(only.reader.metadataSpec).toEqual(whole.reader.metadataSpec);
  expect(leavesOf(only.reader.stepSpec).filter(({ keys }) => keys[0] === "observation")).toHaveLength(1);
  expect(leavesOf(only.reader.stepSpec).map(({ path }) => path)).not.toContain("mark");
}

describe("only keeps the ends of episodes and their metadata", () => {
  it.each(each(2, Object.keys(WRITTEN), 1))("of %s", async (format) => {
    const from = await (WRITTEN[format] as () => Promise<Source>)();
    await expectSameOutcomes(from);
    const { episodes } = await read(from, { only: ["observation/at"] });
    const isOfRows = format === "CSV" || format === "a step per line";
    for (const [e, episode] of episodes.entries()) {
      const { name, success } = episode as { readonly name?: unknown; readonly success?: unknown };
      expect([name, Boolean(success)]).toEqual(isOfRows ? [undefined, false] : [`episode ${e}`, e === 1]);
    }
    const isWhole = !["TFDS", "Minari"].includes(format);
    expect(episodes.map(({ final_step }) => final_step)).toEqual(EPISODES.map(() => (isWhole ? "transition" : "observation")));
    // The text of the task is also part of an episode.
    if (format === "LeRobot") expect(episodes.map(({ steps }) => (steps.at(0) as unknown as { task: string }).task)).toEqual(["stack", "stack", "stack"]);
  });

  it.each(each(5, FILES, 0))("of %s", async (path) => {
    await expectSameOutcomes(dataFolder(path));
  });
});

describe("final_step in rows", () => {
  it.each(["CSV", "a step per line", "an episode per line", "columns per line"])("cannot be omitted or renamed in %s", async (format) => {
    const from = await (WRITTEN[format] as () => Promise<Source>)();
    const rule =
      /must be column names other than final_step, which states the kind of last steps, got "final_step"\. Set finalStep or --final-step to override it/;
    expectError(await errorFrom(read(from, { without: ["final_step"] })), RangeError, new RegExp(`^without ${rule.source}`));
    expectError(await errorFrom(read(from, { rename: { final_step: "ending" } })), RangeError, new RegExp(`^rename ${rule.source}`));
    const { episodes } = await read(from, { rename: { final_step: "final_step" } });
    expect(episodes.map(({ final_step }) => final_step)).toEqual(["transition", "transition", "transition"]);
  });

  it("is an ordinary column if it has another meaning", async () => {
    const rows = (name: string) =>
      lines(...[0, 1, 2].map((i) => ({ observation: [i], action: i, reward: 1, is_first: i === 0, is_last: i === 2, is_terminal: false, [name]: i === 2 })));
    const { episodes } = await read(rows("final_step"), { rename: { final_step: "ending" } });
    expect(Array.from(episodes[0]?.steps ?? [], (step) => (step as { ending?: unknown }).ending)).toEqual([false, false, true]);
    expect((await read(rows("final_step"), { without: ["final_step"] })).episodes.map(({ final_step }) => final_step)).toEqual(["observation"]);
  });
});
