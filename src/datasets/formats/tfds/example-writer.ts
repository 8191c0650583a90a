/** One episode as a tf.train.Example: a map of names to lists of int64, float or bytes. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { isFloat } from "../../../schema/dtype.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { OutputLeaf } from "./feature-config.ts";

/** How an image becomes PNG. */
export type EncodePng = (pixels: Uint8Array, width: number, height: number, channels: number) => Uint8Array;

export interface OutputColumn {
  readonly name: string;
  readonly leaf: OutputLeaf;
  readonly data: ColumnData;
  /** Values in it: steps, or 1 for metadata. */
  readonly length: number;
}

/** tf.train.Feature's fields. */
const BYTES_LIST = 1;
const FLOAT_LIST = 2;
const INT64_LIST = 3;
const VALUE = 1;

const encoder = new TextEncoder();

/** Names in order, so that the same episode has the same bytes. */
export function exampleOf(columns: readonly OutputColumn[], encodePng: EncodePng): Uint8Array {
  const features = new BinaryWriter();
  for (const column of [...columns].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    features.tag(1, WireType.LengthDelimited).fork();
    features.tag(1, WireType.LengthDelimited).string(column.name);
    features.tag(2, WireType.LengthDelimited).fork();
    feature(features, column, encodePng);
    features.join().join();
  }
  return new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(features.finish()).finish();
}

function feature(to: BinaryWriter, { leaf, data, length }: OutputColumn, encodePng: EncodePng): void {
  const list = (field: number) => to.tag(field, WireType.LengthDelimited).fork();
  if (leaf.encoding === "none") {
    const packed = isFloat(leaf.leaf.dtype) ? floats(data as Float32Array) : integers(data as Int32Array);
    list(isFloat(leaf.leaf.dtype) ? FLOAT_LIST : INT64_LIST);
    if (packed.length > 0) to.tag(VALUE, WireType.LengthDelimited).bytes(packed);
  } else {
    list(BYTES_LIST);
    for (const bytes of values(leaf, data, length, encodePng)) to.tag(VALUE, WireType.LengthDelimited).bytes(bytes);
  }
  to.join();
}

function* values({ encoding, leaf, size }: OutputLeaf, data: ColumnData, length: number, encodePng: EncodePng): Generator<Uint8Array, void> {
  if (encoding === "text") {
    for (const value of data as readonly (string | Uint8Array)[]) yield typeof value === "string" ? encoder.encode(value) : value;
    return;
  }
  const column = data as Float64Array;
  for (let i = 0; i < length; i++) {
    const value = column.subarray(i * size, (i + 1) * size);
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    yield encoding === "png" ? encodePng(bytes, leaf.shape[1] as number, leaf.shape[0] as number, leaf.shape[2] as number) : bytes;
  }
}

/** Little endian as memory is: WebAssembly runs on nothing else. */
function floats(data: Float32Array): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** Base-128 numbers; a negative one has ten bytes, and so has a uint64 from 2^63 on: tensorflow_datasets makes it of the int64 of the same bits. */
function integers(data: Int8Array | Int16Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array): Uint8Array {
  const wide = data instanceof BigInt64Array || data instanceof BigUint64Array;
  const bytes = new Uint8Array(data.length * (wide || data instanceof Int32Array || data instanceof Int8Array || data instanceof Int16Array ? 10 : 5));
  let at = 0;
  for (let i = 0; i < data.length; i++) {
    const value = data[i] as number | bigint;
    if (typeof value === "number" && value >= 0) {
      let rest = value;
      for (; rest > 127; rest = Math.floor(rest / 128)) bytes[at++] = (rest & 127) | 128;
      bytes[at++] = rest;
    } else {
      let rest = BigInt.asUintN(64, BigInt(value));
      for (; rest > 127n; rest >>= 7n) bytes[at++] = Number(rest & 127n) | 128;
      bytes[at++] = Number(rest);
    }
  }
  return bytes.subarray(0, at);
}
