/**
 * Walks, compares and converts nests: objects and arrays with leaves at their ends. The order of leaves is the same everywhere: by sorted key in objects, by
 * index in arrays.
 */
import { didYouMean, mustBe, type ReplayErrorCode, type Rule } from "../base/error.ts";
import { MAX_NEST_DEPTH } from "../base/limits.ts";
import { type AnyLeaf, isLeaf } from "./leaf.ts";

export type Nest<L> = L | readonly Nest<L>[] | { readonly [name: string]: Nest<L> };

type Node<T> = { readonly [name: string]: T };

/** Returns a path as text: `observation.image`, or `step` if the nest is a leaf. */
export function pathText(keys: readonly string[]): string {
  return keys.join(".") || "step";
}

/** Calls `leaf` for each leaf, in order, and combines the results with `node` up to the root. `keys` is the path. */
export function fold<L, T>(
  nest: Nest<L>,
  leaf: (index: number, keys: readonly string[], leaf: L) => T,
  node: (names: readonly string[], parts: readonly T[], keys: readonly string[], list: boolean) => T,
  isEnd: (node: unknown) => boolean = isLeaf,
): T {
  let index = 0;
  const visit = (at: Nest<L>, keys: readonly string[]): T => {
    if (isEnd(at)) return leaf(index++, keys, at as L);
    if (keys.length >= MAX_NEST_DEPTH) throw mustBe(RangeError, pathText(keys.slice(0, 4)), `nested at most ${MAX_NEST_DEPTH} levels deep`, at);
    if (typeof at !== "object" || at === null) throw notSpec(at, keys);
    const list = Array.isArray(at);
    const names = list ? Object.keys(at) : Object.keys(at).sort();
    const parts = names.map((name) => visit((at as Node<Nest<L>>)[name] as Nest<L>, [...keys, name]));
    return node(names, parts, keys, list);
  };
  return visit(nest, []);
}

function notSpec(at: unknown, keys: readonly string[]): Error {
  const remedy = typeof at === "function" ? "Call the function: f32() instead of f32" : "";
  const subject = keys.length === 0 ? "spec" : `spec of ${pathText(keys)}`;
  return mustBe(TypeError, subject, ["a leaf such as f32(4), or an object or array of leaves", remedy], at);
}

/** Returns parts under their names, as a list or an object. */
export function nested<T>(names: readonly string[], parts: readonly T[], list: boolean): readonly T[] | Node<T> {
  return list ? parts : Object.fromEntries(names.map((name, i) => [name, parts[i] as T]));
}

/** Sets a part of a node under any name. Handles `__proto__` separately, because an assignment to it would set the prototype. */
export function setPart(node: object, name: string, part: unknown): void {
  if (name === "__proto__") Object.defineProperty(node, name, { value: part, writable: true, enumerable: true, configurable: true });
  else (node as { [name: string]: unknown })[name] = part;
}

/** Returns every leaf in order, with its path. */
export function leaves<L>(nest: Nest<L>, isEnd?: (node: unknown) => boolean): { readonly keys: readonly string[]; readonly leaf: L }[] {
  const found: { readonly keys: readonly string[]; readonly leaf: L }[] = [];
  const note = (_: number, keys: readonly string[], leaf: L) => void found.push({ keys, leaf });
  fold<L, void>(nest, note, () => {}, isEnd);
  return found;
}

/** Walks nests in parallel. The result has the form of the first nest, with the result of `combine` at its ends, in the order of the nest's own keys. */
export function zip<T>(
  nests: readonly unknown[],
  isEnd: (node: unknown, keys: readonly string[]) => boolean,
  combine: (ends: readonly unknown[], keys: readonly string[]) => T,
  keys: readonly string[] = [],
): Nest<T> {
  const [first] = nests;
  if (isEnd(first, keys)) return combine(nests, keys);
  const names = Object.keys(first as object);
  const parts = names.map((name) => {
    const children = nests.map((nest) => (nest as Node<unknown> | null | undefined)?.[name]);
    return zip(children, isEnd, combine, [...keys, name]);
  });
  return nested(names, parts, Array.isArray(first));
}

/** Returns the results of `transform` for the leaves of a spec, nested like the spec. */
export function map<L, T>(spec: Nest<L>, transform: (leaf: L, keys: readonly string[]) => T): Nest<T> {
  return zip([spec], isLeaf, ([leaf], keys) => transform(leaf as L, keys));
}

