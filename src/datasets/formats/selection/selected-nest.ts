/** Selects parts of nested values that are not steps of a file, such as a spec or the columns of an item. */
import { leaves, type Nest, setPart } from "../../../schema/nest.ts";
import type { Selection } from "./selection.ts";

/** Returns the selected parts of a nest under their new names. @param isEnd returns whether a node is a value */
export function selectNest(nest: unknown, isEnd: (node: unknown) => boolean, selection: Selection): unknown {
  if (selection.isEmpty || isEnd(nest)) return nest;
  const selected = {};
  for (const { keys, leaf } of leaves(nest as Nest<unknown>, isEnd)) {
    const target = selection.keysOf(keys);
    if (target === undefined) continue;
    let at = selected as { [name: string]: unknown };
    for (const key of target.slice(0, -1)) {
      if (!Object.hasOwn(at, key)) setPart(at, key, {});
      at = at[key] as { [name: string]: unknown };
    }
    setPart(at, target.at(-1) as string, leaf);
  }
  return selected;
}
