/** Tests samples from a scripted server: requests and their timing, bounds, lost connections and ends. test/interop covers the real server. */
import { afterEach, describe, expect, it } from "vitest";
import { abortable, type WaitOptions } from "../../../src/base/wait.ts";
import { Channel } from "../../../src/reverb/grpc/channel.ts";
import { StreamSource } from "../../../src/reverb/stream-sampler.ts";
import type { DrawnItem } from "../../../src/tf-agents/sampling/sample.ts";
import { ItemSampler } from "../../../src/tf-agents/sampling/sampler.ts";
import type { SamplerOptions } from "../../../src/tf-agents/sampling/sampler-options.ts";
import { type Asked, response, SampleServer, type Stream, TIMED_OUT } from "../../support/sample-server.ts";
import { abortAfter, useTurnClock } from "../../support/turn-clock.ts";

useTurnClock();

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function serve(asked?: (stream: Stream, request: Asked) => void, port?: number): Promise<SampleServer> {
  const server = await SampleServer.start(asked, port);
  open.push({ close: () => server.grpc.stop() });
  return server;
}

interface Options extends SamplerOptions {
  readonly reconnectMs?: number;
  readonly signature?: (wait: WaitOptions) => Promise<undefined>;
}

function samplerOf(address: string, { reconnectMs = 10_000, signature = async () => undefined, ...options }: Options = {}): ItemSampler<"server"> {
  const channel = new Channel(address, "s", { maxMessageBytes: 1e9, connectTimeoutMs: 5000 });
  const sampler = new ItemSampler<"server">(new StreamSource(channel, "t", options, reconnectMs, signature));
  open.push({
    close: () => {
      sampler.close();
      channel.close();
    },
  });
  return sampler;
}

const numberOf = (item: DrawnItem | undefined) => item?.columns[0]?.column.data[0] as number;

async function some(sampler: ItemSampler<"server">, count: number): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) found.push(numberOf(await sampler.next()));
  return found;
}

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);
const settled = (ms = 30) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await settled(2);
}

describe("requests", () => {
  it("start with the first call, total maxSamples, and end the stream with the last sample", async () => {
    const server = await serve();
    const sampler = samplerOf(server.grpc.address, { maxSamples: 250 });
    await settled();
    expect(server.streams.length).toBe(0);
    expect(await some(sampler, 250)).toEqual(upTo(250));
    expect([await sampler.next(), await sampler.next()]).toEqual([undefined, undefined]);
    const [stream] = server.streams as [Stream];
    await until(() => stream.ended !== undefined);
    expect([stream.ended, stream.sent, stream.asked[0]]).toEqual(["finished", 250, { table: "t", samples: 100, timeout: -1 }]);
  });

  it("return an item with its data and metadata", async () => {
    const server = await serve();
    const item = await samplerOf(server.grpc.address).next();
    expect(item).toMatchObject({
      info: { key: 0n, probability: 0.5, tableSize: 7, priority: 1, timesSampled: 1 },
      columns: [{ dtype: "i32", isSqueezed: false, column: { shape: [1], data: Int32Array.of(0) } }],
    });
  });

  it.each([
    [-1, -1],
    [0, 1],
    [250, 250],
  ])("send rateLimiterTimeoutMs %i as %i, because the server never times out with 0", async (rateLimiterTimeoutMs, sent) => {
    const server = await serve();
    await samplerOf(server.grpc.address, { rateLimiterTimeoutMs }).next();
    expect(server.streams[0]?.asked[0]?.timeout).toBe(sent);
  });

  it.each([1, 2, 7, 100])("keep at most %i samples per worker in flight or waiting", async (most) => {
    let peak = 0;
    const given = { n: 0 };
    const server = await serve((stream) => {
      const outstanding = stream.due + server.sent - given.n;
      peak = Math.max(peak, outstanding);
      const part = Math.ceil(stream.due / 2);
      stream.send(part);
      if (stream.due > 0) setTimeout(() => stream.send(stream.due), 1);
    });
    const sampler = samplerOf(server.grpc.address, { maxInFlightSamplesPerWorker: most });
    for (let i = 0; i < 300; i++) {
      // Requests made during this wait arrive before the result.
      const item = await sampler.next();
      given.n++;
      expect(numberOf(item)).toBe(i);
      if (i % 50 === 0) await settled(5);
    }
    await settled();
    expect(server.sent).toBeLessThanOrEqual(300 + most);
    // One sample may be forwarded before the program has received it.
    expect(peak).toBeLessThanOrEqual(most + 1);
    expect(peak).toBeGreaterThanOrEqual(Math.min(most, 2) - 1);
  });

  it("stop if the reader stops", async () => {
    const server = await serve();
    const sampler = samplerOf(server.grpc.address, { maxInFlightSamplesPerWorker: 10, numWorkersPerIterator: 3 });
    await sampler.next();
    await settled(100);
    // New requests replace delivered samples only once half of the samples in flight are delivered.
    expect(server.sent).toBe(30);
    expect(server.streams.map(({ sent }) => sent)).toEqual([10, 10, 10]);
  });
});

