/** Compares windows of a uniform buffer that cross no boundary with the manual steps of TF-Agents' SAC example: `unbatch`, `filter`, `batch`. */
import { describe, expect, test } from "vitest";
import { f32, i32 } from "../../../src/index.ts";
import { type Element, StepType, TFUniformReplayBuffer, trajectorySpec, type UniformDatasetOptions } from "../../../src/tf-agents/index.ts";
import { Windows } from "../../../src/tf-agents/windows.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

const spec = trajectorySpec({ observation: { n: f32(2) }, action: i32() });
type Steps = Element<typeof spec>;
interface Form {
  readonly batchSize: number;
  readonly maxLength: number;
  readonly seed: number;
  readonly datasetDropRemainder?: boolean;
  readonly datasetWindowShift?: number;
}

/** Fills a buffer with frames of the given step types: one list per call, with a type for each segment. */
function fill(form: Form, types: readonly (readonly number[])[]): TFUniformReplayBuffer<typeof spec> {
  const buffer = new TFUniformReplayBuffer(spec, form);
  for (const [t, row] of types.entries()) add(buffer, row, t);
  return buffer;
}

function add(buffer: TFUniformReplayBuffer<typeof spec>, types: readonly number[], t: number): void {
  const n = types.map((_, segment) => 1000 * segment + t);
  buffer.addBatch({
    stepType: [...types],
    nextStepType: types.map((type) => (type === StepType.LAST ? StepType.FIRST : StepType.MID)),
    observation: { n: n.map((value) => [value, -value]) },
    action: n,
    policyInfo: [],
    reward: n,
    discount: n.map(() => 1),
  });
}

type Plain = readonly [path: string, shape: readonly number[], data: readonly number[]];

/** Returns the columns of a nest as plain arrays. */
function plain(nest: unknown, path = ""): Plain[] {
  const { data, shape } = nest as { readonly data?: ArrayLike<number>; readonly shape?: readonly number[] };
  if (data !== undefined && shape !== undefined) return [[path, [...shape], Array.from(data)]];
  return Object.entries(nest as object).flatMap(([name, part]) => plain(part, `${path}.${name}`));
}

/** Implements `unbatch`: returns the rows of an element. */
function rows(element: Steps, isBatch: boolean): Plain[][] {
  const columns = plain(element);
  if (!isBatch) return [columns];
  const [[, [count = 0]]] = columns as unknown as readonly [Plain];
  return Array.from({ length: count }, (_, i) =>
    columns.map(([path, shape, data]): Plain => {
      const size = data.length / count;
      return [path, shape.slice(1), data.slice(i * size, (i + 1) * size)];
    }),
  );
}

/** Implements `filter`: tf.reduce_all(~trajectories.is_boundary()[:-1]). */
function isWithin(row: readonly Plain[]): boolean {
  const [, , types] = row.find(([path]) => path === ".0.stepType") as Plain;
  return types.slice(0, -1).every((type) => type !== StepType.LAST);
}

/** Implements `batch` for some rows. Rows of a deterministic pass have no probabilities. */
function batch(some: readonly (readonly Plain[])[]): Plain[] {
  return (some[0] as readonly Plain[]).map(([path, shape], k) => {
    const data = some.flatMap((row) => (row[k] as Plain)[2]);
    return path === ".1.probabilities" && data.length === 0 ? [path, [0], []] : [path, [some.length, ...shape], data];
  });
}

/** Returns the example's result, at most `most` elements, for input that may contain boundaries. */
function byHand(elements: Iterable<Steps>, size: number | undefined, most: number, dropsShort: boolean): Plain[][] {
  const made: Plain[][] = [];
  let kept: Plain[][] = [];
  for (const element of elements) {
    for (const row of rows(element, size !== undefined).filter(isWithin)) {
      kept.push(row);
      if (kept.length < (size ?? 1)) continue;
      made.push(size === undefined ? row : batch(kept));
      kept = [];
      if (made.length === most) return made;
    }
  }
  if (kept.length > 0 && !dropsShort) made.push(batch(kept));
  return made;
}

function take(elements: Iterable<Steps>, most: number): Plain[][] {
  const taken: Plain[][] = [];
  for (const element of elements) {
    taken.push(plain(element));
    if (taken.length === most) break;
  }
  return taken;
}

/** Returns random step types. The last steps of segment 0 are MID, so at least one window crosses no boundary. */
function randomTypes(random: TestRandom, segments: number, steps: number, width: number): number[][] {
  const types = Array.from({ length: steps }, () => Array.from({ length: segments }, () => random.below(4) % 3));
  for (let t = 0; t < width - 1; t++) (types[steps - 1 - t] as number[])[0] = StepType.MID;
  return types;
}

