/**
 * Determines the types of values over all lines. The first value without null determines the form. Later values widen the dtypes of numbers and can add names
 * to metadata.
 */
import { MAX_LEAVES } from "../../../base/limits.ts";
import { isLeaf, isText, sizeOf } from "../../../schema/leaf.ts";
import { setPart } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { NumberRange } from "../number-range.ts";
import { inferSpec, NUMBER_WORD } from "./infer.ts";

type Node = LeafTypes | Node[] | Map<string, Node>;

class LeafTypes {
  readonly leaf: StepLeaf;
  readonly range = new NumberRange();

  constructor(leaf: StepLeaf) {
    this.leaf = leaf;
  }

  add(value: unknown): void {
    if (Array.isArray(value)) for (const part of value) this.add(part);
    else if (typeof value === "number" || typeof value === "bigint") this.range.add(value);
    else if (typeof value === "string" && NUMBER_WORD.test(value)) this.range.add(Number(value));
  }

  spec(isReal: boolean): StepLeaf {
    const { dtype, shape } = this.leaf;
    return dtype === "f32" ? ({ dtype: sizeOf(shape) === 0 ? "f32" : this.range.dtype(isReal), shape } as StepLeaf) : this.leaf;
  }
}

/** The types of the values that were added so far. */
export class ValueTypes {
  #root: Node | undefined;
  readonly #grows: boolean;
  #leaves = 0;

  /** @param grows whether later objects may add names, as metadata may */
  constructor(grows: boolean) {
    this.#grows = grows;
  }

  /** Returns the spec of the values, or undefined if every value so far contained null or was nested too deeply. */
  spec(isReal: boolean): StepSpec | undefined {
    const visit = (node: Node): StepSpec => {
      if (node instanceof LeafTypes) return node.spec(isReal);
      if (Array.isArray(node)) return node.map(visit);
      const spec = {};
      for (const [name, part] of node) setPart(spec, name, visit(part));
      return spec as StepSpec;
    };
    return this.#root && visit(this.#root);
  }

  /** Adds a value. Skips parts that do not fit, because reading them later reports their place. */
  add(value: unknown): void {
    if (this.#root === undefined) this.#root = this.#nodeOf(value);
    if (this.#root !== undefined) this.#visit(this.#root, value);
  }

  #nodeOf(value: unknown): Node | undefined {
    const spec = inferSpec(value);
    const visit = (part: StepSpec): Node => {
      if (isLeaf(part)) {
        this.#leaves++;
        return new LeafTypes(part as StepLeaf);
      }
      return Array.isArray(part) ? part.map(visit) : new Map(Object.entries(part).map(([name, inner]) => [name, visit(inner as StepSpec)]));
    };
    return spec && visit(spec);
  }

  #visit(node: Node, value: unknown): void {
    if (node instanceof LeafTypes) node.add(value);
    else if (typeof value !== "object" || value === null) return;
    else if (Array.isArray(node)) {
      for (const [i, part] of node.entries()) this.#visit(part, (value as readonly unknown[])[i]);
    } else {
      for (const [name, part] of Object.entries(value)) {
        let inner = node.get(name);
        // One leaf more than the limit is enough to detect that the value has too many leaves.
        if (inner === undefined && this.#grows && this.#leaves <= MAX_LEAVES) {
          inner = this.#nodeOf(part);
          if (inner !== undefined) node.set(name, inner);
        }
        if (inner !== undefined) this.#visit(inner, part);
      }
    }
  }
}

/** Adds the names of the spec that a value lacks. Their values are NaN for floats, 0 for integers, empty text or bytes, and false. */
export function withMissing(spec: StepSpec, value: unknown): unknown {
  if (isLeaf(spec) || Array.isArray(spec) || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  let filled = value;
  for (const [name, part] of Object.entries(spec as { readonly [name: string]: StepSpec })) {
    const isThere = Object.hasOwn(value, name);
    const inner = (value as { readonly [name: string]: unknown })[name];
    const whole = isThere ? withMissing(part, inner) : missingValue(part);
    if (isThere && whole === inner) continue;
    if (filled === value) filled = { ...value };
    setPart(filled, name, whole);
  }
  return filled;
}

/** Returns the value that replaces a missing value of a spec. */
export function missingValue(spec: StepSpec): unknown {
  if (isLeaf(spec)) {
    const { dtype, shape } = spec as StepLeaf;
    const size = sizeOf(shape);
    const element = isText(spec as StepLeaf) ? (dtype === "bytes" ? new Uint8Array(0) : "") : /^b?f\d/.test(dtype) ? Number.NaN : dtype === "bool" ? false : 0;
    return shape.length === 0 ? element : { shape, data: new Array(size).fill(element) };
  }
  if (Array.isArray(spec)) return spec.map(missingValue);
  const whole = {};
  for (const [name, part] of Object.entries(spec)) setPart(whole, name, missingValue(part as StepSpec));
  return whole;
}
