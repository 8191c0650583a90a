/** Parsers for values on the command line. A value that does not parse is wrong usage. */
import { InvalidArgumentError } from "commander";
import { prioritized, SELECTORS, type Selector } from "../index.ts";

/** A whole number of at least `min`, and at most `max`. */
export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isSafeInteger(value) || value < min || value > max)
      throw new InvalidArgumentError(`It must be a whole number ${max < Number.MAX_SAFE_INTEGER ? `in ${min} … ${max}` : `>= ${min}`}.`);
    return value;
  };
}

/** A seed: a whole number of 64 bits. */
export function seed(text: string): bigint {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) >= 2n ** 64n) throw new InvalidArgumentError("It must be a whole number from 0 to 2^64 - 1.");
  return BigInt(text);
}

/** A number above 0. */
export function positive(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value <= 0) throw new InvalidArgumentError("It must be a number above 0.");
  return value;
}

/** A number of at least 0. */
export function notNegative(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) throw new InvalidArgumentError("It must be a number >= 0.");
  return value;
}

/** An option that may be given several times. */
export function several(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text];
}

/** The name of a selector; `prioritized` may have a colon and its exponent behind it. */
export function selector(text: string): Selector {
  const [name, exponent, more] = text.split(":") as [string, string | undefined, string | undefined];
  const power = exponent === undefined ? 1 : Number(exponent);
  if (name === "prioritized" && more === undefined && exponent !== "" && Number.isFinite(power)) return prioritized(power);
  const kind = SELECTORS.find((known) => known === text);
  if (kind !== undefined) return { kind };
  throw new InvalidArgumentError(`It must be ${SELECTORS.join(", ")}, or prioritized with an exponent, such as prioritized:0.6.`);
}
