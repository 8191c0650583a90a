/** Makes the same calls with grpc-js and with our client to the same real server, and compares results and errors. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Channel } from "../../src/reverb/grpc/channel.ts";
import { HEAD } from "../../src/reverb/grpc/frames.ts";
import { randomKey } from "../../src/reverb/keys.ts";
import { chunkOf } from "../../src/reverb/step-values.ts";
import { toTableEntry } from "../../src/reverb/table-info.ts";
import type { ColumnMessage, SampleInfoMessage } from "../../src/reverb/wire/item.ts";
import { emptyRequest, insertRequest, mutateRequest, resetRequest, sampleRequest } from "../../src/reverb/wire/requests.ts";
import { readInsertResponse, readSampleResponse } from "../../src/reverb/wire/responses.ts";
import { readServerInfo } from "../../src/reverb/wire/server-info.ts";
import { u8 } from "../../src/schema/constructors.ts";
import { measureLeaves, type PlacedLeaf } from "../../src/schema/layout.ts";
import { leavesOf } from "../../src/schema/spec.ts";
import { type Ended, GrpcJsClient } from "../support/grpc-js.ts";
import { type Peer, python, startServer } from "./peer.ts";

const SERVICE = "deepmind.reverb.ReverbService";
const BYTES = 1 << 20;
/** With this many steps, a sample exceeds the flow control window of 16 MiB. */
const STEPS = 20;
const spec = { image: u8(BYTES) };
type IsAll = (answers: readonly Uint8Array[]) => boolean;
const one: IsAll = () => true;
const never: IsAll = () => false;
const whole: IsAll = (answers) => answers.flatMap((bytes) => readSampleResponse(bytes)).some(({ isLast }) => isLast);
const leaf: PlacedLeaf = { ...(measureLeaves(leavesOf(spec))[0] as ReturnType<typeof measureLeaves>[number]), kind: 0, offset: 0, staged: 0 };

/** Returns bytes that cannot be compressed. */
function noise(length: number, seed: number): Uint8Array {
  const words = new Uint32Array(length / 4);
  let state = seed + 1;
  for (let i = 0; i < words.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    words[i] = state ^ (state >>> 16);
  }
  return new Uint8Array(words.buffer);
}

