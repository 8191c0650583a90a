/** Tests episodes that end with a transition: each consumer replaces the missing observation. */
import { describe, expect, test } from "vitest";
import {
  convertRldsToTrajectories,
  importRlds,
  inspectRlds,
  memorySink,
  nStep,
  openParquet,
  pushEpisodes,
  type RldsDataset,
  type RldsEpisode,
  type RldsStep,
  type StepSpec,
  statistics,
  withFinalObservations,
  writeParquet,
} from "../../../../src/datasets/rlds/index.ts";
import { f32, Replay } from "../../../../src/index.ts";
import { errorFrom } from "../../../support/later.ts";
import { errorOf, expectError } from "../../../support/refused.ts";
import { all } from "../../../support/rlds-data.ts";

const SPEC = {
  observation: f32(),
  action: f32(),
  reward: f32(),
  discount: f32(),
  ...Object.fromEntries(["is_first", "is_last", "is_terminal"].map((name) => [name, { dtype: "bool", shape: [] }])),
  note: { dtype: "string", shape: [] },
} as unknown as StepSpec;

const step = (i: number, length: number, terminal: boolean): RldsStep => ({
  ...{ observation: i + 1, action: i + 10, reward: 2 ** i, discount: terminal && i === length - 1 ? 0 : 1 },
  ...{ is_first: i === 0, is_last: i === length - 1, is_terminal: terminal && i === length - 1, note: `step ${i}` },
});

/** Returns an episode whose last step is a transition. */
const transitions = (length: number, terminal = false) => ({
  final_step: "transition",
  steps: Array.from({ length }, (_, i) => step(i, length, terminal)),
});

/** Returns an episode whose last step only contains the final observation. */
const observations = (length: number) => ({ final_step: "observation", steps: Array.from({ length }, (_, i) => step(i, length, false)) });

const dataset = (...episodes: object[]) =>
  Object.assign(episodes, { stepSpec: SPEC, metadataSpec: { final_step: { dtype: "string", shape: [] } } }) as unknown as RldsDataset;

describe("withFinalObservations", () => {
  test("repeats the last observation and moves the end flags to it", async () => {
    const source = dataset(transitions(2, true), observations(2));
    const before = structuredClone([...(source as Iterable<RldsEpisode>)]);
    const data = withFinalObservations(source);
    const [first, second] = await all(data as never);
    expect(first).toEqual({
      final_step: "observation",
      steps: [step(0, 2, true), { ...step(1, 2, true), is_last: false, is_terminal: false }, { ...step(1, 2, true), action: 0, reward: 0, discount: 0 }],
    });
    expect(second).toEqual(observations(2));
    expect(data.finalSteps).toEqual({ repeated: 1, dropped: 0 });
    expect([...(source as Iterable<RldsEpisode>)]).toEqual(before);
    // Another pass restarts the counts; episodes with a final observation are not changed.
    await all(data as never);
    expect(data.finalSteps).toEqual({ repeated: 1, dropped: 0 });
    const again = withFinalObservations(data);
    expect(await all(again as never)).toEqual([first, second]);
    expect(again.finalSteps).toEqual({ repeated: 0, dropped: 0 });
  });

  test("columns and steps have equal results", async () => {
    const source = dataset(transitions(3, true), observations(2), transitions(1));
    const files = memorySink();
    await writeParquet(source, files);
    const columns = withFinalObservations(await openParquet(files));
    expect(await all(columns as never)).toEqual(await all(withFinalObservations(source) as never));
    const dropped = withFinalObservations(await openParquet(files), { finalStep: "drop" });
    expect(await all(dropped as never)).toEqual(await all(withFinalObservations(source, { finalStep: "drop" }) as never));
  });

  test("`finalStep` overrides final_step of the data", async () => {
    const source = dataset(transitions(2, true), observations(2));
    const dropped = withFinalObservations(source, { finalStep: "drop" });
    const [first, second] = await all(dropped as never);
    // The dropped step was the one with the terminal flag.
    expect(first?.steps).toEqual([step(0, 2, true), { ...step(1, 2, true), action: 0, reward: 0, discount: 0, is_terminal: false }]);
    expect(second).toEqual(observations(2));
    expect(dropped.finalSteps).toEqual({ repeated: 0, dropped: 1 });
    const twice = withFinalObservations(source, { finalStep: "transition" });
    expect((await all(twice as never)).map(({ steps }) => steps.length)).toEqual([3, 3]);
    expect(twice.finalSteps).toEqual({ repeated: 2, dropped: 0 });
    const once = withFinalObservations(source, { finalStep: "observation" });
    expect(await all(once as never)).toEqual([{ ...transitions(2, true), final_step: "observation" }, observations(2)]);
    const error = await errorFrom(all(withFinalObservations(source, { finalStep: "refuse" }) as never));
    expectError(error, "INVALID_DATA", /the episode has no final observation.*Use finalStep "transition".*\(episode 0\)/);
    expect(await all(withFinalObservations(dataset(observations(2)), { finalStep: "refuse" }) as never)).toEqual([observations(2)]);
    expectError(
      errorOf(() => withFinalObservations(source, { finalStep: "none" as never })),
      RangeError,
      /^finalStep must be "observation", "transition", "drop" or "refuse", got "none"/,
    );
  });

  test("repeat: false repeats nothing, and final_step follows the rule", async () => {
    const source = dataset(transitions(2), observations(2));
    const stated = withFinalObservations(source, { finalStep: "observation", repeat: false });
    expect((await all(stated as never)).map(({ final_step, steps }) => [final_step, steps.length])).toEqual([
      ["observation", 2],
      ["observation", 2],
    ]);
    expect(await all(withFinalObservations(source, { repeat: false }) as never)).toEqual([transitions(2), observations(2)]);
  });

  test("episodes without final_step end with an observation, as in RLDS", async () => {
    const source = Object.assign([{ steps: observations(3).steps }], { stepSpec: SPEC, metadataSpec: {} }) as unknown as RldsDataset;
    expect(await all(withFinalObservations(source) as never)).toEqual([{ steps: observations(3).steps }]);
    expect(withFinalObservations(source, { finalStep: "transition" }).metadataSpec).toEqual({ final_step: { dtype: "string", shape: [] } });
  });
});

