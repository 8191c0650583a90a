/** A view of a table's items as transitions: what was seen and done, what came of it over some steps, and what was seen then. */

import {
  AHEAD,
  DISCOUNT,
  DISTINCT,
  DRAW_LONGEST,
  DRAW_SHORTEST,
  ENDS_BEHIND,
  INSERTS,
  LONGEST,
  NONE,
  PENDING,
  RETURN,
  SHORTEST,
  SIZED,
  STRATIFIED,
  WEIGHT,
} from "../../base/abi.ts";
import { pointAtCallersOf } from "../../base/caller.ts";
import { finite, flag, integer, mustBe, oneOf, onlyKeys, ReplayError, show } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import { printsAs, Word } from "../../base/prints.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { warnOfIgnored, warnOfLost } from "../../base/warnings.ts";
import type { Engine } from "../../memory/engine.ts";
import type { CoreTable } from "../../memory/table.ts";
import type { Column } from "../../schema/column.ts";
import type { AnyArray, ArrayClass } from "../../schema/dtype.ts";
import type { Selector } from "../../schema/selector.ts";
import { amongOf, checkDraw, checkNormalize, NORMALIZE, type SampleOptions } from "../asked.ts";
import { type DatasetOptions, datasetOf } from "../dataset.ts";
import { Draw } from "../draw.ts";
import { type DrawLimits, Draws } from "../draws.ts";
import type { Dataset } from "../elements.ts";
import { normalize as divideByLargest, joinRows } from "../joined.ts";
import type { NStep } from "../n-step.ts";
import { checkRecycle, type Recycle, Supply } from "../returned.ts";
import { refusedDraw } from "../sample.ts";
import type { SampleTransitions, TransitionBatch, TransitionDatasetOptions, TransitionOptions } from "./batch.ts";
import { type AnyTransitions, isWeighted, TransitionFiller } from "./filler.ts";
import { formOf, type TransitionForm } from "./form.ts";

/** Makes an unknown option a type error. */
type Only<O, Known> = { readonly [K in Exclude<keyof O, keyof Known>]: never };

/** What a view knows of its table. */
export interface ViewedTable {
  readonly name: string;
  readonly options: DrawLimits & { readonly sampler: Selector };
}

const OPTIONS = "gamma, n, next, dtype";
const SAMPLE_OPTIONS = "into, recycle, replacement, among, stratified, normalize, beta";

// biome-ignore lint/suspicious/noExplicitAny: without type arguments it is a view of any table
export class Transitions<S = any, R = any, O = any> {
  readonly #engine: Engine;
  readonly #core: CoreTable;
  readonly #table: ViewedTable;
  readonly #form: TransitionForm;
  readonly #how: NStep;
  /** The class of returns, discounts and weights. */
  readonly #float: ArrayClass;
  /** Undefined where transitions are as long as their items. */
  readonly #n: number | undefined;
  readonly #fillers = new WeakMap<object, TransitionFiller>();
  readonly #ahead: Draw;
  readonly #draws: Draws<AnyTransitions>;
  readonly #supply = new Supply<AnyTransitions, TransitionFiller>();

