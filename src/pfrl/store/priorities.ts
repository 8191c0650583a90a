/** The prioritized part of a buffer: what new items weigh, how a sample is picked and weighed, and what errors make of it. */

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
  /** Which part of the draws is by chance alone. */
  readonly uniformRatio: number;
  /** Whether samples have weights. */
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

  /** Which part of the draws is by chance alone. */
  get uniformRatio(): number {
    return this.#options.uniformRatio;
  }

  get hasWeights(): boolean {
    return this.#options.returnSampleWeights;
  }

  /** What new items weigh: the largest priority that an update ever set, 1 at first. */
  get max(): number {
    return this.importanceWeights.errors.max;
  }

  /** Before a sample of n. @throws ReplayError OUT_OF_TURN, EMPTY · RangeError for none where weights are divided by the largest of them */
  maySample(items: GrowingTable | undefined, n: number): void {
    this.last.maySample();
    if (!items?.hasWeight) throw new ReplayError("EMPTY", "no item has a priority above 0: append first");
    const { ofBatch, ofMemory } = this.importanceWeights;
    if (!this.hasWeights) return;
    if (n === 0 && ofBatch) throw mustBe(RangeError, "n", "at least 1, because an empty sample has no largest weight", n);
    if (ofMemory && this.#options.uniformRatio === 0 && items.min(this.#options.zeros) === 0)
      throw new RangeError('normalizeByMax must not be "memory" while an item has priority 0, because its weight would be infinite');
  }

  /**
   * n different items into a draw, with their weights; beta goes on, and their errors are awaited.
   * @throws ReplayError TOO_FEW, and then nothing changed
   */
  draw(items: GrowingTable, drawStrategy: DrawStrategy, draw: Draw, n: number, length: number): void {
    const { uniformRatio } = this.#options;
    const { importanceWeights, hasWeights } = this;
    const randomState = this.#options.zeros ? items.randomState : undefined;
    // Asked before the draw, which changes nothing of it.
    const min = hasWeights && importanceWeights.ofMemory ? this.#minProbability(items) : 0;
    const drawCount = drawStrategy.prioritized(items, draw, n, uniformRatio);
    if (drawCount < n) {
      if (randomState !== undefined) items.randomState = randomState;
      throw tooFew(n, drawCount, "items with a priority above 0");
    }
    if (hasWeights) draw.weighBy(importanceWeights.divisor(length, min), importanceWeights, importanceWeights.maxWeight);
  }

  /** A sample was given out. */
  onSample(keys: Float64Array, n: number): void {
    this.last.record(keys, n);
    if (this.hasWeights) this.importanceWeights.advance();
  }

  /** What a saved buffer needs to know beside its items. */
  state(items: GrowingTable): Pick<HistoryState, "max" | "waiting" | "slots" | "high"> {
    const ranks = new Map(Array.from(this.last.waiting ? items.slots() : [], (slot, rank) => [items.keyOf(slot), rank]));
    const waiting = this.last.waiting ? this.last.keys.map((key) => ranks.get(key) ?? -1) : null;
    return { max: this.max, waiting, ...items.arrangement() };
  }

  /** After a load. Beta stays this buffer's own, as in PFRL. */
  restore(items: GrowingTable, { max = 1, waiting = null }: HistoryState): void {
    const slots = items.slots();
    this.importanceWeights.errors.max = Math.max(1, max);
    // 0 is no key.
    this.last.restore(waiting === null ? null : waiting.map((rank) => (slots[rank] === undefined ? 0 : items.keyOf(slots[rank]))));
  }

  /**
   * New priorities of items by key, by default of the last sample; one that has gone is skipped. O(n log size)
   * @returns how many were there
   * @throws RangeError, TypeError · ReplayError OUT_OF_TURN, and then nothing changed
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

  /** The priorities that errors make. Infinity and NaN are values here. */
  fromErrors(errors: unknown, steps: Steps | undefined): number[] {
    const list = checkedNumbers("errors", errors as Numbers);
    return this.importanceWeights.errors.of(this.#core(steps), list);
  }

  /** The weights of probabilities; beta goes on. */
  toWeights(probabilities: unknown, min: number, length: number, steps: Steps | undefined): number[] {
    const list = checkedNumbers("probabilities", probabilities as Numbers);
    const n = listLength(list);
    const { ofBatch, beta } = this.importanceWeights;
    if (n === 0 && ofBatch) throw mustBe(RangeError, "probabilities", "at least one number, because an empty list has no largest weight", list);
    const divisor = ofBatch ? Array.from(list).reduce((lowest, p) => Math.min(lowest, p)) : this.importanceWeights.divisor(length, min);
    if (!(divisor > 0 && divisor < Number.POSITIVE_INFINITY)) throw mustBe(RangeError, "the minimum probability", "a number above 0", divisor);
    for (let i = 0; i < n; i++) if (!((list[i] as number) > 0)) throw mustBe(RangeError, `probabilities[${i}]`, "above 0", list[i]);
    const ratios = Array.from(list, (p) => ratioOf(p, divisor));
    const weights = powers(this.#core(steps), ratios, -beta);
    this.importanceWeights.advance();
    return weights;
  }

  /** The least probability that an item has. */
  #minProbability(items: GrowingTable): number {
    const { uniformRatio } = this.#options;
    return uniformRatio / items.size + ((1 - uniformRatio) * items.min(this.#options.zeros)) / items.total;
  }

  /** Where powers are taken: before the first step there is no engine. */
  #core(steps: Steps | undefined): Core {
    return steps?.engine.core ?? calculator(this.#options.engine.module);
  }
}
