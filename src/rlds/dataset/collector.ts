/** Steps into columns: every value is checked against the spec, and copied. */

import { mustBe } from "../../error.ts";
import type { AnyArray, Dtype } from "../../spec/dtype.ts";
import type { StepSpec } from "./dataset.ts";
import { BOUNDS, isColumn, isList, kindOf, typedAs } from "./fit.ts";
import { type AnyLeaf, ARRAYS, type FoundLeaf, isLeaf, isText, leavesOf, zeros } from "./leaves.ts";
import { type Place, RldsError } from "./rlds-error.ts";
import type { ColumnData } from "./step-columns.ts";

/** Any typed array of numbers, as if they were one. */
type Numbered = Float32Array;

/** Columns that grow step by step. */
export class Collector {
  readonly #spec: StepSpec;
  readonly #leaves: readonly FoundLeaf[];
  readonly #typed: readonly ReturnType<typeof typedAs>[];
  #columns: (AnyArray | (string | Uint8Array)[])[];
  #room: number;
  #length = 0;
  #textBytes = 0;
  readonly #stepBytes: number;

  /** @param room steps that there will probably be */
  constructor(spec: StepSpec, room = 64) {
    this.#spec = spec;
    this.#leaves = leavesOf(spec);
    this.#typed = this.#leaves.map(({ leaf }) => typedAs(leaf.dtype));
    this.#room = Math.max(room, 1);
    this.#stepBytes = this.#leaves.reduce((sum, { leaf, size }) => sum + (isText(leaf) ? 0 : size * ARRAYS[leaf.dtype].BYTES_PER_ELEMENT), 0);
    this.#columns = this.#empty();
  }

  get length(): number {
    return this.#length;
  }

  /** Of what was collected, about. */
  get bytes(): number {
    return this.#length * this.#stepBytes + this.#textBytes;
  }

  /** @param what is added, as a message calls it @throws RldsError SPEC_MISMATCH, with the place and the leaf's path */
  add(step: unknown, place: Place = {}, what = "step"): void {
    if (this.#length === this.#room) this.#grow();
    let at = 0;
    const visit = (node: StepSpec, value: unknown, path: string): void => {
      if (isLeaf(node)) {
        this.#put(at++, path, value, place, what);
        return;
      }
      const names = Array.isArray(node) ? Object.keys(node) : Object.keys(node).sort();
      const given = typeof value === "object" && value !== null && !ArrayBuffer.isView(value) ? Object.keys(value) : undefined;
      if (given === undefined) throw wrong(path, what, `an object with ${names.join(", ")}`, value, place);
      for (const name of given) if (!Object.hasOwn(node, name)) throw wrong(path, what, `an object with ${names.join(", ")} and nothing else`, value, place);
      for (const name of names)
        visit((node as { [name: string]: StepSpec })[name] as StepSpec, (value as { [name: string]: unknown })[name], path === "" ? name : `${path}/${name}`);
    };
    visit(this.#spec, step, "");
    this.#length++;
  }

  /** What was collected; it begins anew. */
  take(): { readonly data: ColumnData[]; readonly length: number } {
    const length = this.#length;
    const data = this.#columns.map((column, i): ColumnData => {
      const size = (this.#leaves[i] as FoundLeaf).size * length;
      return Array.isArray(column) ? column.slice(0, size) : (column as Numbered).slice(0, size);
    });
    this.#columns = this.#empty();
    this.#length = 0;
    this.#textBytes = 0;
    return { data, length };
  }

  #empty(): (AnyArray | (string | Uint8Array)[])[] {
    return this.#leaves.map(({ leaf, size }) => (isText(leaf) ? [] : (zeros(leaf.dtype, size * this.#room) as AnyArray)));
  }

  #grow(): void {
    this.#room *= 2;
    this.#columns = this.#columns.map((column, i) => {
      if (Array.isArray(column)) return column;
      const { leaf, size } = this.#leaves[i] as FoundLeaf;
      const larger = zeros(leaf.dtype as Dtype, size * this.#room) as unknown as Numbered;
      larger.set(column as Numbered);
      return larger as AnyArray;
    });
  }

  #put(column: number, path: string, value: unknown, place: Place, what: string): void {
    const { leaf, size } = this.#leaves[column] as FoundLeaf;
    const isTyped = this.#typed[column] as ReturnType<typeof typedAs>;
    const to = this.#columns[column] as unknown as Numbered;
    const from = this.#length * size;
    const { shape } = leaf;
    const given = value;
    if (isColumn(value) && value.shape.join() === shape.join()) value = value.data;
    if (isTyped(value) && value.length === size && leaf.dtype !== "bool") {
      to.set(value, from);
      return;
    }
    let next = from;
    const spread = (part: unknown, depth: number, elements: number): boolean => {
      if (depth === shape.length) return putElement(leaf, to, next++, part);
      const list = part as ArrayLike<unknown>;
      if (!Array.isArray(part) && !isTyped(part)) return false;
      // Of bytes each is one element.
      const flat = list.length === elements && !(leaf.dtype === "bytes" ? Array.isArray(list[0]) : isList(list[0]));
      if (!flat && list.length !== shape[depth]) return false;
      for (let i = 0; i < list.length; i++) if (!spread(list[i], flat ? shape.length : depth + 1, elements / list.length)) return false;
      return true;
    };
    // A value without dimensions may come as an array of one.
    const single = shape.length === 0 && isTyped(value) && value.length === 1 ? value[0] : value;
    if (!spread(single, 0, size)) throw wrong(path, what, ruleOf(leaf), given, place);
    if (isText(leaf)) for (let i = from; i < next; i++) this.#textBytes += (to as unknown as readonly string[])[i]?.length ?? 0;
  }
}

/** Whether a value fits, after it was written. */
function putElement({ dtype }: AnyLeaf, to: Numbered, at: number, value: unknown): boolean {
  if (dtype === "string") return typeof value === "string" && !/\p{Surrogate}/u.test(value) && push(to, at, value);
  if (dtype === "bytes") return kindOf(value) === "Uint8Array" && push(to, at, new Uint8Array(value as Uint8Array));
  if (dtype === "i64" || dtype === "u64") {
    const wide = Number.isSafeInteger(value) ? BigInt(value as number) : value;
    if (typeof wide !== "bigint") return false;
    (to as unknown as BigInt64Array)[at] = wide;
    return (to as unknown as BigInt64Array)[at] === wide;
  }
  const number = dtype === "bool" && typeof value === "boolean" ? Number(value) : value;
  if (typeof number !== "number") return false;
  const bounds = BOUNDS[dtype];
  if (bounds !== undefined && !(Number.isInteger(number) && number >= bounds[0] && number <= bounds[1])) return false;
  to[at] = number;
  return true;
}

function push(to: unknown, at: number, value: string | Uint8Array): true {
  (to as (string | Uint8Array)[])[at] = value;
  return true;
}

function ruleOf({ dtype, shape }: AnyLeaf): string {
  const kind = dtype === "string" ? "well-formed text" : dtype === "bytes" ? "a Uint8Array" : `${dtype}`;
  return shape.length === 0 ? kind : `${kind} of shape [${shape.join(", ")}]`;
}

function wrong(path: string, what: string, rule: string, value: unknown, place: Place): RldsError {
  return new RldsError("SPEC_MISMATCH", mustBe(TypeError, path === "" ? what : path, rule, value).message, place);
}
