/** Reads arguments by position, in the order of PFRL, or by name from an object at the end. */
import { checkSeed, integer, mustBe, onlyKeys } from "../base/error.ts";
import { MAX_ITEMS } from "../base/limits.ts";
import { packed, u8 } from "../schema/constructors.ts";
import { isPlain } from "../schema/infer.ts";

/** The names of the options that every buffer accepts, as text for `onlyKeys`. */
export const ENGINE_KEYS = "spec, maxBytes, seed, packed, module";

/**
 * Returns the named arguments of a call. undefined counts as omitted.
 * @param more the names of options that can be passed only by name
 * @throws TypeError for an unknown name, an argument that is passed twice, or too many arguments · TypeError, RangeError for an invalid engine option
 */
export function argumentsOf(
  subject: string,
  names: readonly string[],
  args: readonly unknown[],
  more: readonly string[] = [],
): { readonly [name: string]: unknown } {
  const last = args.at(-1);
  const options = isPlain(last) ? last : undefined;
  const positional = options === undefined ? args : args.slice(0, -1);
  if (positional.length > names.length) throw mustBe(TypeError, subject, `called with at most ${names.join(", ")} and an object of options`, positional);
  const all: { [name: string]: unknown } = {};
  positional.forEach((value, i) => {
    if (value !== undefined) all[names[i] as string] = value;
  });
  const namedOptions = onlyKeys(`${subject} options`, options ?? {}, [...names, ...more, ENGINE_KEYS].join(", "));
  for (const [name, value] of Object.entries(namedOptions)) {
    if (value === undefined) continue;
    if (name in all) throw new TypeError(`${name} is passed twice, by position and by name. Pass it once`);
    all[name] = value;
  }
  checkEngine(all);
  return all;
}

/**
 * Checks engine options early, because a buffer without a spec creates its engine only with the first transition. @throws TypeError, RangeError if an option is
 * invalid
 */
export function checkEngine({ maxBytes, seed, packed: pack }: { readonly maxBytes?: unknown; readonly seed?: unknown; readonly packed?: unknown }): void {
  if (maxBytes !== undefined) integer("maxBytes", maxBytes, 1, 2 ** 32);
  if (seed !== undefined) checkSeed(seed);
  if (pack === undefined || typeof pack === "boolean") return;
  if (!isPlain(pack)) throw mustBe(TypeError, "packed", "true, false or { ratio }", pack);
  // `packed` checks these options. Its result is not needed.
  packed("frames", u8(), pack);
}

/** Returns the maximum number of transitions; Infinity if the value is omitted or null. */
export function capacityOf(value: unknown, min = 0): number {
  return value === undefined || value === null ? Number.POSITIVE_INFINITY : integer("capacity", value, min, MAX_ITEMS);
}
