/**
 * Tests the terms of an acceptWriter call: it limits lanes and sessions, and a session continues under the terms of the call that accepts its new socket.
 */
import { describe, expect, test } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { fifo, i32, Replay } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { expectError } from "../../support/refused.ts";
import { useTurnClock } from "../../support/turn-clock.ts";
import { RawPeer } from "./raw-peer.ts";
import { MemoryServer } from "./server.ts";
import { memoryChannels, until } from "./support.ts";

useTurnClock();

const spec = { n: i32() };
const tables = { t: { maxSize: 1000, sampler: fifo() } };
const items = [{ table: "t", length: 1 }] as const;
const made = () => new Replay({ spec, tables });
const upTo = (n: number) => [...Array(n).keys()];
const hello = {
  version: 1,
  session: "0123456789abcdefABCDEF",
  resume: false,
  reconnects: true,
  leaves: [{ path: "n", text: "i32 of shape []" }],
  lanes: 1,
  receipt: 0,
};
const block = (number: number, slots: number) => ({ number, slots, calls: [], columns: [] });
const rows = (n: number) => [Int32Array.from({ length: n }, (_, i) => i), new Uint8Array(n)];

/** Sends a hello from a peer to a new call of acceptWriter. */
async function greet(replay: unknown, options: object, fields: object = {}) {
  const [here, there] = memoryChannels();
  const peer = new RawPeer(there);
  const accepting = (replay as ReturnType<typeof made>).acceptWriter(here, options);
  accepting.catch(() => {});
  await peer.heard("invite");
  peer.send("hello", { ...hello, ...fields });
  return { peer, accepting, there };
}

describe("limits", () => {
  test("an actor with more lanes than limits.lanes is rejected without using memory", async () => {
    const replay = made();
    const options = { autoreset: "sameStep" };
    const before = replay.stats().bytes.used;
    const { peer, accepting } = await greet(replay, options, { lanes: 1025 });
    expectError(await errorFrom(accepting), "UNSUPPORTED", /accepts at most 1024 lanes per actor, got 1025\. .* limits\.lanes of acceptWriter/);
    await peer.closed;
    expect([peer.code, peer.frames.at(-1)?.kind, replay.writers.length, replay.stats().bytes.used]).toEqual([4001, "refused", 0, before]);
    const next = await greet(replay, { ...options, limits: { lanes: 1025 } }, { lanes: 1025 });
    expect((await next.accepting).steps).toBe(0);
    for (const lanes of [0, 65_537, 1.5])
      expectError(await errorFrom(replay.acceptWriter(memoryChannels()[0], { limits: { lanes } })), lanes === 1.5 ? TypeError : RangeError, /^limits\.lanes/);
  });

  test("a session beyond limits.sessions is rejected until the place of an ended session is free", async () => {
    const replay = made();
    const options = { items, limits: { sessions: 2 }, sessionTtlMs: 5000 };
    const server = new MemoryServer(replay, options);
    const [one, two] = [await remoteWriter(server.connect, { spec }), await remoteWriter(server.connect, { spec })];
    const { peer, accepting } = await greet(replay, options);
    expectError(await errorFrom(accepting), "RATE_LIMITED", /2 sessions .*limits\.sessions/);
    await peer.closed;
    expect([peer.code, peer.frames.at(-1)?.kind, replay.writers.length]).toEqual([4001, "refused", 2]);
    server.break();
    await until(() => !two.connected);
    // The session's place is reserved while its actor is disconnected.
    expectError(await errorFrom((await greet(replay, options)).accepting), "RATE_LIMITED");
    await until(() => two.connected);
    for (const writer of [one, two]) {
      await writer.append({ n: 1 });
      await writer.close();
    }
    // The final message to an actor is stored for the same time, because the actor may request it again.
    expectError(await errorFrom((await greet(replay, options)).accepting), "RATE_LIMITED");
    for (const end = performance.now() + 6000; performance.now() < end; ) await until(() => performance.now() >= end, 1e9);
    expect((await (await greet(replay, options)).accepting).connected).toBe(true);
  });

  test("a session of an earlier run counts, and a returning or replacing actor is still accepted", async () => {
    let dir = memory();
    const open = { spec, tables, durability: "manual", logger: null } as const;
    const options = { items, confirm: "disk", limits: { sessions: 1 } } as const;
    const server = new MemoryServer(await Replay.open({ ...open, dir }), { ...options, name: "actor" });
    const writer = await remoteWriter(server.connect, { spec, reconnectTimeoutMs: 600_000 });
    await writer.append({ n: 0 });
    await writer.flush();
    server.die();
    dir = dir.crash();
    const replay = await Replay.open({ ...open, dir });
    expectError(await errorFrom((await greet(replay, options)).accepting), "RATE_LIMITED", /^1 sessions/);
    server.replay = replay as never;
    await writer.append({ n: 1 });
    await writer.flush();
    server.replay = undefined;
    server.break();
    await until(() => server.accepted.at(-1)?.connected === false);
    const other = await greet(replay, { ...options, name: "actor" });
    expect((await other.accepting).name).toBe("actor");
    expect(replay.tables.t.size).toBe(2);
  });
});

