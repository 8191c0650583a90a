/**
 * Computes the layout of a kind of batch: its columns, their arrays, and the offset of each array in the one piece of memory of the batch. A layout has no
 * reference to a Replay, so a batch that is kept does not keep its Replay alive.
 * memory  │ values of the leaves │ DRAW │ the draw's columns, as far as the batch has some │ wide leaves, the mask
 * scratch │ OUTPUT … │ lists of steps │ runs │ temporary │ stops │ window │ extra │ values of the leaves, and what is computed │ DRAW │ the draw's columns …
 */

import { DRAW_BYTES, OUTPUT_BYTES, RUN_BYTES, WINDOW_HEAD } from "../base/abi.ts";
import type { HasSelections } from "../schema/columns.ts";
import { type ArrayClass, DTYPES } from "../schema/dtype.ts";
import { isHalf } from "../schema/half.ts";
import { alignUp, arrayFrameBytes, canBeDirect, DIRECT_BYTES, isDirect, type PlacedLeaf } from "../schema/layout.ts";

/** Optional contents of a batch, as bits. */
export const WEIGHTS = 1;
export const RETURNS = 2;
export const MASK = 4;
/** The source of each item, in a mixture. */
export const SOURCE = 8;
/** The position of the lowest bit of the field that stores the number of components of a return, minus one. */
export const COMPONENTS = 4;

/**
 * The number of bytes of frames unpacked, or halves widened, at a time. Small enough that the bytes are still in the CPU caches when they are copied to the
 * batch.
 */
const WINDOW_BYTES = 256 * 1024;

/** Windows of at most this many steps always look up all of their steps. */
const SHORT = 16;

/** One array of a batch: the values of a leaf at some steps of each item, a column of the draw, or an array filled by other code. */
export type ArraySpec = ArrayPlace & (LeafValues | DrawnNumbers | OwnNumbers | ComputedNumbers);

