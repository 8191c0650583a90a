/** When what was committed goes to the disk without being asked for, and what stays there. */
import { integer, mustBe, onlyKeys } from "../../error.ts";
import { MAX_TIMEOUT_MS } from "../../limits.ts";

/** `always`: before each commit returns · `manual`: when `flush` is called · `everyMs`: at most so long after a commit. */
export type Durability = "always" | "manual" | { readonly everyMs: number };

/** What becomes of evicted steps on the disk. "capacity": their space is given back · "all": everything is kept. */
export type Retain = "capacity" | "all";

export const EVERY_SECOND: Durability = { everyMs: 1000 };

export function checkDurability(durability: Durability): Durability {
  if (durability === "always" || durability === "manual") return durability;
  if (typeof durability !== "object" || durability === null) throw mustBe(TypeError, "durability", `"always", "manual" or {everyMs}`, durability);
  integer("durability.everyMs", onlyKeys("durability", durability, "everyMs").everyMs, 1, MAX_TIMEOUT_MS);
  return durability;
}

export function retainOf(value: Retain): Retain {
  if (value === "capacity" || value === "all") return value;
  throw mustBe(typeof value === "string" ? RangeError : TypeError, "retain", '"capacity" or "all"', value);
}

/** A call that is due some time after the first that asks for it. */
export class Due {
  readonly #call: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(call: () => void) {
    this.#call = call;
  }

  in(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#call();
    }, ms);
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
