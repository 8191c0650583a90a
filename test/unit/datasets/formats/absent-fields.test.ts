/** Tests that all readers use the same default for a missing field. */
import { describe, expect, it } from "vitest";
import { openD4rl } from "../../../../src/datasets/formats/hdf5/d4rl.ts";
import { memorySink, openRlds, type RldsOptions, type RldsReader, writeJsonl, writeParquet } from "../../../../src/datasets/rlds/index.ts";
import { all } from "../../../support/columns.ts";
import { errorFrom } from "../../../support/later.ts";
import { expectError } from "../../../support/refused.ts";
import { dataFolder } from "../rlds/data.ts";

const lines = (...rows: readonly object[]) => new Blob([rows.map((row) => JSON.stringify(row)).join("\n")]);

async function read(from: Parameters<typeof openRlds>[0], options: RldsOptions = {}) {
  const reader = (await openRlds(from, options)) as RldsReader;
  const episodes = await all(reader);
  const counted = await reader.lengths?.();
  await reader.close();
  return { reader, episodes, counted, lengths: episodes.map(({ steps }) => steps.length) };
}

describe("a missing reward", () => {
  const FILES = [
    "tfds/cartpole",
    "minari/cartpole/scripted-v0",
    "d4rl/half_cheetah.hdf5",
    "wild/hdf5_robots/robomimic.hdf5",
    "wild/lerobot_sparse",
    "extra/plain.parquet",
    "wild/sparse.parquet",
    "wild/sparse.jsonl",
    "extra/own.jsonl",
    "extra/npz/flags.npz",
    "wild/starts.npz",
    "wild/imitation.npz",
    "golden/journal",
  ];
  it.each(FILES)("is 0 in %s", async (path) => {
    const whole = await read(dataFolder(path));
    const { reader, episodes, counted, lengths } = await read(dataFolder(path), { without: ["reward"] });
    expect(reader.stepSpec).toMatchObject({ reward: { dtype: "f32", shape: [] } });
    expect(lengths).toEqual(whole.lengths);
    const rewards = (of: typeof episodes) => of.flatMap(({ steps }) => Array.from(steps, ({ reward }) => reward as unknown));
    expect(new Set(rewards(episodes))).toEqual(new Set([0]));
    const others = ({ reward: _, ...rest }: { readonly [field: string]: unknown }) => rest;
    for (const [i, { steps, final_step }] of episodes.entries()) {
      expect(final_step).toBe(whole.episodes[i]?.final_step);
      expect(Array.from(steps, others)).toEqual(Array.from(whole.episodes[i]?.steps ?? [], others));
    }
    expect(counted).toEqual(whole.counted);
  });

  it("is 0 in Parquet and JSON lines from Reprise", async () => {
    const data = await openRlds(dataFolder("tfds/cartpole"), { split: "train[:2]" });
    const [parquet, jsonl] = [memorySink(), memorySink()];
    await writeParquet(data, parquet);
    await writeJsonl(data, jsonl);
    await data.close();
    for (const files of [parquet, jsonl]) {
      const { episodes } = await read(files, { without: ["reward"] });
      expect(new Set(episodes.flatMap(({ steps }) => Array.from(steps, ({ reward }) => reward)))).toEqual(new Set([0]));
    }
  });

  it("does not turn an episode of JSON lines into one step", async () => {
    const columns = { observations: [[1], [2], [3]], actions: [0, 1], terminated: true };
    const { episodes } = await read(lines(columns, columns));
    expect(episodes.map(({ steps }) => Array.from(steps, ({ observation, action }) => [observation[0], action]))).toEqual(
      [0, 1].map(() => [
        [1, 0],
        [2, 1],
        [3, 0],
      ]),
    );
    // It is ambiguous whether these are two steps or one step with vectors.
    for (const row of [
      { observations: [1, 2], actions: [0, 1] },
      { obs: [[1], [2]], action: [[0], [1]] },
    ])
      expectError(await errorFrom(read(lines(row))), "UNSUPPORTED", /lists of 2 .*rewards/);
    const { lengths } = await read(
      lines({ observations: [1, 2, 3, 4], actions: [0, 1], done: false }, { observations: [1, 2, 3, 4], actions: [0, 1], done: true }),
    );
    expect(lengths).toEqual([3]);
  });

  it("is an error if only some rows lack it", async () => {
    const step = (more: object) => ({ observation: [1], action: 0, done: false, ...more });
    expectError(await errorFrom(read(lines(step({}), step({ reward: 1 })))), "SPEC_MISMATCH", /reward/);
  });
});

describe("a missing discount", () => {
  it("is 1 in TFDS, but 0 for final steps and terminating actions", async () => {
    const whole = await read(dataFolder("tfds/cartpole"));
    const { reader, episodes } = await read(dataFolder("tfds/cartpole"), { without: ["discount"] });
    expect(reader.stepSpec).toMatchObject({ discount: { dtype: "f32", shape: [] } });
    const terminated = whole.episodes.map(({ steps }) => steps.at(steps.length - 1).is_terminal === true);
    for (const [i, { steps }] of episodes.entries()) {
      const expected = Array.from({ length: steps.length }, (_, t) => Number(t < steps.length - (terminated[i] ? 2 : 1)));
      expect(Array.from(steps, ({ discount }) => discount)).toEqual(expected);
    }
    expect(new Set(terminated).size).toBeGreaterThan(0);
  });
});

describe("missing timeouts", () => {
  const file = dataFolder("extra/d4rl/no_timeouts.hdf5");

  it("D4RL episodes end at terminals, and the last episode ends with the data", async () => {
    const { reader, episodes, lengths } = await read(file);
    const last = episodes.map(({ steps, final_step }) => [final_step, steps.at(steps.length - 1).is_last, steps.at(steps.length - 1).is_terminal]);
    // Only row 8 is terminal.
    expect(lengths).toEqual([10, 51]);
    expect(last).toEqual([
      ["observation", true, true],
      ["transition", true, false],
    ]);
    const again = await openD4rl(file);
    expect(await again.lengths?.()).toEqual(lengths);
    await again.close();
    expect(reader.unread).toMatchObject([{ what: "timeouts", remedy: expect.stringContaining("maxEpisodeSteps") }]);
    const limited = await openD4rl(file, { maxEpisodeSteps: 25 });
    expect(limited.unread).toEqual([]);
    await limited.close();
  });
});
