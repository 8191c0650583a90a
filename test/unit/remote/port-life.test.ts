/** Tests the life of a port's two ends: either end arrives first, the ends do not match, they leave, or one of them dies. */
import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { f32, fifo, i32, queueLimiter, Replay } from "../../../src/index.ts";
import { RemoteWriter, remoteWriter } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { CHANNELS, ends, pair, pairOver, turn, until } from "./support.ts";

const spec = { x: i32(), y: f32(2) };
const tables = { t: { maxSize: 100 } };
const options = { spec, tables };
const stepAt = (x: number) => ({ x, y: [x, x] });

describe("a handshake", () => {
  test.each(["actor", "memory"])("succeeds if the %s starts first", async (first) => {
    const replay = new Replay(options);
    const [here, there] = ends();
    const come = { actor: () => remoteWriter(there, { spec }), memory: () => replay.acceptWriter(here) };
    const one = come[first as "actor"]();
    await turn();
    const other = come[first === "actor" ? "memory" : "actor"]();
    const all = await Promise.all([one, other]);
    expect(all.some((each) => each instanceof RemoteWriter)).toBe(true);
    expect(replay.writers.length).toBe(1);
  });

  test("is retried if nobody listened yet, as with a Worker", async () => {
    // Messages that are posted before the listener exists are lost.
    const [a, b] = [new EventEmitter(), new EventEmitter()] as const;
    const end = (own: EventEmitter, other: EventEmitter) =>
      Object.assign(own, {
        postMessage(message: unknown, transfer: readonly object[] = []) {
          const copy = transfer.length > 0 ? { ...(message as object), channel: transfer[0] } : message;
          queueMicrotask(() => other.emit("message", copy));
        },
      });
    const [here, there] = [end(a, b), end(b, a)];
    const coming = remoteWriter(there, { spec });
    await turn();
    const accepted = await new Replay(options).acceptWriter(here);
    const writer = await coming;
    await writer.append(stepAt(1));
    await writer.close();
    expect(accepted.steps).toBe(1);
    expect([here.listenerCount("message"), there.listenerCount("message"), here.listenerCount("close"), there.listenerCount("close")]).toEqual([0, 0, 0, 0]);
  });

  test.each([
    ["a dtype", { x: f32(), y: f32(2) }, "x is f32 of shape [] in the spec of remoteWriter, and i32 of shape [] in the spec of the Replay"],
    ["a shape", { x: i32(), y: f32(3) }, "y is f32 of shape [3] in the spec of remoteWriter, and f32 of shape [2] in the spec of the Replay"],
    ["a missing leaf", { x: i32() }, "y is missing in the spec of remoteWriter, and f32 of shape [2] in the spec of the Replay"],
    ["an additional leaf", { ...spec, z: { deep: i32() } }, "z.deep is i32 of shape [] in the spec of remoteWriter, and missing in the spec of the Replay"],
  ])("reports %s that differs, at both ends", async (_, other, says) => {
    const replay = new Replay(options);
    const [here, there] = ends();
    const both = [replay.acceptWriter(here), remoteWriter(there, { spec: other })].map(errorFrom);
    for (const error of await Promise.all(both)) {
      expectError(error, "SPEC_MISMATCH");
      expect(error.message).toBe(says);
    }
    // The port can be used again.
    await Promise.all([replay.acceptWriter(here), remoteWriter(there, { spec })]);
  });

  test("rejects another version of the protocol, and reports it to the sender", async () => {
    const [here, there] = ends();
    const { port1, port2 } = new MessageChannel();
    const heard = new Promise<MessageEvent>((resolve) => port1.addEventListener("message", resolve));
    port1.start();
    there.postMessage({ reprise: "hello", version: 99, id: "1", channel: port2 }, [port2]);
    const error = await errorFrom(new Replay(options).acceptWriter(here));
    expectError(error, "UNSUPPORTED", /remoteWriter uses version 99 of the protocol, .*acceptWriter uses 1/);
    expect((await heard).data).toMatchObject({ kind: "refused", error: { code: "UNSUPPORTED", message: error.message } });
    port1.close();
  });

  test("ends after a timeout or a signal, and leaves the port free", async () => {
    const replay = new Replay(options);
    const [here, there] = ends();
    expectError(await errorFrom(remoteWriter(there, { spec, timeoutMs: 5 })), "TIMEOUT", /no acceptWriter answered/);
    const controller = new AbortController();
    const coming = remoteWriter(there, { spec, signal: controller.signal });
    controller.abort(new Error("enough"));
    expect((await errorFrom(coming)).message).toBe("enough");
    expectError(await errorFrom(replay.acceptWriter(ends()[0], { timeoutMs: 5 })), "TIMEOUT", /no remoteWriter connected/);
    expect((await errorFrom(replay.acceptWriter(here, { signal: AbortSignal.abort(new Error("no")) }))).message).toBe("no");
    // Calls that ended are not mistaken for the new one.
    const accepting = replay.acceptWriter(here);
    await turn();
    expect(replay.writers.length).toBe(0);
    const writer = await remoteWriter(there, { spec });
    expect((await accepting).steps).toBe(0);
    await writer.close();
  });

  test("rejects values that are not ports, and invalid options", async () => {
    const replay = new Replay(options);
    const [here, there] = ends();
    expectError(await errorFrom(replay.acceptWriter({} as never)), TypeError, /port must/);
    expectError(await errorFrom(remoteWriter(null as never, { spec })), TypeError, /port/);
    expectError(await errorFrom(replay.acceptWriter(here, { items: [{ table: "no" as never, length: 1 }] })), "NOT_FOUND", /"no"/);
    expectError(await errorFrom(replay.acceptWriter(here, { lanes: 2 } as never)), TypeError, /lanes/);
    expectError(await errorFrom(replay.acceptWriter(here, { maxInFlight: 0 })), RangeError, /maxInFlight/);
    expectError(await errorFrom(remoteWriter(there, { spec, lanes: 0 })), RangeError, /lanes/);
    expectError(await errorFrom(remoteWriter(there, { spec, timeoutMs: -1 })), RangeError, /timeoutMs/);
    expectError(await errorFrom(remoteWriter(there, { spec, items: [] } as never)), TypeError, /items/);
  });

  test("is rejected at either end if the port already has a writer", async () => {
    const { replay, writer, accepted, here, there } = await pair(options);
    expectError(await errorFrom(replay.acceptWriter(here)), "OUT_OF_TURN", /this port already has a writer/);
    expectError(await errorFrom(remoteWriter(there, { spec })), "OUT_OF_TURN", /this port already has a writer/);
    // Another copy of the package cannot detect the existing writer, so the memory's end rejects the hello.
    const { port1, port2 } = new MessageChannel();
    const heard = new Promise<MessageEvent>((resolve) => port1.addEventListener("message", resolve));
    port1.start();
    there.postMessage({ reprise: "hello", version: 1, session: "1", leaves: [], lanes: 1, channel: port2 }, [port2]);
    expect((await heard).data).toMatchObject({ kind: "refused", error: { code: "OUT_OF_TURN" } });
    await writer.append(stepAt(1));
    await writer.close();
    expect([accepted.steps, (await accepted.closed).how]).toEqual([1, "left"]);
    const [again, other] = await Promise.all([replay.acceptWriter(here), remoteWriter(there, { spec })]);
    await other.append(stepAt(2));
    await other.close();
    expect(again.steps).toBe(1);
  });

  test("fails at both ends if both make the same call", async () => {
    const [a, b] = ends();
    for (const error of await Promise.all([remoteWriter(a, { spec }), remoteWriter(b, { spec })].map(errorFrom)))
      expectError(error, "OUT_OF_TURN", /both sides of the port call remoteWriter/);
    const replay = new Replay(options);
    for (const error of await Promise.all([replay.acceptWriter(a), replay.acceptWriter(b)].map(errorFrom)))
      expectError(error, "OUT_OF_TURN", /both sides of the port call acceptWriter/);
  });

  test("leaves other messages on the port to their listeners", async () => {
    const { writer, here, there } = await pair(options);
    const heard: unknown[] = [];
    there.addEventListener("message", ({ data }) => heard.push(data));
    there.start();
    here.postMessage({ weights: 1 });
    here.postMessage(null);
    await writer.append(stepAt(1));
    await until(() => heard.length === 2);
    expect(heard).toEqual([{ weights: 1 }, null]);
    await writer.close();
  });
});

