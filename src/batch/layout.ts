/**
 * Says which columns the batches of a kind have, which arrays those are made of, and where each array is in the one piece of memory of such a batch. Nothing here is of a
 * Replay: a batch that is kept keeps its layout, and no more.
 *
 * memory  │ values of the leaves │ DRAW │ the draw's columns, as far as the batch has some │ wide leaves, the mask
 * scratch │ OUTPUT … │ lists of steps │ runs │ temporary │ stops │ window │ extra │ values of the leaves, and what is computed │ DRAW │ the draw's columns …
 */

import { DRAW_BYTES, OUTPUT_BYTES, RUN_BYTES, WINDOW_HEAD } from "../base/abi.ts";
import type { HasSelections } from "../schema/columns.ts";
import { type ArrayClass, DTYPES } from "../schema/dtype.ts";
import { isHalf } from "../schema/half.ts";
import { alignUp, arrayFrameBytes, canBeDirect, DIRECT_BYTES, isDirect, type PlacedLeaf } from "../schema/layout.ts";

/** What a batch may have in addition to its leaves and the numbers of its items; as bits. */
export const WEIGHTS = 1;
export const RETURNS = 2;
export const MASK = 4;
/** Of a mixture: from which source each item is. */
export const SOURCE = 8;
/** From this bit on: how many numbers more than one a return has. */
export const COMPONENTS = 4;

/** Frames that are unpacked, and halves that are widened, at a time: they are copied on while the caches have them. */
const WINDOW_BYTES = 256 * 1024;

/** Of shorter windows all steps are looked up. */
const SHORT = 16;

/** One array of a batch: the values of a leaf at some steps of each item, a column of the draw, or one that something else fills. */
export type ArraySpec = ArrayPlace & (LeafValues | DrawnNumbers | OwnNumbers | ComputedNumbers);

interface ArrayPlace {
  /** Its path below the column. */
  readonly keys: readonly string[];
  /** Its shape behind the dimension of items; undefined for a bare array, which is not a `Column`. */
  readonly shape?: readonly number[];
}
interface LeafValues {
  readonly leaf: PlacedLeaf;
  readonly steps: readonly number[];
  /** As many steps as there may ever be of them, if that is more. */
  readonly longest?: number;
}
interface DrawnNumbers {
  readonly drawColumn: number;
  readonly type: ArrayClass;
}
interface OwnNumbers {
  readonly each: number;
  readonly type: ArrayClass;
}

/** Numbers that the core computes in scratch, behind the values of the arrays before them. */
interface ComputedNumbers extends OwnNumbers {
  readonly isComputed: true;
}

/** One column of a batch, under its name. */
export interface ColumnSpec {
  readonly name: string;
  readonly arrays: readonly ArraySpec[];
  /** How the arrays nest: under these names, or as a function says; undefined for one array alone. */
  readonly nest?: readonly string[] | ((values: readonly unknown[]) => unknown);
}

/** An array of a batch, as it is in memory. */
export interface Field {
  /** Its path in a batch, and what messages call it. */
  readonly keys: readonly string[];
  readonly path: string;
  /** Undefined for text, which is in a plain array. */
  readonly type: ArrayClass | undefined;
  /** Elements per item. */
  readonly each: number;
  readonly shape: readonly number[] | undefined;
  /** Among the values, a column of the draw by its number, or behind both, where nothing comes from scratch. */
  readonly source: "values" | "draw" | "direct";
  readonly at: number;
}

/** What the core reads of one array of leaves. */
export interface Output {
  readonly leaf: PlacedLeaf;
  readonly steps: readonly number[];
  /** Where its list of steps is, in numbers from the first list on. */
  readonly list: number;
  /** The number of its lists, where items differ. */
  readonly index: number;
  /** The number of its array. */
  readonly field: number;
  /** Of one that is copied from where it is: where it stops, among the stops, if few values are neighbours. */
  readonly stop: number;
}

/** The columns of a batch in its order: numbers of their arrays. */
export interface NestedFields {
  readonly name: string;
  readonly fields: readonly number[];
  readonly nest: ColumnSpec["nest"];
}

export interface LayoutOptions {
  /** Items at most. */
  readonly n: number;
  /** Steps of a whole window. */
  readonly width: number;
  /** What is shown of items: layouts of the same object have the same columns, but for what they hold. */
  readonly content: object;
  /** WEIGHTS, RETURNS, MASK where batches have them. */
  readonly holds: number;
  /** Makes a batch. */
  readonly batch: new (
    lease: Lease,
  ) => object;
  /** Whether batches say why they are shorter than asked for. */
  readonly isBlockable: boolean;
  readonly columns: readonly ColumnSpec[];
  /** Whether its draws may look up only the steps that columns name. */
  readonly mayPick?: boolean;
  /** Bytes that the core needs to compute numbers of a batch, before its leaves are gathered. Default: 0. */
  readonly work?: number;
  /** Bytes of scratch for something else. */
  readonly extra?: number;
}

