/** Checks the options of draws (`sample`, views, datasets and waits), and stores their checked form. */

import { DISTINCT, NO_LEAF, OWN_NEXT, STRATIFIED } from "../base/abi.ts";
import { described, finite, flag, integer, mustBe, oneOf, onlyKeys, ReplayError, show } from "../base/error.ts";
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
   * A batch to refill: a result of `sample` or `batch` with the same options, or your own arrays in the same form. The shapes of the batch do not change. Text
   * goes into plain arrays of any length. Default: new arrays.
   */
  readonly into?: Into;
  /**
   * Whether to draw into the memory of a released batch. `batch.release()`, `using`, and the next iteration of a dataset loop release a batch. Until then, the
   * batch is yours; afterwards, a later draw overwrites it. With "detach", the release instead empties the arrays, which exposes code that still reads them.
   * Default: false.
   */
  readonly recycle?: boolean | "detach";
  /** Whether an item can occur more than once. Default: true. */
  readonly replacement?: boolean;
  /**
   * The items from which to draw: `{ newest: 1000 }`, `{ oldest: 1000 }`, or `{ newest: { share: 0.1 } }` for a share of the items in the table at the call,
   * rounded up. A plain number selects the oldest items. Default: all items.
   */
  readonly among?: Among;
  /** Whether to divide the distribution into n equal parts, and draw one item from each part. Default: false. */
  readonly stratified?: boolean;
  /** The number of steps per item. Default: the length of the longest drawn item, or of `into`. */
  readonly length?: number;
  /** The part of longer items to take. Default: "start". */
  readonly offset?: "start" | "end" | "uniform";
  /** Whether a window of an item that spans episodes continues past the end of an episode. Default: true. Only writers with `across` make such items. */
  readonly cross?: boolean;
  /** The columns of the batch. Default: the columns with which the items were created, or every leaf of every step if the items have no columns. */
  readonly columns?: C;
  readonly nStep?: NStepOptions<Path>;
  /** Whether the batch has a mask: 1 for steps, 0 for padding. Default: false. */
  readonly mask?: boolean;
  /** The exponent of importance weights, (size × probability)^-beta. Default: none, for a batch without weights. */
  readonly beta?: number;
  /**
   * The divisor of the weights: the largest weight in the batch ("batch"), the largest possible weight in the table ("table"), or 1 ("none"). With a
   * prioritized sampler, "table" requires its option `withMin`. Default: "batch".
   */
  readonly normalize?: "batch" | "table" | "none";
}

/** The options of `table.get`, which does not draw. */
export const GET_OPTIONS = "into, recycle, length, offset, cross, columns, nStep, mask";
export const OPTIONS = "into, recycle, replacement, among, stratified, length, offset, cross, columns, nStep, mask, beta, normalize";
const OFFSETS = { start: 0, end: 1, uniform: 2 };
export const NORMALIZE = { none: 0, batch: 1, table: 2 };
export type Recycle = boolean | "detach";

/** The options of draws from transition views and sequence views. */
export const VIEW_OPTIONS = "into, recycle, replacement, among, stratified, normalize, beta";
const NO_OPTIONS: SampleOptions = {};

/** The properties of a table that its draw options depend on. */
interface OptionsTable {
  readonly name: string;
  readonly sampler: Selector;
  readonly leaves: readonly PlacedLeaf[];
}

/** The parsed options of the current call. Options that equal those of the previous call are not checked again. */
export class ParsedOptions {
  n = 0;
  /** The batch to refill. Set only during the call. */
  into: Into | undefined;
  /** The number of oldest items (newest items if `flags` has NEWEST) to draw from; 0 for all items. */
  among = 0;
  length: number | undefined;
  columns: object | undefined;
  cross = true;
  recycle: Recycle = false;
  nStep: NStep | undefined;
  /** The value of `among` that the call passed. */
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
  /** The part of longer items to take, and the divisor of weights, as numbers of the core. */
  from = 0;
  divisor = 0;
  /** WEIGHTS, RETURNS, MASK: the optional contents of the batch. */
  holds = 0;
  /** The value of beta, if weights are requested. It is stored in an array, because V8 would allocate memory for a fraction in a field. */
  readonly beta: Float64Array = new Float64Array(1);
  /** Whether the options equal those of the previous call, except for the value of beta and the batch in `into`. Always false with `nStep`. */
  isSame = false;
  /** Whether the last call had no options and passed its checks. */
  isPlain = false;
  readonly #table: OptionsTable;
  readonly #keys: string;
  readonly #among = new CheckedAmong();
  /** Whether the options of the last call passed their checks. */
  #passed = false;
  #hasInto = false;
  #checker: ParsedOptions | undefined;

  /** @param keys the known options */
  constructor(table: OptionsTable, keys: string) {
    this.#table = table;
    this.#keys = keys;
  }

