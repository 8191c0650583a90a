/** Parses arguments as in PFRL's documentation: in their order, or by name in an object at the end. */
import { checkSeed, integer, mustBe, onlyKeys } from "../base/error.ts";
import { MAX_ITEMS } from "../base/limits.ts";
import { packed, u8 } from "../schema/constructors.ts";
import { isPlain } from "../schema/infer.ts";

/** The engine options of every buffer. */
export const ENGINE_KEYS = "spec, maxBytes, seed, packed, module";

/**
 * Returns the named arguments of a call. An undefined argument counts as omitted.
 * @param more options that have no position
 * @throws TypeError for an unknown name, one passed twice, or too many arguments · RangeError for invalid options of the engine
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
    if (name in all) throw new TypeError(`${name} is given twice: by position and by name`);
    all[name] = value;
  }
  checkEngine(all);
  return all;
}

/** Checks the options before there is an engine, which is created with the first transition. @throws TypeError, RangeError */
export function checkEngine({ maxBytes, seed, packed: pack }: { readonly maxBytes?: unknown; readonly seed?: unknown; readonly packed?: unknown }): void {
  if (maxBytes !== undefined) integer("maxBytes", maxBytes, 1, 2 ** 32);
  if (seed !== undefined) checkSeed(seed);
  if (pack === undefined || typeof pack === "boolean") return;
  if (!isPlain(pack)) throw mustBe(TypeError, "packed", "true, false or { ratio }", pack);
  // Checks the packing options.
  packed("frames", u8(), pack);
}

/** Returns the maximum number of transitions; Infinity if it is null or omitted. */
export function capacityOf(value: unknown, min = 0): number {
  return value === undefined || value === null ? Number.POSITIVE_INFINITY : integer("capacity", value, min, MAX_ITEMS);
}
