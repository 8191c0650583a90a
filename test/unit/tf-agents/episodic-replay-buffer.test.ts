import { describe, expect, test } from "vitest";
import { f32, i32, u8 } from "../../../src/index.ts";
import { EpisodicReplayBuffer, list, StatefulEpisodicReplayBuffer, trajectorySpec } from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const plain = (column: unknown) => [...(column as { data: Iterable<number> }).data].map(Number);

/** Creates a buffer of numbers: a multiple of 10 begins an episode, and a number that ends with 9 ends it. */
function numbers(options: { capacity?: number; completedOnly?: boolean; datasetDropRemainder?: boolean; maxBytes?: number } = {}) {
  const warnings: string[] = [];
  const buffer = new EpisodicReplayBuffer(i32(), {
    capacity: 4,
    beginEpisodeFn: ({ data, shape }) => (shape[0] === 1 ? data[0] === 0 || (data[0] as number) % 10 === 0 : Array.from(data, (n) => n % 10 === 0)),
    endEpisodeFn: ({ data, shape }) => (shape[0] === 1 ? (data[0] as number) % 10 === 9 : Array.from(data, (n) => n % 10 === 9)),
    onWarning: (text) => warnings.push(text),
    ...options,
  });
  return { buffer, warnings };
}

/** Creates episodes of the given lengths with the numbers 0, 1, …, then 100, 101, …; the functions for begins and ends ignore the numbers. */
function episodes(lengths: readonly number[], options: { capacity?: number; completedOnly?: boolean } = {}) {
  let ends = true;
  const buffer = new EpisodicReplayBuffer(i32(), { capacity: 8, beginEpisodeFn: () => true, endEpisodeFn: () => ends, ...options });
  const add = (length: number, i: number, completed = true) => {
    ends = completed;
    return buffer.addSequence(
      Array.from({ length }, (_, t) => 100 * i + t),
      -1,
    );
  };
  for (const [i, length] of lengths.entries()) add(length, i);
  return { buffer, add };
}

const SPEC = trajectorySpec({ observation: f32(2), action: i32() });

/** Returns the columns of trajectories with the given step types. */
function steps(types: readonly (readonly [number, number])[]) {
  const n = types.length;
  return {
    stepType: types.map(([type]) => type),
    observation: new Float32Array(2 * n),
    action: new Int32Array(n),
    policyInfo: [] as const,
    nextStepType: types.map(([, next]) => next),
    reward: new Float32Array(n),
    discount: new Float32Array(n),
  };
}

