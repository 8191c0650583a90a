/** Checks nests of variables against a signature before they are written to a table, and assigns the values of a table to variables. */
import { described, mustBe, ReplayError } from "../../base/error.ts";
import { MAX_NEST_DEPTH } from "../../base/limits.ts";
import { kindOf, typedLength } from "../../base/typed-arrays.ts";
import { type Column, isColumn } from "../../schema/column.ts";
import { isList } from "../../schema/copy-numbers.ts";
import { put } from "../../schema/copy-values.ts";
import { DTYPES, isArrayOf } from "../../schema/dtype.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { type RowLeaf, sizeOf } from "../../schema/leaf.ts";
import { fold, nodeRule } from "../../schema/nest.ts";
import type { FoundLeaf } from "../../schema/spec.ts";
import { utf8Bytes } from "../../schema/text.ts";
import { isPromise } from "../awaitable.ts";
import { type LeafSignature, matchesColumn, type Signature, signatureText } from "../signature.ts";

/** An object to which `update` can assign a value. `update` also accepts columns and typed arrays. */
export interface Variable {
  /**
   * Assigns a value to the variable.
   * @param value a column that owns its memory
   * @returns any value; a promise is awaited
   */
  assign(value: Column): unknown;
}

/** The value of one leaf of a signature, with the leaf of the step in which the value would be stored. */
export interface VariableValue extends FoundLeaf {
  readonly value: unknown;
}

/** The maximum size of a text in bytes, larger than any text that fits in one message to a server. */
const MAX_TEXT_BYTES = 2 ** 30;

/**
 * Returns the leaves of a nest that has the structure of a signature. @param subject the name of the nest in errors
 * @throws ReplayError SPEC_MISMATCH if the structure of a node differs from the signature's. Names must match, and lists and tuples are equivalent
 */
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
 * Returns the values of a nest, leaf by leaf.
 * @throws ReplayError SPEC_MISMATCH if the structure, dtype or shape differs from the signature's
 */
export function valuesOf(table: string, signature: Signature, nest: unknown): VariableValue[] {
  return leavesIn("values", signature, nest).map(({ keys, leaf, at }) => {
    const path = ["values", ...keys].join(".");
    const refuse = (value: unknown) => mustBe("SPEC_MISMATCH", path, `${signatureText(leaf)}, as in the signature of table ${table}`, value);
    if (leaf.dtype === "unknown" || leaf.stored !== undefined)
      throw new ReplayError("SPEC_MISMATCH", `table ${table} stores ${path} as ${leaf.stored}, which Reprise cannot write`);
    const { dtype } = leaf;
    const shape = shapeIn(leaf, at);
    if (shape === undefined || !matchesColumn(leaf, { dtype, shape }))
      throw refuse(isColumn(at) ? described(`a column of shape [${at.shape.join(", ")}]`) : at);
    const row = (dtype === "string" ? { dtype, shape, maxBytes: MAX_TEXT_BYTES } : { dtype, shape }) as RowLeaf;
    const size = sizeOf(shape);
    const data: unknown = isColumn(at) ? at.data : at;
    const isOther = kindOf(data) !== undefined && (dtype === "string" || !isArrayOf(dtype, data));
    if (isOther || (isColumn(at) && at.data.length !== size)) throw refuse(data);
    const value = elementsOf(at, shape);
    const misfit = put({ dtype, shape, size }, undefined, 0, value);
    if (misfit !== undefined && misfit.value === value && shape.length > 0) throw refuse(at);
    if (misfit !== undefined) throw mustBe(misfit.code, path, `${misfit.rule}, as in the signature of table ${table}`, misfit.value);
    return { keys, path: keys.join("."), leaf: row, shape, size, value };
  });
}

/**
 * Checks that a value fits a leaf of the steps of a Replay. @param leaf the leaf to which the value is written
 * @throws ReplayError SPEC_MISMATCH if the shape differs · INVALID_DATA if a string is too long
 */
