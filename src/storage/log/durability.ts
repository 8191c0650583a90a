/** When what was committed goes to the disk without being asked for, and what stays there. */
import { integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import { atExit, notAtExit } from "../../files/exit.ts";

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

/** The least between two tries to write, where nobody asks. */
const RETRY_MS = 100;
/** So many times it may be asked for between two looks at the clock. */
const LOOK = 16;

/** A call that is due some time after the first that asks for it, whether timers get a turn or not; and when the process ends before. */
export class Due {
  readonly #call: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #at = 0;
  /** When the clock was looked at, how often it was asked for since, and how often it may be until the next look. */
  #looked = 0;
  #asked = 0;
  #until = 1;

  constructor(call: () => void) {
    this.#call = () => {
      this.cancel();
      call();
    };
  }

  in(ms: number): void {
    if (this.#timer !== undefined) {
      if (++this.#asked >= this.#until) this.#look(ms);
      return;
    }
    this.#timer = setTimeout(this.#call, ms);
    this.#looked = performance.now();
    this.#at = this.#looked + ms;
    this.#asked = 0;
    atExit(this.#call);
  }

  /** Once more after a failure, not before `RETRY_MS` have passed, unless the program ends before. */
  again(ms: number): void {
    this.in(Math.max(ms, RETRY_MS));
    // Browsers have numbers.
    (this.#timer as { unref?(): void }).unref?.();
  }

  cancel(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    notAtExit(this.#call);
  }

  /** A loop that awaits nothing gives timers no turn. */
  #look(ms: number): void {
    const now = performance.now();
    if (now >= this.#at) {
      this.#call();
      return;
    }
    // Who asks slowly is asked as often as takes a sixteenth of the time.
    const each = (now - this.#looked) / this.#asked;
    this.#until = Math.max(1, Math.min(LOOK, Math.floor(ms / 16 / each)));
    this.#looked = now;
    this.#asked = 0;
  }
}
