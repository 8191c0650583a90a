/** Items of a table as transitions: the first step of each, the step at which its return bootstraps, and what came in between. */

import {
  DISCOUNT,
  DISTINCT,
  DRAW_LONGEST,
  DRAW_SHORTEST,
  ENDS_BEHIND,
  INSERTS,
  KEY,
  LONGEST,
  NO_LEAF,
  PENDING,
  RETURN,
  SHORTEST,
  SIZED,
  STEPS,
  TERMINATED,
  TRUNCATED,
  WEIGHT,
} from "../base/abi.ts";
import { finite, integer, mustBe, oneOf, onlyKeys, ReplayError, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { ArrayClass } from "../schema/dtype.ts";
import { packer } from "../schema/nest.ts";
import { DrawnTransitions, type Into, leaseOf, transitionsClass } from "./batch.ts";
import { BatchBuffer } from "./buffer.ts";
import { clearKeys } from "./derive.ts";
import type { Draw } from "./draw.ts";
import { BatchLayout, type ColumnSpec, WEIGHTS } from "./layout.ts";
import type { NStep, SampleOptions } from "./options.ts";
import type { BatchView, PartOf, SampledTable, Sampler } from "./sampler.ts";
import type { AnyTransitions, TransitionOptions } from "./transition-batch.ts";
import { schemaOf, type TransitionSchema } from "./transition-schema.ts";

const OPTIONS = "gamma, n, next, dtype";

/** The columns of a batch of transitions. @param float the class of returns, discounts and weights */
function columnsOf(schema: TransitionSchema, float: ArrayClass, holds: number): readonly ColumnSpec[] {
  const number = (name: string, drawColumn: number, type: ArrayClass): ColumnSpec => ({
    name,
    arrays: [{ keys: [], drawColumn: drawColumn, type, shape: [] }],
  });
  const parts = schema.parts.map(
    ({ name, spec, leaves, at }): ColumnSpec => ({
      name,
      arrays: leaves.map(({ keys, leaf }) => ({ keys, leaf, steps: at, shape: leaf.shape })),
      nest: leaves.length === 1 && leaves[0]?.keys.length === 0 ? undefined : packer(spec),
    }),
  );
  return [
    ...parts,
    number("returns", RETURN, float),
    number("discounts", DISCOUNT, float),
    number("steps", STEPS, Uint32Array),
    number("terminated", TERMINATED, Uint8Array),
    number("truncated", TRUNCATED, Uint8Array),
    ...(holds & WEIGHTS ? [number("weights", WEIGHT, float)] : []),
    { name: "keys", arrays: [{ keys: [], drawColumn: KEY, type: Float64Array }] },
  ];
}

/** The classes of a view's batches, without weights and with them. */
const classes = new WeakMap<TransitionSchema, (typeof DrawnTransitions)[]>();

class TransitionLayout extends BatchLayout {
  /** The class of returns, discounts and weights. */
  readonly float: ArrayClass;

  constructor(schema: TransitionSchema, n: number, width: number, float: ArrayClass, holds: number) {
    const columns = columnsOf(schema, float, holds);
    const known = classes.get(schema) ?? [];
    classes.set(schema, known);
    known[holds] ??= transitionsClass(columns.map(({ name }) => name));
    super({ n, width, content: schema, holds, batch: known[holds] as typeof DrawnTransitions, isBlockable: false, columns });
    this.float = float;
  }
}

export class TransitionView implements BatchView {
  readonly flags = 0;
  /** Rows of the longest transition of a draw. */
  width = 0;
  readonly from = 0;
  readonly nStep: NStep;
  /** Undefined if transitions are as long as their items. */
  readonly n: number | undefined;
  readonly #sampler: Sampler;
  readonly #table: SampledTable;
  readonly #schema: TransitionSchema;
  /** The class of returns, discounts and weights. */
  readonly #float: ArrayClass;

  constructor(sampler: Sampler, options: TransitionOptions) {
    const { gamma, n, next = [], dtype = "f32" } = onlyKeys("transitions", options, OPTIONS);
    if (!Array.isArray(next)) throw mustBe(TypeError, "next", 'an array of names, such as ["action"]', next);
    this.#sampler = sampler;
    this.#table = sampler.table;
    this.n = n === undefined ? n : integer("n", n, 1, MAX_LENGTH);
    this.#float = oneOf<ArrayClass>("dtype", { f32: Float32Array, f64: Float64Array }, dtype);
    finite("gamma", gamma, 0, 1);
    this.#schema = schemaOf(sampler.table.engine, next);
    const { reward, discount, terminated } = this.#schema;
    this.nStep = {
      reward: reward.index,
      discount: discount?.index ?? NO_LEAF,
      terminated: terminated?.index ?? NO_LEAF,
      n: n ?? MAX_LENGTH,
      gamma,
      flags: ENDS_BEHIND,
    };
    const lengths = this.#ruled();
    if (lengths.includes(1)) throw this.#singleRow();
    if (lengths.length > 0) this.#checkN(sampler.table.core.counter(LONGEST));
  }

  get nStepTable(): number {
    return this.#table.core.handle;
  }

  get gamma(): number {
    return this.nStep.gamma;
  }

  /** Names of the columns. */
  get columns(): string[] {
    return [...this.#schema.parts.map(({ name }) => name), "returns", "discounts", "steps", "terminated", "truncated", "keys"];
  }

  choose(part: PartOf | undefined): BatchBuffer {
    const { engine, core } = this.#table;
    const { n, flags, among, holds, into } = this.#sampler.options;
    let width = this.#width();
    const distinct = flags & DISTINCT;
    if (core.guaranteedDraws(n, distinct, among) < n) throw this.#notReady(n, among, distinct === 0);
    // An item of a single step may have left long ago, too.
    if (core.isLoose(n, width, engine.layout.stagedBytes) || core.counter(SHORTEST) === 1) width = this.#lookAhead(n, flags, among, width);
    this.width = width;
    if (into === undefined && part === undefined) return this.#fresh(n, width);
    return this.#refilled(n, width, holds, into, part === undefined ? this.#float : Float64Array);
  }

  narrow(buffer: BatchBuffer, _: Draw, count: number, part: PartOf | undefined): BatchBuffer {
    const { into, recycle, holds } = this.#sampler.options;
    const { width } = this;
    if (into !== undefined || count === buffer.layout.n) return buffer;
    const narrow = part === undefined ? this.#fresh(count, width) : this.#refilled(count, width, holds, undefined, Float64Array);
    narrow.takeOver(buffer);
    if (recycle !== false) (buffer.batch as AnyTransitions).release();
    else if (part === undefined) this.#sampler.pool.give(buffer);
    return narrow;
  }

  /** Makes floats of the draw f32 if the batch has them so. */
  derive({ layout }: BatchBuffer, draw: Draw): void {
    if ((layout as TransitionLayout).float === Float64Array) return;
    draw.narrow(RETURN);
    draw.narrow(DISCOUNT);
    if (layout.holds & WEIGHTS) draw.narrow(WEIGHT);
  }

  end(buffer: BatchBuffer, count: number): void {
    // Arrays of the caller's may be longer.
    if (count < buffer.layout.n || buffer.isRefilled) clearKeys(buffer, count);
  }

  check(): void {}

  counted(batch: object): { readonly keys: Float64Array } {
    return batch as AnyTransitions;
  }

  partOptions(options: SampleOptions, into: Into | undefined, n: number): SampleOptions {
    if (into !== undefined) this.#refilled(n, 1, options.beta === undefined ? 0 : WEIGHTS, into).check();
    return options;
  }

  whole(_: readonly BatchBuffer[], { into, beta }: SampleOptions, n: number): BatchBuffer {
    const whole = this.#refilled(n, 1, beta === undefined ? 0 : WEIGHTS, into);
    whole.check();
    return whole;
  }

  /** New arrays for n transitions, for use as `into`. */
  batch(n: number, weighted: boolean): object {
    const longest = Math.max(this.#table.core.counter(LONGEST), ...this.#ruled(), 2);
    const width = Math.min(this.n ?? MAX_LENGTH, longest - 1) + 1;
    return this.#refilled(integer("n", n, 1, MAX_LENGTH), width, weighted ? WEIGHTS : 0).batch;
  }

  /** The buffer of a new batch, or of one that came back. */
  #fresh(n: number, width: number): BatchBuffer {
    const { pool, options } = this.#sampler;
    const { recycle, holds } = options;
    const schema = this.#schema;
    const buffer =
      pool.take(recycle, n, width, schema, holds) ?? new BatchBuffer(this.#table.engine, new TransitionLayout(schema, n, width, this.#float, holds));
    buffer.isFresh = true;
    return recycle === false ? buffer : pool.lend(buffer, recycle);
  }

  /** The buffer of the given batch, or of a new part. @throws TypeError, ReplayError SPEC_MISMATCH */
  #refilled(n: number, width: number, holds: number, into?: object, float = this.#float): BatchBuffer {
    const { known: buffers } = this.#sampler.pool;
    const known = typeof into === "object" && into !== null ? buffers.get(into) : undefined;
    const present = known?.layout.holds ?? (into instanceof DrawnTransitions ? leaseOf(into)?.layout.holds : 0) ?? 0;
    if (present & WEIGHTS && !(holds & WEIGHTS)) throw mustBe(TypeError, "beta", "given, since into has weights", undefined);
    if (known?.layout.n === n && known.layout.width >= width && known.layout.holds === holds) return known;
    const made = new BatchBuffer(this.#table.engine, new TransitionLayout(this.#schema, n, width, float, holds), into);
    buffers.set(made.batch, made);
    return made;
  }

  /** Rows of the longest transition. @throws what says why there is none */
  #width(): number {
    const longest = this.#table.core.counter(LONGEST);
    if (this.#table.core.size === 0) throw this.#empty();
    const n = this.n;
    if (n === undefined) return longest;
    if (n >= longest) this.#checkN(longest);
    return Math.min(n + 1, longest);
  }

  /** Rows of the longest transition of this draw, `width` at most. @throws ReplayError SPEC_MISMATCH where it would give an item of a single step */
  #lookAhead(n: number, flags: number, among: number, width: number): number {
    const draw = this.#sampler.lookAhead(n, flags + SIZED, among);
    if (draw.result(DRAW_SHORTEST) === 1) throw this.#singleRow();
    return Math.min(width, draw.result(DRAW_LONGEST));
  }

  /** Steps of the items that rules of open writers make. */
  #ruled(): number[] {
    return this.#table.engine.ruleLengths(this.#table.name);
  }

  /** @throws RangeError where n is more steps than any item has or will have */
  #checkN(longest: number): void {
    const most = Math.max(longest, ...this.#ruled()) - 1;
    if (this.n !== undefined && this.n > most)
      throw mustBe(RangeError, "n", `<= ${most}, since no rule or item of table ${show(this.#table.name)} has more than ${most + 1} steps`, this.n);
  }

  #singleRow(): ReplayError {
    const what = "items of a single step, which are no transitions, or items that begin with the last step of an episode, which are none either";
    const rule = "give its rules nStep, or a length of 2 and more, end episodes with final, and clear() it";
    return new ReplayError("SPEC_MISMATCH", `table ${show(this.#table.name)} has ${what}: ${rule}`);
  }

  #empty(): ReplayError {
    const name = show(this.#table.name);
    const [stats, lengths] = [this.#table.core, this.#ruled()];
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
    const [core, name] = [this.#table.core, show(this.#table.name)];
    const { minSize } = this.#table.limits.rateLimiter;
    if (core.canSample(n)) {
      if (replacement)
        return new ReplayError("TOO_FEW", `table ${name} has ${core.size} items, which maxTimesSampled lets leave before ${n} draws: sample fewer`);
      const sure = core.guaranteedDraws(n, DISTINCT, among);
      const limit = among === 0 ? core.size : Math.min(among, core.size);
      const of = limit < core.size ? `the ${limit} oldest of ${core.size} items, as among says` : `${core.size} items`;
      const why = sure < limit ? ": the others have priority 0, or must stay for the rate limiter" : "";
      const suffix = why === "" && limit === core.size ? "" : ` (of ${of}${why})`;
      const remedy = core.guaranteedDraws(n, 0, among) < n ? "sample fewer" : "sample fewer, or with replacement";
      return new ReplayError("TOO_FEW", `table ${name} has ${sure} items that can be drawn, fewer draws than ${n}${suffix}: ${remedy}`);
    }
    const why =
      core.size < minSize ? `has ${core.size} items, and its rate limiter asks for ${minSize}` : "needs inserts before its rate limiter allows as many draws";
    return new ReplayError("RATE_LIMITED", `table ${name} ${why}: append first, or await sampleWhenReady(${n})`);
  }
}
