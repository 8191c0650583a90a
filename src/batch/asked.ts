/** What draws are asked for: the options of `sample`, and what they come to once they have been checked. */

import { DISTINCT, STRATIFIED } from "../base/abi.ts";
import { finite, flag, integer, mustBe, oneOf, onlyKeys, ReplayError, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { Engine } from "../memory/engine.ts";
import { SELECTOR_KINDS, type Selector } from "../schema/selector.ts";
import type { Into } from "./batch.ts";
import { MASK, RETURNS, WEIGHTS } from "./filler.ts";
import { type NStep, type NStepOptions, nStepOf } from "./n-step.ts";
import { checkRecycle, type Recycle } from "./returned.ts";

export interface SampleOptions<Path extends string = string, C = object> {
  /**
   * A batch to refill: a result of `sample` or `batch` with the same options, or arrays of your own in the same form. Its shapes stay. For text it has plain
   * arrays, of any length. Default: new arrays.
   */
  readonly into?: Into;
  /**
   * Draws into the memory of a batch that was released: `batch.release()`, `using`, or the next turn of a loop over a dataset. Until then it is yours; afterwards a later
   * draw overwrites it. "detach" empties its arrays at the release instead, so that a program that still looks at them is found out. Default: false.
   */
  readonly recycle?: boolean | "detach";
  /** Whether an item can occur more than once. Default: true. */
  readonly replacement?: boolean;
  /** Draws only among the k oldest items, k >= 1. Default: all items. */
  readonly among?: number;
  /** Draws one item from each n-th of the distribution. */
  readonly stratified?: boolean;
  /** Number of steps per item. Default: that of the longest drawn item, or of `into`. */
  readonly length?: number;
  /** Which part of a longer item to take. Default: "start". */
  readonly offset?: "start" | "end" | "uniform";
  /** Whether a window of an item that spans episodes continues beyond the end of one. Default: true; only a writer that is `across` makes such items. */
  readonly cross?: boolean;
  /** The columns of the batch. Default: those that the items were created with, or else every leaf of every step. */
  readonly columns?: C;
  readonly nStep?: NStepOptions<Path>;
  /** Adds a mask that tells steps from padding. */
  readonly mask?: boolean;
  /** Adds importance weights, (size × probability)^-beta. */
  readonly beta?: number;
  /** Divides the weights by the largest in the batch (default), by the largest that the table could give, or by nothing. */
  readonly normalize?: "batch" | "table" | "none";
}

export const OPTIONS = "into, recycle, replacement, among, stratified, length, offset, cross, columns, nStep, mask, beta, normalize";
export const OFFSETS = { start: 0, end: 1, uniform: 2 };
export const NORMALIZE = { none: 0, batch: 1, table: 2 };

/** The options of one call after the other: what is as it was in the call before is not checked again. */
export class Asked {
  n = 0;
  /** As long as the call lasts. */
  into: Into | undefined;
  among = 0;
  length: number | undefined;
  columns: object | undefined;
  cross = true;
  recycle: Recycle = false;
  nStep: NStep | undefined;
  /** DISTINCT and STRATIFIED. */
  flags = 0;
  /** Which part of a longer item, and what divides the weights, as the core has them. */
  from = 0;
  divisor = 0;
  /** WEIGHTS, RETURNS, MASK: what the batch must hold beside the rest. */
  holds = 0;
  /** Where there are weights. In an array: a fraction in a field would be allocated. */
  readonly beta: Float64Array = new Float64Array(1);
  readonly #engine: Engine;
  readonly #table: string;
  readonly #sampler: Selector;
  /** Whether those of the last call passed. */
  #passed = false;
  #replacement = true;
  #stratified = false;
  #offset: SampleOptions["offset"];
  #normalize: SampleOptions["normalize"];
  #mask: boolean | undefined;
  #hasBeta = false;
  #hasInto = false;

  constructor(engine: Engine, table: string, sampler: Selector) {
    this.#engine = engine;
    this.#table = table;
    this.#sampler = sampler;
  }

  /** Takes the options of a call; whether they are those of the call before, but for the value of beta, the batch in `into`, and never with `nStep`. @throws TypeError, RangeError, ReplayError */
  read(n: number, options: SampleOptions): boolean {
    const passed = this.#passed;
    this.#passed = false;
    // Each is read once: it may be a getter.
    const { into, beta, among, replacement = true, stratified = false, cross = true } = onlyKeys("sample", options, OPTIONS);
    const { length, columns, offset = "start", normalize = "batch", nStep, mask, recycle = false } = options;
    if (beta !== undefined) {
      // Tested here because passing a fraction as an argument would allocate it.
      if (!Number.isFinite(beta)) finite("beta", beta);
      this.beta[0] = beta;
    }
    const hasBeta = beta !== undefined;
    const hasInto = into !== undefined;
    const oldest = among === undefined ? 0 : among;
    this.into = into;
    const isSame =
      passed &&
      nStep === undefined &&
      this.nStep === undefined &&
      n === this.n &&
      hasInto === this.#hasInto &&
      oldest === this.among &&
      among !== 0 &&
      length === this.length &&
      columns === this.columns &&
      cross === this.cross &&
      recycle === this.recycle &&
      replacement === this.#replacement &&
      stratified === this.#stratified &&
      offset === this.#offset &&
      normalize === this.#normalize &&
      mask === this.#mask &&
      hasBeta === this.#hasBeta;
    if (!isSame) {
      this.n = integer("n", n, 1, MAX_LENGTH);
      this.among = amongOf(among);
      if (length !== undefined) integer("length", length, 1, MAX_LENGTH);
      flag("cross", cross);
      this.flags = DISTINCT * (1 - flag("replacement", replacement)) + STRATIFIED * flag("stratified", stratified);
      this.from = oneOf("offset", OFFSETS, offset);
      this.divisor = oneOf("normalize", NORMALIZE, normalize);
      checkNormalize(this.#table, this.#sampler, normalize);
      this.nStep = nStep === undefined ? undefined : nStepOf(nStep, this.#engine.layout.leaves);
      this.holds = holdsOf(hasBeta, nStep, mask);
      this.recycle = checkRecycle(recycle, into);
      this.length = length;
      this.columns = columns;
      this.cross = cross;
      this.#replacement = replacement;
      this.#stratified = stratified;
      this.#offset = offset;
      this.#normalize = normalize;
      this.#mask = mask;
      this.#hasBeta = hasBeta;
      this.#hasInto = hasInto;
    }
    this.#passed = true;
    return isSame;
  }
}

/** From how many of the oldest items draws come, as the core has it: 0 for all. @throws TypeError, RangeError */
export function amongOf(among: unknown): number {
  if (among === 0) throw mustBe(RangeError, "among", "an integer in 1 … 4294967295 (leave it out to draw from all items)", among);
  return among === undefined ? 0 : integer("among", among, 1, 0xffffffff);
}

/** What a batch must hold, as bits. Not beta itself: a fraction that is handed on would be allocated. */
export function holdsOf(weighted: boolean, nStep: object | undefined, mask = false): number {
  return (weighted ? WEIGHTS : 0) + (nStep === undefined ? 0 : RETURNS) + MASK * flag("mask", mask);
}

/** @throws TypeError, RangeError, ReplayError for options that no draw of a table takes, whatever there is to draw */
export function checkDraw(table: string, sampler: Selector, options: SampleOptions): void {
  const { into, beta, among, replacement = true, stratified = false, normalize = "batch" } = options;
  if (into !== undefined && (typeof into !== "object" || into === null)) throw mustBe(TypeError, "into", "a batch to refill", into);
  amongOf(among);
  if (beta !== undefined) finite("beta", beta);
  flag("replacement", replacement);
  flag("stratified", stratified);
  oneOf("normalize", NORMALIZE, normalize);
  checkNormalize(table, sampler, normalize);
}

/** @throws ReplayError UNSUPPORTED where the table cannot tell the largest weight that it could give */
export function checkNormalize(table: string, sampler: Selector, normalize: SampleOptions["normalize"]): void {
  if (normalize !== "table" || !SELECTOR_KINDS[sampler.kind].takesMin || sampler.withMin === true) return;
  throw new ReplayError("UNSUPPORTED", `normalize: "table" needs the sampler prioritized(exponent, { withMin: true }) in table ${show(table)}`);
}