describe("dropBoundaries", () => {
  test.each(Array.from({ length: scaled(40, 4) }, (_, seed) => seed))("equals the manual steps of the example for random draws, seed %i", (seed) => {
    const random = new TestRandom(seed);
    const numSteps = 2 + random.below(3);
    const form = { batchSize: 1 + random.below(3), maxLength: numSteps + 4 + random.below(12), seed };
    const types = randomTypes(random, form.batchSize, form.maxLength + random.below(8), numSteps);
    const sampleBatchSize = seed % 5 === 0 ? undefined : 1 + random.below(9);
    const options = { numSteps, ...(sampleBatchSize !== undefined && { sampleBatchSize }) };
    const want = byHand(fill(form, types).asDataset(options), sampleBatchSize, 12, false);
    const buffer = fill(form, types);
    expect(take(buffer.asDataset({ ...options, dropBoundaries: true }), 12)).toEqual(want);
    // If dropBoundaries is false, the elements do not change.
    expect(take(fill(form, types).asDataset({ ...options, dropBoundaries: false }), 5)).toEqual(take(fill(form, types).asDataset(options), 5));
  });

  test.each(Array.from({ length: scaled(40, 4) }, (_, seed) => seed))("equals the manual steps of the example for a deterministic pass, seed %i", (seed) => {
    const random = new TestRandom(100 + seed);
    const numSteps = 2 + random.below(3);
    const form = {
      ...{ batchSize: 1 + random.below(4), maxLength: numSteps + random.below(20), seed },
      ...(seed % 3 === 0 && { datasetDropRemainder: true }),
      ...(seed % 2 === 0 && { datasetWindowShift: 1 }),
    };
    const types = randomTypes(random, form.batchSize, form.maxLength + random.below(8), numSteps);
    const sampleBatchSize = seed % 5 === 0 ? undefined : 1 + random.below(form.batchSize);
    const options = { numSteps, singleDeterministicPass: true, ...(sampleBatchSize !== undefined && { sampleBatchSize }) };
    const buffer = fill(form, types);
    const want = byHand(buffer.asDataset(options), sampleBatchSize, Number.POSITIVE_INFINITY, seed % 3 === 0);
    expect(take(buffer.asDataset({ ...options, dropBoundaries: true }), Number.POSITIVE_INFINITY)).toEqual(want);
  });

  const lonely = { batchSize: 1, maxLength: 8, seed: 1 };
  const [F, M, L] = [[StepType.FIRST], [StepType.MID], [StepType.LAST]];

  test("keeps a window that ends with a boundary, and drops a window with an earlier boundary", () => {
    const buffer = fill(lonely, [F, L, F, M, L]);
    const starts = new Set<number>();
    for (const element of take(buffer.asDataset({ numSteps: 2, sampleBatchSize: 8, dropBoundaries: true }), 20)) {
      for (const [path, , data] of element) if (path === ".0.action") for (let i = 0; i < data.length; i += 2) starts.add(data[i] as number);
    }
    expect([...starts].sort()).toEqual([0, 2, 3]);
  });

  test("draws at random even if only one window of 1,000 remains", () => {
    const types = Array.from({ length: 1000 }, (_, t) => (t === 500 ? M : L));
    const buffer = fill({ batchSize: 1, maxLength: 1000, seed: 3 }, types);
    const [element] = take(buffer.asDataset({ numSteps: 2, dropBoundaries: true }), 1);
    expect(element?.find(([path]) => path === ".0.action")?.[2]).toEqual([500, 501]);
  });

  /** Returns the step types of one-step episodes, except for two-step episodes at the given times. */
  const sparse = (steps: number, ...firsts: number[]) => Array.from({ length: steps }, (_, t) => (firsts.includes(t) ? M : L));

  test("makes a bounded number of draws for large elements if few windows remain", () => {
    const buffer = fill({ batchSize: 1, maxLength: 4000, seed: 3 }, sparse(4000, 17, 2500, 3998));
    let reads = 0;
    const { draw } = Windows.prototype;
    Windows.prototype.draw = function (...of) {
      reads++;
      return draw.apply(this, of);
    };
    try {
      const elements = take(buffer.asDataset({ numSteps: 2, sampleBatchSize: 300, dropBoundaries: true }), 10);
      expect(reads).toBeLessThanOrEqual(64);
      const counts = new Map<number, number>();
      for (const element of elements) {
        const [, , actions] = element.find(([path]) => path === ".0.action") as Plain;
        for (let i = 0; i < actions.length; i += 2) {
          expect(actions[i + 1]).toBe((actions[i] as number) + 1);
          counts.set(actions[i] as number, (counts.get(actions[i] as number) ?? 0) + 1);
        }
        const [, , ids] = element.find(([path]) => path === ".1.ids") as Plain;
        expect(ids).toEqual(actions);
        // The probabilities are those of draws among all windows.
        const [, , probabilities] = element.find(([path]) => path === ".1.probabilities") as Plain;
        expect(new Set(probabilities)).toEqual(new Set([1 / 3999]));
      }
      expect([...counts.keys()].sort((a, b) => a - b)).toEqual([17, 2500, 3998]);
      // Each window is expected 1,000 times; the limit is six standard deviations.
      for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(155);
    } finally {
      Windows.prototype.draw = draw;
    }
    // With the same seed and calls, the elements are equal.
    const again = () =>
      take(fill({ batchSize: 1, maxLength: 200, seed: 5 }, sparse(200, 17, 90)).asDataset({ numSteps: 2, sampleBatchSize: 9, dropBoundaries: true }), 9);
    expect(again()).toEqual(again());
  });

  test("draws with equal probability among few windows of several segments", () => {
    const form = { batchSize: 3, maxLength: 300, seed: 8 };
    const first = [StepType.MID, StepType.LAST, StepType.LAST];
    const third = [StepType.LAST, StepType.LAST, StepType.MID];
    const none = [StepType.LAST, StepType.LAST, StepType.LAST];
    const buffer = fill(
      form,
      Array.from({ length: 300 }, (_, t) => (t === 120 ? first : t === 9 || t === 299 ? third : none)),
    );
    const counts = new Map<number, number>();
    for (const element of take(buffer.asDataset({ numSteps: 2, sampleBatchSize: 100, dropBoundaries: true }), 10)) {
      const [, , actions] = element.find(([path]) => path === ".0.action") as Plain;
      for (let i = 0; i < actions.length; i += 2) counts.set(actions[i] as number, (counts.get(actions[i] as number) ?? 0) + 1);
    }
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual([120, 2009]);
    for (const count of counts.values()) expect(Math.abs(count - 500)).toBeLessThan(95);
  });

  test("draws among all windows again when there are enough", () => {
    const buffer = fill({ batchSize: 1, maxLength: 400, seed: 3 }, sparse(400, 17));
    const dataset = buffer.asDataset({ numSteps: 2, sampleBatchSize: 5, dropBoundaries: true })[Symbol.iterator]();
    const next = () => [...((dataset.next().value as Steps)[0].action.data as Int32Array)];
    expect(next()).toEqual(new Array(5).fill([17, 18]).flat());
    for (let t = 400; t < 800; t++) add(buffer, M, t);
    const seen = Array.from({ length: 20 }, next).flat();
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(400);
    expect(new Set(seen).size).toBeGreaterThan(50);
  });

  test("throws TOO_FEW if every window crosses a boundary, and a waiting loop continues later", async () => {
    const buffer = fill(lonely, [L, L, L, M]);
    const options = { numSteps: 2, sampleBatchSize: 2, dropBoundaries: true };
    expectError(
      errorOf(() => take(buffer.asDataset(options), 1)),
      "TOO_FEW",
    );
    const waits = buffer
      .asDataset({ ...options, timeoutMs: 60_000 })
      [Symbol.asyncIterator]()
      .next();
    add(buffer, M, 4);
    const { value } = await waits;
    expect([...(value as Steps)[0].action.data]).toEqual([3, 4, 3, 4]);
  });

  test("forgets the rest of an element when the buffer is cleared", () => {
    const buffer = fill(lonely, [F, M, L, F, M, L]);
    const dataset = buffer.asDataset({ numSteps: 2, sampleBatchSize: 5, dropBoundaries: true })[Symbol.iterator]();
    for (let i = 0; i < 3; i++) dataset.next();
    buffer.clear();
    for (const [t, row] of [F, M].entries()) add(buffer, row, 50 + t);
    const { value } = dataset.next();
    expect(new Set((value as Steps)[0].action.data)).toEqual(new Set([50, 51]));
  });

  test.each<[string, unknown, string | ErrorConstructor, RegExp]>([
    ["no numSteps", { dropBoundaries: true }, RangeError, /^numSteps is required.* 2 .*dropBoundaries/],
    ["numSteps of 1", { dropBoundaries: true, numSteps: 1 }, RangeError, /^numSteps must be at least 2/],
    ["a function for sequences", { dropBoundaries: true, numSteps: 2, sequencePreprocessFn: (items: unknown) => items }, RangeError, /^sequencePreprocessFn/],
    ["not a boolean", { dropBoundaries: 2, numSteps: 2 }, TypeError, /^dropBoundaries must be/],
    ["another name", { dropBoundary: true }, TypeError, /dropBoundaries/],
  ])("rejects invalid options: %s", (_, options, error, message) => {
    const buffer = fill(lonely, [F, M]);
    const thrown = errorOf(() => buffer.asDataset(options as UniformDatasetOptions<typeof spec>));
    expect(thrown).toBeInstanceOf(error);
    expect((thrown as Error).message).toMatch(message);
  });

  test.each([{ observation: f32() }, { stepType: i32(2) }, { stepType: { a: i32() } }])("rejects a spec without a single step type", (other) => {
    const buffer = new TFUniformReplayBuffer(other as never, { batchSize: 1 });
    expectError(
      errorOf(() => buffer.asDataset({ numSteps: 2, dropBoundaries: true })),
      "SPEC_MISMATCH",
    );
  });
});
