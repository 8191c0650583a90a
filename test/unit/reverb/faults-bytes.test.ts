/**
 * Tests conversations that are cut, stopped or altered at every place, and forged messages. Each must cause an error with the address, or the call must
 * succeed. No call may hang, and no item may be stored twice.
 */
import { afterEach, describe, expect, it } from "vitest";
import { ReplayError } from "../../../src/base/error.ts";
import { ReverbClient, type ReverbClientOptions } from "../../../src/reverb/index.ts";
import { writeTensor } from "../../../src/reverb/tensors/tensors.ts";
import { BytesWriter } from "../../../src/reverb/wire/bytes-writer.ts";
import { f32, i32, text } from "../../../src/schema/constructors.ts";
import { Between } from "../../support/between.ts";
import { GrpcServer } from "../../support/grpc-server.ts";
import { TestRandom } from "../../support/random.ts";
import { confirmation, ReverbTwin, sample } from "../../support/reverb-twin.ts";
import { stride } from "../../support/size.ts";
import { abortAfter, useTurnClock } from "../../support/turn-clock.ts";

useTurnClock();

const spec = { act: i32(), obs: f32(2), name: text({ maxBytes: 9 }) };
const STEP = { act: 7, obs: [1, 2], name: "hé" };
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

function client(address: string, options: ReverbClientOptions = {}): ReverbClient<typeof spec> {
  return new ReverbClient(address, { ...options, spec });
}

async function serve(twin: ReverbTwin): Promise<GrpcServer> {
  const server = await GrpcServer.start(twin.handler);
  open.push({ close: () => server.stop() });
  return server;
}

/** Processes the values, several at a time. */
async function each<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const rest = [...all].reverse();
  await Promise.all(
    Array.from({ length: 24 }, async () => {
      for (let one = rest.pop(); one !== undefined; one = rest.pop()) await work(one);
    }),
  );
}

/** Inserts an item into a server and samples one. Returns the error, if any. */
async function talk(one: ReverbClient<typeof spec>, table: string): Promise<unknown> {
  try {
    await one.insert(STEP, { [table]: 1 }, { timeoutMs: 60_000 });
    const sampler = one.sampler(table, { maxSamples: 1 });
    try {
      const item = await sampler.next({ signal: abortAfter(60_000) });
      expect(item?.columns.map(({ column }) => column.toArray())).toEqual([[7], ["hé"], [[1, 2]]]);
    } finally {
      sampler.close();
    }
    return undefined;
  } catch (error) {
    return error;
  } finally {
    one.close();
  }
}

/** Returns the number of bytes that the conversation of `talk` sends in each direction. */
async function lengths(port: number): Promise<readonly [number, number]> {
  let [back, there] = [0, 0];
  const between = await Between.start(port, {
    back: (bytes) => {
      back += bytes.length;
      return bytes;
    },
    there: (bytes) => {
      there += bytes.length;
      return bytes;
    },
  });
  expect(await talk(client(between.address), "count")).toBeUndefined();
  await between.stop();
  return [back, there];
}

