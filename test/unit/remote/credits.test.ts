/**
 * Tests limits of bytes in flight: a frame sent once counts as all rows that contain it, and no honest writer sends a frame that is too large. Time is
 * measured in turns of the event loop.
 */
import { describe, expect, test } from "vitest";
import { fifo, i32, Replay, shared, text, u8 } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { useTurnClock } from "../../support/turn-clock.ts";
import { frame, RawPeer, read } from "./raw-peer.ts";
import { MemoryServer } from "./server.ts";
import { memoryChannels } from "./support.ts";

useTurnClock();

const items = [{ table: "t", length: 1 }] as const;
const PIXELS = 64 * 64;
const spec = { frames: shared("pixels", u8(64, 64), 4), n: i32() };
const made = () => new Replay({ spec, tables: { t: { maxSize: 5000, sampler: fifo() } } });
const ROW_BYTES = 4 * PIXELS + 4;
const black = { frames: new Uint8Array(4 * PIXELS), n: 0 };

describe("shared frames", () => {
  const hello = {
    version: 1,
    session: "0123456789abcdefABCDEF",
    resume: false,
    reconnects: false,
    leaves: [
      { path: "frames", text: "u8 of shape [4, 64, 64]" },
      { path: "n", text: "i32 of shape []" },
    ],
    lanes: 1,
    receipt: 0,
  };

  test.each(["block", "columns"] as const)("a peer that repeats one frame in many rows of kind %s is closed with 4004", async (kind) => {
    const replay = made();
    const [here, there] = memoryChannels();
    const peer = new RawPeer(there);
    // Only the first block is accepted, so no further blocks are confirmed.
    const limits = { inFlightBytes: 1 << 20, stepsPerSecond: 1 };
    const accepting = replay.acceptWriter(here, { items, limits, maxInFlight: 1_000_000 });
    await peer.heard("invite");
    peer.send("hello", hello);
    const [accepted] = await Promise.all([accepting, peer.heard("welcome")]);
    const rows = 32;
    const references = new Uint32Array(4 * rows);
    let wireBytes = 0;
    const post = (number: number) => {
      const frames = [number === 1 ? 1 : 0];
      const fields =
        kind === "block" ? { number, slots: rows, calls: [], columns: [], frames } : { number, rows, ends: false, finals: 0, priorities: [0], frames };
      const parts = [references, new Int32Array(rows), ...(kind === "block" ? [new Uint8Array(rows)] : []), ...(number === 1 ? [new Uint8Array(PIXELS)] : [])];
      const bytes = frame(kind, fields, parts);
      wireBytes += bytes.length;
      peer.raw(bytes);
    };
    for (let number = 1; number <= 10; number++) post(number);
    await peer.closed;
    const { error } = await accepted.closed;
    expect([peer.code, (error as Error).message]).toEqual([4004, expect.stringMatching(/steps and \d+ bytes are unconfirmed/)]);
    const [, bytes] = /and (\d+) bytes/.exec((error as Error).message) as unknown as [string, string];
    // The session was closed because of the number of rows, although few bytes were sent.
    expect(Number(bytes)).toBe(Math.ceil((1 << 20) / (rows * ROW_BYTES)) * rows * ROW_BYTES);
    expect(wireBytes).toBeLessThan(1 << 15);
  });

  test("rows that fill frameBytes when expanded are accepted, and one row more is closed with 4003", async () => {
    const narrow = { frames: shared("pixels", u8(16, 16), 4) };
    const replay = new Replay({ spec: narrow, tables: { t: { maxSize: 5000, sampler: fifo() } } });
    const [here, there] = memoryChannels();
    const peer = new RawPeer(there);
    const accepting = replay.acceptWriter(here, { items, limits: { frameBytes: 1 << 17 } });
    await peer.heard("invite");
    peer.send("hello", { ...hello, leaves: [{ path: "frames", text: "u8 of shape [4, 16, 16]" }] });
    const [accepted] = await Promise.all([accepting, peer.heard("welcome")]);
    const post = (number: number, rows: number) => {
      const fields = { number, rows, ends: false, finals: 0, priorities: [0], frames: [1] };
      peer.send("columns", fields, [new Uint32Array(4 * rows).fill(number - 1), new Uint8Array(256)]);
    };
    post(1, 128);
    await peer.heard("confirmation");
    post(2, 129);
    await peer.closed;
    expect([peer.code, accepted.steps]).toEqual([4003, 128]);
  });

  test.each(["append", "appendColumns"] as const)("an honest writer counts the same bytes as the Replay, and waits: %s", async (call) => {
    const server = new MemoryServer(made(), { items, maxInFlight: 1_000_000, limits: { inFlightBytes: 1 << 18, frameBytes: 1 << 18, stepsPerSecond: 200 } });
    const writer = await remoteWriter(server.connect, { spec });
    for (let n = 0; n < 300; n += 10) {
      if (call === "append") for (let i = 0; i < 10; i++) await writer.append({ ...black, n: n + i });
      else await writer.appendColumns({ frames: new Uint8Array(40 * PIXELS), n: Array.from({ length: 10 }, (_, i) => n + i) });
      // Both ends continue counting after a reconnect.
      if (n === 100) server.break();
    }
    await writer.close();
    expect(await server.accepted[0]?.closed).toEqual({ how: "left" });
    expect(server.accepted[0]?.steps).toBe(300);
  });
});