describe("a session that continues", () => {
  test("obeys the limits of the call that accepts its new socket", async () => {
    const replay = made();
    const first = await greet(replay, { items, maxInFlight: 1000, limits: { stepsPerSecond: 1 } });
    const accepted = await first.accepting;
    first.peer.send("block", block(1, 2), rows(2));
    first.there.close();
    await until(() => !accepted.connected);
    const { peer, accepting } = await greet(replay, { items, maxInFlight: 1000, limits: { stepsPerSecond: 1, inFlightBytes: 500 } }, { resume: true });
    expect(await accepting).toBe(accepted);
    expect((await peer.heard("welcome")).fields).toMatchObject({ inFlightBytes: 500, received: 1 });
    for (let number = 2; number < 20; number++) peer.send("block", block(number, 2), rows(2));
    await peer.closed;
    expect([peer.code, (await accepted.closed).how]).toEqual([4004, "failed"]);
  });

  test("does not obey the limits of earlier calls", async () => {
    const replay = made();
    const first = await greet(replay, { items, limits: { stepsPerSecond: 1, inFlightBytes: 500 } });
    const accepted = await first.accepting;
    first.there.close();
    await until(() => !accepted.connected);
    const { peer, accepting } = await greet(replay, { items }, { resume: true });
    await accepting;
    for (let number = 1; number < 20; number++) peer.send("block", block(number, 2), rows(2));
    peer.send("bye");
    await peer.closed;
    expect([peer.code, accepted.steps, await accepted.closed]).toEqual([1000, 38, { how: "left" }]);
  });

  const open = { spec, tables, durability: "manual", logger: null } as const;

  test.each(["in the same run", "in a later run"])('is not restored after a restart if its confirm: "disk" became "memory" %s', async (when) => {
    let dir = memory();
    const server = new MemoryServer(await Replay.open({ ...open, dir }), {});
    const disk = { items, confirm: "disk", name: "actor" };
    const writable = server as { options: object };
    writable.options = disk;
    const writer = await remoteWriter(server.connect, { spec, reconnectTimeoutMs: 600_000 });
    await writer.append({ n: 0 });
    await writer.flush();
    writable.options = { ...disk, confirm: "memory" };
    if (when === "in a later run") {
      server.die();
      dir = dir.crash();
      server.replay = (await Replay.open({ ...open, dir })) as never;
    } else server.break();
    await writer.append({ n: 1 });
    await writer.flush();
    // The step is on the disk, but the actor does not know; a lower count would make the actor send the step again.
    await (server.replay as unknown as { flush(): Promise<void> }).flush();
    server.die();
    dir = dir.crash();
    server.replay = (await Replay.open({ ...open, dir })) as never;
    writable.options = disk;
    expectError(await errorFrom(writer.flush()), "NOT_FOUND", /The Replay was restarted/);
    const { t } = (server.replay as unknown as ReturnType<typeof made>).tables;
    expect([...t.sample(t.size, { replacement: false }).steps.n.data]).toEqual([0, 1]);
  });

  test('is restored after a restart if confirm: "memory" became "disk" and it has a name', async () => {
    let dir = memory();
    const server = new MemoryServer(await Replay.open({ ...open, dir }), {});
    const writable = server as { options: object };
    writable.options = { items, name: "actor" };
    const writer = await remoteWriter(server.connect, { spec, reconnectTimeoutMs: 600_000 });
    await writer.append({ n: 0 });
    await writer.flush();
    writable.options = { items, name: "actor", confirm: "disk" };
    server.break();
    await writer.append({ n: 1 });
    await writer.flush();
    server.die();
    dir = dir.crash();
    server.replay = (await Replay.open({ ...open, dir })) as never;
    await writer.append({ n: 2 });
    await writer.close();
    const { t } = (server.replay as unknown as ReturnType<typeof made>).tables;
    expect([...t.sample(t.size, { replacement: false }).steps.n.data]).toEqual(upTo(3));

    writable.options = { items };
    const nameless = await remoteWriter(server.connect, { spec, reconnectTimeoutMs: 600_000 });
    writable.options = { items, confirm: "disk" };
    server.break();
    expectError(await errorFrom(nameless.flush()), "UNSUPPORTED", /has no name that identifies it after a restart/);
  });

  test("keeps the table names of its first welcome, even if the next call changes the rules", async () => {
    const server = new MemoryServer(made(), { items });
    const writer = await remoteWriter(server.connect, { spec });
    (server as { options: object }).options = { items: [], keep: 77, maxInFlight: 5 };
    server.break();
    for (let n = 0; n < 20; n++) await writer.append({ n });
    await writer.close();
    expect(await server.accepted[0]?.closed).toEqual({ how: "left" });
    expect([server.connections.length, (server.replay as unknown as ReturnType<typeof made>).tables.t.size]).toEqual([2, 20]);
  });
});

describe("a hello of another session on a channel with a session", () => {
  test("violates the protocol after the writer is accepted", async () => {
    const replay = made();
    const { peer, accepting } = await greet(replay, { items });
    const accepted = await accepting;
    peer.send("hello", hello);
    peer.send("block", block(1, 2), rows(2));
    await peer.heard("confirmation");
    peer.send("hello", { ...hello, session: "anotherSession01234567" });
    await peer.closed;
    const { how, error } = await accepted.closed;
    expect([peer.code, how, accepted.steps, replay.writers.length]).toEqual([4002, "failed", 2, 0]);
    expectError(error as Error, "CORRUPT", /a hello of another session/);
  });

  test("violates the protocol while the first session waits for the disk", async () => {
    const replay = await Replay.open({ spec, tables, dir: memory(), durability: "manual", logger: null });
    const { peer, accepting } = await greet(replay, { items, confirm: "disk", sessionTtlMs: 100 });
    peer.send("hello", { ...hello, session: "anotherSession01234567" });
    expectError(await errorFrom(accepting), "CORRUPT", /a hello of another session/);
    await peer.closed;
    expect(peer.code).toBe(4002);
    await until(() => replay.writers.length === 0);
  });
});
