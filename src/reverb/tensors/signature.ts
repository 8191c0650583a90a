/** What a server says that items of a table look like, in our form. */
import type { Nest } from "../../spec/nest.ts";
import { leaves } from "../../spec/nest.ts";
import type { Structure } from "../wire/structure.ts";
import { dataType } from "./data-types.ts";

/** A column of a signature; of null sizes any will do, and of a null shape any shape. */
export interface WireLeaf {
  /** A dtype of ours, or the name of another data type. */
  readonly dtype: string;
  readonly shape: readonly (number | null)[] | null;
}

export interface WireSignature {
  /** Dicts and named tuples are objects, lists and tuples are arrays. */
  readonly nest: Nest<WireLeaf>;
  /** Which of the nest's leaves each column of an item is: named tuples have an order of their own. */
  readonly order: readonly number[];
}

/** Undefined where it has parts that are no specs of tensors. O(leaves) */
export function readSignature(structure: Structure): WireSignature | undefined {
  const found: WireLeaf[] = [];
  const nest = nested(structure, found);
  if (nest === undefined) return undefined;
  const ours = leaves(nest).map(({ leaf }) => leaf);
  return { nest, order: found.map((leaf) => ours.indexOf(leaf)) };
}

/** @param found notes the leaves in the order of the server's columns */
function nested(at: Structure, found: WireLeaf[]): Nest<WireLeaf> | undefined {
  if (at.kind === "spec") {
    const { dims, unknownRank } = at.shape;
    const word = dataType(at.dtype)?.word;
    if (word === undefined) return undefined;
    const leaf: WireLeaf = { dtype: word, shape: unknownRank ? null : dims.map((n) => (n < 0 ? null : n)) };
    found.push(leaf);
    return leaf;
  }
  if (at.kind === "list" || at.kind === "tuple") {
    const parts = at.parts.map((part) => nested(part, found));
    return parts.includes(undefined) ? undefined : (parts as Nest<WireLeaf>[]);
  }
  if (at.kind !== "dict" && at.kind !== "namedTuple") return undefined;
  const pairs = at.kind === "dict" ? [...at.parts].sort(([a], [b]) => (a < b ? -1 : 1)) : at.parts;
  const entries = pairs.map(([name, part]) => [name, nested(part, found)] as const);
  return entries.some(([, part]) => part === undefined) ? undefined : (Object.fromEntries(entries) as { [name: string]: Nest<WireLeaf> });
}