interface ArrayPlace {
  /** The path of the array within its column. */
  readonly keys: readonly string[];
  /** The shape after the dimension of items; undefined for a bare array, which is not a `Column`. */
  readonly shape?: readonly number[];
}
interface LeafValues {
  readonly leaf: PlacedLeaf;
  readonly steps: readonly number[];
  /** The maximum length of the list of steps for shorter windows, if it is larger than the length of `steps`. */
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

/** Numbers that the core computes in scratch, after the values of the preceding arrays. */
interface ComputedNumbers extends OwnNumbers {
  readonly isComputed: true;
}

/** One named column of a batch. */
export interface ColumnSpec {
  readonly name: string;
  readonly arrays: readonly ArraySpec[];
  /** The nesting of the arrays: names, or a function that nests their values. Undefined for a single array. */
  readonly nest?: readonly string[] | ((values: readonly unknown[]) => unknown);
}

/** An array of a batch at its place in memory. */
export interface Field {
  /** The path of the array in a batch: as a list of keys, and as text for messages. */
  readonly keys: readonly string[];
  readonly path: string;
  /** The class of the array. Undefined for text, which is stored in a plain array. */
  readonly type: ArrayClass | undefined;
  /** The number of elements per item. */
  readonly each: number;
  readonly shape: readonly number[] | undefined;
  /** The place of the array: among the values, in a column of the draw (by number), or after both if it is not copied from scratch. */
  readonly source: "values" | "draw" | "direct";
  readonly at: number;
}

/** The core's arguments for one array of leaves. */
export interface Output {
  readonly leaf: PlacedLeaf;
  readonly steps: readonly number[];
  /** The position of the output's list of steps, counted in numbers from the first list. */
  readonly list: number;
  /** The number of the output among all outputs, which selects its lists if items differ. */
  readonly index: number;
  /** The number of the array that the output fills. */
  readonly field: number;
  /** The position of the stop of an array that is copied directly. The stop is an intermediate buffer, used if few values are adjacent. */
  readonly stop: number;
}

/** A column of a batch, with the numbers of its arrays. */
export interface NestedFields {
  readonly name: string;
  readonly fields: readonly number[];
  readonly nest: ColumnSpec["nest"];
}

export interface LayoutOptions {
  /** The maximum number of items. */
  readonly n: number;
  /** The number of steps in a full window. */
  readonly width: number;
  /** The content of items that batches show. Layouts with the same content object have the same columns, except for optional columns. */
  readonly content: object;
  /** The optional contents as bits: WEIGHTS, RETURNS, MASK and SOURCE, and the number of components minus one in the bits from COMPONENTS on. */
  readonly holds: number;
  /** The class of the batches. */
  readonly batch: new (
    lease: Lease,
  ) => object;
  /** Whether batches carry the reason why they are shorter than requested. */
  readonly isBlockable: boolean;
  readonly columns: readonly ColumnSpec[];
  /** Whether draws for the layout may look up only the steps that columns name. */
  readonly mayPick?: boolean;
  /** The number of bytes that the core needs to compute numbers of a batch before its leaves are gathered. Default: 0. */
  readonly work?: number;
  /** The number of bytes of scratch for other data. */
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
  /** OUTPUTs of gathered leaves, of directly copied leaves, and of text, in this order. */
  readonly outputs: Output[] = [];
  readonly straight: Output[] = [];
  readonly texts: Output[] = [];
  /** The offset of each array in memory. */
  readonly starts: readonly number[];
  /** The maximum number of rows of a draw. */
  rows: number;
  /** The number of bytes of the values, of the part copied from scratch, and of the whole memory. */
  values = 0;
  readonly copied: number;
  readonly bytes: number;
  /** The number of the first array that the core computes; -1 if there is none. */
  readonly computed: number;
  /** The leaf that shows a goal of another step in some items. */
  relabelled: PlacedLeaf | undefined;
  /**
   * Sizes in scratch, in bytes: of the plan with the runs, of the runs, of temporary data (lists of steps per item, text), of the stops, of the window for
   * unpacked or widened frames, of other data, and of all of these with the values.
   */
  head = 0;
  runs = 0;
  temporary = 0;
  stops = 0;
  readonly window: number;
  readonly extra: number;
  readonly scratch: number;
  /** The steps that columns name, if they are few steps of a long window. OUTPUTs then contain positions in this list. If undefined, OUTPUTs contain steps. */
  readonly picks: readonly number[] | undefined;
  /** The length of all lists of steps together. */
  #steps = 0;
  /** The number of the draw's columns that are copied, and the number of bytes of the arrays after these columns. */
  #drawColumns = 0;
  #direct = 0;
  /** The maximum number of bytes of the window per item. */
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

  /**
   * Returns the distinct steps of all outputs, first the steps counted from the start, then the steps counted from the end. Returns undefined if they fill more
   * than half of a window.
   */
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

  /** Whether returns and discounts of the layout's batches are f32. */
  get isNarrow(): boolean {
    return false;
  }

  /** Returns whether the arrays of this layout's batches have the same places as the arrays of another layout's batches. */
  isAlike(other: BatchLayout): boolean {
    const isSame = (one: Field, two: Field | undefined) =>
      two !== undefined && one.path === two.path && one.type === two.type && one.each === two.each && one.shape?.join() === two.shape?.join();
    if (this.n !== other.n || this.batch !== other.batch || this.fields.length !== other.fields.length) return false;
    return this.fields.every((field, i) => isSame(field, other.fields[i]) && this.starts[i] === other.starts[i]);
  }

  /** Returns plain arrays for text, by field number. */
  newTexts(): Texts {
    return this.fields.map(({ type, each }) => (type === undefined ? new Array<string>(this.n * each).fill("") : undefined));
  }

