/** What the items of a table look like, and whether columns fit. */

import { mustBe } from "../../error.ts";
import { leafText, type RowLeaf, shapeOf } from "../../spec/leaf.ts";
import { leaves, map } from "../../spec/nest.ts";
import type { Spec } from "../../spec/spec.ts";
import type { LeafSignature, Signature } from "./client.ts";

/** A column of an item to be. */
interface Shaped {
  readonly dtype: RowLeaf["dtype"];
  readonly shape: readonly number[];
}

/** The signature of whole items: the steps' leaves, each with a first dimension of any length. */
export function signatureOf(spec: Spec): Signature {
  return map(spec, (leaf): LeafSignature => ({ dtype: leaf.dtype, shape: [null, ...shapeOf(leaf)] }));
}

/** @throws ReplayError SPEC_MISMATCH where columns are more or fewer than the signature's, or one differs; their names do not count */
export function mustFit(table: string, signature: Signature, columns: readonly Shaped[]): void {
  const wanted = leaves(signature);
  const subject = `an item of table ${table}`;
  if (columns.length !== wanted.length) throw mustBe("SPEC_MISMATCH", subject, `an object with ${wanted.length} columns, like the table's signature`, columns);
  wanted.forEach(({ keys, leaf: { dtype, shape } }, i) => {
    const column = columns[i] as Shaped;
    const same = column.dtype === dtype && column.shape.length === shape.length && shape.every((n, k) => n === null || n === column.shape[k]);
    if (!same)
      throw mustBe(
        "SPEC_MISMATCH",
        `column ${i} of ${subject}`,
        `as ${keys.join(".") || "the only one"} of its signature, ${leafText(
          dtype,
          shape.map((n) => n ?? "any"),
        )}`,
        leafText(column.dtype, column.shape),
      );
  });
}
