/** Defines signatures, which describe the columns of a table's items. */
import { countText, described, mustBe, ReplayError } from "../base/error.ts";
import { isHalf } from "../schema/half.ts";
import { leafText, type RowLeaf, shapeOf } from "../schema/leaf.ts";
import { leaves, map, type Nest } from "../schema/nest.ts";
import type { Spec } from "../schema/spec.ts";

/** The columns of a table's items. The signature of a spec has the leaves of its steps, each with a first dimension of any length (null). */
export type Signature = Nest<LeafSignature>;
export interface LeafSignature {
  /** The dtype as which the column is read, or "unknown" for a column of a server's table that Reprise cannot read. */
  readonly dtype: RowLeaf["dtype"] | "unknown";
  /** The shape of the column. A size of null allows any length, and a shape of null allows any shape. */
  readonly shape: readonly (number | null)[] | null;
  /** The data type on the server if it differs, such as "complex64". Such a column can be read but not written. */
  readonly stored?: string;
}

/** The dtype and shape of a column in a future item. */
export interface ColumnShape {
  readonly dtype: RowLeaf["dtype"];
  readonly shape: readonly number[];
}

/** Returns the signature of whole items: the leaves of the steps, each with a first dimension of any length. */
export function signatureOf(spec: Spec): Signature {
  return map(spec, (leaf): LeafSignature => ({ dtype: leaf.dtype, shape: [null, ...shapeOf(leaf)] }));
}

/** Returns whether a column has a signature's dtype and shape. */
export function matchesColumn({ dtype, shape }: LeafSignature, column: ColumnShape): boolean {
  if (column.dtype !== dtype) return false;
  return shape === null || (column.shape.length === shape.length && shape.every((n, k) => n === null || n === column.shape[k]));
}

export function signatureText({ dtype, shape, stored }: LeafSignature): string {
  const dims = shape?.map((n) => n ?? "any");
  const read = dims === undefined ? `${dtype} of any shape` : leafText(dtype, dims);
  return stored === undefined ? read : `${read} (${stored} on the server)`;
}

/** Caches the leaves of each signature, because many items are checked against the same signature. */
const LEAVES = new WeakMap<object, ReturnType<typeof leaves<LeafSignature>>>();

function leavesOf(signature: Signature) {
  let signatureLeaves = LEAVES.get(signature);
  if (signatureLeaves === undefined) {
    signatureLeaves = leaves(signature);
    LEAVES.set(signature, signatureLeaves);
  }
  return signatureLeaves;
}

/**
 * Checks an item's columns against the signature of its table. The names of the columns do not matter.
 * @param steps the leaves of the steps in the columns, if the signature may describe single steps instead
 * @throws ReplayError SPEC_MISMATCH if the number of columns differs from the signature, if a column differs, or if a data type cannot be written
 */
export function mustFit(table: string, signature: Signature | undefined, columns: readonly ColumnShape[], steps?: readonly ColumnShape[]): void {
  if (signature === undefined) return;
  const expectedLeaves = leavesOf(signature);
  if (columns.length !== expectedLeaves.length)
    throw mustBe(
      "SPEC_MISMATCH",
      `an item of table ${table}`,
      `a list of the ${expectedLeaves.length} columns of its signature: ${columnNames(expectedLeaves)}`,
      described(columnsText(columns)),
    );
  for (let i = 0; i < expectedLeaves.length; i++) {
    const { keys, leaf } = expectedLeaves[i] as (typeof expectedLeaves)[number];
    const column = columns[i] as ColumnShape;
    const name = keys.join(".") || "the only column";
    if (leaf.stored !== undefined) throw unwritable(table, name, leaf.stored, column);
    if (matchesColumn(leaf, column) || (steps !== undefined && matchesColumn(leaf, steps[i] as ColumnShape))) continue;
    const rule = `${signatureText(leaf)}, as its signature states for ${name}`;
    throw mustBe("SPEC_MISMATCH", `column ${i} of an item of table ${table}`, rule, described(leafText(column.dtype, column.shape)));
  }
}

/** Returns the names of a signature's columns with their dtypes and shapes, as text. */
function columnNames(signatureLeaves: ReturnType<typeof leavesOf>): string {
  return signatureLeaves.map(({ keys, leaf }) => [keys.join("."), signatureText(leaf)].filter((part) => part !== "").join(" ")).join(", ");
}

function columnsText(columns: readonly ColumnShape[]): string {
  return `${columns.length}: ${columns.map(({ dtype, shape }) => leafText(dtype, shape)).join(", ")}`;
}

/** Returns the error for a column whose data type only other clients can write. */
function unwritable(table: string, name: string, stored: string, { dtype, shape }: ColumnShape): ReplayError {
  return new ReplayError(
    "SPEC_MISMATCH",
    `table ${table} stores ${name} as ${stored}, which Reprise cannot write, got ${leafText(dtype, shape)}. Write this table with the Reverb client for Python, or change the data type in its signature`,
  );
}

/**
 * Checks that an item can fit both the signature of a table and the spec of its items. @param subject the name of the spec in errors
 * @throws ReplayError SPEC_MISMATCH if the number of columns, a dtype or a shape differs
 */
export function mustAgree(subject: string, signature: Signature, spec: Signature): void {
  const [tableLeaves, specLeaves] = [leaves(signature), leaves(spec)];
  if (tableLeaves.length !== specLeaves.length)
    throw mustBe(
      "SPEC_MISMATCH",
      subject,
      `a spec of ${countText(tableLeaves.length, "column")}, as in the table's signature`,
      described(countText(specLeaves.length, "column")),
    );
  specLeaves.forEach(({ keys, leaf }, i) => {
    const { leaf: expected } = tableLeaves[i] as (typeof tableLeaves)[number];
    if (!agree(expected, leaf))
      throw mustBe(
        "SPEC_MISMATCH",
        `${keys.join(".") || "the only column"} of ${subject}`,
        `${signatureText(expected)}, as in its signature`,
        described(signatureText(leaf)),
      );
  });
}

/** Returns whether a column of dtype `stored` can be read as `dtype`. Half floats can also be read as f32. */
export function isReadAs(stored: string, dtype: string): boolean {
  return stored === dtype || (isHalf(stored) && dtype === "f32");
}

/** Returns whether a column exists that fits both signatures. */
function agree(a: LeafSignature, b: LeafSignature): boolean {
  if (!isReadAs(a.dtype, b.dtype)) return false;
  const { shape } = a;
  if (shape === null || b.shape === null) return true;
  return shape.length === b.shape.length && b.shape.every((n, k) => n === null || (shape[k] ?? n) === n);
}
