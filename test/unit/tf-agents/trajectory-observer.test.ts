import { describe, expect, test } from "vitest";
import { f32, Replay } from "../../../src/index.ts";
import { LocalClient, ReverbAddTrajectoryObserver, ReverbTrajectorySequenceObserver, type TrajectoryObserverOptions } from "../../../src/tf-agents/index.ts";
import { errorOf, expectError, expectRefused } from "../../support/refused.ts";
import { episode, items, ONCE, replayOf, SPEC, type Steps, step } from "./support.ts";

const make = (options: Partial<TrajectoryObserverOptions> = {}, replay = replayOf()) => ({
  replay,
  observer: new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 2, ...options }),
});

test("an observer is a function with the methods of its class", () => {
  const { observer } = make();
  expect(typeof observer).toBe("function");
  expect(observer).toBeInstanceOf(ReverbAddTrajectoryObserver);
  expect(observer(step(0))).toBeUndefined();
  expect([observer.cachedSteps, observer.flush(), observer.cachedSteps]).toEqual([1, undefined, 1]);
  expect([step(1), step(2)].map(observer)).toEqual([undefined, undefined]);
  expect([observer.bind(undefined)(step(3)), observer.call(undefined, step(4)), observer.cachedSteps]).toEqual([undefined, undefined, 5]);
});

test.each([
  [{ sequenceLength: 3 }, ["0 1 2", "1 2 3", "2 3 4"]],
  [{ sequenceLength: 3, strideLength: 2 }, ["0 1 2", "2 3 4"]],
  [{ sequenceLength: 3, strideLength: 3 }, ["0 1 2"]],
  [{ sequenceLength: 3, strideLength: 5 }, ["0 1 2"]],
  [{ sequenceLength: 1 }, ["0", "1", "2", "3", "4"]],
  [{ sequenceLength: 6 }, []],
])("five steps with %j produce the items %j", (options, expected) => {
  const { replay, observer } = make(options);
  for (let n = 0; n < 5; n++) observer(step(n));
  expect(items(replay)).toEqual(expected);
});

test("a boundary drops the cached steps, and no item spans two episodes", () => {
  const { replay, observer } = make({ sequenceLength: 3 });
  for (const one of [...episode(1), ...episode(3, 10)]) observer(one);
  expect(items(replay)).toEqual(["10 11 12", "11 12 13"]);
  expect(observer.cachedSteps).toBe(0);
});

test("ReverbTrajectorySequenceObserver continues across boundaries", () => {
  const replay = replayOf();
  const observer = new ReverbTrajectorySequenceObserver<Steps>(replay, { tableName: "t", sequenceLength: 3, padEndOfEpisodes: true });
  for (const one of [...episode(1), ...episode(1, 10)]) observer(one);
  expect(items(replay)).toEqual(["0 1 10", "1 10 11"]);
  expect(observer.cachedSteps).toBe(4);
  observer.reset();
  expect(observer.cachedSteps).toBe(0);
});

test("each table receives each item, once per occurrence of its name, with the priority", () => {
  const replay = replayOf({ a: ONCE, b: ONCE });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay as never, { tableName: ["b", "a", "b"], sequenceLength: 2, priority: 0.5 });
  for (let n = 0; n < 3; n++) observer(step(n));
  expect(replay.table("a").sample(1).info.priorities[0]).toBe(0.5);
  expect([items(replay, "a"), items(replay, "b")]).toEqual([["1 2"], ["0 1", "0 1", "1 2", "1 2"]]);
});

