/** Implements the prioritized part of a buffer: the priorities of new items, draws with weights, and updates from errors. */

import { finite, flag, mustBe, ReplayError } from "../../base/error.ts";
import type { Draw } from "../../batch/draw.ts";
import type { Core } from "../../memory/core.ts";
import type { GrowingTable } from "../../memory/growing-table.ts";
import { calculator, powers } from "../../memory/priorities.ts";
import { checkedKeys, checkedNumbers, listLength, type Numbers } from "../../schema/copy-numbers.ts";
import { type DrawStrategy, tooFew } from "./draw-strategy.ts";
import type { HistoryState } from "./history.ts";
import { type ImportanceWeightOptions, ImportanceWeights, ratioOf } from "./importance-weights.ts";
import { LastSample } from "./last-sample.ts";
import type { EngineOptions, Steps } from "./steps.ts";

export interface PrioritiesOptions extends ImportanceWeightOptions {
  readonly waitPriorityAfterSampling: boolean;
  /** The share of draws that are uniform. */
  readonly uniformRatio: number;
  /** Whether samples have importance weights. */
  readonly returnSampleWeights: boolean;
  /** Whether an item may be stored with priority 0. */
  readonly zeros: boolean;
  readonly engine: EngineOptions;
}

export class Priorities {
  readonly importanceWeights: ImportanceWeights;
  readonly last: LastSample;
  readonly #options: PrioritiesOptions;

  constructor(options: PrioritiesOptions) {
    finite("uniformRatio", options.uniformRatio, 0, 1);
    flag("waitPriorityAfterSampling", options.waitPriorityAfterSampling);
    flag("returnSampleWeights", options.returnSampleWeights);
    this.importanceWeights = new ImportanceWeights(options);
    this.last = new LastSample(options.waitPriorityAfterSampling);
    this.#options = options;
  }

  /** The share of draws that are uniform. */
  get uniformRatio(): number {
    return this.#options.uniformRatio;
  }

  get hasWeights(): boolean {
    return this.#options.returnSampleWeights;
  }

  /** The priority of new items: the largest priority that an update ever set, initially 1. */
  get max(): number {
    return this.importanceWeights.errors.max;
  }

