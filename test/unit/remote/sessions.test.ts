/**
 * Tests sessions: a broken socket must not lose or duplicate steps, actors that return are recognized, and waits are limited. Time is measured in turns of the
 * event loop.
 */
import { describe, expect, test } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { f32, fifo, i32, prioritized, queueLimiter, Replay } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";
import { useTurnClock } from "../../support/turn-clock.ts";
import { MemoryServer } from "./server.ts";
import { memoryChannels, turn, until } from "./support.ts";

useTurnClock();

const spec = { n: i32(), x: f32(2) };
const tables = { t: { maxSize: 100_000, sampler: fifo() }, u: { maxSize: 1000, sampler: prioritized(1) } };
const items = [{ table: "t", length: 1 }] as const;
const stepAt = (n: number) => ({ n, x: [n, n / 2] });
const made = () => new Replay({ spec, tables });

/** Returns the steps of a Replay, in order. */
function stepsOf(replay: unknown): number[] {
  const { t } = (replay as ReturnType<typeof made>).tables;
  return t.size === 0 ? [] : [...t.sample(t.size, { replacement: false }).steps.n.data];
}

const upTo = (n: number) => [...Array(n).keys()];

describe("an actor whose socket breaks", () => {
  test.each([...Array(scaled(30, 1)).keys()])("continues, and each step arrives once and in order (seed %i)", async (seed) => {
    const random = new TestRandom(seed);
    const replay = made();
    const server = new MemoryServer(replay, { items, maxInFlight: 1 + random.below(60) });
    server.onConnection = (here, there) => {
      // The connection breaks after some messages, in either direction; messages in flight are lost.
      const [mine, other] = random.below(2) === 0 ? [here, there] : [there, here];
      let left = 3 + random.below(12);
      mine.onSend = (bytes) => {
        if (--left > 0) return bytes;
        mine.onSend = () => undefined;
        other.onSend = () => undefined;
        mine.close();
        return random.below(2) === 0 ? bytes : undefined;
      };
    };
    const writer = await remoteWriter(server.connect, { spec });
    const steps = scaled(400, 150);
    for (let n = 0; n < steps; n++) {
      if (random.below(20) === 0) {
        const count = Math.min(1 + random.below(30), steps - n);
        await writer.appendColumns({ n: upTo(count).map((i) => n + i), x: upTo(count).map((i) => [n + i, 0]) });
        n += count - 1;
      } else await writer.append(stepAt(n));
      if (random.below(9) === 0) await writer.createItem("u", { length: 1, priority: n + 1 });
      if (random.below(30) === 0) await writer.endEpisode();
      if (random.below(40) === 0) await writer.flush();
      if (random.below(25) === 0) await turn(0);
    }
    await writer.close();
    expect(stepsOf(replay)).toEqual(upTo(steps));
    expect(server.connections.length).toBeGreaterThan(2);
    // There is only one writer, whichever connection carried its steps.
    expect(new Set(server.accepted).size).toBe(1);
    expect(await server.accepted[0]?.closed).toEqual({ how: "left" });
    expect([server.accepted[0]?.steps, replay.writers.length]).toEqual([steps, 0]);
  });

  test("sends pending flush calls again, and none of them counts twice", async () => {
    const replay = new Replay({ spec, tables: { t: { maxSize: 1, sampler: fifo(), rateLimiter: queueLimiter(1), maxTimesSampled: 1, maxPending: 5 } } });
    const server = new MemoryServer(replay, { items });
    const writer = await remoteWriter(server.connect, { spec });
    // The second item waits, and therefore every flush also waits.
    await writer.appendColumns({ n: [0, 1], x: [0, 0, 0, 0] });
    const flushes = Array.from({ length: 600 }, () => writer.flush());
    for (let breaks = 0; breaks < 3; breaks++) {
      const before = server.connections.length;
      await turn();
      server.break();
      await until(() => server.connections.length > before && writer.connected);
    }
    await turn();
    replay.table("t").sample(1);
    await Promise.all(flushes);
    replay.table("t").sample(1);
    await writer.close();
    expect(writer.inFlight).toBe(0);
    expect(await server.accepted[0]?.closed).toEqual({ how: "left" });
  });

  test("continues its open episode, with the same items as a local writer", async () => {
    const [replay, home] = [made(), made()];
    const rules = { items: [{ table: "t", nStep: 3 }] };
    const options = { spec: { observation: f32(), action: i32(), reward: f32() }, tables: { t: { maxSize: 1000, sampler: fifo() } } };
    const [a, b] = [new Replay(options), new Replay(options)];
    const server = new MemoryServer(a, rules);
    const writer = await remoteWriter(server.connect, { spec: options.spec });
    const own = b.writer(rules as never);
    for (let n = 0; n < 40; n++) {
      const step = { observation: n, action: n, reward: 1 };
      own.append(step);
      await writer.append(step);
      if (n % 7 === 3) server.break();
      if (n % 5 === 0) await turn(1);
      if (n % 13 !== 12) continue;
      const end = { final: { observation: -1 }, terminated: true } as const;
      own.endEpisode(end);
      await writer.endEpisode(end);
    }
    await writer.flush();
    expect(a.tables.t.size).toBe(b.tables.t.size);
    expect(a.tables.t.sample(30, { replacement: false }).steps).toEqual(b.tables.t.sample(30, { replacement: false }).steps);
    for (const one of [replay, home]) one.dispose();
    await writer.close();
  });

  test("waits without a connection for at most maxInFlight steps", async () => {
    const replay = made();
    const server = new MemoryServer(replay, { items, maxInFlight: 8 });
    const writer = await remoteWriter(server.connect, { spec });
    await writer.append(stepAt(0));
    await writer.flush();
    server.replay = undefined;
    server.break();
    await until(() => !writer.connected);
    let room: Promise<void> | undefined;
    for (let n = 1; room === undefined; n++) room = writer.append(stepAt(n));
    expect(writer.inFlight).toBe(8);
    expectError(
      errorOf(() => writer.append(stepAt(9))),
      "RATE_LIMITED",
    );
    server.replay = replay as never;
    await room;
    await writer.flush();
    expect([stepsOf(replay), writer.connected]).toEqual([upTo(9), true]);
    await writer.close();
  });

  test('fails its calls with whileOffline: "fail", and continues after it reconnects', async () => {
    const replay = made();
    const server = new MemoryServer(replay, { items, maxInFlight: 4 });
    const writer = await remoteWriter(server.connect, { spec, whileOffline: "fail" });
    for (let n = 0; n < 3; n++) await writer.append(stepAt(n));
    const room = writer.append(stepAt(3));
    server.replay = undefined;
    server.break();
    if (room !== undefined) await room.catch((error) => expectError(error, "IO", /no connection to the Replay/));
    await until(() => !writer.connected);
    for (const call of [() => writer.append(stepAt(9)), () => writer.endEpisode(), () => writer.createItem("t", { length: 1 })])
      expectError(errorOf(call), "IO", /whileOffline is "fail"/);
    expectError(await errorFrom(writer.flush()), "IO");
    server.replay = replay as never;
    await until(() => writer.connected);
    await writer.append(stepAt(4));
    await writer.close();
    expect(stepsOf(replay)).toEqual(upTo(5));
  });

  test("fails with CLOSED after reconnectTimeoutMs", async () => {
    const server = new MemoryServer(made(), { items });
    const writer = await remoteWriter(server.connect, { spec, reconnectTimeoutMs: 3000 });
    writer.append(stepAt(0));
    const flushed = errorFrom(writer.flush());
    server.replay = undefined;
    server.break();
    expectError(await flushed, "CLOSED", /no connection to the Replay for 3000 ms: nobody listens/);
    expectError(
      errorOf(() => writer.append(stepAt(1))),
      "CLOSED",
    );
    expectError(await errorFrom(remoteWriter(server.connect, { spec, reconnectTimeoutMs: 500 })), "CLOSED", /for 500 ms/);
    expectError(await errorFrom(remoteWriter(server.connect, { spec, timeoutMs: 300 })), "TIMEOUT");
  });

  test("is gone if it cannot reconnect", async () => {
    const replay = made();
    const [here, there] = memoryChannels();
    const [accepted, writer] = await Promise.all([replay.acceptWriter(here, { items }), remoteWriter(there, { spec })]);
    await writer.append(stepAt(0));
    await writer.flush();
    there.close();
    expect(await accepted.closed).toEqual({ how: "gone" });
    expectError(
      errorOf(() => writer.append(stepAt(1))),
      "CLOSED",
      /socket was closed/,
    );
  });

  test("is gone after sessionTtlMs, and its session is then unknown", async () => {
    const replay = made();
    const server = new MemoryServer(replay, { items, sessionTtlMs: 500 });
    const writer = await remoteWriter(server.connect, { spec, reconnectTimeoutMs: 20_000 });
    await writer.append(stepAt(0));
    await writer.flush();
    server.replay = undefined;
    server.break();
    await until(() => server.accepted[0]?.connected === false);
    expect(replay.writers.length).toBe(1);
    expect(await server.accepted[0]?.closed).toEqual({ how: "gone" });
    expect(replay.writers.length).toBe(0);
    server.replay = replay as never;
    expectError(await errorFrom(writer.flush()), "NOT_FOUND", /does not know the session of this writer/);
  });

  test("receives NOT_FOUND if a Replay without a journal was restarted", async () => {
    const server = new MemoryServer(made(), { items });
    const writer = await remoteWriter(server.connect, { spec });
    await writer.append(stepAt(0));
    server.die();
    server.replay = made() as never;
    expectError(await errorFrom(writer.flush()), "NOT_FOUND", /The Replay was restarted/);
  });

  test("resumes on the same socket if the accepting end was recreated, as an evicted Durable Object", async () => {
    const dir = memory();
    const open = { spec, tables, dir, durability: "manual", logger: null } as const;
    const options = { items, confirm: "disk", name: "actor" } as const;
    let replay = await Replay.open(open);
    const [here, there] = memoryChannels();
    const [, writer] = await Promise.all([replay.acceptWriter(here, options), remoteWriter(() => there, { spec })]);
    for (let n = 0; n < 20; n++) await writer.append(stepAt(n));
    await writer.flush();
    // The object disappears silently, but the runtime keeps its socket.
    replay.journal?.close();
    const [again] = memoryChannels();
    again.other = there;
    there.other = again;
    replay = await Replay.open({ ...open, dir });
    for (let n = 20; n < 30; n++) await writer.append(stepAt(n));
    const accepted = await replay.acceptWriter(again, options);
    for (let n = 30; n < 40; n++) await writer.append(stepAt(n));
    await writer.close();
    expect(await accepted.closed).toEqual({ how: "left" });
    expect(stepsOf(replay)).toEqual(upTo(40));
  });
});

