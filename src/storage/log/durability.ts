/** Defines when committed data is written to the disk, and how long the data is kept there. */
import { integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import { atExit, cancelAtExit } from "../../files/exit.ts";

/**
 * The time at which commits are written to the disk.
 * - "always": before each commit returns;
 * - "manual": when `flush` is called;
 * - `everyMs`: at most that many milliseconds after a commit.
 */
export type Durability = "always" | "manual" | { readonly everyMs: number };

/** The policy for evicted steps on the disk. "capacity" releases their space, and "all" keeps everything. */
export type Retain = "capacity" | "all";

export const EVERY_SECOND: Durability = { everyMs: 1000 };

export function checkDurability(durability: Durability): Durability {
  if (durability === "always" || durability === "manual") return durability;
  if (typeof durability !== "object" || durability === null) throw mustBe(TypeError, "durability", `"always", "manual" or { everyMs }`, durability);
  integer("durability.everyMs", onlyKeys("durability", durability, "everyMs").everyMs, 1, MAX_TIMEOUT_MS);
  return durability;
}

export function checkRetain(value: Retain): Retain {
  if (value === "capacity" || value === "all") return value;
  throw mustBe(typeof value === "string" ? RangeError : TypeError, "retain", '"capacity" or "all"', value);
}

/** The minimum number of milliseconds between a failed write and the next automatic attempt. */
const RETRY_MS = 100;
/** The maximum number of calls to `schedule` between two checks of the clock. */
const MAX_REQUESTS = 16;

/** A delayed call. It also runs if a busy loop that calls `schedule` keeps timers from firing, and runs at the latest when the process ends. */
export class DelayedCall {
  readonly #call: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #at = 0;
  /** The time of the last check of the clock, the number of calls to `schedule` since then, and the number of calls after which the clock is checked again. */
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

  /**
   * Schedules the call again after a failure, after at least `RETRY_MS`. The timer does not keep the process alive, and the call runs when the process ends.
   */
  retry(ms: number): void {
    this.schedule(Math.max(ms, RETRY_MS));
    // In browsers, timers are numbers, which have no `unref`.
    (this.#timer as { unref?(): void }).unref?.();
  }

  cancel(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    cancelAtExit(this.#call);
  }

  /** Makes the call if it is due, since a loop without await prevents timers from running. Otherwise decides when to check the clock again. */
  #checkClock(ms: number): void {
    const now = performance.now();
    if (now >= this.#at) {
      this.#call();
      return;
    }
    // The next check comes after about a sixteenth of the delay, or after `MAX_REQUESTS` calls if that is earlier.
    const interval = (now - this.#checkedAt) / this.#requests;
    this.#nextCheck = Math.max(1, Math.min(MAX_REQUESTS, Math.floor(ms / 16 / interval)));
    this.#checkedAt = now;
    this.#requests = 0;
  }
}
