import { describe, expect, test } from "vitest";
import {
  type Column,
  f32,
  fifo,
  lifo,
  maxHeap,
  prioritized,
  queueLimiter,
  Replay,
  sampleToInsertRatio,
  type TableOptions,
  uniform,
} from "../../../src/index.ts";
import {
  type AsDatasetOptions,
  LocalClient,
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
  ReverbReplayBuffer,
  type SampleClient,
} from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { whole } from "../../support/size.ts";
import { episode, ONCE, replayOf, SPEC, type Steps, step } from "./support.ts";

/** Creates a buffer for a table with items of `length` steps, made from `steps` consecutive steps. */
function filled(steps: number, length: number, table: TableOptions = ONCE, stride = length) {
  const replay = replayOf({ t: table });
  const buffer = new ReverbReplayBuffer(SPEC, { client: replay as never, tableName: "t", sequenceLength: length, rateLimiterTimeoutMs: 20 });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: length, strideLength: stride });
  for (let n = 0; n < steps; n++) observer(step(n));
  return { replay, buffer, observer };
}

type Options = AsDatasetOptions<Steps>;
const pass = (buffer: ReverbReplayBuffer<Steps>, options: Options = {}) => [...buffer.asDataset({ singleDeterministicPass: true, ...options })];
const rewards = (elements: ReturnType<typeof pass>) => elements.map(([{ reward }]) => [...reward.data]);

describe("a deterministic pass", () => {
  test("returns each item once with its info per step, and ends", () => {
    const { buffer } = filled(6, 3);
    const elements = pass(buffer);
    expect(rewards(elements)).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    const [items, info] = elements[1] as (typeof elements)[0];
    expect(items.observation.shape).toEqual([3, 2]);
    expect(info.tableSizes).toEqual({ data: Float64Array.of(1, 1, 1), shape: [3] });
    expect([...info.probabilities.data, ...info.priorities.data, ...info.timesSampled.data]).toEqual(new Array(9).fill(1));
    expect(pass(buffer)).toEqual([]);
  });

  test("cuts items into windows", () => {
    expect(rewards(pass(filled(8, 4).buffer, { numSteps: 2 }))).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
      [6, 7],
    ]);
  });

  test("groups items in batches, and drops an incomplete last batch", () => {
    const elements = pass(filled(9, 3).buffer, { sampleBatchSize: 2 });
    expect(rewards(elements)).toEqual([[0, 1, 2, 3, 4, 5]]);
    expect([elements[0]?.[0].observation.shape, elements[0]?.[1].ids.shape]).toEqual([
      [2, 3, 2],
      [2, 3],
    ]);
  });

  test("returns each item once in the sampler's order if draws do not remove items", () => {
    for (const [sampler, order] of [
      [fifo(), [0, 2, 4]],
      [lifo(), [4, 2, 0]],
    ] as const) {
      const { buffer } = filled(6, 2, { maxSize: 9, sampler });
      for (let i = 0; i < 2; i++) expect(pass(buffer).map(([{ reward }]) => reward.data[0])).toEqual(order);
    }
  });

  test("of an empty table has no elements", () => {
    expect(pass(filled(0, 2, { maxSize: 9, sampler: fifo() }).buffer)).toEqual([]);
  });

  test("passes whole items to sequencePreprocessFn", () => {
    const double: Options["sequencePreprocessFn"] = (items) => ({ ...items, reward: { ...items.reward, data: items.reward.data.map((x) => 2 * x) } });
    expect(rewards(pass(filled(4, 4).buffer, { numSteps: 2, sequencePreprocessFn: double }))).toEqual([
      [0, 2],
      [4, 6],
    ]);
  });

  test("of episodes returns the complete windows of each", () => {
    const replay = replayOf();
    const observer = new ReverbAddEpisodeObserver<Steps>(replay, { tableName: "t", maxSequenceLength: 9 });
    for (const one of [...episode(2), ...episode(4, 10)]) observer(one);
    const buffer = new ReverbReplayBuffer(SPEC, { client: replay as never, tableName: "t" });
    expect(rewards(pass(buffer, { numSteps: 2 }))).toEqual([
      [0, 1],
      [10, 11],
      [12, 13],
    ]);
  });
});

