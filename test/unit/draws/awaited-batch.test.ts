/** Tests batches that are drawn as the rate limiter admits them. */
import { expect, test } from "vitest";
import { type Batch, f32, fifo, i32, minSize, prioritized, queueLimiter, type RateLimiter, Replay, sampleToInsertRatio, text } from "../../../src/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled, some } from "../../support/size.ts";

const ONCE = { maxTimesSampled: 1, sampler: fifo() };

function make(rateLimiter: RateLimiter, options: object = {}) {
  const replay = new Replay({ spec: { x: i32() }, tables: { t: { maxSize: 1000, rateLimiter, ...options } } });
  const writer = replay.writer();
  const insert = (x: number, how: object = {}) => {
    writer.append({ x });
    return writer.createItem("t", { length: 1, ...how });
  };
  return { replay, writer, insert, table: replay.table("t") };
}

const xs = (batch: Batch) => [...batch.steps.x.data] as number[];
const errorFrom = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable("it was not rejected"),
    (error) => error,
  );
/** Lets pending promise callbacks run. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  const note = () => {
    done = true;
  };
  promise.then(note, note);
  await turn();
  return done;
}

test.each(some([5, 1, 2, 256, 6, 7, 8], 2))("a dataset with batches of %i and a ratio limiter returns every draw of Reverb", async (batchSize) => {
  const spec = { observation: f32(), action: i32(), reward: f32() };
  for (const kind of ["table", "transitions"]) {
    const replay = new Replay({ spec, tables: { t: { maxSize: 1000, rateLimiter: sampleToInsertRatio(3, 3, 3) } } });
    const writer = replay.writer();
    const { t } = replay.tables;
    const inserting = (async () => {
      for (let step = 0; step < 286; step++) {
        writer.append({ observation: step, action: 0, reward: 1 });
        if (step > 0) await writer.createItem("t", { length: 2 });
      }
    })();
    const counts: number[] = [];
    const options = { batchSize, timeoutMs: 20 };
    for await (const { count } of kind === "table" ? t.dataset(options) : t.transitions({ gamma: 1 }).dataset(options)) counts.push(count);
    await inserting;
    // The cursor starts at 0 and never falls below 6, so there are 3 × 285 - 6 draws. The real system makes 169 batches of 5, and a shorter last one.
    expect(counts.filter((count) => count === batchSize).length).toBe(Math.floor(849 / batchSize));
    expect(counts.reduce((sum, count) => sum + count)).toBe(849);
    expect(t.stats()).toMatchObject({ inserts: 285, samples: 849 });
  }
});

test("a batch larger than the limiter allows is drawn in parts", async () => {
  for (const n of [9, 8, scaled(256, 64)]) {
    const { table, insert } = make(sampleToInsertRatio(2, 1, 4.5));
    const batch = table.sampleWhenReady(n);
    for (let i = 0; i < 2 * n; i++) await Promise.race([insert(i), turn()]);
    expect((await batch).count).toBe(n);
    expect(new Set((await batch).info.tableSizes).size).toBeGreaterThan(1);
    expect((await batch).blocked).toBe(undefined);
  }
});

test("bytes are copied at the draw", async () => {
  const { table, insert } = make(queueLimiter(1), ONCE);
  const batch = table.sampleWhenReady(4);
  for (const x of [1, 2, 3]) {
    insert(x);
    expect(table.size).toBe(0);
  }
  insert(4);
  expect(xs(await batch)).toEqual([1, 2, 3, 4]);
});

test("a wait that ends early passes the drawn items in its error", async () => {
  const ends: [string, object, (replay: Replay, stop: AbortController) => void][] = [
    ["TIMEOUT", { timeoutMs: 5 }, () => {}],
    ["CLOSED", {}, (replay) => replay.dispose()],
    ["AbortError", {}, (_, stop) => stop.abort()],
    ["mine", {}, (_, stop) => stop.abort(new Error("mine"))],
    ["a string", {}, (_, stop) => stop.abort("a string")],
    ["frozen", {}, (_, stop) => stop.abort(Object.freeze(new Error("frozen")))],
  ];
  for (const [says, options, end] of ends) {
    const { replay, table, insert } = make(queueLimiter(9), ONCE);
    const stop = new AbortController();
    const waiting = table.sampleWhenReady(5, { signal: stop.signal, ...options } as object);
    for (let i = 0; i < 3; i++) insert(i);
    end(replay as never, stop);
    const error = await errorFrom(waiting);
    expect([error.code, error.name, error.message].map(String)).toContain(says);
    expect([error.batch.count, xs(error.batch), error.batch.blocked]).toEqual([3, [0, 1, 2], { by: "minSize", have: 0, need: 1 }]);
    expect(error.batch.toArray().length).toBe(3);
  }
  // Nothing was drawn, so the error is the unchanged abort reason.
  const { table } = make(minSize(1));
  const stop = new AbortController();
  const waiting = [table.sampleWhenReady(5, { signal: stop.signal }), table.sampleWhenReady(5, { signal: stop.signal })];
  stop.abort("enough");
  for (const one of waiting) expect(await errorFrom(one)).toBe("enough");
});

test.each([
  ["the signal's own", undefined],
  ["an error", new RangeError("enough")],
  ["a frozen error", Object.freeze(new RangeError("enough"))],
  ["a word", "enough"],
])("a reason that ends several waits creates one error with a batch per wait: %s", async (_, given) => {
  const stop = new AbortController();
  const { signal } = stop;
  const made = [1, 2, 3].map((first) => {
    const { table, insert } = make(queueLimiter(9), ONCE);
    insert(first);
    return table;
  });
  const waiting = made.map((table) => table.sampleWhenReady(2, { signal }));
  const looping = make(queueLimiter(9), ONCE);
  looping.insert(4);
  const loop = looping.table.dataset({ batchSize: 2, signal })[Symbol.asyncIterator]().next();
  await turn();
  stop.abort(given);
  const errors = await Promise.all([...waiting, loop].map(errorFrom));
  expect(errors.map(({ batch }) => xs(batch))).toEqual([[1], [2], [3], [4]]);
  expect(new Set(errors).size).toBe(4);
  const { reason } = signal;
  const [name, message] = typeof reason === "string" ? ["Error", reason] : [reason.name, reason.message];
  for (const error of errors) {
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.message, error.cause]).toEqual([name, message, reason]);
  }
  if (given === undefined) expect(name).toBe("AbortError");
  // Other calls may share the abort reason, so it must not be changed.
  expect(Object.hasOwn(Object(reason), "batch")).toBe(false);
});

test("a timeout ends an iteration with a short batch, and the iterator can be reused", async () => {
  for (const prefetch of [0, 2]) {
    const { table, insert } = make(queueLimiter(50), ONCE);
    const batches = table.dataset({ batchSize: 3, timeoutMs: 5, prefetch })[Symbol.asyncIterator]();
    const next = async () => {
      const { value, done } = await batches.next();
      return done ? "done" : xs(value);
    };
    for (let i = 0; i < 5; i++) insert(i);
    expect([await next(), await next(), await next()]).toEqual([[0, 1, 2], [3, 4], "done"]);
    expect(await next()).toBe("done");
    for (let i = 5; i < 9; i++) insert(i);
    expect([await next(), await next(), await next()]).toEqual([[5, 6, 7], [8], "done"]);
  }
});

test("dropRemainder omits the short batch, and its items start the next batch", async () => {
  for (const prefetch of [0, 2]) {
    const { table, insert } = make(queueLimiter(50), ONCE);
    const batches = table.dataset({ batchSize: 3, timeoutMs: 5, dropRemainder: true, prefetch })[Symbol.asyncIterator]();
    const next = async () => {
      const { value, done } = await batches.next();
      return done ? "done" : xs(value);
    };
    for (let i = 0; i < 5; i++) insert(i);
    expect([await next(), await next(), await next()]).toEqual([[0, 1, 2], "done", "done"]);
    insert(5);
    expect([await next(), await next()]).toEqual([[3, 4, 5], "done"]);
  }
});

test("an iteration that fails passes the drawn items in its error", async () => {
  const { table, insert } = make(queueLimiter(9), ONCE);
  const stop = new AbortController();
  const batches = table.dataset({ batchSize: 3, signal: stop.signal })[Symbol.asyncIterator]();
  const next = batches.next();
  await turn();
  insert(7);
  stop.abort(new Error("enough"));
  const error = await errorFrom(next);
  expect([error.message, xs(error.batch)]).toEqual(["enough", [7]]);
});

test("waits are served in the order of their calls, for any options", async () => {
  const { table, insert } = make(queueLimiter(9), ONCE);
  const order: number[] = [];
  const first = table.sampleWhenReady(3, { replacement: false });
  const rest = [1, 2].map((n) => table.sampleWhenReady(n));
  [first, ...rest].map((one, i) => one.then(() => order.push(i)));
  insert(0);
  insert(1);
  expect([await settled(first), table.size]).toEqual([false, 2]);
  for (let i = 2; i < 6; i++) insert(i);
  expect((await Promise.all([first, ...rest])).map(xs)).toEqual([[0, 1, 2], [3], [4, 5]]);
  expect(order).toEqual([0, 1, 2]);
});

test("when the first wait times out, the next wait receives the available items", async () => {
  const { table, insert } = make(queueLimiter(9), ONCE);
  const first = table.sampleWhenReady(3, { replacement: false, timeoutMs: 5 });
  const second = table.sampleWhenReady(2);
  insert(0);
  insert(1);
  expect((await errorFrom(first)).code).toBe("TIMEOUT");
  expect(xs(await second)).toEqual([0, 1]);
});

test("a batch that can never be drawn is rejected before any wait", async () => {
  const never: [RateLimiter, object, number, object][] = [
    [minSize(20), { maxSize: 10 }, 1, {}],
    [minSize(20), { maxSteps: 10 }, 1, {}],
    [minSize(1), { maxSize: 10 }, 11, { replacement: false }],
    [minSize(1), { maxSize: 10, sampler: fifo() }, 4, { replacement: false, among: 3 }],
    [sampleToInsertRatio(3, 3, 3), {}, 7, { replacement: false }],
    [sampleToInsertRatio(3, 3, 3), {}, 7, { stratified: true }],
    [minSize(2), { maxSize: 2, maxTimesSampled: 1 }, 2, { replacement: false }],
  ];
  for (const [limiter, options, n, how] of never) {
    const { table } = make(limiter, options);
    const error = await errorFrom(table.sampleWhenReady(n, how));
    expectError(error, RangeError, /^n must be <= /, /table "t"/);
    await expect(
      table
        .dataset({ batchSize: n, ...how })
        [Symbol.asyncIterator]()
        .next(),
    ).rejects.toThrow(/^n must be <= /);
    expectError(
      errorOf(() =>
        table
          .dataset({ batchSize: n, ...how })
          [Symbol.iterator]()
          .next(),
      ),
      RangeError,
      /^n must be <= /,
    );
  }
});

test.each([
  [{ repalcement: false }, TypeError, /^sample has no option "repalcement"/],
  [{ replacement: "no" }, TypeError, /^replacement must be a boolean/],
  [{ stratified: 1 }, TypeError, /^stratified must be a boolean/],
  [{ among: -1 }, RangeError, /^among must be/],
  [{ beta: "x" }, TypeError, /^beta must be/],
  [{ normalize: "batches" }, RangeError, /^normalize must be/],
  [{ into: 3 }, TypeError, /^into must be/],
  [{ mask: 1 }, TypeError, /mask/],
  [{ length: 0 }, RangeError, /^length must be/],
  [{ offset: "middle" }, RangeError, /^offset must be/],
  [{ cross: "yes" }, TypeError, /^cross must be/],
  [{ columns: { a: { leaf: "nope" } } }, "NOT_FOUND", /^columns\.a\.leaf must be/],
  [{ nStep: { n: 0, gamma: 1, reward: "x" } }, RangeError, /^nStep\.n must be/],
] as const)("rejects wrong options before any wait: %j", async (options, kind, says) => {
  const { table } = make(minSize(1));
  const first = (batches: AsyncIterable<unknown>) => batches[Symbol.asyncIterator]().next();
  const late = { timeoutMs: 5, ...options } as object;
  expectError(await errorFrom(table.sampleWhenReady(2, late)), kind, says);
  expectError(await errorFrom(first(table.dataset({ batchSize: 2, ...late }))), kind, says);
});

test("views, waits and loops reject invalid options and signals before any wait", async () => {
  const replay = new Replay({ spec: { observation: f32(), action: i32(), reward: f32() }, tables: { t: { maxSize: 9, sampler: prioritized(1) } } });
  const view = replay.tables.t.transitions({ gamma: 1 });
  for (const wrong of [{ betta: 1 }, { into: 3 }, { beta: "x" }, { among: 0.5 }, { replacement: 0 }])
    expectError(await errorFrom(view.sampleWhenReady(2, { timeoutMs: 5, ...wrong } as object)), TypeError, /betta|into|beta|among|replacement/);
  expectError(await errorFrom(view.sampleWhenReady(2, { timeoutMs: 5, normalize: "table" })), "UNSUPPORTED", /normalize/);
  for (const wrong of [5, "abc", [1]])
    expectError(await errorFrom(replay.tables.t.sampleWhenReady(2, wrong as never)), TypeError, /options|sample has no option/);
  for (const signal of [{}, { addEventListener() {} }, "now"])
    for (const one of [Symbol.iterator, Symbol.asyncIterator] as const)
      expectError(
        await errorFrom(
          (async () =>
            replay.tables.t
              .dataset({ batchSize: 2, signal: signal as never })
              [one]()
              .next())(),
        ),
        TypeError,
        /^signal must be/,
      );
});

test("a limiter that blocks inserts and draws throws RATE_LIMITED in waits and loops", async () => {
  const { table, insert } = make({ samplesPerInsert: 1, minSize: 1, minDiff: 0, maxDiff: 0.5 });
  const stuck = table.sampleWhenReady(2);
  insert(1);
  const error = await errorFrom(stuck);
  expectError(error, "RATE_LIMITED", /Decrease minDiff, or increase maxDiff/);
  expect(xs(error.batch)).toEqual([1]);

  const ratio = make(sampleToInsertRatio(3, 3, 3));
  // The limiter's cursor is 12 of 6 … 12, then 10: four draws are admitted, and no others until an item is inserted.
  for (let i = 0; i < 4; i++) ratio.insert(i);
  ratio.table.sample(2);
  for (const how of [{}, { replacement: false }])
    expectError(
      errorOf(() =>
        ratio.table
          .dataset({ batchSize: 5, ...how })
          [Symbol.iterator]()
          .next(),
      ),
      "RATE_LIMITED",
      /allows 4 draws now/,
    );
  expectError(await errorFrom(ratio.table.sampleWhenReady(5, { replacement: false })), "RATE_LIMITED");
  expect(ratio.table.dataset({ batchSize: 4 })[Symbol.iterator]().next().value?.count).toBe(4);
});

test("an iterator that finds too few items can continue later", () => {
  const { table, insert } = make(queueLimiter(9), ONCE);
  const batches = table.dataset({ batchSize: 2 })[Symbol.iterator]();
  expect(batches.next().done).toBe(true);
  insert(1);
  expect([batches.next().done, table.size]).toEqual([true, 1]);
  insert(2);
  expect(xs(batches.next().value as Batch)).toEqual([1, 2]);
});

const steps = { x: f32(2), r: f32(), said: text({ maxBytes: 8 }), big: i32(300) };

/** Creates a table, and functions that each insert an item of the given length. */
function filler(options: object, lengths = [1, 8, 5, 3]) {
  const replay = new Replay({ spec: steps, tables: { t: { maxSize: 9, sampler: fifo(), maxTimesSampled: 1 } } });
  const writer = replay.writer();
  for (let i = 1; i <= 8; i++) writer.append({ x: [i, -i], r: i, said: `no ${i}`, big: new Int32Array(300).fill(i) });
  const items = lengths.map((length) => () => writer.createItem("t", { length, ...options }));
  return { table: replay.table("t"), items };
}