export class BatchLayout {
  readonly n: number;
  readonly width: number;
  readonly content: object;
  readonly holds: number;
  readonly batch: LayoutOptions["batch"];
  readonly isBlockable: boolean;
  readonly fields: Field[] = [];
  readonly columns: readonly NestedFields[];
  /** Of leaves among the values, which the core gathers; of those that are copied from where they are; of text. Their OUTPUTs are in this order. */
  readonly outputs: Output[] = [];
  readonly straight: Output[] = [];
  readonly texts: Output[] = [];
  /** Where each array begins in memory. */
  readonly starts: readonly number[];
  /** Rows of a draw at most. */
  rows: number;
  /** Bytes of the values; of what is copied from scratch; of all. */
  values = 0;
  readonly copied: number;
  readonly bytes: number;
  /** The number of the first array that the core computes; -1 where there is none. */
  readonly computed: number;
  /** The leaf of which some items show another step's value. */
  relabelled: PlacedLeaf | undefined;
  /**
   * In scratch: bytes of the plan with the runs, of the runs, of what is there for the moment (lists of items that differ, text), of what may have to stop, of the frames that
   * are unpacked or widened at a time, of something else; all with the values.
   */
  head = 0;
  runs = 0;
  temporary = 0;
  stops = 0;
  readonly window: number;
  readonly extra: number;
  readonly scratch: number;
  /** The steps that columns name, where these are few of a long window: OUTPUTs then name places in this list. Undefined: they name steps. */
  readonly picks: readonly number[] | undefined;
  /** Numbers of all lists of steps. */
  #steps = 0;
  /** Columns of the draw that are copied, and bytes behind them. */
  #drawColumns = 0;
  #direct = 0;
  /** Bytes of the window that an item takes at most. */
  #windowed = 0;

