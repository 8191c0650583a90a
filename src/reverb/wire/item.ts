/** Encodes and reads the messages of items and of information about samples: PrioritizedItem, SampleInfo. */
import { type BytesReader, DELIMITED, FIXED64, VARINT } from "./bytes-reader.ts";
import type { BytesWriter } from "./bytes-writer.ts";

/** Selects `length` steps of tensor `index` of a chunk, from step `offset` of the chunk on. */
export interface SliceMessage {
  readonly chunkKey: bigint;
  readonly offset: number;
  readonly length: number;
  readonly index: number;
}

export interface ColumnMessage {
  readonly slices: readonly SliceMessage[];
  /** Whether the column is a single step without a time dimension. */
  readonly squeeze: boolean;
}

export interface ItemMessage {
  readonly key: bigint;
  readonly table: string;
  readonly priority: number;
  readonly columns: readonly ColumnMessage[];
  readonly timesSampled: number;
}

export interface SampleInfoMessage {
  readonly item: ItemMessage;
  readonly probability: number;
  readonly tableSize: number;
  /** Whether the sampler had to wait for the rate limiter. */
  readonly rateLimited: boolean;
}

const NO_ITEM: ItemMessage = { key: 0n, table: "", priority: 0, columns: [], timesSampled: 0 };

function readSlice(reader: BytesReader): SliceMessage {
  const outer = reader.enter();
  let chunkKey = 0n;
  let offset = 0;
  let length = 0;
  let index = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + VARINT) chunkKey = reader.uint64();
    else if (tag === 2 * 8 + VARINT) offset = reader.int32();
    else if (tag === 3 * 8 + VARINT) length = reader.int32();
    else if (tag === 4 * 8 + VARINT) index = reader.int32();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { chunkKey, offset, length, index };
}

function readColumn(reader: BytesReader): ColumnMessage {
  const outer = reader.enter();
  const slices: SliceMessage[] = [];
  let squeeze = false;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) slices.push(readSlice(reader));
    else if (tag === 2 * 8 + VARINT) squeeze = reader.bool();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { slices, squeeze };
}

export function readItem(reader: BytesReader): ItemMessage {
  const outer = reader.enter();
  const columns: ColumnMessage[] = [];
  let key = 0n;
  let table = "";
  let priority = 0;
  let timesSampled = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + VARINT) key = reader.uint64();
    else if (tag === 2 * 8 + DELIMITED) table = reader.string();
    else if (tag === 5 * 8 + FIXED64) priority = reader.double();
    else if (tag === 6 * 8 + VARINT) timesSampled = reader.int32();
    else if (tag === 8 * 8 + DELIMITED) {
      const item = reader.enter();
      for (let inner = reader.tag(); inner !== 0; inner = reader.tag()) {
        if (inner === 1 * 8 + DELIMITED) columns.push(readColumn(reader));
        else reader.skip(inner);
      }
      reader.leaveMessage(item);
    } else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { key, table, priority, columns, timesSampled };
}

export function writeItem(writer: BytesWriter, field: number, { key, table, priority, columns, timesSampled }: ItemMessage): void {
  const start = writer.length;
  for (let c = columns.length - 1; c >= 0; c--) {
    const { slices, squeeze } = columns[c] as ColumnMessage;
    const column = writer.length;
    writer.bool(2, squeeze);
    for (let s = slices.length - 1; s >= 0; s--) {
      const { chunkKey, offset, length, index } = slices[s] as SliceMessage;
      const slice = writer.length;
      writer.int32(4, index);
      writer.int32(3, length);
      writer.int32(2, offset);
      writer.uint64(1, chunkKey);
      writer.message(1, slice);
    }
    writer.message(1, column);
  }
  writer.message(8, start);
  writer.int32(6, timesSampled);
  writer.double(5, priority);
  writer.string(2, table);
  writer.uint64(1, key);
  writer.message(field, start);
}

export function readSampleInfo(reader: BytesReader): SampleInfoMessage {
  const outer = reader.enter();
  let item = NO_ITEM;
  let probability = 0;
  let tableSize = 0;
  let rateLimited = false;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) item = readItem(reader);
    else if (tag === 2 * 8 + FIXED64) probability = reader.double();
    else if (tag === 3 * 8 + VARINT) tableSize = reader.int64();
    else if (tag === 4 * 8 + VARINT) rateLimited = reader.bool();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { item, probability, tableSize, rateLimited };
}