export function mustFitStep(table: string, { leaf, shape }: PlacedLeaf, found: VariableValue): void {
  const path = ["values", ...found.keys].join(".");
  const form = { dtype: leaf.dtype, shape } as LeafSignature;
  if (shape.join() !== found.shape.join())
    throw mustBe("SPEC_MISMATCH", path, `${signatureText(form)}, as in the spec of table ${table}`, described(`a value of shape [${found.shape.join(", ")}]`));
  if (leaf.dtype !== "string") return;
  const { maxBytes } = leaf;
  const texts = [found.value].flat(MAX_NEST_DEPTH) as string[];
  const long = texts.find((text) => utf8Bytes(text) > maxBytes);
  if (long !== undefined) throw mustBe("INVALID_DATA", path, `a string of at most ${maxBytes} bytes in UTF-8, as in the spec of table ${table}`, long);
}

/** Returns the shape of a value. A flat array takes its shape from the signature, if the signature leaves at most one length open. */
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

/** Returns the data of a column, or its only element, which are the forms that a writer accepts. */
function elementsOf(at: unknown, shape: readonly number[]): unknown {
  if (!isColumn(at)) return at;
  return shape.length === 0 && Array.isArray(at.data) ? at.data[0] : at.data;
}

/** The destination of a leaf's value in an update. */
export interface VariableTarget {
  readonly path: string;
  readonly leaf: LeafSignature;
  readonly assign: ((value: Column) => unknown) | undefined;
  /** The array to fill, if the variable is a column or a typed array. */
  readonly data: ArrayLike<unknown> | undefined;
  /** The shape of the variable, if it is a column. */
  readonly shape: readonly number[] | undefined;
}

/**
 * Returns the variables of a nest, after checking them as far as the signature allows.
 * @throws ReplayError SPEC_MISMATCH if the structure of the nest differs, or if a variable cannot take its value
 */
export function targetsOf(table: string, signature: Signature, variables: unknown): VariableTarget[] {
  return leavesIn("variables", signature, variables).map(({ keys, leaf, at }) => {
    const target = targetOf(["variables", ...keys].join("."), leaf, at);
    if (!canBe(target)) throw misfit(table, target, at);
    return target;
  });
}

function targetOf(path: string, leaf: LeafSignature, at: unknown): VariableTarget {
  const none = { path, leaf, assign: undefined, data: undefined, shape: undefined };
  if (kindOf(at) !== undefined) return { ...none, data: at as ArrayLike<unknown> };
  if (typeof at !== "object" || at === null || Array.isArray(at)) return none;
  // The property is read only once, because a getter may return another value the next time.
  const { assign } = at as Partial<Variable>;
  if (typeof assign === "function") return { ...none, assign: (value) => assign.call(at, value) };
  const { data, shape } = at as { readonly data?: unknown; readonly shape?: unknown };
  return isColumn({ data, shape }) ? { ...none, data: data as ArrayLike<unknown>, shape: [...(shape as readonly number[])] } : none;
}

function canBe({ leaf, assign, data, shape }: VariableTarget): boolean {
  if (assign !== undefined) return true;
  const { dtype } = leaf;
  if (dtype === "unknown") return true;
  const isArray = dtype === "string" ? shape !== undefined && Array.isArray(data) : data !== undefined && kindOf(data) === DTYPES[dtype].array.name;
  if (!isArray) return false;
  const length = lengthOf(data as ArrayLike<unknown>);
  if (shape !== undefined) return length === sizeOf(shape) && matchesColumn(leaf, { dtype, shape });
  return leaf.shape === null || leaf.shape.includes(null) || length === sizeOf(leaf.shape as readonly number[]);
}

/**
 * Assigns values to variables after checking all variables. Values are assigned first to objects, one after the other, and then to arrays. If an object's
 * `assign` throws, the objects before it have their new values, and everything else is unchanged.
 * @throws ReplayError SPEC_MISMATCH · the error of an `assign` · the signal's reason if the signal aborts
 */
