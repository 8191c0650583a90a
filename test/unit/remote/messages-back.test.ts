/** Tests messages from the learner to its actors: each must arrive once and in order, and only the newest weights are sent. */
import { describe, expect, test } from "vitest";
import { i32, Replay } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { MemoryServer } from "./server.ts";
import { CHANNELS, memoryChannels, pairOver, turn, until } from "./support.ts";

const spec = { n: i32() };
const options = { spec, tables: { t: { maxSize: 100 } } };
const upTo = (n: number) => [...Array(n).keys()];

describe.each(CHANNELS)("messages to an actor over a %s", (channel) => {
  const pair = pairOver(channel);

  test("arrive in order, binary data as bytes and other values as JSON", async () => {
    const { accepted, writer } = await pair(options);
    const sent = [new Uint8Array([1, 2, 3]), { pause: true }, "level 2", 7, null, [1, [2]], Float32Array.of(0.5, 2), new ArrayBuffer(2)];
    for (const message of sent) expect(accepted.send(message)).toBe(undefined);
    const data: unknown[] = [];
    await turn();
    // The messages wait until a handler is set.
    expect(writer.onmessage).toBe(null);
    writer.onmessage = (event) => data.push(event.data);
    await until(() => data.length === sent.length);
    expect(data).toEqual([
      new Uint8Array([1, 2, 3]),
      { pause: true },
      "level 2",
      7,
      null,
      [1, [2]],
      new Uint8Array(Float32Array.of(0.5, 2).buffer),
      new Uint8Array(2),
    ]);
    expectError(
      errorOf(() => accepted.send(undefined as never)),
      TypeError,
      /a message is required/,
    );
    await writer.append({ n: 1 });
    await writer.close();
    expectError(
      errorOf(() => accepted.send("late")),
      "CLOSED",
    );
  });

  test("are copied, so the caller may change its buffer afterwards", async () => {
    const { accepted, writer } = await pair(options);
    const weights = Float32Array.of(1, 2);
    accepted.send(weights);
    accepted.publish(weights);
    weights.fill(9);
    const data: Uint8Array[] = [];
    writer.onmessage = (event) => data.push(event.data);
    await until(() => data.length === 2);
    for (const bytes of data) expect([...new Float32Array(bytes.slice().buffer)]).toEqual([1, 2]);
  });

  test("have back-pressure: above 1 MiB, send returns a promise, and throws if it is not awaited", async () => {
    const { accepted, writer } = await pair(options);
    const large = new Uint8Array(300_000);
    let room: Promise<void> | undefined;
    let count = 0;
    for (; room === undefined; count++) room = accepted.send(large);
    expect(count).toBe(4);
    expectError(
      errorOf(() => accepted.send("more")),
      "RATE_LIMITED",
      /Await the promise from send/,
    );
    let seen = 0;
    writer.onmessage = () => {
      seen++;
    };
    await room;
    accepted.send("more");
    await until(() => seen === 5);
  });

  test("skip old weights: slow actors and later actors receive only the newest", async () => {
    const { replay, accepted, writer, there } = await pair(options);
    const seen: number[] = [];
    let go = () => {};
    writer.onmessage = ({ data }) => {
      seen.push(data[0]);
      return new Promise<void>((resolve) => {
        go = resolve;
      });
    };
    const weights = (n: number) => new Uint8Array(300_000).fill(n);
    for (let n = 1; n <= 50; n++) {
      replay.publish(weights(n));
      if (n === 1) await until(() => seen.length === 1);
    }
    go();
    await until(() => seen.length === 2);
    go();
    await turn();
    expect(seen).toEqual([1, 50]);
    expect(there).toBeDefined();
    accepted.close();
    const [here, other] = memoryChannels();
    const [, next] = await Promise.all([replay.acceptWriter(here as never), remoteWriter(other, { spec })]);
    next.onmessage = ({ data }) => seen.push(data[0]);
    await until(() => seen.length === 3);
    expect(seen).toEqual([1, 50, 50]);
  });
});

test("messages arrive once and in order if the connection breaks", async () => {
  const replay = new Replay(options);
  const server = new MemoryServer(replay);
  const writer = await remoteWriter(server.connect, { spec });
  await until(() => server.accepted.length > 0);
  const [accepted] = server.accepted;
  const seen: number[] = [];
  writer.onmessage = async ({ data }) => {
    await turn(0);
    seen.push(data.n);
  };
  for (let n = 0; n < 60; n++) {
    await accepted?.send({ n, pad: "x".repeat(20_000) });
    if (n % 12 === 5) {
      await until(() => writer.connected);
      server.break();
      await until(() => !writer.connected);
    }
  }
  await until(() => seen.length === 60, 20_000);
  expect(seen).toEqual(upTo(60));
  expect(server.connections.length).toBeGreaterThan(4);
  await writer.close();
});

test("an error in onmessage becomes an uncaught exception, and the next message still arrives", async () => {
  const { accepted, writer } = await pairOver("channel")(options);
  const thrown: unknown[] = [];
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.once("uncaughtException", (error) => thrown.push(error.message));
  const seen: unknown[] = [];
  writer.onmessage = ({ data }) => {
    seen.push(data);
    if (data === 1) throw new Error("wrong weights");
  };
  accepted.send(1);
  accepted.send(2);
  await until(() => seen.length === 2 && thrown.length === 1);
  for (const listener of listeners) process.on("uncaughtException", listener);
  expect([seen, thrown]).toEqual([[1, 2], ["wrong weights"]]);
});
