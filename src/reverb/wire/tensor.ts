/** Encodes and reads the messages of tensors and chunks of tensors: TensorProto, ChunkData. `tensors/` handles the content of tensors. */
import { type BytesReader, DELIMITED, readOnly, VARINT } from "./bytes-reader.ts";
import type { BytesWriter } from "./bytes-writer.ts";

export interface TensorMessage {
  /** The number of the data type in TensorFlow. */
  readonly dtype: number;
  /** The shape, with steps first. */
  readonly shape: readonly number[];
  readonly content: Uint8Array;
}

/** The same steps of one or more columns. */
export interface ChunkMessage {
  readonly key: bigint;
  readonly episodeId: bigint;
  /** The numbers of the first and the last step in their episode. */
  readonly start: number;
  readonly end: number;
  /** Whether steps in between are missing. */
  readonly sparse: boolean;
  readonly deltaEncoded: boolean;
  readonly tensors: readonly TensorMessage[];
  /** The uncompressed size in bytes, as a statistic. */
  readonly uncompressedSize: number;
}

export interface ShapeMessage {
  /** The dimensions; -1 for any size. */
  readonly dims: readonly number[];
  readonly unknownRank: boolean;
}

const EMPTY = new Uint8Array(0);

export function readShape(reader: BytesReader): ShapeMessage {
  const outer = reader.enter();
  const dims: number[] = [];
  let unknownRank = false;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 2 * 8 + DELIMITED) dims.push(readOnly(reader, 1 * 8 + VARINT, () => reader.int64(), 0));
    else if (tag === 3 * 8 + VARINT) unknownRank = reader.bool();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { dims, unknownRank };
}

function writeShape(writer: BytesWriter, field: number, dims: readonly number[]): void {
  const start = writer.length;
  for (let i = dims.length - 1; i >= 0; i--) {
    const dimStart = writer.length;
    writer.int64(1, dims[i] as number);
    writer.message(2, dimStart);
  }
  writer.message(field, start);
}

function readTensor(reader: BytesReader): TensorMessage {
  const outer = reader.enter();
  let dtype = 0;
  let shape: readonly number[] = [];
  let content: Uint8Array = EMPTY;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + VARINT) dtype = reader.int32();
    else if (tag === 2 * 8 + DELIMITED) shape = readShape(reader).dims;
    else if (tag === 4 * 8 + DELIMITED) content = reader.bytes();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { dtype, shape, content };
}

function writeTensor(writer: BytesWriter, field: number, { dtype, shape, content }: TensorMessage): void {
  const start = writer.length;
  writer.bytes(4, content);
  writeShape(writer, 2, shape);
  writer.int32(1, dtype);
  writer.message(field, start);
}

export function readChunk(reader: BytesReader): ChunkMessage {
  const outer = reader.enter();
  const tensors: TensorMessage[] = [];
  let key = 0n;
  let deltaEncoded = false;
  let uncompressedSize = 0;
  let episodeId = 0n;
  let start = 0;
  let end = 0;
  let sparse = false;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + VARINT) key = reader.uint64();
    else if (tag === 2 * 8 + DELIMITED) {
      const chunk = reader.enter();
      for (let inner = reader.tag(); inner !== 0; inner = reader.tag()) {
        if (inner === 1 * 8 + VARINT) episodeId = reader.uint64();
        else if (inner === 2 * 8 + VARINT) start = reader.int32();
        else if (inner === 3 * 8 + VARINT) end = reader.int32();
        else if (inner === 4 * 8 + VARINT) sparse = reader.bool();
        else reader.skip(inner);
      }
      reader.leaveMessage(chunk);
    } else if (tag === 4 * 8 + VARINT) deltaEncoded = reader.bool();
    else if (tag === 5 * 8 + DELIMITED) {
      const chunk = reader.enter();
      for (let inner = reader.tag(); inner !== 0; inner = reader.tag()) {
        if (inner === 1 * 8 + DELIMITED) tensors.push(readTensor(reader));
        else reader.skip(inner);
      }
      reader.leaveMessage(chunk);
    } else if (tag === 7 * 8 + VARINT) uncompressedSize = reader.int64();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { key, episodeId, start, end, sparse, deltaEncoded, tensors, uncompressedSize };
}

export function writeChunk(writer: BytesWriter, field: number, chunk: ChunkMessage): void {
  const { tensors } = chunk;
  const start = writer.length;
  writer.int64(7, chunk.uncompressedSize);
  writer.int32(6, tensors.length);
  const data = writer.length;
  for (let i = tensors.length - 1; i >= 0; i--) writeTensor(writer, 1, tensors[i] as TensorMessage);
  writer.message(5, data);
  writer.bool(4, chunk.deltaEncoded);
  const range = writer.length;
  writer.bool(4, chunk.sparse);
  writer.int32(3, chunk.end);
  writer.int32(2, chunk.start);
  writer.uint64(1, chunk.episodeId);
  writer.message(2, range);
  writer.uint64(1, chunk.key);
  writer.message(field, start);
}
