import { describe, expect, test } from "vitest";
import { bool, f32, i32, i64, u8 } from "../../../src/index.ts";
import { list, TFUniformReplayBuffer } from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const spec = { o: f32(2), n: i32() };

/** Creates a buffer whose frame at time t of segment s has n = 100 s + t. */
function filled(adds: number, options: { batchSize?: number; maxLength?: number; datasetDropRemainder?: boolean; datasetWindowShift?: number } = {}) {
  const { batchSize = 2 } = options;
  const buffer = new TFUniformReplayBuffer(spec, { batchSize, maxLength: 4, ...options });
  const add = (t: number) => buffer.addBatch(frame(batchSize, t));
  for (let t = 0; t < adds; t++) add(t);
  return { buffer, add };
}

function frame(batchSize: number, t: number) {
  const n = Array.from({ length: batchSize }, (_, s) => 100 * s + t);
  return { o: n.map((value) => [value, -value]), n };
}

const plain = (column: unknown) => [...(column as { data: Iterable<number> }).data].map(Number);
const shapes = ({ o, n }: { o: { shape: readonly number[] }; n: { shape: readonly number[] } }) => [o.shape, n.shape];

describe("frames", () => {
  test("are the last maxLength frames of each segment, oldest first", () => {
    const { buffer, add } = filled(0);
    expect(buffer.numFrames()).toBe(0);
    expect(buffer.capacity).toBe(8);
    expect(buffer.gatherAll().o.shape).toEqual([2, 0, 2]);
    for (let t = 0; t < 11; t++) {
      add(t);
      const steps = Math.min(t + 1, 4);
      expect(buffer.numFrames()).toBe(2 * steps);
      const all = buffer.gatherAll();
      const times = Array.from({ length: steps }, (_, i) => t + 1 - steps + i);
      expect(all.n).toEqual({ data: Int32Array.from([...times, ...times.map((one) => 100 + one)]), shape: [2, steps] });
      expect(all.o.shape).toEqual([2, steps, 2]);
      expect(plain(all.o)[1]).toBe(-(times[0] as number));
    }
  });

  test("may have one segment of one frame", () => {
    const { buffer, add } = filled(3, { batchSize: 1, maxLength: 1 });
    expect(plain(buffer.gatherAll().n)).toEqual([2]);
    add(7);
    const [items, { ids, probabilities }] = buffer.getNext({ sampleBatchSize: 3, numSteps: 1 });
    expect(plain(items.n)).toEqual([7, 7, 7]);
    expect(ids).toEqual({ data: Float64Array.of(3, 3, 3), shape: [3, 1] });
    expect(plain(probabilities)).toEqual([1, 1, 1]);
  });

  test("are accepted as typed arrays, nested arrays or columns, and numbers are converted", () => {
    const buffer = new TFUniformReplayBuffer({ x: f32(2), flag: bool(), big: i64(), byte: u8() }, { batchSize: 2 });
    buffer.addBatch({ x: new Float32Array([1, 2, 3, 4]), flag: new Uint8Array([0, 1]), big: new BigInt64Array([1n, 2n]), byte: new Uint8Array([1, 2]) });
    buffer.addBatch({ x: [new Float32Array([1, 2]), [3, 4]], flag: [false, true], big: [1, 2n], byte: [1, 2] });
    buffer.addBatch({ x: new Float64Array([1, 2, 3, 4]), flag: [0, 1], big: new Int32Array([1, 2]), byte: new Float32Array([1, 2]) } as never);
    const column = (data: ArrayLike<number | bigint>, ...shape: number[]) => ({ data, shape });
    buffer.addBatch({ x: column(new Float32Array([1, 2, 3, 4]), 2, 2), flag: [0, 1], big: [1, 2], byte: [1, 2] } as never);
    buffer.addBatch({ x: column(new Int32Array([1, 2, 3, 4]), 2, 2), flag: [0, 1], big: [1, 2], byte: [1, 2] } as never);
    const all = buffer.gatherAll();
    for (const t of [0, 1, 2, 3, 4]) {
      expect(plain(all.x).slice(2 * t, 2 * t + 2)).toEqual([1, 2]);
      expect(plain(all.x).slice(10 + 2 * t, 12 + 2 * t)).toEqual([3, 4]);
      expect([all.flag, all.big, all.byte].map((one) => [plain(one)[t], plain(one)[5 + t]])).toEqual([
        [0, 1],
        [1, 2],
        [1, 2],
      ]);
    }
  });

  test.each<[string, unknown, string]>([
    ["another structure", { o: [[0, 0]], m: [1] }, "SPEC_MISMATCH"],
    ["an additional leaf", { ...frame(2, 0), m: [1, 2] }, "SPEC_MISMATCH"],
    ["no nest", 3, "SPEC_MISMATCH"],
    ["no batch", { o: [1, 2], n: 3 }, "SPEC_MISMATCH"],
    ["too small a batch", frame(1, 0), "SPEC_MISMATCH"],
    ["too large a batch", frame(3, 0), "SPEC_MISMATCH"],
    ["batches of two sizes", { ...frame(2, 0), n: [1] }, "SPEC_MISMATCH"],
    ["another shape", { o: [[1], [2]], n: [1, 2] }, "SPEC_MISMATCH"],
    ["a column of another shape", { o: { data: new Float32Array(4), shape: [4] }, n: [1, 2] }, "SPEC_MISMATCH"],
    ["words", { ...frame(2, 0), n: ["1", "2"] }, "SPEC_MISMATCH"],
    ["a fraction for an integer", { ...frame(2, 0), n: [1, 2.5] }, "INVALID_DATA"],
    ["too large a number", { ...frame(2, 0), n: new Float64Array([1, 2 ** 31]) }, "INVALID_DATA"],
  ])("with a wrong form are rejected, and nothing changes: %s", (_, items, code) => {
    const { buffer } = filled(2);
    const before = buffer.gatherAll();
    expectError(
      errorOf(() => buffer.addBatch(items as never)),
      code as never,
    );
    expect(buffer.numFrames()).toBe(4);
    expect(buffer.gatherAll()).toEqual(before);
  });

  test("are removed by clear, which also restarts their times", () => {
    const { buffer, add } = filled(6);
    buffer.clear();
    expect(buffer.numFrames()).toBe(0);
    expectError(
      errorOf(() => buffer.getNext()),
      "EMPTY",
    );
    add(50);
    const [items, { ids }] = buffer.getNext();
    expect([50, 150]).toContain(plain(items.n)[0]);
    expect(ids).toEqual({ data: Float64Array.of(0), shape: [] });
    buffer.clear({ clearAllVariables: true });
    expect(buffer.numFrames()).toBe(0);
  });

  test("are not added if memory is full", () => {
    const buffer = new TFUniformReplayBuffer({ x: u8(60_000) }, { batchSize: 1, maxLength: 100, maxBytes: 1 << 22 });
    let added = 0;
    const error = errorOf(() => {
      for (;;) {
        buffer.addBatch({ x: [new Uint8Array(60_000).fill(added)] });
        added++;
      }
    });
    expectError(error, "OUT_OF_MEMORY");
    expect(added).toBeGreaterThan(5);
    expect(buffer.numFrames()).toBe(added);
  });
});

