/** Errors as priorities, (clip(error) + eps)^alpha, and powers of numbers: worked out in a core's scratch memory. */

import { LOWER, UPPER } from "../base/abi.ts";
import { mustBe } from "../base/error.ts";
import { listLength } from "../schema/copy-numbers.ts";
import { Core } from "./core.ts";

/** The largest priority that a table takes. */
export const MAX_PRIORITY: number = 2 ** 990;
/** The smallest that can be drawn beside others. */
const MIN_PRIORITY = 2 ** -999;
/** Enough for any list of numbers that one would look at. */
const CALCULATOR_BYTES = 2 ** 28;

export class ErrorPriorities {
  /** The largest that an update ever set, 1 at first. */
  max = 1;
  readonly #alpha: number;
  readonly #eps: number;
  readonly #lower: number;
  readonly #upper: number;
  readonly #bounds: number;

  /** @param lower the least error, and @param upper the greatest; null for no bound */
  constructor(alpha: number, eps: number, lower: number | null, upper: number | null) {
    this.#alpha = alpha;
    this.#eps = eps;
    this.#lower = lower ?? 0;
    this.#upper = upper ?? 0;
    this.#bounds = (lower === null ? 0 : LOWER) + (upper === null ? 0 : UPPER);
  }

  /** The priorities of errors. Infinity and NaN are values here. @throws RangeError where a power is no real number */
  of(core: Core, errors: ArrayLike<number>): number[] {
    return computeInScratch(core, errors, (at, n) => this.weigh(core, at, n));
  }

  /** n errors (f64 each) at an address become priorities. */
  weigh(core: Core, at: number, n: number): void {
    const done = core.x.priority_of_errors(at, n, this.#alpha, this.#eps, this.#lower, this.#upper, this.#bounds);
    if (done < n) throw mustBe(RangeError, `errors[${done}]`, `at least ${-this.#eps} with alpha ${this.#alpha} (or set errorMin)`, core.f64[at / 8 + done]);
  }

  /** n priorities become such as can be drawn; whether one of them is above `max`. @throws RangeError where one is none that an item can have */
  check({ f64 }: Core, at: number, n: number): boolean {
    const { max } = this;
    let isAbove = false;
    const first = at >>> 3;
    for (let i = 0; i < n; i++) {
      const priority = f64[first + i] as number;
      if (!(priority > 0 && priority <= MAX_PRIORITY))
        throw mustBe(RangeError, `errors[${i}]`, "an error whose priority is finite and above 0", `priority ${priority}`);
      if (priority > max) isAbove = true;
      if (priority < MIN_PRIORITY) f64[first + i] = MIN_PRIORITY;
    }
    return isAbove;
  }
}

/** A priority that is above 0 can be drawn. */
export function drawablePriority(priority: number): number {
  return priority > 0 ? Math.max(priority, MIN_PRIORITY) : priority;
}

/** Numbers above 0 to a power. */
export function powers(core: Core, numbers: ArrayLike<number>, exponent: number): number[] {
  return computeInScratch(core, numbers, (at, n) => core.x.priority_powers(at, n, exponent));
}

/** What becomes of numbers in scratch memory. */
function computeInScratch(core: Core, numbers: ArrayLike<number>, compute: (at: number, n: number) => void): number[] {
  const n = listLength(numbers);
  const at = core.scratch(8 * n + 8);
  core.f64.set(numbers, at / 8);
  compute(at, n);
  return [...core.f64.subarray(at / 8, at / 8 + n)];
}

/** A core for numbers alone, where there is no engine yet. */
export function calculator(module: WebAssembly.Module | undefined): Core {
  return new Core(CALCULATOR_BYTES, module);
}
