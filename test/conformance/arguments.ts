/** Converts the arguments of a case to our names. */
import { isObject } from "./case.ts";

/** Converts one name; keys inside a value are the case's own. */
export function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Converts all arguments of a call. null is Python's None: the argument is left out. */
export function ourArguments(args: unknown): { [name: string]: unknown } {
  const entries = Object.entries(isObject(args) ? args : {}).filter(([, value]) => value !== null);
  return Object.fromEntries(entries.map(([name, value]) => [camel(name), value]));
}
