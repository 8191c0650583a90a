/** Converts arrays of steps to tensors on the wire, and back. */
import { ReplayError } from "../../base/error.ts";
import { type AnyArray, type ArrayOf, DTYPES, type Dtype } from "../../schema/dtype.ts";
import { type HalfDtype, isHalf, narrowHalves, widenHalves } from "../../schema/half.ts";
import type { TensorMessage } from "../wire/tensor.ts";
import { type DataType, dataType, dataTypeOf, typeName } from "./data-types.ts";
import { fromDeltas, toDeltas } from "./delta.ts";
import { compress, uncompress } from "./snappy.ts";
import { readStrings, writeStrings } from "./strings.ts";

/** The content of a tensor, whose first dimension counts steps. */
export interface Tensor {
  readonly dtype: Dtype | "string";
  readonly shape: readonly number[];
  readonly data: ArrayOf<Dtype> | string[];
}

const REFERENCE_BYTES = 8;

/** Encodes a tensor. @param delta whether the chunk is delta encoded; this applies to integers with more dimensions than time */
export function writeTensor(dtype: Dtype | "string", shape: readonly number[], data: AnyArray | readonly string[], delta = false): TensorMessage {
  const type = dataTypeOf(dtype);
  if (!ArrayBuffer.isView(data)) return { dtype: type.number, shape, content: writeStrings(data) };
  const stored = isHalf(dtype) ? narrowHalves(dtype, data as Float32Array) : data;
  let bytes = new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength);
  if (delta && isDelta(type, shape)) {
    bytes = bytes.slice();
    toDeltas(bytes as Uint8Array<ArrayBuffer>, type.bytes, data.length / (shape[0] as number));
  }
  return { dtype: type.number, shape, content: compress(bytes) };
}

/** Returns the uncompressed size of a tensor's elements in bytes; for text, the number of UTF-16 code units. */
export function sizeOfData(dtype: Dtype | "string", data: AnyArray | readonly string[]): number {
  if (ArrayBuffer.isView(data)) return data.length * dataTypeOf(dtype).bytes;
  return data.reduce((sum, text) => sum + text.length, 0);
}

/** Returns the memory for `count` elements; for text, only the references. */
export function bytesOf(dtype: Tensor["dtype"], count: number): number {
  return count * (dtype === "string" ? REFERENCE_BYTES : DTYPES[dtype].array.BYTES_PER_ELEMENT);
}

/**
 * Reads a tensor. Half floats become a Float32Array, complex numbers get a last dimension of 2, and invalid UTF-8 becomes U+FFFD. O(bytes)
 * @param taking receives the size of the elements in bytes before they are allocated, and may throw
 * @throws ReplayError CORRUPT if the content does not match the shape · UNSUPPORTED for another data type
 */
export function readTensor({ dtype, shape, content }: TensorMessage, delta: boolean, taking?: (bytes: number) => void): Tensor {
  const type = dataType(dtype);
  if (type === undefined)
    throw new ReplayError("UNSUPPORTED", `a tensor has the TensorFlow data type ${dtype} (${typeName(dtype)}), which Reprise cannot read`);
  const count = countOf(shape);
  if (type.as === "string") {
    const texts = readStrings(content, count, () => taking?.(bytesOf("string", count) + content.length));
    return { dtype: "string", shape, data: texts };
  }
  const bytes = uncompress(content, count * type.bytes, taking && (() => taking(bytesOf(type.as, type.widen === "pair" ? 2 * count : count))));
  if (delta && isDelta(type, shape)) fromDeltas(bytes, type.bytes, count / (shape[0] as number));
  if (type.widen === "pair") return { dtype: type.as, shape: [...shape, 2], data: elements(type.as, bytes) };
  if (type.widen === undefined) return { dtype: type.as, shape, data: elements(type.as, bytes) };
  return { dtype: type.as, shape, data: widenHalves(type.as as HalfDtype, new Uint16Array(bytes.buffer)) };
}

function isDelta(type: DataType, shape: readonly number[]): boolean {
  return type.integer && shape.length >= 2 && (shape[0] as number) > 0;
}

function elements(dtype: Dtype, { buffer }: Uint8Array<ArrayBuffer>): ArrayOf<Dtype> {
  return new DTYPES[dtype].array(buffer) as ArrayOf<Dtype>;
}

/** Returns the number of elements. @throws ReplayError CORRUPT for a negative dimension, or for more than 2^40 elements */
function countOf(shape: readonly number[]): number {
  let count = 1;
  for (let i = 0; i < shape.length; i++) {
    const n = shape[i] as number;
    count *= n;
    if (n < 0 || count > 2 ** 40) throw new ReplayError("CORRUPT", `a tensor has the impossible shape [${shape.join(", ")}]`);
  }
  return count;
}