describe("several streams", () => {
  it("run in parallel and return each item once, and a slow stream blocks no other", async () => {
    const server = await serve((stream) => {
      if (stream.number !== 1) stream.send(stream.due);
    });
    const sampler = samplerOf(server.grpc.address, { numWorkersPerIterator: 3, maxInFlightSamplesPerWorker: 4, maxSamples: 100 });
    // The second stream keeps the four samples that it has requested.
    const found = await some(sampler, 96);
    expect(new Set(found)).toEqual(new Set(upTo(96)));
    expect(server.streams.length).toBe(3);
    for (const { sent } of [server.streams[0], server.streams[2]] as Stream[]) expect(sent).toBeGreaterThan(20);
    const last = some(sampler, 4);
    (server.streams[1] as Stream).send(4);
    expect(await last).toEqual([96, 97, 98, 99]);
    expect(await sampler.next()).toBeUndefined();
  });

  it("are renewed in sequence after maxSamplesPerStream samples, without gaps", async () => {
    const server = await serve();
    const sampler = samplerOf(server.grpc.address, { maxSamplesPerStream: 25, maxInFlightSamplesPerWorker: 10, maxSamples: 90 });
    expect(await some(sampler, 90)).toEqual(upTo(90));
    expect(await sampler.next()).toBeUndefined();
    await until(() => server.streams.every(({ ended }) => ended !== undefined));
    expect(server.streams.map(({ sent, ended }) => [sent, ended])).toEqual([
      [25, "finished"],
      [25, "finished"],
      [25, "finished"],
      [15, "finished"],
    ]);
  });
});

describe("errors and ends", () => {
  const late = (stream: Stream) => stream.call.end(4, TIMED_OUT);

  it("a rate limiter timeout follows the received samples, and the next call waits again", async () => {
    let empty = true;
    const server = await serve((stream) => {
      if (stream.number === 0) stream.send(3);
      if (empty) setTimeout(() => late(stream), 5);
      else stream.send(stream.due);
    });
    const sampler = samplerOf(server.grpc.address, { rateLimiterTimeoutMs: 5, maxSamples: 10 });
    expect(await some(sampler, 3)).toEqual([0, 1, 2]);
    const told = { code: "TIMEOUT", message: expect.stringMatching(`table t .*${server.grpc.address} .*5 ms$`) };
    await expect(sampler.next()).rejects.toMatchObject(told);
    await expect(sampler.next()).rejects.toMatchObject(told);
    empty = false;
    expect(await some(sampler, 7)).toEqual([3, 4, 5, 6, 7, 8, 9]);
    expect(await sampler.next()).toBeUndefined();
  });

  it("TIMEOUT occurs only after all streams have timed out", async () => {
    const server = await serve((stream) => {
      if (stream.number === 0) late(stream);
    });
    const sampler = samplerOf(server.grpc.address, { rateLimiterTimeoutMs: 50, numWorkersPerIterator: 2, maxInFlightSamplesPerWorker: 2 });
    const first = sampler.next();
    await until(() => server.streams.length === 2 && (server.streams[1] as Stream).due === 2);
    await settled();
    (server.streams[1] as Stream).send(1);
    expect(numberOf(await first)).toBe(0);
    await until(() => server.streams.length === 3);
    const second = sampler.next();
    late(server.streams[1] as Stream);
    await settled();
    late(server.streams[2] as Stream);
    await expect(second).rejects.toMatchObject({ code: "TIMEOUT" });
  });

  it.each([
    [4, "Deadline Exceeded", "IO", "DEADLINE_EXCEEDED: Deadline Exceeded"],
    [5, "Priority table t was not found", "NOT_FOUND", "NOT_FOUND: Priority table t was not found"],
    [13, "Worker is gone", "IO", "INTERNAL: Worker is gone"],
  ])("status %i with another text (%s) rejects after the received samples, and the next call retries", async (status, text, code, says) => {
    let broken = true;
    const server = await serve((stream) => {
      stream.send(2);
      if (broken) stream.call.end(status, text);
    });
    const sampler = samplerOf(server.grpc.address, { rateLimiterTimeoutMs: 1000 });
    expect(await some(sampler, 2)).toEqual([0, 1]);
    await expect(sampler.next()).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`the Reverb server at ${server.grpc.address} ended SampleStream with ${says}`),
    });
    broken = false;
    expect(await some(sampler, 2)).toEqual([2, 3]);
  });

  it("close cancels the streams, and rejects waiting and later calls with CLOSED", async () => {
    const server = await serve(() => {});
    const sampler = samplerOf(server.grpc.address, { numWorkersPerIterator: 2 });
    const waits = sampler.next();
    await until(() => server.streams.length === 2);
    sampler.close();
    await expect(waits).rejects.toMatchObject({ code: "CLOSED" });
    await expect(sampler.next()).rejects.toMatchObject({ code: "CLOSED" });
    await until(() => server.streams.every(({ ended }) => ended === "cancelled"));
  });

  it("a signal ends only the wait, and the next call returns the late sample", async () => {
    const server = await serve(() => {});
    const sampler = samplerOf(server.grpc.address);
    const stop = new AbortController();
    const waits = sampler.next({ signal: stop.signal });
    await until(() => server.streams.length === 1);
    stop.abort(new Error("enough"));
    await expect(waits).rejects.toThrow("enough");
    await expect(sampler.next({ signal: stop.signal })).rejects.toThrow("enough");
    (server.streams[0] as Stream).send(1);
    expect(numberOf(await sampler.next())).toBe(0);
  });

  it("a signal or close ends the wait for the signature of the table", async () => {
    const server = await serve();
    const never = (wait: WaitOptions) => abortable(new Promise<undefined>(() => {}), "a table", wait);
    await expect(samplerOf(server.grpc.address, { signature: never }).next({ signal: abortAfter(10) })).rejects.toMatchObject({
      name: "TimeoutError",
    });
    const sampler = samplerOf(server.grpc.address, { signature: () => settled(10) as Promise<undefined> });
    const waits = sampler.next();
    sampler.close();
    await expect(waits).rejects.toMatchObject({ code: "CLOSED" });
    expect(server.streams.length).toBe(0);
  });

  it("an item that cannot be assembled rejects with CORRUPT, and later items arrive", async () => {
    const server = await serve((stream) => {
      stream.call.send(response([7], true));
      stream.send(1);
    });
    const sampler = samplerOf(server.grpc.address, { maxInFlightSamplesPerWorker: 4 });
    await expect(sampler.next()).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/^the Reverb server at 127.*an item cannot be assembled: chunk 1007/),
    });
    expect(numberOf(await sampler.next())).toBe(0);
  });

  it("more samples than requested cause IO, or are ignored after maxSamples", async () => {
    const server = await serve((stream) => stream.send(stream.due + 1));
    const sampler = samplerOf(server.grpc.address, { maxSamples: 3 });
    expect(await some(sampler, 3)).toEqual([0, 1, 2]);
    expect(await sampler.next()).toBeUndefined();
    const other = samplerOf(server.grpc.address, { maxInFlightSamplesPerWorker: 3 });
    await some(other, 3);
    await expect(other.next()).rejects.toMatchObject({ code: "IO", message: expect.stringContaining("it sends more samples") });
  });
});