export async function assignValues(table: string, targets: readonly VariableTarget[], values: readonly Column[], signal: AbortSignal): Promise<void> {
  const mustFitAll = () => {
    targets.forEach((target, i) => void mustFit(table, target, values[i] as Column));
    signal.throwIfAborted();
  };
  mustFitAll();
  for (const [i, { assign }] of targets.entries()) {
    if (assign === undefined) continue;
    const assigned = assign(values[i] as Column);
    if (!isPromise(assigned)) continue;
    await assigned;
    // While `assign` was awaited, the wait may have ended, or an array may have been detached.
    mustFitAll();
  }
  targets.forEach(({ data }, i) => {
    const value = values[i] as Column;
    if (Array.isArray(data)) for (let k = 0; k < data.length; k++) data[k] = value.data[k];
    else (data as Float32Array | undefined)?.set(value.data as Float32Array);
  });
}

/** Checks that a value fits a variable to fill. @throws ReplayError SPEC_MISMATCH if the number of elements or the shape differs */
function mustFit(table: string, target: VariableTarget, value: Column): void {
  const { assign, data, shape, leaf } = target;
  if (assign !== undefined) return;
  const isFitting = lengthOf(data as ArrayLike<unknown>) === value.data.length && (shape === undefined || shape.join() === value.shape.join());
  if (!isFitting) throw misfit(table, { ...target, leaf: { ...leaf, shape: value.shape } }, { data, shape });
}

function misfit(table: string, { path, leaf, data, shape }: VariableTarget, at: unknown): Error {
  const rule = `a column or typed array of ${signatureText(leaf)}, as in table ${table}, or an object with assign(value)`;
  return mustBe("SPEC_MISMATCH", path, rule, shape === undefined ? at : described(`a column of ${kindOf(data) ?? "strings"} and shape [${shape.join(", ")}]`));
}

function lengthOf(data: ArrayLike<unknown>): number {
  return kindOf(data) === undefined ? data.length : typedLength(data as unknown as ArrayBufferView);
}

const ARRAYS = new Map([...Object.values(DTYPES).map(({ array }) => array), Uint8ClampedArray].map((array) => [array.name, array]));

/** The maximum number of elements of a plain array. */
const MAX_PLAIN = 2 ** 24;

/**
 * Returns a copy of a nest of columns, arrays and numbers, with new memory for each array.
 * @throws ReplayError SPEC_MISMATCH for a nest that is too deep or contains itself, and for a plain array of more than 2^24 elements
 */
export function copyValues(nest: unknown, keys: readonly string[] = ["values"], ancestors: readonly unknown[] = []): unknown {
  if (typeof nest !== "object" || nest === null) return nest;
  const kind = kindOf(nest);
  if (kind !== undefined) {
    const array = ARRAYS.get(kind) as Float32ArrayConstructor | undefined;
    // A detached array has nothing to copy.
    return array === undefined || typedLength(nest as ArrayBufferView) === 0 ? nest : new array(nest as Float32Array);
  }
  if (keys.length > MAX_NEST_DEPTH || ancestors.includes(nest))
    throw mustBe("SPEC_MISMATCH", keys.slice(0, 4).join("."), `nested at most ${MAX_NEST_DEPTH} levels deep, without a cycle`, nest);
  const copy = (part: unknown, name: string) => copyValues(part, [...keys, name], [...ancestors, nest]);
  if (!Array.isArray(nest))
    return Object.fromEntries(Object.keys(nest).map((name) => [name, copy((nest as { readonly [name: string]: unknown })[name], name)]));
  if (nest.length > MAX_PLAIN) throw mustBe("SPEC_MISMATCH", keys.join("."), `a typed array if it has more than ${MAX_PLAIN} elements`, nest);
  return Array.from({ length: nest.length }, (_, i) => (typeof nest[i] === "object" ? copy(nest[i], String(i)) : nest[i]));
}