test("a batch drawn in parts equals a batch of one draw", async () => {
  const columns = {
    head: { leaf: "x", to: -1 },
    tail: { leaf: "x", from: -3 },
    odd: { leaf: "r", from: 1, step: 2 },
    last: { leaf: "said", at: -1 },
    list: { leaf: "big", steps: [0, -1, 2] },
    all: { leaf: "said" },
  } as const;
  const longer = [3, 8, 5, 4];
  const cases: [object, object, number[]?][] = [
    [{}, {}],
    [{}, { mask: true, nStep: { n: 2, gamma: 0.5, reward: "r" }, beta: 1 }, longer],
    [{}, { columns }],
    [{ columns }, {}, longer],
    [{}, { length: 4, offset: "end", mask: true }],
    [{}, { columns, length: 6 }],
  ];
  for (const [item, options, lengths] of cases) {
    const once = filler(item, lengths);
    for (const insert of once.items) insert();
    const whole = once.table.sample(4, options);
    const parted = filler(item, lengths);
    const waiting = parted.table.sampleWhenReady(4, options);
    for (const insert of parted.items) insert();
    const batch = await waiting;
    const forms = [whole, batch].map(({ steps, lengths, nStep, mask, count }) => ({ steps, lengths, nStep, mask, count }));
    expect(forms[1]).toEqual(forms[0]);
    expect([...batch.info.tableSizes]).toEqual([1, 1, 1, 1]);
    expect([...batch.info.probabilities]).toEqual([...whole.info.probabilities]);
    if (batch.info.weights) expect([...batch.info.weights]).toEqual([1, 1, 1, 1]);
    expect(batch.toArray()).toEqual(whole.toArray());
  }
});

