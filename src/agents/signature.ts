/** Signatures: what the items of a table look like, column by column. */
import { mustBe } from "../error.ts";
import { leafText, type RowLeaf, shapeOf } from "../spec/leaf.ts";
import { leaves, map, type Nest } from "../spec/nest.ts";
import type { Spec } from "../spec/spec.ts";

/** What the items of a table look like, of a spec the steps' leaves, each with a first dimension of any length (null). */
export type Signature = Nest<LeafSignature>;
export interface LeafSignature {
  readonly dtype: RowLeaf["dtype"];
  readonly shape: readonly (number | null)[];
}

/** A column of an item to be. */
export interface Shaped {
  readonly dtype: RowLeaf["dtype"];
  readonly shape: readonly number[];
}

/** The signature of whole items: the steps' leaves, each with a first dimension of any length. */
export function signatureOf(spec: Spec): Signature {
  return map(spec, (leaf): LeafSignature => ({ dtype: leaf.dtype, shape: [null, ...shapeOf(leaf)] }));
}

/** Whether a column has a signature's dtype and shape. */
export function fits({ dtype, shape }: LeafSignature, column: Shaped): boolean {
  return column.dtype === dtype && column.shape.length === shape.length && shape.every((n, k) => n === null || n === column.shape[k]);
}

export function signatureText({ dtype, shape }: LeafSignature): string {
  const sizes = shape.map((n) => n ?? "any");
  return leafText(dtype, sizes);
}

/** The leaves of signatures, of which many items are asked. */
const LEAVES = new WeakMap<object, ReturnType<typeof leaves<LeafSignature>>>();

function leavesOf(signature: Signature) {
  let found = LEAVES.get(signature);
  if (found === undefined) {
    found = leaves(signature);
    LEAVES.set(signature, found);
  }
  return found;
}

/**
 * @param steps the leaves of the steps that the columns are made of, where a signature may tell of these as well
 * @throws ReplayError SPEC_MISMATCH where there is a signature, and columns are more or fewer than the signature's, or one differs; their names do not count
 */
export function mustFit(table: string, signature: Signature | undefined, columns: readonly Shaped[], steps?: readonly Shaped[]): void {
  if (signature === undefined) return;
  const wanted = leavesOf(signature);
  if (columns.length !== wanted.length)
    throw mustBe("SPEC_MISMATCH", `an item of table ${table}`, `an object with ${wanted.length} columns, like the table's signature`, columns);
  for (let i = 0; i < wanted.length; i++) {
    const { keys, leaf } = wanted[i] as (typeof wanted)[number];
    const column = columns[i] as Shaped;
    if (fits(leaf, column) || (steps !== undefined && fits(leaf, steps[i] as Shaped))) continue;
    const rule = `as ${keys.join(".") || "the only one"} of its signature, ${signatureText(leaf)}`;
    throw mustBe("SPEC_MISMATCH", `column ${i} of an item of table ${table}`, rule, leafText(column.dtype, column.shape));
  }
}

/** @param subject what the spec is called in errors @throws ReplayError SPEC_MISMATCH where no item could be as a table's signature and a spec of its items both say */
export function mustAgree(subject: string, signature: Signature, spec: Signature): void {
  const [own, asked] = [leaves(signature), leaves(spec)];
  if (own.length !== asked.length) throw mustBe("SPEC_MISMATCH", subject, `of ${own.length} columns, like the table's signature`, `${asked.length} columns`);
  asked.forEach(({ keys, leaf }, i) => {
    const { leaf: wanted } = own[i] as (typeof own)[number];
    const fits =
      leaf.dtype === wanted.dtype && leaf.shape.length === wanted.shape.length && leaf.shape.every((n, k) => n === null || (wanted.shape[k] ?? n) === n);
    if (!fits)
      throw mustBe("SPEC_MISMATCH", `${keys.join(".") || "the only column"} of ${subject}`, `as its signature, ${signatureText(wanted)}`, signatureText(leaf));
  });
}