  /**
   * Checks whether n items can be sampled now. @throws ReplayError OUT_OF_TURN if the last sample still waits for its errors, EMPTY if no item has a priority
   * above 0 · RangeError if weights would be undefined or infinite
   */
  maySample(items: GrowingTable | undefined, n: number): void {
    this.last.maySample();
    if (!items?.hasWeight) throw new ReplayError("EMPTY", "no item has a priority above 0. Append transitions first");
    const { ofBatch, ofMemory } = this.importanceWeights;
    if (!this.hasWeights) return;
    if (n === 0 && ofBatch) throw mustBe(RangeError, "n", "at least 1, because an empty sample has no largest weight", n);
    if (ofMemory && this.#options.uniformRatio === 0 && items.min(this.#options.zeros) === 0)
      throw new RangeError('normalizeByMax must not be "memory" while an item has priority 0, because its weight would be infinite');
  }

  /** Draws n different items by priority, and computes their weights. @throws ReplayError TOO_FEW without any change */
  draw(items: GrowingTable, drawStrategy: DrawStrategy, draw: Draw, n: number, length: number): void {
    const { uniformRatio } = this.#options;
    const { importanceWeights, hasWeights } = this;
    const randomState = this.#options.zeros ? items.randomState : undefined;
    const min = hasWeights && importanceWeights.ofMemory ? this.#minProbability(items) : 0;
    const drawCount = drawStrategy.prioritized(items, draw, n, uniformRatio);
    if (drawCount < n) {
      if (randomState !== undefined) items.randomState = randomState;
      throw tooFew(n, drawCount, "items with a priority above 0");
    }
    if (hasWeights) draw.weighBy(importanceWeights.divisor(length, min), importanceWeights, importanceWeights.maxWeight);
  }

  /** Runs after each sample. The sample's errors become due, and beta advances. */
  onSample(keys: Float64Array, n: number): void {
    this.last.record(keys, n);
    if (this.hasWeights) this.importanceWeights.advance();
  }

  /** Returns the state that a saved buffer needs in addition to its items. */
  state(items: GrowingTable): Pick<HistoryState, "max" | "waiting" | "slots" | "high"> {
    const ranks = new Map(Array.from(this.last.waiting ? items.slots() : [], (slot, rank) => [items.keyOf(slot), rank]));
    const waiting = this.last.waiting ? this.last.keys.map((key) => ranks.get(key) ?? -1) : null;
    return { max: this.max, waiting, ...items.arrangement() };
  }

  /** Restores the state after a load. Beta is not restored, as in PFRL. */
  restore(items: GrowingTable, { max = 1, waiting = null }: HistoryState): void {
    const slots = items.slots();
    this.importanceWeights.errors.max = Math.max(1, max);
    // Evicted items get the key 0, which is not the key of any item.
    this.last.restore(waiting === null ? null : waiting.map((rank) => (slots[rank] === undefined ? 0 : items.keyOf(slots[rank]))));
  }

  /**
   * Sets the priorities of items by key, or of the items of the last sample if there are no keys. Keys of evicted items are skipped. O(n log size)
   * @returns the number of items that still existed
   * @throws TypeError, RangeError if an argument is invalid · ReplayError OUT_OF_TURN if there are no keys and no sample waits for its errors. In each case,
   * nothing has changed
   */
  update(items: GrowingTable | undefined, errors: unknown, keys: unknown): number {
    const list = checkedNumbers("errors", errors as Numbers);
    const n = listLength(list);
    const keyList = keys === undefined ? undefined : checkedKeys("keys", keys as Numbers);
    if (keyList !== undefined && listLength(keyList) !== n) throw mustBe(RangeError, "keys", `${n} numbers, one per error`, keyList);
    const itemKeys = keyList ?? this.last.mayUpdate(n);
    let updated = 0;
    if (items !== undefined && n > 0) updated = items.updateErrors(this.importanceWeights.errors, itemKeys, list, n);
    if (keyList === undefined) this.last.done();
    else this.last.onUpdate(keyList, n);
    return updated;
  }

  /** Returns the priorities for errors, which may include Infinity and NaN. */
  fromErrors(errors: unknown, steps: Steps | undefined): number[] {
    const list = checkedNumbers("errors", errors as Numbers);
    return this.importanceWeights.errors.of(this.#core(steps), list);
  }

  /** Returns the weights for probabilities, and advances beta. */
  toWeights(probabilities: unknown, min: number, length: number, steps: Steps | undefined): number[] {
    const list = checkedNumbers("probabilities", probabilities as Numbers);
    const n = listLength(list);
    const { ofBatch, beta } = this.importanceWeights;
    if (n === 0 && ofBatch) throw mustBe(RangeError, "probabilities", "a list of at least one number, because weights are divided by the largest weight", list);
    const divisor = ofBatch ? Array.from(list).reduce((lowest, p) => Math.min(lowest, p)) : this.importanceWeights.divisor(length, min);
    if (!(divisor > 0 && divisor < Number.POSITIVE_INFINITY)) throw mustBe(RangeError, "the minimum probability", "a number above 0", divisor);
    for (let i = 0; i < n; i++) if (!((list[i] as number) > 0)) throw mustBe(RangeError, `probabilities[${i}]`, "above 0", list[i]);
    const ratios = Array.from(list, (p) => ratioOf(p, divisor));
    const weights = powers(this.#core(steps), ratios, -beta);
    this.importanceWeights.advance();
    return weights;
  }

  /** Returns the smallest probability of any item. */
  #minProbability(items: GrowingTable): number {
    const { uniformRatio } = this.#options;
    return uniformRatio / items.size + ((1 - uniformRatio) * items.min(this.#options.zeros)) / items.total;
  }

  /** Returns a core that can compute powers: the core of the buffer's engine or, while no engine exists before the first step, a core that only computes. */
  #core(steps: Steps | undefined): Core {
    return steps?.engine.core ?? calculator(this.#options.engine.module);
  }
}