test("items with columns of the same shapes form one batch, even in parts", async () => {
  const filled = () => {
    const { table, writer } = make(minSize(1), ONCE);
    for (let x = 0; x < 6; x++) writer.append({ x });
    const items = [0, 2, 4].map(
      (t) => () => writer.createItem("t", { length: 6, columns: { now: { leaf: "x", at: t }, next: { leaf: "x", at: t + 1 }, all: { leaf: "x", from: t } } }),
    );
    return { table, items };
  };
  for (const order of [
    [0, 1, 2],
    [2, 1, 1],
  ]) {
    const [whole, parted] = [filled(), filled()];
    for (const i of order) whole.items[i]?.();
    const waiting = parted.table.sampleWhenReady(3);
    for (const i of order) parted.items[i]?.();
    const [batch, expected] = [await waiting, whole.table.sample(3)];
    expect(batch.steps).toEqual(expected.steps);
    expect(batch.toArray()).toEqual(expected.toArray());
  }
});

test("`into` is filled only when all parts of the batch are drawn", async () => {
  const { table, items } = filler({});
  const into = table.batch(4, { length: 6, mask: true });
  const twin = filler({});
  for (const insert of twin.items) insert();
  const whole = twin.table.sample(4, { length: 6, mask: true });
  const waiting = table.sampleWhenReady(4, { into });
  items[0]?.();
  expect([into.count, ...into.steps.r.data.slice(0, 6)]).toEqual([0, 0, 0, 0, 0, 0, 0]);
  for (const insert of items.slice(1)) insert();
  expect(await waiting).toBe(into);
  expect({ ...into, info: 0 }).toEqual({ ...whole, info: 0 });
  const small = filler({});
  const wrong = small.table.sampleWhenReady(4, { into: small.table.batch(2, { length: 6 }) });
  small.items[0]?.();
  const error = await errorFrom(wrong);
  expectError(error, "SPEC_MISMATCH", /^into must .* at least 4 items/);
  expect(small.table.size).toBe(1);
});

