import { expect, test } from "vitest";
import { bool, f32, f64, fifo, i32, Replay, shared, u8 } from "../../../src/index.ts";
import { TestRandom } from "../../support/random.ts";
import { expectRefused } from "../../support/refused.ts";

const GAMMA = 0.9;

interface Step {
  readonly r: number;
  readonly d: number;
  readonly end: boolean;
}

interface Expected {
  ret: number;
  discount: number;
  steps: number;
  terminated: number;
  truncated: number;
}

/** Implements the formula of Sutton and Barto (2018), section 7.1, directly for the steps of one item. */
function nStep(window: readonly Step[], n: number, own: boolean): Expected {
  const result: Expected = { ret: 0, discount: 1, steps: 0, terminated: 0, truncated: 0 };
  for (const [j, { r, d, end }] of window.entries()) {
    if (result.steps === n) break;
    // A step without its own next observation requires the following step.
    const followed = own || (j + 1 < window.length && !end);
    if (!followed) {
      if (end) result.truncated = 1;
      break;
    }
    result.ret += result.discount * r;
    result.discount *= GAMMA * d;
    result.steps++;
    if (d === 0) {
      result.terminated = 1;
      break;
    }
    if (end) {
      result.truncated = 1;
      break;
    }
  }
  return result;
}

test.each([
  ["following", "discount"],
  ["own", "discount"],
  ["following", "terminal"],
  ["own", "terminal"],
] as const)("returns, discounts and steps follow Sutton and Barto: next observation %s, %s", (nextState, role) => {
  const replay = new Replay({ spec: { at: i32(), r: f64(), d: f64(), done: u8() }, tables: { t: { maxSize: 1000 } }, seed: 1 });
  const random = new TestRandom(7);
  const writer = replay.writer({ items: [{ table: "t", length: 6 }], across: true });
  const all: Step[] = [];
  for (let at = 0; at < 300; at++) {
    const d = random.next() < 0.15 ? 0 : 1;
    const end = d === 0 || random.next() < 0.1;
    const r = random.next() - 0.5;
    all.push({ r, d, end });
    writer.append({ at, r, d, done: 1 - d });
    if (end) writer.endEpisode();
  }
  // Each item is evaluated separately, so an item in the middle of an episode does not know later steps.
  for (const n of [1, 2, 3, 5, 6, 50]) {
    const ends = role === "discount" ? ({ discount: "d" } as const) : ({ terminal: "done" } as const);
    const columns = { at: { leaf: "at", at: 0 }, next: { leaf: "at", at: "bootstrap" } } as const;
    const batch = replay.table("t").sample(200, { length: 6, columns, nStep: { n, gamma: GAMMA, reward: "r", nextState, ...ends } });
    for (let i = 0; i < batch.count; i++) {
      const first = batch.steps.at.data[i] as number;
      const window: Step[] = [];
      for (const step of all.slice(first, first + 6)) {
        window.push(step);
        if (step.end) break;
      }
      const expected = nStep(window, n, nextState === "own");
      const got = batch.nStep as NonNullable<typeof batch.nStep>;
      expect(got.returns[i]).toBeCloseTo(expected.ret, 12);
      expect(got.discounts[i]).toBeCloseTo(expected.discount, 12);
      expect([got.steps[i], got.terminated[i], got.truncated[i]], `n ${n}, first ${first}`).toEqual([expected.steps, expected.terminated, expected.truncated]);
      // The bootstrap row follows the rows of the return, unless rows contain their own next observation.
      const bootstrap = nextState === "own" ? expected.steps - 1 : expected.steps;
      if ((batch.lengths[i] as number) > bootstrap) expect(batch.steps.next.data[i]).toBe(first + bootstrap);
    }
  }
});