describe("frames of an honest writer", () => {
  test.each(["append", "appendColumns"] as const)("never exceed frameBytes if many small shared frames are new: %s", async (call) => {
    // Each frame has 9 bytes, and a reference to it has 4 more.
    const small = { frames: shared("pixels", u8(3, 3), 16), n: i32() };
    const replay = new Replay({ spec: small, tables: { t: { maxSize: 50_000, sampler: fifo() } } });
    const [here, there] = memoryChannels();
    const frameBytes = 1 << 17;
    const lengths: number[] = [];
    there.onSend = (bytes) => {
      lengths.push(bytes.length);
      return bytes;
    };
    const [accepted, writer] = await Promise.all([replay.acceptWriter(here, { items, limits: { frameBytes } }), remoteWriter(there, { spec: small })]);
    const rows = 5000;
    const frames = new Uint8Array(rows * 144);
    const words = new DataView(frames.buffer);
    for (let at = 0; at + 9 <= frames.length; at += 9) words.setUint32(at, at);
    const n = Int32Array.from({ length: rows }, (_, i) => i);
    if (call === "appendColumns") await writer.appendColumns({ frames, n });
    else for (let i = 0; i < rows; i++) await writer.append({ frames: frames.subarray(144 * i, 144 * (i + 1)), n: i });
    await writer.close();
    expect(await accepted.closed).toEqual({ how: "left" });
    expect(accepted.steps).toBe(rows);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(frameBytes);
  });

  const wide = { n: i32(), name: text({ maxBytes: 40 }) };
  const columns = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`a_column_with_a_long_name_${i}`, { leaf: "n", at: -1 }])) as never;

  test("never exceed frameBytes if items have columns", async () => {
    const replay = new Replay({ spec: wide, tables: { t: { maxSize: 5000 } } });
    const [here, there] = memoryChannels();
    const frameBytes = 1 << 17;
    const lengths: number[] = [];
    there.onSend = (bytes) => {
      if (read(bytes).kind === "block") lengths.push(bytes.length);
      return bytes;
    };
    const [accepted, writer] = await Promise.all([replay.acceptWriter(here, { limits: { frameBytes } }), remoteWriter(there, { spec: wide })]);
    for (let n = 0; n < 200; n++) {
      await writer.append({ n, name: "" });
      await writer.createItem("t", { length: 1, columns });
    }
    await writer.close();
    expect(await accepted.closed).toEqual({ how: "left" });
    expect([replay.tables.t.size, lengths.length > 2]).toEqual([200, true]);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(frameBytes);
  });

  test("never exceed frameBytes: createItem throws UNSUPPORTED for too many columns, and changes nothing", async () => {
    const replay = new Replay({ spec: wide, tables: { t: { maxSize: 5000 } } });
    const [here, there] = memoryChannels();
    const [accepted, writer] = await Promise.all([replay.acceptWriter(here, { limits: { frameBytes: 1 << 17 } }), remoteWriter(there, { spec: wide })]);
    await writer.append({ n: 0, name: "" });
    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`a_column_with_a_long_name_${i}`, { leaf: "n", at: -1 }])) as never;
    expectError(
      errorOf(() => writer.createItem("t", { length: 1, columns: many })),
      "UNSUPPORTED",
      /^columns takes \d+ bytes as JSON, .* at most \d+/,
    );
    await writer.createItem("t", { length: 1, columns });
    await writer.close();
    expect(await accepted.closed).toEqual({ how: "left" });
    expect(replay.tables.t.size).toBe(1);
  });
});
