import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { f32, fifo, i32, minSize, prioritized, queueLimiter, type RateLimiter, Replay, ReplayError, sampleToInsertRatio, uniform } from "../../../src/index.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError, expectRefused, expectRejected } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

function make(rateLimiter: RateLimiter, options: object = {}) {
  const replay = new Replay({ spec: i32(), tables: { t: { maxSize: 100, rateLimiter, ...options } } });
  const writer = replay.writer();
  const insert = (x: number) => {
    writer.append(x);
    return writer.createItem("t", { length: 1 });
  };
  return { replay, writer, insert, table: replay.table("t") };
}

/** Returns whether a promise is settled by now. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => {
      done = true;
    },
    () => {
      done = true;
    },
  );
  for (let i = 0; i < 5; i++) await Promise.resolve();
  return done;
}

test("functions of rate limiters reject invalid options", () => {
  const bad: [() => unknown, typeof TypeError | typeof RangeError, ...RegExp[]][] = [
    [() => minSize(0), RangeError, /^minSize must/, /got 0/],
    [() => minSize(1.5), TypeError, /^minSize must/, /1\.5/],
    [() => minSize("1" as never), TypeError, /^minSize must/, /"1"/],
    [() => queueLimiter(0), RangeError, /^size must/, /got 0/],
    [() => queueLimiter(Number.NaN), RangeError, /^size must/, /NaN/],
    [() => sampleToInsertRatio(0, 1, 9), RangeError, /^samplesPerInsert must be > 0/, /got 0/],
    [() => sampleToInsertRatio(-1, 1, 9), RangeError, /^samplesPerInsert/, /got -1/],
    [() => sampleToInsertRatio(Number.NaN, 1, 9), RangeError, /^samplesPerInsert/, /NaN/],
    [() => sampleToInsertRatio(1, 0, 9), RangeError, /^minSize must/, /got 0/],
    [() => sampleToInsertRatio(1, 1, "9" as never), TypeError, /^errorBuffer must/, /"9"/],
    [() => sampleToInsertRatio(1, 1, Number.POSITIVE_INFINITY), RangeError, /^errorBuffer must/, /Infinity/],
    [() => sampleToInsertRatio(1, 1, [0] as never), TypeError, /^errorBuffer\[1\] is required/],
    [() => sampleToInsertRatio(1, 1, [0, Number.NaN]), RangeError, /^errorBuffer\[1\] must/, /NaN/],
    [() => sampleToInsertRatio(4, 10, 3), RangeError, /^errorBuffer must .*\b8\b/, /37 … 43/],
    [() => sampleToInsertRatio(1, 10, [20, 40]), RangeError, /^errorBuffer must .*10/, /20 … 40/],
  ];
  for (const [call, kind, ...says] of bad) expectError(errorOf(call), kind, ...says);
  for (const rateLimiter of [
    null,
    3,
    {},
    { ...minSize(1), maxDiff: Number.POSITIVE_INFINITY },
    { ...minSize(1), minDiff: Number.NaN },
    { ...minSize(1), minSize: 0 },
  ]) {
    expectError(
      errorOf(() => make(rateLimiter as never)),
      TypeError,
      /^tables\.t\.rateLimiter must .*minSize\(\)/,
    );
  }
  const raw: [object, typeof TypeError | typeof RangeError, RegExp][] = [
    [{ samplesPerInsert: 0 }, RangeError, /^tables\.t\.rateLimiter\.samplesPerInsert must be > 0, got 0/],
    [{ samplesPerInsert: -1 }, RangeError, /samplesPerInsert must be > 0, got -1/],
    [{ minDiff: 3, maxDiff: 2 }, RangeError, /^tables\.t\.rateLimiter\.minDiff must be <= maxDiff \(2\), got 3/],
    [{ minSize: 1.5 }, TypeError, /^tables\.t\.rateLimiter\.minSize must be an integer/],
  ];
  for (const [part, kind, says] of raw)
    expectError(
      errorOf(() => make({ ...minSize(1), ...part })),
      kind,
      says,
    );
});

test("ready counts only draws that succeed whichever items are drawn", () => {
  const once = make(minSize(2), { maxTimesSampled: 1 });
  for (let i = 0; i < 3; i++) once.insert(i);
  // If the second item were drawn, fewer items than minSize would remain.
  expect([1, 2, 3].map((n) => once.table.ready(n))).toEqual([true, true, false]);
  expect([2, 3].map((n) => once.table.ready(n, { replacement: false }))).toEqual([true, false]);
  expect(once.table.sample(3)).toMatchObject({ count: 2, blocked: { by: "minSize", have: 1, need: 2 } });

  const some = make(minSize(1), { maxTimesSampled: 3, sampler: fifo() });
  for (let i = 0; i < 2; i++) some.insert(i);
  some.table.sample(2);
  expect([4, 5].map((n) => some.table.ready(n))).toEqual([true, false]);
  expect(some.table.sample(5).count).toBe(4);

  const weighed = make(minSize(1), { sampler: prioritized(1) });
  for (let i = 0; i < 3; i++) weighed.insert(i);
  weighed.table.updatePriorities([weighed.writer.lastKey("t")], [0]);
  for (const how of [{}, { among: 3 }]) expect([2, 3].map((n) => weighed.table.ready(n, { replacement: false, ...how }))).toEqual([true, false]);
  expect(weighed.table.sample(3, { replacement: false }).count).toBe(2);
  expect(weighed.table.ready(3, { replacement: false, among: 2 })).toBe(false);
});

test("sample returns n items whenever ready(n) is true, and never more", () => {
  const dice = new TestRandom(17);
  for (let round = 0; round < scaled(400); round++) {
    const maxTimesSampled = 1 + dice.below(4);
    const options = { maxTimesSampled, maxSize: 6, sampler: dice.below(2) === 0 ? uniform() : prioritized(1) };
    const { table, insert } = make(dice.below(2) === 0 ? minSize(1 + dice.below(3)) : sampleToInsertRatio(2, 2, 6), options);
    for (let step = 0; step < 12; step++) {
      for (let i = dice.below(3); i > 0 && table.canInsert(); i--) insert(step);
      const n = 1 + dice.below(8);
      const how = { replacement: dice.below(2) === 0 };
      const promised = table.ready(n, how);
      const { count } = table.sample(n, how);
      if (promised) expect(count).toBe(n);
      expect(count).toBeLessThanOrEqual(n);
    }
  }
});

test("minSize blocks samples until there are enough items, and never blocks inserts", () => {
  const { table, insert } = make(minSize(3));
  expect(insert(1)).toBe(undefined);
  expect(insert(2)).toBe(undefined);
  expect(table.sample(2).blocked).toEqual({ by: "minSize", have: 2, need: 3 });
  expect([table.canSample(), table.canInsert(1000)]).toEqual([false, true]);
  insert(3);
  expect([table.canSample(1000), table.ready(1000)]).toEqual([true, true]);
  expect(table.sample(2).count).toBe(2);
});

test("a queue inserts waiting items, oldest first, when a sample makes room", async () => {
  const { table, insert, replay } = make(queueLimiter(2), { maxTimesSampled: 1, sampler: { kind: "fifo" } });
  expect([insert(1), insert(2)]).toEqual([undefined, undefined]);
  const third = insert(3) as Promise<void>;
  const fourth = insert(4) as Promise<void>;
  expect(third).toBeInstanceOf(Promise);
  expect(table.stats()).toMatchObject({ size: 2, pending: 2, inserts: 2 });
  const flushed = replay.writers[0]?.flush() as Promise<void>;
  expect(await settled(third)).toBe(false);
  expect([...table.sample(1).steps.data]).toEqual([1]);
  expect(table.stats()).toMatchObject({ size: 2, pending: 1 });
  expect(await third).toBe(undefined);
  expect(await settled(fourth)).toBe(false);
  expect([...table.sample(2).steps.data]).toEqual([2, 3]);
  await fourth;
  expect(await flushed).toBe(undefined);
  expect(replay.writers[0]?.flush()).toBe(undefined);
  expect([...table.sample(2).steps.data]).toEqual([4]);
});

test("sampling a queue that is shorter than the batch includes items that enter during the draw", () => {
  const { table, insert } = make(queueLimiter(2), { maxTimesSampled: 1, sampler: { kind: "fifo" } });
  for (let i = 0; i < 7; i++) insert(i);
  const batch = table.sample(9);
  expect([...batch.steps.data]).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(batch.blocked).toEqual({ by: "minSize", have: 0, need: 1 });
});

test("sampleToInsertRatio keeps inserts and samples within its error buffer", () => {
  const { table, insert } = make(sampleToInsertRatio(2, 5, 4));
  for (let i = 0; i < 7; i++) expect(insert(i)).toBe(undefined);
  // The diff would be 8 × 2 - 0 = 16, which is more than 14.
  expect(table.canInsert()).toBe(false);
  expect(insert(7)).toBeInstanceOf(Promise);
  // Draws are admitted while 7 × 2 - samples >= 6; after the second draw, the eighth insert enters.
  const batch = table.sample(20);
  expect(batch.count).toBe(10);
  expect(batch.blocked?.by).toBe("samplesPerInsert");
  expect(table.stats()).toMatchObject({ inserts: 8, samples: 10, pending: 0 });
  insert(8);
  expect(table.sample(20).count).toBe(2);
});

test("deleting or clearing waiting items resolves their promises", async () => {
  const { table, insert, writer } = make(queueLimiter(1));
  insert(1);
  const waiting = insert(2) as Promise<void>;
  expect(table.explain(writer.lastKey("t")).state).toBe("waiting");
  expect(table.delete([writer.lastKey("t")])).toBe(1);
  await waiting;
  const next = insert(3) as Promise<void>;
  table.clear();
  await next;
  expect(table.stats()).toMatchObject({ size: 1, pending: 0, inserts: 1 });
});

test("sampleWhenReady waits until minSize is reached, and then serves all waiting calls", async () => {
  const { table, insert } = make(minSize(2));
  const first = table.sampleWhenReady(4);
  const second = table.sampleWhenReady(1);
  insert(1);
  expect(await settled(first)).toBe(false);
  insert(2);
  expect((await first).count).toBe(4);
  expect((await second).count).toBe(1);
  expect((await table.sampleWhenReady(1)).count).toBe(1);
});

test("sampleWhenReady without replacement waits until there are n items", async () => {
  const { table, insert } = make(minSize(1));
  insert(1);
  const pair = table.sampleWhenReady(2, { replacement: false });
  expect(await settled(pair)).toBe(false);
  insert(2);
  expect(new Set((await pair).steps.data)).toEqual(new Set([1, 2]));
});

test("a wait ends on timeout, on abort, or when its Replay is disposed of", async () => {
  const { replay, table, insert, writer } = make(queueLimiter(1), { maxTimesSampled: 1 });
  await expectRejected(replay, () => table.sampleWhenReady(1, { timeoutMs: 1 }), "TIMEOUT", /table "t" provided only \d+ of 1 items/, /1 ms/);
  const gone = new AbortController();
  gone.abort(new Error("gone"));
  await expect(table.sampleWhenReady(1, { signal: gone.signal })).rejects.toThrow("gone");
  const later = new AbortController();
  const waiting = table.sampleWhenReady(1, { signal: later.signal, timeoutMs: 60_000 });
  later.abort(new Error("later"));
  await expect(waiting).rejects.toThrow("later");
  insert(1);
  insert(2);
  await expectRejected(replay, () => writer.flush({ timeoutMs: 0 }), "TIMEOUT", /items are still waiting for the rate limiter \(1 in total\)/);
  expect(() => writer.flush({ signal: gone.signal })).toThrow("gone");
  const flushed = writer.flush() as Promise<void>;
  table.sample(1);
  await flushed;
  table.sample(1);
  const never = table.sampleWhenReady(1);
  replay.dispose();
  await expect(never).rejects.toMatchObject({ code: "CLOSED", message: expect.stringMatching(/disposed/) });
});

test("sampleWhenReady, flush, ready, canSample and canInsert reject invalid arguments", async () => {
  const { replay, table, insert, writer } = make(queueLimiter(3));
  for (const timeoutMs of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
    await expectRejected(replay, () => table.sampleWhenReady(1, { timeoutMs }), RangeError, /^timeoutMs must/, new RegExp(`got ${timeoutMs}`));
  }
  await expectRejected(replay, () => table.sampleWhenReady(1, { timeoutMs: "9" as never }), TypeError, /^timeoutMs must/, /"9"/);
  await expectRejected(replay, () => table.sampleWhenReady(0), RangeError, /^n must/, /got 0/);
  await expectRejected(replay, () => table.sampleWhenReady(4, { replacement: false }), RangeError, /^n must be <= 3/, /got 4/);
  insert(1);
  expectRefused(replay, () => writer.flush({ timeoutMs: -1 }), RangeError, /^timeoutMs must/, /got -1/);
  expectRefused(replay, () => table.ready(0), RangeError, /^n must/, /got 0/);
  expectRefused(replay, () => table.canSample(-1), RangeError, /^n must/, /got -1/);
  expectRefused(replay, () => table.canInsert(0.5), TypeError, /^n must/, /0\.5/);
});

test("a sync dataset yields whole batches, and leaves the other items in the table", () => {
  const { table, insert } = make(minSize(1), { maxTimesSampled: 1, sampler: { kind: "fifo" } });
  for (let i = 0; i < 7; i++) insert(i);
  const seen = [...table.dataset({ batchSize: 3 })].map((batch) => [...batch.steps.data]);
  expect(seen).toEqual([
    [0, 1, 2],
    [3, 4, 5],
  ]);
  expect(table.size).toBe(1);
  const signal = AbortSignal.abort(new Error("enough"));
  expect(() => [...table.dataset({ batchSize: 1, signal })]).toThrow("enough");
  // The signal is checked even if there are too few items for a batch.
  expect(() => [...table.dataset({ batchSize: 2, signal })]).toThrow("enough");
  expect(table.size).toBe(1);
});

test("an async dataset waits for items, prefetches, and ends on timeout or abort", async () => {
  for (const prefetch of [0, 2]) {
    const { table, insert } = make(minSize(1), { maxTimesSampled: 1, sampler: { kind: "fifo" } });
    const seen: number[] = [];
    const feeding = (async () => {
      for (let i = 0; i < 10; i++) {
        insert(i);
        await Promise.resolve();
      }
    })();
    for await (const batch of table.dataset({ batchSize: 2, prefetch, timeoutMs: 20 })) seen.push(...batch.steps.data);
    await feeding;
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const stop = new AbortController();
    const rest = (async () => {
      for await (const batch of table.dataset({ batchSize: 2, prefetch, signal: stop.signal })) seen.push(batch.count);
    })();
    stop.abort(new Error("stop"));
    await expect(rest).rejects.toThrow("stop");
    expect(seen.length).toBe(10);
  }
});

test("a dataset listens to its signal only while it waits", async () => {
  const { table, insert } = make(minSize(1), { maxTimesSampled: 1, sampler: fifo() });
  const stop = new AbortController();
  const listeners = () => getEventListeners(stop.signal, "abort").length;
  const iterator = table.dataset({ batchSize: 1, signal: stop.signal })[Symbol.asyncIterator]();
  for (let i = 0; i < 3; i++) {
    insert(i);
    expect((await iterator.next()).value?.steps.data[0]).toBe(i);
    expect(listeners()).toBe(0);
    const waiting = iterator.next();
    expect(await settled(waiting)).toBe(false);
    expect(listeners()).toBe(1);
    insert(10 + i);
    expect((await waiting).value?.steps.data[0]).toBe(10 + i);
    expect(listeners()).toBe(0);
  }
  const waiting = iterator.next();
  expect(await settled(waiting)).toBe(false);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(iterator.next()).rejects.toThrow("enough");
  expect(listeners()).toBe(0);
  const left = table.dataset({ batchSize: 1 })[Symbol.asyncIterator]();
  const last = left.next();
  expect(await settled(last)).toBe(false);
  await left.return?.();
  await expect(last).rejects.toThrow("abort");
  insert(20);
  expect((await left.next()).done).toBe(true);
  expect(table.stats().size).toBe(1);
});

test("a dataset can fill the same batch repeatedly", async () => {
  const { table, insert } = make(minSize(1));
  insert(5);
  const into = table.batch(4, { length: 1 });
  let turns = 0;
  for await (const batch of table.dataset({ batchSize: 4, into, prefetch: 3 })) {
    expect(batch).toBe(into);
    if (++turns === 3) break;
  }
  for (const batch of table.dataset({ batchSize: 4, into })) {
    expect(batch).toBe(into);
    if (++turns === 6) break;
  }
  expect(table.stats().samples).toBe(24);
});

test("a dataset stops drawing when its loop ends", async () => {
  const { table, insert } = make(minSize(1), { maxTimesSampled: 1 });
  insert(0);
  for await (const batch of table.dataset({ batchSize: 1, prefetch: 3 })) {
    expect(batch.count).toBe(1);
    break;
  }
  for (let i = 0; i < 5; i++) insert(i);
  expect(table.stats()).toMatchObject({ size: 5, samples: 1 });
});

test("dataset rejects invalid options", () => {
  const { replay, table, insert } = make(minSize(1));
  insert(1);
  const bad: [object, typeof TypeError | typeof RangeError, ...RegExp[]][] = [
    [{}, TypeError, /^batchSize is required/],
    [{ batchSize: 0 }, RangeError, /^batchSize must/, /got 0/],
    [{ batchSize: 1.5 }, TypeError, /^batchSize must/, /1\.5/],
    [{ batchSize: 1, prefetch: -1 }, RangeError, /^prefetch must/, /got -1/],
    [{ batchSize: 1, prefetch: true }, TypeError, /^prefetch must/, /true/],
  ];
  for (const [options, kind, ...says] of bad) expectRefused(replay, () => table.dataset(options as never), kind, ...says);
  expectRefused(replay, () => [...table.dataset({ batchSize: 1, shufle: true } as never)], TypeError, /"shufle"/);
});

test("prefetched batches that nobody awaits cause no unhandled rejection", async () => {
  const { replay, table } = make(minSize(1));
  const seen: unknown[] = [];
  const listen = (reason: unknown) => seen.push(reason);
  process.on("unhandledRejection", listen);
  const batches = table.dataset({ batchSize: 1, prefetch: 3 })[Symbol.asyncIterator]().next();
  const refused = expect(batches).rejects.toThrow("disposed");
  table.sampleWhenReady(1).catch((error: unknown) => expect(error).toBeInstanceOf(ReplayError));
  replay.dispose();
  await new Promise((resolve) => setTimeout(resolve, 1));
  process.off("unhandledRejection", listen);
  await refused;
  expect(seen).toEqual([]);
});

test("items that are waiting when their table is cleared keep their lengths and columns", () => {
  const queue = { maxSize: 2, sampler: fifo(), rateLimiter: queueLimiter(2), maxTimesSampled: 1 };
  for (const columns of [undefined, { y: { leaf: "x", at: -1 } }] as const) {
    const replay = new Replay({ spec: { x: f32() }, tables: { queue } });
    const writer = replay.writer();
    const table = replay.table("queue");
    for (let x = 0; x < 4; x++) {
      writer.append({ x });
      writer.createItem("queue", { length: 1 + (x & 1), columns });
    }
    table.clear();
    const { count, lengths, steps } = table.sample(2);
    expect([count, ...lengths]).toEqual([2, 1, 2]);
    expect(steps).toMatchObject(columns === undefined ? { x: { data: Float32Array.of(2, 0, 2, 3) } } : { y: { data: Float32Array.of(2, 3) } });
  }
});

test("an emptied table forgets the lengths of its former items", () => {
  const replay = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 1 } } });
  const writer = replay.writer();
  const table = replay.table("t");
  for (let x = 0; x < 4; x++) writer.append({ x });
  writer.createItem("t", { length: 4 });
  table.delete([writer.lastKey("t")]);
  writer.createItem("t", { length: 1, columns: { x: { leaf: "x", at: 0 } } });
  expect(table.sample(1).steps).toMatchObject({ x: { data: Float32Array.of(3), shape: [1] } });
  table.delete([writer.lastKey("t")]);
  writer.createItem("t", { length: 2 });
  expect((table.sample(3).steps.x as { shape: readonly number[] }).shape).toEqual([3, 2]);
});

test("sampleWhenReady rejects the options that sample rejects", async () => {
  const replay = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 9, sampler: prioritized(1) } } });
  replay.writer({ items: [{ table: "t", length: 1 }] }).appendColumns({ x: [1, 2, 3] });
  const table = replay.table("t");
  await expect(table.sampleWhenReady(2, { beta: 1, normalize: "table" })).rejects.toMatchObject({ code: "UNSUPPORTED" });
});

test("sampleWhenReady rejects n above maxSize only without replacement", async () => {
  const replay = new Replay({ spec: { x: f32() }, tables: { once: { maxSize: 10, maxTimesSampled: 1 }, any: { maxSize: 10 } } });
  await expect(replay.table("once").sampleWhenReady(11, { replacement: false })).rejects.toThrow(/^n must be <= 10, /);
  await expect(replay.table("any").sampleWhenReady(11, { replacement: false })).rejects.toThrow(/^n must be <= 10, /);
  const enough = replay.table("any").sampleWhenReady(11);
  replay.writer({ items: [{ table: "any", length: 1 }] }).append({ x: 1 });
  expect((await enough).count).toBe(11);
});

test("sample returns items admitted during the draw in full, and stops before items with other columns", () => {
  const queue = { maxSize: 10, sampler: fifo(), maxTimesSampled: 1, rateLimiter: queueLimiter(1) };
  for (const n of [3, 5]) {
    const replay = new Replay({ spec: { x: f32() }, tables: { queue } });
    const writer = replay.writer();
    for (let x = 1; x <= 8; x++) writer.append({ x });
    for (const length of [1, 8, 5]) writer.createItem("queue", { length });
    const { count, lengths, steps } = replay.table("queue").sample(n);
    expect([count, ...lengths]).toEqual([3, 1, 8, 5]);
    expect([...steps.x.data]).toEqual([8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 4, 5, 6, 7, 8, 0, 0, 0]);
  }
  const replay = new Replay({ spec: { x: f32() }, tables: { queue } });
  const writer = replay.writer();
  for (let x = 1; x <= 8; x++) writer.append({ x });
  writer.createItem("queue", { length: 1 });
  writer.createItem("queue", { length: 2, columns: { last: { leaf: "x", at: -1 } } });
  // A draw is never lost, so the batch ends before an item with other columns.
  const table = replay.table("queue");
  expect(table.sample(2)).toMatchObject({ count: 1, steps: { x: { data: Float32Array.of(8) } }, blocked: { by: "columns", have: 1, need: 2 } });
  expect(table.sample(2)).toMatchObject({ count: 1, steps: { last: { data: Float32Array.of(8) } }, blocked: { by: "minSize" } });
});
