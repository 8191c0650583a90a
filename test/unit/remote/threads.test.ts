/** Tests actors in separate threads: all of their steps must arrive once and in order, whether the actors leave, die or are killed. */
import { once } from "node:events";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { MessageChannel, Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { f32, fifo, i32, minSize, queueLimiter, Replay } from "../../../src/index.ts";
import { expectAlike } from "../../support/alike.ts";
import { errorFrom } from "../../support/later.ts";
import { expectError } from "../../support/refused.ts";
import { scaled, whole } from "../../support/size.ts";
import { until } from "./support.ts";

const ACTOR = join(import.meta.dirname, "actor.mjs");
const spec = { actor: i32(), n: i32(), x: f32(4) };

function start(workerData: object): Worker {
  const worker = new Worker(ACTOR, { workerData });
  onTestFinished(async () => void (await worker.terminate()));
  return worker;
}

/** Returns the steps of each actor, in the order of the memory. */
function perActor(actors: ArrayLike<number>, ns: ArrayLike<number>): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (let i = 0; i < actors.length; i++) {
    const actor = actors[i] as number;
    if (!found.has(actor)) found.set(actor, []);
    found.get(actor)?.push(ns[i] as number);
  }
  return found;
}

describe("actors in threads", () => {
  test("4 actors store many steps each, once and in order", async () => {
    const [ACTORS, STEPS] = [4, scaled(10_000, 500)];
    const replay = new Replay({ spec, tables: { t: { maxSize: ACTORS * STEPS, rateLimiter: minSize(1), sampler: fifo() }, items: { maxSize: 10 } } });
    const workers = Array.from({ length: ACTORS }, (_, actor) => start({ actor, steps: STEPS, episode: 77 }));
    const exits = workers.map((worker) => once(worker, "exit"));
    const accepted = await Promise.all(workers.map((worker) => replay.acceptWriter(worker, { items: [{ table: "t", length: 1 }], maxInFlight: 500 })));
    expect(await Promise.all(accepted.map(({ closed }) => closed))).toEqual(Array(ACTORS).fill({ how: "left" }));
    expect(accepted.map(({ steps }) => steps)).toEqual(Array(ACTORS).fill(STEPS));
    const { size } = replay.tables.t;
    expect(size).toBe(ACTORS * STEPS);
    const { actor, n, x } = replay.tables.t.sample(size, { replacement: false }).steps;
    const all = perActor(actor.data, n.data);
    expect([...all.keys()].sort()).toEqual([0, 1, 2, 3]);
    for (const ns of all.values()) expectAlike(ns, [...Array(STEPS).keys()]);
    expect(x.data.every((value, i) => value === n.data[i >> 2])).toBe(true);
    await Promise.all(exits);
  });

  test.runIf(whole)("a slowly sampled queue blocks the actors, and each item arrives once", async () => {
    const STEPS = scaled(700, 100);
    const queue = { maxSize: 16, maxTimesSampled: 1, sampler: fifo(), rateLimiter: queueLimiter(16), maxPending: 8 };
    const replay = new Replay({ spec, tables: { queue } });
    const accepted = [0, 1].map((actor) => replay.acceptWriter(start({ actor, steps: STEPS }), { items: [{ table: "queue", length: 1 }], maxInFlight: 64 }));
    const [actors, ns]: [number[], number[]] = [[], []];
    while (ns.length < 2 * STEPS) {
      const { steps } = await replay.tables.queue.sampleWhenReady(1, { timeoutMs: 20_000 });
      actors.push(...steps.actor.data);
      ns.push(...steps.n.data);
      if (ns.length % 50 === 0) await setImmediate();
    }
    for (const ns_ of perActor(actors, ns).values()) expect(ns_).toEqual([...Array(STEPS).keys()]);
    for (const each of await Promise.all(accepted)) expect((await each.closed).how).toBe("left");
  });

  test("items with priorities arrive with their steps", async () => {
    const replay = new Replay({ spec, tables: { items: { maxSize: 1000, sampler: fifo() } } });
    const accepted = await replay.acceptWriter(start({ actor: 1, steps: 300, items: true }), { maxInFlight: 40 });
    await accepted.closed;
    const batch = replay.tables.items.sample(300, { replacement: false });
    expect([...batch.info.priorities]).toEqual(Array.from({ length: 300 }, (_, n) => n + 1));
  });

  test("an actor that is killed is gone, and its steps so far are stored without gaps", async () => {
    const replay = new Replay({ spec, tables: { t: { maxSize: 100_000, sampler: fifo() } } });
    const worker = start({ actor: 1, steps: 1e9, wait: true });
    const accepted = await replay.acceptWriter(worker, { items: [{ table: "t", length: 1 }] });
    await until(() => accepted.steps > 10, 20_000);
    await worker.terminate();
    expect(await accepted.closed).toEqual({ how: "gone" });
    expect(replay.tables.t.size).toBe(accepted.steps);
    expect([...replay.tables.t.sample(accepted.steps, { replacement: false }).steps.n.data]).toEqual([...Array(accepted.steps).keys()]);
    expect(replay.writers.length).toBe(0);
  });

  test("an actor that ends without close is gone, and all its steps are stored", async () => {
    const replay = new Replay({ spec, tables: { t: { maxSize: 100_000 } } });
    const worker = start({ actor: 1, steps: 5000, leaves: "silently" });
    const accepted = await replay.acceptWriter(worker, { items: [{ table: "t", length: 1 }] });
    expect(await accepted.closed).toEqual({ how: "gone" });
    expect(accepted.steps).toBe(5000);
  });

  test("acceptWriter rejects if the worker ends first, or has another spec", async () => {
    const replay = new Replay({ spec, tables: {} });
    const silent = new Worker("", { eval: true });
    expectError(await errorFrom(replay.acceptWriter(silent)), "CLOSED", /its worker has ended/);
    const worker = start({ actor: 1, steps: 1 });
    worker.on("error", () => {});
    expectError(
      await errorFrom(new Replay({ spec: { n: i32() } }).acceptWriter(worker)),
      "SPEC_MISMATCH",
      /actor is i32 of shape \[\] in the spec of remoteWriter/,
    );
  });

  test("a separate MessagePort works with a worker", async () => {
    const { port1, port2 } = new MessageChannel();
    const code = `
      const { workerData: { port } } = require("node:worker_threads");
      import("reprise/remote").then(async ({ i32, remoteWriter }) => {
        const writer = await remoteWriter(port, { spec: { n: i32() } });
        for (let n = 0; n < 10; n++) await writer.append({ n });
        await writer.close();
        port.close();
      });`;
    const worker = new Worker(code, { eval: true, workerData: { port: port2 }, transferList: [port2] });
    const exit = once(worker, "exit");
    const accepted = await new Replay({ spec: { n: i32() } }).acceptWriter(port1);
    expect([await accepted.closed, accepted.steps]).toEqual([{ how: "left" }, 10]);
    await exit;
  });
});
