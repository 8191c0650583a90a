/** Tests one sampler for several scripted servers: it must take turns, and continue after every kind of error. test/interop uses real servers. */
import { afterEach, expect, it } from "vitest";
import { Channel } from "../../../src/reverb/grpc/channel.ts";
import { Servers } from "../../../src/reverb/servers.ts";
import { ShardedSource } from "../../../src/reverb/sharded-sampler.ts";
import { StreamSource } from "../../../src/reverb/stream-sampler.ts";
import type { DrawnItem } from "../../../src/tf-agents/sampling/sample.ts";
import { ItemSampler } from "../../../src/tf-agents/sampling/sampler.ts";
import type { SamplerOptions } from "../../../src/tf-agents/sampling/sampler-options.ts";
import { type Asked, response, SampleServer, type Stream, TIMED_OUT } from "../../support/sample-server.ts";
import { useTurnClock } from "../../support/turn-clock.ts";

useTurnClock();

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function serve(asked: (stream: Stream, request: Asked) => void, port?: number): Promise<SampleServer> {
  const server = await SampleServer.start(asked, port);
  open.push({ close: () => server.grpc.stop() });
  return server;
}

function samplerOf(addresses: readonly string[], options: SamplerOptions = {}, reconnectMs = 200): ItemSampler<"server"> {
  const channels = addresses.map((address) => new Channel(address, "s", { maxMessageBytes: 1e9, connectTimeoutMs: 5000 }));
  const servers = new Servers(channels, { warn: () => {}, info: () => {} });
  const signature = async () => undefined;
  const make = (channel: Channel, own: SamplerOptions) => new ItemSampler<"server">(new StreamSource(channel, "t", own, 0, signature));
  const sampler = new ItemSampler<"server">(new ShardedSource(servers, "t", options, reconnectMs, signature, make));
  open.push({
    close: () => {
      sampler.close();
      servers.close();
    },
  });
  return sampler;
}

const numberOf = (item: DrawnItem | undefined) => item?.columns[0]?.column.data[0] as number;
const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns the result of one call: the sample's number, or an error code. */
const said = (sampler: ItemSampler<"server">) => sampler.next().then(numberOf, ({ code }) => code);

/** Starts a server that returns samples only while `has` is set. */
async function limited(): Promise<{ readonly server: SampleServer; has: boolean }> {
  const made = {
    has: false,
    server: await serve((stream, { timeout }) => {
      if (made.has) stream.send(stream.due);
      else if (timeout >= 0) setTimeout(() => stream.call.end(4, TIMED_OUT), timeout);
    }),
  };
  return made;
}

it.each([{}, { maxSamples: 10 }, { maxSamples: 1 }])("after a timeout, the next call retries with its full timeout: %j", async (options) => {
  const both = [await limited(), await limited()];
  const sampler = samplerOf(
    both.map(({ server }) => server.grpc.address),
    { ...options, rateLimiterTimeoutMs: 100 },
  );
  for (let k = 0; k < 2; k++) {
    const since = performance.now();
    expect(await said(sampler)).toBe("TIMEOUT");
    expect(performance.now() - since).toBeGreaterThan(45);
  }
  for (const one of both) one.has = true;
  expect(await said(sampler)).toBe(0);
});

it("nothing is requested between two calls, and a timeout in between is not reported", async () => {
  const both = [await limited(), await limited()];
  const sampler = samplerOf(
    both.map(({ server }) => server.grpc.address),
    { rateLimiterTimeoutMs: 30, maxInFlightSamplesPerWorker: 1 },
  );
  expect(await said(sampler)).toBe("TIMEOUT");
  await later(200);
  const streams = () => both.reduce((sum, { server }) => sum + server.streams.length, 0);
  const before = streams();
  await later(200);
  // Nothing is requested, because nobody is waiting.
  expect(streams()).toBe(before);
  for (const one of both) one.has = true;
  expect(typeof (await said(sampler))).toBe("number");
});

