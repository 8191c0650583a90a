/** Where two specs differ first. */
import { show } from "../base/error.ts";
import { isLeaf, leafText, type RowLeaf, shapeOf } from "./leaf.ts";
import type { Nest } from "./nest.ts";

export interface SpecDifference {
  readonly keys: readonly string[];
  /** What each has there, as messages say it; undefined for nothing. */
  readonly asked: string | undefined;
  readonly there: string | undefined;
}

type Node = Nest<RowLeaf> | undefined;

/** The first difference of two specs, both of which were checked; undefined where they make the same steps. */
export function specDifference(asked: Node, there: Node, keys: readonly string[] = []): SpecDifference | undefined {
  const [a, b] = [textOf(asked), textOf(there)];
  if (asked === undefined || there === undefined || isLeaf(asked) || isLeaf(there) || Array.isArray(asked) !== Array.isArray(there))
    return a === b ? undefined : { keys, asked: a, there: b };
  const [own, others] = [asked, there] as unknown as { readonly [name: string]: Nest<RowLeaf> }[] as [Parts, Parts];
  for (const name of new Set([...Object.keys(others), ...Object.keys(own)])) {
    const found = specDifference(partOf(own, name), partOf(others, name), [...keys, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

type Parts = { readonly [name: string]: Nest<RowLeaf> };

function partOf(parts: Parts, name: string): Node {
  return Object.hasOwn(parts, name) ? parts[name] : undefined;
}

function textOf(node: Node): string | undefined {
  if (node === undefined) return undefined;
  if (!isLeaf(node)) return show(node);
  const leaf = node as RowLeaf;
  const limit = leaf.dtype === "string" ? ` with maxBytes ${leaf.maxBytes}` : "";
  const name = leaf.shared === undefined ? "" : ` shared as ${show(leaf.shared)}`;
  const stack = leaf.stack === undefined ? "" : `, a stack of ${leaf.stack}`;
  return leafText(leaf.dtype, shapeOf(leaf as Parameters<typeof shapeOf>[0])) + limit + name + stack;
}