  /** Reads the options of a call. @throws TypeError, RangeError, ReplayError */
  read(n: number, options: SampleOptions = NO_OPTIONS): this {
    const passed = this.#passed;
    this.#passed = false;
    this.isPlain = false;
    // Each option is read once, since it may be a getter.
    const { into, beta, among, replacement = true, stratified = false, cross = true } = onlyKeys("sample", options, this.#keys);
    const { length, columns, offset = "start", normalize = "batch", nStep, mask, recycle = false } = options;
    if (beta !== undefined) {
      // The test is here, because V8 would allocate memory for a fraction passed as an argument.
      if (!Number.isFinite(beta)) finite("beta", beta);
      this.beta[0] = beta;
    }
    const hasBeta = beta !== undefined;
    const hasInto = into !== undefined;
    const isSameAmong = (among === undefined && this.amongOption === undefined) || this.#among.read(among);
    this.amongOption = among;
    if (among === undefined) this.among = 0;
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

  /** Resolves `among` to a number of items for the current size of the table. Not needed without `among`. */
  resolve(table: { readonly size: number }): void {
    this.among = this.#among.of(table);
  }

  /** Checks options before any draw uses them. @throws TypeError, RangeError, ReplayError for options that no draw accepts */
  check(options: SampleOptions): void {
    // The checker is cached, because creating it costs as much as reading the options of a loop.
    this.#checker ??= new ParsedOptions(this.#table, this.#keys);
    try {
      const { into } = this.#checker.read(1, options);
      if (into !== undefined && (typeof into !== "object" || into === null)) throw mustBe(TypeError, "into", "a batch to refill", into);
    } finally {
      this.#checker.into = undefined;
    }
  }
}

/**
 * Returns the optional contents of a batch as bits. Takes a flag instead of beta, because V8 would allocate memory for a fraction passed as an
 * argument.
 */
export function holdsOf(weighted: boolean, nStep: NStep | undefined, mask = false): number {
  const returns = nStep === undefined ? 0 : RETURNS + ((nStep.components - 1) << COMPONENTS);
  return (weighted ? WEIGHTS : 0) + returns + MASK * flag("mask", mask);
}

/** Returns the checked option `recycle`. @throws TypeError if it is not a boolean or "detach", or if it is combined with `into` */
function checkRecycle(recycle: unknown, into: unknown): Recycle {
  if (typeof recycle !== "boolean" && recycle !== "detach") throw mustBe(TypeError, "recycle", 'a boolean, or "detach"', recycle);
  if (recycle !== false && into !== undefined) throw mustBe(TypeError, "recycle", "omitted with into, which you refill yourself", recycle);
  return recycle;
}

/** Checks the option `normalize`. @throws ReplayError UNSUPPORTED if the table does not track its largest possible weight */
export function checkNormalize(table: string, sampler: Selector, normalize: SampleOptions["normalize"]): void {
  if (normalize !== "table" || !SELECTOR_KINDS[sampler.kind].takesMin || sampler.withMin === true) return;
  throw new ReplayError("UNSUPPORTED", `normalize: "table" requires the sampler prioritized(exponent, { withMin: true }) in table ${show(table)}`);
}

/** The options of an n-step return (Sutton and Barto, 2018, section 7.1). */
export interface NStepOptions<Path extends string = string> {
  /** The number of rewards in a full return. */
  readonly n: number;
  readonly gamma: number;
  /** The path of the reward leaf. If the leaf has several numbers per step, each of them has its own return. */
  readonly reward: Path;
  /** The path of the leaf of discounts, where 0 marks a terminal step. Cannot be combined with `terminal`, the path of a leaf of terminal flags. */
  readonly discount?: Path;
  readonly terminal?: Path;
  /** The step that contains the observation after a step: the following step ("following", the default), or the step itself ("own"). */
  readonly nextState?: "following" | "own";
}

/**
 * Returns the core's arguments for n-step returns. @throws TypeError, RangeError if an option is invalid · ReplayError NOT_FOUND if a leaf does not exist,
 * SPEC_MISMATCH if it cannot be a reward, discount or flag
 */
export function nStepOf(options: NStepOptions, leaves: readonly PlacedLeaf[]): NStep {
  const { n, gamma, reward, discount, terminal, nextState = "following" } = onlyKeys("nStep", options, "n, gamma, reward, discount, terminal, nextState");
  if (discount !== undefined && terminal !== undefined) throw mustBe(RangeError, "nStep", "an object with discount or terminal, but not both", options);
  const leaf = (role: string, path: string | undefined) => {
    const found = leafAt(`nStep.${role}`, leaves, path);
    const isReward = role === "reward";
    if ((isReward || found.size === 1) && found.leaf.shared === undefined && !isText(found.leaf)) return found;
    throw mustBe("SPEC_MISMATCH", `nStep.${role}`, `an unshared ${isReward ? "numeric leaf" : "leaf with one number per step"}`, path);
  };
  const factor = discount === undefined ? undefined : leafAt("nStep.discount", leaves, discount);
  if (factor?.leaf.dtype === "bool")
    throw mustBe(
      "SPEC_MISMATCH",
      "nStep.discount",
      ["a numeric leaf that is 0 at the end of an episode", "Pass a terminal flag as nStep.terminal"],
      described(`the bool leaf ${show(discount)}`),
    );
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