describe("getNext", () => {
  test.each<[number | undefined, number | undefined, number[], number[]]>([
    [undefined, undefined, [], []],
    [3, undefined, [3], [3]],
    [undefined, 2, [2], []],
    [3, 2, [3, 2], [3]],
    [1, 1, [1, 1], [1]],
  ])("returns the documented shapes for sampleBatchSize %s and numSteps %s", (sampleBatchSize, numSteps, lead, leadOfProbabilities) => {
    const { buffer } = filled(6);
    const [items, { ids, probabilities }] = buffer.getNext({ sampleBatchSize, numSteps });
    expect(shapes(items)).toEqual([[...lead, 2], lead]);
    expect((ids as { shape: unknown }).shape).toEqual(lead);
    expect(probabilities.shape).toEqual(leadOfProbabilities);
    const starts = 2 * (4 - (numSteps ?? 1) + 1);
    for (const probability of probabilities.data) expect(probability).toBe(1 / starts);
    // The ids are times, which identify the frames.
    expect(plain(items.n).map((n) => n % 100)).toEqual(plain(ids));
    for (const time of plain(ids)) expect([2, 3, 4, 5]).toContain(time);
  });

  test("returns a list of steps if timeStacked is false", () => {
    const { buffer } = filled(6);
    for (const [sampleBatchSize, lead] of [
      [undefined, []],
      [3, [3]],
    ] as const) {
      const [items, { ids, probabilities }] = buffer.getNext({ sampleBatchSize, numSteps: 3, timeStacked: false });
      expect(items).toHaveLength(3);
      for (const [t, item] of items.entries()) {
        expect(shapes(item)).toEqual([[...lead, 2], lead]);
        expect(plain(item.n)).toEqual(plain(items[0]?.n).map((n) => n + t));
        expect(plain((ids as unknown[])[t])).toEqual(plain(item.n).map((n) => n % 100));
      }
      expect(probabilities.shape).toEqual(lead);
    }
  });

  test("throws TOO_FEW if numSteps exceeds the stored steps", () => {
    const { buffer, add } = filled(0, { maxLength: 3 });
    const refused = (numSteps?: number) => errorOf(() => buffer.getNext({ numSteps }));
    expectError(refused(), "EMPTY");
    add(0);
    expectError(refused(2), "TOO_FEW", /at most 1/);
    for (let t = 1; t < 9; t++) add(t);
    expect(shapes(buffer.getNext({ numSteps: 3 })[0])).toEqual([[3, 2], [3]]);
    expectError(refused(4), "TOO_FEW", /at most 3/);
  });

  test.each<[object, typeof TypeError | typeof RangeError, RegExp]>([
    [{ sampleBatchSize: 0 }, RangeError, /sampleBatchSize/],
    [{ numSteps: 1.5 }, TypeError, /numSteps/],
    [{ numSteps: true }, TypeError, /numSteps/],
    [{ timeStacked: 1 }, TypeError, /timeStacked/],
    [{ batchSize: 1 }, TypeError, /no option "batchSize"/],
  ])("rejects %j", (options, kind, says) => {
    const { buffer } = filled(3);
    expectError(
      errorOf(() => buffer.getNext(options as never)),
      kind,
      says,
    );
  });

  test("draws the same items for the same seed, and other items for another seed", () => {
    const draws = (seed: number) => {
      const buffer = new TFUniformReplayBuffer(i32(), { batchSize: 2, maxLength: 50, seed });
      for (let t = 0; t < 70; t++) buffer.addBatch([t, 100 + t]);
      return plain(buffer.getNext({ sampleBatchSize: 40 })[0]);
    };
    expect(draws(3)).toEqual(draws(3));
    expect(draws(3)).not.toEqual(draws(4));
  });
});

