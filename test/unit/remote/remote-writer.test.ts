/** Tests that a remote writer accepts and rejects the same calls as a local one, with the same results. */
import { describe, expect, test } from "vitest";
import { bool, f32, f64, fifo, i32, i64, minSize, prioritized, queueLimiter, Replay, shared, text, u8 } from "../../../src/index.ts";
import { errorFrom } from "../../support/later.ts";
import { bytesOf, errorOf, expectError } from "../../support/refused.ts";
import { some } from "../../support/size.ts";
import { CHANNELS, pair, pairOver, turn, until } from "./support.ts";

const spec = { observation: f32(3), action: i32(), reward: f32() };
const tables = { t: { maxSize: 1000 } };
const stepAt = (k: number) => ({ observation: [k, k + 0.5, -k], action: k, reward: k / 2 });

describe.each(CHANNELS)("a writer across a %s", (channel) => {
  const pair = pairOver(channel);

  test("writes steps with the rules of the accepting end", async () => {
    const { replay, writer, accepted } = await pair({ spec, tables }, { items: [{ table: "t", length: 2 }] });
    for (let k = 0; k < 10; k++) expect(writer.append(stepAt(k))).toBe(undefined);
    expect([writer.length, writer.episodeSteps, writer.inFlight]).toEqual([10, 10, 10]);
    expect(replay.tables.t.size).toBe(0);
    await writer.flush();
    expect([replay.tables.t.size, accepted.steps, writer.inFlight]).toEqual([9, 10, 0]);
    expect(replay.tables.t.sample(4).steps.observation.shape).toEqual([4, 2, 3]);
    await writer.close();
    expect(await accepted.closed).toEqual({ how: "left" });
    expect(replay.writers.length).toBe(0);
  });

  test("stores the same bytes as a local writer with the same calls", async () => {
    const wide = {
      a: { flag: bool(), big: i64(2) },
      frames: shared("pixels", u8(4, 4), 3),
      image: u8(40, 40),
      name: text({ maxBytes: 9 }),
      words: text({ maxBytes: 3 }, 2),
      x: f64(),
    };
    const options = { spec: wide, tables: { t: { maxSize: 300, sampler: prioritized(0.6) }, u: { maxSize: 20 } }, seed: 3 };
    const rules = { items: [{ table: "t" as const, length: 3, stride: 2, priority: 2 }], keep: 7 };
    const { replay, writer } = await pair(options, rules);
    const local = new Replay(options);
    const own = local.writer(rules);
    for (let k = 0; k < 400; k++) {
      const step = {
        a: { flag: k % 3 === 0, big: [BigInt(k), -k] },
        frames: Array.from({ length: 3 }, (_, f) => new Uint8Array(16).fill(k + f)).map((frame) =>
          [...Array(4).keys()].map((r) => [...frame.slice(4 * r, 4 * r + 4)]),
        ),
        image: new Uint8Array(1600).fill(k),
        name: "né".repeat(k % 4),
        words: [`${k % 100}`, ""],
        x: k / 7,
      };
      own.append(step as never);
      await writer.append(step as never);
      if (k % 5 === 4 && own.length > 2) {
        const item = { length: 1 + (k % 3), priority: k / 10, columns: k % 2 ? { last: { leaf: "x" as const, at: -1 } } : undefined };
        own.createItem("u", item);
        await writer.createItem("u", item);
      }
      if (k % 37 === 36) {
        own.endEpisode();
        await writer.endEpisode();
      }
    }
    await writer.flush();
    expect([writer.length, writer.episodeSteps]).toEqual([own.length, own.episodeSteps]);
    expect(bytesOf(replay).equals(bytesOf(local))).toBe(true);
  });

  test("writes the steps of several lanes together, and ends lanes separately", async () => {
    const options = { spec, tables, seed: 1 };
    const rules = { items: [{ table: "t" as const, length: 2 }] };
    const { replay, writer } = await pair(options, rules, { lanes: 3 });
    const local = new Replay(options);
    const own = local.writer({ ...rules, lanes: 3 });
    for (let k = 0; k < 100; k++) {
      const steps = { observation: Float32Array.from({ length: 9 }, (_, i) => i + k), action: [k, k + 1, k + 2], reward: new Float32Array(3).fill(k) };
      own.append(steps);
      await writer.append(steps);
      if (k % 7 === 0) {
        own.endEpisode({ lane: k % 3 });
        await writer.endEpisode({ lane: k % 3 });
      }
    }
    own.createItem("t", { length: 2, lane: 1, priority: 5 });
    await writer.createItem("t", { length: 2, lane: 1, priority: 5 });
    own.createItem("t", { length: 1, priority: "max" });
    await writer.createItem("t", { length: 1, priority: "max" });
    await writer.flush();
    expect(bytesOf(replay).equals(bytesOf(local))).toBe(true);
  });

  test("appends staged steps", async () => {
    const { replay, writer } = await pair({ spec, tables }, { items: [{ table: "t", length: 1 }] });
    const { staged } = writer;
    for (let k = 0; k < 3; k++) {
      staged.observation.fill(k);
      staged.reward = k;
      staged.action = -k;
      await writer.append();
    }
    await writer.flush();
    const { steps } = replay.tables.t.sample(3, { replacement: false });
    expect([...steps.action.data].sort()).toEqual([-1, -2, 0]);
  });

  test("sends its steps when the actor waits for something else", async () => {
    const { accepted, writer } = await pair({ spec, tables });
    for (let k = 0; k < 3; k++) writer.append(stepAt(k));
    await until(() => writer.inFlight === 0);
    expect(accepted.steps).toBe(3);
  });

  test("throws the same errors as a local writer, and then continues", async () => {
    const { replay, writer, accepted } = await pair({ spec, tables: { t: { maxSize: 9 } } }, { items: [{ table: "t", length: 2 }] });
    const local = new Replay({ spec, tables: { t: { maxSize: 9 } } });
    const own = local.writer({ items: [{ table: "t", length: 2 }] });
    writer.append(stepAt(0));
    own.append(stepAt(0));
    type Both = typeof own;
    const wrong: readonly ((w: Both) => unknown)[] = [
      (w) => w.append({ ...stepAt(1), extra: 1 } as never),
      (w) => w.append({ observation: [1, 2, 3], action: 1 } as never),
      (w) => w.append({ observations: [1, 2, 3], action: 1, reward: 1 } as never),
      (w) => w.append({ ...stepAt(1), observation: [1, 2] }),
      (w) => w.append({ ...stepAt(1), action: 0.5 }),
      (w) => w.append({ ...stepAt(1), action: 2 ** 31 }),
      (w) => w.append({ ...stepAt(1), reward: "1" } as never),
      (w) => w.createItem("x" as never, { length: 1 }),
      (w) => w.createItem("t", { length: 2 }),
      (w) => w.createItem("t", { length: 0 }),
      (w) => w.createItem("t", { length: 1, priority: -1 }),
      (w) => w.createItem("t", { length: 1, priority: Number.NaN }),
      (w) => w.createItem("t", { length: 1, lane: 1 }),
      (w) => w.createItem("t", { length: 1, prio: 1 } as never),
      (w) => w.createItem("t", { length: 1, columns: { a: { leaf: "nothing" } } } as never),
      (w) => w.createItem("t", undefined as never),
      (w) => w.endEpisode({ lane: 1 }),
      (w) => w.endEpisode({ last: true } as never),
    ];
    for (const call of wrong) {
      const [here, there] = [errorOf(() => call(own)), errorOf(() => call(writer as unknown as Both))];
      expect([there.constructor, there.message, (there as { code?: unknown }).code]).toEqual([
        here.constructor,
        here.message,
        (here as { code?: unknown }).code,
      ]);
    }
    await writer.append(stepAt(1));
    await writer.flush();
    expect([replay.tables.t.size, accepted.steps]).toEqual([1, 2]);
  });

  test("is closed by errors that only the Replay detects, and every later call throws them", async () => {
    const { writer, accepted, replay } = await pair({ spec, tables: { t: { maxSize: 9, sampler: prioritized(2) } } });
    await writer.append(stepAt(0));
    writer.createItem("t", { length: 1, priority: 1e300 });
    expectError(await errorFrom(writer.flush()), RangeError, /^priority must/);
    expectError(
      errorOf(() => writer.append(stepAt(1))),
      RangeError,
      /priority/,
    );
    expectError(await errorFrom(writer.close()), RangeError, /priority/);
    expect(await accepted.closed).toMatchObject({ how: "failed", error: { message: expect.stringContaining("priority") } });
    expect([accepted.steps, replay.writers.length]).toEqual([1, 0]);
  });
});