describe.skipIf(python === undefined)("a real server, called with grpc-js and with our client", () => {
  let peer: Peer;
  let ours: Channel;
  let theirs: GrpcJsClient;

  beforeAll(async () => {
    peer = await startServer();
    ours = new Channel(peer.address, SERVICE, { maxMessageBytes: 2 ** 31, connectTimeoutMs: 10_000 });
    theirs = new GrpcJsClient(peer.address, SERVICE);
  });
  beforeEach(async () => {
    for (const table of ["first", "heap"]) await ours.unary("Reset", resetRequest(table, HEAD));
  });
  afterAll(async () => {
    ours?.close();
    theirs?.close();
    await peer?.stop();
  });

  /** Makes a call with our client. Has the parameters and result of the function that makes the call with grpc-js. */
  async function stream(method: string, requests: readonly Uint8Array<ArrayBuffer>[], isAll: IsAll): Promise<Ended> {
    const answers: Uint8Array[] = [];
    const error = await new Promise<unknown>((resolve) => {
      const message = (bytes: Uint8Array) => {
        answers.push(bytes);
        if (isAll(answers)) call.then((made) => made.finish());
      };
      const call = ours.call(method, { message, end: resolve });
      call.then((made) => {
        for (const request of requests) made.send(request);
      }, resolve);
    });
    const { status = 0, details = "" } = (error ?? {}) as { readonly status?: number; readonly details?: string };
    return { answers, status, details };
  }

  const ways = {
    ours: (method: string, requests: readonly Uint8Array<ArrayBuffer>[], isAll: IsAll) => stream(method, requests, isAll),
    theirs: (method: string, requests: readonly Uint8Array<ArrayBuffer>[], isAll: IsAll) =>
      theirs.stream(
        method,
        requests.map((request) => request.subarray(HEAD)),
        isAll,
      ),
  };

  /** Returns an item with its chunks, one chunk per step. */
  function item(table: string, steps: number, priority: number, seed: number) {
    const chunks = Array.from({ length: steps }, (_, t) => {
      const image = noise(BYTES, seed + t);
      return chunkOf(randomKey(), 1n, t, [{ leaf, values: [image] }]);
    });
    const slices = chunks.map(({ key }) => ({ chunkKey: key, offset: 0, length: 1, index: 0 }));
    const columns: ColumnMessage[] = [{ slices, squeeze: false }];
    return { item: { key: randomKey(), table, priority, timesSampled: 0, columns }, chunks };
  }

  it("describes its tables equally to both", async () => {
    const tell = (bytes: Uint8Array) => new Map(readServerInfo(bytes).tables.map((table) => [table.name, toTableEntry(table)]));
    const mine = tell(await ours.unary("ServerInfo", emptyRequest(HEAD)));
    const [other] = (await theirs.unary("ServerInfo", new Uint8Array())).answers;
    expect(mine.size).toBe(6);
    expect(tell(other as Uint8Array)).toEqual(mine);
  });

  it("returns the same item to both for either insert, in messages of more than 16 MiB", async () => {
    for (const [k, way] of (["ours", "theirs"] as const).entries()) {
      const { item: made, chunks } = item("heap", STEPS, 10 + k, 100 * k);
      const { answers, status } = await ways[way]("InsertStream", [insertRequest({ chunks, items: [made], keep: [] }, HEAD)], one);
      expect([status, answers.flatMap(readInsertResponse)]).toEqual([0, [made.key]]);
      const drawn = [];
      for (const by of ["ours", "theirs"] as const) {
        const found = await sample(by);
        expect(found.reduce((sum, bytes) => sum + bytes.length, 0)).toBeGreaterThan(16 << 20);
        const entries = found.flatMap((bytes) => readSampleResponse(bytes));
        const { item: got, ...info } = (entries[0] as (typeof entries)[0]).info as SampleInfoMessage;
        const contents = entries
          .flatMap((entry) => entry.chunks)
          .map(
            (chunk) =>
              [
                chunk.key,
                createHash("sha256")
                  .update(chunk.tensors[0]?.content as Uint8Array)
                  .digest("hex"),
              ] as const,
          );
        drawn.push({ info, key: got.key, priority: got.priority, columns: got.columns, contents: new Map(contents.sort(([a], [b]) => (a < b ? -1 : 1))) });
      }
      expect(drawn[1]).toEqual(drawn[0]);
      expect(drawn[0]).toMatchObject({ key: made.key, priority: 10 + k, columns: made.columns });
      expect(drawn[0]?.contents.size).toBe(STEPS);
    }
  }, 60_000);

  /** Samples an item from the table `heap`. Returns the messages in which the item arrives. */
  async function sample(by: "ours" | "theirs"): Promise<readonly Uint8Array[]> {
    const { answers, status } = await ways[by]("SampleStream", [sampleRequest({ table: "heap", samples: 1, timeout: 5000 }, HEAD)], whole);
    expect(status).toBe(0);
    return answers;
  }

  it("changes priorities and deletes items for both, with the same bytes in its answers", async () => {
    const { item: made, chunks } = item("heap", 1, 1, 5);
    await ways.ours("InsertStream", [insertRequest({ chunks, items: [made], keep: [] }, HEAD)], one);
    for (const request of [
      () => ["MutatePriorities", mutateRequest({ table: "heap", updates: [[made.key, 3.5]], deletes: [] }, HEAD)] as const,
      () => ["MutatePriorities", mutateRequest({ table: "heap", updates: [], deletes: [made.key, 2n ** 64n - 1n] }, HEAD)] as const,
      () => ["Reset", resetRequest("heap", HEAD)] as const,
    ]) {
      const [method, bytes] = request();
      const mine = await ours.unary(method, bytes);
      const { answers, status } = await theirs.unary(method, bytes.subarray(HEAD));
      expect([status, Buffer.from(answers[0] as Uint8Array)]).toEqual([0, Buffer.from(mine)]);
    }
  });

  it("rejects calls of both with the same status and text", async () => {
    const nowhere = item("nowhere", 1, 1, 6);
    const homeless = item("first", 1, 1, 7);
    const unary: [string, Uint8Array<ArrayBuffer>][] = [
      ["Reset", resetRequest("nowhere ä %", HEAD)],
      ["MutatePriorities", mutateRequest({ table: "nowhere", updates: [[1n, 1]], deletes: [] }, HEAD)],
      ["Nothing", emptyRequest(HEAD)],
    ];
    for (const [method, request] of unary) {
      const error = await ours.unary(method, request).catch((one) => one);
      const { status, details } = await theirs.unary(method, request.subarray(HEAD));
      expect(status).toBeGreaterThan(0);
      expect([error.status, error.details]).toEqual([status, details]);
    }
    const streams: [string, Uint8Array<ArrayBuffer>][] = [
      ["InsertStream", insertRequest({ chunks: nowhere.chunks, items: [nowhere.item], keep: [] }, HEAD)],
      ["InsertStream", insertRequest({ chunks: [], items: [homeless.item], keep: [] }, HEAD)],
      ["InsertStream", insertRequest({ chunks: [], items: [], keep: [] }, HEAD)],
      ["SampleStream", sampleRequest({ table: "nowhere", samples: 1, timeout: 100 }, HEAD)],
      ["SampleStream", sampleRequest({ table: "first", samples: 1, timeout: 100 }, HEAD)],
      ["SampleStream", sampleRequest({ table: "first", samples: 0, timeout: 100 }, HEAD)],
    ];
    const statuses = [];
    for (const [method, request] of streams) {
      const mine = await ways.ours(method, [request], never);
      statuses.push(mine.status);
      expect(await ways.theirs(method, [request], never)).toEqual(mine);
    }
    expect(statuses).toEqual([5, 13, 3, 5, 4, 3]);
  });
});