describe("random draws", () => {
  const table: TableOptions = { maxSize: 100, sampler: uniform() };

  test("continue without end, and report their probabilities", () => {
    const { buffer } = filled(20, 2, table);
    let elements = 0;
    for (const [items, { probabilities }] of buffer.asDataset({ sampleBatchSize: 4 })) {
      expect(items.reward.shape).toEqual([4, 2]);
      for (let i = 0; i < 8; i += 2) expect((items.reward.data[i + 1] as number) - (items.reward.data[i] as number)).toBe(1);
      expect([...probabilities.data]).toEqual(new Array(8).fill(0.1));
      if (++elements === 50) break;
    }
    expect(elements).toBe(50);
  });

  test("with numSteps return windows from either half of an item", () => {
    const { buffer } = filled(400, 4, table);
    const windows = new Set<number>();
    let batches = 0;
    for (const [{ reward }, { ids }] of buffer.asDataset({ sampleBatchSize: 3, numSteps: 2 })) {
      for (let row = 0; row < 3; row++) {
        const [first, second] = reward.data.slice(2 * row, 2 * row + 2) as unknown as [number, number];
        expect(second).toBe(first + 1);
        windows.add(first % 4);
      }
      expect(ids.shape).toEqual([3, 2]);
      if (++batches === 40) break;
    }
    expect([...windows].sort()).toEqual([0, 2]);
  });

  test("return ids that updatePriorities accepts", () => {
    const { replay, buffer } = filled(6, 2, { maxSize: 9, sampler: prioritized(1) });
    const [, { ids }] = buffer.asDataset({ sampleBatchSize: 2 })[Symbol.iterator]().next().value as [unknown, { ids: { data: Float64Array } }];
    expect(buffer.updatePriorities(ids.data, new Array(4).fill(5))).toBe(4);
    expect(replay.table("t").explain(ids.data[0] as number).priority).toBe(5);
    expect(buffer.updatePriorities(ids as never, new Array(4).fill(6))).toBe(4);
    expect(replay.table("t").explain(ids.data[0] as number).priority).toBe(6);
    expect(() => buffer.updatePriorities(ids as never, [1])).toThrow(/^priorities must be an array of 4 numbers/);
  });

  test("wait for the table in async iterations, and end after a timeout", async () => {
    const { buffer, observer } = filled(0, 2, ONCE);
    setTimeout(() => [0, 1, 2].map((n) => observer(step(n))), 1);
    const got: number[][] = [];
    for await (const [{ reward }] of buffer.asDataset({ prefetch: 2 })) got.push([...reward.data]);
    expect(got).toEqual([[0, 1]]);
    await expect(
      buffer
        .asDataset({ signal: AbortSignal.abort(new Error("enough")) })
        [Symbol.asyncIterator]()
        .next(),
    ).rejects.toThrow("enough");
  });

  test("end a sync iteration when no batch is available", () => {
    expect([...filled(6, 2, ONCE).buffer.asDataset({ sampleBatchSize: 2 })].length).toBe(1);
  });
});

describe("items without a window", () => {
  const short = (table: TableOptions) => {
    const { replay } = filled(30, 3, table);
    return new ReverbReplayBuffer(SPEC, { client: replay as never, tableName: "t" });
  };

  test.runIf(whole)("throw TOO_FEW if the table draws them repeatedly", async () => {
    const dataset = short({ maxSize: 100 }).asDataset({ numSteps: 5 });
    expectError(
      errorOf(() => dataset[Symbol.iterator]().next()),
      "TOO_FEW",
      /^no item of table t has numSteps = 5 steps/,
    );
    await expect(dataset[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "TOO_FEW" });
  });

  test("are skipped if draws use them up", () => {
    expect([...short(ONCE).asDataset({ numSteps: 5 })]).toEqual([]);
  });
});

