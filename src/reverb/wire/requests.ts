/** Encodes the requests of a client. The field numbers are from Reverb 0.14. */
import { BytesWriter } from "./bytes-writer.ts";
import { type ItemMessage, writeItem } from "./item.ts";
import { type ChunkMessage, writeChunk } from "./tensor.ts";

export interface InsertRequest {
  readonly chunks: readonly ChunkMessage[];
  readonly items: readonly ItemMessage[];
  /** The chunks to which later requests of the stream may refer. If this request has items, the server drops all other chunks. */
  readonly keep: readonly bigint[];
}

export interface SampleRequest {
  readonly table: string;
  readonly samples: number;
  /** The timeout in milliseconds; -1 for no limit. */
  readonly timeout: number;
}

export interface MutateRequest {
  readonly table: string;
  readonly updates: readonly (readonly [bigint, number])[];
  readonly deletes: readonly bigint[];
}

/** The writer of all requests, used for one request at a time. */
const WRITER = new BytesWriter(1 << 16);

/** Encodes a request of an insert stream. @param head free bytes before the message, as in all other functions */
export function insertRequest({ chunks, items, keep }: InsertRequest, head = 0): Uint8Array<ArrayBuffer> {
  WRITER.packedInts(3, keep);
  for (let i = items.length - 1; i >= 0; i--) writeItem(WRITER, 2, items[i] as ItemMessage);
  for (let i = chunks.length - 1; i >= 0; i--) writeChunk(WRITER, 1, chunks[i] as ChunkMessage);
  return WRITER.take(head);
}

export function sampleRequest({ table, samples, timeout }: SampleRequest, head = 0): Uint8Array<ArrayBuffer> {
  WRITER.int64(1, timeout);
  WRITER.message(3, 0);
  WRITER.int64(2, samples);
  WRITER.string(1, table);
  return WRITER.take(head);
}

export function mutateRequest({ table, updates, deletes }: MutateRequest, head = 0): Uint8Array<ArrayBuffer> {
  WRITER.packedInts(3, deletes);
  for (let i = updates.length - 1; i >= 0; i--) {
    const [key, priority] = updates[i] as readonly [bigint, number];
    const start = WRITER.length;
    WRITER.double(2, priority);
    WRITER.uint64(1, key);
    WRITER.message(2, start);
  }
  WRITER.string(1, table);
  return WRITER.take(head);
}

export function resetRequest(table: string, head = 0): Uint8Array<ArrayBuffer> {
  WRITER.string(1, table);
  return WRITER.take(head);
}

/** Encodes a request without fields. */
export function emptyRequest(head = 0): Uint8Array<ArrayBuffer> {
  return new Uint8Array(head);
}