  static {
    printsAs<Transitions>(this, "Transitions", (view) => view.#shown());
  }

  /** `table.transitions` makes views. */
  constructor(engine: Engine, core: CoreTable, table: ViewedTable, options: TransitionOptions) {
    pointAtCallersOf(new.target);
    const { gamma, n, next = [], dtype = "f32" } = onlyKeys("transitions", options, OPTIONS);
    if (!Array.isArray(next)) throw mustBe(TypeError, "next", 'an array of names, such as ["action"]', next);
    this.#engine = engine;
    this.#ahead = new Draw(engine);
    this.#core = core;
    this.#table = table;
    this.#n = n === undefined ? n : integer("n", n, 1, MAX_LENGTH);
    this.#float = oneOf<ArrayClass>("dtype", { f32: Float32Array, f64: Float64Array }, dtype);
    this.#draws = new Draws<AnyTransitions>(engine, core, table.name, table.options, {
      check: (how) => checkDraw(table.name, table.options.sampler, onlyKeys("sample", how, SAMPLE_OPTIONS)),
      sample: (count, how, ahead) => this.#sample(count, how, 0, ahead) as AnyTransitions,
      passed: ({ count, keys }) => {
        engine.begin();
        core.count(keys, count);
      },
      part: (count, { n: all, options: how }) => {
        const { into, ...rest } = how as SampleTransitions;
        if (into !== undefined) this.#filler(all, 1, rest.beta !== undefined, into).check();
        return this.#sample(count, rest, all) as AnyTransitions;
      },
      join: (parts, how) => this.#join(parts, how as SampleTransitions),
    });
    finite("gamma", gamma, 0, 1);
    this.#form = formOf(engine, next);
    const { reward, discount, terminated } = this.#form;
    this.#how = {
      reward: reward.index,
      discount: discount?.index ?? NONE,
      terminated: terminated?.index ?? NONE,
      n: n ?? MAX_LENGTH,
      gamma,
      flags: ENDS_BEHIND,
    };
    const lengths = this.#ruled();
    if (lengths.includes(1)) throw this.#singleRow();
    if (lengths.length > 0) this.#checkN(core.counter(LONGEST));
  }

  /**
   * Draws n items and copies their transitions into arrays. Never waits. Allocates nothing but strings with `into`. O(n log size + n × steps + bytes)
   * @throws ReplayError EMPTY for a table without items, RATE_LIMITED where the rate limiter does not allow n draws now, TOO_FEW where there are too few items that
   * differ, SPEC_MISMATCH for items of a single step or that begin with the last step of an episode, UNSUPPORTED, OUT_OF_MEMORY · RangeError where no item can be as long as `n` asks
   */
  sample<const P extends SampleTransitions>(n: number, options?: P & Only<P, SampleTransitions>): TransitionBatch<S, R, O, P> {
    return this.#sample(n, options ?? {}) as TransitionBatch<S, R, O, P>;
  }

  /** n transitions, each drawn as soon as the rate limiter allows it, as `sampleWhenReady` of a table does. */
  sampleWhenReady<const P extends SampleTransitions & WaitOptions>(
    n: number,
    options?: P & Only<P, SampleTransitions & WaitOptions>,
  ): Promise<TransitionBatch<S, R, O, P>> {
    return this.#draws.whole(n, (options ?? {}) as SampleOptions & WaitOptions) as Promise<unknown> as Promise<TransitionBatch<S, R, O, P>>;
  }

  /** Batches for a `for` or `for await` loop, as those of `table.dataset`. */
  dataset<const P extends TransitionDatasetOptions>(options: P & Only<P, TransitionDatasetOptions>): Dataset<TransitionBatch<S, R, O, P>> {
    this.#engine.open();
    return datasetOf(this.#draws, options as unknown as DatasetOptions) as unknown as Dataset<TransitionBatch<S, R, O, P>>;
  }

  /** New arrays for n transitions, to pass as `into`; with `beta`, also for weights. */
  batch<const P extends Pick<SampleTransitions, "beta">>(n: number, options?: P & Only<P, Pick<SampleTransitions, "beta">>): TransitionBatch<S, R, O, P> {
    this.#engine.open();
    const { beta } = onlyKeys("batch", (options ?? {}) as SampleTransitions, "beta");
    const width = Math.min(this.#n ?? MAX_LENGTH, Math.max(this.#core.counter(LONGEST), ...this.#ruled(), 2) - 1) + 1;
    return this.#filler(integer("n", n, 1, MAX_LENGTH), width, beta !== undefined).batch as unknown as TransitionBatch<S, R, O, P>;
  }

  #shown(): object {
    const { gamma } = this.#how;
    const parts = [...this.#form.parts.map(({ name }) => name), "returns", "discounts", "steps", "terminated", "truncated", "keys"];
    return { table: this.#table.name, gamma, ...(this.#n !== undefined && { n: this.#n }), parts: new Word(parts.join(", ")) };
  }

  /** @param of how many transitions of a batch these are a part of: then numbers are f64, and weights as they are @param ahead whether they count later */
  #sample(n: number, options: SampleTransitions, of = 0, ahead = false): object {
    const engine = this.#engine;
    engine.begin();
    const { handle } = this.#core;
    let drawn: Draw | undefined;
    let filler: TransitionFiller;
    let isNew = false;
    let recycles: Recycle = false;
    let lost = false;
    let weighted = false;
    // Options are read here, and a getter may call back.
    engine.barred = true;
    try {
      const {
        into,
        beta,
        among: oldest,
        replacement = true,
        stratified = false,
        normalize = "batch",
        recycle = false,
      } = onlyKeys("sample", options, SAMPLE_OPTIONS);
      integer("n", n, 1, MAX_LENGTH);
      const among = amongOf(oldest);
      // Tested here because passing a fraction as an argument would allocate it.
      if (beta !== undefined && !Number.isFinite(beta)) finite("beta", beta);
      const distinct = DISTINCT * (1 - flag("replacement", replacement));
      const flags = distinct + STRATIFIED * flag("stratified", stratified);
      const asked = oneOf("normalize", NORMALIZE, normalize);
      const divisor = of > 0 && asked === NORMALIZE.batch ? NORMALIZE.none : asked;
      const float = of > 0 ? Float64Array : this.#float;
      checkNormalize(this.#table.name, this.#table.options.sampler, normalize);
      let width = this.#width();
      if (this.#core.sure(n, distinct, among) < n) throw this.#notReady(n, among, replacement);
      // An item of a single step may have left long ago, too.
      if (this.#core.isLoose(n, width, engine.layout.stagedBytes) || this.#core.counter(SHORTEST) === 1) width = this.#lookAhead(n, flags, among, width);
      isNew = of === 0 && into === undefined;
      recycles = checkRecycle(recycle, into);
      weighted = beta !== undefined;
      filler = isNew ? this.#newFiller(n, width, beta !== undefined, recycles) : this.#filler(n, width, beta !== undefined, into, float);
      const draw = filler.prepare();
      if (beta !== undefined) draw.beta[0] = beta;
      const count = draw.sample(handle, n, flags + AHEAD * Number(ahead), among);
      if (count < 0) throw refusedDraw(engine, count);
      drawn = draw;
      if (count < n && into === undefined) {
        const whole = filler;
        filler = isNew ? this.#newFiller(count, width, beta !== undefined, recycles) : this.#filler(count, width, beta !== undefined, into, float);
        filler.after(whole);
        if (recycles !== false) whole.batch.release();
        else if (isNew) this.#supply.give(whole);
      }
      if (beta !== undefined) draw.weigh(handle, divisor);
      draw.runs(handle, count, width, 0);
      lost = draw.nStep(this.#how, handle) > 0;
      if (float === Float32Array) {
        draw.narrow(RETURN);
        draw.narrow(DISCOUNT);
        if (beta !== undefined) draw.narrow(WEIGHT);
      }
      filler.fill(count);
    } finally {
      engine.barred = false;
      if (drawn !== undefined) {
        drawn.close(handle);
        engine.changed();
      }
    }
    if (lost) warnOfLost(engine.warnings, this.#table.name);
    if (weighted && this.#core.ignoresPriorities) warnOfIgnored(engine.warnings, this.#table.name, this.#core, "beta");
    return isNew && recycles === false ? this.#supply.give(filler) : filler.batch;
  }

  /** The parts of a batch as one. */
  #join(parts: readonly AnyTransitions[], { into, beta, normalize = "batch" }: SampleTransitions): AnyTransitions {
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    const whole = this.#filler(count, 1, beta !== undefined, into);
    whole.check();
    const rowsOf = (batch: AnyTransitions) => (this.#fillers.get(batch) as TransitionFiller).rows();
    joinRows(
      whole.rows(),
      parts.map((part) => ({ rows: rowsOf(part), count: part.count })),
    );
    const { batch } = whole;
    if (beta !== undefined && normalize === "batch") divideByLargest((batch.weights as Column).data as AnyArray, count);
    whole.ends(count);
    return batch;
  }

  /** The filler of a new batch, the same one as long as batches are alike; or of one that came back. */
  #newFiller(n: number, width: number, weighted: boolean, recycles: Recycle): TransitionFiller {
    return this.#supply.next(
      recycles,
      (one) => one.n === n && one.width === width && one.weighted === weighted,
      () => new TransitionFiller(this.#engine, n, width, this.#form, this.#float, weighted),
    );
  }

  /** The filler of the given batch, or of a new part. */
  #filler(n: number, width: number, weighted: boolean, into?: object, float = this.#float): TransitionFiller {
    const known = into && this.#fillers.get(into);
    if ((known?.weighted ?? isWeighted(into)) && !weighted) throw mustBe(TypeError, "beta", "given, since into has weights", undefined);
    if (known?.n === n && known.width >= width && known.weighted === weighted) return known;
    const made = new TransitionFiller(this.#engine, n, width, this.#form, float, weighted, into);
    this.#fillers.set(made.batch, made);
    return made;
  }

  /** Rows of the longest transition. @throws what says why there is none */
  #width(): number {
    const longest = this.#core.counter(LONGEST);
    if (this.#core.size === 0) throw this.#empty();
    const n = this.#n;
    if (n === undefined) return longest;
    if (n >= longest) this.#checkN(longest);
    return Math.min(n + 1, longest);
  }

  /** Rows of the longest transition of this draw, `width` at most. @throws ReplayError SPEC_MISMATCH where it would give an item of a single step */
  #lookAhead(n: number, flags: number, among: number, width: number): number {
    const draw = this.#ahead;
    draw.prepare(0, n, 0);
    const count = draw.peek(this.#core.handle, n, flags + SIZED, among);
    if (count < 0) throw refusedDraw(this.#engine, count);
    if (draw.result(DRAW_SHORTEST) === 1) throw this.#singleRow();
    return Math.min(width, draw.result(DRAW_LONGEST));
  }

  /** Steps of the items that rules of open writers make. */
  #ruled(): number[] {
    return this.#engine.ruledLengths(this.#table.name);
  }

  /** @throws RangeError where n is more steps than any item has or will have */
  #checkN(longest: number): void {
    const most = Math.max(longest, ...this.#ruled()) - 1;
    if (this.#n !== undefined && this.#n > most)
      throw mustBe(RangeError, "n", `<= ${most}, since no rule or item of table ${show(this.#table.name)} has more than ${most + 1} steps`, this.#n);
  }

  #singleRow(): ReplayError {
    const what = "items of a single step, which are no transitions, or items that begin with the last step of an episode, which are none either";
    const rule = "give its rules nStep, or a length of 2 and more, end episodes with final, and clear() it";
    return new ReplayError("SPEC_MISMATCH", `table ${show(this.#table.name)} has ${what}: ${rule}`);
  }

  #empty(): ReplayError {
    const name = show(this.#table.name);
    const [stats, lengths] = [this.#core, this.#ruled()];
    const why =
      stats.counter(PENDING) > 0
        ? "its items still wait for the rate limiter"
        : stats.counter(INSERTS) > 0
          ? "all of its items have left it: they were evicted, deleted, or drawn maxTimesSampled times"
          : lengths.length > 0
            ? `no item was made yet: the first comes when an episode has ${Math.min(...lengths)} steps, or with nStep when it ends`
            : "nothing was inserted yet, and no open writer has a rule for it: replay.writer({ items: [{ table, nStep }] })";
    return new ReplayError("EMPTY", `table ${name} is empty: ${why}`);
  }

  #notReady(n: number, among: number, replacement: boolean): ReplayError {
    const [core, name] = [this.#core, show(this.#table.name)];
    const { minSize } = this.#table.options.rateLimiter;
    if (core.canSample(n)) {
      if (replacement)
        return new ReplayError("TOO_FEW", `table ${name} has ${core.size} items, which maxTimesSampled lets leave before ${n} draws: sample fewer`);
      const sure = core.sure(n, DISTINCT, among);
      const asked = among === 0 ? core.size : Math.min(among, core.size);
      const of = asked < core.size ? `the ${asked} oldest of ${core.size} items, as among says` : `${core.size} items`;
      const why = sure < asked ? ": the others have priority 0, or must stay for the rate limiter" : "";
      const shown = why === "" && asked === core.size ? "" : ` (of ${of}${why})`;
      const remedy = core.sure(n, 0, among) < n ? "sample fewer" : "sample fewer, or with replacement";
      return new ReplayError("TOO_FEW", `table ${name} has ${sure} items that can be drawn, fewer draws than ${n}${shown}: ${remedy}`);
    }
    const why =
      core.size < minSize ? `has ${core.size} items, and its rate limiter asks for ${minSize}` : "needs inserts before its rate limiter allows as many draws";
    return new ReplayError("RATE_LIMITED", `table ${name} ${why}: append first, or await sampleWhenReady(${n})`);
  }
}
