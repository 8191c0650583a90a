/** Tests features for DRQN: episodes that are cut into runs, and stacked for a recurrent model. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { batchRecurrentExperiences, EpisodicReplayBuffer, randomSubseq, type Transition } from "../../../src/pfrl/index.ts";
import { decode } from "../../conformance/transitions/values.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";

interface Recorded {
  readonly name: string;
  readonly ops: readonly { readonly [name: string]: never }[];
  readonly expect: readonly { readonly value: { readonly [name: string]: never }; readonly raises?: object }[];
}
const recorded = (file: string, name: string): Recorded => {
  const cases = JSON.parse(readFileSync(join(import.meta.dirname, "../../conformance/pfrl", file), "utf8")) as Recorded[];
  return cases.find((one) => one.name === name) as Recorded;
};

const one = (i: number, more: object = {}): Transition => ({
  state: Float32Array.of(i, -i),
  action: i,
  reward: i / 2,
  nextState: Float32Array.of(i + 1, 0),
  nextAction: null,
  isStateTerminal: false,
  recurrentState: null,
  nextRecurrentState: null,
  ...more,
});
const column = (data: object, ...shape: number[]) => ({ data, shape });
const gamma = 0.5;

describe("batchRecurrentExperiences", () => {
  test("equals the recorded result of PFRL", () => {
    const { ops, expect: expected } = recorded("batch.json", "batch-recurrent");
    const call = (op: { readonly [name: string]: never }) => {
      const lists = (op.experiences as unknown as never[][]).map((list) =>
        list.map((raw) => {
          const { next_state, next_action, is_state_terminal, recurrent_state, next_recurrent_state, ...rest } = decode(raw) as { [name: string]: never };
          const ours = { nextState: next_state, nextAction: next_action, isStateTerminal: is_state_terminal };
          return { ...rest, ...ours, recurrentState: recurrent_state, nextRecurrentState: next_recurrent_state } as unknown as Transition;
        }),
      );
      return batchRecurrentExperiences(lists, { gamma: op.gamma as unknown as number });
    };
    const [{ value }] = expected as [Recorded["expect"][0]];
    const { state, next_state, is_state_terminal, recurrent_state, next_recurrent_state, ...rest } = value;
    const told = { ...rest, state, nextState: next_state, isStateTerminal: is_state_terminal };
    const plain = (value: unknown): unknown => {
      if (value === null || Array.isArray(value)) return (value as unknown[] | null)?.map(plain) ?? null;
      const { data, shape, dtype } = value as { data: ArrayLike<number>; shape: number[]; dtype?: string };
      return { dtype: dtype ?? (data instanceof BigInt64Array ? "int64" : "float32"), shape, data: Array.from(data, Number) };
    };
    const made = call(ops[0] as never) as unknown as { [name: string]: unknown };
    for (const [name, value] of Object.entries(told)) expect(plain(made[name]), name).toEqual(plain(value));
    expect([made.recurrentState, made.nextRecurrentState, "nextAction" in made]).toEqual([recurrent_state, next_recurrent_state, false]);
    expectError(
      errorOf(() => call(ops[1] as never)),
      RangeError,
      /experiences must .*longest/,
    );
  });

  test("stacks recurrent states of first steps along the second dimension, with zeros for missing ones", () => {
    const layers = (i: number) => [Float32Array.of(i, i + 0.5, i + 0.75), Float32Array.of(-i, 0, 1)];
    const lists = [
      [one(1, { nextRecurrentState: { h: layers(1), c: [7] } }), one(2, { recurrentState: { h: layers(9), c: [9] } }), one(3)],
      [one(4, { recurrentState: { h: layers(2), c: [8] }, nextRecurrentState: { h: layers(3), c: [9] } }), one(5)],
      [one(6)],
    ];
    const { recurrentState, nextRecurrentState } = batchRecurrentExperiences(lists, { gamma });
    expect(recurrentState).toEqual({
      h: column(Float32Array.of(0, 0, 0, 2, 2.5, 2.75, 0, 0, 0, 0, 0, 0, -2, 0, 1, 0, 0, 0), 2, 3, 3),
      c: column(Float64Array.of(0, 8, 0), 1, 3),
    });
    expect(nextRecurrentState.h.shape).toEqual([2, 3, 3]);
    expect(nextRecurrentState.c).toEqual(column(Float64Array.of(7, 9, 0), 1, 3));
    const flat = batchRecurrentExperiences([[one(1, { recurrentState: Float32Array.of(1, 2) })], [one(2, { recurrentState: Float32Array.of(3, 4) })]], {
      gamma,
    });
    expect(flat.recurrentState).toEqual(column(Float32Array.of(1, 3, 2, 4), 2, 2));
  });

  test("returns steps in order of time and states per episode, and calls phi once per state and next state", () => {
    const lists = [[one(1, { nextAction: 5 }), one(2, { nextAction: 6, nextState: null, isStateTerminal: true })], [one(3, { nextAction: 7 })]];
    const seen: unknown[] = [];
    const phi = (state: Float32Array | null) => {
      seen.push(state?.[0]);
      return (state?.[0] ?? -1) + (state?.[0] === 3 ? 0.5 : 0);
    };
    const { state, nextState, action, reward, isStateTerminal, discount, nextAction } = batchRecurrentExperiences(lists, { gamma, phi: phi as never });
    expect(state).toEqual([column(Float64Array.of(1, 2), 2), column(Float64Array.of(3.5), 1)]);
    expect(nextState).toEqual([column(Float64Array.of(2, -1), 2), column(Float64Array.of(4), 1)]);
    expect([action, nextAction]).toEqual([column(BigInt64Array.of(1n, 3n, 2n), 3), column(BigInt64Array.of(5n, 7n, 6n), 3)]);
    expect([reward, isStateTerminal, discount]).toEqual([
      column(Float32Array.of(0.5, 1.5, 1), 3),
      column(Float32Array.of(0, 0, 1), 3),
      column(Float32Array.of(0.5, 0.5, 0.5), 3),
    ]);
    expect(seen.length).toBe(6);
  });

  test("accepts the episodes of a buffer", () => {
    const buffer = new EpisodicReplayBuffer({ seed: 4 });
    for (let i = 0; i < 20; i++) {
      const { nextAction, ...step } = one(i, {
        recurrentState: i % 5 === 0 ? null : [Float32Array.of(i, i)],
        nextRecurrentState: [Float32Array.of(i + 1, i + 1)],
      });
      buffer.append({ ...step, isStateTerminal: i % 5 === 4 });
    }
    const episodes = [...buffer.sampleEpisodes(3, 4, { form: "list" })].sort((a, b) => b.length - a.length);
    const { state, action, nextRecurrentState } = batchRecurrentExperiences(episodes, { gamma });
    expect(state.map(({ shape }) => shape)).toEqual([
      [4, 2],
      [4, 2],
      [4, 2],
    ]);
    expect(action.shape).toEqual([12]);
    expect(nextRecurrentState.shape).toEqual([1, 3, 2]);
  });

  test.each<[string, () => unknown, typeof TypeError | typeof RangeError, RegExp]>([
    ["a batch", () => batchRecurrentExperiences({} as never, { gamma }), TypeError, /experiences must .*sampleEpisodes\(n, maxLength, \{ form: "list" \}\)/],
    ["nothing", () => batchRecurrentExperiences([], { gamma }), RangeError, /at least one/],
    [
      "no recurrent state",
      () => batchRecurrentExperiences([[one(1, { recurrentState: undefined })]], { gamma }),
      TypeError,
      /recurrentState (must be given|is required) as an extra of each episode's first transition\. Pass null/,
    ],
    ["a word", () => batchRecurrentExperiences([[one(1, { recurrentState: "x" })]], { gamma }), TypeError, /recurrentState must be null, a typed array/],
    ["a number", () => batchRecurrentExperiences([[one(1, { recurrentState: 3 })]], { gamma }), TypeError, /recurrentState must be null, a typed array/],
    [
      "recurrent states that differ in form",
      () => batchRecurrentExperiences([[one(1, { recurrentState: [1, 2] })], [one(1, { recurrentState: [1] })]], { gamma }),
      TypeError,
      /recurrentState of item 1/,
    ],
  ])("rejects %s", (_, call, kind, says) => expectError(errorOf(call), kind, says));
});

describe("randomSubseq", () => {
  test("equals the recorded results of PFRL", () => {
    const { ops, expect: expected } = recorded("episodic.json", "random-subseq");
    for (const [i, { seq, subseq_len, draws }] of ops.entries()) {
      // The numbers in 0 … 1 correspond to PFRL's integers in lo … hi.
      const [draw] = draws as unknown as { randint: number }[];
      const { value, calls } = expected[i] as unknown as { value: unknown; calls: { lo: number; hi: number }[] };
      const random = () => ((draw as { randint: number }).randint + 0.5) / (calls[0] as { hi: number }).hi;
      expect(randomSubseq(seq as unknown as number[], subseq_len as unknown as number, random)).toEqual(value);
    }
  });

  test("chooses each start with equal probability, and draws no number if none is needed", () => {
    const random = new TestRandom(1);
    const counts = [0, 0, 0, 0];
    for (let i = 0; i < 4000; i++) (counts[randomSubseq([0, 1, 2, 3, 4], 2, () => random.next())[0] as number] as number)++;
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(4 * Math.sqrt(750));
    const never = () => {
      throw new Error("drawn");
    };
    const all = [1, 2];
    expect(randomSubseq(all, 2, never)).toBe(all);
    expect(randomSubseq(Float32Array.of(1, 2, 3), 2, () => 0.99)).toEqual(Float32Array.of(2, 3));
  });

  test.each<[string, () => unknown, typeof TypeError | typeof RangeError, RegExp]>([
    ["no random numbers", () => randomSubseq([1, 2], 1, undefined as never), TypeError, /random is required: a function, such as Math.random/],
    ["numbers beyond 1", () => randomSubseq([1, 2], 1, () => 1), RangeError, /result of random must be .*got 1/],
    ["an invalid length", () => randomSubseq([1, 2], -1, () => 0), RangeError, /subseqLen/],
  ])("rejects %s", (_, call, kind, says) => expectError(errorOf(call), kind, says));
});