describe("forms of a step", () => {
  const flat = (n: number) => [1, [n, -n], n, 1, n, 1];
  const column = (value: number[], shape: number[] = []) => ({ data: shape.length === 0 ? Float32Array.from(value) : Float32Array.from(value), shape });
  const int = (value: number, shape: number[] = []) => ({ data: Int32Array.of(value), shape });
  const columns = (n: number) => ({
    stepType: int(1),
    observation: column([n, -n], [2]),
    action: int(n),
    policyInfo: [],
    nextStepType: int(1),
    reward: column([n]),
    discount: column([1]),
  });

  test("nested steps, flattened lists and columns produce the same items", () => {
    const { replay, observer } = make();
    observer(step(0));
    observer(flat(1));
    observer(columns(2) as never);
    observer(step(3));
    const { steps } = replay.table("t").sample(1);
    expect([...steps.observation.data, ...steps.action.data, ...steps.nextStepType.data]).toEqual([0, -0, 1, -1, 0, 1, 1, 1]);
    expect(items(replay)).toEqual(["1 2", "2 3"]);
  });

  test.each([
    ["a leaf less", flat(1).slice(1), /^a flattened step must be a list of 6 leaves, got an array of 5/],
    ["a batch of one", { ...columns(1), stepType: Int32Array.of(1) }, /^stepType must .*got Int32Array\(1\)/],
    ["a batch of one, as columns", { ...columns(1), stepType: int(1, [1]) }, /^every leaf of the step must .*\[\]/],
    ["a number among columns", { ...columns(1), reward: 1 }, /^every leaf of the step must be a column/],
    ["no step type", { observation: [1, 2] }, /^stepType is required: a single number/],
    ["nothing", undefined, /^stepType (must be|is required:) a single number/],
    ["another structure", { ...step(1), extra: 1 }, /an object without extra \(.*\.extra is not in the spec\), got an object with keys/],
    ["another shape", { ...step(1), observation: [1] }, /^observation must be f32 of shape \[2\]/],
    ["another dtype", { ...step(1), observation: Float64Array.of(1, 2) }, /^observation must be f32/],
    ["another dtype of a single number", { ...columns(1), action: column([1]) }, /^action must be i32/],
  ])("%s is rejected, and the window continues without it", (_, wrong, says) => {
    const { replay, observer } = make();
    observer(step(0));
    expectRefused(replay, () => observer(wrong as never), "SPEC_MISMATCH", says);
    expect(observer.cachedSteps).toBe(1);
    observer(step(2));
    expect(items(replay)).toEqual(["0 2"]);
  });
});

describe("reset", () => {
  test("writes the last window, even if it is already an item", () => {
    const { replay, observer } = make();
    for (let n = 0; n < 3; n++) observer(step(n));
    observer.reset();
    observer(step(10));
    expect([observer.cachedSteps, items(replay)]).toEqual([1, ["0 1", "1 2", "1 2"]]);
  });

  test("with too few steps throws TOO_FEW, and keeps the steps", () => {
    const { replay, observer } = make({ sequenceLength: 3 });
    observer(step(0));
    expectRefused(replay, () => observer.reset(), "TOO_FEW", /^the 1 cached steps .* item of 3/, /reset\(false\)/);
    observer(step(1));
    observer(step(2));
    expect(items(replay)).toEqual(["0 1 2"]);
  });

  test("off the stride throws TOO_FEW", () => {
    const { observer } = make({ strideLength: 2 });
    for (let n = 0; n < 3; n++) observer(step(n));
    expectError(
      errorOf(() => observer.reset(true)),
      "TOO_FEW",
    );
    expect(observer.cachedSteps).toBe(3);
  });

  test("with false drops the cached steps", () => {
    const { replay, observer } = make();
    observer(step(0));
    observer.reset(false);
    observer(step(1));
    expect([observer.cachedSteps, items(replay)]).toEqual([1, []]);
  });

  test("with padding fills a partial window, and writes nothing if the window is already an item", () => {
    const { replay, observer } = make({ sequenceLength: 3, padEndOfEpisodes: true });
    observer(step(0));
    observer.reset();
    for (let n = 1; n < 4; n++) observer(step(n));
    observer.reset();
    observer.reset();
    expect(items(replay)).toEqual(["0 P P", "1 2 3"]);
  });

  test("rejects a value that is not a boolean", () => {
    const { replay, observer } = make();
    expectRefused(replay, () => observer.reset(1 as never), TypeError, /^writeCachedSteps must be a boolean, got 1/);
  });
});

describe("a closed observer", () => {
  test("rejects steps and flush, and loses its cached steps", () => {
    const { replay, observer } = make();
    observer(step(0));
    observer.close();
    observer.close();
    expect(observer.cachedSteps).toBe(0);
    for (const call of [() => observer(step(1)), () => observer.flush()]) expectRefused(replay, call, "CLOSED", /open\(\) or reset\(\)/);
    observer.open();
    observer(step(2));
    observer(step(3));
    expect(items(replay)).toEqual(["2 3"]);
  });

  test("is opened by reset, which writes nothing", () => {
    const { replay, observer } = make({ padEndOfEpisodes: true });
    observer(step(0));
    observer.close();
    observer.reset();
    expect([observer.cachedSteps, items(replay)]).toEqual([0, []]);
    observer(step(1));
    expect(observer.cachedSteps).toBe(1);
  });

  test("is reopened by open, which does not affect an open observer", () => {
    const { replay, observer } = make();
    observer(step(0));
    observer.open();
    observer(step(1));
    expect(items(replay)).toEqual(["0 1"]);
  });

  test("releases its memory", () => {
    const { replay, observer } = make({ sequenceLength: 100 });
    observer.close();
    expect(replay.stats().writers).toBe(0);
    const { used } = replay.stats().bytes;
    for (let i = 0; i < 20; i++) {
      observer.open();
      for (let n = 0; n < 99; n++) observer(step(n));
      observer.close();
    }
    expect(replay.stats().steps).toBe(0);
    expect(replay.stats().bytes.used - used).toBeLessThan(100_000);
  });
});

