/** Errors to priorities, and probabilities to importance weights: PFRL's PriorityWeightError. */
import { type Exports, LOWER, UPPER } from "../../core/abi.ts";
import type { Core } from "../../core/core.ts";
import { finite, mustBe } from "../../error.ts";

/** By what weights are divided: the largest of the batch (true, "batch"), the largest that the memory could give, or nothing (false). */
export type NormalizeByMax = boolean | "batch" | "memory";

export interface WeighingOptions {
  /** Exponent of errors, at least 0. */
  readonly alpha?: number;
  /** What beta is at first, in 0 … 1. */
  readonly beta0?: number;
  /** Samples until beta is 1; null: it stays. */
  readonly betaSteps?: number | null;
  /** Added to an error, so that none weighs nothing. */
  readonly eps?: number;
  readonly normalizeByMax?: NormalizeByMax;
  /** Bounds of errors; null for none. */
  readonly errorMin?: number | null;
  readonly errorMax?: number | null;
}

/** Where powers are taken. */
export interface Powers {
  readonly core: Core;
  readonly x: Exports;
}

/** The largest priority that a table takes. */
export const MAX_PRIORITY = 2 ** 990;
/** The least that can be drawn beside others. */
const MIN_PRIORITY = 2 ** -999;
/** The least f64 of 53 bits: a probability below it counts as it, so that all weights are finite. */
const MIN_PROBABILITY = 2 ** -1022;

export class Weighing {
  beta: number;
  readonly #alpha: number;
  readonly #eps: number;
  readonly #betaAdd: number;
  readonly #normalize: "batch" | "memory" | "none";
  readonly #min: number;
  readonly #max: number;
  readonly #bounds: number;

  /** Checks every option. */
  constructor({ alpha, beta0, betaSteps, eps, normalizeByMax, errorMin, errorMax }: Required<WeighingOptions>) {
    this.#alpha = finite("alpha", alpha, 0);
    this.beta = finite("beta0", beta0, 0, 1);
    this.#eps = finite("eps", eps);
    if (betaSteps !== null && finite("betaSteps", betaSteps) <= 0) throw mustBe(RangeError, "betaSteps", "above 0, or null", betaSteps);
    this.#betaAdd = betaSteps === null ? 0 : (1 - beta0) / betaSteps;
    this.#normalize = normalizeOf(normalizeByMax);
    this.#min = boundOf("errorMin", errorMin);
    this.#max = boundOf("errorMax", errorMax);
    this.#bounds = (errorMin === null ? 0 : LOWER) + (errorMax === null ? 0 : UPPER);
  }

  /** Whether weights need the least priority there is. */
  get ofMemory(): boolean {
    return this.#normalize === "memory";
  }

  /** Whether weights are divided by the batch's own largest. */
  get ofBatch(): boolean {
    return this.#normalize === "batch";
  }

  /** The probability that weighs 1; 0 for the least of the batch. */
  divisor(length: number, min: number): number {
    return this.#normalize === "none" ? 1 / length : this.ofMemory ? Math.max(min, MIN_PROBABILITY) : 0;
  }

  /** 1 where weights are divided, so that none is above 1; else 0. */
  get bounded(): number {
    return this.#normalize === "none" ? 0 : 1;
  }

  /** After each sample with weights. */
  advance(): void {
    this.beta = Math.min(1, this.beta + this.#betaAdd);
  }

  /**
   * n errors (f64 each) at an address become priorities. Infinity and NaN are values here.
   * @throws RangeError where a power is no real number
   */
  weigh(core: Core, x: Exports, at: number, n: number): void {
    const done = x.priority_of_errors(at, n, this.#alpha, this.#eps, this.#min, this.#max, this.#bounds);
    if (done < n) throw mustBe(RangeError, `errors[${done}]`, `at least ${-this.#eps} with alpha ${this.#alpha} (or set errorMin)`, core.f64[at / 8 + done]);
  }

  /** n priorities become such as can be drawn; whether one of them is above `known`. @throws RangeError where one is none that an item can have */
  check({ f64 }: Core, at: number, n: number, known: number): boolean {
    let above = false;
    const first = at >>> 3;
    for (let i = 0; i < n; i++) {
      const priority = f64[first + i] as number;
      if (!(priority > 0 && priority <= MAX_PRIORITY))
        throw mustBe(RangeError, `errors[${i}]`, "an error whose priority is finite and above 0", `priority ${priority}`);
      if (priority > known) above = true;
      if (priority < MIN_PRIORITY) f64[first + i] = MIN_PRIORITY;
    }
    return above;
  }
}

/** A priority that is above 0 can be drawn. */
export function drawable(priority: number): number {
  return priority > 0 ? Math.max(priority, MIN_PRIORITY) : priority;
}

/** What is divided, and what comes of it, within the numbers whose powers are finite. */
export function ratioOf(probability: number, divisor: number): number {
  return within(within(probability) / within(divisor));
}

function within(x: number): number {
  return Math.min(Math.max(x, MIN_PROBABILITY), Number.MAX_VALUE);
}

function normalizeOf(value: unknown): "batch" | "memory" | "none" {
  if (value === true || value === "batch") return "batch";
  if (value === "memory") return "memory";
  if (value === false) return "none";
  throw mustBe(typeof value === "string" ? RangeError : TypeError, "normalizeByMax", 'true, false, "batch" or "memory"', value);
}

function boundOf(subject: string, value: number | null): number {
  if (value === null) return 0;
  if (typeof value !== "number" || Number.isNaN(value))
    throw mustBe(typeof value === "number" ? RangeError : TypeError, subject, "a number, or null for no bound", value);
  return value;
}

/** Checks numbers that a caller gives. */
export function numbersOf(subject: string, values: unknown): ArrayLike<number> {
  const list = values as ArrayLike<number>;
  if (!(Array.isArray(values) || (ArrayBuffer.isView(values) && !(values instanceof DataView) && typeof list[0] !== "bigint")))
    throw mustBe(TypeError, subject, "an array of numbers", values);
  if (Array.isArray(values)) {
    for (let i = 0; i < values.length; i++) if (typeof values[i] !== "number") throw mustBe(TypeError, `${subject}[${i}]`, "a number", values[i]);
  }
  return list;
}
