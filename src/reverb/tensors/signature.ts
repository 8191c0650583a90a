/** Converts the signature of a server's table to the form of Reprise. */

import { leaves, type Nest } from "../../schema/nest.ts";
import type { LeafSignature, Signature } from "../../tf-agents/signature.ts";
import type { Structure } from "../wire/structure.ts";
import type { ShapeMessage } from "../wire/tensor.ts";
import { dataType, typeName } from "./data-types.ts";

export interface WireSignature {
  /** The signature. Dicts and named tuples are objects, lists and tuples are arrays. */
  readonly nest: Signature;
  /** For each column of an item, the index of its leaf in `nest`. The two orders differ for named tuples. */
  readonly order: readonly number[];
}

/** Returns a signature, or undefined if the structure has parts that are not tensor specs. O(leaves) */
export function readSignature(structure: Structure): WireSignature | undefined {
  const leavesFound: LeafSignature[] = [];
  const nest = nestSignature(structure, leavesFound);
  if (nest === undefined) return undefined;
  const indices = new Map(leaves(nest).map(({ leaf }, i) => [leaf, i]));
  return { nest, order: leavesFound.map((leaf) => indices.get(leaf) as number) };
}

/** @param leavesFound receives the leaves in the order of the server's columns */
function nestSignature(at: Structure, leavesFound: LeafSignature[]): Nest<LeafSignature> | undefined {
  if (at.kind === "spec") {
    const leaf = leafOf(at.dtype, at.shape);
    leavesFound.push(leaf);
    return leaf;
  }
  if (at.kind === "list" || at.kind === "tuple") {
    const parts = at.parts.map((part) => nestSignature(part, leavesFound));
    return parts.includes(undefined) ? undefined : (parts as Nest<LeafSignature>[]);
  }
  if (at.kind !== "dict" && at.kind !== "namedTuple") return undefined;
  const pairs = at.kind === "dict" ? [...at.parts].sort(([a], [b]) => (a < b ? -1 : 1)) : at.parts;
  const entries = pairs.map(([name, part]) => [name, nestSignature(part, leavesFound)] as const);
  return entries.some(([, part]) => part === undefined) ? undefined : (Object.fromEntries(entries) as { [name: string]: Nest<LeafSignature> });
}

/** Returns the signature of a column, with the dtype as which the column is read. */
function leafOf(dtype: number, { dims, unknownRank }: ShapeMessage): LeafSignature {
  const type = dataType(dtype);
  const sizes = dims.map((n) => (n < 0 ? null : n));
  const shape = unknownRank ? null : type?.widen === "pair" ? [...sizes, 2] : sizes;
  if (type === undefined) return { dtype: "unknown", shape, stored: typeName(dtype) };
  return { dtype: type.as, shape, ...(type.name !== type.as && { stored: type.name }) };
}
