/** Converts errors to priorities, and probabilities to importance weights: `PriorityWeightError` of PFRL. */

import { finite, mustBe } from "../../base/error.ts";
import { ErrorPriorities } from "../../memory/priorities.ts";

/** The divisor of weights: the largest weight of the batch (true or "batch"), the largest weight of all stored items ("memory"), or no divisor (false). */
export type NormalizeByMax = boolean | "batch" | "memory";

export interface WeighingOptions {
  /** The exponent that converts errors to priorities, at least 0. Default: 0.6. */
  readonly alpha?: number;
  /** The initial value of beta, the exponent of the importance weights, in 0 … 1. Default: 0.4. */
  readonly beta0?: number;
  /** The number of calls to `sample` after which beta is 1. null and Infinity keep beta constant. Default: 200,000. */
  readonly betaSteps?: number | null;
  /** The constant that is added to each error, so that no priority is 0. Default: 0.01, or 1e-8 for whole episodes. */
  readonly eps?: number;
  /** The divisor of the importance weights. Default: true, for the largest weight of the batch. */
  readonly normalizeByMax?: NormalizeByMax;
  /** The lower bound of errors, or null for no bound. Default: 0, or no bound for whole episodes. */
  readonly errorMin?: number | null;
  readonly errorMax?: number | null;
}

export type ImportanceWeightOptions = WeighingOptions & Required<Pick<WeighingOptions, "eps" | "errorMin" | "errorMax">>;

/** The smallest normal f64. Smaller probabilities are replaced with this number, so that all weights are finite. */
const MIN_PROBABILITY = 2 ** -1022;

export class ImportanceWeights {
  beta: number;
  /** Converts errors to priorities. */
  readonly errors: ErrorPriorities;
  readonly #betaAdd: number;
  readonly #normalize: "batch" | "memory" | "none";

  /** Checks every option. Buffers pass their own defaults for the options without a default here. */
  constructor({ alpha = 0.6, beta0 = 0.4, betaSteps = 2e5, eps, normalizeByMax = true, errorMin, errorMax }: ImportanceWeightOptions) {
    finite("alpha", alpha, 0);
    this.beta = finite("beta0", beta0, 0, 1);
    finite("eps", eps);
    if (betaSteps !== null && !(typeof betaSteps === "number" && betaSteps > 0))
      throw mustBe(typeof betaSteps === "number" ? RangeError : TypeError, "betaSteps", "a number above 0, or null", betaSteps);
    this.#betaAdd = betaSteps === null ? 0 : (1 - beta0) / betaSteps;
    this.#normalize = normalizeOf(normalizeByMax);
    this.errors = new ErrorPriorities(alpha, eps, boundOf("errorMin", errorMin), boundOf("errorMax", errorMax));
  }

  /** Whether weights need the smallest probability of all items. */
  get ofMemory(): boolean {
    return this.#normalize === "memory";
  }

  /** Whether weights are divided by the largest weight of the batch. */
  get ofBatch(): boolean {
    return this.#normalize === "batch";
  }

  /** Returns the probability whose weight is 1. 0 means the smallest probability of the batch. */
  divisor(length: number, min: number): number {
    return this.#normalize === "none" ? 1 / length : this.ofMemory ? Math.max(min, MIN_PROBABILITY) : 0;
  }

  /** The largest allowed weight: 1 if weights are divided, or 0 for no limit. */
  get maxWeight(): number {
    return this.#normalize === "none" ? 0 : 1;
  }

  /** Raises beta by one step, up to 1. Runs after each sample with weights. */
  advance(): void {
    this.beta = Math.min(1, this.beta + this.#betaAdd);
  }
}

/** Divides two numbers. Clamps both numbers and the quotient to the range in which powers are finite. */
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
