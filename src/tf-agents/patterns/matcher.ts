/** Finds the configs that apply to the newest step. The matcher keeps the necessary counts, but not the steps. */
import type { CompiledConfig } from "./compile-config.ts";

/** The values of a step, one per leaf. Undefined for a leaf that the step omits. */
type Values = readonly unknown[];

/** The step number that means "no step". */
const NEVER = -1;

export class Matcher {
  /** After `match` or `end`, the indices of the configs that apply, in order. */
  readonly matches: Int32Array;
  readonly #configs: readonly CompiledConfig[];
  /** The minimum number of steps before each config is applied. */
  readonly #minSteps: readonly number[];
  readonly #reach: number;
  /** The leaves that at least one config names. */
  readonly #configLeaves: readonly number[];
  /**
   * The number of the newest step, counted since the matcher was created. `#first` is the number of the first available step, and `#index` the index of the
   * newest step in its episode.
   */
  #step = NEVER;
  #first = 0;
  #index = 0;
  /** The number of live steps so far. A step is live if it has a value in a leaf that a config names. `#isLive` is set if the newest step is live. */
  #live = 0;
  #isLive = false;
  /** For each config, the number of live steps and the number of the newest step when the config last created an item. */
  readonly #liveAt: Float64Array;
  readonly #stepAt: Float64Array;
  /** For each config with an end condition, whether its conditions on data hold for the newest step. */
  #isDataMatched: Uint8Array;
  /** Whether any config has an end condition. `#hasErrors` is set if any config's priority is computed from errors. */
  readonly #hasEnds: boolean;
  readonly #hasErrors: boolean;
  /** The leaves that an available step omits, by step number. */
  readonly #gaps = new Map<number, ReadonlySet<number>>();
  /** For each config whose priority is computed from errors, a ring buffer of the absolute errors. */
  readonly #errors: readonly (Float64Array | undefined)[];
  /** The results of `match`, which `push` takes over. */
  #nextStep = 0;
  #nextIndex = 0;
  #nextLive = 0;
  #nextIsLive = false;
  #nextIsWhole = false;
  #isNextDataMatched: Uint8Array;

  /** @param minSteps the minimum number of steps before each config is applied. Default: the reach of its pattern */
  constructor(configs: readonly CompiledConfig[], minSteps: readonly number[] = configs.map(({ reach }) => reach)) {
    const n = configs.length;
    this.#configs = configs;
    this.#minSteps = minSteps;
    this.#reach = Math.max(...configs.map(({ reach }) => reach));
    this.#configLeaves = [...new Set(configs.flatMap(({ nodes, ofData }) => [...nodes, ...ofData].map(({ leaf }) => leaf)))];
    this.matches = new Int32Array(n);
    this.#liveAt = new Float64Array(n);
    this.#stepAt = new Float64Array(n).fill(NEVER);
    this.#isDataMatched = new Uint8Array(n);
    this.#isNextDataMatched = new Uint8Array(n);
    this.#hasEnds = configs.some(({ atEnd, ofData }) => atEnd && ofData.length > 0);
    this.#hasErrors = configs.some(({ errors }) => errors !== undefined);
    this.#errors = configs.map(({ errors }) => (errors === undefined || errors.ages.length === 0 ? undefined : new Float64Array(errors.ages[0] as number)));
  }

  /** The number of steps that the longest pattern reaches back. */
  get reach(): number {
    return this.#reach;
  }