describe("episodes", () => {
  test("of trajectories begin with a first step, complete before a last step, and include the boundary", () => {
    const buffer = new EpisodicReplayBuffer(SPEC, { capacity: 3 });
    let ids = buffer.createEpisodeIds(2);
    expect(ids).toEqual([-1, -1]);
    for (const types of [
      [
        [0, 1],
        [1, 1],
      ],
      [
        [1, 2],
        [1, 1],
      ],
      [
        [2, 0],
        [1, 2],
      ],
      [
        [0, 1],
        [2, 0],
      ],
    ] as const)
      ids = buffer.addBatch(steps(types), ids);
    // The second environment was in the middle of an episode, but a negative id still opens a new episode.
    expect(ids).toEqual([2, 1]);
    expect(buffer.completedEpisodes()).toEqual([0, 1]);
    expect([0, 1, 2].map((id) => plain(buffer.getEpisode(id).stepType))).toEqual([[0, 1, 2], [1, 1, 1, 2], [0]]);
    expect(
      buffer.addSequence(
        steps([
          [0, 1],
          [1, 2],
          [2, 0],
        ]),
        -1,
      ),
    ).toBe(3);
    expect(buffer.completedEpisodes()).toEqual([3, 1]);
    expect(buffer.getEpisode(3).observation.shape).toEqual([3, 2]);
  });

  test("of other specs need beginEpisodeFn and endEpisodeFn", () => {
    const buffer = new EpisodicReplayBuffer({ stepType: i32(), v: f32() });
    const items = { stepType: [0], v: [1] };
    expectError(
      errorOf(() => buffer.addSequence(items, -1)),
      TypeError,
      /beginEpisodeFn/,
    );
    expectError(
      errorOf(() => buffer.addBatch(items, [-1])),
      TypeError,
      /beginEpisodeFn/,
    );
    const half = new EpisodicReplayBuffer({ stepType: i32(), v: f32() }, { beginEpisodeFn: () => true });
    expectError(
      errorOf(() => half.addSequence(items, -1)),
      TypeError,
      /endEpisodeFn/,
    );
    expect(half.numFrames()).toBe(0);
  });

  test("continue by id, even after their end, until another episode replaces them", () => {
    const { buffer } = numbers({ capacity: 2 });
    expect(buffer.addSequence([10], -1)).toBe(0);
    expect(buffer.addSequence([19], 0)).toBe(0);
    expect(buffer.addSequence([12], 0)).toBe(0);
    expect(plain(buffer.getEpisode(0))).toEqual([10, 19, 12]);
    expect(buffer.completedEpisodes()).toEqual([0]);
    expect(buffer.addSequence([20], 0)).toBe(1);
    expect(buffer.addSequence([30], 1)).toBe(2);
    expect([...buffer.getValidIdsMask([-1, 0, 1, 2, 3])]).toEqual([0, 0, 1, 1, 0]);
    for (const call of [() => buffer.addSequence([11], 0), () => buffer.addBatch([11, 12], [0, 0])]) expectError(errorOf(call), "STALE_KEY", /episode 0/);
    expectError(
      errorOf(() => buffer.getEpisode(0)),
      "STALE_KEY",
    );
    expectError(
      errorOf(() => buffer.getEpisode(3)),
      "NOT_FOUND",
    );
    expectError(
      errorOf(() => buffer.getEpisode(-1)),
      "NOT_FOUND",
    );
    expect(plain(buffer.gatherAll())).toEqual([20, 30]);
  });

  test("of one batch open first, and rows of replaced episodes are skipped with a warning", () => {
    const { buffer, warnings } = numbers({ capacity: 2 });
    expect(buffer.addBatch([10, 20], [-1, -1])).toEqual([0, 1]);
    // The new episode 2 replaces episode 0.
    expect(buffer.addBatch([11, 30], [0, 1])).toEqual([0, 2]);
    expect(warnings).toEqual([expect.stringMatching(/row 0 .*episode 0/)]);
    expect(plain(buffer.gatherAll())).toEqual([20, 30]);
    // The batch contains more new episodes than the capacity allows.
    expect(buffer.addBatch([40, 50, 60], [-1, -1, -1])).toEqual([3, 4, 5]);
    expect(plain(buffer.gatherAll())).toEqual([50, 60]);
    expect(warnings).toHaveLength(2);
  });

  test("may occur several times in a batch", () => {
    const { buffer } = numbers();
    buffer.addSequence([10], -1);
    expect(buffer.addBatch([11, 20, 12, 13], [0, -1, 0, 0])).toEqual([0, 1, 0, 0]);
    expect(plain(buffer.getEpisode(0))).toEqual([10, 11, 12, 13]);
    expect(plain(buffer.getEpisode(1))).toEqual([20]);
  });

  test.each<[string, (buffer: ReturnType<typeof numbers>["buffer"]) => unknown, string]>([
    ["a list of ids for a sequence", (buffer) => buffer.addSequence([11], [0] as never), "SPEC_MISMATCH"],
    ["one id for a batch", (buffer) => buffer.addBatch([11], 0 as never), "SPEC_MISMATCH"],
    ["more ids than rows", (buffer) => buffer.addBatch([11], [0, 0]), "SPEC_MISMATCH"],
    ["a sequence of several for a function of one", (buffer) => buffer.addSequence([11, 12], 0), "SPEC_MISMATCH"],
    ["no steps", (buffer) => buffer.addSequence([], 0), "SPEC_MISMATCH"],
    ["no sequence", (buffer) => buffer.addSequence(11 as never, 0), "SPEC_MISMATCH"],
    ["a fraction", (buffer) => buffer.addSequence([1.5], 0), "INVALID_DATA"],
  ])("do not change if the input is rejected: %s", (_, call, code) => {
    const { buffer } = numbers();
    buffer.addSequence([10], -1);
    expectError(
      errorOf(() => call(buffer)),
      code as never,
    );
    expect(plain(buffer.gatherAll())).toEqual([10]);
    expect(buffer.addSequence([20], 0)).toBe(1);
  });

  test("change as a whole batch or not at all if memory is full", () => {
    const buffer = new EpisodicReplayBuffer(u8(60_000), { capacity: 3, beginEpisodeFn: () => false, endEpisodeFn: () => false, maxBytes: 4 << 20 });
    const frames = (n: number) => new Uint8Array(60_000 * n).fill(7);
    buffer.addSequence(frames(2), -1);
    buffer.addSequence(frames(1), -1);
    for (const call of [
      () => buffer.addSequence(frames(100), -1),
      () => buffer.addSequence(frames(100), 0),
      () => {
        for (;;) buffer.addBatch(frames(4), [0, 1, 0, 1]);
      },
    ]) {
      const error = errorOf(call);
      expectError(error, "OUT_OF_MEMORY");
    }
    // Either all rows of a batch were added, or none.
    const lengths = [0, 1].map((id) => buffer.getEpisode(id).shape[0] as number);
    expect(((lengths[0] as number) - 2) % 2).toBe(0);
    expect((lengths[0] as number) - 2).toBe((lengths[1] as number) - 1);
    expect(buffer.numFrames()).toBe((lengths[0] as number) + (lengths[1] as number));
    expect(buffer.addSequence(frames(1), 0)).toBe(0);
  });

  test("are removed by clear, which keeps their ids unless clearAllVariables is true", () => {
    const { buffer } = numbers();
    buffer.addSequence([10], -1);
    buffer.addSequence([19], 0);
    buffer.clear();
    expect([buffer.numFrames(), buffer.completedEpisodes(), [...buffer.getValidIdsMask([0])]]).toEqual([0, [], [1]]);
    expectError(
      errorOf(() => buffer.getNext()),
      "EMPTY",
    );
    expect([...buffer.asDataset({ singleDeterministicPass: true })]).toEqual([]);
    expect(buffer.addSequence([11], 0)).toBe(0);
    expect(plain(buffer.gatherAll())).toEqual([11]);
    buffer.clear({ clearAllVariables: true });
    expect([...buffer.getValidIdsMask([0])]).toEqual([0]);
    expect(buffer.addSequence([10], -1)).toBe(0);
  });

  test("are copied by extract, and added to another buffer by extendEpisodes", () => {
    const from = episodes([2, 3]).buffer;
    const copies = from.extract([1, 0, 5]);
    expect([[...copies.length], [...copies.completed]]).toEqual([
      [3, 2, 0],
      [1, 1, 0],
    ]);
    expect(copies.items.map(plain)).toEqual([[100, 101, 102], [0, 1], []]);
    let begins = false;
    const to = new EpisodicReplayBuffer(i32(), { capacity: 3, beginEpisodeFn: () => begins, endEpisodeFn: () => false });
    // Each copy is written to its place in the ids; the order of the copies does not matter.
    expect(to.extendEpisodes([-1, -1, -1], [2, 0, 1], copies)).toEqual([0, 1, 2]);
    expect([0, 1, 2].map((id) => plain(to.getEpisode(id)))).toEqual([[0, 1], [], [100, 101, 102]]);
    expect(to.completedEpisodes()).toEqual([0, 2]);
    // From now on, added steps determine whether the episode is completed.
    const open = from.extract([5]);
    expect(to.extendEpisodes([0, 1, 2], [0], open)).toEqual([0, 1, 2]);
    expect(to.completedEpisodes()).toEqual([2]);
    begins = true;
    expect(to.extendEpisodes([0, 1, 2], [1], from.extract([0], true))).toEqual([0, 3, 2]);
    expect(from.numFrames()).toBe(3);
    expect([...from.getValidIdsMask([0])]).toEqual([1]);
    expectError(
      errorOf(() => to.extendEpisodes([0], [0], open)),
      "STALE_KEY",
    );
    expectError(
      errorOf(() => to.extendEpisodes([1, 2], [2], open)),
      RangeError,
      /indices\[0\]/,
    );
    expectError(
      errorOf(() => to.extendEpisodes([1, 2], [0, 1], open)),
      "SPEC_MISMATCH",
      /length/,
    );
    expectError(
      errorOf(() => from.extract([8])),
      RangeError,
      /locations\[0\]/,
    );
  });
});

