/**
 * Tests calls and messages that wait for answers: the limit for a correct end, and the cost that a hostile end causes. Time is measured in turns of the event
 * loop.
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { type ByteChannel, fifo, i32, Replay } from "../../../src/index.ts";
import type { ChannelHandlers } from "../../../src/remote/channels/channel.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { expectError } from "../../support/refused.ts";
import { scaled, whole } from "../../support/size.ts";
import { useTurnClock } from "../../support/turn-clock.ts";
import { frame, RawPeer } from "./raw-peer.ts";
import { MemoryServer } from "./server.ts";
import { type MemoryChannel, memoryChannels, until } from "./support.ts";

useTurnClock();

const spec = { n: i32() };
const items = [{ table: "t", length: 1 }] as const;
const made = () => new Replay({ spec, tables: { t: { maxSize: 1000, sampler: fifo() } } });
const hello = {
  version: 1,
  session: "0123456789abcdefABCDEF",
  resume: false,
  reconnects: false,
  leaves: [{ path: "n", text: "i32 of shape []" }],
  lanes: 1,
  receipt: 0,
};

/** Runs a function; returns its result and the elapsed milliseconds. */
async function timed<T>(run: () => Promise<T>): Promise<[T, number]> {
  const begin = performance.now();
  const result = await run();
  return [result, performance.now() - begin];
}

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}

test.runIf(whole)("a waiting flush keeps only the number of its frame", async () => {
  const [here, there] = memoryChannels();
  const peer = new RawPeer(there);
  const accepting = made().acceptWriter(here, { items, limits: { stepsPerSecond: 1 } });
  await peer.heard("invite");
  peer.send("hello", hello);
  await Promise.all([accepting, peer.heard("welcome")]);
  // Later messages wait until this block is processed.
  peer.send("block", { number: 1, slots: 100, calls: [], columns: [] }, [new Int32Array(100), new Uint8Array(100)]);
  const more = Array(50_000).fill({});
  const before = heapBytes();
  for (let id = 0; id < 100; id++) {
    peer.raw(frame("flush", { id, more }));
    await Promise.resolve();
  }
  peer.send("ping");
  await peer.heard("pong");
  expect(heapBytes() - before).toBeLessThan(20 << 20);
});

test("a writer may flush hundreds of times while its items wait", async () => {
  const tables = { t: { maxSize: 1000, sampler: fifo(), rateLimiter: { samplesPerInsert: 1, minSize: 1, minDiff: -1, maxDiff: 1 } } } as never;
  const replay = new Replay({ spec, tables }) as ReturnType<typeof made>;
  const server = new MemoryServer(replay, { items });
  const writer = await remoteWriter(server.connect, { spec });
  for (let n = 0; n < 5; n++) await writer.append({ n });
  for (let n = 0; n < scaled(1500, 400); n++) expectError(await errorFrom(writer.flush({ timeoutMs: 1 })), "TIMEOUT");
  expect(server.accepted[0]?.connected).toBe(true);
  const flushed = writer.flush();
  let isFlushed = false;
  flushed.then(() => {
    isFlushed = true;
  });
  while (!isFlushed) {
    if (replay.tables.t.size > 0) replay.tables.t.sample(1);
    await new Promise(setImmediate);
  }
  await writer.close();
  expect(await server.accepted[0]?.closed).toEqual({ how: "left" });
});

/** One end of a channel that delivers messages synchronously. */
class DirectChannel implements ByteChannel {
  other!: DirectChannel;
  #handlers: ChannelHandlers | undefined;

  receive(handlers: ChannelHandlers): void {
    this.#handlers = handlers;
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    this.other.#handlers?.message(bytes);
  }

  close(code: number, reason: string): void {
    this.other.#handlers?.close(code, reason);
  }
}

test("a channel may deliver the answer while a frame is being sent", async () => {
  const [here, there] = [new DirectChannel(), new DirectChannel()];
  [here.other, there.other] = [there, here];
  const accepting = made().acceptWriter(here, { items, maxInFlight: 8, limits: { inFlightBytes: 1 << 12 } });
  const [accepted, writer] = await Promise.all([accepting, remoteWriter(there, { spec })]);
  for (let n = 0; n < 1000; n++) await writer.append({ n });
  for (let n = 0; n < 100; n++) await writer.appendColumns({ n: Array(20).fill(n) });
  expect(writer.inFlight).toBe(0);
  await writer.flush();
  await writer.close();
  expect([accepted.steps, await accepted.closed]).toEqual([3000, { how: "left" }]);
});

test.runIf(whole)("many small messages from the program do not disconnect a writer", async () => {
  const [here, there] = memoryChannels();
  const [accepted, writer] = await Promise.all([made().acceptWriter(here, { items }), remoteWriter(there, { spec })]);
  // At first, the socket buffers all messages.
  let buffered = 0;
  here.onSend = (bytes) => {
    buffered += bytes.length;
    return bytes;
  };
  Object.defineProperty(here, "bufferedAmount", { get: () => buffered });
  let count = 0;
  while (count < 100_000 && accepted.send(new Uint8Array(0)) === undefined) count++;
  expect(count).toBeLessThan(100_000);
  expect(buffered).toBeLessThan(1 << 20);
  await writer.append({ n: 1 });
  await writer.flush();
  const seen: unknown[] = [];
  buffered = 0;
  writer.onmessage = ({ data }) => seen.push(data);
  await until(() => seen.length === count + 1, 20_000);
  await writer.close();
  expect(await accepted.closed).toEqual({ how: "left" });
});

test("a writer gives up after reconnectTimeoutMs if the Replay no longer welcomes it", async () => {
  const server = new MemoryServer(made(), { items });
  const writer = await remoteWriter(server.connect, { spec, reconnectTimeoutMs: 3000 });
  await writer.append({ n: 0 });
  const [here] = server.connections[0] as [MemoryChannel, MemoryChannel];
  const [pong, invite] = [frame("pong"), frame("invite", { versions: [1] })];
  here.onSend = (bytes) => (bytes === invite ? bytes : pong);
  here.send(invite);
  const [error, ms] = await timed(() => errorFrom(writer.flush()));
  expectError(error, "CLOSED", /no connection to the Replay for 3000 ms/);
  expect(ms).toBeLessThan(3500);
});

test("an actor that reconnects while its steps wait continues, even if sessions are not kept", async () => {
  const server = new MemoryServer(made(), { items, sessionTtlMs: 0, limits: { stepsPerSecond: 50 } });
  const writer = await remoteWriter(server.connect, { spec });
  await writer.appendColumns({ n: Array(100).fill(0) });
  await writer.flush();
  await writer.appendColumns({ n: Array(100).fill(1) });
  await until(() => server.accepted[0]?.steps === 100);
  server.break();
  await until(() => server.accepted.length === 2);
  // No messages are waiting any more.
  await until(() => server.accepted[0]?.steps === 200);
  for (let n = 0; n < 10; n++) await writer.append({ n });
  await writer.flush();
  expect(server.accepted.map(({ steps }) => steps)).toEqual([210, 210]);
  await writer.close();
  expect(await server.accepted[0]?.closed).toEqual({ how: "left" });
});

test("a Replay that closes a writer without a reason makes flush reject with CLOSED", async () => {
  const server = new MemoryServer(made(), { items });
  const writer = await remoteWriter(server.connect, { spec });
  const [here] = server.connections[0] as [MemoryChannel, MemoryChannel];
  here.onSend = () => frame("closed");
  writer.append({ n: 0 });
  expectError(await errorFrom(writer.flush()), "CLOSED", /has closed the writer/);
});
