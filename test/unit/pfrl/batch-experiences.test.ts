import { describe, expect, test } from "vitest";
import { type Column, f64, i32 } from "../../../src/index.ts";
import { batchExperiences, PrioritizedReplayBuffer, ReplayBuffer, type Transition } from "../../../src/pfrl/index.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const LIST = { form: "list" } as const;
const one = (more: Partial<Transition> = {}): Transition => ({
  state: 1,
  action: 0,
  reward: 1,
  nextState: 2,
  nextAction: null,
  isStateTerminal: false,
  ...more,
});
const column = (data: object, ...shape: number[]) => ({ data, shape });

describe("batchExperiences of a list", () => {
  test("computes n-step returns, discounts and ends", () => {
    const made = batchExperiences([[one({ reward: 1 }), one({ reward: 2 }), one({ reward: 3, nextState: 9 })], [one({ reward: 4, isStateTerminal: true })]], {
      gamma: 0.5,
    });
    expect(made).toEqual({
      state: column(BigInt64Array.of(1n, 1n), 2),
      action: column(BigInt64Array.of(0n, 0n), 2),
      reward: column(Float32Array.of(1 + 1 + 0.75, 4), 2),
      nextState: column(BigInt64Array.of(9n, 2n), 2),
      isStateTerminal: column(Float32Array.of(0, 1), 2),
      discount: column(Float32Array.of(0.125, 0.5), 2),
    });
  });

  test.each<[string, unknown[], unknown]>([
    ["whole numbers", [1, 2], column(BigInt64Array.of(1n, 2n), 2)],
    ["fractions", [1, 2.5], column(Float64Array.of(1, 2.5), 2)],
    ["typed arrays", [Int8Array.of(1, 2), Int8Array.of(3, 4)], column(Int8Array.of(1, 2, 3, 4), 2, 2)],
    [
      "arrays of numbers",
      [
        [1, 2],
        [3, 4],
      ],
      column(Float64Array.of(1, 2, 3, 4), 2, 2),
    ],
    ["frames", [[Uint8Array.of(1), Uint8Array.of(2)]], column(Uint8Array.of(1, 2), 1, 2, 1)],
    ["nested", [{ a: 1, b: [true] }], { a: column(BigInt64Array.of(1n), 1), b: column(Uint8Array.of(1), 1, 1) }],
    ["words", ["x", "y"], ["x", "y"]],
  ])("converts states that are %s", (_, states, expected) => {
    const made = batchExperiences(
      states.map((state) => [one({ state, nextState: state })]),
      { gamma: 1 },
    );
    expect([made.state, made.nextState]).toEqual([expected, expected]);
  });

  test("returns fractional actions as f32, and next actions only if all items have one", () => {
    const lists = [[one({ action: 0.5, nextAction: 1 })], [one({ action: 1, nextAction: 2 })]];
    expect(batchExperiences(lists, { gamma: 1 })).toMatchObject({
      action: column(Float32Array.of(0.5, 1), 2),
      nextAction: column(Float32Array.of(1, 2), 2),
    });
    expect("nextAction" in batchExperiences([...lists, [one()]], { gamma: 1 })).toBe(false);
  });

  test.each<[string, () => unknown, typeof TypeError | typeof RangeError, RegExp]>([
    ["a next state of null", () => batchExperiences([[one({ nextState: null })]], { gamma: 1 }), TypeError, /^nextState /],
    ["states that differ in form", () => batchExperiences([[one()], [one({ state: [1] })]], { gamma: 1 }), TypeError, /state of item 1 must/],
    ["nothing", () => batchExperiences([], { gamma: 1 }), RangeError, /at least one/],
    ["not a list", () => batchExperiences([one()] as never, { gamma: 1 }), TypeError, /experiences\[0\] must be a list/],
    ["not a sample", () => batchExperiences({} as never, { gamma: 1 }), TypeError, /a batch from sample/],
    ["no gamma", () => batchExperiences([[one()]], {} as never), TypeError, /gamma/],
    ["an invalid phi", () => batchExperiences([[one()]], { gamma: 1, phi: 3 as never }), TypeError, /phi must be a function/],
  ])("rejects %s", (_, call, kind, says) => expectError(errorOf(call), kind, says));
});

/** Returns a column's numbers, whatever its array type. */
const numbers = ({ data }: Column) => Array.from(data as Float64Array, Number);

describe("batchExperiences of a batch", () => {
  test.each([
    [undefined, 1],
    [undefined, 3],
    [(state: { place: Float32Array }) => Float32Array.from(state.place, (x) => x / 2), 3],
  ] as const)("equals the list of the same draw (phi %s, %s steps)", (phi, numSteps) => {
    const random = new TestRandom(5);
    const buffers = [1, 2].map(() => new PrioritizedReplayBuffer({ numSteps, seed: 7 }));
    for (let i = 0; i < 60; i++) {
      const terminal = random.next() < 0.2;
      const transition = {
        state: { place: Float32Array.of(i, -i), n: i },
        action: i / 2,
        reward: random.next(),
        nextState: { place: Float32Array.of(i + 1, 0), n: i + 1 },
        nextAction: 3,
      };
      for (const buffer of buffers) buffer.append({ ...transition, isStateTerminal: terminal });
    }
    const options = { gamma: 0.9, phi: phi as never, dtypes: { state: "f64", action: "f64" } as const };
    const batch = batchExperiences((buffers[0] as PrioritizedReplayBuffer).sample(16), options);
    const list = batchExperiences((buffers[1] as PrioritizedReplayBuffer).sample(16, LIST), options);
    expect(batch).toEqual(list);
  });

  test("fills missing next states with zeros, or with the result of phi for null", () => {
    const buffer = new ReplayBuffer();
    buffer.append({ state: [1, 2], action: 0, reward: 1, isStateTerminal: true });
    const batch = buffer.sample(1);
    expect(numbers(batchExperiences(batch, { gamma: 1 }).nextState)).toEqual([0, 0]);
    expect(numbers(batchExperiences(batch, { gamma: 1, phi: (state: unknown) => (state === null ? [7, 7] : [1, 1]) }).nextState)).toEqual([7, 7]);
  });

  test("keeps the dtype of spec columns, and returns the column itself", () => {
    const buffer = new ReplayBuffer({ spec: { state: f64(1), action: i32() } });
    buffer.append({ state: [1], action: 2, reward: 1, nextState: [2] });
    const batch = buffer.sample(1);
    const made = batchExperiences(batch, { gamma: 1 });
    expect([made.state, made.action]).toEqual([batch.state, batch.action]);
    expect(made.state).toBe(batch.state);
  });
});