describe("getNext", () => {
  test.each<[number | undefined, number | undefined, boolean, unknown, number[]]>([
    [undefined, 2, true, [2], []],
    [3, 2, true, [3, 2], [3]],
    [undefined, 2, false, [[], []], []],
    [3, 2, false, [[3], [3]], [3]],
  ])("returns the shapes for sampleBatchSize %s, numSteps %s and timeStacked %s", (sampleBatchSize, numSteps, timeStacked, shape, lead) => {
    const { buffer } = episodes([4, 3]);
    const [items, { ids, probabilities }] = buffer.getNext({ sampleBatchSize, numSteps, timeStacked });
    const shapes = Array.isArray(items) ? items.map((item) => item.shape) : (items as { shape: unknown }).shape;
    expect(shapes).toEqual(shape);
    expect([(ids as { shape: unknown }).shape, probabilities.shape]).toEqual([lead, lead]);
  });

  test("returns one whole episode, but no batch of whole episodes", () => {
    const { buffer } = episodes([4, 3]);
    const [items, { ids, probabilities }] = buffer.getNext();
    expect(plain(items)).toEqual(plain(buffer.getEpisode(plain(ids)[0] as number)));
    expect(probabilities).toEqual({ data: Float64Array.of(0.5), shape: [] });
    expectError(
      errorOf(() => buffer.getNext({ sampleBatchSize: 2 })),
      "UNSUPPORTED",
      /numSteps/,
    );
  });

  test("throws EMPTY or TOO_FEW if there is nothing to draw", () => {
    const { buffer, add } = episodes([], { completedOnly: true });
    const refused = (numSteps?: number) => errorOf(() => buffer.getNext({ numSteps }));
    expectError(refused(), "EMPTY");
    add(3, 0, false);
    expectError(refused(), "TOO_FEW", /completed/);
    expectError(refused(2), "TOO_FEW");
    add(2, 1);
    expect(plain(buffer.getNext()[0])).toEqual([100, 101]);
    expectError(refused(3), "TOO_FEW", /3 steps/);
  });
});