/** Returns whether two specs have leaves in the same places, and `isEqual` returns true for each pair of leaves. */
export function isSameNest<L>(a: Nest<L>, b: Nest<L>, isEqual: (a: L, b: L) => boolean): boolean {
  if (a === b) return true;
  if (isLeaf(a) || isLeaf(b)) return isLeaf(a) && isLeaf(b) && isEqual(a as L, b as L);
  const names = Object.keys(a as object);
  const part = (nest: Nest<L>, name: string) => (nest as Node<Nest<L>>)[name] as Nest<L>;
  return (
    names.length === Object.keys(b as object).length &&
    names.every((name) => Object.hasOwn(b as object, name) && isSameNest(part(a, name), part(b, name), isEqual))
  );
}

/** Returns the value at the end of a path; undefined if a part of the path is missing. */
export function valueAt(value: unknown, keys: readonly string[]): unknown {
  let at = value;
  for (const key of keys) at = (at as Node<unknown> | null | undefined)?.[key];
  return at;
}

export type Visit = (value: unknown) => void;

/** Creates the error for a value in a nest, from a code, the path, the rule and the value. */
export type MakeError = (code: ReplayErrorCode, keys: readonly string[], rule: Rule, value: unknown) => Error;

export const mismatchError: MakeError = (code, keys, rule, value) => mustBe(code, pathText(keys), rule, value);

/**
 * Returns a visitor of the leaves of nested values, with one function per leaf, built once from the spec. Does not generate code at run time, because web pages
 * may forbid that.
 */
export function visitor<L>(spec: Nest<L>, leaf: (index: number, keys: readonly string[], leaf: L) => Visit, makeError: MakeError = mismatchError): Visit {
  return fold(spec, leaf, (names, parts, keys) =>
    visitNode(names, parts, (value) => makeError("SPEC_MISMATCH", keys, nodeRule(names, value, pathText(keys)), value)),
  );
}

/**
 * Returns the rule for an object or array of a nest. The rule names a key that the value lacks, and a key that is not allowed. Its remedy suggests the key that
 * was probably meant.
 * @param path the path of the value
 */
export function nodeRule(names: readonly string[], value: unknown, path = "step"): readonly [rule: string, remedy: string] {
  const isList = names.length > 0 && names.every((name, i) => name === String(i));
  if (isList) return [`an array of ${names.length}`, ""];
  const isNode = typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && !Array.isArray(value);
  const missing = isNode ? names.find((name) => !(name in value)) : undefined;
  const unknown = isNode ? Object.keys(value).find((name) => !names.includes(name)) : undefined;
  if (names.length === 0 && unknown === undefined) return ["an object without keys", ""];
  if (missing === undefined && unknown === undefined) return [`an object with keys ${names.join(", ")}`, ""];
  const parts = [...(missing === undefined ? [] : [`with ${missing}`]), ...(unknown === undefined ? [] : [`without ${unknown}`])];
  const reasons = [
    ...(missing === undefined ? [] : [`${path}.${missing} is missing`]),
    ...(unknown === undefined ? [] : [`${path}.${unknown} is not in the spec`]),
  ];
  return [`an object ${parts.join(" and ")} (${reasons.join(", ")})`, didYouMean(unknown, names).trim()];
}

/** Looks for objects whose form differs from the spec, after a leaf was rejected because its value is missing. @throws the error that `makeError` returns */
export function checkNodes<L>(spec: Nest<L>, value: unknown, makeError: MakeError = mismatchError, keys: readonly string[] = []): void {
  if (isLeaf(spec)) return;
  const names = Array.isArray(spec) ? Object.keys(spec) : Object.keys(spec as object).sort();
  const isNode = typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
  if (!isNode || (Array.isArray(value) && !Array.isArray(spec)) || names.some((name) => !(name in value)))
    throw makeError("SPEC_MISMATCH", keys, nodeRule(names, value, pathText(keys)), value);
  for (const name of names) checkNodes((spec as Node<Nest<L>>)[name] as Nest<L>, (value as Node<unknown>)[name], makeError, [...keys, name]);
}

/**
 * Returns the visitor of an object or array. Up to six keys are unrolled, with a function per number of keys. Each place in the code then has a single key, and
 * V8 can inline all of the code into `append`.
 */
