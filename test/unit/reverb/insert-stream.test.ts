/** Tests items sent to a server that breaks connections: each item must arrive with its chunks, and every wait must end. */
import { expect, it } from "vitest";
import { Channel } from "../../../src/reverb/grpc/channel.ts";
import { InsertStream } from "../../../src/reverb/insert-stream.ts";
import { BytesWriter } from "../../../src/reverb/wire/bytes-writer.ts";
import type { InsertRequest } from "../../../src/reverb/wire/requests.ts";
import type { ChunkMessage } from "../../../src/reverb/wire/tensor.ts";
import { KINDS } from "../../conformance/wire/messages.ts";
import { GrpcServer, type ServerCall } from "../../support/grpc-server.ts";

const read = (KINDS.InsertStreamRequest as { readonly read: (bytes: Uint8Array) => unknown }).read as (bytes: Uint8Array) => InsertRequest;

function confirmation(keys: readonly bigint[]): Uint8Array {
  const writer = new BytesWriter();
  writer.packedInts(1, keys);
  return writer.take();
}

function chunk(key: bigint): ChunkMessage {
  return { key, episodeId: 1n, start: 0, end: 0, sparse: false, deltaEncoded: false, tensors: [], uncompressedSize: 4 };
}

function item(key: bigint, chunkKey: bigint) {
  return { key, table: "t", priority: 1, timesSampled: 0, columns: [{ slices: [{ chunkKey, offset: 0, length: 1, index: 0 }], squeeze: false }] };
}

it("unconfirmed items are sent again on the next connection, each with its chunk", async () => {
  const arrived = new Set<bigint>();
  const wrong: string[] = [];
  const known = new WeakMap<ServerCall, Set<bigint>>();
  let calls = 0;
  const server = await GrpcServer.start({
    begin: (call) => {
      calls++;
      known.set(call, new Set());
    },
    message: (call, bytes) => {
      const { chunks, items, keep } = read(bytes);
      const here = known.get(call) as Set<bigint>;
      for (const { key } of chunks) here.add(key);
      for (const { columns } of items) if (!here.has(columns[0]?.slices[0]?.chunkKey as bigint)) wrong.push("a chunk did not come");
      for (const key of keep) if (!here.has(key)) wrong.push("a chunk is kept that was never there");
      const half = calls < 4 ? items.slice(0, Math.ceil(items.length / 2)) : items;
      for (const { key } of half) arrived.add(key);
      if (half.length > 0) call.send(confirmation(half.map(({ key }) => key)));
      known.set(call, new Set(keep));
      if (calls < 4) setTimeout(() => call.stream.destroy(), 5);
    },
  });
  const channel = new Channel(server.address, "s", { maxMessageBytes: 1e9, connectTimeoutMs: 5000 });
  const stream = new InsertStream(channel, 1000, 10_000, () => [5n, 999n]);
  for (let i = 0n; i < 200n; i++) await stream.insert(item(1000n + i, i / 4n), [chunk(i / 4n)]);
  await stream.flush(0, {});
  expect({ wrong, arrived: arrived.size, calls }).toEqual({ wrong: [], arrived: 200, calls: 4 });
  stream.close(new Error("closed"));
  expect(() => stream.insert(item(1n, 1n), [chunk(1n)])).toThrow("closed");
  channel.close();
  await server.stop();
});

it("a server that never confirms causes back-pressure and timeouts, and its error ends all waits", async () => {
  let refuse = () => {};
  const server = await GrpcServer.start({
    begin: (call) => {
      refuse = () => call.end(13, "Worker is gone");
    },
  });
  const channel = new Channel(server.address, "s", { maxMessageBytes: 1e9, connectTimeoutMs: 5000 });
  const stream = new InsertStream(channel, 3, 10_000, () => []);
  expect(stream.insert(item(1n, 1n), [chunk(1n)])).toBeUndefined();
  expect(stream.insert(item(2n, 1n), [chunk(1n)])).toBeUndefined();
  const room = stream.insert(item(3n, 1n), [chunk(1n)]);
  expect(room).toBeInstanceOf(Promise);
  await expect(stream.flush(0, { timeoutMs: 50 })).rejects.toMatchObject({ code: "TIMEOUT" });
  const aborted = stream.flush(0, { signal: AbortSignal.timeout(20) });
  await expect(aborted).rejects.toMatchObject({ name: "TimeoutError" });
  refuse();
  await expect(room).rejects.toMatchObject({ code: "IO", message: expect.stringContaining("INTERNAL: Worker is gone") });
  expect(() => stream.check()).toThrow("Worker is gone");
  channel.close();
  await server.stop();
});