test("items of different lengths form a batch only if numSteps cuts them", () => {
  const replay = replayOf({ t: { maxSize: 9 } });
  const observer = new ReverbAddEpisodeObserver<Steps>(replay, { tableName: "t", maxSequenceLength: 9 });
  for (const one of [...episode(1), ...episode(3, 10), ...episode(4, 20)]) observer(one);
  const buffer = new ReverbReplayBuffer(SPEC, { client: replay as never, tableName: "t" });
  const draw = (options: Options) => {
    for (const [, { ids }] of buffer.asDataset(options)) return ids.shape;
    return undefined;
  };
  expect(draw({ sampleBatchSize: 4, numSteps: 2 })).toEqual([4, 2]);
  expectError(
    errorOf(() => draw({ sampleBatchSize: 9 })),
    "SPEC_MISMATCH",
  );
});

test("prefetched elements arrive in order and without gaps", async () => {
  for (const prefetch of [0, 1, 5]) {
    const { buffer, observer } = filled(0, 1, ONCE);
    let fed = 0;
    const feed = setInterval(() => [0, 1, 2, 3].map(() => observer(step(fed++))), 1);
    const got: number[] = [];
    for await (const [{ reward }] of buffer.asDataset({ sampleBatchSize: 3, prefetch, timeoutMs: 1000 })) {
      got.push(...reward.data);
      if (got.length >= 24) break;
    }
    clearInterval(feed);
    expect(got).toEqual(Array.from({ length: 24 }, (_, i) => i));
  }
});

describe("under a rate limiter", () => {
  const ratio = { maxSize: 1000, rateLimiter: sampleToInsertRatio(3, 3, 3) };

  test.each([
    [5, 169],
    [8, 106],
    [256, 3],
  ])("batches of %i during 300 steps are as many as in Reverb: %i", async (sampleBatchSize, batches) => {
    // There are 285 items of 16 steps, which allow 3 × 285 - 6 draws.
    for (const prefetch of [0, 2]) {
      const { buffer, observer } = filled(0, 16, ratio, 1);
      const inserting = (async () => {
        for (let n = 0; n < 300; n++) await observer(step(n));
      })();
      let seen = 0;
      for await (const [{ reward }] of buffer.asDataset({ sampleBatchSize, prefetch })) {
        expect(reward.shape).toEqual([sampleBatchSize, 16]);
        seen++;
      }
      await inserting;
      expect([seen, buffer.numFrames()]).toEqual([batches, 285]);
    }
  });

  test("a sync loop throws if a batch is impossible, or if the limiter blocks it", () => {
    const { buffer } = filled(19, 16, ratio, 1);
    const next = (sampleBatchSize: number) => buffer.asDataset({ sampleBatchSize })[Symbol.iterator]().next();
    expectError(
      errorOf(() => next(8)),
      RangeError,
      /^n must be <= 6/,
    );
    expect(next(2).done).toBe(false);
    expectError(
      errorOf(() => next(5)),
      "RATE_LIMITED",
      /allows 4 draws now/,
    );
  });

  test("drawn items stay with the iterator after a timeout", async () => {
    const { buffer, observer } = filled(0, 1, { ...ONCE, rateLimiter: queueLimiter(50) });
    const elements = buffer.asDataset({ sampleBatchSize: 3, timeoutMs: 5 })[Symbol.asyncIterator]();
    const next = async () => {
      const { value, done } = await elements.next();
      return done ? "done" : [...value[0].reward.data];
    };
    for (let n = 0; n < 5; n++) observer(step(n));
    expect([await next(), await next(), buffer.numFrames()]).toEqual([[0, 1, 2], "done", 0]);
    observer(step(5));
    expect([await next(), await next()]).toEqual([[3, 4, 5], "done"]);
  });
});

test("a sync batch that is not available leaves its items in the table", () => {
  const { buffer } = filled(6, 1, ONCE);
  const take = () => [...buffer.asDataset({ sampleBatchSize: 4 })].map(([{ reward }]) => [...reward.data]);
  expect([take(), buffer.numFrames(), take()]).toEqual([[[0, 1, 2, 3]], 2, []]);
});

