/** Tests which forms of transitions, extras and options are accepted, and how others are rejected. */
import { expect, test } from "vitest";
import { f32, f64, i32 } from "../../../src/index.ts";
import {
  batchExperiences,
  EpisodicReplayBuffer,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
  type Transition,
} from "../../../src/pfrl/index.ts";

const step = (state: number, more: object = {}) => ({ state, action: 0, reward: state, nextState: state + 1, ...more });

test("a Uint8ClampedArray, such as canvas pixels, is stored as u8", () => {
  const buffer = new ReplayBuffer();
  buffer.append({ state: new Uint8ClampedArray(8), action: 0, reward: 0, isStateTerminal: true });
  expect(buffer.sample(1).state).toEqual({ data: new Uint8Array(8), shape: [1, 8] });
});

test("an extra that does not fit its column is rejected", () => {
  const buffer = new ReplayBuffer();
  buffer.append(step(0, { value: -1 }));
  expect(() => buffer.append(step(1, { value: [-2] }))).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH" })); // otherwise stored as 0, without a flag
});

test("the dtype of a column does not depend on the values", () => {
  const stateOf = (x: number) =>
    batchExperiences([[{ ...step(0), state: [x, 0], nextState: [x, 0], nextAction: null, isStateTerminal: false }]], { gamma: 1 }).state;
  expect(stateOf(0).data.constructor).toBe(stateOf(0.5).data.constructor); // a bug returned a BigInt64Array, then a Float64Array
});

test("sample(0) of an empty buffer with a spec returns an empty batch", () => {
  const buffer = new ReplayBuffer({ spec: { state: f32(), action: i32() } });
  expect(buffer.sample(0).count).toBe(0);
});

test("a circular first transition throws an error that names its path", () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  expect(() => new ReplayBuffer().append({ state: circle, action: 0, reward: 0 })).toThrow(/^state\.self/);
});

test("a circular extra that has a column throws an error that names the extra", () => {
  const buffer = new ReplayBuffer();
  const circle: unknown[] = [];
  circle.push(circle);
  buffer.append(step(0, { value: 1 }));
  expect(() => buffer.append(step(1, { value: circle }))).toThrow(/^value/);
});

test("engine options are checked at construction", () => {
  expect(() => new ReplayBuffer({ seed: 1.5 })).toThrow(/seed must be/);
});

test("maxBytes and capacity are checked at construction", () => {
  for (const options of [{ maxBytes: -1 }, { capacity: 2 ** 26 }]) expect(() => new ReplayBuffer(options)).toThrow(RangeError);
});

test("append rejects a value that is not a transition", () => {
  const buffer = new EpisodicReplayBuffer();
  buffer.append(step(0));
  expect(() => buffer.append(null as never)).toThrow(/^transition must be/);
});

test("a last step of the wrong form is rejected before its episode gets a priority", () => {
  const defaultPriorityFunc = (episode: readonly Transition[]) => episode.reduce((sum, { reward }) => sum + reward, 0);
  const buffer = new PrioritizedEpisodicReplayBuffer({ defaultPriorityFunc });
  const wrong = { ...step(0), reward: "1" as never, isStateTerminal: true };
  expect(() => buffer.append(wrong)).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH" })); // a bug threw a TypeError about defaultPriorityFunc
});

test("extras of a spec must not have the name of a part of the transition", () => {
  const extras = { state: f64() };
  expect(() => new ReplayBuffer({ spec: { state: f32(2), action: i32(), extras } })).toThrow(RangeError); // otherwise it replaces the state in lists
});

test("an extra named constructor is kept, and may be omitted later", () => {
  const buffer = new ReplayBuffer();
  buffer.append(step(0, { constructor: "a" }));
  buffer.append(step(1)); // a bug threw a TypeError about `constructor`
  expect(buffer.length).toBe(2);
});

test("weightsFromProbabilities accepts 200,000 probabilities", () => {
  const probabilities = new Float64Array(200_000).fill(0.5);
  expect(new PrioritizedReplayBuffer().weightsFromProbabilities(probabilities, 0.5).length).toBe(200_000);
});