describe("two actors with the same name", () => {
  const accept = { items, name: "actor" };

  test("the second actor is rejected while the first one is connected", async () => {
    const server = new MemoryServer(made(), accept);
    const writer = await remoteWriter(server.connect, { spec });
    await writer.append(stepAt(0));
    expectError(await errorFrom(remoteWriter(server.connect, { spec })), "OUT_OF_TURN", /got "actor"/);
    await writer.append(stepAt(1));
    await writer.close();
    expect(stepsOf(server.replay)).toEqual([0, 1]);
  });

  test("the second actor replaces a first one with a broken socket", async () => {
    const server = new MemoryServer(made(), accept);
    let isCut = false;
    const connect = () => {
      if (isCut) throw new Error("the cable is cut");
      return server.connect();
    };
    const writer = await remoteWriter(connect, { spec });
    await writer.append(stepAt(0));
    await writer.flush();
    isCut = true;
    server.break();
    await until(() => server.accepted[0]?.connected === false);
    const other = await remoteWriter(server.connect, { spec });
    expect(await server.accepted[0]?.closed).toEqual({ how: "gone" });
    await other.append(stepAt(1));
    await other.flush();
    // The first actor reconnects too late.
    isCut = false;
    expectError(await errorFrom(writer.flush()), "NOT_FOUND");
    await other.close();
  });

  test("a returning actor replaces its own dead socket", async () => {
    const server = new MemoryServer(made(), accept);
    const writer = await remoteWriter(server.connect, { spec });
    await writer.append(stepAt(0));
    await writer.flush();
    const [here, there] = server.connections[0] as (typeof server.connections)[number];
    // Only the actor's end notices that the connection broke.
    there.onSend = () => undefined;
    here.other = memoryChannels()[0];
    there.close();
    await writer.append(stepAt(1));
    await writer.flush();
    expect(server.accepted[0]).toBe(server.accepted[1]);
    expect(stepsOf(server.replay)).toEqual([0, 1]);
    await writer.close();
  });

  test("an actor with another name cannot resume a session", async () => {
    const replay = made();
    const [here, there] = memoryChannels();
    const sent: Uint8Array[] = [];
    there.onSend = (bytes) => {
      sent.push(bytes);
      return bytes;
    };
    await Promise.all([replay.acceptWriter(here, { items, name: "one" }), remoteWriter(() => there, { spec })]);
    // Another client, whom the server knows by another name, has intercepted the hello.
    const [mine, stolen] = memoryChannels();
    const refused = errorFrom(replay.acceptWriter(mine, { items, name: "two" }));
    stolen.receive({ message: () => {}, close: () => {} });
    await turn(1);
    stolen.send(sent[0] as Uint8Array<ArrayBuffer>);
    expectError(await refused, "NOT_FOUND");
  });
});