test("a transfer of `into` ends the wait, and the error contains the drawn items", async () => {
  const { table, items } = filler({});
  const into = table.batch(4, { length: 6 }).detached();
  const waiting = table.sampleWhenReady(4, { into });
  items[0]?.();
  structuredClone(into.steps.r.data, { transfer: [into.steps.r.data.buffer] });
  items[1]?.();
  const error = await errorFrom(waiting);
  expectError(error, "SPEC_MISMATCH", /^into\.steps\.r\.data/);
  expect([error.batch.count, error.batch.steps.r.data[0], table.size]).toEqual([1, 8, 1]);
});

test.each([{}, { beta: 0.5 }])("a short batch in `into` has its mask after a timeout: %j", async (weighted) => {
  const { table, items } = filler({});
  const into = table.batch(4, { length: 6, mask: true, ...weighted });
  const waiting = table.sampleWhenReady(4, { into, timeoutMs: 5, ...weighted });
  items[0]?.();
  const { code, batch } = await errorFrom(waiting);
  expect([code, batch?.count, batch?.mask?.length]).toEqual(["TIMEOUT", 1, 6]);
  expect([...batch.mask]).toEqual(Array.from({ length: 6 }, (_, t) => Number(t < batch.lengths[0])));
});

test("weights of a batch drawn in parts follow `normalize`", async () => {
  for (const normalize of ["batch", "none", "table"] as const) {
    const spec = { observation: f32(), action: i32(), reward: f32() };
    const sampler = prioritized(0.7, { withMin: true });
    const replay = new Replay({ spec, tables: { t: { maxSize: 50, sampler, rateLimiter: sampleToInsertRatio(2, 2, 4) } }, seed: 4 });
    const writer = replay.writer();
    const { t } = replay.tables;
    const view = t.transitions({ gamma: 1 });
    for (const kind of ["batch", "transitions"]) {
      const waiting = kind === "batch" ? t.sampleWhenReady(16, { beta: 0.5, normalize }) : view.sampleWhenReady(16, { beta: 0.5, normalize });
      for (let i = 0; i < 40; i++) {
        writer.append({ observation: i, action: 0, reward: 1 });
        if (i > 0) await Promise.race([writer.createItem("t", { length: 2, priority: 1 + (i % 5) }), turn()]);
      }
      const drawn = (await waiting) as never as { info: Batch["info"]; weights: { data: Float32Array } };
      const weights = kind === "batch" ? drawn.info.weights : drawn.weights.data;
      if (normalize === "batch") expect(Math.max(...(weights as Float64Array))).toBe(1);
      if (kind === "transitions") continue;
      const { tableSizes, probabilities } = drawn.info;
      expect(new Set(tableSizes).size).toBeGreaterThan(1);
      const raw = [...probabilities].map((p, i) => ((tableSizes[i] as number) * p) ** -0.5);
      const divisor = normalize === "batch" ? Math.max(...raw) : 1;
      for (const [i, weight] of [...(weights as Float64Array)].entries()) {
        if (normalize === "table") expect(weight).toBeLessThanOrEqual(1);
        else expect(weight).toBeCloseTo((raw[i] as number) / divisor, 12);
      }
    }
  }
});

