/** Options of draws: of `sample`, of a view of transitions, of datasets and waits; and what they come to once they are checked. */

import { DISTINCT, NO_LEAF, OWN_NEXT, STRATIFIED } from "../base/abi.ts";
import { finite, flag, integer, mustBe, oneOf, onlyKeys, ReplayError, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import { leafAt } from "../schema/columns.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { isText } from "../schema/leaf.ts";
import { SELECTOR_KINDS, type Selector } from "../schema/selector.ts";
import { type Among, CheckedAmong } from "./among.ts";
import type { Into } from "./batch.ts";
import { COMPONENTS, MASK, type NStep, RETURNS, WEIGHTS } from "./layout.ts";

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
  /**
   * Draws only among some items: `{ newest: 1000 }`, `{ oldest: 1000 }`, or `{ newest: { share: 0.1 } }`, a share of those that the table has at the call, rounded up.
   * A number alone is that of the oldest. Default: all items.
   */
  readonly among?: Among;
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

/** The options of `table.get`, which draws nothing. */
export const GET_OPTIONS = "into, recycle, length, offset, cross, columns, nStep, mask";
export const OPTIONS = "into, recycle, replacement, among, stratified, length, offset, cross, columns, nStep, mask, beta, normalize";
const OFFSETS = { start: 0, end: 1, uniform: 2 };
export const NORMALIZE = { none: 0, batch: 1, table: 2 };
export type Recycle = boolean | "detach";

/** The options of a view of transitions. */
export const VIEW_OPTIONS = "into, recycle, replacement, among, stratified, normalize, beta";
const NO_OPTIONS: SampleOptions = {};

/** The table that draws are made from, as far as their options depend on it. */
interface OptionsTable {
  readonly name: string;
  readonly sampler: Selector;
  readonly leaves: readonly PlacedLeaf[];
}

/** The options of one call after the other: what is as it was in the call before is not checked again. */
export class ParsedOptions {
  n = 0;
  /** As long as the call lasts. */
  into: Into | undefined;
  /** From how many of the oldest or newest items (NEWEST in `flags`) draws come; 0: all. */
  among = 0;
  length: number | undefined;
  columns: object | undefined;
  cross = true;
  recycle: Recycle = false;
  nStep: NStep | undefined;
  /** As the call said them. */
  amongOption: SampleOptions["among"];
  replacement = true;
  stratified = false;
  offset: SampleOptions["offset"];
  normalize: SampleOptions["normalize"];
  mask: boolean | undefined;
  hasBeta = false;
  returns: NStepOptions | undefined;
  /** DISTINCT, STRATIFIED and NEWEST. */
  flags = 0;
  /** Which part of a longer item, and what divides the weights, as the core has them. */
  from = 0;
  divisor = 0;
  /** WEIGHTS, RETURNS, MASK: what the batch must hold in addition to its leaves. */
  holds = 0;
  /** If there are weights. In an array: a fraction in a field would be allocated. */
  readonly beta: Float64Array = new Float64Array(1);
  /** Whether they are those of the call before, but for the value of beta and the batch in `into`; never with `nStep`. */
  isSame = false;
  /** Whether a call without options passed last. */
  isPlain = false;
  readonly #table: OptionsTable;
  readonly #keys: string;
  readonly #among = new CheckedAmong();
  /** Whether those of the last call passed. */
  #passed = false;
  #hasInto = false;

  /** @param keys the options that there are */
  constructor(table: OptionsTable, keys: string) {
    this.#table = table;
    this.#keys = keys;
  }

  /** Takes the options of a call. @throws TypeError, RangeError, ReplayError */
  read(n: number, options: SampleOptions = NO_OPTIONS): this {
    const passed = this.#passed;
    this.#passed = false;
    this.isPlain = false;
    // Each is read once: it may be a getter.
    const { into, beta, among, replacement = true, stratified = false, cross = true } = onlyKeys("sample", options, this.#keys);
    const { length, columns, offset = "start", normalize = "batch", nStep, mask, recycle = false } = options;
    if (beta !== undefined) {
      // Tested here because passing a fraction as an argument would allocate it.
      if (!Number.isFinite(beta)) finite("beta", beta);
      this.beta[0] = beta;
    }
    const hasBeta = beta !== undefined;
    const hasInto = into !== undefined;
    const isSameAmong = this.#among.read(among);
    this.amongOption = among;
    this.into = into;
    this.isSame =
      passed &&
      nStep === undefined &&
      this.nStep === undefined &&
      n === this.n &&
      hasInto === this.#hasInto &&
      isSameAmong &&
      length === this.length &&
      columns === this.columns &&
      cross === this.cross &&
      recycle === this.recycle &&
      replacement === this.replacement &&
      stratified === this.stratified &&
      offset === this.offset &&
      normalize === this.normalize &&
      mask === this.mask &&
      hasBeta === this.hasBeta;
    if (!this.isSame) {
      const { name, sampler, leaves } = this.#table;
      this.n = integer("n", n, 1, MAX_LENGTH);
      if (length !== undefined) integer("length", length, 1, MAX_LENGTH);
      flag("cross", cross);
      this.flags = DISTINCT * (1 - flag("replacement", replacement)) + STRATIFIED * flag("stratified", stratified) + this.#among.flags;
      this.from = oneOf("offset", OFFSETS, offset);
      this.divisor = oneOf("normalize", NORMALIZE, normalize);
      checkNormalize(name, sampler, normalize);
      this.returns = nStep;
      this.nStep = nStep === undefined ? undefined : nStepOf(nStep, leaves);
      this.holds = holdsOf(hasBeta, this.nStep, mask);
      this.recycle = checkRecycle(recycle, into);
      this.length = length;
      this.columns = columns;
      this.cross = cross;
      this.replacement = replacement;
      this.stratified = stratified;
      this.offset = offset;
      this.normalize = normalize;
      this.mask = mask;
      this.hasBeta = hasBeta;
      this.#hasInto = hasInto;
    }
    this.#passed = true;
    this.isPlain = options === NO_OPTIONS;
    return this;
  }

  /** Counts the items that draws from a table come from now. */
  resolve(table: { readonly size: number }): void {
    this.among = this.#among.of(table);
  }

  /** Checks options that are not drawn with yet. @throws TypeError, RangeError, ReplayError for options that no draw takes, whatever there is to draw */
  check(options: SampleOptions): ParsedOptions {
    const parsed = new ParsedOptions(this.#table, this.#keys).read(1, options);
    if (parsed.into !== undefined && (typeof parsed.into !== "object" || parsed.into === null))
      throw mustBe(TypeError, "into", "a batch to refill", parsed.into);
    return parsed;
  }
}

/** What a batch must hold, as bits. Not beta itself: a fraction that is passed on would be allocated. */
export function holdsOf(weighted: boolean, nStep: NStep | undefined, mask = false): number {
  const returns = nStep === undefined ? 0 : RETURNS + ((nStep.components - 1) << COMPONENTS);
  return (weighted ? WEIGHTS : 0) + returns + MASK * flag("mask", mask);
}

/** @throws TypeError */
function checkRecycle(recycle: unknown, into: unknown): Recycle {
  if (typeof recycle !== "boolean" && recycle !== "detach") throw mustBe(TypeError, "recycle", 'a boolean, or "detach"', recycle);
  if (recycle !== false && into !== undefined) throw mustBe(TypeError, "recycle", "left out beside into, which you refill yourself", recycle);
  return recycle;
}

/** @throws ReplayError UNSUPPORTED if the table cannot tell the largest weight that it could give */
export function checkNormalize(table: string, sampler: Selector, normalize: SampleOptions["normalize"]): void {
  if (normalize !== "table" || !SELECTOR_KINDS[sampler.kind].takesMin || sampler.withMin === true) return;
  throw new ReplayError("UNSUPPORTED", `normalize: "table" needs the sampler prioritized(exponent, { withMin: true }) in table ${show(table)}`);
}

/** The options of an n-step return (Sutton and Barto, 2018, section 7.1). */
export interface NStepOptions<Path extends string = string> {
  /** Number of rewards in a full return. */
  readonly n: number;
  readonly gamma: number;
  /** The path of the reward leaf. If that has several numbers per step, each has returns by itself. */
  readonly reward: Path;
  /** The path of the leaf of discounts (0 = terminal), or of terminal flags. Set at most one of the two. */
  readonly discount?: Path;
  readonly terminal?: Path;
  /** Where the observation after a step is: in the following step (default), or in a leaf of the step itself. */
  readonly nextState?: "following" | "own";
}

/** @throws TypeError, RangeError · ReplayError NOT_FOUND, SPEC_MISMATCH for leaves that are no reward, discount or flag */
export function nStepOf(options: NStepOptions, leaves: readonly PlacedLeaf[]): NStep {
  const { n, gamma, reward, discount, terminal, nextState = "following" } = onlyKeys("nStep", options, "n, gamma, reward, discount, terminal, nextState");
  if (discount !== undefined && terminal !== undefined) throw mustBe(RangeError, "nStep", "an object with discount or terminal, but not both", options);
  const leaf = (role: string, path: string | undefined) => {
    const found = leafAt(`nStep.${role}`, leaves, path);
    const isReward = role === "reward";
    if ((isReward || found.size === 1) && found.leaf.shared === undefined && !isText(found.leaf)) return found;
    throw mustBe("SPEC_MISMATCH", `nStep.${role}`, `a leaf ${isReward ? "of numbers" : "with one number per step"}, and not shared`, path);
  };
  const factor = discount === undefined ? undefined : leafAt("nStep.discount", leaves, discount);
  if (factor?.leaf.dtype === "bool")
    throw mustBe("SPEC_MISMATCH", "nStep.discount", "a leaf of factors, of which 0 is terminal (give a flag that ends as nStep.terminal)", `${discount}, bool`);
  const rewards = leaf("reward", reward);
  return {
    reward: rewards.index,
    components: rewards.size,
    discount: discount === undefined ? NO_LEAF : leaf("discount", discount).index,
    terminated: terminal === undefined ? NO_LEAF : leaf("terminal", terminal).index,
    n: integer("nStep.n", n, 1, MAX_LENGTH),
    gamma: finite("nStep.gamma", gamma),
    flags: oneOf("nStep.nextState", { following: 0, own: OWN_NEXT }, nextState),
  };
}
