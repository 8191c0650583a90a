/** Exports reprise/adapters/jax, which converts batches to jax-js arrays. The library is passed as an argument, so it is never loaded twice. */
import "../base/host.ts";
import { mustBe } from "../base/error.ts";
import type { AnyArray } from "../schema/dtype.ts";
import { int32, type MappedBatch, mapArrays } from "./columns.ts";

/** The part of the `numpy` of `@jax-js/jax` that is used. */
export interface Numpy<T> {
  array(values: Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | number[], options: { shape: number[] }): T;
}

/** The nest of a batch in which jax-js arrays replace the columns. It is a tree that `jit`, `grad`, `tree.ref` and similar functions accept. */
export type Arrays<B, T> = MappedBatch<B, T>;

/**
 * Copies a batch into jax-js arrays. The batch may come from `sample`, a view of transitions, or a dataset. Any nest of columns also works, such as
 * `batch.steps`. The result has the same names. Floats become float32 (the default of JAX), `u32` becomes uint32, and other integers and `bool` become int32.
 * `keys`, strings and counts are omitted. If the batch is shorter than requested, the arrays have `count` rows.
 *
 * The caller owns the arrays, each with one reference. A function that takes an array consumes it. Use `tree.dispose` to free the other arrays. The arrays keep
 * their values when the batch is refilled (`into`).
 * @throws TypeError if an argument is invalid
 * @throws RangeError if an integer exceeds 32 bits. In that case, all arrays are freed
 */
export function arrays<B extends object, T extends { dispose(): void }>(numpy: Numpy<T>, batch: B): Arrays<B, T> {
  if (typeof numpy?.array !== "function") throw mustBe(TypeError, "numpy", ["the numpy export of jax-js", 'Use import { numpy } from "@jax-js/jax"'], numpy);
  const copies: T[] = [];
  try {
    return mapArrays(batch, (data, shape, path) => {
      // jax-js cannot create an array from an empty typed array.
      const array = numpy.array(data.length === 0 ? [] : valuesOf(data, path), { shape });
      copies.push(array);
      return array;
    });
  } catch (error) {
    for (const array of copies) array.dispose();
    throw error;
  }
}

function valuesOf(data: AnyArray, path: string): Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> {
  if (data instanceof Float32Array || data instanceof Int32Array || data instanceof Uint32Array) return data as Float32Array<ArrayBuffer>;
  return data instanceof Float64Array ? new Float32Array(data) : int32(data, path);
}
