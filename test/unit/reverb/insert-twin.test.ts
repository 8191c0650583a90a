/**
 * Compares insert streams with a naive server under random operations. Connections break randomly: before a request is received, after it, or after its
 * confirmation.
 */
import { expect, it } from "vitest";
import { Channel } from "../../../src/reverb/grpc/channel.ts";
import { InsertStream } from "../../../src/reverb/insert-stream.ts";
import type { ChunkMessage } from "../../../src/reverb/wire/tensor.ts";
import { GrpcServer, type ServerCall } from "../../support/grpc-server.ts";
import { TestRandom } from "../../support/random.ts";
import { confirmation, ReverbTwin } from "../../support/reverb-twin.ts";
import { scaled } from "../../support/size.ts";

const TABLES = ["a", "b"];

function chunk(key: bigint, size: number): ChunkMessage {
  const tensors = [{ dtype: 4, shape: [1, size], content: new Uint8Array(size) }];
  return { key, episodeId: 1n, start: 0, end: 0, sparse: false, deltaEncoded: false, tensors, uncompressedSize: size };
}

const SEEDS = scaled(12, 2);
let breaks = 0;

it.each(Array.from({ length: SEEDS }, (_, seed) => [seed]))("each item is stored exactly once with its chunks, seed %i", async (seed) => {
  const random = new TestRandom(seed);
  const twin = new ReverbTwin(...TABLES);
  let isLast = false;
  const cut = (call: ServerCall) => {
    breaks++;
    if (random.below(2) === 0) call.stream.destroy();
    else call.stream.session?.destroy();
  };
  /** Keys of items whose confirmation is delayed, as by a rate limiter. */
  let waiting: [ServerCall, bigint][] = [];
  const confirmed = new Set<bigint>();
  const confirmSome = (all = false) => {
    const now = waiting.filter(([call]) => !call.stream.destroyed && (all || random.below(3) > 0));
    waiting = waiting.filter((one) => !now.includes(one) && !one[0].stream.destroyed);
    for (const call of new Set(now.map(([one]) => one))) {
      // Confirmations arrive out of order; some arrive twice, and some are for unknown keys.
      const keys = now.filter(([one]) => one === call).map(([, key]) => key);
      if (random.below(4) === 0) keys.push(...keys.slice(0, 1), 12345n);
      keys.sort(() => random.below(3) - 1);
      call.send(confirmation(keys));
    }
  };
  twin.confirm = (call, keys) => {
    for (const key of keys) waiting.push([call, key]);
    if (isLast) confirmSome(true);
    else if (random.below(2) === 0) confirmSome();
  };
  const server = await GrpcServer.start({
    ...twin.handler,
    message: (call, bytes) => {
      if (call.stream.destroyed) return;
      const fate = isLast ? 9 : random.below(10);
      if (fate === 0) cut(call);
      else {
        twin.handler.message?.(call, bytes);
        if (fate === 1) cut(call);
        if (fate === 2) call.end(random.pick([0, 1, 14]));
      }
    },
  });
  const channel = new Channel(server.address, "deepmind.reverb.ReverbService", { maxMessageBytes: 2 ** 20, connectTimeoutMs: 5000 });
  // A writer stores the chunks of its last steps.
  const kept: ChunkMessage[] = [];
  const gone: ChunkMessage[] = [];
  const stream = new InsertStream(channel, random.pick([1, 5, 1000]), 20_000, () => kept.map(({ key }) => key));
  const sent: { readonly key: bigint; readonly table: string; readonly chunks: readonly bigint[] }[] = [];
  let next = 1n;
  const isIn = (keys: readonly bigint[]) => keys.every((key) => TABLES.some((table) => twin.tables.get(table)?.has(key)));
  for (let step = 0; step < 150; step++) {
    const what = random.below(12);
    if (what < 5 || kept.length === 0) {
      kept.push(chunk(next++, random.pick([10, 1000, 300_000])));
      if (kept.length > random.pick([1, 4, 8])) gone.push(kept.shift() as ChunkMessage);
    } else if (what < 10) {
      const chunks = kept.filter(() => random.below(2) === 0).slice(0, 5);
      if (chunks.length === 0) chunks.push(kept[0] as ChunkMessage);
      // The server has released this chunk, so it must be sent again.
      if (gone.length > 0 && random.below(4) === 0) chunks.push(random.pick(gone));
      const table = random.pick(TABLES);
      const item = { key: 10_000n + next++, table, priority: 1, timesSampled: 0 };
      const columns = chunks.map(({ key }) => ({ slices: [{ chunkKey: key, offset: 0, length: 1, index: 0 }], squeeze: false }));
      const room = stream.insert({ ...item, columns }, chunks);
      sent.push({ key: item.key, table, chunks: chunks.map(({ key }) => key) });
      const timer = setInterval(() => confirmSome(), 5);
      if (random.below(2) === 0) await room;
      clearInterval(timer);
    } else if (what === 10) {
      // When the wait ends, the item must be stored.
      const keys = sent.filter(() => random.below(20) === 0).map(({ key }) => key);
      const wait = stream.waitForItems(keys, { timeoutMs: 30 });
      await wait?.then(
        () => {
          expect(isIn(keys)).toBe(true);
          for (const key of keys) confirmed.add(key);
        },
        (error) => expect(error).toMatchObject({ code: "TIMEOUT", message: expect.stringContaining(server.address) }),
      );
    } else await new Promise((resolve) => setTimeout(resolve, random.below(8)));
    if (random.below(3) === 0) confirmSome();
  }
  isLast = true;
  const timer = setInterval(() => confirmSome(true), 5);
  await stream.flush(0, { timeoutMs: 20_000 });
  clearInterval(timer);
  expect(twin.wrong).toEqual([]);
  for (const { key, table, chunks } of sent) {
    const found = TABLES.filter((one) => twin.tables.get(one)?.has(key));
    expect(found).toEqual([table]);
    expect(
      twin.tables
        .get(table)
        ?.get(key)
        ?.chunks.map((one) => one.key),
    ).toEqual(chunks);
  }
  expect(TABLES.reduce((sum, table) => sum + (twin.tables.get(table)?.size as number), 0)).toBe(sent.length);
  expect(isIn([...confirmed])).toBe(true);
  expect(Math.max(...twin.requests.map(({ items }) => items))).toBeLessThanOrEqual(64);
  expect(Math.max(...twin.requests.map(({ bytes }) => bytes))).toBeLessThan((1 << 20) + 310_000);
  stream.close(new Error("closed"));
  channel.close();
  await server.stop();
});

it("connections broke during these tests", () => {
  expect(breaks).toBeGreaterThan(SEEDS);
});
