/** The columns of an item, put together out of slices of chunks. */
import { Column } from "../../column.ts";
import { ReplayError } from "../../error.ts";
import { zeros } from "../../spec/dtype.ts";
import type { ColumnMessage, SliceMessage } from "../wire/item.ts";
import type { ChunkMessage, TensorMessage } from "../wire/tensor.ts";
import { readTensor, type Tensor } from "./tensors.ts";

/** A column of an item. */
export interface ItemColumn {
  readonly dtype: Tensor["dtype"];
  /** Steps, unless it is squeezed. */
  readonly column: Column;
  readonly isSqueezed: boolean;
}

/** The chunks of one sample. A tensor is read when a slice first asks for it. */
export class Chunks {
  readonly #chunks: readonly ChunkMessage[];
  readonly #read = new Map<TensorMessage, Tensor>();

  constructor(chunks: readonly ChunkMessage[]) {
    this.#chunks = chunks;
  }

  /** @throws ReplayError CORRUPT for a slice of what is not there · UNSUPPORTED for data types that are no numbers or texts */
  column({ slices, squeeze }: ColumnMessage): ItemColumn {
    const [first] = slices;
    if (first === undefined) throw corrupt("a column has no slices");
    const tensor = this.#tensor(first);
    const { dtype, shape } = tensor;
    if (slices.length === 1) {
      const data = part(tensor, first);
      if (squeeze && first.length !== 1) throw corrupt(`a column of ${first.length} steps cannot be squeezed`);
      const rest = shape.slice(1);
      return { dtype, column: new Column(data as Column["data"], squeeze ? rest : [first.length, ...rest]), isSqueezed: squeeze };
    }
    if (squeeze) throw corrupt(`a column of ${slices.length} slices cannot be squeezed`);
    return { dtype, column: this.#joined(tensor, slices), isSqueezed: false };
  }

  #joined({ dtype, shape }: Tensor, slices: readonly SliceMessage[]): Column {
    const [, ...rest] = shape;
    const parts = slices.map((slice) => {
      const tensor = this.#tensor(slice);
      if (tensor.dtype !== dtype || tensor.shape.length !== shape.length || rest.some((n, i) => n !== tensor.shape[i + 1]))
        throw corrupt(`a column has steps of ${dtype} [${rest}] and of ${tensor.dtype} [${tensor.shape.slice(1)}]`);
      return part(tensor, slice);
    });
    let steps = 0;
    for (const { length } of slices) steps += length;
    if (dtype === "string") return new Column(parts.flat() as unknown as Column["data"], [steps, ...rest]);
    let length = 0;
    for (const one of parts) length += one.length;
    const data = zeros(dtype, length);
    let at = 0;
    for (const one of parts) {
      data.set(one as never, at);
      at += one.length;
    }
    return new Column(data, [steps, ...rest]);
  }

  #tensor({ chunkKey, index }: SliceMessage): Tensor {
    const chunk = this.#chunks.find(({ key }) => key === chunkKey);
    const message = chunk?.tensors[index];
    if (chunk === undefined || message === undefined)
      throw corrupt(chunk === undefined ? `chunk ${chunkKey} did not come with it` : `chunk ${chunkKey} has no tensor ${index}`);
    let tensor = this.#read.get(message);
    if (tensor === undefined) {
      tensor = readTensor(message, chunk.deltaEncoded);
      if (message.shape.length === 0) throw corrupt("a tensor has no dimension of time");
      this.#read.set(message, tensor);
    }
    return tensor;
  }
}

/** The elements of some steps; a view where there is one. */
function part({ shape, data }: Tensor, { offset, length }: SliceMessage): Tensor["data"] {
  const steps = shape[0] as number;
  if (offset < 0 || length < 1 || offset + length > steps) throw corrupt(`steps ${offset} to ${offset + length} are asked of a chunk of ${steps}`);
  if (length === steps) return data;
  const each = data.length / steps;
  const [from, to] = [offset * each, (offset + length) * each];
  return Array.isArray(data) ? data.slice(from, to) : (data.subarray(from, to) as Tensor["data"]);
}

function corrupt(why: string): ReplayError {
  return new ReplayError("CORRUPT", `an item cannot be put together: ${why}`);
}
