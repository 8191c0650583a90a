import { describe, expect, test, vi } from "vitest";
import { type EpisodeObserverOptions, ReverbAddEpisodeObserver } from "../../../src/tf-agents/index.ts";
import { errorOf, expectError, expectRefused } from "../../support/refused.ts";
import { episode, items, ONCE, replayOf, type Steps, step } from "./support.ts";

const make = (options: Partial<EpisodeObserverOptions> = {}, replay = replayOf()) => ({
  replay,
  observer: new ReverbAddEpisodeObserver<Steps>(replay, { tableName: "t", maxSequenceLength: 4, ...options }),
});

test("an episode becomes an item when its boundary step arrives", () => {
  const { replay, observer } = make();
  for (const one of episode(2).slice(0, 2)) observer(one);
  expect([observer.cachedSteps, replay.table("t").size]).toEqual([2, 0]);
  observer(episode(2)[2] as never);
  for (const one of episode(3, 10)) expect(observer(one)).toBeUndefined();
  observer(step(20, 2));
  expect([observer.cachedSteps, items(replay)]).toEqual([0, ["0 1 2", "10 11 12 13", "20"]]);
});

test("every table receives the item with the current priority", () => {
  const replay = replayOf({ a: ONCE, b: ONCE });
  const observer = new ReverbAddEpisodeObserver<Steps>(replay as never, { tableName: ["a", "b"], maxSequenceLength: 9, priority: 2 });
  for (const one of episode(1)) observer(one);
  observer(step(10, 0));
  observer.updatePriority(0.25);
  expectError(
    errorOf(() => observer.updatePriority("1" as never)),
    TypeError,
    /^priority/,
  );
  expectError(
    errorOf(() => observer.updatePriority(-1)),
    RangeError,
    /^priority/,
  );
  observer(step(11, 2));
  expect([1, 1].map(() => replay.table("a").sample(1).info.priorities[0])).toEqual([2, 0.25]);
  expect(items(replay, "b")).toEqual(["0 1", "10 11"]);
});

describe("an episode that is too long", () => {
  test("throws once and writes nothing, and the next episode is written whole", () => {
    const { replay, observer } = make();
    const [refused, ...rest] = episode(6).slice(4);
    for (const one of episode(6).slice(0, 4)) observer(one);
    expectError(
      errorOf(() => observer(refused as never)),
      RangeError,
      /^an episode has more than maxSequenceLength = 4 steps/,
      /bypassPartialEpisodes/,
    );
    expect(observer.cachedSteps).toBe(4);
    for (const one of rest) observer(one);
    expect(observer.cachedSteps).toBe(0);
    for (const one of episode(1, 10)) observer(one);
    expect(items(replay)).toEqual(["10 11"]);
    expect(replay.stats().steps).toBe(0);
  });

  test("is skipped with one warning per episode", () => {
    const onWarning = vi.fn();
    const { replay, observer } = make({ bypassPartialEpisodes: true, onWarning });
    for (const one of [...episode(9), ...episode(4, 20), ...episode(2, 40)]) observer(one);
    expect(onWarning.mock.calls).toEqual([[expect.stringMatching(/more than maxSequenceLength = 4/)], [expect.anything()]]);
    expect(items(replay)).toEqual(["40 41 42"]);
  });

  test("warns on the console by default", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { observer } = make({ bypassPartialEpisodes: true, maxSequenceLength: 1 });
    for (const one of episode(1)) observer(one);
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
  });

  test("does not affect the next episode if its boundary exceeds the limit", () => {
    const { replay, observer } = make({ bypassPartialEpisodes: true, onWarning: () => {} });
    for (const one of [...episode(4), ...episode(1, 10)]) observer(one);
    expect(items(replay)).toEqual(["10 11"]);
  });

  test("ends with a reset, which writes no item", () => {
    const { replay, observer } = make({ bypassPartialEpisodes: true, onWarning: () => {} });
    for (const one of episode(9).slice(0, 6)) observer(one);
    observer.reset(true);
    for (const one of episode(1, 10)) observer(one);
    expect(items(replay)).toEqual(["10 11"]);
  });

  test("still rejects invalid steps", () => {
    const { replay, observer } = make({ bypassPartialEpisodes: true, onWarning: () => {} });
    for (const one of episode(9).slice(0, 6)) observer(one);
    expectRefused(replay, () => observer({ ...step(1), observation: [1] }), "SPEC_MISMATCH", /^observation/);
    for (const one of episode(1, 10)) observer(one);
    expect(observer.cachedSteps).toBe(0);
  });
});

describe("reset and close", () => {
  test("reset writes the cached steps of an unfinished episode", () => {
    const { replay, observer } = make();
    observer(step(0, 0));
    observer(step(1));
    observer.reset();
    observer.reset();
    observer(step(2));
    observer.reset(false);
    expect([observer.cachedSteps, items(replay)]).toEqual([0, ["0 1"]]);
  });

  test("close drops the cached steps, and a later reset writes nothing", () => {
    const { replay, observer } = make();
    observer(step(0));
    observer.close();
    expect(observer.cachedSteps).toBe(0);
    for (const call of [() => observer(step(1)), () => observer(step(1, 2)), () => observer.flush()]) expectRefused(replay, call, "CLOSED");
    observer.reset(true);
    for (const one of episode(1, 10)) observer(one);
    expect(items(replay)).toEqual(["10 11"]);
  });

  test("close forgets that an episode was too long", () => {
    const { replay, observer } = make({ bypassPartialEpisodes: true, onWarning: () => {} });
    for (const one of episode(9).slice(0, 6)) observer(one);
    observer.close();
    observer.open();
    observer(step(10));
    observer(step(11, 2));
    expect(items(replay)).toEqual(["10 11"]);
  });
});

test.each([
  [{ maxSequenceLength: 0 }, RangeError, /^maxSequenceLength/],
  [{ maxSequenceLength: "4" }, TypeError, /^maxSequenceLength/],
  [{ priority: "1" }, TypeError, /^priority/],
  [{ priority: -2 }, RangeError, /^priority/],
  [{ bypassPartialEpisodes: 0 }, TypeError, /^bypassPartialEpisodes/],
  [{ onWarning: "log" }, TypeError, /^onWarning must be a function/],
  [{ tableName: "u" }, "NOT_FOUND", /^tableName/],
  [{ sequenceLength: 2 }, TypeError, /has no option "sequenceLength"/],
] as const)("the options %j are rejected", (options, kind, says) => {
  const replay = replayOf();
  expectRefused(replay, () => make(options as object, replay), kind, says);
  expect(replay.writers.length).toBe(0);
});
