/** Exports reprise/adapters/tfjs, which converts batches to TensorFlow.js tensors. The library is passed as an argument, so any build of it works. */
import "../base/host.ts";
import { mustBe } from "../base/error.ts";
import type { AnyArray } from "../schema/dtype.ts";
import { int32, type MappedBatch, mapArrays } from "./columns.ts";

/** The part of TensorFlow.js that is used. Any build has it, such as `@tensorflow/tfjs`, `@tensorflow/tfjs-core` or `@tensorflow/tfjs-node`. */
export interface TensorFlow<T> {
  tensor(values: Float32Array | Int32Array, shape: number[], dtype: "float32" | "int32"): T;
}

/** The nest of a batch in which tensors replace the columns. */
export type Tensors<B, T> = MappedBatch<B, T> & { [Symbol.dispose](): void };

/**
 * Copies a batch into tensors. The batch may come from `sample`, a view of transitions, or a dataset. Any nest of columns also works, such as `batch.steps`.
 * The result has the same names. Floats become float32, and integers and `bool` become int32. `keys`, strings and counts are omitted. If the batch is shorter
 * than requested, the tensors have `count` rows.
 *
 * The caller owns the tensors. Free them with `using`, `tf.dispose`, or a call inside `tf.tidy`. The tensors keep their values when the batch is refilled
 * (`into`).
 * @throws TypeError if an argument is invalid
 * @throws RangeError if an integer exceeds 32 bits. In that case, all tensors are freed
 */
export function tensors<B extends object, T extends { dispose(): void }>(tf: TensorFlow<T>, batch: B): Tensors<B, T> {
  if (typeof tf?.tensor !== "function") throw mustBe(TypeError, "tf", ["TensorFlow.js", 'Use import * as tf from "@tensorflow/tfjs"'], tf);
  const copies: T[] = [];
  const dispose = () => {
    for (const tensor of copies) tensor.dispose();
  };
  try {
    const nest = mapArrays(batch, (data, shape, path) => {
      const values = valuesOf(data, path);
      const tensor = tf.tensor(values, shape, values instanceof Float32Array ? "float32" : "int32");
      copies.push(tensor);
      return tensor;
    });
    // The property is not enumerable, so an iteration over the nest finds only tensors. A runtime that does not support `using` does not have this symbol.
    return (Symbol.dispose === undefined ? nest : Object.defineProperty(nest as object, Symbol.dispose, { value: dispose })) as Tensors<B, T>;
  } catch (error) {
    dispose();
    throw error;
  }
}

/** Always returns a copy, because TensorFlow.js keeps using the array that it receives. */
function valuesOf(data: AnyArray, path: string): Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> {
  return data instanceof Float32Array || data instanceof Float64Array ? new Float32Array(data) : int32(data, path);
}
