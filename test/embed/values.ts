/** Generates random steps in two forms: the value that TypeScript receives, and the bytes of a packed step. */
import { DTYPES } from "../../src/schema/dtype.ts";
import { isHalf } from "../../src/schema/half.ts";
import type { RowLeaf } from "../../src/schema/leaf.ts";
import { pack } from "../../src/schema/nest.ts";
import { type FoundLeaf, leavesOf, type Spec } from "../../src/schema/spec.ts";
import type { TestRandom } from "../support/random.ts";
import { textBytes } from "./host.ts";

/** The value of a leaf: `given` is the form for TypeScript, `bytes` the form in a packed step. */
interface Value {
  readonly given: ArrayLike<unknown>;
  readonly bytes: Uint8Array;
}
export type Step = readonly Value[];

const TEXTS = ["", "a", "né", "long text", "\u{1f600}", "abcdefgh", "\uffee", "x".repeat(200)];

export const bytesIn = (array: ArrayBufferView): Uint8Array => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

export function join(runs: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(runs));
}

/** Generates the steps of a spec. */
export class Values {
  readonly #random: TestRandom;
  readonly #spec: Spec;
  readonly leaves: readonly FoundLeaf[];
  readonly #strange: readonly number[];
  /** The newest value of each packed leaf, by its path. */
  readonly #newest = new Map<string, ArrayLike<number>>();

  /** @param strange floats that occur occasionally */
  constructor(random: TestRandom, spec: Spec, strange: readonly number[]) {
    this.#random = random;
    this.#spec = spec;
    this.leaves = leavesOf(spec);
    this.#strange = strange;
  }

  steps(n: number): Step[] {
    return Array.from({ length: n }, () => this.leaves.map((leaf) => this.#value(leaf)));
  }

  /** Returns steps as columns, nested like the spec. A single step has no time dimension. */
  columns(steps: readonly Step[], single = false): unknown {
    const columns = this.leaves.map(({ leaf, shape, size }, i) => {
      if (single && shape.length === 0) return ((steps[0] as Step)[i] as Value).given[0];
      if (leaf.dtype === "string") return steps.flatMap((step) => (step[i] as Value).given as string[]);
      const all = new DTYPES[leaf.dtype].array(steps.length * size) as Float64Array;
      for (const [k, step] of steps.entries()) all.set((step[i] as Value).given as Float64Array, k * size);
      return all;
    });
    return pack(this.#spec, columns);
  }

  /** Returns, for each step, the bytes of each leaf by its path. */
  bytes(steps: readonly Step[]): Map<string, Uint8Array>[] {
    return steps.map((step) => new Map(this.leaves.map(({ path }, i) => [path, (step[i] as Value).bytes])));
  }

  #value({ leaf, size, path }: FoundLeaf): Value {
    const random = this.#random;
    if (leaf.dtype === "string") {
      const { maxBytes } = leaf;
      const fits = TEXTS.filter((text) => Buffer.byteLength(text) <= maxBytes || random.below(400) === 0);
      const texts = Array.from({ length: size }, () => random.pick(fits));
      return { given: texts, bytes: join(texts.map((text) => tooLong(text, maxBytes) ?? textBytes(text, maxBytes))) };
    }
    const { dtype } = leaf;
    const array = new DTYPES[dtype].array(size) as Float64Array;
    if (leaf.packed !== undefined && random.below(6) > 0) return this.#screen(path, array, size / (leaf.stack ?? 1), dtype);
    // In a quarter of all cases, the value stays all zeros.
    if (random.below(4) > 0) for (let i = 0; i < size; i++) array[i] = this.#number(dtype) as number;
    if (dtype === "bool" && random.below(400) === 0) array[0] = 2;
    // These numbers are finite as f32, but too large for some half-precision dtype.
    if (isHalf(dtype) && random.below(100) === 0) array[random.below(size)] = random.pick([65520, -7e4, 3.4e38]);
    return { given: array, bytes: bytesIn(array) };
  }

  /** Returns a value that changes like screens: usually the previous value with some elements changed, occasionally a new value. */
  #screen(path: string, array: Float64Array, frame: number, dtype: Exclude<RowLeaf["dtype"], "string">): Value {
    const random = this.#random;
    const before = this.#newest.get(path);
    const isCut = before === undefined || random.below(8) === 0;
    if (!isCut) array.set(Array.prototype.slice.call(before, frame % before.length), 0);
    for (let at = isCut ? 0 : array.length - frame; at < array.length; at += frame) {
      const period = 1 + random.below(6);
      for (let i = 0; i < frame; i++) array[at + i] = isCut ? ((i % period) as number) : (before[before.length - frame + i] as number);
      for (let k = random.below(5); k > 0; k--) array[at + random.below(frame)] = this.#number(dtype) as number;
    }
    this.#newest.set(path, array);
    return { given: array, bytes: bytesIn(array) };
  }

  #number(dtype: Exclude<RowLeaf["dtype"], "string">): number | bigint {
    const random = this.#random;
    const { min, max, big, float } = DTYPES[dtype];
    if (float) return random.below(400) === 0 ? random.pick(this.#strange) : random.pick([0, 1, -2.5, random.next() * 100]);
    if (dtype === "bool") return random.below(2);
    const small = random.below(4);
    if (random.below(3) > 0) return big ? BigInt(small) : small;
    return random.pick([min, max]);
  }
}

/** Returns the bytes of a text whose stored length exceeds the maximum, with zeros instead of the text. Returns undefined if the text fits. */
function tooLong(text: string, maxBytes: number): Uint8Array | undefined {
  if (Buffer.byteLength(text) <= maxBytes) return undefined;
  const bytes = textBytes("", maxBytes);
  new DataView(bytes.buffer).setUint32(0, Buffer.byteLength(text), true);
  return bytes;
}