describe("silent connections", () => {
  const keepAlive = { keepAliveMs: 200, keepAliveTimeoutMs: 100 };

  test("pings keep a quiet connection open", async () => {
    const server = new MemoryServer(made(), { items, ...keepAlive });
    const writer = await remoteWriter(server.connect, { spec });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect([server.connections.length, writer.connected, server.accepted[0]?.connected]).toEqual([1, true, true]);
    await writer.close();
  });

  test("a half-open connection is detected at both ends and replaced", async () => {
    const replay = made();
    const server = new MemoryServer(replay, { items, ...keepAlive });
    const writer = await remoteWriter(server.connect, { spec });
    await writer.append(stepAt(0));
    const [here, there] = server.connections[0] as (typeof server.connections)[number];
    await writer.flush();
    here.onSend = () => undefined;
    there.onSend = () => undefined;
    for (let n = 1; n < 5; n++) await writer.append(stepAt(n));
    await writer.flush();
    expect([stepsOf(replay), server.connections.length]).toEqual([upTo(5), 2]);
    await writer.close();
  });

  test("a peer that sends no hello is closed", async () => {
    const replay = made();
    const [here, there] = memoryChannels();
    there.receive({ message: () => {}, close: () => {} });
    expectError(await errorFrom(replay.acceptWriter(here, { items, ...keepAlive })), "TIMEOUT", /the other end sent nothing for 300 ms/);
    expect(there.code).toBe(4006);
    const [mine, other] = memoryChannels();
    other.receive({ message: () => {}, close: () => {} });
    expectError(await errorFrom(replay.acceptWriter(mine, { timeoutMs: 50 })), "TIMEOUT", /no remoteWriter connected/);
  });
});

