/** What the items of a table look like, and whether columns fit. */

import { mustBe } from "../../error.ts";
import type { Leaf } from "../../spec/leaf.ts";
import type { Spec } from "../../spec/spec.ts";
import type { LeafSignature, Signature } from "./client.ts";

/** A column of an item to be. */
interface Shaped {
  readonly dtype: Leaf["dtype"];
  readonly shape: readonly number[];
}

/** The signature of whole items: the steps' leaves, each with a first dimension of any length. */
export function signatureOf(spec: Spec): Signature {
  const { dtype, shape, stack } = spec as Leaf;
  if (typeof dtype === "string") return { dtype, shape: [null, ...(stack === undefined ? shape : [stack, ...shape])] };
  if (Array.isArray(spec)) return spec.map(signatureOf);
  return Object.fromEntries(Object.entries(spec).map(([name, node]) => [name, signatureOf(node as Spec)]));
}

/** Leaves of a nest in order: by key, or by index. */
export function leavesOf<T>(node: unknown, isLeaf: (node: object) => boolean, path = ""): [path: string, leaf: T][] {
  if (typeof node !== "object" || node === null) return [[path, node as T]];
  if (isLeaf(node)) return [[path, node as T]];
  const names = Array.isArray(node) ? Object.keys(node) : Object.keys(node).sort();
  return names.flatMap((name) => leavesOf<T>((node as { readonly [name: string]: unknown })[name], isLeaf, path === "" ? name : `${path}.${name}`));
}

/** @throws ReplayError SPEC_MISMATCH where columns are more or fewer than the signature's, or one differs; their names do not count */
export function mustFit(table: string, signature: Signature, columns: readonly Shaped[]): void {
  const wanted = leavesOf<LeafSignature>(signature, (node) => typeof (node as LeafSignature).dtype === "string");
  const subject = `an item of table ${table}`;
  if (columns.length !== wanted.length) throw mustBe("SPEC_MISMATCH", subject, `of ${wanted.length} columns, as the table's signature`, columns);
  wanted.forEach(([path, { dtype, shape }], i) => {
    const column = columns[i] as Shaped;
    const same = column.dtype === dtype && column.shape.length === shape.length && shape.every((n, k) => n === null || n === column.shape[k]);
    if (!same)
      throw mustBe(
        "SPEC_MISMATCH",
        `column ${i} of ${subject}`,
        `as ${path || "the only one"} of its signature, ${dtype} of shape [${shape.map((n) => n ?? "any").join(", ")}]`,
        `${column.dtype} of shape [${column.shape.join(", ")}]`,
      );
  });
}
