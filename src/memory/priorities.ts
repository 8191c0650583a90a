/** Computes priorities from errors, (clip(error) + eps)^alpha, and powers of numbers, in a core's scratch memory. */

import { LOWER, UPPER } from "../base/abi.ts";
import { described, mustBe } from "../base/error.ts";
import { listLength } from "../schema/copy-numbers.ts";
import { Core } from "./core.ts";

/** The largest priority that a table accepts, unless the exponent of its sampler raises the weight above this limit. */
export const MAX_PRIORITY: number = 2 ** 990;
/** The smallest priority that can still be drawn if other items have larger priorities. */
const MIN_PRIORITY = 2 ** -999;
/** The maximum memory of a calculator, in bytes. It suffices for any practical list of numbers. */
const CALCULATOR_BYTES = 2 ** 28;

export class ErrorPriorities {
  /** The largest priority that an update ever set; initially 1. */
  max = 1;
  readonly #alpha: number;
  readonly #eps: number;
  readonly #lower: number;
  readonly #upper: number;
  readonly #bounds: number;

  /** @param lower the smallest error, or null for no bound @param upper the largest error, or null for no bound */
  constructor(alpha: number, eps: number, lower: number | null, upper: number | null) {
    this.#alpha = alpha;
    this.#eps = eps;
    this.#lower = lower ?? 0;
    this.#upper = upper ?? 0;
    this.#bounds = (lower === null ? 0 : LOWER) + (upper === null ? 0 : UPPER);
  }

  /** Returns the priorities of errors. Accepts Infinity and NaN. @throws RangeError if a power is not a real number */
  of(core: Core, errors: ArrayLike<number>): number[] {
    return computeInScratch(core, errors, (at, n) => this.weigh(core, at, n));
  }

  /** Replaces n errors (f64 each) at an address with their priorities. */
  weigh(core: Core, at: number, n: number): void {
    const done = core.x.priority_of_errors(at, n, this.#alpha, this.#eps, this.#lower, this.#upper, this.#bounds);
    if (done < n)
      throw mustBe(
        RangeError,
        `errors[${done}]`,
        [`at least ${-this.#eps} with alpha ${this.#alpha}`, "Set errorMin to clip smaller errors"],
        core.f64[at / 8 + done],
      );
  }

  /**
   * Raises priorities that are too small to be drawn. Returns whether one of the n priorities is above `max`.
   * @throws RangeError if a priority is too large or not above 0
   */
  check({ f64 }: Core, at: number, n: number): boolean {
    const { max } = this;
    let isAbove = false;
    const first = at >>> 3;
    for (let i = 0; i < n; i++) {
      const priority = f64[first + i] as number;
      if (!(priority > 0 && priority <= MAX_PRIORITY))
        throw mustBe(RangeError, `errors[${i}]`, "an error whose priority is finite and above 0", described(`priority ${priority}`));
      if (priority > max) isAbove = true;
      if (priority < MIN_PRIORITY) f64[first + i] = MIN_PRIORITY;
    }
    return isAbove;
  }
}

/** Returns a priority that is large enough to be drawn, if the argument is above 0. */
export function drawablePriority(priority: number): number {
  return priority > 0 ? Math.max(priority, MIN_PRIORITY) : priority;
}

/** Returns the powers of numbers, which must be above 0. */
export function powers(core: Core, numbers: ArrayLike<number>, exponent: number): number[] {
  return computeInScratch(core, numbers, (at, n) => core.x.priority_powers(at, n, exponent));
}

/** Returns the numbers after a computation in scratch memory. */
function computeInScratch(core: Core, numbers: ArrayLike<number>, compute: (at: number, n: number) => void): number[] {
  const n = listLength(numbers);
  const at = core.scratch(8 * n + 8);
  core.f64.set(numbers, at / 8);
  compute(at, n);
  return [...core.f64.subarray(at / 8, at / 8 + n)];
}

/** Returns a core that only computes, for use before an engine exists. */
export function calculator(module: WebAssembly.Module | undefined): Core {
  return new Core(CALCULATOR_BYTES, module);
}
