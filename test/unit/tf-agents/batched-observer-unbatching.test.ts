/** Tests BatchedObserverUnbatching, which has an observer per environment of a batch: in this process, across ports, and with user functions. */
import { describe, expect, test } from "vitest";
import { f32, fifo, i32, i64, Replay, ReplayError } from "../../../src/index.ts";
import { Column } from "../../../src/schema/column.ts";
import {
  BatchedObserverUnbatching,
  drive,
  LocalClient,
  type ObserversError,
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
  ReverbReplayBuffer,
  restart,
  StepType,
  TFRecordObserver,
  trajectorySpec,
  transition,
} from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { pair } from "../remote/support.ts";
import { items, ONCE, replayOf, SPEC, type Steps } from "./support.ts";

const columnsOf = (n: number, rows = 3) => ({
  stepType: new Column(
    Int32Array.from({ length: rows }, () => 1),
    [rows],
  ),
  observation: new Column(
    Float32Array.from({ length: 2 * rows }, (_, i) => n + i),
    [rows, 2],
  ),
  action: new Column(
    Int32Array.from({ length: rows }, (_, i) => n + i),
    [rows],
  ),
  policyInfo: [],
  nextStepType: new Column(new Int32Array(rows).fill(1), [rows]),
  reward: new Column(
    Float32Array.from({ length: rows }, (_, i) => 10 * i + n),
    [rows],
  ),
  discount: new Column(new Float32Array(rows).fill(1), [rows]),
});

/** Returns a batch; row i of step n has the reward 10 i + n. */
const batch = (n: number, types: readonly number[] = [1, 1, 1]) => ({
  stepType: Int32Array.from(types),
  observation: types.map((_, i) => [n, i]),
  action: types.map((_, i) => i),
  policyInfo: [],
  nextStepType: types.map((type) => (type === StepType.LAST ? 0 : 1)),
  reward: Float32Array.from(types, (_, i) => 10 * i + n),
  discount: types.map(() => 1),
});

const make = (replay = replayOf({ a: ONCE, b: ONCE, c: ONCE } as never)) => {
  const unbatching = new BatchedObserverUnbatching(
    (i) => new ReverbAddTrajectoryObserver<Steps>(replay as never, { tableName: "abc"[i] as string, sequenceLength: 2 }),
    { batchSize: 3 },
  );
  return { replay, unbatching, all: () => ["a", "b", "c"].map((table) => items(replay, table as never)) };
};

