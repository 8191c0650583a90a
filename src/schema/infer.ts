/** Infers the spec of values, with rules that define leaves, lists and objects. */
import type { Nest } from "./nest.ts";

/** A place in a value. `key` changes during the traversal. */
export interface ValuePlace {
  key: string | number;
  readonly value: unknown;
  readonly parent: ValuePlace | undefined;
  readonly depth: number;
}

export interface InferRules<L> {
  /** Returns the leaf for a value that is not nested; undefined for arrays and objects, which are then traversed. */
  leaf(value: unknown, at: ValuePlace): L | undefined;
  /** Returns the node for an array. */
  list(values: readonly unknown[], parts: readonly Nest<L>[], at: ValuePlace): Nest<L>;
  /** Returns the node for an object. */
  node(names: readonly string[], parts: readonly Nest<L>[]): Nest<L>;
  /** The maximum nesting. Deeper values and cycles are rejected. */
  readonly maxDepth: number;
  errorFor(rule: string, at: ValuePlace): Error;
}

/** Returns the spec of a value. @param name the name of the value in messages @throws the errors of the rules */
export function inferNest<L>(value: unknown, name: string, rules: InferRules<L>): Nest<L> {
  return inferAt(value, { key: name, value: undefined, parent: undefined, depth: 0 }, rules);
}

function inferAt<L>(value: unknown, at: ValuePlace, rules: InferRules<L>): Nest<L> {
  const leaf = rules.leaf(value, at);
  if (leaf !== undefined) return leaf;
  const child: ValuePlace = { key: "", value: value, parent: at, depth: at.depth + 1 };
  for (let ancestor: ValuePlace | undefined = at; ancestor !== undefined; ancestor = ancestor.parent)
    if (ancestor.value === value) throw rules.errorFor("cyclic: it contains itself", at);
  if (child.depth > rules.maxDepth) throw rules.errorFor(`nested more than ${rules.maxDepth} levels deep`, at);
  if (Array.isArray(value)) {
    const parts = value.map((part, i) => {
      child.key = i;
      return inferAt(part, child, rules);
    });
    return rules.list(value, parts, at);
  }
  const names = Object.keys(value as object);
  const parts = names.map((name) => {
    child.key = name;
    return inferAt((value as { readonly [name: string]: unknown })[name], child, rules);
  });
  return rules.node(names, parts);
}

/** Returns the keys from the value down to a place, beginning with the value's name. */
export function stepsTo({ key: step, parent: above }: ValuePlace): (string | number)[] {
  return above === undefined ? [step] : [...stepsTo(above), step];
}

/** Returns a place as text: `state.left[3]`. */
export function placeText(at: ValuePlace): string {
  const [name, ...steps] = stepsTo(at);
  return name + steps.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
}

/** Returns whether a value is a plain object, not an instance of a class. */
export function isPlain(value: unknown): value is { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