test("numFrames counts the items of the table, and clear empties it", () => {
  const { buffer } = filled(7, 3, { ...ONCE, maxSize: 50 }, 1);
  expect([buffer.capacity, buffer.numFrames(), buffer.statefulDataset, buffer.dataSpec]).toEqual([50, 5, true, SPEC]);
  buffer.clear();
  expect(buffer.numFrames()).toBe(0);
});

test.each([
  ["addBatch", /through an observer/],
  ["getNext", /asDataset/],
  ["gatherAll", /singleDeterministicPass/],
] as const)("%s is unsupported, and the error names an alternative", (method, says) => {
  expectError(
    errorOf(() => filled(0, 2).buffer[method]()),
    "UNSUPPORTED",
    says,
  );
});

test.each([
  [{ numSteps: 3 }, RangeError, /^numSteps must be a divisor of sequenceLength \(4\), got 3/],
  [{ numSteps: 8 }, RangeError, /^numSteps/],
  [{ sampleBatchSize: 2, numParallelCalls: 3 }, RangeError, /^numParallelCalls must be at most sampleBatchSize \(2\), got 3/],
  [{ numParallelCalls: 0 }, RangeError, /^numParallelCalls/],
  [{ sampleBatchSize: "2" }, TypeError, /^sampleBatchSize/],
  [{ batchSize: 2 }, TypeError, /has no option "batchSize"/],
] as const)("asDataset rejects %j", (options, kind, says) => {
  expectError(
    errorOf(() => filled(0, 4).buffer.asDataset(options as object)),
    kind,
    says,
  );
});

test.each([uniform(), prioritized(1)])("a deterministic pass over a table with a random sampler or remover is rejected", (sampler) => {
  for (const table of [
    { maxSize: 9, sampler },
    { maxSize: 9, sampler: maxHeap(), remover: sampler },
  ])
    expectError(
      errorOf(() => pass(filled(0, 2, table).buffer)),
      RangeError,
      /^singleDeterministicPass must be omitted/,
    );
});

test("an item of another length is rejected when it is drawn", () => {
  const { replay } = filled(3, 3);
  const buffer = new ReverbReplayBuffer(SPEC, { client: replay as never, tableName: "t", sequenceLength: 2 });
  expectError(
    errorOf(() => pass(buffer)),
    "SPEC_MISMATCH",
    /^an item of table t must be sequenceLength \(2\) steps long, got 3/,
  );
});

test.each([
  [{}, RangeError, /^client/],
  [{ client: {} }, TypeError, /^client/],
  [{ client: replayOf(), tableName: "u" }, "NOT_FOUND", /"u"/],
  [{ client: new Replay({ spec: { x: f32() }, tables: { t: ONCE } }), tableName: "t" }, "SPEC_MISMATCH", /^dataSpec/],
  [{ client: replayOf(), tableName: "t", sequenceLength: 0 }, RangeError, /^sequenceLength/],
  [{ client: new LocalClient(replayOf()), tableName: "t", maxCycleLength: 0 }, RangeError, /^maxCycleLength/],
  [{ client: replayOf(), tableName: "t", rateLimiterTimeoutMs: "1" }, TypeError, /^rateLimiterTimeoutMs/],
] as const)("the constructor rejects invalid options", (options, kind, says) => {
  expectError(
    errorOf(() => new ReverbReplayBuffer(SPEC, options as never)),
    kind,
    says,
  );
});