describe("rows of a batch", () => {
  const rowsOf = (batched: object, batchSize: number) => {
    const rows: unknown[] = [];
    const unbatching = new BatchedObserverUnbatching((i) => (row: unknown) => void rows.push([i, row]), { batchSize });
    expect(unbatching(batched)).toBeUndefined();
    return rows;
  };

  test("are nested like the batch, and go to the observers in order", () => {
    const batched = {
      stepType: Int32Array.of(0, 1),
      observation: { pair: [new Column(Uint8Array.of(1, 2, 3, 4), [2, 2]), new Column(BigInt64Array.of(5n, 6n), [2])], flat: Float32Array.of(1, 2, 3, 4) },
      action: [[1], [2]],
      policyInfo: [],
      reward: [0.5, 0.25],
    };
    expect(rowsOf(batched, 2)).toEqual([
      [
        0,
        {
          stepType: 0,
          observation: { pair: [new Column(Uint8Array.of(1, 2), [2]), 5n], flat: Float32Array.of(1, 2) },
          action: [1],
          policyInfo: [],
          reward: 0.5,
        },
      ],
      [
        1,
        {
          stepType: 1,
          observation: { pair: [new Column(Uint8Array.of(3, 4), [2]), 6n], flat: Float32Array.of(3, 4) },
          action: [2],
          policyInfo: [],
          reward: 0.25,
        },
      ],
    ]);
  });

  test("of columns are columns", () => {
    const [, [, row]] = rowsOf(columnsOf(4), 3) as [unknown, [number, { observation: Column; reward: Column }]];
    expect([row.observation, row.reward]).toEqual([new Column(Float32Array.of(6, 7), [2]), new Column(Float32Array.of(14), [])]);
  });

  test("of a list are lists", () => {
    expect(
      rowsOf(
        [
          Int32Array.of(1, 2),
          [
            [3, 4],
            [5, 6],
          ],
        ],
        2,
      ),
    ).toEqual([
      [0, [1, [3, 4]]],
      [1, [2, [5, 6]]],
    ]);
  });

  test("do not share memory with the batch", () => {
    const stepType = Int32Array.of(1, 1);
    const observation = Float32Array.of(1, 2, 3, 4);
    const [[, first]] = rowsOf({ stepType, observation }, 2) as [[number, { observation: Float32Array }]];
    observation.fill(9);
    expect(first.observation).toEqual(Float32Array.of(1, 2));
  });

  test.each([
    [{ stepType: [1, 1], reward: [1, 2, 3] }, /^reward of the batched trajectory must be a batch of 2 rows, .*got an array of 3$/],
    [{ stepType: [1, 1], reward: 1 }, /^reward of the batched trajectory must be a batch of 2 rows, .*got 1$/],
    [
      { stepType: [1, 1], o: { x: new Column(new Float32Array(6), [3, 2]) } },
      /^o\.x of the batched trajectory must be a batch of 2 rows.*got a column of shape \[3, 2\]$/,
    ],
    [{ stepType: [1, 1], o: new Float32Array(5) }, /^o of the batched trajectory must be a batch of 2 rows.*got Float32Array\(5\)$/],
    [{ stepType: [1, 1], o: new Float32Array(0) }, /^o of the batched trajectory must be a batch/],
    [
      [
        [1, 1],
        [1, 2, 3],
      ],
      /^1 of the batched trajectory must be a batch of 2 rows/,
    ],
    [null, /^the batched trajectory must .*got null$/],
    ["ab", /^the batched trajectory must/],
    [new Float32Array(2), /^the batched trajectory must/],
    // These values have no leaves, so observers would receive nothing.
    [{}, /^the batched trajectory must/],
    [[], /^the batched trajectory must/],
    [new Map([["stepType", [1, 1]]]), /^the batched trajectory must/],
    [{ stepType: [1, 1], o: new Map([["x", [1, 1]]]) }, /^o of the batched trajectory must/],
  ])("of a wrong size are rejected by name before any observer is called: %j", (batched, message) => {
    const calls: unknown[] = [];
    const unbatching = new BatchedObserverUnbatching(() => (row: unknown) => void calls.push(row), { batchSize: 2 });
    expectError(
      errorOf(() => unbatching(batched as object)),
      "SPEC_MISMATCH",
      message,
    );
    expect(calls).toEqual([]);
  });

  test("have the shapes and tuples of the client's spec", () => {
    const spec = trajectorySpec({ observation: [f32(2), f32(2)], action: i64() });
    const replay = new Replay({ spec, tables: { t: ONCE } });
    const unbatching = new BatchedObserverUnbatching(() => new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 1 }), { batchSize: 2 });
    const batched = {
      ...batch(0, [1, 1]),
      action: BigInt64Array.of(7n, 8n),
      observation: [
        [
          [1, 2],
          [3, 4],
        ],
        Float32Array.of(5, 6, 7, 8),
      ],
    };
    unbatching(batched);
    const { steps } = replay.table("t").sample(2, { replacement: false });
    expect(steps.observation.map(({ data }) => [...data])).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
    ]);
    const wrong = { ...batched, observation: [batched.observation[0], new Column(new Float32Array(6), [2, 3])] };
    expectError(
      errorOf(() => unbatching(wrong)),
      "SPEC_MISMATCH",
      /^observation\.1 of the batched trajectory must be a batch of 2 rows of shape \[2, 2\].*got a column of shape \[2, 3\]$/,
    );
    expectError(
      errorOf(() => unbatching({ ...batched, extra: [1, 2] })),
      "SPEC_MISMATCH",
      /extra is not in the spec/,
    );
    expect(replay.table("t").size).toBe(0);
  });
});

