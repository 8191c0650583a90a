/** Parses the option `among`, which limits draws to the oldest or newest items. */

import { NEWEST } from "../base/abi.ts";
import { integer, mustBe, onlyKeys } from "../base/error.ts";

/**
 * A number of items (at least 1), or a share of the items that are in the table at the time of the call. A share is above 0 and at most 1, and the resulting
 * number of items is rounded up.
 */
export type AmongCount = number | { readonly share: number };
/** The items from which to draw: a number k for the k oldest items, or an object for the newest or oldest items. */
export type Among = number | { readonly newest: AmongCount; readonly oldest?: undefined } | { readonly oldest: AmongCount; readonly newest?: undefined };

const MAX_COUNT = 0xffffffff;
const FORM = "a number, { newest: k }, { oldest: k }, or { newest: { share: 0.1 } }";

/** Checks the option `among` and stores its parsed form. */
export class CheckedAmong {
  /** NEWEST if `among` counts from the newest item, otherwise 0. */
  flags = 0;
  /** The number of items; 0 for all items, or if a share is set. */
  #count = 0;
  /** The share; 0 if none is set. It is stored in an array, because V8 would allocate memory for a fraction in a field. */
  readonly #share = new Float64Array(1);

  /** Reads the option of a call. Returns whether the option equals that of the previous call. @throws TypeError, RangeError if the option is invalid */
  read(among: unknown): boolean {
    const { flags } = this;
    const count = this.#count;
    const share = this.#share[0];
    if (among === undefined) this.#set(0, 0);
    else if (typeof among !== "object" || among === null) this.#set(0, countOf("among", among, FORM));
    else this.#readSide(among as { readonly [side: string]: unknown });
    return flags === this.flags && count === this.#count && share === this.#share[0];
  }

  /** Returns the number of items to draw from, as the core expects it: 0 for all items. */
  of(table: { readonly size: number }): number {
    const share = this.#share[0] as number;
    return share === 0 ? this.#count : Math.max(1, Math.ceil(share * table.size));
  }

  #readSide(among: { readonly [side: string]: unknown }): void {
    const { newest, oldest } = onlyKeys("among", among, "newest, oldest");
    if ((newest === undefined) === (oldest === undefined)) throw mustBe(TypeError, "among", FORM, among);
    const side = newest === undefined ? "among.oldest" : "among.newest";
    const value = newest ?? oldest;
    const flags = newest === undefined ? 0 : NEWEST;
    if (typeof value !== "object" || value === null) {
      this.#set(flags, countOf(side, value, "a number of items, or { share: 0.1 }"));
      return;
    }
    const { share } = onlyKeys(side, value as { readonly share?: unknown }, "share");
    if (typeof share !== "number" || !(share > 0 && share <= 1))
      throw mustBe(typeof share === "number" ? RangeError : TypeError, `${side}.share`, "a number above 0 and at most 1", share);
    this.#set(flags, 0);
    this.#share[0] = share;
  }

  #set(flags: number, count: number): void {
    this.flags = flags;
    this.#count = count;
    this.#share[0] = 0;
  }
}

/** Returns a checked number of items. @throws TypeError if it is not an integer · RangeError if it is outside 1 … MAX_COUNT */
function countOf(subject: string, value: unknown, form: string): number {
  if (value === 0) throw mustBe(RangeError, subject, [`an integer in 1 … ${MAX_COUNT}`, "Omit among to draw from all items"], value);
  if (typeof value !== "number") throw mustBe(TypeError, subject, form, value);
  return integer(subject, value, 1, MAX_COUNT);
}