it("one timeout rejects all waiting calls", async () => {
  const both = [await limited(), await limited()];
  const sampler = samplerOf(
    both.map(({ server }) => server.grpc.address),
    { rateLimiterTimeoutMs: 50 },
  );
  expect(await Promise.all([said(sampler), said(sampler), said(sampler)])).toEqual(["TIMEOUT", "TIMEOUT", "TIMEOUT"]);
  for (const one of both) one.has = true;
  const found = await Promise.all([said(sampler), said(sampler), said(sampler)]);
  expect(found.every((one) => typeof one === "number")).toBe(true);
});

it("after IO because all servers were lost, the next call retries", async () => {
  const give = (stream: Stream) => stream.send(stream.due);
  const both = [await SampleServer.start(give), await SampleServer.start(give)];
  const ports = both.map(({ grpc }) => grpc.port);
  for (const { grpc } of both) await grpc.stop();
  const sampler = samplerOf(ports.map((port) => `127.0.0.1:${port}`));
  for (let k = 0; k < 2; k++) {
    const error = await sampler.next().catch((reason) => reason);
    expect(error.code).toBe("IO");
    for (const port of ports) expect(error.message).toContain(`127.0.0.1:${port}: connect ECONNREFUSED`);
  }
  await serve(give, ports[1]);
  expect(await said(sampler)).toBe(0);
});

it("a server that has returned is tried before the call fails with IO", async () => {
  const give = (stream: Stream) => stream.send(stream.due);
  let refuses = false;
  const a = await SampleServer.start(() => {});
  // This server returns nothing, so the other server must serve all requests.
  const b = await serve((stream) => void (refuses && stream.call.stream.session?.destroy()));
  const sampler = samplerOf([a.grpc.address, b.grpc.address], { maxInFlightSamplesPerWorker: 1 }, 100);
  const next = said(sampler);
  while (b.streams.length === 0 || a.streams.length === 0) await later(2);
  await a.grpc.stop();
  // The retries have ended; the next attempt is five seconds away.
  await later(500);
  await serve(give, a.grpc.port);
  refuses = true;
  for (const { call } of b.streams) call.stream.session?.destroy();
  expect(await next).toBe(0);
});

it("after CORRUPT or a server error, the other servers continue and the next calls retry", async () => {
  const good = await serve((stream) => stream.send(stream.due));
  let wrong = (stream: Stream) => stream.call.send(response([1], true));
  const bad = await serve((stream) => wrong(stream));
  const sampler = samplerOf([good.grpc.address, bad.grpc.address], { maxInFlightSamplesPerWorker: 4 });
  let given = 0;
  /** Calls the sampler until a result occurred `times` times. */
  const until = async (isIt: (one: unknown) => boolean, times: number) => {
    for (let count = 0; count < times; ) {
      const one = await said(sampler);
      if (typeof one === "number") given++;
      if (isIt(one)) count++;
      else await later(1);
    }
  };
  await until((one) => one === "CORRUPT", 3);
  await until((one) => typeof one === "number", 20);
  await later(100);
  // The limit includes samples in flight and samples that wait in the client.
  expect(good.sent).toBeLessThanOrEqual(given + 2 * 4);
  wrong = (stream) => stream.call.end(13, "not today");
  await until((one) => one === "IO", 2);
  wrong = (stream) => stream.send(stream.due);
  const before = bad.sent;
  await until(() => bad.sent > before + 10, 1);
});

it("the sampler returns exactly maxSamples items despite errors", async () => {
  const both = [await limited(), await limited()];
  const sampler = samplerOf(
    both.map(({ server }) => server.grpc.address),
    { maxSamples: 30, rateLimiterTimeoutMs: 30 },
  );
  expect(await said(sampler)).toBe("TIMEOUT");
  (both[0] as { has: boolean }).has = true;
  let count = 0;
  for (let item = await sampler.next(); item !== undefined; item = await sampler.next()) count++;
  expect(count).toBe(30);
  expect(await sampler.next()).toBeUndefined();
});

it("close rejects waiting and later calls with CLOSED", async () => {
  const both = [await limited(), await limited()];
  const sampler = samplerOf(both.map(({ server }) => server.grpc.address));
  const waits = said(sampler);
  await later(20);
  sampler.close();
  expect([await waits, await said(sampler)]).toEqual(["CLOSED", "CLOSED"]);
});
