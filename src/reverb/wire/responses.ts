/**
 * Reads the responses of a server. Each function throws ReplayError CORRUPT for a malformed message. The `content` of a tensor is a view of the message's
 * bytes.
 */
import { BytesReader, DELIMITED, VARINT } from "./bytes-reader.ts";
import { readSampleInfo, type SampleInfoMessage } from "./item.ts";
import { type ChunkMessage, readChunk } from "./tensor.ts";

/** A part of a sample, usually the only part. */
export interface SampleEntry {
  /** The information about the sample, which only the first part has. */
  readonly info: SampleInfoMessage | undefined;
  readonly chunks: readonly ChunkMessage[];
  /** Whether this is the last part of the sample. */
  readonly isLast: boolean;
}

/** Reads the keys of the items that the server has inserted. */
export function readInsertResponse(bytes: Uint8Array): bigint[] {
  const reader = new BytesReader(bytes, "InsertStreamResponse");
  const keys: bigint[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) {
      const outer = reader.enter();
      while (reader.more) keys.push(reader.uint64());
      reader.leaveMessage(outer);
    } else if (tag === 1 * 8 + VARINT) keys.push(reader.uint64());
    else reader.skip(tag);
  }
  return keys;
}

export function readSampleResponse(bytes: Uint8Array): SampleEntry[] {
  const reader = new BytesReader(bytes, "SampleStreamResponse");
  const entries: SampleEntry[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) entries.push(readEntry(reader));
    else reader.skip(tag);
  }
  return entries;
}

function readEntry(reader: BytesReader): SampleEntry {
  const outer = reader.enter();
  const chunks: ChunkMessage[] = [];
  let info: SampleInfoMessage | undefined;
  let isLast = false;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) info = readSampleInfo(reader);
    else if (tag === 2 * 8 + DELIMITED) chunks.push(readChunk(reader));
    else if (tag === 3 * 8 + VARINT) isLast = reader.bool();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { info, chunks, isLast };
}

/** Reads a path on the server's disk. */
export function readCheckpointResponse(bytes: Uint8Array): string {
  const reader = new BytesReader(bytes, "CheckpointResponse");
  let path = "";
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) path = reader.string();
    else reader.skip(tag);
  }
  return path;
}

/** Reads the response to a call without a result. */
export function readEmpty(bytes: Uint8Array, name: string): void {
  const reader = new BytesReader(bytes, name);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) reader.skip(tag);
}
