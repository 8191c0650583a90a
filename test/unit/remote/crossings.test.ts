/** Tests messages in opposite directions that cross on a socket, such as steps and a new invitation, receipts and a hello, or weights and a break. */
import { expect, test } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { f32, fifo, i32, Replay } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { expectError } from "../../support/refused.ts";
import { useTurnClock } from "../../support/turn-clock.ts";
import { MemoryServer } from "./server.ts";
import { memoryChannels, turn, until } from "./support.ts";

useTurnClock();

const HELLO = 2;
const WELCOME = 3;
const spec = { n: i32(), x: f32(2) };
const tables = { t: { maxSize: 1000, sampler: fifo() } };
const items = [{ table: "t", length: 1 }] as const;
const stepAt = (n: number) => ({ n, x: [n, n / 2] });
const made = () => new Replay({ spec, tables, logger: null });
const upTo = (n: number) => [...Array(n).keys()];
const stepsOf = ({ tables: { t } }: ReturnType<typeof made>) => [...t.sample(t.size, { replacement: false }).steps.n.data];

test("steps that an actor writes while its session resumes are stored once and in order", async () => {
  const dir = memory();
  const open = { spec, tables, dir, durability: "manual", logger: null } as const;
  const options = { items, confirm: "disk", name: "actor", keepAliveMs: null } as const;
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
  let flushed: Promise<void> | undefined;
  const write = (from: number, to: number) => {
    for (let n = from; n < to; n++) writer.append(stepAt(n));
    flushed = writer.flush();
  };
  // The first steps reach a memory that is not ready yet, and the later steps a ready one.
  there.onSend = (bytes) => {
    if (bytes[0] === HELLO && flushed === undefined) queueMicrotask(() => write(20, 25));
    return bytes;
  };
  again.onSend = (bytes) => {
    if (bytes[0] === WELCOME) write(25, 30);
    return bytes;
  };
  const accepted = await replay.acceptWriter(again, options);
  await until(() => flushed !== undefined);
  await flushed;
  await writer.close();
  expect(await accepted.closed).toEqual({ how: "left" });
  expect(stepsOf(replay)).toEqual(upTo(30));
});

test("a receipt that is lost between a hello and its welcome is sent again", async () => {
  const server = new MemoryServer(made());
  const writer = await remoteWriter(server.connect, { spec });
  await until(() => server.accepted.length > 0);
  const [accepted] = server.accepted;
  const seen: unknown[] = [];
  let handled = () => {};
  writer.onmessage = ({ data }) => {
    seen.push(data.byteLength ?? data);
    if (data === "first")
      return new Promise<void>((resolve) => {
        handled = resolve;
      });
  };
  accepted?.send("first");
  accepted?.send(new Uint8Array(300_000));
  await until(() => seen.length === 1);
  // Messages of the memory are delayed, beginning with its welcome, until both messages of the learner are handled.
  server.onConnection = (here) => {
    const late: Uint8Array<ArrayBuffer>[] = [];
    here.onSend = (bytes) => {
      if (late.length === 0 && bytes[0] !== WELCOME) return bytes;
      late.push(bytes.slice());
      if (late.length > 1) return undefined;
      handled();
      until(() => seen.length === 2).then(() => {
        here.onSend = (frame) => frame;
        for (const frame of late) here.send(frame);
      });
      return undefined;
    };
  };
  server.break();
  await until(() => seen.length === 2);
  accepted?.send("later");
  await until(() => seen.length === 3);
  expect(seen).toEqual(["first", 300_000, "later"]);
  await writer.close();
});

test("published weights arrive once, even if the connection breaks before the first step", async () => {
  const replay = made();
  replay.publish({ version: 1 });
  const server = new MemoryServer(replay);
  const writer = await remoteWriter(server.connect, { spec });
  const seen: unknown[] = [];
  server.break();
  await until(() => server.connections.length === 2 && writer.connected);
  writer.onmessage = ({ data }) => seen.push(data.version);
  await until(() => seen.length > 0);
  await turn();
  replay.publish({ version: 2 });
  await until(() => seen.includes(2));
  expect(seen).toEqual([1, 2]);
  await writer.close();
});

test("remoteWriter rejects a socket that already has a remote writer", async () => {
  const [here, there] = memoryChannels();
  const [, writer] = await Promise.all([made().acceptWriter(here, { items }), remoteWriter(there, { spec })]);
  expectError(await errorFrom(remoteWriter(there, { spec })), "OUT_OF_TURN", /already has a remote writer/);
  await writer.close();
});

test("remoteWriter retries if the connect function throws a TypeError, as fetch does offline", async () => {
  const server = new MemoryServer(made(), { items });
  let tries = 0;
  const writer = await remoteWriter(
    async () => {
      if (++tries < 3) throw new TypeError("fetch failed");
      return server.connect();
    },
    { spec },
  );
  expect(tries).toBe(3);
  await writer.close();
});

test("an actor that never reads the answers is closed", async () => {
  const [here, there] = memoryChannels();
  const [accepted, writer] = await Promise.all([made().acceptWriter(here, { items, maxInFlight: 4 }), remoteWriter(there, { spec })]);
  (here as { bufferedAmount?: number }).bufferedAmount = 2 ** 24;
  for (let n = 0; n < 4; n++) writer.append(stepAt(n));
  expect(await accepted.closed).toMatchObject({ how: "failed", error: { code: "CORRUPT", message: expect.stringMatching(/without reading the answers/) } });
});

test("a message that is not valid JSON fails the writer with CORRUPT, without crashing the program", async () => {
  const [here, there] = memoryChannels();
  const [accepted, writer] = await Promise.all([made().acceptWriter(here, { items }), remoteWriter(there, { spec })]);
  writer.onmessage = () => {};
  here.onSend = (bytes) => {
    const other = bytes.slice();
    if (bytes.at(-1) === "}".charCodeAt(0)) other[bytes.length - 1] = 0x21;
    return other;
  };
  accepted.send({ pause: true });
  await until(() => !writer.connected);
  expectError(await errorFrom(Promise.resolve().then(() => writer.append(stepAt(0)))), "CORRUPT", /the other end sent a message/);
});
