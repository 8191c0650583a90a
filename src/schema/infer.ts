/** The spec of values, by rules of their taker: what is a leaf, and what lists and objects of leaves are. */
import type { Nest } from "./nest.ts";

/** Where in a value one looks; the step goes on with the look. */
export interface ValuePlace {
  key: string | number;
  readonly value: unknown;
  readonly parent: ValuePlace | undefined;
  readonly depth: number;
}

export interface InferRules<L> {
  /** The leaf of a value that nests nothing; undefined for arrays and objects to look into. */
  leaf(value: unknown, at: ValuePlace): L | undefined;
  /** What an array is. */
  list(values: readonly unknown[], parts: readonly Nest<L>[], at: ValuePlace): Nest<L>;
  /** What an object is. */
  node(names: readonly string[], parts: readonly Nest<L>[]): Nest<L>;
  /** Deeper nesting is refused, and so are circles. */
  readonly maxDepth: number;
  errorFor(rule: string, at: ValuePlace): Error;
}

/** @param name how messages call the value @throws what the rules throw */
export function inferNest<L>(value: unknown, name: string, rules: InferRules<L>): Nest<L> {
  return inferAt(value, { key: name, value: undefined, parent: undefined, depth: 0 }, rules);
}

function inferAt<L>(value: unknown, at: ValuePlace, rules: InferRules<L>): Nest<L> {
  const leaf = rules.leaf(value, at);
  if (leaf !== undefined) return leaf;
  const child: ValuePlace = { key: "", value: value, parent: at, depth: at.depth + 1 };
  for (let ancestor: ValuePlace | undefined = at; ancestor !== undefined; ancestor = ancestor.parent)
    if (ancestor.value === value) throw rules.errorFor("cyclic: it contains itself", at);
  if (child.depth > rules.maxDepth) throw rules.errorFor(`nested more than ${rules.maxDepth} deep`, at);
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

/** The steps from the value down to a place, its own name first. */
export function stepsTo({ key: step, parent: above }: ValuePlace): (string | number)[] {
  return above === undefined ? [step] : [...stepsTo(above), step];
}

/** `state.left[3]` */
export function placeText(at: ValuePlace): string {
  const [name, ...steps] = stepsTo(at);
  return name + steps.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
}

/** An object of the language itself, no instance of a class. */
export function isPlain(value: unknown): value is { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