describe.each(some(CHANNELS, 1))("back-pressure over a %s", (channel) => {
  const pair = pairOver(channel);

  test("append returns a promise at maxInFlight steps, and throws if it is not awaited", async () => {
    const { writer, accepted } = await pair({ spec, tables }, { maxInFlight: 8 });
    for (let k = 0; k < 7; k++) expect(writer.append(stepAt(k))).toBe(undefined);
    const room = writer.append(stepAt(7));
    expect(room).toBeInstanceOf(Promise);
    expectError(
      errorOf(() => writer.append(stepAt(8))),
      "RATE_LIMITED",
      /8 steps are already in flight, and maxInFlight is 8\. Await the promise from append/,
    );
    // The items come after the step that reached the limit.
    for (let k = 1; k <= 16; k++) expect(writer.createItem("t", { length: 1 })).toBe(k < 8 ? undefined : room);
    expectError(
      errorOf(() => writer.createItem("t", { length: 1 })),
      "RATE_LIMITED",
      /16 items are already in flight, and maxInFlight is 8\. Await the promise from createItem/,
    );
    await room;
    expect(writer.inFlight).toBeLessThan(8);
    for (let k = 8; k < 100; k++) await writer.append(stepAt(k));
    await writer.flush();
    expect(accepted.steps).toBe(100);
  });

  test("endEpisode is accepted while maxInFlight steps are in flight", async () => {
    const { writer } = await pair({ spec, tables }, { maxInFlight: 2 });
    writer.append(stepAt(0));
    const room = writer.append(stepAt(1));
    expect(writer.endEpisode()).toBe(room);
    for (let k = 0; k < 10; k++) expect(writer.endEpisode()).toBe(undefined);
    expect(writer.inFlight).toBe(2);
    await room;
  });

  test.each([
    [0, 1],
    [0, 40],
    [5, 40],
    [1023, 40],
  ])("items that a rate limiter blocks wait, and none is lost (maxPending %i, maxInFlight %i)", async (maxPending, maxInFlight) => {
    const options = { spec, tables: { q: { maxSize: 4, maxPending, rateLimiter: queueLimiter(4), maxTimesSampled: 1, sampler: { kind: "fifo" } as never } } };
    const { writer, accepted, replay } = await pair(options, { items: [{ table: "q", length: 1 }], maxInFlight });
    const seen: number[] = [];
    const acting = (async () => {
      for (let k = 0; k < 300; k++) {
        await writer.append(stepAt(k));
        if (k % 10 === 3) await writer.createItem("q", { length: 1 });
        if (k % 50 === 49) await writer.endEpisode();
      }
      await writer.close();
    })();
    while (seen.length < 330) {
      const batch = await replay.tables.q.sampleWhenReady(1, { timeoutMs: 5000 });
      seen.push(...batch.steps.action.data);
      if (seen.length % 8 === 0) await turn(0);
      expect(writer.inFlight).toBeLessThanOrEqual(maxInFlight + 1);
    }
    await acting;
    expect(accepted.steps).toBe(300);
    const wanted = Array.from({ length: 300 }, (_, k) => (k % 10 === 3 ? [k, k] : [k])).flat();
    expect(seen).toEqual(wanted);
  });

  test.each([
    ["createItem", []],
    ["a rule", [{ table: "quick", length: 1 }] as const],
  ])("does not stop items for the table of %s while another table blocks", async (_, rules) => {
    const queue = (maxPending: number) => ({ maxSize: 2, maxTimesSampled: 1, sampler: fifo(), rateLimiter: queueLimiter(2), maxPending });
    const items = [{ table: "slow", length: 1 }, ...rules] as const;
    const { writer, replay } = await pair({ spec, tables: { slow: queue(1000), quick: queue(4) } }, { items });
    for (let k = 0; k < 30; k++) {
      await writer.append(stepAt(k));
      if (rules.length === 0) await writer.createItem("quick", { length: 1 });
    }
    const seen: number[] = [];
    while (seen.length < 30) seen.push(...(await replay.tables.quick.sampleWhenReady(1, { timeoutMs: 5000 })).steps.action.data);
    expect(seen).toEqual([...Array(30).keys()]);
    await turn();
    expect(replay.tables.slow.stats().pending).toBe(28);
  });

  test("flush waits for waiting items until its timeout or signal", async () => {
    const options = { spec, tables: { q: { maxSize: 4, rateLimiter: queueLimiter(1), maxTimesSampled: 1 } } };
    const { writer, replay } = await pair(options, { items: [{ table: "q", length: 1 }] });
    for (let k = 0; k < 2; k++) writer.append(stepAt(k));
    expectError(await errorFrom(writer.flush({ timeoutMs: 10 })), "TIMEOUT", /10 ms/);
    expect((await errorFrom(writer.flush({ signal: AbortSignal.abort(new Error("stop")) }))).message).toBe("stop");
    const flushed = writer.flush();
    await turn();
    replay.tables.q.sample(1);
    await flushed;
  });
});

test("over a port, a writer reuses returned buffers and allocates only a few", async () => {
  const { writer } = await pair({ spec, tables: { t: { maxSize: 100, rateLimiter: minSize(1) } } }, { items: [{ table: "t", length: 1 }], maxInFlight: 64 });
  const Real = ArrayBuffer;
  let count = 0;
  globalThis.ArrayBuffer = class extends Real {
    constructor(bytes: number) {
      super(bytes);
      count++;
    }
  } as typeof ArrayBuffer;
  try {
    for (let k = 0; k < 5000; k++) await writer.append(stepAt(k));
    await writer.flush();
  } finally {
    globalThis.ArrayBuffer = Real;
  }
  expect(count).toBeLessThanOrEqual(6);
});