test("reports and statistics count the last action and reward of transitions", async () => {
  const data = dataset(transitions(3), observations(3));
  const report = await inspectRlds(data);
  expect(report).toMatchObject({ steps: 6, transitions: 5, returns: { total: 7 + 3 } });
  const found = await statistics(data);
  expect([found.steps, found.transitions, found.returns.values]).toEqual([6, 5, [7, 3]]);
  const reward = found.leaves.find(({ path }) => path === "reward");
  expect([reward?.count, reward?.max]).toEqual([5, 4]);
  const imported = importRlds(data);
  await all(imported as never);
  expect(imported.report.kept).toMatchObject({ steps: 6, transitions: 5, returns: { total: 10 } });
});

test("repair keeps the last action of a truncated episode", async () => {
  const [cut] = [transitions(3).steps.map((one) => ({ ...one, is_last: false }))];
  const data = Object.assign([{ steps: cut }, { steps: observations(2).steps }], { stepSpec: SPEC, metadataSpec: {} }) as unknown as RldsDataset;
  expect(await inspectRlds(data)).toMatchObject({ transitions: 4, returns: { total: 7 + 1 } });
  const mended = importRlds(data, { mode: "repair" });
  const episodes = await all(mended as never);
  expect(episodes.map(({ final_step }) => final_step)).toEqual(["transition", "observation"]);
  expect(episodes[0]?.steps).toEqual(transitions(3).steps);
  expect(mended.report.kept).toMatchObject({ transitions: 4, returns: { total: 8 } });
  expect(mended.metadataSpec).toEqual({ final_step: { dtype: "string", shape: [] } });
});

test("nStep and convertRldsToTrajectories use every action", async () => {
  const data = dataset(transitions(3, true), observations(3), transitions(1));
  const found = await all(nStep(data, { n: 1, gamma: 1 }) as never);
  expect(found.map(({ steps }) => (steps as { reward: number }[]).map(({ reward }) => reward))).toEqual([[1, 2, 4], [1, 2], [1]]);
  const ends = found.map(({ steps }) => steps.at(-1) as { next_observation: number; next_is_terminal: boolean; discount: number });
  expect(ends.map(({ next_observation, next_is_terminal, discount }) => [next_observation, next_is_terminal, discount])).toEqual([
    [3, true, 0],
    [3, false, 1],
    [1, false, 1],
  ]);
  const rewards: unknown[] = [];
  for await (const { stepType, reward } of convertRldsToTrajectories(data)) if (stepType !== 2) rewards.push(reward);
  expect(rewards).toEqual([1, 2, 4, 1, 2, 1]);
});

describe("pushEpisodes", () => {
  const pushed = async (data: RldsDataset, options: object = {}) => {
    const spec = { observation: f32(), action: f32(), reward: f32(), discount: f32() };
    const replay = new Replay({ spec, tables: { t: { maxSize: 100 } } });
    const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
    const counts = await pushEpisodes(data, writer as never, options);
    const { size } = replay.table("t");
    const batch = replay.table("t").transitions({ gamma: 1 }).sample(size, { replacement: false }) as never as {
      readonly [column: string]: { readonly data: ArrayLike<number> };
    };
    const keys = [...(batch.keys as unknown as Float64Array)];
    const rows = keys
      .map((key, i) => [key, ...["observation", "returns", "nextObservation", "terminated"].map((name) => batch[name]?.data?.[i] ?? (batch[name] as never)[i])])
      .sort(([a], [b]) => (a as number) - (b as number))
      .map(([, ...row]) => row);
    replay.dispose();
    return { counts, rows };
  };

  test("repeats the last observation and counts it", async () => {
    const { counts, rows } = await pushed(dataset(transitions(2, true), observations(2), transitions(1)));
    expect(counts).toEqual({ episodes: 3, steps: 4, terminated: 1, truncated: 2, repeated: 2, dropped: 0, items: 4 });
    expect(rows).toEqual([
      [1, 1, 2, 0],
      [2, 2, 2, 1],
      [1, 1, 2, 0],
      [1, 1, 1, 0],
    ]);
  });

  test("`finalStep` overrides final_step of the data", async () => {
    const data = dataset(transitions(2, true), observations(2), transitions(1));
    expect((await pushed(data, { finalStep: "observation" })).rows).toEqual([
      [1, 1, 2, 1],
      [1, 1, 2, 0],
    ]);
    const { counts, rows } = await pushed(data, { finalStep: "drop" });
    expect([counts.steps, counts.repeated, counts.dropped, counts.terminated]).toEqual([2, 0, 2, 0]);
    expect(rows).toEqual([
      [1, 1, 2, 0],
      [1, 1, 2, 0],
    ]);
    expect((await pushed(data, { finalStep: "transition" })).counts).toMatchObject({ steps: 5, repeated: 3 });
    expectError(await errorFrom(pushed(data, { finalStep: "refuse" })), "INVALID_DATA", /no final observation.*\(episode 0\)/);
    expectError(await errorFrom(pushed(data, { finalStep: "all" })), RangeError, /^finalStep must be/);
  });
});