describe("items of trajectory writers", () => {
  const spec = { obs: { a: f32(2), b: f32() }, reward: f32() } as const;
  function written() {
    const replay = new Replay({ spec, tables: { t: ONCE } });
    const writer = new LocalClient(replay).trajectoryWriter({ numKeepAliveRefs: 9 });
    for (let x = 0; x < 6; x++) writer.append({ obs: { a: [x, x], b: x }, reward: 10 * x });
    const buffer = (sequenceLength?: number) =>
      new ReverbReplayBuffer(spec, { client: replay, tableName: "t", ...(sequenceLength !== undefined && { sequenceLength }) });
    return { writer, buffer, history: writer.history };
  }
  const all = (elements: Iterable<readonly [unknown, unknown]>) => [...elements].map(([items]) => items);

  test("have the form of the data spec, even if their columns have other names", () => {
    const { writer, buffer, history } = written();
    writer.createItem("t", 1, { obs: { a: history.obs.a.slice(0, 3), b: history.obs.b.slice(0, 3) }, reward: history.reward.slice(0, 3) });
    writer.createItem("t", 1, [history.obs.a.slice(-2), history.obs.b.slice(-2), history.reward.list([0, 4])]);
    const [first, second] = all(buffer().asDataset({ singleDeterministicPass: true })) as never as { obs: { a: unknown; b: unknown }; reward: unknown }[];
    expect(first).toMatchObject({
      obs: { a: { data: Float32Array.of(0, 0, 1, 1, 2, 2), shape: [3, 2] }, b: { data: Float32Array.of(0, 1, 2), shape: [3] } },
      reward: { data: Float32Array.of(0, 10, 20), shape: [3] },
    });
    expect(second).toMatchObject({ obs: { b: { data: Float32Array.of(4, 5) } }, reward: { data: Float32Array.of(0, 40), shape: [2] } });
  });

  test("may consist of a single leaf, and are batched", () => {
    const replay = new Replay({ spec: f32(), tables: { t: ONCE } });
    const writer = new LocalClient(replay).trajectoryWriter({ numKeepAliveRefs: 9 });
    for (let x = 0; x < 4; x++) writer.append(x);
    writer.createItem("t", 1, writer.history.slice(0, 2));
    writer.createItem("t", 1, writer.history.slice(2, 4));
    const buffer = new ReverbReplayBuffer(f32(), { client: replay, tableName: "t", sequenceLength: 2 });
    expect(all(buffer.asDataset({ singleDeterministicPass: true, sampleBatchSize: 2 }))).toMatchObject([{ data: Float32Array.of(0, 1, 2, 3), shape: [2, 2] }]);
  });

  test("are rejected if their columns differ from the data spec", () => {
    const { writer, buffer, history } = written();
    writer.createItem("t", 1, { obs: history.obs.a.slice() });
    expectError(
      errorOf(() => all(buffer().asDataset())),
      "SPEC_MISMATCH",
      /of 3 columns, as in dataSpec/,
    );
    writer.createItem("t", 1, { a: history.obs.b.slice(), b: history.obs.a.slice(), c: history.reward.slice() });
    expectError(
      errorOf(() => all(buffer().asDataset())),
      "SPEC_MISMATCH",
      /obs\.a of an item of table t must be steps of f32 of shape \[2\]/,
    );
  });
});

