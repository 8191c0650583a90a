/** Errors to priorities, and probabilities to importance weights: PFRL's PriorityWeightError. */

import { finite, mustBe } from "../../base/error.ts";
import { ErrorPriorities } from "../../memory/priorities.ts";

/** By what weights are divided: the largest of the batch (true, "batch"), the largest that the memory could give, or nothing (false). */
export type NormalizeByMax = boolean | "batch" | "memory";

export interface WeighingOptions {
  /** Exponent of errors, at least 0; 0.6 where it is left out. */
  readonly alpha?: number;
  /** What beta is at first, in 0 … 1; 0.4 where it is left out. */
  readonly beta0?: number;
  /** Samples until beta is 1; null or Infinity: it stays. 200,000 where it is left out. */
  readonly betaSteps?: number | null;
  /** Added to an error, so that none weighs nothing; 0.01 where it is left out, and 1e-8 of whole episodes. */
  readonly eps?: number;
  /** true where it is left out. */
  readonly normalizeByMax?: NormalizeByMax;
  /** Bounds of errors; null for none. 0 and 1 where they are left out, and none of whole episodes. */
  readonly errorMin?: number | null;
  readonly errorMax?: number | null;
}

export type ImportanceWeightOptions = WeighingOptions & Required<Pick<WeighingOptions, "eps" | "errorMin" | "errorMax">>;

/** The least f64 of 53 bits: a probability below it counts as it, so that all weights are finite. */
const MIN_PROBABILITY = 2 ** -1022;

export class ImportanceWeights {
  beta: number;
  /** What errors become. */
  readonly errors: ErrorPriorities;
  readonly #betaAdd: number;
  readonly #normalize: "batch" | "memory" | "none";

  /** Checks every option. Defaults of the others are each buffer's own. */
  constructor({ alpha = 0.6, beta0 = 0.4, betaSteps = 2e5, eps, normalizeByMax = true, errorMin, errorMax }: ImportanceWeightOptions) {
    finite("alpha", alpha, 0);
    this.beta = finite("beta0", beta0, 0, 1);
    finite("eps", eps);
    if (betaSteps !== null && !(typeof betaSteps === "number" && betaSteps > 0))
      throw mustBe(typeof betaSteps === "number" ? RangeError : TypeError, "betaSteps", "above 0, or null", betaSteps);
    this.#betaAdd = betaSteps === null ? 0 : (1 - beta0) / betaSteps;
    this.#normalize = normalizeOf(normalizeByMax);
    this.errors = new ErrorPriorities(alpha, eps, boundOf("errorMin", errorMin), boundOf("errorMax", errorMax));
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
  get maxWeight(): number {
    return this.#normalize === "none" ? 0 : 1;
  }

  /** After each sample with weights. */
  advance(): void {
    this.beta = Math.min(1, this.beta + this.#betaAdd);
  }
}

/** What is divided, and what comes of it, within the numbers whose powers are finite. */
export function ratioOf(probability: number, divisor: number): number {
  return clamp(clamp(probability) / clamp(divisor));
}

function clamp(x: number): number {
  return Math.min(Math.max(x, MIN_PROBABILITY), Number.MAX_VALUE);
}

function normalizeOf(value: unknown): "batch" | "memory" | "none" {
  if (value === true || value === "batch") return "batch";
  if (value === "memory") return "memory";
  if (value === false) return "none";
  throw mustBe(typeof value === "string" ? RangeError : TypeError, "normalizeByMax", 'true, false, "batch" or "memory"', value);
}

function boundOf(subject: string, value: number | null): number | null {
  if (value === null) return null;
  if (typeof value !== "number" || Number.isNaN(value))
    throw mustBe(typeof value === "number" ? RangeError : TypeError, subject, "a number, or null for no bound", value);
  return value;
}
