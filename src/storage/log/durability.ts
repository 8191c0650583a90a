/** When what was committed goes to the disk without being asked for, and what stays there. */
import { integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import { atExit, cancelAtExit } from "../../files/exit.ts";

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

export function checkRetain(value: Retain): Retain {
  if (value === "capacity" || value === "all") return value;
  throw mustBe(typeof value === "string" ? RangeError : TypeError, "retain", '"capacity" or "all"', value);
}

/** The least between two tries to write, where nobody asks. */
const RETRY_MS = 100;
/** So many times it may be asked for between two looks at the clock. */
const MAX_REQUESTS = 16;

/** A call that is made some time after it was first scheduled, even if a busy loop keeps timers from running; or when the process ends before. */
export class DelayedCall {
  readonly #call: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #at = 0;
  /** When the clock was looked at, how often it was asked for since, and how often it may be until the next look. */
  #checkedAt = 0;
  #requests = 0;
  #nextCheck = 1;

  constructor(call: () => void) {
    this.#call = () => {
      this.cancel();
      call();
    };
  }

  schedule(ms: number): void {
    if (this.#timer !== undefined) {
      if (++this.#requests >= this.#nextCheck) this.#checkClock(ms);
      return;
    }
    this.#timer = setTimeout(this.#call, ms);
    this.#checkedAt = performance.now();
    this.#at = this.#checkedAt + ms;
    this.#requests = 0;
    atExit(this.#call);
  }

  /** Once more after a failure, not before `RETRY_MS` have passed, unless the program ends before. */
  retry(ms: number): void {
    this.schedule(Math.max(ms, RETRY_MS));
    // Browsers have numbers.
    (this.#timer as { unref?(): void }).unref?.();
  }

  cancel(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    cancelAtExit(this.#call);
  }

  /** A loop that awaits nothing gives timers no turn. */
  #checkClock(ms: number): void {
    const now = performance.now();
    if (now >= this.#at) {
      this.#call();
      return;
    }
    // Who asks slowly is asked as often as takes a sixteenth of the time.
    const interval = (now - this.#checkedAt) / this.#requests;
    this.#nextCheck = Math.max(1, Math.min(MAX_REQUESTS, Math.floor(ms / 16 / interval)));
    this.#checkedAt = now;
    this.#requests = 0;
  }
}