describe("over a client that returns promises", () => {
  /** Returns a client with the calls that a buffer makes, whose results are promises like those of a server. */
  function far(table: TableOptions, lengths: readonly number[]) {
    const replay = replayOf({ t: table });
    const local = new LocalClient(replay);
    const observer = new ReverbAddEpisodeObserver<Steps>(replay, { tableName: "t", maxSequenceLength: 9 });
    lengths.forEach((length, i) => {
      for (const one of episode(length, 10 * i)) observer(one);
    });
    const open = { samplers: 0, most: 0 };
    const client: SampleClient = {
      sampler: (...of) => {
        const sampler = local.sampler(...of);
        open.most = Math.max(open.most, ++open.samplers);
        let isOpen = true;
        return {
          next: async (wait) => sampler.next(wait),
          close: () => {
            if (isOpen) open.samplers--;
            isOpen = false;
            sampler.close();
          },
        };
      },
      serverInfo: async () => local.serverInfo(),
      mutatePriorities: async (...of) => local.mutatePriorities(...of),
      reset: async (name) => local.reset(name),
    };
    return { open, buffer: new ReverbReplayBuffer(SPEC, { client, tableName: "t", rateLimiterTimeoutMs: 20 }), observer };
  }
  async function all<E>(elements: AsyncIterable<E>, most = Number.POSITIVE_INFINITY): Promise<E[]> {
    const found: E[] = [];
    for await (const element of elements) if (found.push(element) === most) break;
    return found;
  }

  test("elements equal those of local tables, and every sampler is closed", async () => {
    const { open, buffer } = far(ONCE, [2, 4, 5]);
    const options = { numSteps: 2, sampleBatchSize: 2, singleDeterministicPass: true };
    const here = [...filledEpisodes([2, 4, 5]).asDataset(options)];
    const there = await all(buffer.asDataset(options));
    expect(there).toEqual(here);
    expect(there.map(([{ reward }]) => [...reward.data])).toEqual([
      [0, 1, 10, 11],
      [12, 13, 20, 21],
      [22, 23, 24, 25],
    ]);
    expect(open).toEqual({ samplers: 0, most: 1 });
  });

  function filledEpisodes(lengths: readonly number[]) {
    const replay = replayOf({ t: ONCE });
    const observer = new ReverbAddEpisodeObserver<Steps>(replay, { tableName: "t", maxSequenceLength: 9 });
    lengths.forEach((length, i) => {
      for (const one of episode(length, 10 * i)) observer(one);
    });
    return new ReverbReplayBuffer(SPEC, { client: replay as never, tableName: "t" });
  }

  test("counts, priorities and clear are promises", async () => {
    const { buffer } = far({ maxSize: 50, sampler: prioritized(1) }, [2, 2]);
    expect([await buffer.capacity, await buffer.numFrames(), (await buffer.getTableInfo()).sampler.kind]).toEqual([50, 2, "prioritized"]);
    const drawn = async () => {
      const [[, { ids }]] = (await all(buffer.asDataset({ sampleBatchSize: 8 }), 1)) as never as [readonly [unknown, { readonly ids: Column<"f64"> }]];
      return [...ids.data];
    };
    const ids = await drawn();
    const [first] = ids;
    await buffer.updatePriorities(
      ids,
      ids.map((id) => (id === first ? 0 : 2)),
    );
    expect(await drawn()).not.toContain(first);
    await expect(async () => buffer.updatePriorities({ data: Float64Array.from(ids), shape: [8, 3] }, [1])).rejects.toThrow(
      /^priorities must be an array of 24 numbers/,
    );
    await buffer.updatePriorities({ data: Float64Array.from(ids), shape: [8, 3] }, { data: new Float32Array(24).fill(3), shape: [8, 3] });
    expect(await drawn()).toContain(first);
    expect(buffer.updatePriorities([], [])).toBeInstanceOf(Promise);
    await buffer.clear();
    expect(await buffer.numFrames()).toBe(0);
  });

  test("leaving a loop, a timeout, a signal and an error each close the sampler", async () => {
    const { open, buffer } = far({ maxSize: 50 }, [2, 2]);
    await all(buffer.asDataset({ sampleBatchSize: 1 }), 3);
    expect(open.samplers).toBe(0);
    await expect(all(buffer.asDataset({ numSteps: 9 }))).rejects.toMatchObject({ code: "TOO_FEW" });
    const used = far(ONCE, [2]);
    expect((await all(used.buffer.asDataset())).length).toBe(1);
    expect(used.open.samplers).toBe(0);
    const stop = new AbortController();
    const elements = used.buffer.asDataset({ signal: stop.signal, timeoutMs: 5000 })[Symbol.asyncIterator]();
    for (const one of episode(2, 50)) used.observer(one);
    await elements.next();
    expect(used.open.samplers).toBe(1);
    // At this moment, no call is waiting.
    stop.abort(new Error("enough"));
    expect(used.open.samplers).toBe(0);
    await expect(elements.next()).rejects.toThrow("enough");
  });

  test("sync loops and passes over tables that keep drawn items are rejected", async () => {
    const { buffer } = far({ maxSize: 50, sampler: fifo() }, [2]);
    expectError(
      errorOf(() => [...buffer.asDataset()]),
      "UNSUPPORTED",
      /for await$/,
    );
    await expect(all(buffer.asDataset({ singleDeterministicPass: true }))).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await expect(all(far({ maxSize: 50, sampler: uniform() }, [2]).buffer.asDataset({ singleDeterministicPass: true }))).rejects.toThrow(RangeError);
  });
});
