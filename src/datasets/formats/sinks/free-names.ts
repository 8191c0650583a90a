/** Names in files of a format that has some of them for something else. */

/** The name of each part of a group in a file: its own, or the next one with lines below that nothing else has. @param tidy makes a name of any that the format can have */
export function freeNames(names: readonly string[], reserved: readonly string[], tidy: (name: string) => string): ReadonlyMap<string, string> {
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
