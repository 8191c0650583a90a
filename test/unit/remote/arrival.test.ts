/** Tests the first moment of acceptWriter: messages that arrive while its code loads are handled, and a failed call leaves no actor waiting. */
import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { i32, Replay } from "../../../src/index.ts";
import { remoteWriter, ServerChannel } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { expectError } from "../../support/refused.ts";
import { frame, RawPeer } from "./raw-peer.ts";
import { endsOf, memoryChannels } from "./support.ts";

const spec = { n: i32() };
const made = () => new Replay({ spec, tables: { t: { maxSize: 100 } } });
const leaves = [{ path: "n", text: "i32 of shape []" }];
const hello = { version: 1, session: "0123456789abcdefABCDEF", resume: false, reconnects: false, leaves, lanes: 1, receipt: 0 };

describe("messages to a socket right after acceptWriter", () => {
  test("a hello is answered without an invitation", async () => {
    const [here, there] = memoryChannels();
    const accepting = made().acceptWriter(here);
    const peer = new RawPeer(there);
    peer.send("hello", hello);
    await accepting;
    await peer.heard("welcome");
    expect(peer.frames.map(({ kind }) => kind)).toEqual(["welcome"]);
  });

  test("a hello is answered over a ServerChannel", async () => {
    const sent: Uint8Array[] = [];
    const channel = new ServerChannel({ send: (bytes: Uint8Array) => sent.push(bytes), close: () => {} });
    const accepting = made().acceptWriter(channel);
    channel.message(frame("hello", hello));
    const accepted = await accepting;
    expect([sent.length, accepted.connected]).toEqual([1, true]);
    channel.end(1001);
    expect((await accepted.closed).how).toBe("gone");
  });

  test("a close rejects the call with its code and reason", async () => {
    const channel = new ServerChannel({ send: () => {}, close: () => {} });
    const accepting = errorFrom(made().acceptWriter(channel));
    channel.end(4321, "enough");
    expectError(await accepting, "CLOSED", /socket was closed with code 4321, "enough"/);
  });

  test("an error of a ws socket does not end the process", async () => {
    const [here] = (await endsOf("ws")) as unknown as [EventEmitter & { terminate(): void }];
    const accepting = errorFrom(made().acceptWriter(here as never));
    expect(() => here.emit("error", new Error("a frame that is none"))).not.toThrow();
    here.terminate();
    expectError(await accepting, "CLOSED");
  });

  test("at most 1 MiB of messages waits", async () => {
    const channel = new ServerChannel({ send: () => {}, close: () => {} });
    const accepting = errorFrom(made().acceptWriter(channel));
    channel.message(frame("ping", { padding: "x".repeat((1 << 20) - 50) }));
    channel.message(frame("hello", hello));
    channel.end();
    expectError(await accepting, "CLOSED", /socket was closed/);
  });

  test("disposing of the Replay rejects the call, and closes the actor's socket", async () => {
    const replay = made();
    const [here, there] = memoryChannels();
    const accepting = errorFrom(replay.acceptWriter(here));
    replay.dispose();
    expectError(await accepting, "CLOSED");
    await Promise.resolve();
    expect(there.code).toBe(1000);
  });
});

test("a call with wrong options leaves the socket usable for the next call", async () => {
  const replay = made();
  const [here, there] = memoryChannels();
  for (const options of [{ limits: { frameBytes: 9 } }, { maxInFlight: 0 }, { items: [{ table: "x", length: 1 }] }, { wrong: 1 }])
    expect(await errorFrom(replay.acceptWriter(here, options as never))).toBeInstanceOf(Error);
  expect(there.code).toBeUndefined();
  const [accepted, writer] = await Promise.all([replay.acceptWriter(here), remoteWriter(there, { spec })]);
  expectError(await errorFrom(replay.acceptWriter(here)), "OUT_OF_TURN", /already has a writer/);
  await writer.append({ n: 1 });
  await writer.close();
  expect([accepted.steps, (await accepted.closed).how]).toEqual([1, "left"]);
});

describe("messages to a port right after acceptWriter", () => {
  const port = () => Object.assign(new EventEmitter(), { postMessage: () => {} });

  test("the end of its worker rejects the call", async () => {
    const worker = port();
    const accepting = errorFrom(made().acceptWriter(worker, { timeoutMs: 5000 }));
    worker.emit("exit", 1);
    expectError(await accepting, "CLOSED", /its worker has ended/);
    expect(["message", "close", "exit"].map((event) => worker.listenerCount(event))).toEqual([0, 0, 0]);
  });

  test("a hello is answered, and a call with wrong options leaves no listener on the port", async () => {
    const worker = port();
    expect(await errorFrom(made().acceptWriter(worker, { maxInFlight: 0 }))).toBeInstanceOf(RangeError);
    expect(["message", "close", "exit"].map((event) => worker.listenerCount(event))).toEqual([0, 0, 0]);
    const { port1, port2 } = new MessageChannel();
    const accepting = made().acceptWriter(worker);
    worker.emit("message", { reprise: "hello", ...hello, channel: port2 });
    const answer = await new Promise<{ readonly kind: string }>((resolve) => {
      port1.onmessage = ({ data }) => resolve(data);
    });
    expect(answer.kind).toBe("welcome");
    port1.postMessage({ kind: "ready" });
    (await accepting).close();
    port1.close();
  });
});