test("acceptWriter ignores malformed hellos and other messages", async () => {
  const replay = new Replay(options);
  const [here, there] = ends();
  const accepting = replay.acceptWriter(here);
  const greetings = [{}, { version: 1, id: "1" }, { version: 1, id: "1", channel: {} }, { version: 9, id: "1", channel: 1 }];
  for (const message of [...greetings.map((rest) => ({ reprise: "hello", ...rest })), { reprise: 3 }, "hello", null, [1]]) there.postMessage(message);
  await turn();
  const writer = await remoteWriter(there, { spec });
  await writer.append(stepAt(1));
  await writer.close();
  expect((await accepting).steps).toBe(1);
});

describe.each(CHANNELS)("the end of a writer across a %s", (channel) => {
  const pair = pairOver(channel);

  test("close sends all steps to the Replay, and later calls throw CLOSED", async () => {
    const { writer, accepted, replay } = await pair(options, { items: [{ table: "t", length: 2 }] });
    for (let k = 0; k < 5; k++) writer.append(stepAt(k));
    const closing = writer.close();
    expectError(
      errorOf(() => writer.append(stepAt(9))),
      "CLOSED",
      /remoteWriter\(\)/,
    );
    expectError(await errorFrom(writer.flush()), "CLOSED");
    await closing;
    await writer.close();
    expectError(
      errorOf(() => writer.staged),
      "CLOSED",
    );
    expect([accepted.steps, replay.tables.t.size, replay.writers.length]).toEqual([5, 4, 0]);
  });

  test("using and await using close the writer", async () => {
    const one = await pair(options);
    {
      using writer = one.writer;
      await writer.append(stepAt(1));
    }
    expect((await one.accepted.closed).how).toBe("left");
    const two = await pair(options);
    {
      await using writer = two.writer;
      await writer.append(stepAt(1));
    }
    expect([one.accepted.steps, two.accepted.steps]).toEqual([1, 1]);
  });

  test("closing the actor's port truncates its episode, and the steps that it sent are stored", async () => {
    const { writer, accepted, replay, there } = await pair(options, { items: [{ table: "t", length: 2 }], maxInFlight: 4 });
    for (let k = 0; k < 4; k++) writer.append(stepAt(k));
    await turn(0);
    there.close();
    expect(await accepted.closed).toEqual({ how: "gone" });
    expect([accepted.steps, replay.tables.t.size, replay.writers.length]).toEqual([4, 3, 0]);
    await until(() => !writer.connected);
    expectError(
      errorOf(() => writer.append(stepAt(5))),
      "CLOSED",
      /(port|socket) was closed/,
    );
  });

  test("close at the accepting end rejects waiting and later calls of the actor", async () => {
    const limited = { spec, tables: { q: { maxSize: 2, sampler: fifo(), rateLimiter: queueLimiter(2), maxPending: 0 } } };
    const { writer, accepted, replay } = await pair(limited, { items: [{ table: "q", length: 1 }], maxInFlight: 4 });
    for (let k = 0; k < 5; k++) await writer.append(stepAt(k));
    const room = writer.append(stepAt(5)) as Promise<void>;
    const flushed = errorFrom(writer.flush());
    accepted.close();
    expect(await accepted.closed).toEqual({ how: "closed" });
    for (const error of [await errorFrom(room), await flushed, errorOf(() => writer.append(stepAt(4))), await errorFrom(writer.close())])
      expectError(error, "CLOSED", /has closed the writer/);
    expect([replay.tables.q.size, replay.writers.length]).toEqual([2, 0]);
  });

  test("dispose of the Replay rejects a waiting acceptWriter and frees the port", async () => {
    const replay = new Replay(options);
    const [here, there] = ends();
    const accepting = errorFrom(replay.acceptWriter(here));
    await turn();
    replay.dispose();
    expectError(await accepting, "CLOSED", /this Replay was disposed of/);
    // Another Replay can use the port.
    const [accepted, writer] = await Promise.all([new Replay(options).acceptWriter(here), remoteWriter(there, { spec })]);
    await writer.append(stepAt(1));
    await writer.close();
    expect(accepted.steps).toBe(1);
  });

  test("dispose of the Replay closes its actors", async () => {
    const { writer, accepted, replay } = await pair(options);
    await writer.append(stepAt(1));
    await writer.flush();
    replay.dispose();
    expect(await accepted.closed).toEqual({ how: "closed" });
    await until(() => errorOf(() => writer.endEpisode({ lane: 9 })) instanceof Error);
    await turn();
    expectError(
      errorOf(() => writer.append(stepAt(2))),
      "CLOSED",
    );
  });

  test("close waits for steps that a rate limiter blocks, but at most timeoutMs", async () => {
    const limited = { spec, tables: { q: { maxSize: 1, sampler: fifo(), rateLimiter: queueLimiter(1), maxTimesSampled: 1, maxPending: 0 } } };
    const { writer, accepted, replay } = await pair(limited, { items: [{ table: "q", length: 1 }] });
    for (let k = 0; k < 3; k++) writer.append(stepAt(k));
    expectError(await errorFrom(writer.close({ timeoutMs: 5 })), "TIMEOUT", /steps are still in flight/);
    const closing = writer.close();
    const seen: number[] = [];
    while (seen.length < 3) seen.push(...(await replay.tables.q.sampleWhenReady(1, { timeoutMs: 5000 })).steps.x.data);
    await closing;
    expect([seen, (await accepted.closed).how, accepted.steps]).toEqual([[0, 1, 2], "left", 3]);
  });
});
