/** Seeds: 64 bits that decide every random draw. */
import { mustBe } from "./error.ts";

const END = 2n ** 64n;

/** @throws RangeError for a number that 64 bits without a sign do not hold, or that a number cannot hold exactly · TypeError for anything else */
export function checkSeed(seed: unknown): void {
  if (typeof seed === "bigint" ? seed >= 0n && seed < END : Number.isSafeInteger(seed) && (seed as number) >= 0) return;
  // The remainder of an infinite number is NaN.
  const isWrongType = typeof seed !== "bigint" && (typeof seed !== "number" || seed % 1);
  throw mustBe(isWrongType ? TypeError : RangeError, "seed", "a whole number from 0 to 2^53 - 1, or a bigint from 0n to 2n ** 64n - 1n", seed);
}
