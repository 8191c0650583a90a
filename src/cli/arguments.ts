/** What is given on the command line, as values; what is none is wrong usage. */
import { InvalidArgumentError } from "commander";
import { fifo, lifo, maxHeap, minHeap, prioritized, type Selector, uniform } from "../index.ts";

/** A whole number, at least so large. */
export function whole(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isSafeInteger(value) || value < least) throw new InvalidArgumentError(`It takes a whole number >= ${least}.`);
    return value;
  };
}

/** An option that may be given several times. */
export function several(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text];
}

const SELECTORS: { readonly [name: string]: () => Selector } = { uniform, fifo, lifo, minHeap, maxHeap };

/** `uniform`, `fifo`, …, or `prioritized` with its exponent behind a colon. */
export function selector(text: string): Selector {
  const [name, exponent, more] = text.split(":") as [string, string | undefined, string | undefined];
  const made = SELECTORS[name];
  if (Object.hasOwn(SELECTORS, name) && made !== undefined && exponent === undefined) return made();
  const power = exponent === undefined ? 1 : Number(exponent);
  if (name === "prioritized" && more === undefined && exponent !== "" && Number.isFinite(power)) return prioritized(power);
  throw new InvalidArgumentError(`It takes ${Object.keys(SELECTORS).join(", ")}, prioritized, or prioritized with its exponent: prioritized:0.6.`);
}