describe("lost connections", () => {
  it("are replaced, and one stream requests only the missing samples", async () => {
    const server = await serve((stream) => {
      if (stream.number < 3) {
        stream.send(4);
        setTimeout(() => stream.call.stream.destroy(), 5);
      } else stream.send(stream.due);
    });
    const sampler = samplerOf(server.grpc.address, { maxSamples: 60, maxInFlightSamplesPerWorker: 10 });
    // Samples are delivered during the reconnect, which must not open another stream.
    expect(await some(sampler, 60)).toEqual(upTo(60));
    expect(server.streams.length).toBe(4);
    expect([server.sent, await sampler.next()]).toEqual([60, undefined]);
  });

  it("a server that ends every stream early is retried with pauses for reconnectTimeoutMs", async () => {
    const server = await serve((stream) => stream.call.end());
    const sampler = samplerOf(server.grpc.address, { reconnectMs: 400 });
    await expect(sampler.next()).rejects.toMatchObject({
      code: "IO",
      message: expect.stringMatching(/the Reverb server at 127\.0\.0\.1:\d+ ended SampleStream with UNAVAILABLE: it ended the stream with 100 samples to come/),
    });
    // The pauses are 50, 100 and 200 ms and the remaining time; a busy machine makes fewer attempts.
    expect(server.streams.length).toBeGreaterThan(1);
    expect(server.streams.length).toBeLessThan(8);
  });

  it("a lost server causes IO after reconnectTimeoutMs, and the sampler continues after its return", async () => {
    const server = await serve();
    const sampler = samplerOf(server.grpc.address, { reconnectMs: 200, maxInFlightSamplesPerWorker: 1 });
    expect(await some(sampler, 1)).toEqual([0]);
    await server.grpc.stop();
    open.shift();
    await expect(some(sampler, 3)).rejects.toMatchObject({ code: "IO", message: expect.stringContaining("server runs") });
    const again = await serve(undefined, server.grpc.port);
    expect(await some(sampler, 5)).toEqual(upTo(5));
    expect(again.streams.length).toBe(1);
  });

  it("a sampler that is closed during a reconnect sends no more requests", async () => {
    const server = await serve((stream) => stream.call.end(14, "going away"));
    const sampler = samplerOf(server.grpc.address);
    const waits = sampler.next();
    await until(() => server.streams.length === 1);
    sampler.close();
    await expect(waits).rejects.toMatchObject({ code: "CLOSED" });
    await settled(200);
    expect(server.streams.length).toBe(1);
  });
});