describe("arguments", () => {
  test.each([
    [{ sequenceLength: 0 }, RangeError, /^sequenceLength must be an integer in 1 … 16777215, got 0/],
    [{ sequenceLength: 1.5 }, TypeError, /^sequenceLength/],
    [{ sequenceLength: "2" }, TypeError, /^sequenceLength/],
    [{ sequenceLength: 2 ** 25 }, RangeError, /^sequenceLength/],
    [{ strideLength: 2 ** 25 }, RangeError, /^strideLength/],
    [{ strideLength: 0 }, RangeError, /^strideLength/],
    [{ strideLength: true }, TypeError, /^strideLength/],
    [{ priority: -1 }, RangeError, /^priority/],
    [{ priority: Number.NaN }, RangeError, /^priority/],
    [{ priority: true }, TypeError, /^priority/],
    [{ priority: null }, TypeError, /^priority/],
    [{ padEndOfEpisodes: 1 }, TypeError, /^padEndOfEpisodes must be a boolean/],
    [{ tileEndOfEpisodes: true }, RangeError, /^tileEndOfEpisodes requires padEndOfEpisodes/],
    [{ tableName: "u" }, "NOT_FOUND", /^tableName must .*got "u"/],
    [{ tableName: ["t", "u"] }, "NOT_FOUND", /"u"/],
    [{ tableName: 1 }, TypeError, /^tableName/],
    [{ lenght: 2 }, TypeError, /^options has no option "lenght"/],
  ] as const)("%j is rejected", (options, kind, says) => {
    const replay = replayOf();
    expectRefused(replay, () => make(options as object, replay), kind, says);
    expect(replay.writers.length).toBe(0);
  });

  test.each([
    [{}, TypeError, /^client must be a Replay, a client/],
    [undefined, TypeError, /^client/],
    [new Replay({ spec: { x: f32() }, tables: { t: ONCE } }), "SPEC_MISMATCH", /^the client's spec must be an object with a stepType/],
    [new Replay({ spec: f32(), tables: { t: ONCE } }), "SPEC_MISMATCH", /stepType/],
  ] as const)("an invalid client is rejected", (client, kind, says) => {
    expectError(
      errorOf(() => new ReverbAddTrajectoryObserver(client as never, { tableName: "t", sequenceLength: 2 })),
      kind,
      says,
    );
  });

  test("an empty list of tables is accepted, and produces no items", () => {
    const { observer } = make({ tableName: [] });
    for (let n = 0; n < 3; n++) observer(step(n));
    expect(observer.cachedSteps).toBe(3);
    expectError(
      errorOf(() => observer.getTableSignature()),
      RangeError,
      /one or more tables with the same signature, got 0/,
    );
  });
});

test("getTableSignature returns the spec with a time dimension of any length", () => {
  const { observer } = make();
  const one = { dtype: "f32", shape: [null] };
  const int = { dtype: "i32", shape: [null] };
  const observation = { dtype: "f32", shape: [null, 2] };
  expect(observer.getTableSignature()).toEqual({ stepType: int, observation, action: int, policyInfo: [], nextStepType: int, reward: one, discount: one });
});

test("a step is stored once, even if it is in many windows", () => {
  const replay = replayOf({ t: { maxSize: 10_000 } });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 80 });
  for (let n = 0; n < 5000; n++) observer(step(n));
  expect(replay.table("t").size).toBe(5000 - 79);
  expect(replay.stats().steps).toBe(5000);
});

test("an observer accepts a LocalClient instead of a Replay", () => {
  const replay = replayOf();
  const client = new LocalClient(replay);
  expect(client.spec).toEqual(SPEC);
  const observer = new ReverbAddTrajectoryObserver<Steps>(client, { tableName: "t", sequenceLength: 1 });
  observer(step(4));
  expect(items(replay)).toEqual(["4"]);
});
