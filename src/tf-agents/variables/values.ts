/** Nests of variables: checked against a signature on their way to a table, and assigned what came from one. */
import { mustBe } from "../../base/error.ts";
import { kindOf } from "../../base/typed-arrays.ts";
import { type Column, isColumn } from "../../schema/column.ts";
import { isList } from "../../schema/copy-numbers.ts";
import type { RowLeaf } from "../../schema/leaf.ts";
import { fold, nodeRule } from "../../schema/nest.ts";
import type { FoundLeaf } from "../../schema/spec.ts";
import { type LeafSignature, matchesColumn, type Signature, signatureText } from "../signature.ts";

/** What `update` assigns to, besides columns and typed arrays. */
export interface Variable {
  /** @param value a column with memory of its own */
  assign(value: Column): unknown;
}

/** One value of a signature's leaf, with the leaf as a step of that form would have it. */
export interface VariableValue extends FoundLeaf {
  readonly value: unknown;
}

/** Longer than any text that one message can have. */
const MAX_TEXT_BYTES = 2 ** 30;

/** @param subject what the nest is called in errors @throws ReplayError SPEC_MISMATCH for a node of another form than the signature's: names count, lists and tuples are the same */
export function leavesIn(
  subject: string,
  signature: Signature,
  nest: unknown,
): { readonly keys: readonly string[]; readonly leaf: LeafSignature; at: unknown }[] {
  const found: { readonly keys: readonly string[]; readonly leaf: LeafSignature; at: unknown }[] = [];
  const visit = fold<LeafSignature, (at: unknown) => void>(
    signature,
    (_, keys, leaf) => (at) => void found.push({ keys, leaf, at }),
    (names, parts, keys, list) => (at) => {
      const path = [subject, ...keys].join(".");
      const isNode = typeof at === "object" && at !== null && kindOf(at) === undefined && !isColumn(at) && Array.isArray(at) === list;
      if (!isNode || Object.keys(at).length !== names.length || names.some((name) => !Object.hasOwn(at, name)))
        throw mustBe("SPEC_MISMATCH", path, list ? `an array of ${names.length}` : nodeRule(names, at, path), at);
      for (const [i, name] of names.entries()) (parts[i] as (at: unknown) => void)((at as { readonly [name: string]: unknown })[name]);
    },
  );
  visit(nest);
  return found;
}

/**
 * The values of a nest, leaf by leaf.
 * @throws ReplayError SPEC_MISMATCH for another structure, dtype or shape than the signature's
 */
export function valuesOf(table: string, signature: Signature, nest: unknown): VariableValue[] {
  return leavesIn("values", signature, nest).map(({ keys, leaf, at }) => {
    const path = ["values", ...keys].join(".");
    const refuse = (value: unknown) => mustBe("SPEC_MISMATCH", path, `as the signature of table ${table}, ${signatureText(leaf)}`, value);
    if (leaf.dtype === "unknown" || leaf.stored !== undefined) throw refuse(`a value: Reprise cannot write ${leaf.stored}`);
    const { dtype } = leaf;
    const shape = shapeIn(leaf, at);
    if (shape === undefined || !matchesColumn(leaf, { dtype, shape })) throw refuse(isColumn(at) ? `a column of shape [${at.shape.join(", ")}]` : at);
    const row = (dtype === "string" ? { dtype, shape, maxBytes: MAX_TEXT_BYTES } : { dtype, shape }) as RowLeaf;
    const size = shape.reduce((product, n) => product * n, 1);
    return { keys, path: keys.join("."), leaf: row, shape, size, value: elementsOf(at, shape) };
  });
}

/** The shape of a value; a flat array takes it from the signature, if only one length is open there. */
function shapeIn({ shape }: LeafSignature, at: unknown): readonly number[] | undefined {
  if (isColumn(at)) return at.shape;
  if (kindOf(at) !== undefined) {
    const { length } = at as ArrayLike<unknown>;
    if (shape === null) return [length];
    const known = shape.reduce<number>((product, n) => product * (n ?? 1), 1);
    const open = shape.filter((n) => n === null).length;
    if (open === 0) return known === length ? (shape as readonly number[]) : undefined;
    if (open > 1 && shape.length > 1) return undefined;
    return Number.isInteger(length / known) ? shape.map((n) => n ?? length / known) : undefined;
  }
  const nested: number[] = [];
  for (let part = at; isList(part); part = part[0]) nested.push(part.length);
  return nested;
}

/** What a writer takes: the data of a column, or its only element. */
function elementsOf(at: unknown, shape: readonly number[]): unknown {
  if (!isColumn(at)) return at;
  return shape.length === 0 && Array.isArray(at.data) ? at.data[0] : at.data;
}

/**
 * Assigns values to a nest of variables of the same structure: everything is checked before anything changes.
 * @throws ReplayError SPEC_MISMATCH
 */
export function assignValues(table: string, signature: Signature, variables: unknown, values: readonly Column[]): void {
  const assigned = leavesIn("variables", signature, variables).map(({ keys, leaf, at }, i) => {
    const value = values[i] as Column;
    const path = ["variables", ...keys].join(".");
    const text = `${signatureText({ ...leaf, shape: value.shape })}, as in table ${table}`;
    return assignment(path, text, at, value);
  });
  for (const assign of assigned) assign();
}

function assignment(path: string, text: string, at: unknown, value: Column): () => void {
  if (typeof (at as Variable | null)?.assign === "function") return () => (at as Variable).assign(value);
  const data: unknown = isColumn(at) ? at.data : at;
  const isArray = Array.isArray(value.data) ? isColumn(at) && Array.isArray(data) : kindOf(data) !== undefined && kindOf(data) === kindOf(value.data);
  const hasShape = isArray && (isColumn(at) ? at.shape.join() === value.shape.join() : true) && (data as ArrayLike<unknown>).length === value.data.length;
  if (!hasShape) throw mustBe("SPEC_MISMATCH", path, `a column or typed array of ${text}, or an object with assign(value)`, isColumn(at) ? textOf(at) : at);
  return () => {
    if (Array.isArray(data)) for (let i = 0; i < data.length; i++) data[i] = value.data[i];
    else (data as Float32Array).set(value.data as Float32Array);
  };
}

function textOf({ data, shape }: { readonly data: unknown; readonly shape: readonly number[] }): string {
  return `a column of ${kindOf(data) ?? "texts"} and shape [${shape.join(", ")}]`;
}