describe("a fault at every place of a conversation", () => {
  it.each(["cut", "silent"])("%s: the client continues over another connection", async (kind) => {
    const twin = new ReverbTwin("count");
    const { port } = await serve(twin);
    const ends = await lengths(port);
    expect(Math.min(...ends)).toBeGreaterThan(200);
    const places = (["back", "there"] as const).flatMap((way, w) => Array.from({ length: (ends[w] as number) + 1 }, (_, at) => ({ way, at })));
    // Only a timeout detects a silent connection, which takes longer than a cut, so fewer places are tried.
    const step = kind === "cut" ? stride(1, 41) : stride(7, 301);
    const tried = places.filter((_, i) => i % step === 0);
    await each(tried, async ({ way, at }) => {
      const table = `${way}${at}`;
      twin.tables.set(table, new Map());
      let passed = 0;
      let isOver = false;
      const cut = (bytes: Buffer, connection: number) => {
        if (connection > 0) return bytes;
        const left = at - passed;
        passed += bytes.length;
        if (bytes.length < left) return bytes;
        isOver = true;
        return bytes.subarray(0, Math.max(0, left));
      };
      const between = await Between.start(port, { [way]: cut, isCut: (connection) => kind === "cut" && connection === 0 && isOver });
      const one = client(between.address, { keepAliveMs: 2000, keepAliveTimeoutMs: 2000, connectTimeoutMs: 4000 });
      expect(await talk(one, table)).toBeUndefined();
      expect(twin.tables.get(table)?.size).toBe(1);
      await between.stop();
    });
    expect(twin.wrong).toEqual([]);
  });

  it("a changed byte causes an error with the address, a timeout or nothing, but no duplicates", async () => {
    const twin = new ReverbTwin("count");
    const { port } = await serve(twin);
    const [length] = await lengths(port);
    const random = new TestRandom(5);
    let errors = 0;
    await each(
      Array.from({ length: Math.floor(length / stride(1, 17)) }, (_, i) => i * stride(1, 17)),
      async (at) => {
        const table = `changed${at}`;
        twin.tables.set(table, new Map());
        let passed = 0;
        const bit = 1 << random.below(8);
        const between = await Between.start(port, {
          back: (bytes) => {
            const here = at - passed;
            passed += bytes.length;
            if (here >= 0 && here < bytes.length) bytes[here] = (bytes[here] as number) ^ bit;
            return bytes;
          },
        });
        const one = client(between.address, { reconnectTimeoutMs: 100 });
        try {
          await one.insert(STEP, { [table]: 1 }, { timeoutMs: 1000 });
          const sampler = one.sampler(table, { maxSamples: 1 });
          await sampler.next({ signal: abortAfter(1000) });
        } catch (error) {
          errors++;
          if ((error as Error).name !== "TimeoutError") {
            expect(error).toBeInstanceOf(ReplayError);
            expect((error as Error).message).toContain(between.address);
          }
        }
        one.close();
        expect(twin.tables.get(table)?.size).toBeLessThan(2);
        await between.stop();
      },
    );
    expect(errors).toBeGreaterThan(length / stride(1, 17) / 4);
  });
});