  constructor({ n, width, content, holds, batch, isBlockable, columns, mayPick = false, work = 0, extra = 0 }: LayoutOptions) {
    this.n = n;
    this.width = width;
    this.content = content;
    this.holds = holds;
    this.batch = batch;
    this.isBlockable = isBlockable;
    this.rows = n * width;
    this.temporary = alignUp(work, 16);
    this.columns = columns.map(({ name, arrays, nest }) => ({ name, nest, fields: arrays.map((array) => this.#add(name, array)) }));
    this.computed = columns.flatMap(({ arrays }) => arrays).findIndex((array) => "isComputed" in array);
    this.copied = this.#drawColumns === 0 ? this.values : this.#drawnAt(this.#drawColumns);
    this.bytes = this.copied + this.#direct;
    this.starts = this.fields.map(({ source, at }) => (source === "values" ? at : source === "draw" ? this.#drawnAt(at) : this.copied + at));
    this.window = this.#windowed === 0 ? 0 : WINDOW_HEAD + Math.max(this.#windowed, Math.min(this.#windowed * n, WINDOW_BYTES));
    this.extra = extra;
    this.scratch = this.head + this.temporary + this.stops + this.window + extra + this.values;
    this.picks = mayPick && width > SHORT ? this.#picks() : undefined;
  }

  /** The different steps of all outputs, in their order from the start, then those from the end; undefined where they are more than half of a window. */
  #picks(): number[] | undefined {
    const steps = new Set<number>();
    for (const output of [...this.outputs, ...this.straight, ...this.texts]) {
      if (2 * output.steps.length > this.width) return undefined;
      for (const step of output.steps) steps.add(step);
      if (2 * steps.size > this.width) return undefined;
    }
    const inOrder = [...steps].sort((a, b) => a - b);
    return [...inOrder.filter((step) => step >= 0), ...inOrder.filter((step) => step < 0)];
  }

  /** Whether returns and discounts of its batches are f32. */
  get isNarrow(): boolean {
    return false;
  }

  /** Whether the arrays of its batches are where those of another layout are. */
  isAlike(other: BatchLayout): boolean {
    const isSame = (one: Field, two: Field | undefined) =>
      two !== undefined && one.path === two.path && one.type === two.type && one.each === two.each && one.shape?.join() === two.shape?.join();
    if (this.n !== other.n || this.batch !== other.batch || this.fields.length !== other.fields.length) return false;
    return this.fields.every((field, i) => isSame(field, other.fields[i]) && this.starts[i] === other.starts[i]);
  }

  /** Arrays for texts, by the numbers of the fields. */
  newTexts(): Texts {
    return this.fields.map(({ type, each }) => (type === undefined ? new Array<string>(this.n * each).fill("") : undefined));
  }

  /** One more array; its number. */
  #add(name: string, array: ArraySpec): number {
    const { n } = this;
    const keys = [name, ...array.keys];
    const shape = array.shape && [n, ...array.shape];
    const named = { keys, path: `into.${keys.join(".")}${shape === undefined ? "" : ".data"}`, shape };
    if ("leaf" in array) return this.#addLeaf(named, array);
    if ("drawColumn" in array) {
      this.#drawColumns = Math.max(this.#drawColumns, array.drawColumn + 1);
      return this.fields.push({ ...named, type: array.type, each: 1, source: "draw", at: array.drawColumn }) - 1;
    }
    return this.#place(named, array.type, array.each, !("isComputed" in array), alignUp(n * array.each * array.type.BYTES_PER_ELEMENT, 16));
  }

  /**
   * The values of a leaf. A layout for fewer items or shorter windows takes over a draw in the scratch of this one: none of the sizes may then be larger, whichever way its
   * values go.
   */
  #addLeaf(named: Pick<Field, "keys" | "path" | "shape">, { leaf, steps, longest = steps.length }: LeafValues): number {
    const { n } = this;
    const { dtype } = leaf.leaf;
    const isText = dtype === "string";
    const isStraight = isDirect(leaf, steps);
    const outputs = isStraight ? this.straight : isText ? this.texts : this.outputs;
    const before = outputs.at(-1);
    // Columns of the same steps are selected once.
    const again = before !== undefined && steps.length === before.steps.length && steps.every((step, k) => step === before.steps[k]);
    const index = this.outputs.length + this.straight.length + this.texts.length;
    const bytes = alignUp(longest * n * leaf.arrayBytes, 16);
    const field = this.#place(named, isText ? undefined : (DTYPES[dtype].array as ArrayClass), steps.length * leaf.size, isStraight, bytes);
    outputs.push({ leaf, steps, list: again ? before.list : this.#steps, index, field, stop: this.stops });
    this.#steps += longest;
    this.rows = Math.max(this.rows, n * longest);
    // Text comes behind its lists.
    this.temporary = Math.max(this.temporary, alignUp(4 * longest * n, 16) + (isText ? bytes : 0));
    if (canBeDirect(leaf)) this.runs += RUN_BYTES * n * longest * (leaf.bytes / leaf.frameBytes);
    if (isStraight && mayStop(leaf)) this.stops += bytes;
    if (canBeDirect(leaf)) this.#windowed += longest * (leaf.bytes / leaf.frameBytes) * windowedBytes(leaf);
    this.head = alignUp(OUTPUT_BYTES * (index + 1) + 4 * this.#steps, 16) + this.runs;
    return field;
  }

  /** One more array in memory of its own. @param isDirect whether nothing of it comes from scratch @param bytes room for it */
  #place(named: Pick<Field, "keys" | "path" | "shape">, type: ArrayClass | undefined, each: number, isDirect: boolean, bytes: number): number {
    const source = isDirect || type === undefined ? "direct" : "values";
    const at = type === undefined ? 0 : isDirect ? this.#direct : this.values;
    if (type !== undefined && isDirect) this.#direct += alignUp(bytes, 16);
    else if (type !== undefined) this.values += bytes;
    return this.fields.push({ ...named, type, each, source, at }) - 1;
  }

  #drawnAt(column: number): number {
    return this.values + DRAW_BYTES + column * alignUp(8 * this.n, 16);
  }
}

/** The plain arrays of a batch's texts, by the numbers of its fields. */
export type Texts = readonly (string[] | undefined)[];

export const NO_TEXTS: Texts = [];

/** Whether a leaf that goes straight may be too short for that, where few values are neighbours. */
export function mayStop(leaf: PlacedLeaf): boolean {
  return arrayFrameBytes(leaf) < DIRECT_BYTES;
}

/** Bytes of the window that a frame of a leaf takes at most: unpacked, and widened. */
function windowedBytes(leaf: PlacedLeaf): number {
  const unpacked = leaf.leaf.packed === undefined ? 0 : alignUp(leaf.frameBytes, 16);
  return unpacked + (isHalf(leaf.leaf.dtype) ? alignUp(arrayFrameBytes(leaf), 16) : 0);
}

/** The arguments of draw_n_step: numbers of leaves, or NONE; n, gamma, flags. */
export interface NStep {
  readonly reward: number;
  /** Numbers of a reward. */
  readonly components: number;
  readonly discount: number;
  readonly terminated: number;
  readonly n: number;
  readonly gamma: number;
  readonly flags: number;
}

/** How the windows of a batch were read, to find their steps again. */
export interface Windows {
  /** Steps of a window. */
  width: number;
  /** Which part of longer items: as draw_rows has it (assembly/draw/row-matrix.ts). */
  from: number;
  /** Where in their items windows begin, if that was left to chance. */
  starts: Uint32Array | undefined;
  /** The return at whose end columns bootstrap; the table whose items it begins with, or 0. */
  nStep: NStep | undefined;
  nStepTable: number;
}

export const noWindows = (): Windows => ({ width: 0, from: 0, starts: undefined, nStep: undefined, nStepTable: 0 });

/** A batch's hold on its memory. Memory that comes back has a new lease each time: so the release of a batch ends its own, and no other. */
export interface Lease {
  readonly layout: BatchLayout;
  readonly memory: ArrayBuffer;
  readonly texts: Texts;
  /** The columns that were asked for, in the order of the layout: views on the memory, nested. */
  readonly columns: unknown[];
  readonly windows: Windows;
  /** Which steps each item shows, if they differ. */
  itemLayouts: readonly HasSelections[] | undefined;
  /** Whom it goes back to, once. */
  owner: { back(): void } | undefined;
  isReleased: boolean;
}
