/** Reads recorded messages of Reverb, and converts their JSON form to the form of src/reverb/wire. */
import { type BytesReader, BytesReader as Reader } from "../../../src/reverb/wire/bytes-reader.ts";
import { type ItemMessage, readItem, type SampleInfoMessage } from "../../../src/reverb/wire/item.ts";
import { type InsertRequest, insertRequest, mutateRequest, resetRequest, sampleRequest } from "../../../src/reverb/wire/requests.ts";
import { readInsertResponse, readSampleResponse, type SampleEntry } from "../../../src/reverb/wire/responses.ts";
import { type RateLimiterMessage, readServerInfo, type SelectorMessage, type ServerInfoMessage } from "../../../src/reverb/wire/server-info.ts";
import type { Structure } from "../../../src/reverb/wire/structure.ts";
import { type ChunkMessage, readChunk, type ShapeMessage } from "../../../src/reverb/wire/tensor.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON of any message
export type Json = any;

export interface Recorded {
  readonly message: string;
  readonly decoded: Json;
}

interface Kind {
  /** Converts the recorded JSON form of a message to our form. */
  readonly told: (json: Json) => unknown;
  /** Reads a message from its bytes. Missing if we never read such a message. */
  readonly read?: (bytes: Uint8Array) => unknown;
  /** Returns the bytes of the message that the JSON describes. Missing if we never write such a message. */
  readonly written?: (json: Json) => Uint8Array;
}

/** The conversions of each kind of message, by the name of the message. */
export const KINDS: { readonly [message: string]: Kind } = {
  InsertStreamRequest: { told: insert, read: readInsertRequest, written: (json) => insertRequest(insert(json)) },
  InsertStreamResponse: { told: (json) => keys(json.keys), read: readInsertResponse },
  SampleStreamResponse: { told: (json) => list(json.entries).map(entry), read: readSampleResponse },
  SampleStreamRequest: { told: sample, written: (json) => sampleRequest(sample(json)) },
  MutatePrioritiesRequest: { told: mutate, written: (json) => mutateRequest(mutate(json)) },
  ResetRequest: { told: (json) => json.table, written: (json) => resetRequest(json.table) },
  ServerInfoResponse: { told: serverInfo, read: (bytes) => inOrder(readServerInfo(bytes)) },
};

function list(json: Json): Json[] {
  return json ?? [];
}

function keys(json: Json): bigint[] {
  return list(json).map(BigInt);
}

function bytesOf(json: string | undefined): Uint8Array {
  return Uint8Array.from(Buffer.from((json ?? "hex:").slice(4), "hex"));
}

function insert({ chunks, items, keep_chunk_keys }: Json): InsertRequest {
  return { chunks: list(chunks).map(chunk), items: list(items).map(item), keep: keys(keep_chunk_keys) };
}

function sample({ table, num_samples, rate_limiter_timeout }: Json) {
  return { table, samples: Number(num_samples), timeout: Number(rate_limiter_timeout.milliseconds) };
}

function mutate({ table, updates, delete_keys }: Json) {
  return {
    table,
    updates: list(updates).map(({ key, priority }: Json) => [BigInt(key), priority ?? 0] as const),
    deletes: keys(delete_keys),
  };
}

function chunk(json: Json): ChunkMessage {
  const range = json.sequence_range ?? {};
  return {
    key: BigInt(json.chunk_key ?? 0),
    episodeId: BigInt(range.episode_id ?? 0),
    start: range.start ?? 0,
    end: range.end ?? 0,
    sparse: range.sparse ?? false,
    deltaEncoded: json.delta_encoded ?? false,
    tensors: list(json.data?.tensors).map(({ dtype, tensor_shape, tensor_content }: Json) => ({
      dtype: dtype ?? 0,
      shape: shape(tensor_shape).dims,
      content: bytesOf(tensor_content),
    })),
    uncompressedSize: Number(json.data_uncompressed_size ?? 0),
  };
}

function shape(json: Json): ShapeMessage {
  return { dims: list(json?.dim).map(({ size }: Json) => Number(size ?? 0)), unknownRank: json?.unknown_rank ?? false };
}

function item(json: Json): ItemMessage {
  const columns = list(json.flat_trajectory?.columns).map(({ chunk_slices, squeeze }: Json) => ({
    slices: list(chunk_slices).map(({ chunk_key, offset, length, index }: Json) => ({
      chunkKey: BigInt(chunk_key ?? 0),
      offset: offset ?? 0,
      length: length ?? 0,
      index: index ?? 0,
    })),
    squeeze: squeeze ?? false,
  }));
  return { key: BigInt(json.key ?? 0), table: json.table ?? "", priority: json.priority ?? 0, columns, timesSampled: json.times_sampled ?? 0 };
}