test("sample rejects invalid nStep options before anything is drawn", () => {
  const replay = new Replay({ spec: { r: f32(), d: f32(), done: bool(), wide: f32(3), frame: shared("f", f32()) }, tables: { t: { maxSize: 3 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  writer.append({ r: 1, d: 1, done: false, wide: [1, 2, 3], frame: 1 });
  const good = { n: 2, gamma: 0.9, reward: "r", discount: "d" };
  const bad: [object, typeof TypeError | typeof RangeError | "NOT_FOUND" | "SPEC_MISMATCH", ...RegExp[]][] = [
    [{ ...good, n: 0 }, RangeError, /^nStep\.n must/, /got 0/],
    [{ ...good, n: 1.5 }, TypeError, /^nStep\.n must/, /1\.5/],
    [{ ...good, n: "3" }, TypeError, /^nStep\.n must/, /"3"/],
    [{ ...good, gamma: Number.NaN }, RangeError, /^nStep\.gamma must/, /NaN/],
    [{ ...good, gamma: undefined }, TypeError, /^nStep\.gamma is required/],
    [{ ...good, reward: "x" }, "NOT_FOUND", /^nStep\.reward must be one of/, /"x"/],
    [{ ...good, discount: "wide" }, "SPEC_MISMATCH", /^nStep\.discount must/, /"wide"/],
    [{ ...good, reward: "frame" }, "SPEC_MISMATCH", /^nStep\.reward/, /"frame"/],
    [{ ...good, discount: "x" }, "NOT_FOUND", /^nStep\.discount must be one of/],
    [{ ...good, discount: "done" }, "SPEC_MISMATCH", /^nStep\.discount must be a numeric leaf .* nStep\.terminal/, /the bool leaf "done"/],
    [{ ...good, terminal: "d" }, RangeError, /^nStep must/],
    [{ ...good, nextState: "next" }, RangeError, /^nStep\.nextState must be one of "following", "own"/, /"next"/],
    [{ ...good, lambda: 1 }, TypeError, /^nStep has no option "lambda"/],
    [null as never, TypeError, /^nStep must be an object/, /null/],
  ];
  for (const [nStep, kind, ...says] of bad) expectRefused(replay, () => replay.table("t").sample(1, { nStep: nStep as never }), kind, ...says);
});

/** Creates an episode of five steps that contain their own next observation, in items of `length` steps, oldest first. */
function own(length: number, n: number) {
  const replay = new Replay({ spec: { at: i32(), next: i32(), r: f32() }, tables: { t: { maxSize: 9, sampler: fifo() } }, logger: null });
  const writer = replay.writer({ items: [{ table: "t", length }] });
  for (let at = 0; at < 5; at++) writer.append({ at, next: at + 1, r: 1 });
  const columns = { at: { leaf: "at", at: 0 }, next: { leaf: "next", at: "bootstrap" } } as const;
  const table = replay.tables.t;
  const { steps, nStep } = table.sample(table.size, { replacement: false, columns, nStep: { n, gamma: 0.5, reward: "r", nextState: "own" } });
  return [...steps.at.data].map((at, i) => [at, steps.next.data[i], nStep.returns[i]]);
}

test('nextState "own" bootstraps from the last row of the return in items of n steps', () => {
  expect(own(2, 2)).toEqual([0, 1, 2, 3].map((at) => [at, at + 2, 1.5]));
});

test('nextState "own" bootstraps from the last row of the return in longer items', () => {
  expect(own(4, 2)).toEqual([0, 1].map((at) => [at, at + 2, 1.5]));
});

test("nStep rejects a flag as discount, and suggests nStep.terminal", () => {
  const replay = new Replay({ spec: { r: f32(), done: bool() }, tables: { t: { maxSize: 9 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  for (const done of [false, true]) writer.append({ r: 1, done });
  const how = { nStep: { n: 1, gamma: 0.9, reward: "r", discount: "done" } } as const;
  expectRefused(replay, () => replay.tables.t.sample(1, how), "SPEC_MISMATCH", /^nStep\.discount must be a numeric leaf/, /nStep\.terminal/);
});

test("endEpisode() truncates transitions of a view, but returns of sample only if rewards are missing", () => {
  const replay = new Replay({ spec: { observation: i32(), action: i32(), reward: f32() }, tables: { t: { maxSize: 9, sampler: fifo() } }, logger: null });
  const writer = replay.writer({ keep: 3 });
  for (let at = 0; at < 3; at++) writer.append({ observation: at, action: at, reward: 1 });
  for (const length of [3, 2]) writer.createItem("t", { length });
  writer.endEpisode();
  const { t } = replay.tables;
  const view = t.transitions({ gamma: 1 });
  const { nStep } = t.sample(2, { replacement: false, nStep: { n: 2, gamma: 1, reward: "reward" } });
  // The first item has two rewards, and the second item has one; both bootstrap from the last step.
  expect([[...nStep.steps], [...nStep.terminated], [...nStep.truncated]]).toEqual([
    [2, 1],
    [0, 0],
    [0, 1],
  ]);
  const { steps, terminated, truncated } = view.sample(2, { replacement: false });
  expect([[...steps.data], [...terminated.data], [...truncated.data]]).toEqual([
    [2, 1],
    [0, 0],
    [1, 1],
  ]);
});
