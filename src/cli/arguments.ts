/** Parses the values of command line options. An invalid value is a usage error. */
import { InvalidArgumentError } from "commander";
import { SELECTORS, type Selector } from "../index.ts";
import { SELECTOR_KINDS, selectorOf } from "../schema/selector.ts";

/** Returns a parser of whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isSafeInteger(value) || value < min || value > max)
      throw new InvalidArgumentError(`It must be a whole number ${max < Number.MAX_SAFE_INTEGER ? `in ${min} … ${max}` : `>= ${min}`}.`);
    return value;
  };
}

/** Parses a seed, which is an unsigned 64-bit integer. */
export function seed(text: string): bigint {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) >= 2n ** 64n) throw new InvalidArgumentError("It must be a whole number from 0 to 2^64 - 1.");
  return BigInt(text);
}

/** Parses a number above 0. */
export function positive(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value <= 0) throw new InvalidArgumentError("It must be a number above 0.");
  return value;
}

/** Parses a number of at least 0. */
export function notNegative(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) throw new InvalidArgumentError("It must be a number >= 0.");
  return value;
}

/** Appends a value to the previous values of an option that may be repeated. */
export function repeatable(text: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), text];
}

/** The names of the selectors that take an exponent, for messages. */
export const WITH_EXPONENT = SELECTORS.filter((kind) => SELECTOR_KINDS[kind].takesExponent);

/**
 * Parses a selector: its name, such as `uniform`. If the selector takes an exponent, a colon and the exponent may follow, as in `prioritized:0.6`. The default
 * exponent is 1.
 */
export function selector(text: string): Selector {
  const [name, ...rest] = text.split(":");
  const kind = SELECTORS.find((candidate) => candidate === name);
  const exponent = rest.length === 0 ? 1 : Number(rest[0]);
  const fits = rest.length === 0 || (rest.length === 1 && rest[0] !== "" && kind !== undefined && SELECTOR_KINDS[kind].takesExponent);
  if (kind !== undefined && fits && Number.isFinite(exponent)) return selectorOf(kind, exponent);
  throw new InvalidArgumentError(`It must be ${SELECTORS.join(", ")}, or ${WITH_EXPONENT.join(" or ")} with an exponent, such as ${WITH_EXPONENT[0]}:0.6.`);
}
