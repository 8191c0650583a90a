/** Defects that a review of reprise/pfrl found, most serious first. Each test says what should be; `test.fails` goes with the defect. */
import { expect, test } from "vitest";
import { f32, f64, i32 } from "../../src/index.ts";
import {
  batchExperiences,
  EpisodicReplayBuffer,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
  type Transition,
} from "../../src/pfrl/index.ts";

const step = (state: number, more: object = {}) => ({ state, action: 0, reward: state, nextState: state + 1, ...more });

test.fails("5. a Uint8ClampedArray (a canvas's pixels) is u8, not an object", () => {
  const buffer = new ReplayBuffer();
  buffer.append({ state: new Uint8ClampedArray(8), action: 0, reward: 0, isStateTerminal: true });
  expect(buffer.sample(1).state).toEqual({ data: new Uint8Array(8), shape: [1, 8] });
});

test.fails("6. an extra that does not fit its column is told from 0 in a batch, or refused", () => {
  const buffer = new ReplayBuffer();
  buffer.append(step(0, { value: -1 }));
  expect(() => buffer.append(step(1, { value: [-2] }))).toThrow(); // else its column says 0, and nothing says that this is no value
});

test("9. batchExperiences takes a batch, as its types say", () => {
  const buffer = new ReplayBuffer({ numSteps: 2 });
  for (let i = 0; i < 3; i++) buffer.append(step(i));
  expect(batchExperiences(buffer.sample(2), { gamma: 0.5 }).discount.data).toEqual(Float32Array.of(0.25, 0.25)); // TypeError
});

test.fails("10. the dtype of a column does not hang on the values that were drawn", () => {
  const stateOf = (x: number) =>
    batchExperiences([[{ ...step(0), state: [x, 0], nextState: [x, 0], nextAction: null, isStateTerminal: false }]], { gamma: 1 }).state;
  expect(stateOf(0).data.constructor).toBe(stateOf(0.5).data.constructor); // BigInt64Array, then Float64Array
});

test.fails("13. with a spec and nothing appended, sample(0) is an empty batch, or EMPTY", () => {
  const buffer = new ReplayBuffer({ spec: { state: f32(), action: i32() } });
  expect(() => buffer.sample(0)).not.toThrow(TypeError); // Cannot read properties of undefined (reading 'alike')
});

test.fails("14. a circle in the first transition is a TypeError that names its path, as in a later one", () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  expect(() => new ReplayBuffer().append({ state: circle, action: 0, reward: 0 })).toThrow(/^state\.self/); // Maximum call stack size exceeded
});

test.fails("14b. and so is one in a later extra that has a column", () => {
  const buffer = new ReplayBuffer();
  const circle: unknown[] = [];
  circle.push(circle);
  buffer.append(step(0, { value: 1 }));
  expect(() => buffer.append(step(1, { value: circle }))).toThrow(/^value/);
});

test.fails("15. options of the engine are checked at construction, as all others are", () => {
  expect(() => new ReplayBuffer({ seed: 1.5 })).toThrow(TypeError);
});

test.fails("15b. and so are maxBytes and a capacity that no table has", () => {
  for (const options of [{ maxBytes: -1 }, { capacity: 2 ** 26 }]) expect(() => new ReplayBuffer(options)).toThrow(RangeError);
});

test.fails("16. a transition that is none is said to be none, by each buffer", () => {
  const buffer = new EpisodicReplayBuffer();
  buffer.append(step(0));
  expect(() => buffer.append(null as never)).toThrow(/^transition must be/); // Cannot read properties of null
});

test.fails("17. a last step of the wrong form is refused before its episode is weighed", () => {
  const defaultPriorityFunc = (episode: readonly Transition[]) => episode.reduce((sum, { reward }) => sum + reward, 0);
  const buffer = new PrioritizedEpisodicReplayBuffer({ defaultPriorityFunc });
  const wrong = { ...step(0), reward: "1" as never, isStateTerminal: true };
  expect(() => buffer.append(wrong)).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH" })); // TypeError about defaultPriorityFunc
});

test.fails("18. a spec's extras have names of their own", () => {
  const extras = { state: f64() };
  expect(() => new ReplayBuffer({ spec: { state: f32(2), action: i32(), extras } })).toThrow(RangeError); // lists then have the extra as state
});

test.fails("19. extras of any name are kept, or refused by name", () => {
  const buffer = new ReplayBuffer();
  buffer.append(step(0, { constructor: "a" }));
  buffer.append(step(1)); // TypeError: constructor must be what can be saved
  expect(buffer.length).toBe(2);
});

test.fails("20. as many probabilities as one likes", () => {
  const probabilities = new Float64Array(200_000).fill(0.5);
  expect(new PrioritizedReplayBuffer().weightsFromProbabilities(probabilities, 0.5).length).toBe(200_000); // Maximum call stack size exceeded
});
