/** Finds unused names for leaves in formats that reserve some names. */
import type { StepSpec } from "../../model/dataset.ts";

/** Returns a name for each part of a group, which is its own name or the next unused name with appended underscores. */
function freeNames(names: readonly string[], reserved: readonly string[], tidy: (name: string) => string): ReadonlyMap<string, string> {
  const free = new Map<string, string>();
  const used = new Set(reserved);
  for (const name of names.filter((name) => tidy(name) === name && !reserved.includes(name))) {
    free.set(name, name);
    used.add(name);
  }
  for (const name of names) {
    if (free.has(name)) continue;
    let next = tidy(name);
    while (used.has(next)) next += "_";
    used.add(next);
    free.set(name, next);
  }
  return free;
}

/** The naming rules of a format. */
export interface LeafNames {
  /** The names that no top-level part may have. */
  readonly reserved: readonly string[];
  /** Converts any name to a name that the format allows. */
  readonly tidy: (name: string) => string;
  /** The prefix of an array element's index. Default: none. */
  readonly elementPrefix?: string;
}

/** Returns the names of a leaf and its groups. `own` has their own names, as the format allows them, and `free` has the unused names in the file. */
export function leafNames(
  spec: StepSpec,
  keys: readonly string[],
  { reserved, tidy, elementPrefix = "" }: LeafNames,
): { readonly own: string[]; readonly free: string[] } {
  const [own, free]: [string[], string[]] = [[], []];
  let node: unknown = spec;
  for (const [depth, key] of keys.entries()) {
    const group = node as { readonly [key: string]: unknown };
    const prefix = Array.isArray(group) ? elementPrefix : "";
    const name = prefix + key;
    const names = Object.keys(group).map((each) => prefix + each);
    own.push(name);
    free.push(freeNames(names, depth === 0 ? reserved : [], tidy).get(name) ?? name);
    node = group[key];
  }
  return { own, free };
}