  /**
   * Finds the configs that will apply after a step is appended. Fills `matches` and returns the number of matches. Changes nothing else.
   * @param values the step's values so far
   * @param isNew whether the values belong to a new step, rather than to the newest step
   * @param index the index of the step in its episode
   */
  match(values: Values, isNew: boolean, index: number): number {
    let present = 0;
    for (let i = 0; i < this.#configLeaves.length; i++) if (values[this.#configLeaves[i] as number] !== undefined) present++;
    this.#nextStep = isNew ? this.#step + 1 : this.#step;
    this.#nextIndex = index;
    this.#nextIsLive = present > 0;
    this.#nextIsWhole = present === this.#configLeaves.length;
    this.#nextLive = this.#live + (present > 0 && (isNew || !this.#isLive) ? 1 : 0);
    if (this.#hasEnds)
      for (let k = 0; k < this.#configs.length; k++) this.#isNextDataMatched[k] = matchesData(this.#configs[k] as CompiledConfig, values) ? 1 : 0;
    return present === 0 ? 0 : this.#match(this.#nextStep, index, this.#nextLive, values, this.#nextIsWhole && this.#gaps.size === 0);
  }

  /** Accepts the step that was last passed to `match`. */
  push(values: Values): void {
    const step = this.#nextStep;
    const isNew = step !== this.#step;
    this.#step = step;
    this.#index = this.#nextIndex;
    this.#live = this.#nextLive;
    this.#isLive = this.#nextIsLive;
    if (this.#hasEnds) {
      const previousMatched = this.#isDataMatched;
      this.#isDataMatched = this.#isNextDataMatched;
      this.#isNextDataMatched = previousMatched;
    }
    if (!this.#nextIsWhole) this.#gaps.set(step, this.#missingLeaves(values));
    else if (this.#gaps.size > 0) this.#gaps.delete(step);
    if (isNew && this.#gaps.size > 0) this.#gaps.delete(step - this.#reach);
    if (this.#hasErrors) this.#pushErrors(values);
  }

  #pushErrors(values: Values): void {
    const step = this.#step;
    for (let k = 0; k < this.#configs.length; k++) {
      const { errors } = this.#configs[k] as CompiledConfig;
      const ring = this.#errors[k];
      if (errors === undefined || ring === undefined || values[errors.leaf] === undefined) continue;
      ring[step % ring.length] = Math.abs(Number(scalarOf(values[errors.leaf])));
    }
  }

  /** Finds the configs with end conditions that apply to the newest step. Fills `matches` and returns the number of matches. */
  end(): number {
    return this.#isLive ? this.#match(this.#step, this.#index, this.#live, undefined, this.#gaps.size === 0) : 0;
  }

  /** Records that a config has created its item for the newest step. */
  markApplied(k: number): void {
    this.#liveAt[k] = this.#live;
    this.#stepAt[k] = this.#step;
  }

  /** Makes all steps so far unavailable to later items. */
  clear(): void {
    this.#first = this.#step + 1;
    this.#isLive = false;
    this.#gaps.clear();
  }

  /** Returns the priority of a config's item that ends at the newest step. */
  priority(k: number): number {
    const { errors, config } = this.#configs[k] as CompiledConfig;
    if (errors === undefined) return config.priority.value;
    const ring = this.#errors[k];
    if (ring === undefined) return 0;
    let largest = 0;
    let sum = 0;
    for (const age of errors.ages) {
      const error = ring[(this.#step + 1 - age) % ring.length] as number;
      largest = Math.max(largest, error);
      sum += error;
    }
    return Math.min(errors.weight * largest + (1 - errors.weight) * (sum / errors.ages.length), Number.MAX_VALUE);
  }

  /**
   * Fills `matches` with the configs that apply, and returns their number. @param newest the values of the step that will be appended; undefined at the end of
   * an episode
   */
  #match(step: number, index: number, live: number, newest: Values | undefined, isWhole: boolean): number {
    let count = 0;
    const steps = step + 1 - this.#first;
    for (let k = 0; k < this.#configs.length; k++) {
      const config = this.#configs[k] as CompiledConfig;
      if (config.atEnd !== (newest === undefined) || steps < (this.#minSteps[k] as number) || this.#stepAt[k] === step) continue;
      if (!all(config.ofIndex, index) || !all(config.ofSince, live - (this.#liveAt[k] as number))) continue;
      if (config.ofData.length > 0 && !(newest === undefined ? this.#isDataMatched[k] === 1 : matchesData(config, newest))) continue;
      if (isWhole || this.#has(config, step, newest)) this.matches[count++] = k;
    }
    return count;
  }

  /** Returns whether every position that a config uses has a value. */
  #has({ nodes }: CompiledConfig, step: number, newest: Values | undefined): boolean {
    return nodes.every(({ leaf, ages }) =>
      ages.every((age) => (age === 1 && newest !== undefined ? newest[leaf] !== undefined : this.#gaps.get(step + 1 - age)?.has(leaf) !== true)),
    );
  }

  #missingLeaves(values: Values): ReadonlySet<number> {
    return new Set(this.#configLeaves.filter((leaf) => values[leaf] === undefined));
  }
}

function all(tests: CompiledConfig["ofIndex"], number: number): boolean {
  for (let i = 0; i < tests.length; i++) if (!(tests[i] as (number: number) => boolean)(number)) return false;
  return true;
}

function matchesData({ ofData }: CompiledConfig, values: Values): boolean {
  for (let i = 0; i < ofData.length; i++) {
    const { leaf, test } = ofData[i] as CompiledConfig["ofData"][number];
    const value = values[leaf];
    if (value === undefined || !test(scalarOf(value))) return false;
  }
  return true;
}

/** Returns a scalar value as a number. Returns NaN for a value that no leaf accepts, because storing such a value fails later. */
export function scalarOf(value: unknown): number | bigint {
  if (typeof value === "number" || typeof value === "bigint") return value;
  if (typeof value === "boolean") return Number(value);
  return ArrayBuffer.isView(value) || Array.isArray(value) ? scalarOf((value as ArrayLike<unknown>)[0]) : Number.NaN;
}