test("transitions drawn in parts equal those of one draw", async () => {
  const spec = { observation: f32(2), action: i32(), reward: f32(), note: text({ maxBytes: 4 }) };
  const filled = () => {
    const replay = new Replay({ spec, tables: { t: { maxSize: 9, ...ONCE } } });
    const writer = replay.writer();
    for (let i = 0; i < 8; i++) writer.append({ observation: [i, 0.1], action: i, reward: 0.1 * i, note: `${i}` });
    const items = [2, 8, 5, 3].map((length) => () => writer.createItem("t", { length }));
    return { table: replay.tables.t, view: replay.tables.t.transitions({ gamma: 0.9, next: ["action"] }), items };
  };
  for (const hasInto of [false, true]) {
    const whole = filled();
    for (const insert of whole.items) insert();
    const { view, items } = filled();
    const into = hasInto ? { into: view.batch(4) } : {};
    const waiting = view.sampleWhenReady(4, into as object);
    for (const insert of items) insert();
    const [batch, expected] = [(await waiting) as unknown, whole.view.sample(4) as unknown];
    expect({ ...(batch as object), keys: 0 }).toEqual({ ...(expected as object), keys: 0 });
    if (hasInto) expect(batch).toBe((into as { into: unknown }).into);
  }
  const wrong = filled();
  const refused = wrong.view.sampleWhenReady(4, { into: { ...wrong.view.batch(4).detached(), keys: new Float64Array(2) } });
  wrong.items[0]?.();
  expectError(await errorFrom(refused), "SPEC_MISMATCH", /^into\.keys/);
  expect(wrong.table.size).toBe(1);
  const { view, items } = filled();
  const late = view.sampleWhenReady(4, { timeoutMs: 5 });
  items[0]?.();
  const { batch } = await errorFrom(late);
  expect([batch.count, batch.action.data.length, batch.toArray().length]).toEqual([1, 1, 1]);
});