describe("a dataset", () => {
  test("passes through completed episodes, with each window inside its episode", () => {
    const { buffer, add } = episodes([3, 1, 5], { completedOnly: true });
    add(2, 3, false);
    const pass = (sampleBatchSize?: number, numSteps?: number) =>
      [...buffer.asDataset({ singleDeterministicPass: true, sampleBatchSize, numSteps })].map(([items, { ids, probabilities }]) => {
        expect(plain(probabilities)).toEqual(plain(ids).map(() => 1));
        return [plain(items), plain(ids)];
      });
    expect(pass()).toEqual([
      [[0, 1, 2], [0]],
      [[100], [1]],
      [[200, 201, 202, 203, 204], [2]],
    ]);
    expect(pass(undefined, 2).map(([items]) => items)).toEqual([[0, 1], [2], [100], [200, 201], [202, 203], [204]]);
    expect(pass(2, 1)).toEqual([
      [
        [0, 100],
        [0, 1],
      ],
      [
        [1, 2],
        [0, 0],
      ],
      [
        [200, 201],
        [2, 2],
      ],
      [
        [202, 203],
        [2, 2],
      ],
      [[204], [2]],
    ]);
    expectError(
      errorOf(() => buffer.asDataset({ sampleBatchSize: 2 })),
      RangeError,
      /numSteps/,
    );
    expectError(
      errorOf(() => buffer.asDataset({ sampleBatchSize: 2, singleDeterministicPass: true })),
      RangeError,
    );
  });

  test("leaves out episodes that are overwritten or removed during a pass", () => {
    const { buffer, add } = episodes([2, 2, 2], { capacity: 3 });
    const seen: number[][] = [];
    for (const [items] of buffer.asDataset({ singleDeterministicPass: true, numSteps: 1 })) {
      seen.push(plain(items));
      if (seen.length === 1) add(2, 3);
      if (seen.length === 2) buffer.extract([2], true);
    }
    expect(seen).toEqual([[0], [100], [101]]);
  });

  test("passes whole episodes to sequencePreprocessFn before it cuts windows", () => {
    const { buffer } = episodes([3, 4]);
    const lengths: unknown[] = [];
    const differences = ({ data, shape }: { data: Int32Array; shape: readonly number[] }) => {
      lengths.push(shape[0]);
      return { d: { data: data.map((n) => 10 * n), shape } };
    };
    const shown = (element: readonly [unknown, unknown]) => plain((element[0] as { d: unknown }).d);
    const pass = buffer.asDataset({ singleDeterministicPass: true, numSteps: 2, sequencePreprocessFn: differences as never });
    expect([...pass].map(shown)).toEqual([[0, 10], [20], [1000, 1010], [1020, 1030]]);
    expect(lengths).toEqual([3, 4]);
    for (const element of buffer.asDataset({ sampleBatchSize: 3, numSteps: 2, sequencePreprocessFn: differences as never })) {
      const values = shown(element);
      expect([0, 2, 4].map((i) => (values[i + 1] as number) - (values[i] as number))).toEqual([10, 10, 10]);
      break;
    }
    for (const element of buffer.asDataset({ sequencePreprocessFn: differences as never })) {
      expect([3, 4]).toContain(shown(element).length);
      break;
    }
    const shorter = () => ({ d: { data: new Int32Array(1), shape: [1] } });
    const random = buffer.asDataset({ numSteps: 2, sequencePreprocessFn: shorter as never });
    expectError(
      errorOf(() => [...random]),
      "SPEC_MISMATCH",
      /steps/,
    );
  });

  test("waits in async iterations for the first episode that is long enough", async () => {
    const { buffer, add } = episodes([1]);
    const taken: number[] = [];
    const waiting = (async () => {
      for await (const [items] of buffer.asDataset({ numSteps: 2, timeoutMs: 10_000, prefetch: 1 })) if (taken.push(...plain(items)) >= 4) return;
    })();
    await Promise.resolve();
    add(2, 5);
    await waiting;
    expect(taken).toEqual([500, 501, 500, 501]);
  });

  test("of a spec with lists is rejected, and so is gatherAll", () => {
    const buffer = new EpisodicReplayBuffer(list(i32(), i32()), { beginEpisodeFn: () => true, endEpisodeFn: () => true });
    buffer.addSequence([[1], [2]], -1);
    expectError(
      errorOf(() => buffer.asDataset()),
      RangeError,
      /plain arrays/,
    );
    expectError(
      errorOf(() => buffer.gatherAll()),
      RangeError,
      /plain arrays/,
    );
  });
});

