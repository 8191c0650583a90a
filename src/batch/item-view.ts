/** Items of a table as batches: their steps under the columns that a call or the items themselves name, in windows as long as the longest. */

import { CROSS, DRAW_LAYOUT, DRAW_LONGEST, LAYOUT, LENGTH, LONGEST, NO_LEAF, OWN_NEXT, SAME_COLUMNS, SIZED, WEIGHT } from "../base/abi.ts";
import { integer, mustBe, onlyKeys, ReplayError, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { Engine } from "../memory/engine.ts";
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
  stepIndices,
  stepLists,
  stepsOf,
  wholeOf,
} from "../schema/columns.ts";
import { packer, valueAt } from "../schema/nest.ts";
import { arrayOf, type Batch, DrawnBatch, INFO, type Into, type ItemLayout, leaseOf, N_STEP } from "./batch.ts";
import { BatchBuffer } from "./buffer.ts";
import { type Draw, differentColumns } from "./draw.ts";
import { type ArraySpec, BatchLayout, type ColumnSpec, MASK, RETURNS, WEIGHTS } from "./layout.ts";
import { holdsOf, type NStep, OPTIONS, type SampleOptions } from "./options.ts";
import type { BatchView, PartOf, SampledTable, Sampler } from "./sampler.ts";

/** Which part of items a batch has room for. */
export interface ItemShape {
  /** Items at most. */
  readonly n: number;
  /** Steps of a window. */
  readonly width: number;
  readonly selections: readonly Selection[];
  /** Whether columns are nested as the spec; else they are under their names. */
  readonly isWhole: boolean;
  /** WEIGHTS, RETURNS, MASK. */
  readonly holds: number;
  /** Of a part of a batch: runs continue to the end of the window, wherever they should stop, since how wide the whole batch will be is not known yet. */
  readonly isOpen?: boolean;
  /** Whether draws may look up only the steps that columns name. */
  readonly mayPick?: boolean;
}

/** A buffer whose batch is one of items. */
export type ItemBuffer = BatchBuffer & { readonly batch: Omit<Batch<unknown>, "count" | "blocked"> };

/** A layout of items. */
class Items extends BatchLayout implements ItemLayout {
  readonly selections: readonly Selection[];
  readonly isWhole: boolean;
  /** Steps that the longest item must have for these. */
  readonly least: number;

  constructor(engine: Engine, { n, width, selections, isWhole, holds, isOpen = false, mayPick = false }: ItemShape) {
    const numbers = (columns: { readonly [name: string]: number }) =>
      Object.entries(columns).map(([name, drawColumn]): ArraySpec => ({ keys: [name], drawColumn: drawColumn, type: arrayOf(drawColumn) }));
    const info = holds & WEIGHTS ? { ...INFO, weights: WEIGHT } : INFO;
    const columns: ColumnSpec[] = [
      { name: "steps", arrays: selections.map((selection) => leafArray(selection, width, isOpen)), nest: nestOf(engine, selections, isWhole) },
      { name: "lengths", arrays: [{ keys: [], drawColumn: LENGTH, type: Uint32Array }] },
      { name: "info", arrays: numbers(info), nest: Object.keys(info) },
    ];
    if (holds & RETURNS) columns.push({ name: "nStep", arrays: numbers(N_STEP), nest: Object.keys(N_STEP) });
    if (holds & MASK) columns.push({ name: "mask", arrays: [{ keys: [], type: Uint8Array, each: width }] });
    super({ n, width, content: selections, holds, batch: DrawnBatch, isBlockable: true, columns, mayPick: mayPick && !(holds & RETURNS) });
    this.selections = selections;
    this.isWhole = isWhole;
    this.least = stepsOf(selections);
  }
}

function leafArray(selection: Selection, width: number, isOpen: boolean): ArraySpec {
  const { keys, leaf, start, to = 0, squeezed } = selection;
  const steps = stepIndices(isOpen && start >= 0 && to < 0 ? { ...selection, to: undefined } : selection, width);
  // One of the last steps may have more than the window, and more in a shorter one.
  return { keys, leaf, steps, longest: Math.max(steps.length, -start), shape: [...(squeezed ? [] : [steps.length]), ...leaf.shape] };
}

function nestOf(engine: Engine, selections: readonly Selection[], isWhole: boolean): ColumnSpec["nest"] {
  // A nest without leaves is in no selection, and in each batch.
  const isFlat = !Array.isArray(engine.spec) && Object.keys(engine.spec).length === selections.length && selections.every(({ keys }) => keys.length === 1);
  return isWhole && !isFlat ? packer(engine.spec) : selections.map(({ keys }) => keys[0] as string);
}

/**
 * A buffer of items.
 * @param into the batch to refill; without it a new one is made
 * @throws ReplayError SPEC_MISMATCH if that has no array for something, or too small a one
 */
export function itemBuffer(engine: Engine, shape: ItemShape, into?: Into): ItemBuffer {
  return new BatchBuffer(engine, new Items(engine, { ...shape, holds: shape.holds | (into?.mask ? MASK : 0) }), into) as ItemBuffer;
}