describe("a deterministic pass", () => {
  const passOf = (buffer: ReturnType<typeof filled>["buffer"], sampleBatchSize?: number, numSteps?: number) =>
    [...buffer.asDataset({ singleDeterministicPass: true, sampleBatchSize, numSteps })].map(([items, { ids, probabilities }]) => {
      expect(probabilities).toEqual({ data: new Float64Array(0), shape: [0] });
      expect((ids as { shape: unknown }).shape).toEqual(items.n.shape);
      // An id is segment × maxLength plus the time of the frame.
      expect(plain(ids)).toEqual(plain(items.n).map((n) => 4 * Math.floor(n / 100) + (n % 100)));
      return { n: plain(items.n), shape: items.n.shape };
    });

  test("returns segment by segment in order of time, even after wraparound", () => {
    const { buffer } = filled(6);
    expect(passOf(buffer).map(({ n }) => n[0])).toEqual([2, 3, 4, 5, 102, 103, 104, 105]);
    expect(passOf(buffer)[0]?.shape).toEqual([]);
    expect(passOf(buffer, undefined, 3).map(({ n }) => n)).toEqual([[2, 3, 4], [5], [102, 103, 104], [105]]);
  });

  test("with sampleBatchSize returns that many segments side by side", () => {
    const { buffer } = filled(6, { batchSize: 3 });
    expect(passOf(buffer, 2).map(({ n }) => n)).toEqual([[2, 102], [3, 103], [4, 104], [5, 105], [202], [203], [204], [205]]);
    expect(passOf(buffer, 3, 3)).toEqual([{ n: [2, 3, 4, 102, 103, 104, 202, 203, 204], shape: [3, 3] }]);
    expect(passOf(buffer, 5, 2).map(({ shape }) => shape)).toEqual([
      [3, 2],
      [3, 2],
    ]);
    expect(passOf(buffer, 2, 5)).toEqual([]);
  });

  test("applies datasetWindowShift, and drops short elements with datasetDropRemainder", () => {
    expect(passOf(filled(3, { batchSize: 1, datasetWindowShift: 1 }).buffer, undefined, 2).map(({ n }) => n)).toEqual([[0, 1], [1, 2], [2]]);
    expect(passOf(filled(4, { batchSize: 1, datasetWindowShift: 3 }).buffer, undefined, 2).map(({ n }) => n)).toEqual([[0, 1], [3]]);
    const { buffer } = filled(3, { batchSize: 3, datasetDropRemainder: true });
    expect(passOf(buffer, undefined, 2).map(({ n }) => n)).toEqual([
      [0, 1],
      [100, 101],
      [200, 201],
    ]);
    expect(passOf(buffer, 2).map(({ n }) => n)).toEqual([
      [0, 100],
      [1, 101],
      [2, 102],
    ]);
    for (const options of [{ sampleBatchSize: 4 }, { numSteps: 5 }])
      expectError(
        errorOf(() => buffer.asDataset({ singleDeterministicPass: true, ...options })),
        RangeError,
        /datasetDropRemainder/,
      );
  });

  test("of an empty buffer throws at the first element", () => {
    const dataset = filled(0).buffer.asDataset({ singleDeterministicPass: true });
    expectError(
      errorOf(() => [...dataset]),
      "EMPTY",
    );
  });

  test("leaves out frames that are replaced during the pass, and ends after clear", () => {
    const { buffer, add } = filled(4, { batchSize: 1 });
    const left: number[] = [];
    for (const [items] of buffer.asDataset({ singleDeterministicPass: true })) {
      left.push(...plain(items.n));
      if (left.length === 1) for (const t of [4, 5]) add(t);
    }
    expect(left).toEqual([0, 2, 3]);
    const cleared: number[] = [];
    for (const [items] of buffer.asDataset({ singleDeterministicPass: true, numSteps: 2 })) {
      cleared.push(...plain(items.n));
      buffer.clear();
      for (let t = 0; t < 4; t++) add(t);
    }
    expect(cleared).toEqual([2, 3]);
  });
});

