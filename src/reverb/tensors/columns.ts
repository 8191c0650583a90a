/** Assembles the columns of an item from slices of chunks. */
import { corrupt, ReplayError } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import { zeros } from "../../schema/dtype.ts";
import type { ColumnMessage, SliceMessage } from "../wire/item.ts";
import type { ChunkMessage, TensorMessage } from "../wire/tensor.ts";
import { bytesOf, readTensor, type Tensor } from "./tensors.ts";

/** The start of every CORRUPT message in this file. */
const INCOMPLETE = "an item cannot be assembled";

/** A column of an item. */
export interface ItemColumn {
  readonly dtype: Tensor["dtype"];
  /** The values, [steps, …], or without the dimension of steps if the column is squeezed. */
  readonly column: Column;
  readonly isSqueezed: boolean;
}

/** A chunk, and its tensors that were read so far. */
interface OpenChunk {
  readonly message: ChunkMessage;
  readonly tensors: (Tensor | undefined)[];
}

/**
 * The chunks of one sample. A tensor is read when a slice first needs it. Neither the tensors nor the columns made from them exceed the memory limit: a small
 * chunk may decompress to many bytes, and an item may name the same steps repeatedly.
 */
export class Chunks {
  readonly #chunks = new Map<bigint, OpenChunk>();
  readonly #maxBytes: number;
  #tensorBytes = 0;
  #columnBytes = 0;

  /** @param maxBytes the limit on the bytes of the tensors, and separately on the bytes of the columns. Default: no limit */
  constructor(chunks: readonly ChunkMessage[], maxBytes = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes;
    // If a key occurs twice, the first chunk counts.
    for (const message of chunks) if (!this.#chunks.has(message.key)) this.#chunks.set(message.key, { message, tensors: [] });
  }

  /**
   * Returns a column. O(bytes + slices)
   * @throws ReplayError CORRUPT for a slice of missing data · UNSUPPORTED for data types that are neither numbers nor texts · OUT_OF_MEMORY for more bytes than
   * the limit, before any allocation
   */
  column({ slices, squeeze }: ColumnMessage): ItemColumn {
    const [first] = slices;
    if (first === undefined) throw corrupt(INCOMPLETE, "a column has no slices");
    const tensor = this.#tensor(first);
    const { dtype, shape } = tensor;
    if (slices.length === 1) {
      // Numbers are views of the tensor, but texts are copied.
      if (dtype === "string") this.#reserve(bytesOf(dtype, first.length * sizeOfStep(tensor)));
      const data = sliceTensor(tensor, first);
      if (squeeze && first.length !== 1) throw corrupt(INCOMPLETE, `a column of ${first.length} steps cannot be squeezed`);
      const rest = shape.slice(1);
      return { dtype, column: new Column(data as Column["data"], squeeze ? rest : [first.length, ...rest]), isSqueezed: squeeze };
    }
    if (squeeze) throw corrupt(INCOMPLETE, `a column of ${slices.length} slices cannot be squeezed`);
    return { dtype, column: this.#joined(tensor, slices), isSqueezed: false };
  }

  #joined(first: Tensor, slices: readonly SliceMessage[]): Column {
    const { dtype, shape } = first;
    const rest = shape.slice(1);
    const tensors = new Array<Tensor>(slices.length);
    let steps = 0;
    for (let i = 0; i < slices.length; i++) {
      const slice = slices[i] as SliceMessage;
      const tensor = this.#tensor(slice);
      tensors[i] = tensor;
      if (tensor.dtype !== dtype || !sameSteps(tensor.shape, shape))
        throw corrupt(INCOMPLETE, `a column has steps of ${dtype} [${rest}] and steps of ${tensor.dtype} [${tensor.shape.slice(1)}]`);
      mustHave(tensor, slice);
      steps += slice.length;
    }
    const length = steps * sizeOfStep(first);
    this.#reserve(bytesOf(dtype, length));
    const data = dtype === "string" ? new Array<string>(length) : zeros(dtype, length);
    let at = 0;
    for (let k = 0; k < slices.length; k++) {
      const from = sliceTensor(tensors[k] as Tensor, slices[k] as SliceMessage);
      if (Array.isArray(data)) for (let i = 0; i < from.length; i++) data[at + i] = from[i] as string;
      // With few numbers, a call costs more than the loop.
      else if (from.length < SMALL_ELEMENTS) for (let i = 0; i < from.length; i++) data[at + i] = from[i] as never;
      else data.set(from as never, at);
      at += from.length;
    }
    return new Column(data as Column["data"], [steps, ...rest]);
  }

  #tensor({ chunkKey, index }: SliceMessage): Tensor {
    const chunk = this.#chunks.get(chunkKey);
    if (chunk === undefined) throw corrupt(INCOMPLETE, `chunk ${chunkKey} is missing`);
    return chunk.tensors[index] ?? this.#read(chunk, index);
  }

  #read({ message: { key, tensors, deltaEncoded }, tensors: readTensors }: OpenChunk, index: number): Tensor {
    const message: TensorMessage | undefined = tensors[index];
    if (message === undefined) throw corrupt(INCOMPLETE, `chunk ${key} has no tensor ${index}`);
    const read = readTensor(message, deltaEncoded, (bytes) => {
      this.#tensorBytes = this.#addBytes(this.#tensorBytes, bytes, "chunks");
    });
    if (message.shape.length === 0) throw corrupt(INCOMPLETE, "a tensor has no time dimension");
    readTensors[index] = read;
    return read;
  }

  /** Counts the memory of a column toward the limit. */
  #reserve(bytes: number): void {
    this.#columnBytes = this.#addBytes(this.#columnBytes, bytes, "columns");
  }

  #addBytes(sum: number, bytes: number, subject: string): number {
    const all = sum + bytes;
    if (all <= this.#maxBytes) return all;
    throw new ReplayError("OUT_OF_MEMORY", `its ${subject} unpack to ${all} bytes or more, but maxMessageBytes is ${this.#maxBytes}`);
  }
}

/** The number of elements up to which a loop is faster than `set`. */
const SMALL_ELEMENTS = 16;

/** Returns whether the steps of two tensors have the same shape. */
function sameSteps(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 1; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function sizeOfStep({ shape }: Tensor): number {
  let size = 1;
  for (let i = 1; i < shape.length; i++) size *= shape[i] as number;
  return size;
}

function mustHave({ shape }: Tensor, { offset, length }: SliceMessage): void {
  const steps = shape[0] as number;
  if (offset < 0 || length < 1 || offset + length > steps)
    throw corrupt(INCOMPLETE, `steps ${offset} to ${offset + length} are outside a chunk of ${steps} steps`);
}

/** Returns the elements of some steps, as a view if possible. */
function sliceTensor(tensor: Tensor, slice: SliceMessage): Tensor["data"] {
  mustHave(tensor, slice);
  const { data, shape } = tensor;
  const { offset, length } = slice;
  if (length === shape[0]) return data;
  const stepSize = sizeOfStep(tensor);
  const [from, to] = [offset * stepSize, (offset + length) * stepSize];
  return Array.isArray(data) ? data.slice(from, to) : (data.subarray(from, to) as Tensor["data"]);
}