function visitNode(names: readonly string[], parts: readonly Visit[], errorFor: (value: unknown) => Error): Visit {
  const n = names.length;
  const [k0, k1, k2, k3, k4, k5] = names as [string, string, string, string, string, string];
  const [v0, v1, v2, v3, v4, v5] = parts as [Visit, Visit, Visit, Visit, Visit, Visit];
  switch (n) {
    case 1:
      return (value) => {
        if (countKeys(value) !== n) throw errorFor(value);
        const node = value as Node<unknown>;
        v0(node[k0]);
      };
    case 2:
      return (value) => {
        if (countKeys(value) !== n) throw errorFor(value);
        const node = value as Node<unknown>;
        v0(node[k0]);
        v1(node[k1]);
      };
    case 3:
      return (value) => {
        if (countKeys(value) !== n) throw errorFor(value);
        const node = value as Node<unknown>;
        v0(node[k0]);
        v1(node[k1]);
        v2(node[k2]);
      };
    case 4:
      return (value) => {
        if (countKeys(value) !== n) throw errorFor(value);
        const node = value as Node<unknown>;
        v0(node[k0]);
        v1(node[k1]);
        v2(node[k2]);
        v3(node[k3]);
      };
    case 5:
      return (value) => {
        if (countKeys(value) !== n) throw errorFor(value);
        const node = value as Node<unknown>;
        v0(node[k0]);
        v1(node[k1]);
        v2(node[k2]);
        v3(node[k3]);
        v4(node[k4]);
      };
    default:
      return (value) => {
        if (countKeys(value) !== n) throw errorFor(value);
        const node = value as Node<unknown>;
        if (n === 0) return;
        v0(node[k0]);
        v1(node[k1]);
        v2(node[k2]);
        v3(node[k3]);
        v4(node[k4]);
        v5(node[k5]);
        for (let i = 6; i < n; i++) (parts[i] as Visit)(node[names[i] as string]);
      };
  }
}

/** Returns the number of keys of an object or array; 0 for other values. */
function countKeys(value: unknown): number {
  let count = 0;
  if (typeof value === "object") for (const _ in value) count++;
  return count;
}

/** Returns a function that works like `flatten`, for many values of the same spec. */
export function flattener(spec: Nest<AnyLeaf>, makeError: MakeError = mismatchError): (value: unknown) => unknown[] {
  let values: unknown[] = [];
  const take = (index: number, keys: readonly string[]) => (value: unknown) => {
    if (value === undefined) throw makeError("SPEC_MISMATCH", keys, "given", value);
    values[index] = value;
  };
  const visit = visitor(spec, take, makeError);
  return (value) => {
    values = [];
    visit(value);
    return values;
  };
}

/**
 * Returns the values of the leaves of a nested value, in the order of the spec's leaves.
 * @throws ReplayError SPEC_MISMATCH if the structure differs from the spec
 */
export function flatten(spec: Nest<AnyLeaf>, value: unknown): unknown[] {
  return flattener(spec)(value);
}

/**
 * Returns the values of some leaves of a nested value, in the order of the spec's leaves; undefined for missing values.
 * @param label the name of the nest in messages
 * @throws ReplayError SPEC_MISMATCH if the value has parts outside the spec
 */
export function flattenPartial(spec: Nest<AnyLeaf>, value: unknown, label: string): unknown[] {
  const values: unknown[] = [];
  const visit = fold<AnyLeaf, Visit>(
    spec,
    (index) => (at) => {
      values[index] = at;
    },
    (names, parts, keys) => (at) => {
      if (at === undefined) return;
      const unknown = typeof at === "object" && at !== null && !ArrayBuffer.isView(at) ? Object.keys(at).find((name) => !names.includes(name)) : "";
      const rule = `an object with some of the keys ${names.join(", ")}`;
      const subject = [label, ...keys].join(".");
      if (unknown === "") throw mustBe("SPEC_MISMATCH", subject, rule, at);
      if (unknown !== undefined) throw mustBe("SPEC_MISMATCH", subject, [`${rule} (${unknown} is not one of them)`, didYouMean(unknown, names).trim()], at);
      for (const [i, name] of names.entries()) (parts[i] as Visit)((at as Node<unknown>)[name]);
    },
  );
  visit(value);
  return values;
}

type Pack = (values: readonly unknown[]) => unknown;

/** Returns a function that works like `pack`, for many values of one spec. */
export function packer(spec: Nest<AnyLeaf>): Pack {
  return fold<AnyLeaf, Pack>(
    spec,
    (index) => (values) => values[index],
    (names, parts, _, list) => (values) => {
      const node = list ? [] : {};
      for (let i = 0; i < names.length; i++) setPart(node, names[i] as string, (parts[i] as Pack)(values));
      return node;
    },
  );
}

/** Returns one value per leaf nested like the spec, the reverse of `flatten`. `pack` is unrelated to `packed`, which compresses frames. */
export function pack(spec: Nest<AnyLeaf>, values: readonly unknown[]): unknown {
  return fold<AnyLeaf, unknown>(
    spec,
    (index) => values[index],
    (names, parts, _, list) => nested(names, parts, list),
  );
}