describe("sequencePreprocessFn", () => {
  test("receives each frame or window of a random draw", () => {
    const { buffer } = filled(6);
    const seen: unknown[] = [];
    const fn = (items: { n: { data: Int32Array; shape: readonly number[] } }) => {
      seen.push(items.n.shape);
      return { twice: { data: items.n.data.map((n) => 2 * n), shape: items.n.shape } };
    };
    for (const [items, { ids }] of buffer.asDataset({ sampleBatchSize: 3, numSteps: 2, sequencePreprocessFn: fn as never })) {
      const { twice } = items as unknown as { twice: { data: Int32Array; shape: number[] } };
      expect(twice.shape).toEqual([3, 2]);
      expect(plain(twice).map((n) => (n / 2) % 100)).toEqual(plain(ids));
      break;
    }
    expect(seen).toEqual([[2], [2], [2]]);
  });

  test.each([1, 4, 5, 300])("receives only the remaining frames of a segment during a pass (%i frames later)", (later) => {
    const { buffer, add } = filled(4);
    const given: number[][] = [];
    const sequencePreprocessFn = (items: { n: { data: Int32Array } }) => {
      given.push(plain(items.n));
      return items;
    };
    const seen: number[] = [];
    for (const [items] of buffer.asDataset({ sequencePreprocessFn: sequencePreprocessFn as never, singleDeterministicPass: true })) {
      seen.push(...plain(items.n));
      if (seen.length === 4) for (let t = 4; t < 4 + later; t++) add(t);
    }
    const left = [100, 101, 102, 103].slice(later);
    expect(given).toEqual([[0, 1, 2, 3], ...(left.length > 0 ? [left] : [])]);
    expect(seen).toEqual([0, 1, 2, 3, ...left]);
    const times = [later, later + 1, later + 2, later + 3];
    expect(plain(buffer.gatherAll().n)).toEqual([...times, ...times.map((t) => 100 + t)]);
  });

  test("receives the earlier frames even if it adds frames", () => {
    const { buffer, add } = filled(4);
    const given: number[][] = [];
    const sequencePreprocessFn = (items: { n: { data: Int32Array } }) => {
      for (let t = 4; t < 12; t++) add(t);
      given.push(plain(items.n));
      return items;
    };
    expect([...buffer.asDataset({ sampleBatchSize: 2, sequencePreprocessFn: sequencePreprocessFn as never, singleDeterministicPass: true })]).toHaveLength(4);
    expect(given).toEqual([
      [0, 1, 2, 3],
      [100, 101, 102, 103],
    ]);
  });

  test("receives each whole segment in a pass, and may shorten it", () => {
    const { buffer } = filled(6);
    const fn = ({ n }: { n: { data: Int32Array; shape: readonly number[] } }) => {
      expect(n.shape).toEqual([4]);
      return { d: { data: n.data.subarray(1).map((one, i) => 10 * one - (n.data[i] as number)), shape: [3] } };
    };
    const shown = (sampleBatchSize?: number, numSteps?: number) =>
      [...buffer.asDataset({ singleDeterministicPass: true, sampleBatchSize, numSteps, sequencePreprocessFn: fn as never })].map(([items, { ids }]) => [
        plain((items as unknown as { d: unknown }).d),
        plain(ids),
      ]);
    expect(shown(undefined, 2)).toEqual([
      [
        [28, 37],
        [2, 3],
      ],
      [[46], [4]],
      [
        [928, 937],
        [6, 7],
      ],
      [[946], [8]],
    ]);
    expect(shown(2)).toEqual([
      [
        [28, 928],
        [2, 6],
      ],
      [
        [37, 937],
        [3, 7],
      ],
      [
        [46, 946],
        [4, 8],
      ],
    ]);
    const longer = () => ({ d: { data: new Int32Array(5), shape: [5] } });
    expectError(
      errorOf(() => [...buffer.asDataset({ singleDeterministicPass: true, sequencePreprocessFn: longer })]),
      "SPEC_MISMATCH",
      /at most 4 steps/,
    );
  });
});

