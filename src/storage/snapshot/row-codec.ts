/**
 * Reads and writes the values of a step in a snapshot's ROW record (assembly/persistence/row.ts). Shared frames have separate records, and are not read here.
 */
import { countFitting, mustPut, mustPutText, overflowError, targetOf } from "../../schema/copy-values.ts";
import { type ArrayClass, DTYPES, type Dtype, type NumberArray, zeros } from "../../schema/dtype.ts";
import { type HalfDtype, isHalf, narrowHalves, widenHalves } from "../../schema/half.ts";
import { type Layout, type PlacedLeaf, SHARED, WIDE } from "../../schema/layout.ts";
import { type AnyLeaf, isLeaf, type RowLeaf } from "../../schema/leaf.ts";
import { flattener, type Nest, pack } from "../../schema/nest.ts";
import type { Spec } from "../../schema/spec.ts";
import { readTexts } from "../../schema/text.ts";

/** The number of bytes before the values: row number, link and episode. */
export const ROW_HEAD_BYTES = 12;

interface LeafPlace {
  readonly found: PlacedLeaf;
  /** The offset of the leaf in the record. */
  readonly at: number;
}

export class RowCodec {
  /** The number of bytes of a record. */
  readonly bytes: number;
  /** The spec without shared leaves, for which a row stores only frame numbers. */
  readonly #spec: Nest<AnyLeaf>;
  readonly #places: readonly LeafPlace[];
  readonly #flatten: (step: unknown) => unknown[];

  constructor(spec: Spec, layout: Layout) {
    this.#spec = ownPart(spec as Nest<AnyLeaf>) ?? {};
    this.#flatten = flattener(this.#spec);
    let end = ROW_HEAD_BYTES + layout.rowBytes;
    this.#places = layout.leaves
      .filter(({ kind }) => kind !== SHARED)
      .map((found) => {
        if (found.kind !== WIDE) return { found, at: ROW_HEAD_BYTES + found.offset };
        const at = end;
        end += found.bytes;
        return { found, at };
      });
    this.bytes = end;
  }

  /** Returns the step of a record, with new typed arrays and strings, and with numbers for leaves of shape []. */
  read(record: Uint8Array): unknown {
    return pack(
      this.#spec,
      this.#places.map(({ found, at }) => readValue(found, record, at)),
    );
  }

  /**
   * Writes a step after the head of a record. @throws ReplayError SPEC_MISMATCH if the step does not match the spec · INVALID_DATA if a value does not fit its
   * dtype. Both errors name the leaf
   */
  write(record: Uint8Array, step: unknown): void {
    const values = this.#flatten(step);
    for (const [i, { found, at }] of this.#places.entries()) writeValue(found, record, at, values[i]);
  }
}

/** Returns a spec without its shared leaves, and without nodes that become empty. */
function ownPart(spec: Nest<AnyLeaf>): Nest<AnyLeaf> | undefined {
  if (isLeaf(spec)) return (spec as RowLeaf).shared === undefined ? spec : undefined;
  const parts = Object.entries(spec).flatMap(([name, part]) => {
    const own = ownPart(part as Nest<AnyLeaf>);
    return own === undefined ? [] : [[name, own] as const];
  });
  if (parts.length === 0) return undefined;
  return Array.isArray(spec) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
}

function readValue({ leaf, size, bytes, shape }: PlacedLeaf, record: Uint8Array, at: number): unknown {
  if (leaf.dtype === "string") {
    const texts: string[] = [];
    readTexts(record, at, leaf.maxBytes, texts, size);
    return shape.length === 0 ? texts[0] : nestedOf(texts, shape);
  }
  const { buffer } = record.slice(at, at + bytes);
  const array = isHalf(leaf.dtype) ? widenHalves(leaf.dtype, new Uint16Array(buffer)) : new (DTYPES[leaf.dtype].array as ArrayClass)(buffer);
  return shape.length === 0 ? array[0] : array;
}

/** Returns texts nested according to their shape. */
function nestedOf(texts: readonly unknown[], shape: readonly number[]): readonly unknown[] {
  let parts = texts;
  for (const length of shape.slice(1).reverse()) {
    const inner = parts;
    parts = Array.from({ length: inner.length / length }, (_, i) => inner.slice(i * length, (i + 1) * length));
  }
  return parts;
}

function writeValue({ leaf, keys, shape, size }: PlacedLeaf, record: Uint8Array, at: number, value: unknown): void {
  if (leaf.dtype === "string") {
    mustPutText(targetOf("string", shape), record, at, value, keys, leaf.maxBytes);
    return;
  }
  const numbers = numbersOf(leaf.dtype, size);
  mustPut(targetOf(leaf.dtype, shape), numbers, 0, value, keys, { anyNumbers: true });
  record.set(new Uint8Array(isHalf(leaf.dtype) ? halvesOf(leaf.dtype, numbers, keys) : numbers.buffer), at);
}

function halvesOf(dtype: HalfDtype, numbers: NumberArray, keys: readonly string[]): ArrayBuffer {
  const fitting = countFitting(dtype, numbers, 0, numbers.length);
  if (fitting < numbers.length) throw overflowError(dtype, keys, numbers[fitting]);
  return narrowHalves(dtype, numbers as unknown as Float32Array).buffer;
}

function numbersOf(dtype: Dtype, size: number): NumberArray {
  return zeros(dtype, size) as unknown as NumberArray;
}