const layoutIn = (buffer: BatchBuffer): Items => buffer.layout as Items;

export class ItemView implements BatchView {
  /** SAME_COLUMNS where items of other columns must not come. */
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
  /** Of the batch to refill, if it is as good for the next call. */
  #buffer: BatchBuffer | undefined;
  /** The columns of all items, if they have the same; the column layout of the first that will be drawn. */
  #chosen: readonly Selection[] | undefined;
  #first: ColumnLayout | undefined;
  /** Whether each item shows its own steps. */
  #mixed = false;

  constructor(sampler: Sampler) {
    this.#sampler = sampler;
    this.#table = sampler.table;
    this.#whole = wholeOf(sampler.table.engine.layout.leaves);
  }

  /** Chooses columns, width and buffer for a call. @throws ReplayError, RangeError; then nothing is drawn */
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
    if (same > 0 || isLoose) {
      const ahead = this.#sampler.lookAhead(n, flags + same + (isLoose ? SIZED : 0), among);
      if (isLoose) longest = ahead.result(DRAW_LONGEST);
      first = engine.columnLayouts.get(ahead.result(DRAW_LAYOUT));
      chosen ??= first?.selections ?? this.#whole;
    }
    if (nStep === undefined && chosen !== this.#whole && (chosen as readonly Selection[]).some(isBootstrap))
      throw new RangeError('columns with at: "bootstrap" need the option nStep');
    const width = length ?? (into === undefined ? longest : this.#widthOf(into, chosen as readonly Selection[]));
    // Of items that are alike each shows its own steps.
    this.#mixed = same > 0 && first !== undefined && engine.columnLayouts.groupSize(first.id) > 1;
    if (this.#mixed) chosen = engine.columnLayouts.jointOf(first as ColumnLayout, width);
    const kept = (columns === undefined && into !== undefined ? this.#kept(into, chosen as readonly Selection[], width) : chosen) as readonly Selection[];
    this.#mixed ||= kept !== chosen;
    if (part !== undefined) this.#checkPart(part, holds, kept);
    const isNew = into === undefined && part === undefined;
    const buffer = isNew ? this.#fresh(n, width, kept) : this.#refilled(into, n, width, kept, holds, part !== undefined);
    const isLong = (buffer.layout as Items).least > 1 || nStep !== undefined;
    if (isLong) this.#checkLength(buffer, !isFree ? width : part === undefined ? x.table_counter(core.handle, LONGEST) : MAX_LENGTH, part);
    this.#chosen = selections;
    this.#first = first;
    this.flags = same;
    if (into !== undefined && part === undefined && same === 0 && !this.#mixed && !isLong) this.#buffer = buffer;
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

  /** As wide as the widest part. */
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

  /** New arrays for n items, for use as `into`. */
  batch(n: number, options: SampleOptions): object {
    const { length, columns, beta, nStep, mask } = onlyKeys("batch", options, OPTIONS);
    integer("n", n, 1, MAX_LENGTH);
    integer("length", length, 1, MAX_LENGTH);
    const selections = this.#selected(columns, this.#table.core.counter(LAYOUT));
    if (selections === undefined) throw new ReplayError("SPEC_MISMATCH", "items of this table have, or had, different columns: pass the option columns");
    checkSteps("columns", selections, length as number, `length is ${length}`);
    return this.#refilled(undefined, n, length as number, selections, holdsOf(beta !== undefined, nStep, mask)).batch;
  }

  /** The buffer of a new batch, or of one that came back. */
  #fresh(n: number, width: number, selections: readonly Selection[]): BatchBuffer {
    const { pool, options } = this.#sampler;
    const { recycle, holds } = options;
    const buffer = pool.take(recycle, n, width, selections, holds) ?? this.#made(n, width, selections, holds);
    buffer.isFresh = true;
    return recycle === false ? buffer : pool.lend(buffer, recycle);
  }

  /** The buffer of a batch to refill, or of a new part. @throws ReplayError SPEC_MISMATCH, TypeError */
  #refilled(into: Into | undefined, n: number, width: number, selections: readonly Selection[], holds: number, isOpen = false): BatchBuffer {
    if (into !== undefined && (typeof into !== "object" || into === null)) throw mustBe(TypeError, "into", "a batch to refill", into);
    const { known: buffers } = this.#sampler.pool;
    const known = into && buffers.get(into);
    if (known !== undefined) {
      const { layout } = known;
      if (layout.n === n && layout.width === width && layout.content === selections && (layout.holds | MASK) === (holds | MASK) && layout.holds >= holds)
        return known;
    }
    const size = this.#layoutOf(into)?.n ?? n;
    if (size < n) throw new ReplayError("SPEC_MISMATCH", `into must be a batch of at least ${n} items, as table.batch(${n}, …) makes it, got one of ${size}`);
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

  /** The columns of a batch to refill if they have more room than those that items now have: its shapes stay. Else the latter. */
  #kept(into: Into | undefined, selections: readonly Selection[], width: number): readonly Selection[] {
    const before = this.#layoutOf(into)?.selections;
    if (before === undefined || before === selections || before === this.#whole || selections === this.#whole) return selections;
    const own = { selections: before };
    if (!isJoinable(before, selections) || !hasRoom(before, { selections }, width) || hasRoom(selections, own, width)) return selections;
    return jointOf(own, [own], width, before);
  }

  /** Number of steps per item in the given batch. @throws TypeError, RangeError */
  #widthOf(into: Into, selections: readonly Selection[]): number {
    const known = this.#layoutOf(into)?.width;
    if (known !== undefined) return known;
    if (typeof into !== "object" || into === null || into.steps === undefined)
      throw mustBe(TypeError, "into", "a batch, such as table.batch(n, { length }) makes", into);
    const { keys } = selections[0] as Selection;
    const column = valueAt(into.steps, keys) as Column | undefined;
    const length = selections === this.#whole ? column?.shape?.[1] : 0;
    return integer("length (or the second dimension of into)", length, 1, MAX_LENGTH);
  }

  /** The column layouts of slots. @throws ReplayError SPEC_MISMATCH for one that is not known */
  #layoutsOf(slots: Uint32Array): ColumnLayout[] {
    const { columnLayouts } = this.#table.engine;
    return this.#table.core.layoutsOf(slots).map((id) => {
      const layout = columnLayouts.get(id);
      if (layout === undefined) throw differentColumns();
      return layout;
    });
  }