describe("a dataset", () => {
  test("of random draws is endless and equals getNext, and numParallelCalls changes nothing", () => {
    const take = (numParallelCalls?: number) => {
      const { buffer } = filled(6);
      const taken: unknown[] = [];
      for (const element of buffer.asDataset({ sampleBatchSize: 2, numSteps: 2, numParallelCalls })) if (taken.push(element) === 50) return taken;
      return taken;
    };
    const { buffer } = filled(6);
    expect(take()).toEqual(Array.from({ length: 50 }, () => buffer.getNext({ sampleBatchSize: 2, numSteps: 2 })));
    expect(take(3)).toEqual(take());
  });

  test("is also an async iterable, and prefetches elements", async () => {
    const { buffer, add } = filled(4, { batchSize: 1 });
    const dataset = buffer.asDataset({ singleDeterministicPass: true, prefetch: 2 });
    const seen: number[] = [];
    for await (const [items] of dataset) {
      seen.push(...plain(items.n));
      // Elements that were drawn ahead are still returned.
      if (seen.length === 1) for (let t = 4; t < 8; t++) add(t);
    }
    expect(seen).toEqual([0, 1, 2]);
  });

  test("rejects or throws with the reason of its signal", async () => {
    const { buffer } = filled(4);
    const stop = new AbortController();
    let seen = 0;
    const random = async () => {
      for await (const _ of buffer.asDataset({ signal: stop.signal })) if (++seen === 3) stop.abort(new Error("enough"));
    };
    await expect(random()).rejects.toThrow("enough");
    expect(seen).toBe(3);
    expect(errorOf(() => [...buffer.asDataset({ signal: stop.signal })]).message).toBe("enough");
  });

  test("rejects if nothing can be drawn, or waits for frames up to timeoutMs", async () => {
    const { buffer, add } = filled(1);
    const two = { numSteps: 2 };
    const first = async (options: object) => {
      for await (const [items] of buffer.asDataset({ ...two, ...options })) return plain(items.n).length;
      return "ended";
    };
    await expect(first({})).rejects.toMatchObject({ code: "TOO_FEW" });
    await expect(first({ timeoutMs: 5 })).resolves.toBe("ended");
    const waiting = first({ timeoutMs: 10_000 });
    add(1);
    await expect(waiting).resolves.toBe(2);
  });

  test.each<[object, typeof TypeError | typeof RangeError, RegExp]>([
    [{ sampleBatchSize: -1 }, RangeError, /sampleBatchSize/],
    [{ numSteps: "2" }, TypeError, /numSteps/],
    [{ numParallelCalls: 0 }, RangeError, /numParallelCalls/],
    [{ numParallelCalls: 1.5 }, TypeError, /numParallelCalls/],
    [{ sequencePreprocessFn: 3 }, TypeError, /sequencePreprocessFn/],
    [{ singleDeterministicPass: 1 }, TypeError, /singleDeterministicPass/],
    [{ prefetch: -1 }, RangeError, /prefetch/],
    [{ timeoutMs: Number.NaN }, RangeError, /timeoutMs/],
    [{ steps: 1 }, TypeError, /no option "steps"/],
  ])("rejects %j when asDataset is called", (options, kind, says) => {
    expectError(
      errorOf(() => filled(3).buffer.asDataset(options as never)),
      kind,
      says,
    );
  });

  test("of a spec with lists is rejected, but tuples are accepted", () => {
    const tuple = new TFUniformReplayBuffer([f32(), { a: [i32()] }], { batchSize: 1 });
    tuple.addBatch([[1], { a: [[2]] }]);
    expect([...tuple.asDataset({ singleDeterministicPass: true })].map(([items]) => items[1].a[0].data)).toEqual([Int32Array.of(2)]);
    const lists = new TFUniformReplayBuffer({ a: list(f32(), i32()) }, { batchSize: 1 });
    lists.addBatch({ a: [[1], [2]] });
    expect(lists.getNext()[0].a[1].data).toEqual(Int32Array.of(2));
    expectError(
      errorOf(() => lists.asDataset()),
      RangeError,
      /plain arrays/,
    );
  });
});

