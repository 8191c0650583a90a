/** reprise/adapters/tfjs: batches as tensors of TensorFlow.js. The library is an argument, so that any build of it will do. */
import "../base/host.ts";
import { mustBe } from "../base/error.ts";
import type { AnyArray } from "../schema/dtype.ts";
import { int32, type MappedBatch, mapArrays } from "./columns.ts";

/** What is needed of `@tensorflow/tfjs`, `@tensorflow/tfjs-core`, `@tensorflow/tfjs-node` …: `import * as tf`. */
export interface TensorFlow<T> {
  tensor(values: Float32Array | Int32Array, shape: number[], dtype: "float32" | "int32"): T;
}

/** The nest of a batch with tensors in place of columns. */
export type Tensors<B, T> = MappedBatch<B, T> & { [Symbol.dispose](): void };

/**
 * Copies a batch into tensors: a result of `sample`, of a view of transitions, of a dataset, or any nest of columns, such as `batch.steps`.
 * The result has the same names. Floats become float32, integers and `bool` become int32. `keys`, text and counts are not in it: they stay in the
 * batch. A batch that is shorter than asked for gives tensors of `count` rows.
 *
 * The tensors are yours: free them with `using`, `tf.dispose`, or by a call inside of `tf.tidy`. They keep their values when the batch is refilled (`into`).
 * @throws TypeError · RangeError for an integer beyond 32 bits; no tensor is left behind then
 */
export function tensors<B extends object, T extends { dispose(): void }>(tf: TensorFlow<T>, batch: B): Tensors<B, T> {
  if (typeof tf?.tensor !== "function") throw mustBe(TypeError, "tf", 'TensorFlow.js (import * as tf from "@tensorflow/tfjs")', tf);
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
    // Not enumerable: whatever goes over the nest finds tensors alone. A runtime without `using` has no such symbol.
    return (Symbol.dispose === undefined ? nest : Object.defineProperty(nest as object, Symbol.dispose, { value: dispose })) as Tensors<B, T>;
  } catch (error) {
    dispose();
    throw error;
  }
}

/** Always a copy: TensorFlow.js goes on using the array that it is given. */
function valuesOf(data: AnyArray, path: string): Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> {
  return data instanceof Float32Array || data instanceof Float64Array ? new Float32Array(data) : int32(data, path);
}