  /** Refuses what no item of the table has, and warns of n-step returns that no item is long enough for. @param window steps of an item at most */
  #checkLength(buffer: BatchBuffer, window: number, part: PartOf | undefined): void {
    const { selections, least } = layoutIn(buffer);
    const { nStep } = this;
    const { engine, core, name } = this.#table;
    const longest = core.counter(LONGEST);
    if (longest === 0) return;
    const steps = Math.min(longest, window);
    // Longer ones may be still to come; of a batch that comes in parts they surely may.
    if (least > (part === undefined ? steps : window) && !(window >= longest && engine.makesItems(name, least)))
      checkSteps("columns", selections, steps, `${this.#limit(steps, longest)} is ${steps}`);
    if (nStep === undefined) return;
    const own = (nStep.flags & OWN_NEXT) !== 0;
    const most = own ? steps : steps - 1;
    if (own && most <= nStep.n) this.#sayUnseen(nStep);
    if (most >= nStep.n) return;
    const length = own ? nStep.n : nStep.n + 1;
    const remedy = `make items of ${length} steps, by a rule with length: ${length} or nStep: ${nStep.n}`;
    const limit = this.#limit(steps, longest);
    if (most === 0) {
      const other = 'or set nextState: "own" where a step holds its next observation';
      throw mustBe(RangeError, limit, `at least 2 for nStep, which takes the last step only as the next state (${remedy}, ${other})`, steps);
    }
    if (window >= longest && engine.makesItems(name, length)) return;
    if (engine.warnings.first("shortReturns"))
      this.#sampler.unsaid.push(`nStep with n ${nStep.n} gives returns of at most ${most} steps, because ${limit} is ${steps}: ${remedy}`);
  }

  /** Warns if items end before the final step of their episode, which alone says that it terminated. */
  #sayUnseen({ discount, terminated, n }: NStep): void {
    const { warnings, hasTerminated } = this.#table.engine;
    if (!hasTerminated || discount !== NO_LEAF || terminated !== NO_LEAF || !warnings.first("unseenEnds")) return;
    const why = `with nextState: "own" items of up to ${n} steps end before the final step, which says it`;
    const remedy = `Name the leaf that says it as nStep.terminal or nStep.discount, or make items of ${n + 1} steps`;
    this.#sampler.unsaid.push(`nStep does not see which episodes of table ${show(this.#table.name)} terminated: ${why}. ${remedy}`);
  }

  /** What limits a window to so many steps. */
  #limit(steps: number, longest: number): string {
    return steps < longest ? "length" : `the length of the longest item of table ${show(this.#table.name)}`;
  }

  /** @throws ReplayError SPEC_MISMATCH if a part has other columns than the first, or the whole batch does not fit into `into`; then nothing is drawn */
  #checkPart({ n, options, first }: PartOf, holds: number, selections: readonly Selection[]): void {
    const { known } = this.#sampler.pool;
    const before = first && layoutIn(known.get(first) as BatchBuffer).selections;
    if (before !== undefined && !((before === this.#whole) === (selections === this.#whole) && isJoinable(before, selections))) throw differentColumns();
    const { into, length, columns } = options;
    if (into === undefined) return;
    const width = length ?? this.#widthOf(into, selections);
    this.#refilled(into, n, width, columns === undefined ? this.#kept(into, selections, width) : selections, holds).check();
  }

  /** The requested columns, or else those that items of this column layout were created with; undefined if there are several layouts. */
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
