/** Names in files of a format that has some of them for something else. */
import type { StepSpec } from "../../model/dataset.ts";

/** The name of each part of a group in a file: its own, or the next one with lines below that nothing else has. */
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

/** How a format names leaves. */
export interface LeafNames {
  /** Names that no leaf has at the top. */
  readonly reserved: readonly string[];
  /** Makes a name of any that the format can have. */
  readonly tidy: (name: string) => string;
  /** Stands before the place of an element of an array. Default: nothing. */
  readonly elementPrefix?: string;
}

/** The names of a leaf and of the groups that it is in: as the format would have its keys, and as the file has them. */
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