describe("the constructor", () => {
  test.each<[object, typeof TypeError | typeof RangeError, RegExp]>([
    [{ capacity: 0 }, RangeError, /capacity/],
    [{ capacity: "2" }, TypeError, /capacity/],
    [{ completedOnly: 1 }, TypeError, /completedOnly/],
    [{ bufferSize: 0 }, RangeError, /bufferSize/],
    [{ beginEpisodeFn: 3 }, TypeError, /beginEpisodeFn/],
    [{ endEpisodeFn: "end" }, TypeError, /endEpisodeFn/],
    [{ onWarning: true }, TypeError, /onWarning/],
    [{ maxLength: 3 }, TypeError, /no option "maxLength"/],
  ])("rejects %j", (options, kind, says) => {
    expectError(
      errorOf(() => new EpisodicReplayBuffer(i32(), options as never)),
      kind,
      says,
    );
  });

  test("has the documented defaults", () => {
    const buffer = new EpisodicReplayBuffer(SPEC);
    expect([buffer.capacity, buffer.statefulDataset, buffer.dataSpec, buffer.numFrames()]).toEqual([1000, true, SPEC, 0]);
    expect(buffer.gatherAll().observation.shape).toEqual([0, 2]);
    expect([buffer.createEpisodeIds(), buffer.createEpisodeIds(0), buffer.createEpisodeIds(3)]).toEqual([-1, -1, [-1, -1, -1]]);
    expectError(
      errorOf(() => buffer.createEpisodeIds(1001)),
      RangeError,
    );
    expectError(
      errorOf(() => buffer.createEpisodeIds(1.5)),
      TypeError,
    );
  });
});

