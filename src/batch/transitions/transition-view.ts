/** Shows items of a table as transitions: the first step of each item, the step at which the return bootstraps, and the numbers of the steps between. */

import {
  DISCOUNT,
  DISTINCT,
  DRAW_LONGEST,
  DRAW_SHORTEST,
  ENDS_BEHIND,
  KEY,
  LONGEST,
  NEWEST,
  NO_LEAF,
  RELABELLED,
  RETURN,
  SHORTEST,
  SIZED,
  STEPS,
  TERMINATED,
  TRUNCATED,
  WEIGHT,
} from "../../base/abi.ts";
import { finite, integer, mustBe, onlyKeys, ReplayError, show } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { ArrayClass } from "../../schema/dtype.ts";
import { packer } from "../../schema/nest.ts";
import { type DrawnTransitions, transitionsClass } from "../batch.ts";
import type { BatchBuffer } from "../buffer.ts";
import { ColumnView } from "../column-view.ts";
import type { Draw } from "../draw.ts";
import { BatchLayout, type ColumnSpec, type NStep, SOURCE, WEIGHTS } from "../layout.ts";
import { Part } from "../part-buffer.ts";
import { emptyTable, notReady } from "../refused-draws.ts";
import type { PartOf, Sampler } from "../sampler.ts";
import { Goals } from "./goals.ts";
import type { TransitionOptions } from "./transition-batch.ts";
import { schemaOf, type TransitionSchema } from "./transition-schema.ts";

const OPTIONS = "gamma, n, next, dtype, relabel";

/** Returns the columns of a batch of transitions. @param float the class of returns, discounts and weights */
function columnsOf(schema: TransitionSchema, float: ArrayClass, holds: number, goals: Goals | undefined): readonly ColumnSpec[] {
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
    schema.reward.size === 1
      ? number("returns", RETURN, float)
      : { name: "returns", arrays: [{ keys: [], isComputed: true, each: schema.reward.size, type: float, shape: schema.reward.shape }] },
    number("discounts", DISCOUNT, float),
    number("steps", STEPS, Uint32Array),
    number("terminated", TERMINATED, Uint8Array),
    number("truncated", TRUNCATED, Uint8Array),
    ...(goals === undefined ? [] : [number("relabelled", RELABELLED, Uint8Array)]),
    ...(holds & WEIGHTS ? [number("weights", WEIGHT, float)] : []),
    ...(holds & SOURCE ? [{ name: "source", arrays: [{ keys: [], type: Uint8Array, each: 1, shape: [] }] }] : []),
    { name: "keys", arrays: [{ keys: [], drawColumn: KEY, type: Float64Array }] },
  ];
}

/** The classes of a view's batches, by the bits of their optional contents. */
const classes = new WeakMap<TransitionSchema, (typeof DrawnTransitions)[]>();

class TransitionLayout extends BatchLayout {
  /** The class of returns, discounts and weights. */
  readonly float: ArrayClass;

  constructor(schema: TransitionSchema, n: number, width: number, float: ArrayClass, holds: number, goals: Goals | undefined) {
    const columns = columnsOf(schema, float, holds, goals);
    const known = classes.get(schema) ?? [];
    classes.set(schema, known);
    known[holds] ??= transitionsClass(columns.map(({ name }) => name));
    super({
      n,
      width,
      content: schema,
      holds,
      batch: known[holds] as typeof DrawnTransitions,
      isBlockable: false,
      columns,
      extra: goals?.bytes(n, width) ?? 0,
    });
    this.float = float;
    this.relabelled = goals?.goal;
  }

  override get isNarrow(): boolean {
    return this.float === Float32Array;
  }
}

export class TransitionView extends ColumnView {
  readonly from = 0;
  readonly nStep: NStep;
  /** The maximum number of steps of a transition. Undefined if transitions are as long as their items. */
  readonly n: number | undefined;
  protected readonly schema: TransitionSchema;
  readonly goals: Goals | undefined;