function entry(json: Json): SampleEntry {
  const { info } = json;
  const told: SampleInfoMessage | undefined = info && {
    item: item(info.item),
    probability: info.probability ?? 0,
    tableSize: Number(info.table_size ?? 0),
    rateLimited: info.rate_limited ?? false,
  };
  return { info: told, chunks: list(json.data).map(chunk), isLast: json.end_of_sequence ?? false };
}

function serverInfo({ tables_state_id, table_info }: Json): ServerInfoMessage {
  return {
    stateId: [BigInt(tables_state_id.high ?? 0), BigInt(tables_state_id.low ?? 0)],
    tables: list(table_info).map((table) => ({
      name: table.name ?? "",
      sampler: selector(table.sampler_options),
      remover: selector(table.remover_options),
      maxSize: Number(table.max_size ?? 0),
      maxTimesSampled: table.max_times_sampled ?? 0,
      rateLimiter: rateLimiter(table.rate_limiter_info),
      signature: table.signature && structure(table.signature),
      currentSize: Number(table.current_size ?? 0),
      episodes: Number(table.num_episodes ?? 0),
      deletedEpisodes: Number(table.num_deleted_episodes ?? 0),
      uniqueSamples: Number(table.num_unique_samples ?? 0),
    })),
  };
}

function selector({ fifo, lifo, uniform, prioritized, heap }: Json): SelectorMessage {
  const kind = fifo ? "fifo" : lifo ? "lifo" : uniform ? "uniform" : prioritized ? "prioritized" : heap?.min_heap ? "minHeap" : heap ? "maxHeap" : undefined;
  return { kind, exponent: prioritized?.priority_exponent ?? 0 };
}

function rateLimiter(json: Json): RateLimiterMessage {
  return {
    samplesPerInsert: json.samples_per_insert ?? 0,
    minDiff: json.min_diff ?? 0,
    maxDiff: json.max_diff ?? 0,
    minSize: Number(json.min_size_to_sample ?? 0),
    inserts: Number(json.insert_stats?.completed ?? 0),
    samples: Number(json.sample_stats?.completed ?? 0),
  };
}

function structure(json: Json): Structure {
  const [[kind, value] = ["none_value", {}]] = Object.entries<Json>(json);
  const pairs = (all: readonly (readonly [string, Json])[]) => all.map(([key, part]) => [key, structure(part)] as const);
  if (kind === "tensor_spec_value" || kind === "bounded_tensor_spec_value")
    return { kind: "spec", name: value.name ?? "", dtype: value.dtype ?? 0, shape: shape(value.shape) };
  if (kind === "list_value" || kind === "tuple_value") return { kind: kind === "list_value" ? "list" : "tuple", parts: list(value.values).map(structure) };
  if (kind === "dict_value") return { kind: "dict", parts: pairs(Object.entries(value.fields ?? {})).sort(byKey) };
  if (kind === "named_tuple_value") {
    const parts = list(value.values).map((pair: Json) => [pair.key ?? "", pair.value ?? {}] as const);
    return { kind: "namedTuple", name: value.name ?? "", parts: pairs(parts) };
  }
  if (kind === "none_value") return { kind: "none" };
  throw new Error(`a recorded signature has ${kind}`);
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** Sorts the parts of a message that come from dicts, which have no order on the wire. */
function inOrder(info: ServerInfoMessage): ServerInfoMessage {
  const sorted = (at: Structure): Structure => {
    if (at.kind === "dict") return { ...at, parts: at.parts.map(([key, part]) => [key, sorted(part)] as const).sort(byKey) };
    if (at.kind === "namedTuple") return { ...at, parts: at.parts.map(([key, part]) => [key, sorted(part)] as const) };
    if (at.kind === "list" || at.kind === "tuple") return { ...at, parts: at.parts.map(sorted) };
    return at;
  };
  return { ...info, tables: info.tables.map((table) => ({ ...table, signature: table.signature && sorted(table.signature) })) };
}

/** Reads a request to insert, which only a server receives. */
export function readInsertRequest(bytes: Uint8Array): InsertRequest {
  const reader: BytesReader = new Reader(bytes, "InsertStreamRequest");
  const [chunks, items, keep]: [ChunkMessage[], ItemMessage[], bigint[]] = [[], [], []];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 10) chunks.push(readChunk(reader));
    else if (tag === 18) items.push(readItem(reader));
    else if (tag === 26) {
      const outer = reader.enter();
      while (reader.more) keep.push(reader.uint64());
      reader.leaveMessage(outer);
    } else reader.skip(tag);
  }
  return { chunks, items, keep };
}