test("each environment has its own writer with separate items, boundaries and caches", () => {
  const { unbatching, all } = make();
  unbatching(batch(0));
  unbatching(batch(1, [1, 2, 1]));
  expect(unbatching.delegatedObservers.map(({ cachedSteps }) => cachedSteps)).toEqual([2, 0, 2]);
  unbatching(columnsOf(2));
  expect(all()).toEqual([["0 1", "1 2"], ["10 11"], ["20 21", "21 22"]]);
});

test("reset, close, open and flush call all observers", () => {
  const { replay, unbatching, all } = make();
  unbatching(batch(0));
  expect(unbatching.reset(false)).toBeUndefined();
  unbatching(batch(1));
  expect(all()).toEqual([[], [], []]);
  expect([unbatching.flush(), unbatching.close(), replay.writers.length]).toEqual([undefined, undefined, 0]);
  expectError(
    errorOf(() => unbatching(batch(2))),
    "CLOSED",
    /^observers\[0\] failed \(so did observers\[1\], observers\[2\]\): this observer was closed/,
  );
  unbatching.open();
  unbatching(batch(3));
  unbatching(batch(4));
  unbatching.reset();
  expect(all()).toEqual([
    ["3 4", "3 4"],
    ["13 14", "13 14"],
    ["23 24", "23 24"],
  ]);
  // A plain function has none of these methods.
  const plain = new BatchedObserverUnbatching(() => () => 0, { batchSize: 2 });
  expect([plain.reset(), plain.open(), plain.close(), plain.flush()]).toEqual([undefined, undefined, undefined, undefined]);
});

test("reset and flush reject invalid arguments", () => {
  const { unbatching } = make();
  expectError(
    errorOf(() => unbatching.reset("no" as never)),
    TypeError,
    /^writeCachedSteps must be a boolean/,
  );
  for (const [options, message] of [
    [{ timeout: 1 }, /^options has no option "timeout"/],
    [{ timeoutMs: -1 }, /^timeoutMs must be/],
    [{ signal: 1 }, /^signal must be/],
    [null, /^options must be an object with keys signal, timeoutMs/],
  ] as const)
    expect((errorOf(() => unbatching.flush(options as never)) as Error).message).toMatch(message);
});

test("each row needs its own observer unless it is a plain function, and spec is checked", () => {
  const replay = replayOf({ a: ONCE } as never);
  const one = new ReverbAddTrajectoryObserver<Steps>(replay as never, { tableName: "a", sequenceLength: 2 });
  expectError(
    errorOf(() => new BatchedObserverUnbatching(() => one, { batchSize: 3 })),
    TypeError,
    /^result 1 of createDelegatedObserverFn .*row 0$/,
  );
  // An observer with these methods has state, so one observer cannot serve two environments.
  for (const method of ["reset", "open", "close", "flush"]) {
    const same = Object.assign(() => 0, { [method]: () => 0 });
    expectError(
      errorOf(() => new BatchedObserverUnbatching(() => same, { batchSize: 2 })),
      TypeError,
      /createDelegatedObserverFn .*row 0$/,
    );
  }
  const file = new TFRecordObserver("steps.tfrecord", { x: f32() }, { to: new Map() });
  expectError(
    errorOf(() => new BatchedObserverUnbatching(() => file, { batchSize: 2 })),
    TypeError,
    /createDelegatedObserverFn/,
  );
  // A plain function may serve all environments.
  let count = 0;
  const counter = () => void count++;
  new BatchedObserverUnbatching(() => counter, { batchSize: 3 })({ reward: [1, 2, 3] });
  expect(count).toBe(3);
  expectError(
    errorOf(() => new BatchedObserverUnbatching(() => counter, { batchSize: 3, spec: 5 as never })),
    TypeError,
    /^spec must be/,
  );
});