describe("messages", () => {
  it.each(["ServerInfo", "InsertStream", "SampleStream"])("a changed or truncated answer to %s succeeds, or fails with the address", async (method) => {
    const twin = new ReverbTwin("t");
    let change = (bytes: Uint8Array) => bytes;
    twin.answer = (call, bytes, of) => {
      call.send(of === method ? change(bytes) : bytes);
      if (of === "SampleStream") call.end();
    };
    const { address } = await serve(twin);
    const first = client(address);
    let length = 0;
    change = (bytes) => {
      length = bytes.length;
      return bytes;
    };
    expect(await talk(first, "t")).toBeUndefined();
    const changes = Array.from({ length: Math.floor((9 * length) / stride(1, 31)) }, (_, i) => i * stride(1, 31));
    let errors = 0;
    const one = client(address, { reconnectTimeoutMs: 0 });
    open.push(one);
    for (const i of changes) {
      const at = Math.floor(i / 9);
      change = (bytes) => {
        if (i % 9 === 8) return bytes.slice(0, at);
        const changed = bytes.slice();
        changed[at] = (changed[at] as number) ^ (1 << (i % 9));
        return changed;
      };
      const sampler = one.sampler("t", { maxSamples: 1 });
      try {
        if (method === "ServerInfo") await one.serverInfo();
        else if (method === "InsertStream") await one.insert(STEP, { t: 1 }, { timeoutMs: 3 });
        else await sampler.next();
      } catch (error) {
        errors++;
        expect(error).toBeInstanceOf(ReplayError);
        expect((error as Error).message).toContain(address);
      }
      sampler.close();
    }
    expect(errors).toBeGreaterThan(changes.length / 8);
  });

  const column = (content: Uint8Array, shape: number[], dtype = 4) => {
    const chunk = { key: 1n, episodeId: 1n, start: 0, end: 0, sparse: false, deltaEncoded: false, tensors: [{ dtype, shape, content }], uncompressedSize: 1 };
    const item = {
      key: 1n,
      table: "t",
      priority: 1,
      timesSampled: 1,
      columns: [{ slices: [{ chunkKey: 1n, offset: 0, length: 1, index: 0 }], squeeze: false }],
    };
    return sample({ item, chunks: [chunk] });
  };
  /** Returns a table whose signature contains lists nested three levels deep. */
  const nested = () => {
    const writer = new BytesWriter();
    for (let depth = 0; depth < 20_000; depth++) {
      writer.message(1, 0);
      writer.message(51, 0);
    }
    writer.message(6, 0);
    writer.message(2, 0);
    return writer.take();
  };
  it.each([
    ["a tensor smaller than its shape", () => column(Uint8Array.of(1, 0, 5), [1, 3])],
    ["a tensor that declares a terabyte", () => column(Uint8Array.of(255, 255, 255, 255, 15, 0, 5), [1, 2 ** 40 - 1])],
    ["a tensor whose Snappy block declares four gigabytes", () => column(Uint8Array.of(255, 255, 255, 255, 15, 0, 5), [1, 2 ** 32 - 1])],
    ["a tensor of negative size", () => column(Uint8Array.of(1, 0, 5), [1, -1])],
    ["a million texts in one byte", () => column(Uint8Array.of(1), [1, 1_000_000], 7)],
    ["a text longer than its message", () => column(Uint8Array.of(255, 255, 3), [1, 1], 7)],
    ["a tensor without steps", () => column(Uint8Array.of(0), [])],
    [
      "an item without its chunk",
      () =>
        sample({
          item: {
            key: 1n,
            table: "t",
            priority: 1,
            timesSampled: 1,
            columns: [{ slices: [{ chunkKey: 9n, offset: 0, length: 1, index: 0 }], squeeze: false }],
          },
          chunks: [],
        }),
    ],
    ["no protobuf at all", () => Uint8Array.of(0xff, 0xfe, 0xfd)],
  ])("a sample with %s fails with CORRUPT, and the error contains the address", async (_, bytes) => {
    const twin = new ReverbTwin("t");
    twin.answer = (call, honest, method) => call.send(method === "SampleStream" ? bytes() : honest);
    const { address } = await serve(twin);
    const one = client(address);
    open.push(one);
    await one.insert(STEP, { t: 1 });
    const next = Promise.resolve(one.sampler("t", { maxSamples: 1 }).next());
    await expect(next).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining(`the Reverb server at ${address} answered SampleStream with an unreadable message: `),
    });
  });

  it("an item that unpacks beyond maxMessageBytes fails with OUT_OF_MEMORY, and the sampler continues", async () => {
    const twin = new ReverbTwin("t");
    const { address } = await serve(twin);
    const one = client(address, { maxMessageBytes: 2 ** 20 });
    open.push(one);
    await one.insert(STEP, { t: 1 });
    const [honest] = [...(twin.tables.get("t")?.values() ?? [])];
    // The tensor has 100 kB, is compressed to 5 kB, and is referenced 2,000 times.
    const tensor = writeTensor("f32", [1, 25_000], new Float32Array(25_000));
    const chunk = { key: 1n, episodeId: 1n, start: 0, end: 0, sparse: false, deltaEncoded: false, tensors: [tensor], uncompressedSize: 1 };
    const slices = Array.from({ length: 2000 }, () => ({ chunkKey: 1n, offset: 0, length: 1, index: 0 }));
    const item = { key: 1n, table: "t", priority: 1, timesSampled: 1, columns: [{ slices, squeeze: false }] };
    const large = sample({ item, chunks: [chunk] });
    expect(large.length).toBeLessThan(30_000);
    const answers = [large, sample(honest as Parameters<typeof sample>[0])];
    twin.answer = (call, bytes, method) => call.send(method === "SampleStream" ? (answers.shift() as Uint8Array) : bytes);
    const sampler = one.sampler("t", { maxSamples: 2, maxInFlightSamplesPerWorker: 2 });
    await expect(sampler.next()).rejects.toMatchObject({
      code: "OUT_OF_MEMORY",
      message: expect.stringMatching(
        /^column 0 of table t: its columns unpack to 200000000 bytes or more, but maxMessageBytes is 1048576\. Increase maxMessageBytes/,
      ),
    });
    expect((await sampler.next())?.columns.length).toBe(3);
    sampler.close();
  });

  it("endless signatures, malformed confirmations and oversized messages cause clear errors", async () => {
    const twin = new ReverbTwin("t");
    let answer = (bytes: Uint8Array, _: string) => bytes;
    twin.answer = (call, bytes, method) => call.send(answer(bytes, method));
    const { address } = await serve(twin);
    const one = client(address, { maxMessageBytes: 400_000 });
    open.push(one);
    answer = () => nested();
    await expect(one.serverInfo()).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringContaining(address) });
    answer = (bytes, method) => (method === "InsertStream" ? Uint8Array.of(...confirmation([1n]).subarray(0, 2), 255) : bytes);
    await expect(one.insert(STEP, { t: 1 })).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringContaining(address) });
    answer = () => new Uint8Array(400_001);
    await expect(one.serverInfo()).rejects.toMatchObject({
      code: "OUT_OF_MEMORY",
      message: expect.stringMatching(/a message has 400001 bytes, and maxMessageBytes is 400000.*maxMessageBytes/),
    });
  });
});