  /** Adds an array. Returns its number. */
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
   * Adds the values of a leaf. A layout for fewer items or shorter windows takes over a draw in this layout's scratch. Therefore no size may be larger in that
   * layout, whether it gathers values or copies them directly.
   */
  #addLeaf(named: Pick<Field, "keys" | "path" | "shape">, { leaf, steps, longest = steps.length }: LeafValues): number {
    const { n } = this;
    const { dtype } = leaf.leaf;
    const isText = dtype === "string";
    const isStraight = isDirect(leaf, steps);
    const outputs = isStraight ? this.straight : isText ? this.texts : this.outputs;
    const before = outputs.at(-1);
    // Adjacent outputs with the same steps share one list.
    const again = before !== undefined && steps.length === before.steps.length && steps.every((step, k) => step === before.steps[k]);
    const index = this.outputs.length + this.straight.length + this.texts.length;
    const bytes = alignUp(longest * n * leaf.arrayBytes, 16);
    const field = this.#place(named, isText ? undefined : (DTYPES[dtype].array as ArrayClass), steps.length * leaf.size, isStraight, bytes);
    outputs.push({ leaf, steps, list: again ? before.list : this.#steps, index, field, stop: this.stops });
    this.#steps += longest;
    this.rows = Math.max(this.rows, n * longest);
    // In temporary memory, text follows its lists of steps.
    this.temporary = Math.max(this.temporary, alignUp(4 * longest * n, 16) + (isText ? bytes : 0));
    if (canBeDirect(leaf)) this.runs += RUN_BYTES * n * longest * (leaf.bytes / leaf.frameBytes);
    if (isStraight && mayStop(leaf)) this.stops += bytes;
    if (canBeDirect(leaf)) this.#windowed += longest * (leaf.bytes / leaf.frameBytes) * windowedBytes(leaf);
    this.head = alignUp(OUTPUT_BYTES * (index + 1) + 4 * this.#steps, 16) + this.runs;
    return field;
  }

  /** Adds an array with its own memory. @param isDirect whether no part of the array comes from scratch @param bytes the room for the array */
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

/** The plain arrays of a batch's texts, by field number. */
export type Texts = readonly (string[] | undefined)[];

export const NO_TEXTS: Texts = [];

/** Returns whether the frames of a leaf may be too short to copy directly, if few values are adjacent. */
export function mayStop(leaf: PlacedLeaf): boolean {
  return arrayFrameBytes(leaf) < DIRECT_BYTES;
}

/** Returns the maximum bytes of the window for a frame of a leaf: unpacked, and widened. */
function windowedBytes(leaf: PlacedLeaf): number {
  const unpacked = leaf.leaf.packed === undefined ? 0 : alignUp(leaf.frameBytes, 16);
  return unpacked + (isHalf(leaf.leaf.dtype) ? alignUp(arrayFrameBytes(leaf), 16) : 0);
}

/** The arguments of draw_n_step: leaf numbers or NO_LEAF, n, gamma and flags. */
export interface NStep {
  readonly reward: number;
  /** The number of components of a reward. */
  readonly components: number;
  readonly discount: number;
  readonly terminated: number;
  readonly n: number;
  readonly gamma: number;
  readonly flags: number;
}

/** The record of how a batch's windows were read, so that their steps can be found again. */
export interface Windows {
  /** The number of steps of a window. */
  width: number;
  /** The part of longer items that the window shows, as in draw_rows (assembly/draw/row-matrix.ts). */
  from: number;
  /** The step of each item at which the window begins, if it was chosen at random. */
  starts: Uint32Array | undefined;
  /** The n-step return at whose end columns with `at: "bootstrap"` are read, and the table whose items the windows begin with (0 if there is none). */
  nStep: NStep | undefined;
  nStepTable: number;
}

/** The initial value of a new batch's windows, before a draw sets them. */
export const NO_WINDOWS: Readonly<Windows> = { width: 0, from: 0, starts: undefined, nStep: undefined, nStepTable: 0 };

/** A batch's lease of its memory. Reused memory gets a new lease, so that a release ends only the lease of that batch. */
export interface Lease {
  readonly layout: BatchLayout;
  readonly memory: ArrayBuffer;
  readonly texts: Texts;
  /** The columns read so far, in the order of the layout: nested views of the memory. */
  readonly columns: unknown[];
  readonly windows: Windows;
  /** The steps that each item shows, if they differ. */
  itemLayouts: readonly HasSelections[] | undefined;
  /** The owner to which the memory returns when the batch is released. Undefined afterwards. */
  owner: { back(): void } | undefined;
  isReleased: boolean;
}