describe("a stateful buffer", () => {
  test("keeps the ids, and has every method of the buffer", () => {
    const { buffer } = numbers();
    const stateful = new StatefulEpisodicReplayBuffer(buffer, 2);
    expect([stateful.statefulDataset, stateful.capacity, stateful.dataSpec, stateful.episodeIds]).toEqual([false, 4, buffer.dataSpec, [-1, -1]]);
    expect(stateful.addBatch([10, 20])).toEqual([0, 1]);
    expect(stateful.addBatch([19, 21])).toEqual([0, 1]);
    expect(stateful.addBatch([30, 22])).toEqual([2, 1]);
    expect(stateful.episodeIds).toEqual([2, 1]);
    expect(stateful.numFrames()).toBe(6);
    expect(stateful.completedEpisodes()).toEqual([0]);
    expect(plain(stateful.gatherAll())).toEqual([10, 19, 20, 21, 22, 30]);
    expect(plain(stateful.getEpisode(1))).toEqual([20, 21, 22]);
    expect([...stateful.getValidIdsMask([0, 3])]).toEqual([1, 0]);
    expect(stateful.getNext({ sampleBatchSize: 2, numSteps: 1 })[0].shape).toEqual([2, 1]);
    expect([...stateful.asDataset({ singleDeterministicPass: true })]).toHaveLength(3);
    expect([...stateful.extract([1]).length]).toEqual([3]);
    expect(stateful.extendEpisodes([1], stateful.extract([2]))).toEqual([2, 3]);
    expect(stateful.episodeIds).toEqual([2, 3]);
    stateful.clear();
    expect(stateful.numFrames()).toBe(0);
    expect(stateful.createEpisodeIds(2)).toEqual([-1, -1]);
    const refused = errorOf(() => stateful.addBatch([1]));
    expectError(refused, "SPEC_MISMATCH");
    expect(stateful.episodeIds).toEqual([2, 3]);
  });

  test("of one episode accepts sequences", () => {
    const stateful = new StatefulEpisodicReplayBuffer(numbers().buffer);
    expect(stateful.episodeIds).toBe(-1);
    expect([stateful.addSequence([10]), stateful.addSequence([11]), stateful.addSequence([20])]).toEqual([0, 0, 1]);
  });

  test("needs an episodic buffer, and at most as many episodes as its capacity", () => {
    expectError(
      errorOf(() => new StatefulEpisodicReplayBuffer({} as never)),
      TypeError,
      /EpisodicReplayBuffer/,
    );
    expectError(
      errorOf(() => new StatefulEpisodicReplayBuffer(numbers().buffer, 5)),
      RangeError,
      /numEpisodes/,
    );
  });
});

test("after clear, a deterministic pass has only the episodes added since", () => {
  const { buffer } = numbers();
  buffer.addSequence([10], -1);
  const episode = buffer.extract([0]);
  buffer.clear();
  buffer.extendEpisodes([-1], [0], episode);
  expect([...buffer.asDataset({ singleDeterministicPass: true })].map(([items]) => plain(items))).toEqual([[10]]);
});