describe('confirm: "disk"', () => {
  const open = { spec, tables, logger: null } as const;

  test("requires a journal", async () => {
    expectError(await errorFrom(made().acceptWriter(memoryChannels()[0], { confirm: "disk" })), "UNSUPPORTED", /Replay.open/);
    expectError(await errorFrom(made().acceptWriter(memoryChannels()[0], { confirm: "tape" as never })), RangeError, /confirm/);
  });

  test.each([...Array(scaled(20, 1)).keys()])("neither loses nor duplicates steps if the accepting end crashes (seed %i)", async (seed) => {
    const random = new TestRandom(seed);
    // The process dies before one of its disk calls, possibly in the middle of a block, and some of the unsynced bytes remain.
    let operations = 1e9;
    let crashed: ReturnType<typeof memory> | undefined;
    const fault = () => {
      if (--operations === 0) {
        crashed = dir.crash(random.below(2) === 0 ? 0 : random.below(500));
        server.die();
      }
      return undefined;
    };
    let dir = memory({ fault });
    const durability = (["manual", "always", { everyMs: 20 }] as const)[random.below(3)] as "manual";
    const all = { spec, tables: { t: { maxSize: 100_000, sampler: fifo() }, u: { maxSize: 1000 } }, logger: null, durability };
    const limits = { maxInFlight: 1 + random.below(80), confirm: "disk", ...(random.below(2) === 0 && { name: "actor" }) };
    const server = new MemoryServer(await Replay.open({ ...all, dir }), { items, ...limits });
    operations = 1 + random.below(20);
    const steps = 300;
    let isOver = false;
    let crashes = 0;
    const restarting = (async () => {
      while (!isOver) {
        await until(() => crashed !== undefined || isOver, 1e9);
        if (crashed === undefined) return;
        crashes++;
        dir = memory({ fault, files: crashed.files() });
        crashed = undefined;
        server.replay = (await Replay.open({ ...all, dir })) as never;
        operations = crashes > 8 ? 1e9 : 10 + random.below(80);
      }
    })();
    const writer = await remoteWriter(server.connect, { spec, reconnectTimeoutMs: 600_000 });
    for (let n = 0; n < steps; n++) {
      if (random.below(15) === 0) {
        const count = Math.min(1 + random.below(20), steps - n);
        const truncated = upTo(count).map(() => random.below(4) === 0);
        await writer.appendColumns({ n: upTo(count).map((i) => n + i), x: upTo(count).map((i) => [n + i, 0]) }, { ends: truncated });
        n += count - 1;
      } else await writer.append(stepAt(n));
      if (writer.length > 0 && random.below(6) === 0) await writer.createItem("u", { length: 1 });
      if (random.below(12) === 0) await writer.endEpisode();
      if (random.below(6) === 0) await turn(1);
      if (random.below(60) === 0) await writer.flush();
    }
    await writer.close();
    isOver = true;
    await restarting;
    expect(crashes).toBeGreaterThan(0);
    // All confirmed steps are on the disk.
    const replay = await Replay.open({ ...all, dir: dir.crash() });
    expect(stepsOf(replay)).toEqual(upTo(steps));
    expect(replay.writers.length).toBe(0);
  });

  test("a goodbye whose answer was lost in a crash is answered again", async () => {
    let dir = memory();
    const server = new MemoryServer(await Replay.open({ ...open, dir, durability: "manual" }), { items, confirm: "disk" });
    const writer = await remoteWriter(server.connect, { spec, reconnectTimeoutMs: 600_000 });
    for (let n = 0; n < 5; n++) await writer.append(stepAt(n));
    await writer.flush();
    const [here] = server.connections[0] as (typeof server.connections)[number];
    // The goodbye arrives, but its answer is lost.
    here.onSend = () => undefined;
    here.close = () => {};
    const closing = writer.close();
    await server.accepted[0]?.closed;
    server.die();
    dir = dir.crash();
    const replay = await Replay.open({ ...open, dir, durability: "manual" });
    server.replay = replay as never;
    await closing;
    expect(stepsOf(replay)).toEqual(upTo(5));
    await until(() => server.errors.length > 0);
    expectError(server.errors[0] as Error, "CLOSED", /has already ended/);
  });

  test("sessions of an earlier run expire, and their writers are closed", async () => {
    let dir = memory();
    const server = new MemoryServer(await Replay.open({ ...open, dir, durability: "manual" }), { items, confirm: "disk", sessionTtlMs: 2000 });
    const writer = await remoteWriter(server.connect, { spec, reconnectTimeoutMs: 600_000 });
    await writer.append(stepAt(0));
    await writer.flush();
    server.die();
    dir = dir.crash();
    const replay = await Replay.open({ ...open, dir, durability: "manual" });
    expect(replay.writers.length).toBe(1);
    // The clock of sessions starts with the first call.
    const [here, there] = memoryChannels();
    const [, other] = await Promise.all([replay.acceptWriter(here, { items, confirm: "disk", sessionTtlMs: 2000 }), remoteWriter(there, { spec })]);
    await other.close();
    await until(() => replay.writers.length === 0);
    await replay.flush();
    expect((await Replay.open({ ...open, dir: dir.crash() })).writers.length).toBe(0);
    server.replay = replay as never;
    expectError(await errorFrom(writer.flush()), "NOT_FOUND");
  });
});
