/** Implements the item view: batches of a table's items. The call or the items select the columns, and by default each window is as long as the longest drawn item. */

import { CROSS, DRAW_LAYOUT, DRAW_LONGEST, LAYOUT, LONGEST, NO_LEAF, OWN_NEXT, SAME_COLUMNS, SIZED } from "../base/abi.ts";
import { described, integer, mustBe, onlyKeys, ReplayError, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import { trimStack } from "../base/stack-trace.ts";
import type { Column } from "../schema/column.ts";
import {
  type ColumnLayout,
  checkSteps,
  type HasSelections,
  hasRoom,
  isBootstrap,
  isJoinable,
  jointOf,
  jointSelections,
  type Selection,
  selectionsOf,
  stepLists,
  wholeOf,
} from "../schema/columns.ts";
import { valueAt } from "../schema/nest.ts";
import { DrawnBatch, type Into, type ItemLayout, leaseOf } from "./batch.ts";
import type { BatchBuffer } from "./buffer.ts";
import { type Draw, differentColumns } from "./draw.ts";
import { type ItemBuffer, Items, itemBuffer, layoutIn } from "./item-layout.ts";
import { MASK, type NStep, SOURCE } from "./layout.ts";
import { holdsOf, nStepOf, OPTIONS, type SampleOptions } from "./options.ts";
import { Part, type PartBuffer } from "./part-buffer.ts";
import type { BatchView, PartOf, SampledTable, Sampler } from "./sampler.ts";

export class ItemView implements BatchView {
  /** SAME_COLUMNS if the draw must not mix column layouts, otherwise 0. */
  flags = 0;
  width = 0;
  from = 0;
  nStep: NStep | undefined = undefined;
  readonly nStepTable = 0;
  readonly #sampler: Sampler;
  readonly #table: SampledTable;
  /** Every leaf of every step. */
  readonly #whole: readonly Selection[];
  readonly #selections = new WeakMap<object, readonly Selection[]>();
  /** The buffer of the batch to refill, if it also fits the next call. */
  #buffer: BatchBuffer | undefined;
  /** The columns of all items, if all items have the same columns, and the column layout of the first item to be drawn. */
  #chosen: readonly Selection[] | undefined;
  #first: ColumnLayout | undefined;
  /** Whether items show different steps, according to their layouts. */
  #mixed = false;

  constructor(sampler: Sampler) {
    this.#sampler = sampler;
    this.#table = sampler.table;
    this.#whole = wholeOf(sampler.table.engine.layout.leaves);
  }

  /** Chooses columns, width and buffer for a call. @throws ReplayError, RangeError if the options do not fit the items; nothing is drawn in this case */
  choose(part: PartOf | undefined): BatchBuffer {
    const { options } = this.#sampler;
    const { engine, core } = this.#table;
    this.from = options.from + (options.cross ? CROSS : 0);
    this.nStep = options.nStep;
    const id = options.columns === undefined ? engine.core.x.table_counter(core.handle, LAYOUT) : 0;
    const selections = id === 0 && options.columns === undefined ? this.#whole : this.#selected(options.columns, id);
    const known = options.isSame && part === undefined && this.#chosen === selections ? this.#buffer : undefined;
    return known !== undefined && known.batch === (options.into as object) ? known : this.#choose(selections, part);
  }

  #choose(selections: readonly Selection[] | undefined, part: PartOf | undefined): BatchBuffer {
    const { into, length, columns, nStep, n, flags, among, holds } = this.#sampler.options;
    const { engine, core } = this.#table;
    const { x } = engine.core;
    this.#buffer = undefined;
    let chosen = selections;
    let first: ColumnLayout | undefined;
    const same = chosen === undefined ? SAME_COLUMNS : 0;
    const isFree = into === undefined && length === undefined;
    let longest = isFree ? x.table_counter(core.handle, LONGEST) : 0;
    const isLoose = isFree && x.table_loose(core.handle, n, longest, engine.layout.stagedBytes) !== 0;
    if (chosen === undefined && into instanceof Part) throw differentItems();
    if (same > 0 || isLoose) {
      const ahead = this.#sampler.lookAhead(n, flags + same + (isLoose ? SIZED : 0), among);
      if (isLoose) longest = ahead.result(DRAW_LONGEST);
      first = engine.columnLayouts.get(ahead.result(DRAW_LAYOUT));
      chosen ??= first?.selections ?? this.#whole;
    }
    if (chosen !== this.#whole) this.#checkBootstrap(chosen as readonly Selection[]);
    const width = length ?? (into === undefined ? longest : this.#widthOf(into, chosen as readonly Selection[]));
    // If a group has several layouts, each item shows the steps of its own layout.
    this.#mixed = same > 0 && first !== undefined && engine.columnLayouts.groupSize(first.id) > 1;
    if (this.#mixed) chosen = engine.columnLayouts.jointOf(first as ColumnLayout, width);
    const kept = (
      columns === undefined && into !== undefined && !(into instanceof Part) ? this.#kept(into, chosen as readonly Selection[], width) : chosen
    ) as readonly Selection[];
    this.#mixed ||= kept !== chosen;
    if (part !== undefined) this.#checkPart(part, holds, kept);
    const isNew = into === undefined && part === undefined;
    const buffer =
      into instanceof Part ? this.#partOf(into, kept) : isNew ? this.#fresh(n, width, kept) : this.#refilled(into, n, width, kept, holds, part !== undefined);
    const isLong = (buffer.layout as Items).least > 1 || nStep !== undefined;
    if (isLong) this.#checkLength(buffer, !isFree ? width : part === undefined ? x.table_counter(core.handle, LONGEST) : MAX_LENGTH, part);
    this.#chosen = selections;
    this.#first = first;
    this.flags = same;
    if (into !== undefined && !(into instanceof Part) && part === undefined && same === 0 && !this.#mixed && !isLong) this.#buffer = buffer;
    return buffer;
  }

  narrow(buffer: BatchBuffer, draw: Draw, count: number, part: PartOf | undefined): BatchBuffer {
    const { length, into } = this.#sampler.options;
    const { pool } = this.#sampler;
    const layouts = this.#mixed ? this.#layoutsOf(draw.slots(count)) : undefined;
    let narrow = buffer;
    if (into === undefined) {
      const { selections, n, width: prepared } = buffer.layout as Items;
      const width = length ?? draw.result(DRAW_LONGEST);
      const chosen = layouts === undefined ? selections : jointOf(layouts[0] ?? (this.#first as ColumnLayout), new Set(layouts), width, selections);
      if (count !== n || width < prepared || chosen !== selections) {
        const { recycle, holds } = this.#sampler.options;
        narrow = part === undefined ? this.#fresh(count, width, chosen) : this.#refilled(undefined, count, width, chosen, holds, true);
        narrow.takeOver(buffer);
        if (recycle !== false) (buffer as ItemBuffer).batch.release();
        else if (part === undefined) pool.give(buffer);
      }
    }
    this.width = narrow.layout.width;
    narrow.lists = layouts && stepLists(layoutIn(narrow).selections, layouts, narrow.layout.width);
    if (narrow.lease !== undefined) narrow.lease.itemLayouts = layouts;
    return narrow;
  }

  /** Computes the returns of vector rewards. */
  derive(buffer: BatchBuffer, draw: Draw): boolean {
    const { nStep } = this;
    if (nStep !== undefined && nStep.components > 1) draw.vectorReturns(nStep, true, buffer.valueAt(buffer.layout.computed));
    return false;
  }

  check({ columns }: SampleOptions): void {
    this.#selected(columns, 0);
  }

  counted(batch: object): { readonly keys: Float64Array; readonly times?: Uint32Array } {
    const { keys, timesSampled } = (batch as Into).info as { readonly keys: Float64Array; readonly timesSampled: Uint32Array };
    return { keys, times: timesSampled };
  }

  partOptions(options: SampleOptions, into: Into | undefined): SampleOptions {
    if (into === undefined) return options;
    const chosen = this.#selected(options.columns, this.#table.core.counter(LAYOUT)) ?? this.#whole;
    return { ...options, length: options.length ?? this.#widthOf(into, chosen), ...(into.mask && { mask: true }) };
  }

  /** Returns the buffer of the whole batch, as wide as its widest part. */
  whole(parts: readonly BatchBuffer[], { into, columns }: SampleOptions, n: number): BatchBuffer {
    const layouts = parts.map(layoutIn);
    const { selections: first, holds } = layouts[0] as ItemLayout;
    const width = Math.max(...layouts.map((layout) => layout.width));
    const sets = new Set(layouts.map(({ selections }) => selections));
    const most = jointSelections(first, sets, width);
    const selections = columns === undefined && into !== undefined ? this.#kept(into, most, width) : most;
    const whole = this.#refilled(into, n, width, selections, holds);
    const isShown = sets.size > 1 || selections !== most || parts.some(({ lease }) => lease?.itemLayouts !== undefined);
    const shownOf = ({ lease, batch, layout }: BatchBuffer) => lease?.itemLayouts ?? new Array<HasSelections>(batch.count).fill(layout as ItemLayout);
    whole.check();
    if (whole.lease !== undefined && isShown) whole.lease.itemLayouts = parts.flatMap(shownOf);
    return whole;
  }

  blank(longest: number): BatchBuffer {
    const { n, holds, into, length, columns } = this.#sampler.options;
    const selections = this.#selected(columns, this.#table.core.counter(LAYOUT));
    if (selections === undefined) throw differentItems();
    this.#checkBootstrap(selections);
    const width = length ?? (into === undefined ? longest : this.#widthOf(into, selections));
    return into === undefined ? this.#fresh(n, width, selections, SOURCE) : this.#refilled(into, n, width, selections, holds + SOURCE);
  }

  longest(isSure: boolean): number {
    const { length, n, flags, among } = this.#sampler.options;
    const { engine, core } = this.#table;
    if (length !== undefined) return length;
    const longest = core.counter(LONGEST);
    if (!isSure || !core.isLoose(n, longest, engine.layout.stagedBytes)) return longest;
    return this.#sampler.lookAhead(n, flags + SIZED, among).result(DRAW_LONGEST);
  }

  /** Returns new arrays for n items, for use as `into`. @param source SOURCE for batches of a mixture */
  batch(n: number, options: SampleOptions, source = 0): object {
    const { length, columns, beta, nStep, mask } = onlyKeys("batch", options, OPTIONS);
    integer("n", n, 1, MAX_LENGTH);
    integer("length", length, 1, MAX_LENGTH);
    const selections = this.#selected(columns, this.#table.core.counter(LAYOUT));
    if (selections === undefined) throw differentItems();
    checkSteps("columns", selections, length as number, `length is ${length}`);
    const returns = nStep === undefined ? undefined : nStepOf(nStep, this.#table.engine.layout.leaves);
    return this.#refilled(undefined, n, length as number, selections, holdsOf(beta !== undefined, returns, mask) + source).batch;
  }

  /** Returns the buffer of a new batch, or of a released batch. */
  #fresh(n: number, width: number, selections: readonly Selection[], source = 0): BatchBuffer {
    const { pool, options } = this.#sampler;
    const { recycle } = options;
    const holds = options.holds + source;
    const buffer = pool.take(recycle, n, width, selections, holds) ?? this.#made(n, width, selections, holds);
    buffer.isFresh = true;
    return recycle === false ? buffer : pool.lend(buffer, recycle);
  }

  /**
   * Returns the buffer of one part of a mixture's batch, with room for as many items as the whole batch. @throws ReplayError SPEC_MISMATCH if the columns
   * differ
   */
  #partOf(part: Part, selections: readonly Selection[]): PartBuffer {
    const { n, width, holds } = part.whole.layout;
    const known = part.buffer;
    if (known !== undefined) {
      const { layout } = known;
      if (layout.n >= n && layout.width === width && layout.content === selections && layout.holds === holds) return known;
    }
    const { engine } = this.#table;
    return part.renew(engine, new Items(engine, { n, width, selections, isWhole: selections === this.#whole, holds, mayPick: true }));
  }

  /**
   * Returns the buffer of a batch to refill, or of a new part. @throws TypeError if `into` is not a batch of this table · ReplayError SPEC_MISMATCH if an array
   * of `into` is missing or too small
   */
  #refilled(into: Into | undefined, n: number, width: number, selections: readonly Selection[], holds: number, isOpen = false): BatchBuffer {
    if (into !== undefined && (typeof into !== "object" || into === null)) throw mustBe(TypeError, "into", "a batch to refill", into);
    if (!(holds & SOURCE) && into !== undefined && (leaseOf(into)?.layout.holds ?? 0) & SOURCE)
      throw mustBe(TypeError, "into", "a batch of this table", described("a batch of a mixture"));
    const { known: buffers } = this.#sampler.pool;
    const known = into && buffers.get(into);
    if (known !== undefined) {
      const { layout } = known;
      if (layout.n === n && layout.width === width && layout.content === selections && (layout.holds | MASK) === (holds | MASK) && layout.holds >= holds)
        return known;
    }
    const size = this.#layoutOf(into)?.n ?? n;
    if (size < n) throw new ReplayError("SPEC_MISMATCH", `into must have room for at least ${n} items, got ${size}. Pass a batch from table.batch(${n}, …)`);
    const made = this.#made(n, width, selections, holds, into, isOpen);
    buffers.set(made.batch, made);
    return made;
  }

  #made(n: number, width: number, selections: readonly Selection[], holds: number, into?: Into, isOpen = false): BatchBuffer {
    return itemBuffer(this.#table.engine, { n, width, selections, isWhole: selections === this.#whole, holds, isOpen, mayPick: true }, into);
  }

  #layoutOf(into: Into | undefined): ItemLayout | undefined {
    const lease = leaseOf(into);
    if (into instanceof DrawnBatch) return lease?.layout as ItemLayout;
    return typeof into === "object" && into !== null ? (this.#sampler.pool.known.get(into)?.layout as ItemLayout | undefined) : undefined;
  }

  /**
   * Returns the columns of a batch to refill if they have more room than the items need, since the shapes of that batch are fixed. Otherwise, returns the
   * columns of the items.
   */
  #kept(into: Into | undefined, selections: readonly Selection[], width: number): readonly Selection[] {
    const before = this.#layoutOf(into)?.selections;
    if (before === undefined || before === selections || before === this.#whole || selections === this.#whole) return selections;
    const own = { selections: before };
    if (!isJoinable(before, selections) || !hasRoom(before, { selections }, width) || hasRoom(selections, own, width)) return selections;
    return jointOf(own, [own], width, before);
  }

  /**
   * Returns the number of steps per item in the caller's batch. @throws TypeError if it has no steps · RangeError if its number of steps is unknown or invalid
   */
  #widthOf(into: Into, selections: readonly Selection[]): number {
    const known = into instanceof Part ? into.whole.layout.width : this.#layoutOf(into)?.width;
    if (known !== undefined) return known;
    if (typeof into !== "object" || into === null || into.steps === undefined)
      throw mustBe(TypeError, "into", "a batch, such as the result of table.batch(n, { length })", into);
    const { keys } = selections[0] as Selection;
    const column = valueAt(into.steps, keys) as Column | undefined;
    const length = selections === this.#whole ? column?.shape?.[1] : 0;
    return integer("length (or the second dimension of into)", length, 1, MAX_LENGTH);
  }

  /** Returns the column layouts of slots. @throws ReplayError SPEC_MISMATCH if a layout is unknown */
  #layoutsOf(slots: Uint32Array): ColumnLayout[] {
    const { columnLayouts } = this.#table.engine;
    return this.#table.core.layoutsOf(slots).map((id) => {
      const layout = columnLayouts.get(id);
      if (layout === undefined) throw differentColumns();
      return layout;
    });
  }

  /**
   * Rejects selections that no item of the table satisfies, and warns about n-step returns that no item is long enough for. @param window the maximum number of
   * steps of an item
   */
  #checkLength(buffer: BatchBuffer, window: number, part: PartOf | undefined): void {
    const { selections, least } = layoutIn(buffer);
    const { nStep } = this;
    const { engine, core, name } = this.#table;
    const longest = core.counter(LONGEST);
    if (longest === 0) return;
    const steps = Math.min(longest, window);
    // Longer items may still be inserted, particularly while the parts of a batch are drawn.
    if (least > (part === undefined ? steps : window) && !(window >= longest && engine.makesItems(name, least)))
      checkSteps("columns", selections, steps, `${this.#limit(steps, longest)} is ${steps}`);
    if (nStep === undefined) return;
    const own = (nStep.flags & OWN_NEXT) !== 0;
    const most = own ? steps : steps - 1;
    if (own && most <= nStep.n) this.#sayUnseen(nStep);
    if (most >= nStep.n) return;
    const length = own ? nStep.n : nStep.n + 1;
    const remedy = `To make items of ${length} steps, set length: ${length} or nStep: ${nStep.n} in their rule`;
    const limit = this.#limit(steps, longest);
    if (most === 0) {
      const other = 'If each step contains its next observation, set nextState: "own" instead';
      const rule = "must be at least 2 for nStep, which uses the last step only as the next state";
      throw trimStack(new RangeError(`${limit} ${rule}, got ${steps}. ${remedy}. ${other}`));
    }
    if (window >= longest && engine.makesItems(name, length)) return;
    if (engine.warnings.first("shortReturns"))
      this.#sampler.unsaid.push(`nStep with n ${nStep.n} computes returns of at most ${most} steps, because ${limit} is ${steps}. ${remedy}`);
  }

  /** Warns if items end before the final step of their episode, which is the only step that records the termination. */
  #sayUnseen({ discount, terminated, n }: NStep): void {
    const { warnings, hasTerminated } = this.#table.engine;
    if (!hasTerminated || discount !== NO_LEAF || terminated !== NO_LEAF || !warnings.first("unseenEnds")) return;
    const why = `with nextState: "own", items of up to ${n} steps end before the final step, which records the termination`;
    const remedy = `Pass the leaf that marks the end as nStep.terminal or nStep.discount, or make items of ${n + 1} steps`;
    this.#sampler.unsaid.push(`nStep cannot tell which episodes of table ${show(this.#table.name)} terminated: ${why}. ${remedy}`);
  }

  /** @throws RangeError for columns at a bootstrap step without n-step returns */
  #checkBootstrap(selections: readonly Selection[]): void {
    if (this.#sampler.options.nStep !== undefined || !selections.some(isBootstrap)) return;
    throw new RangeError('columns with at: "bootstrap" require the option nStep. Pass nStep, or omit these columns');
  }

  /** Returns the option or property that limits a window to `steps` steps, as the subject of a message. */
  #limit(steps: number, longest: number): string {
    return steps < longest ? "length" : `the length of the longest item of table ${show(this.#table.name)}`;
  }

  /**
   * Checks a part of a batch before it is drawn. @throws ReplayError SPEC_MISMATCH if the columns of a part differ from those of the first part, or if the
   * whole batch does not fit into `into`. Nothing is drawn in this case
   */
  #checkPart({ n, options, first }: PartOf, holds: number, selections: readonly Selection[]): void {
    const { known } = this.#sampler.pool;
    const before = first && layoutIn(known.get(first) as BatchBuffer).selections;
    if (before !== undefined && !((before === this.#whole) === (selections === this.#whole) && isJoinable(before, selections))) throw differentColumns();
    const { into, length, columns } = options;
    if (into === undefined) return;
    const width = length ?? this.#widthOf(into, selections);
    this.#refilled(into, n, width, columns === undefined ? this.#kept(into, selections, width) : selections, holds).check();
  }

  /** Returns the selected columns, or the columns with which items of this layout were created; undefined if there are several layouts. */
  #selected(columns: object | undefined, id: number): readonly Selection[] | undefined {
    const { layout, columnLayouts } = this.#table.engine;
    if (columns === undefined) return id === 0 ? this.#whole : columnLayouts.get(id)?.selections;
    const known = this.#selections.get(columns);
    if (known !== undefined) return known;
    const made = selectionsOf(columns, layout.leaves);
    this.#selections.set(columns, made);
    return made;
  }
}

function differentItems(): ReplayError {
  return new ReplayError("SPEC_MISMATCH", "items of this table have, or had, different columns. Pass the option columns");
}