  constructor(sampler: Sampler, options: TransitionOptions) {
    const { gamma, n, next = [], dtype = "f32", relabel } = onlyKeys("transitions", options, OPTIONS);
    if (!Array.isArray(next)) throw mustBe(TypeError, "next", 'an array of names, such as ["action"]', next);
    const ownN = n === undefined ? n : integer("n", n, 1, MAX_LENGTH);
    super(sampler, dtype);
    this.n = ownN;
    finite("gamma", gamma, 0, 1);
    this.goals = relabel && new Goals(sampler.table, relabel);
    this.schema = schemaOf(sampler.table.engine, next, this.goals?.goal);
    const { reward, discount, terminated } = this.schema;
    this.nStep = {
      reward: reward.index,
      components: reward.size,
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
    return this.table.core.handle;
  }

  get gamma(): number {
    return this.nStep.gamma;
  }

  protected get parts(): string[] {
    return this.schema.parts.map(({ name }) => name);
  }

  /** The names of the columns. */
  get names(): string[] {
    return [...this.parts, "returns", "discounts", "steps", "terminated", "truncated", ...(this.goals ? ["relabelled"] : []), "keys"];
  }

  choose(part: PartOf | undefined): BatchBuffer {
    const { engine, core } = this.table;
    const { n, flags, among, into } = this.sampler.options;
    let width = this.#width();
    const how = flags & (DISTINCT | NEWEST);
    if (core.guaranteedDraws(n, how, among) < n) throw notReady(this.table, n, how, among);
    // If SHORTEST is 1, the item of a single step may have been evicted long ago. Therefore the actual draw is checked if possible.
    if (into instanceof Part && !into.isSure) {
      if (core.counter(SHORTEST) === 1) throw this.#singleRow();
    } else if (core.isLoose(n, width, engine.layout.stagedBytes) || core.counter(SHORTEST) === 1) width = this.#lookAhead(n, flags, among, width);
    this.goals?.open();
    return this.bufferOf(width, part);
  }

  /** Computes the returns of vector rewards. Converts the floats of the draw to f32 if the batch stores floats as f32. */
  derive(buffer: BatchBuffer, draw: Draw): boolean {
    const { layout } = buffer;
    if (this.nStep.components > 1) draw.vectorReturns(this.nStep, !layout.isNarrow, buffer.valueAt(layout.computed));
    if (!layout.isNarrow) return false;
    draw.narrow(RETURN);
    draw.narrow(DISCOUNT);
    if (layout.holds & WEIGHTS) draw.narrow(WEIGHT);
    return false;
  }

  protected layoutOf(n: number, width: number, float: ArrayClass, holds: number): BatchLayout {
    return new TransitionLayout(this.schema, n, width, float, holds, this.goals);
  }

  protected isWide(has: number, width: number): boolean {
    return has >= width;
  }

  protected batchWidth(): number {
    const longest = Math.max(this.table.core.counter(LONGEST), ...this.#ruled(), 2);
    return Math.min(this.n ?? MAX_LENGTH, longest - 1) + 1;
  }

  protected wholeWidth(): number {
    return 1;
  }

  /** Returns 1: the form of a batch does not depend on the lengths of its transitions. */
  longest(): number {
    return 1;
  }

  /**
   * Returns the number of rows of the longest transition. @throws ReplayError EMPTY if the table has no items · RangeError if the option `n` is too large for
   * all items and rules
   */
  #width(): number {
    const longest = this.table.core.counter(LONGEST);
    if (this.table.core.size === 0) throw emptyTable(this.table, "nStep");
    const n = this.n;
    if (n === undefined) return longest;
    if (n >= longest) this.#checkN(longest);
    return Math.min(n + 1, longest);
  }

  /**
   * Returns the number of rows of the longest transition of this draw, at most `width`. @throws ReplayError SPEC_MISMATCH if the draw would contain an item of
   * a single step
   */
  #lookAhead(n: number, flags: number, among: number, width: number): number {
    const draw = this.sampler.lookAhead(n, flags + SIZED, among);
    if (draw.result(DRAW_SHORTEST) === 1) throw this.#singleRow();
    return Math.min(width, draw.result(DRAW_LONGEST));
  }

  /** Returns the lengths of the items that rules of open writers make. */
  #ruled(): number[] {
    return this.table.engine.ruleLengths(this.table.name);
  }

  /** Checks the option `n`. @throws RangeError if no item, and no rule of an open writer, has more than n steps */
  #checkN(longest: number): void {
    const most = Math.max(longest, ...this.#ruled()) - 1;
    if (this.n !== undefined && this.n > most)
      throw mustBe(RangeError, "n", `<= ${most}, because no rule or item of table ${show(this.table.name)} has more than ${most + 1} steps`, this.n);
  }

  #singleRow(): ReplayError {
    const what = "items that cannot become transitions: they have a single step, or begin with the last step of an episode";
    const rule = "Use rules with nStep or a length of at least 2, end episodes with final, and clear() the table";
    return new ReplayError("SPEC_MISMATCH", `table ${show(this.table.name)} has ${what}. ${rule}`);
  }
}
