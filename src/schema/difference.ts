/** Finds the first difference between two specs. */
import { show } from "../base/error.ts";
import { isLeaf, leafText, type RowLeaf, shapeOf } from "./leaf.ts";
import type { Nest } from "./nest.ts";

export interface SpecDifference {
  readonly keys: readonly string[];
  /** The values of both specs, as messages show them; undefined if a spec has no value at this path. */
  readonly requested: string | undefined;
  readonly existing: string | undefined;
}

type Node = Nest<RowLeaf> | undefined;

/** Returns the first difference between two checked specs; undefined if they describe the same steps. */
export function specDifference(requested: Node, existing: Node, keys: readonly string[] = []): SpecDifference | undefined {
  const [a, b] = [textOf(requested), textOf(existing)];
  if (requested === undefined || existing === undefined || isLeaf(requested) || isLeaf(existing) || Array.isArray(requested) !== Array.isArray(existing))
    return a === b ? undefined : { keys, requested: a, existing: b };
  const [requestedParts, existingParts] = [requested, existing] as unknown as { readonly [name: string]: Nest<RowLeaf> }[] as [Parts, Parts];
  for (const name of new Set([...Object.keys(existingParts), ...Object.keys(requestedParts)])) {
    const found = specDifference(partOf(requestedParts, name), partOf(existingParts, name), [...keys, name]);
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
  const name = leaf.shared === undefined ? "" : ` ${leaf.packed === undefined ? "shared" : "packed"} as ${show(leaf.shared)}`;
  const stack = leaf.stack === undefined ? "" : `, a stack of ${leaf.stack}`;
  return leafText(leaf.dtype, shapeOf(leaf as Parameters<typeof shapeOf>[0])) + limit + name + stack;
}