test("an item with other columns ends a wait with the drawn batch, and stays in the table", async () => {
  const { table, insert } = make(queueLimiter(9), ONCE);
  const waiting = table.sampleWhenReady(4);
  insert(1);
  insert(2);
  insert(3, { columns: { other: { leaf: "x", at: 0 } } });
  const error = await errorFrom(waiting);
  expectError(error, "SPEC_MISMATCH", /different columns/);
  expect([xs(error.batch), table.size]).toEqual([[1, 2], 1]);
  expect(table.sample(1).steps).toHaveProperty("other");
});

test("rejections that nobody awaits do not cause unhandledRejection", async () => {
  const seen: unknown[] = [];
  const listen = (reason: unknown) => seen.push(reason);
  process.on("unhandledRejection", listen);
  const { replay, table } = make(minSize(1));
  const full = new Replay({ spec: f32(), tables: { t: { maxSize: 9, rateLimiter: sampleToInsertRatio(1, 1, 2) } } });
  const writer = full.writer({ keep: 1 });
  let item: Promise<void> | undefined;
  for (let x = 0; item === undefined && x < 9; x++) {
    writer.append(x);
    item = writer.createItem("t", { length: 1 });
  }
  expect([item, writer.flush()]).toEqual([expect.any(Promise), expect.any(Promise)]);
  writer.flush({ timeoutMs: 1 });
  full.dispose();
  const view = new Replay({ spec: { observation: f32(), action: i32(), reward: f32() }, tables: { t: { maxSize: 9 } } }).tables.t.transitions({ gamma: 1 });
  table.sampleWhenReady(1);
  table.sampleWhenReady(1, { timeoutMs: 1 });
  table.sampleWhenReady(-1);
  view.sampleWhenReady(1, { timeoutMs: 1 });
  view.sampleWhenReady(1, { signal: AbortSignal.abort() });
  await new Promise((resolve) => setTimeout(resolve, 5));
  replay.dispose();
  table.sampleWhenReady(1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off("unhandledRejection", listen);
  expect(seen).toEqual([]);
});