describe("the constructor", () => {
  test("stores its options", () => {
    const buffer = new TFUniformReplayBuffer(spec, { batchSize: 3 });
    expect(buffer.dataSpec).toBe(spec);
    expect([buffer.capacity, buffer.batchSize, buffer.maxLength, buffer.statefulDataset]).toEqual([3000, 3, 1000, false]);
    expect(new TFUniformReplayBuffer(spec, { batchSize: 1, statefulDataset: true }).statefulDataset).toBe(true);
  });

  test.each<[object, typeof TypeError | typeof RangeError, RegExp]>([
    [{}, TypeError, /batchSize/],
    [{ batchSize: 0 }, RangeError, /batchSize/],
    [{ batchSize: 1, maxLength: 0 }, RangeError, /maxLength/],
    [{ batchSize: 1, maxLength: 1.5 }, TypeError, /maxLength/],
    [{ batchSize: 1, datasetWindowShift: 0 }, RangeError, /datasetWindowShift/],
    [{ batchSize: 1, datasetDropRemainder: 1 }, TypeError, /datasetDropRemainder/],
    [{ batchSize: 1, statefulDataset: 0 }, TypeError, /statefulDataset/],
    [{ batchSize: 1, capacity: 9 }, TypeError, /no option "capacity"/],
  ])("rejects %j", (options, kind, says) => {
    expectError(
      errorOf(() => new TFUniformReplayBuffer(spec, options as never)),
      kind,
      says,
    );
  });
});
