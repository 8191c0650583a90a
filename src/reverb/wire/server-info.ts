/** Reads the tables of a server: ServerInfoResponse. */
import type { RateLimiter } from "../../schema/rate-limiter.ts";
import type { SelectorName } from "../../schema/selector.ts";
import { BytesReader, DELIMITED, FIXED64, readOnly, VARINT } from "./bytes-reader.ts";
import { readStructure, type Structure } from "./structure.ts";

export interface ServerInfoMessage {
  /** An id that changes with each start of the server. */
  readonly stateId: readonly [bigint, bigint];
  readonly tables: readonly TableMessage[];
}

export interface TableMessage {
  readonly name: string;
  readonly sampler: SelectorMessage;
  readonly remover: SelectorMessage;
  readonly maxSize: number;
  readonly maxTimesSampled: number;
  readonly rateLimiter: RateLimiterMessage;
  readonly signature: Structure | undefined;
  readonly currentSize: number;
  readonly episodes: number;
  readonly deletedEpisodes: number;
  readonly uniqueSamples: number;
}

export interface SelectorMessage {
  readonly kind: SelectorName | undefined;
  /** The exponent of `prioritized`. */
  readonly exponent: number;
}

export interface RateLimiterMessage extends RateLimiter {
  readonly inserts: number;
  readonly samples: number;
}

/** Reads the response to ServerInfo. @throws ReplayError CORRUPT if the message is malformed */
export function readServerInfo(bytes: Uint8Array): ServerInfoMessage {
  const reader = new BytesReader(bytes, "ServerInfoResponse");
  let stateId: readonly [bigint, bigint] = [0n, 0n];
  const tables: TableMessage[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) stateId = readUint128(reader);
    else if (tag === 2 * 8 + DELIMITED) tables.push(readTable(reader));
    else reader.skip(tag);
  }
  return { stateId, tables };
}

function readUint128(reader: BytesReader): readonly [bigint, bigint] {
  const outer = reader.enter();
  let high = 0n;
  let low = 0n;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + VARINT) high = reader.uint64();
    else if (tag === 2 * 8 + VARINT) low = reader.uint64();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return [high, low];
}

const NO_SELECTOR: SelectorMessage = { kind: undefined, exponent: 0 };
const NO_LIMITER: RateLimiterMessage = { samplesPerInsert: 0, minDiff: 0, maxDiff: 0, minSize: 0, inserts: 0, samples: 0 };

function readTable(reader: BytesReader): TableMessage {
  const outer = reader.enter();
  let sampler = NO_SELECTOR;
  let remover = NO_SELECTOR;
  let rateLimiter = NO_LIMITER;
  let signature: Structure | undefined;
  let name = "";
  let maxSize = 0;
  let maxTimesSampled = 0;
  let currentSize = 0;
  let episodes = 0;
  let deletedEpisodes = 0;
  let uniqueSamples = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) sampler = readSelector(reader);
    else if (tag === 2 * 8 + DELIMITED) remover = readSelector(reader);
    else if (tag === 3 * 8 + VARINT) maxSize = reader.int64();
    else if (tag === 4 * 8 + VARINT) maxTimesSampled = reader.int32();
    else if (tag === 5 * 8 + DELIMITED) rateLimiter = readRateLimiter(reader);
    else if (tag === 6 * 8 + DELIMITED) signature = readStructure(reader);
    else if (tag === 7 * 8 + VARINT) currentSize = reader.int64();
    else if (tag === 8 * 8 + DELIMITED) name = reader.string();
    else if (tag === 9 * 8 + VARINT) episodes = reader.int64();
    else if (tag === 10 * 8 + VARINT) deletedEpisodes = reader.int64();
    else if (tag === 11 * 8 + VARINT) uniqueSamples = reader.int64();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { name, sampler, remover, maxSize, maxTimesSampled, rateLimiter, signature, currentSize, episodes, deletedEpisodes, uniqueSamples };
}

function readSelector(reader: BytesReader): SelectorMessage {
  const outer = reader.enter();
  let kind: SelectorMessage["kind"];
  let exponent = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + VARINT) kind = reader.bool() ? "fifo" : kind;
    else if (tag === 2 * 8 + VARINT) kind = reader.bool() ? "uniform" : kind;
    else if (tag === 6 * 8 + VARINT) kind = reader.bool() ? "lifo" : kind;
    else if (tag === 3 * 8 + DELIMITED) {
      kind = "prioritized";
      exponent = readOnly(reader, 1 * 8 + FIXED64, () => reader.double(), 0);
    } else if (tag === 4 * 8 + DELIMITED) kind = readOnly(reader, 1 * 8 + VARINT, () => reader.bool(), false) ? "minHeap" : "maxHeap";
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { kind, exponent };
}

function readRateLimiter(reader: BytesReader): RateLimiterMessage {
  const outer = reader.enter();
  const limiter = { ...NO_LIMITER };
  const completed = () => readOnly(reader, 2 * 8 + VARINT, () => reader.int64(), 0);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + FIXED64) limiter.samplesPerInsert = reader.double();
    else if (tag === 2 * 8 + FIXED64) limiter.minDiff = reader.double();
    else if (tag === 3 * 8 + FIXED64) limiter.maxDiff = reader.double();
    else if (tag === 4 * 8 + VARINT) limiter.minSize = reader.int64();
    else if (tag === 5 * 8 + DELIMITED) limiter.inserts = completed();
    else if (tag === 6 * 8 + DELIMITED) limiter.samples = completed();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return limiter;
}