test("an error of createDelegatedObserverFn is thrown even if closing an observer fails", async () => {
  const closes = [
    () => {
      throw new Error("close");
    },
    () => Promise.reject(new Error("close")),
  ];
  for (const close of closes) {
    let closed = 0;
    const create = (i: number) => {
      if (i === 2) throw new RangeError("no third");
      return Object.assign(() => 0, {
        close: () => {
          closed++;
          return close();
        },
      });
    };
    expect(errorOf(() => new BatchedObserverUnbatching(create, { batchSize: 3 }))).toMatchObject({ message: "no third" });
    expect(closed).toBe(2);
  }
  await new Promise(setImmediate);
});

describe("the error of failing observers", () => {
  test("names nine of 1,000 observers", () => {
    const unbatching = new BatchedObserverUnbatching(
      () => () => {
        throw new RangeError("r");
      },
      { batchSize: 1000 },
    );
    const error = errorOf(() => unbatching({ reward: new Float32Array(1000) })) as ObserversError;
    expect([error.failures.length, error.message]).toEqual([
      1000,
      "observers[0] failed (so did observers[1], observers[2], observers[3], observers[4], observers[5], observers[6], observers[7], observers[8], and 991 more): r",
    ]);
  });

  test("is a real failure, even if another observer rejects with the signal's reason", async () => {
    const signal = AbortSignal.abort(new Error("stop"));
    const flushes = [() => Promise.reject(signal.reason), () => Promise.reject(new RangeError("full"))];
    const unbatching = new BatchedObserverUnbatching((i) => Object.assign(() => 0, { flush: flushes[i] as () => unknown }), { batchSize: 2 });
    await expect(unbatching.flush({ signal })).rejects.toThrow(/^observers\[1\] failed: full$/);
  });

  test("has the index of the observer, and other observers receive their step", () => {
    const { unbatching, all } = make();
    unbatching.delegatedObservers[1]?.close();
    const error = errorOf(() => unbatching(batch(0))) as ObserversError;
    expect(error).toBeInstanceOf(ReplayError);
    expect([error.message, error.failures.map(({ index }) => index)]).toEqual([expect.stringMatching(/^observers\[1\] failed: this observer was closed/), [1]]);
    expect(error.cause).toBe(error.failures[0]?.reason);
    unbatching.delegatedObservers[1]?.open();
    unbatching(batch(1));
    expect(all()).toEqual([["0 1"], [], ["20 21"]]);
  });

  test("keeps the class of the failure", () => {
    const reasons = [new RangeError("r"), new TypeError("t"), "text"];
    for (const reason of reasons) {
      const fails = (i: number) => () => {
        if (i === 1) throw reason;
      };
      const error = errorOf(() => new BatchedObserverUnbatching(fails, { batchSize: 2 })({ reward: [1, 2] })) as ObserversError;
      expect([error.constructor, error.message]).toEqual([
        reason instanceof Error ? reason.constructor : Error,
        `observers[1] failed: ${reason instanceof Error ? reason.message : reason}`,
      ]);
    }
  });

  test("is thrown after the pending observers are done", async () => {
    const log: string[] = [];
    const observer = (i: number) => () => (i === 0 ? Promise.reject(new Error("no")) : Promise.resolve().then(() => void log.push(`done ${i}`)));
    const pending = new BatchedObserverUnbatching(observer, { batchSize: 3 })({ reward: [1, 2, 3] });
    await expect(pending).rejects.toThrow("observers[0] failed: no");
    expect(log).toEqual(["done 1", "done 2"]);
  });

  test("if it occurs during construction, the observers created earlier are closed", () => {
    const replay = replayOf();
    const create = (i: number) => new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: i < 2 ? "t" : "nowhere", sequenceLength: 2 });
    expectError(
      errorOf(() => new BatchedObserverUnbatching(create, { batchSize: 3 })),
      "NOT_FOUND",
      /nowhere/,
    );
    expect(replay.writers).toEqual([]);
  });
});

