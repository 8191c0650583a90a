/** Tests calls that wait for a long time: the client must keep checking that the server responds, but not so often that a gRPC server closes the connection. */
import { afterEach, expect, it } from "vitest";
import { i32 } from "../../../src/index.ts";
import { ReverbClient, type ReverbClientOptions } from "../../../src/reverb/index.ts";
import { Between } from "../../support/between.ts";
import { GrpcServer, type ServerCall } from "../../support/grpc-server.ts";
import { confirmation, ReverbTwin } from "../../support/reverb-twin.ts";
import { useTurnClock } from "../../support/turn-clock.ts";

useTurnClock();

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Creates a server with an empty table whose limiter blocks inserts, and a proxy that may become silent. */
async function waiting(options: ReverbClientOptions) {
  const twin = new ReverbTwin("t");
  twin.confirm = () => {};
  const calls: ServerCall[] = [];
  const seen = { pings: 0, isSilent: false };
  const sessions = new Set<unknown>();
  const begin = (call: ServerCall) => {
    calls.push(call);
    const { session } = call.stream;
    if (!sessions.has(session)) session?.on("ping", () => seen.pings++);
    sessions.add(session);
  };
  const server = await GrpcServer.start({ ...twin.handler, begin });
  const between = await Between.start(server.port, { back: (bytes) => (seen.isSilent ? Buffer.alloc(0) : bytes) });
  const client = new ReverbClient(between.address, {
    keepAliveMs: 40,
    keepAliveTimeoutMs: 1000,
    connectTimeoutMs: 100,
    reconnectTimeoutMs: 100,
    ...options,
    spec: { act: i32() },
  });
  open.push({ close: () => server.stop() }, { close: () => between.stop() }, client);
  const questions = () => calls.filter(({ method }) => method.endsWith("/ServerInfo")).length;
  return { twin, client, seen, between, questions };
}

const ended = (promise: Promise<unknown>) =>
  promise.then(
    () => "done",
    (error) => error,
  );

it.each(["insert", "sampler", "writer"] as const)("a server that stops while it blocks %s, after it answered pings, is detected", async (kind) => {
  const { client, seen, questions } = await waiting({});
  const call = {
    insert: () => client.insert({ act: 1 }, { t: 1 }),
    sampler: async () => await client.sampler("t").next(),
    writer: async () => {
      const writer = client.writer({ keep: 1, items: [{ table: "t", length: 1 }] });
      await writer.append({ act: 1 });
      await writer.flush();
    },
  };
  const end = ended(call[kind]());
  while (seen.pings === 0) await later(5);
  const first = questions();
  while (questions() < first + 3) await later(5);
  seen.isSilent = true;
  expect(await end).toMatchObject({ code: "IO" });
  expect(seen.pings).toBe(1);
});

it("a busy server is checked every keepAliveMs over one connection, and the call continues", async () => {
  const { twin, client, seen, between, questions } = await waiting({});
  let release = () => {};
  twin.confirm = (call, keys) => {
    release = () => call.send(confirmation(keys));
  };
  const end = ended(client.insert({ act: 1 }, { t: 1 }));
  while (questions() < 8) await later(5);
  release();
  expect(await end).toBe("done");
  expect([seen.pings, between.connections]).toEqual([1, 1]);
});

it("a ping checks again after the server has sent other data", async () => {
  const { twin, client, seen, questions } = await waiting({});
  let release = () => {};
  twin.confirm = (call, keys) => {
    release = () => call.send(confirmation(keys));
  };
  for (let k = 1; k <= 3; k++) {
    const end = ended(client.insert({ act: k }, { t: 1 }));
    const before = questions();
    while (questions() < before + 2) await later(5);
    release();
    expect(await end).toBe("done");
    expect(seen.pings).toBe(k);
  }
});

it("a rejected ServerInfo call also counts as an answer", async () => {
  let calls = 0;
  const twin = new ReverbTwin("t");
  let release = () => {};
  twin.confirm = (call, keys) => {
    release = () => call.send(confirmation(keys));
  };
  let isKnown = false;
  const server = await GrpcServer.start({
    message: (call, bytes) => {
      if (!isKnown || !call.method.endsWith("/ServerInfo")) twin.handler.message?.(call, bytes);
      else if (calls++ % 2 === 0) call.end(12, "no such method");
      else call.stream.close(7);
      isKnown = true;
    },
  });
  const client = new ReverbClient(server.address, { keepAliveMs: 20, keepAliveTimeoutMs: 1000, spec: { act: i32() } });
  open.push({ close: () => server.stop() }, client);
  const end = ended(client.insert({ act: 1 }, { t: 1 }));
  while (calls < 6) await later(5);
  release();
  expect(await end).toBe("done");
});
