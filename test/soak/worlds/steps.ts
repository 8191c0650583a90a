/** Generates steps whose values all follow from the step's number, which reveals foreign bytes. */
import type { Leaf, Spec } from "../../../src/index.ts";
import { leaves, pack } from "../../../src/schema/nest.ts";

/** Returns the value of element k in a leaf of a step. */
export function elementOf(path: string, dtype: string, id: number, k: number): number {
  if (path === "id") return id;
  const mixed = (id * 31 + path.length * 7 + path.charCodeAt(path.length - 1) + k * 13) % 251;
  return dtype === "bool" ? mixed & 1 : mixed;
}

interface Known {
  readonly path: string;
  readonly leaf: Leaf;
  readonly size: number;
}

export class Steps {
  readonly #spec: Spec;
  readonly known: readonly Known[];

  constructor(spec: Spec) {
    this.#spec = spec;
    this.known = leaves(spec as never).map(({ keys, leaf }) => {
      const { shape } = leaf as Leaf;
      return { path: keys.join("/"), leaf: leaf as Leaf, size: shape.reduce((product, n) => product * n, 1) };
    });
  }

  /** Returns the values of consecutive steps by leaf: as a step, as the lanes of a step, or as a block. */
  of(ids: readonly number[], columns: boolean): unknown {
    const values = this.known.map(({ path, leaf, size }) => {
      const all = ids.flatMap((id) => Array.from({ length: size }, (_, k) => elementOf(path, leaf.dtype, id, k)));
      if (columns || leaf.shape.length > 0) return arrayOf(leaf.dtype, all);
      return leaf.dtype === "bool" ? all[0] === 1 : all[0];
    });
    return pack(this.#spec as never, values);
  }

  /** Fills the staging record. */
  into(staged: unknown, ids: readonly number[]): void {
    for (const { path, leaf, size } of this.known) {
      const keys = path.split("/");
      const node = keys.slice(0, -1).reduce((at, key) => at[key] as { [name: string]: unknown }, staged as { [name: string]: unknown });
      const name = keys.at(-1) as string;
      const all = ids.flatMap((id) => Array.from({ length: size }, (_, k) => elementOf(path, leaf.dtype, id, k)));
      if (ArrayBuffer.isView(node[name])) (node[name] as Float64Array).set(all);
      else node[name] = leaf.dtype === "bool" ? all[0] === 1 : all[0];
    }
  }

  /** Returns the first value in the columns of a batch that differs from its step. Rows after the end of an item and blank rows must be zero. */
  wrong(
    batch: unknown,
    items: readonly { readonly first: number; readonly length: number }[],
    width: number,
    blank: { has(step: number): boolean },
  ): string | undefined {
    for (const { path, leaf, size } of this.known) {
      const { data } = path.split("/").reduce((at, key) => (at as { [name: string]: unknown })[key], batch) as { readonly data: ArrayLike<number> };
      for (const [i, { first, length }] of items.entries())
        for (let t = 0; t < width; t++)
          for (let k = 0; k < size; k++) {
            const expected = t < length && !blank.has(first + t) ? elementOf(path, leaf.dtype, first + t, k) : 0;
            const found = data[(i * width + t) * size + k];
            if (found !== expected) return `${path} of draw ${i}, step ${t}, element ${k} is ${found} instead of ${expected}`;
          }
    }
    return undefined;
  }
}

const ARRAYS = { f32: Float32Array, f64: Float64Array, u8: Uint8Array, i32: Int32Array, bool: Uint8Array } as const;

function arrayOf(dtype: string, values: readonly number[]): ArrayBufferView {
  return Reflect.construct(ARRAYS[dtype as keyof typeof ARRAYS], [values]);
}