describe("an unhandled failure", () => {
  const late = (message: string) => Promise.resolve().then(() => Promise.reject(new RangeError(message)));

  test("is reported once by flush, with the indices of the rows", async () => {
    const unbatching = new BatchedObserverUnbatching(
      (i) =>
        ({ reward }: { reward: number }) =>
          i === 1 ? 0 : late(`${i}: ${reward}`),
      { batchSize: 3 },
    );
    for (let t = 0; t < 1000; t++) unbatching({ reward: [t, t, t] });
    const error = (await Promise.resolve(unbatching.flush()).catch((reason) => reason)) as ObserversError;
    expect([error.message, error.failures.map(({ index, reason }) => [index, (reason as Error).message])]).toEqual([
      "observers[0] failed (so did observers[2]): 0: 0",
      [
        [0, "0: 0"],
        [2, "2: 0"],
      ],
    ]);
    expect(unbatching.flush()).toBeUndefined();
    // An error that the program has already received is not reported again.
    await expect(unbatching({ reward: [1, 1, 1] })).rejects.toThrow("0: 1");
    expect(unbatching.flush()).toBeUndefined();
    unbatching({ reward: [2, 2, 2] });
    await new Promise(setImmediate);
    expect(() => unbatching.flush()).toThrow("0: 2");
    expect(unbatching.flush()).toBeUndefined();
  });

  test("of reset or flush is reported by the next flush", async () => {
    let answer = (): Promise<never> | undefined => undefined;
    const calls = { reset: () => late("reset"), flush: () => answer() };
    const unbatching = new BatchedObserverUnbatching((i) => Object.assign(() => 0, i === 0 ? calls : {}), { batchSize: 2 });
    unbatching.reset();
    await expect(unbatching.flush()).rejects.toThrow("observers[0] failed: reset");
    await unbatching.flush();
    answer = () => late("flush");
    unbatching.flush();
    await new Promise(setImmediate);
    answer = () => undefined;
    expect(() => unbatching.flush()).toThrow("observers[0] failed: flush");
    expect(unbatching.flush()).toBeUndefined();
  });

  test("is kept if an earlier flush times out or is aborted", async () => {
    let fail: (reason: unknown) => void = () => {};
    const observer = (i: number) => () => (i === 0 ? new Promise<void>((_, reject) => (fail = reject)) : 0);
    const unbatching = new BatchedObserverUnbatching(observer, { batchSize: 2 });
    unbatching({ reward: [1, 1] });
    await expect(unbatching.flush({ timeoutMs: 0 })).rejects.toMatchObject({ code: "TIMEOUT" });
    const reason = new Error("enough");
    await expect(unbatching.flush({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    fail(new RangeError("late"));
    await expect(unbatching.flush()).rejects.toThrow("observers[0] failed: late");
    await unbatching.flush();
  });
});

test("the constructor rejects invalid arguments", () => {
  expect(() => new BatchedObserverUnbatching(7 as never, { batchSize: 1 })).toThrow(/createDelegatedObserverFn must .*got 7/);
  expect(() => new BatchedObserverUnbatching(() => () => 0, { batchSize: 0 })).toThrow(RangeError);
  expect(() => new BatchedObserverUnbatching(() => () => 0, { batch: 1 } as never)).toThrow("Options: batchSize, spec");
  expect(() => new BatchedObserverUnbatching((() => 7) as never, { batchSize: 1 })).toThrow(/result 0 of createDelegatedObserverFn must .*got 7/);
});

test("a call waits while a rate limiter has no room, and a signal ends the flush", async () => {
  const queue = { maxSize: 1, sampler: fifo(), maxTimesSampled: 1, rateLimiter: { samplesPerInsert: 1, minSize: 1, minDiff: 0, maxDiff: 1 }, maxPending: 1 };
  const replay = replayOf({ t: queue } as never);
  const unbatching = new BatchedObserverUnbatching(() => new ReverbAddTrajectoryObserver<Steps>(replay as never, { tableName: "t", sequenceLength: 1 }), {
    batchSize: 2,
  });
  unbatching(batch(0, [1, 1]));
  const waits = unbatching(batch(1, [1, 1]));
  expect(waits).toBeInstanceOf(Promise);
  const reason = new Error("enough");
  await expect(unbatching.flush({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect([items(replay, "t" as never), await waits, items(replay, "t" as never)]).toEqual([["0", "10"], undefined, ["1", "11"]]);
});

test("a driver of batched environments writes whole episodes", async () => {
  const lengths = [2, 3];
  const now = [0, 0];
  const environment = {
    reset: () => restart([[0], [0]], { batchSize: 2 }),
    step: () => {
      lengths.forEach((length, i) => {
        now[i] = (now[i] as number) === length ? 0 : (now[i] as number) + 1;
      });
      const types = now.map((t, i) => (t === 0 ? StepType.FIRST : t === lengths[i] ? StepType.LAST : StepType.MID));
      return {
        ...transition(
          now.map((t) => [t]),
          [1, 1],
        ),
        stepType: Int32Array.from(types),
      };
    },
  };
  const spec = trajectorySpec({ observation: f32(1), action: i32() });
  const client = LocalClient.of({ spec, tables: [{ name: "t", ...ONCE }] });
  const observer = new BatchedObserverUnbatching(() => new ReverbAddEpisodeObserver(client, { tableName: "t", maxSequenceLength: 9 }), { batchSize: 2 });
  drive(environment, () => Int32Array.of(5, 6), [observer], { steps: 12 });
  const episodes = [];
  for (const { data } of client.sample("t", 4, { emitTimesteps: false, unpackAsTableSignature: false }))
    episodes.push(data.map((column) => [...(column.data as Iterable<number>)]).at(3));
  expect(episodes.length).toBe(4);
  expect(new Set(episodes.map((episode) => String(episode)))).toEqual(new Set(["0,1,2", "0,1,2,3"]));
});

test("each observer needs its own remote writer across ports", async () => {
  const { replay, writer } = await pair({ spec: trajectorySpec({ observation: f32(2), action: i32() }), tables: { t: ONCE }, seed: 1 }, { keep: 4 }, {});
  const { writer: second, replay: other } = await pair({ spec: replay.options.spec as Steps, tables: { t: ONCE }, seed: 1 }, { keep: 4 }, {});
  const writers = [writer, second];
  const create = (i: number) => new ReverbAddTrajectoryObserver<Steps>(writers[i] as never, { tableName: "t", sequenceLength: 2 });
  const unbatching = new BatchedObserverUnbatching(create, { batchSize: 2 });
  for (let n = 0; n < 3; n++) await unbatching(batch(n, [1, 1]));
  await unbatching.flush();
  expect([items(replay as never), items(other as never)]).toEqual([
    ["0 1", "1 2"],
    ["10 11", "11 12"],
  ]);
  const same = () => new ReverbAddTrajectoryObserver<Steps>(writer as never, { tableName: "t", sequenceLength: 2 });
  unbatching.close();
  expectError(
    errorOf(() => new BatchedObserverUnbatching(same, { batchSize: 2 })),
    "OUT_OF_TURN",
    /remote writer .*observer/,
  );
  // Closing the first of these observers has released the writer.
  new BatchedObserverUnbatching(same, { batchSize: 1 }).close();
});

test("pyClient is the passed client, or the client of the passed Replay", () => {
  const replay = replayOf();
  const observer = new ReverbAddTrajectoryObserver<Steps, typeof replay>(replay, { tableName: "t", sequenceLength: 2 });
  expect(observer.pyClient).toBeInstanceOf(LocalClient);
  expect(observer.pyClient.replay).toBe(replay);
  const episodes = new ReverbAddEpisodeObserver(observer.pyClient, { tableName: "t", maxSequenceLength: 2 });
  expect(episodes.pyClient).toBe(observer.pyClient);
  // pyClient has the type of the passed observer's client.
  expect(episodes.pyClient.serverInfo().t?.currentSize).toBe(0);
  const inferred = new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 2 });
  const buffer = new ReverbReplayBuffer(SPEC, { client: replay, tableName: "t" });
  expect([inferred.pyClient.replay, buffer.pyClient, buffer.pyClient.replay]).toEqual([replay, inferred.pyClient, replay]);
});