test("hasExtras distinguishes a missing extra from the value 0", () => {
  const buffer = new ReplayBuffer({ numSteps: 2 });
  buffer.append(step(0, { value: 0, note: "a" }));
  buffer.append(step(1, { value: null }));
  const { hasExtras, extras } = buffer.sample(1);
  expect(extras.value.data).toEqual(Float64Array.of(0, 0));
  expect(hasExtras.value).toEqual({ data: Uint8Array.of(1, 0), shape: [1, 2] });
  expect(hasExtras.note).toEqual({ data: Uint8Array.of(1, 0), shape: [1, 2] });
  expect(buffer.sample(1, { form: "list" })[0]?.[1]).toEqual({ ...step(1), nextAction: null, isStateTerminal: false, value: null }); // equals the passed step
});

test("an extra of another form is rejected with its name and a remedy", () => {
  const buffer = new ReplayBuffer();
  buffer.append(step(0, { value: 1 }));
  const says = expect.objectContaining({ code: "SPEC_MISMATCH", message: expect.stringMatching(/^value must be f64.*got "x".*spec\.extras/) });
  expect(() => buffer.append(step(1, { value: "x" }))).toThrow(says);
  expect(buffer.length).toBe(1);
});

test("dtypes sets the dtype of plain numbers, and without it states and next states share one", () => {
  const item = [{ ...step(0), nextState: 0.5, nextAction: null, isStateTerminal: false }];
  const made = batchExperiences([item], { gamma: 1 });
  expect([made.state.data, made.nextState.data, made.action.data]).toEqual([Float64Array.of(0), Float64Array.of(0.5), BigInt64Array.of(0n)]);
  const chosen = batchExperiences([item], { gamma: 1, dtypes: { state: "f32", action: "i32" } });
  expect([chosen.state.data, chosen.action.data]).toEqual([Float32Array.of(0), Int32Array.of(0)]);
  expect(() => batchExperiences([item], { gamma: 1, dtypes: { state: "u8" } })).toThrow(/^nextState must .*got 0\.5/);
  expect(() => batchExperiences([item], { gamma: 1, dtypes: { state: "bool" as never } })).toThrow(RangeError);
});

test("columns of a batch keep their dtype, unless dtypes changes it", () => {
  const buffer = new ReplayBuffer();
  buffer.append(step(1));
  expect(batchExperiences(buffer.sample(1), { gamma: 1 }).state.data).toEqual(Float64Array.of(1));
  expect(batchExperiences(buffer.sample(1), { gamma: 1, dtypes: { state: "i32" } }).state.data).toEqual(Int32Array.of(1));
});

test("waitPriorityAfterSampling is accepted only by name", () => {
  const given = [10, 0.6, 0.4, 100, 0.01, true, 0, 1, 1] as const;
  const buffer = new PrioritizedReplayBuffer(...given, { waitPriorityAfterSampling: false });
  buffer.append(step(0));
  buffer.sample(1);
  expect(buffer.sample(1).count).toBe(1);
  expect(() => new PrioritizedReplayBuffer(...given, false as never)).toThrow(/must be|takes/);
});

test("append rejects an extra named __proto__, and ignores inherited properties", () => {
  const buffer = new ReplayBuffer();
  expect(() => buffer.append(JSON.parse('{"state": 0, "action": 0, "reward": 0, "__proto__": 1}'))).toThrow(/^__proto__ must be/);
  buffer.append(Object.assign(Object.create({ inherited: 1 }), step(0)));
  expect(Object.keys(buffer.sample(1, { form: "list" })[0]?.[0] ?? {})).not.toContain("inherited");
});

test("pixels work in a stack, nested, and next to Uint8Arrays", () => {
  const buffer = new ReplayBuffer();
  const pixels = (n: number) => new Uint8ClampedArray(100).fill(n);
  buffer.append({
    state: { frames: [pixels(1), pixels(2)], x: 1 },
    action: 0,
    reward: 0,
    nextState: { frames: [new Uint8Array(100).fill(2), pixels(3)], x: 2 },
  });
  const { state, nextState } = buffer.sample(1);
  expect([state.frames.data[100], nextState.frames.data[0], nextState.frames.data[199]]).toEqual([2, 2, 3]);
});

test("batchExperiences accepts a batch of items with two steps", () => {
  const buffer = new ReplayBuffer({ numSteps: 2 });
  for (let i = 0; i < 3; i++) buffer.append(step(i));
  expect(batchExperiences(buffer.sample(2), { gamma: 0.5 }).discount.data).toEqual(Float32Array.of(0.25, 0.25));
});
