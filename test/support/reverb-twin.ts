/** Implements a naive Reverb server, with tables in maps and streams as in section 5 of the wire facts. It records the errors of clients. */

import { BytesReader } from "../../src/reverb/wire/bytes-reader.ts";
import { BytesWriter } from "../../src/reverb/wire/bytes-writer.ts";
import type { ItemMessage } from "../../src/reverb/wire/item.ts";
import { writeItem } from "../../src/reverb/wire/item.ts";
import { type ChunkMessage, writeChunk } from "../../src/reverb/wire/tensor.ts";
import { readInsertRequest } from "../conformance/wire/messages.ts";
import type { Handler, ServerCall } from "./grpc-server.ts";

interface Kept {
  readonly item: ItemMessage;
  readonly chunks: readonly ChunkMessage[];
}

export class ReverbTwin {
  readonly tables = new Map<string, Map<bigint, Kept>>();
  /** The number of items that arrived, including repetitions. */
  came = 0;
  /** The calls that a client must not make. */
  readonly wrong: string[] = [];
  /** The chunks, items and bytes of each request. */
  readonly requests: { readonly chunks: number; readonly items: number; readonly bytes: number }[] = [];
  readonly #streams = new WeakMap<ServerCall, Map<bigint, ChunkMessage>>();
  /** Sends a response. A test may replace it. */
  answer: (call: ServerCall, bytes: Uint8Array, method: string) => void = (call, bytes) => call.send(bytes);
  /** Confirms the keys of stored items. */
  confirm: (call: ServerCall, keys: bigint[]) => void = (call, keys) => this.answer(call, confirmation(keys), "InsertStream");

  constructor(...tables: string[]) {
    for (const table of tables) this.tables.set(table, new Map());
  }

  readonly handler: Handler = {
    message: (call, bytes) => {
      const method = call.method.split("/")[2] as string;
      if (method === "ServerInfo") {
        this.answer(call, this.info(), method);
        call.end();
      } else if (method === "InsertStream") this.#insert(call, bytes);
      else if (method === "SampleStream") this.#sample(call, bytes);
      else {
        this.answer(call, new Uint8Array(0), method);
        call.end();
      }
    },
    finish: (call) => {
      if (!call.method.endsWith("ServerInfo")) call.end();
    },
  };

  info(): Uint8Array {
    const writer = new BytesWriter();
    for (const [name, items] of this.tables) {
      const since = writer.length;
      writer.string(8, name);
      writer.int64(7, items.size);
      writer.int64(3, 1000);
      for (const field of [2, 1]) {
        const selector = writer.length;
        writer.bool(1, true);
        writer.message(field, selector);
      }
      writer.message(2, since);
    }
    return writer.take();
  }

  #insert(call: ServerCall, bytes: Uint8Array): void {
    const { chunks, items, keep } = readInsertRequest(bytes);
    this.requests.push({ chunks: chunks.length, items: items.length, bytes: bytes.length });
    const held = this.#streams.get(call) ?? new Map<bigint, ChunkMessage>();
    this.#streams.set(call, held);
    if (chunks.length + items.length === 0) this.wrong.push("a request of nothing");
    for (const chunk of chunks) if (!held.has(chunk.key)) held.set(chunk.key, chunk);
    const keys: bigint[] = [];
    for (const item of items) {
      const table = this.tables.get(item.table);
      const named = [...new Set(item.columns.flatMap(({ slices }) => slices.map(({ chunkKey }) => chunkKey)))].map((key) => held.get(key));
      if (table === undefined || named.includes(undefined)) {
        this.wrong.push(table === undefined ? `no table ${item.table}` : "an item's chunk is not known to the stream");
        call.end(13, "wrong");
        return;
      }
      this.came++;
      if (!table.has(item.key)) table.set(item.key, { item, chunks: named as ChunkMessage[] });
      keys.push(item.key);
    }
    if (items.length > 0) {
      for (const key of keep) if (!held.has(key)) this.wrong.push("a chunk is to be kept that the stream does not hold");
      for (const key of held.keys()) if (!keep.includes(key)) held.delete(key);
    }
    if (keys.length > 0) this.confirm(call, keys);
  }

  #sample(call: ServerCall, bytes: Uint8Array): void {
    const reader = new BytesReader(bytes, "SampleStreamRequest");
    let [table, samples] = ["", 0];
    for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
      if (tag === 10) table = reader.string();
      else if (tag === 16) samples = reader.int64();
      else reader.skip(tag);
    }
    const kept = [...(this.tables.get(table)?.values() ?? [])];
    // An empty table sends nothing until it has items.
    if (kept.length > 0) for (let i = 0; i < samples; i++) this.answer(call, sample(kept[i % kept.length] as Kept, kept.length), "SampleStream");
  }
}

export function confirmation(keys: readonly bigint[]): Uint8Array {
  const writer = new BytesWriter();
  writer.packedInts(1, keys);
  return writer.take();
}

/** Returns a SampleStreamResponse with one sample. */
export function sample({ item, chunks }: Kept, size = 1): Uint8Array {
  const writer = new BytesWriter();
  writer.bool(3, true);
  for (const chunk of chunks) writeChunk(writer, 2, chunk);
  const since = writer.length;
  writer.int64(3, size);
  writer.double(2, 1 / size);
  writeItem(writer, 1, item);
  writer.message(1, since);
  writer.message(1, 0);
  return writer.take();
}
