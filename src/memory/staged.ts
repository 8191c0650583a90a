/**
 * Implements the staging record as its users see it: nested like the spec, with numbers to assign and arrays to fill in place. Nothing is copied before
 * `append`.
 */
import { mustBe, ReplayError } from "../base/error.ts";
import { hasNaN, type LeafTarget, matchingTarget, mustNarrow, put, setterOf, targetOf, type ViewTarget } from "../schema/copy-values.ts";
import { type ArrayOfDtype, DTYPES, type Dtype, isFloat, type NumberArray } from "../schema/dtype.ts";
import { type HalfDtype, isHalf } from "../schema/half.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { type BoundedText, isText, type Leaf, type RowLeaf, type ShapeOf } from "../schema/leaf.ts";
import { checkNodes, flattener, fold, mismatchError, pathText, type Visit } from "../schema/nest.ts";
import type { IsAny, Spec } from "../schema/spec.ts";
import { readTexts, textBytes } from "../schema/text.ts";

type StagedLeaf<D extends Dtype, Shape, Lanes> = Lanes extends true
  ? ArrayOfDtype<ArrayBufferLike>[D]
  : Shape extends readonly []
    ? D extends "i64" | "u64"
      ? bigint
      : number
    : ArrayOfDtype<ArrayBufferLike>[D];
type StagedText<Shape, Lanes> = Lanes extends true ? readonly string[] : Shape extends readonly [] ? string : readonly string[];
type StagedNode<S, Lanes> =
  S extends Leaf<infer D>
    ? StagedLeaf<D, ShapeOf<S>, Lanes>
    : S extends BoundedText
      ? StagedText<ShapeOf<S>, Lanes>
      : { -readonly [K in keyof S]: StagedNode<S[K], Lanes> };

/**
 * The staged step. A leaf of shape [] is a number (a bigint for i64 and u64), or a typed array if the writer has several lanes. Any other numeric leaf is a
 * typed array. Text is a string, or a frozen array of strings that you replace as a whole. If the spec itself is a leaf, it has the name `value`.
 */
// biome-ignore lint/suspicious/noExplicitAny: any spec; any leaf can be assigned
export type StagedOf<S, Lanes = false> = IsAny<S> extends true ? any : S extends RowLeaf ? { value: StagedNode<S, Lanes> } : StagedNode<S, Lanes>;

/** Creates the object that the user sees for a staging record. */
export type StepMaker = (staging: Staging) => object;

/** The part of a step under a name: a node, or a leaf's accessor. */
type StagedPart = StepMaker | PropertyDescriptor;

/**
 * Returns the maker of a spec's steps. Called once per Replay, so that the steps of all writers share accessors: V8 turns an object into a slow dictionary if
 * its accessors differ from those of an earlier object of the same form.
 * @param scalars whether leaves of shape [] are numbers
 */
export function stepMaker(spec: Spec, leaves: readonly PlacedLeaf[], scalars: boolean): StepMaker {
  const root = fold<RowLeaf, StagedPart>(
    spec,
    (index, _, leaf) => {
      const placedLeaf = leaves[index] as PlacedLeaf;
      const isScalar = scalars && placedLeaf.shape.length === 0;
      return isText(leaf) ? Step.text(index, isScalar) : isScalar ? Step.number(placedLeaf) : Step.array(index);
    },
    (names, parts, _, list) => nodeMaker(names, parts, list),
  );
  // If the spec is one leaf, the step is an object with that leaf's value as `value`.
  return typeof root === "function" ? root : nodeMaker(["value"], [root], false);
}

/**
 * A step, or an object nested in a step. Its accessors are short enough for V8 to inline them into any caller, so that assigning a number allocates nothing. In
 * Node 20 the limit is 27 bytes of bytecode, and the setter of a number has 26.
 */
class Step {
  readonly #staging: Staging;
  /** Views of the record and the memory after it, with one element per word. */
  #f32!: Float32Array;
  #i32!: Int32Array;

  constructor(staging: Staging) {
    this.#staging = staging;
    staging.addStep(this);
  }

  /** Sets the memory of the record. The method is static, since a leaf may have any name. */
  static setMemory(step: Step, f32: Float32Array, i32: Int32Array): void {
    step.#f32 = f32;
    step.#i32 = i32;
  }

  /** Returns the accessor of a leaf that is a number. */
  static number({ index, leaf: { dtype }, staged }: PlacedLeaf): PropertyDescriptor {
    const at = staged / 4;
    // The value is converted to a number first, because an object's `valueOf` may move the memory or close the writer.
    if (dtype === "f32") {
      return {
        get(this: Step) {
          return this.#f32[at];
        },
        set(this: Step, value: number) {
          const number = +value;
          this.#f32[at] = number;
        },
      };
    }
    if (dtype === "i32") {
      return {
        get(this: Step) {
          return this.#i32[at];
        },
        set(this: Step, value: number) {
          const number = +value;
          this.#i32[at] = number;
        },
      };
    }
    const get = function (this: Step) {
      return this.#staging.view(index)[0];
    };
    if (dtype === "f64") {
      return {
        get,
        set(this: Step, value: number) {
          const number = +value;
          this.#staging.view(index)[0] = number;
        },
      };
    }
    // These dtypes reject some numbers that a typed array would silently convert.
    return {
      get,
      set(this: Step, value: unknown) {
        (this.#staging.setters[index] as Visit)(value);
      },
    };
  }

  /** Returns the accessor of a leaf of text. */
  static text(index: number, isScalar: boolean): PropertyDescriptor {
    return {
      get(this: Step) {
        const texts = this.#staging.texts(index);
        return isScalar ? texts[0] : texts;
      },
      set(this: Step, value: unknown) {
        (this.#staging.setters[index] as Visit)(value);
      },
    };
  }

  /** Returns the accessor of a leaf's array. Reading lends the array, and assigning fills it. */
  static array(index: number): PropertyDescriptor {
    return {
      get(this: Step) {
        return this.#staging.borrow(index);
      },
      set(this: Step, value: unknown) {
        (this.#staging.setters[index] as Visit)(value);
        this.#staging.markAssigned(index);
      },
    };
  }
}

function nodeMaker(names: readonly string[], parts: readonly StagedPart[], list: boolean): StepMaker {
  // One class per node, since V8 distinguishes objects by their constructors.
  const Node = class extends Step {};
  return (staging) => {
    const step = new Node(staging);
    // The accessors of a list are on a separate object. Accessors as array elements would be slow in any case.
    const node = list ? [] : step;
    names.forEach((name, i) => {
      const part = parts[i] as StagedPart;
      const of = typeof part === "function" ? { value: part(staging) } : list ? { get: part.get?.bind(step), set: part.set?.bind(step) } : part;
      Object.defineProperty(node, name, { enumerable: true, ...of });
    });
    return Object.freeze(node);
  };
}

/** The number of a writer's first steps that are all checked for NaN, and the number of steps from one later check to the next. */
const FIRST_CHECKS = 100;
const CHECK_INTERVAL = 1024;
/** The number of steps until a check that never happens. V8 stores this number as a small integer. */
const NEVER = 2 ** 30;
/** The maximum number of elements of a value that are checked for NaN. Larger values are checked at evenly spaced elements. */
const MAX_CHECKED = 256;

/** The value that replaces the fields of a closed writer. */
const CLOSED = new Proxy({}, { get: throwClosed, set: throwClosed }) as never;

function throwClosed(): never {
  throw writerClosed();
}

/** A leaf whose array may be lent. */
interface LeafView extends ViewTarget {
  /** The address of the leaf's array. */
  readonly address: number;
  /** Another form of equal size that the leaf's values may have: with the dimension of lanes. Undefined if only one form is accepted. */
  readonly alternative: LeafTarget | undefined;
  /** The value of `#moves` when the array was last lent; undefined if it was not lent, or if a value was assigned after memory had moved. */
  borrowedAt: number | undefined;
}

/** The memory of a staging record: linear memory, or a buffer if there is no core (reprise/remote). */
export interface StagedMemory {
  readonly u8: Uint8Array<ArrayBuffer>;
  readonly u32: Uint32Array<ArrayBuffer>;
  /** Converts arrays to half floats. Without this method, the arrays are only checked. */
  narrow?(dtype: HalfDtype, to: number, from: number, n: number): number;
  /** The objects that are notified after the memory has moved. */
  readonly listeners: Set<{ onMemoryMoved(): void }>;
}

export class Staging {
  readonly #step: object;
  /** Setters that write a leaf's value to its place, one per leaf. */
  setters: readonly Visit[];
  /** The objects of the step, which receive new views of the memory after it has moved. */
  readonly #steps: Step[] = [];
  readonly #memory: StagedMemory;
  readonly #at: number;
  #views: readonly LeafView[];
  /** The number of times that memory has moved. */
  #moves = 0;
  /** The number of memory moves at the last check of all lent arrays. */
  #checkedMoves = -1;
  #isUsed = false;
  /** The bool leaves, whose arrays accept numbers other than 0 and 1, and the float leaves, whose arrays accept NaN. */
  readonly #flags: readonly LeafView[];
  readonly #floats: readonly LeafView[];
  /** The leaves of half floats, whose arrays accept numbers that half floats cannot represent. */
  readonly #halves: readonly LeafView[];

  /**
   * @param at the address of the record
   * @param addresses the address of each leaf
   * @param arrays the address of each leaf's array, from which half floats are converted
   * @param lead the first dimension of values; empty for a single lane
   * @param isVector whether values of a single lane may also have the dimension of lanes
   * @param onNaN called if a passed value contains NaN; `checkForNaN` then finds the leaf
   */
  constructor(
    memory: StagedMemory,
    maker: StepMaker,
    at: number,
    leaves: readonly PlacedLeaf[],
    addresses: readonly number[],
    arrays: readonly number[],
    lead: readonly number[],
    isVector = false,
    onNaN?: () => void,
  ) {
    this.#memory = memory;
    this.#at = at;
    this.#views = leaves.map(({ leaf, shape, keys }, i) => {
      const target = targetOf(leaf.dtype, [...lead, ...shape]);
      const alternative = isVector ? targetOf(leaf.dtype, [1, ...shape]) : undefined;
      const [value, array] = [addresses[i] as number, arrays[i] as number];
      const { dtype } = leaf;
      const narrow = isHalf(dtype) ? memory.narrow?.bind(memory, dtype, value, array, target.size) : undefined;
      return { ...target, alternative: alternative, leaf, keys, address: array, view: new Float64Array(), borrowedAt: undefined, onNaN, narrow };
    });
    this.#flags = this.#views.filter(({ leaf }) => leaf.dtype === "bool");
    this.#floats = this.#views.filter(({ leaf }) => isFloat(leaf.dtype));
    this.#halves = this.#views.filter(({ leaf }) => isHalf(leaf.dtype));
    // With several lanes, the record is a block of columns.
    if (lead.length > 0) memory.u32.set(addresses, at / 4);
    this.setters = this.#views.map((view) => setterOf(view, view.alternative));
    this.#step = maker(this);
    this.onMemoryMoved();
    memory.listeners.add(this);
  }

  /** Returns the object that the user sees, and records that the user has it. */
  use(): object {
    this.#isUsed = true;
    return this.#step;
  }

  /** Checks the lent arrays before an append. Arrays read before memory moved are invalid, and values written to them are lost. */
  check(): void {
    if (this.#checkedMoves !== this.#moves) this.#checkAll();
  }

  #checkAll(): void {
    if (this.#flags.length > 0) this.#checkFlags();
    if (!this.#isUsed) throw mustBe(TypeError, "step", ["given, because writer.staged is empty", "Pass a step, or write to writer.staged first"], undefined);
    // The loop is inline, because a function with a closure allocates on each call.
    for (const { borrowedAt = this.#moves, keys } of this.#views) {
      if (borrowedAt < this.#moves)
        throw new ReplayError("OUT_OF_TURN", `staged.${pathText(keys)} is out of date because memory has grown. Read it from writer.staged again`);
    }
    // The loop uses an index: before V8 optimizes this function, `for … of` allocates an object per iteration.
    for (let i = 0; i < this.#halves.length; i++) mustNarrow(this.#halves[i] as LeafView);
    // Flags and half floats are checked in every step.
    if (this.#flags.length === 0 && this.#halves.length === 0) this.#checkedMoves = this.#moves;
  }

  /**
   * Checks the float values of the last appended step for NaN. @param looks the number of checks of the writer, including this check @returns the number of
   * steps until the next check
   */
  checkForNaN(reportNaN: (leaf: string) => void, looks: number): number {
    for (const { view, size, keys } of this.#floats) if (hasNaN(view, 0, size, Math.ceil(size / MAX_CHECKED))) reportNaN(pathText(keys));
    return this.#floats.length === 0 ? NEVER : looks < FIRST_CHECKS ? 1 : CHECK_INTERVAL;
  }

  #checkFlags(): void {
    for (const { view, keys } of this.#flags)
      for (let i = 0; i < view.length; i++)
        if ((view[i] as number) > 1) throw mustBe("INVALID_DATA", `staged.${pathText(keys)}`, "bool, an integer in 0 … 1", view[i]);
  }

  /** Whether a caller may have an array that views the record. */
  get isBorrowed(): boolean {
    return this.#views.some(({ borrowedAt }) => borrowedAt === this.#moves);
  }

  /** Detaches from the memory, which no longer belongs to this writer. */
  close(): void {
    this.#memory.listeners.delete(this);
    this.#setMemory(CLOSED, CLOSED);
    this.setters = CLOSED;
    this.#views = CLOSED;
  }

  /** Returns the elements of leaf i. */
  view(i: number): NumberArray {
    return (this.#views[i] as LeafView).view;
  }

  /** Returns the elements of leaf i, for a user to keep until memory moves. */
  borrow(i: number): NumberArray {
    const leaf = this.#views[i] as LeafView;
    leaf.borrowedAt = this.#moves;
    return leaf.view;
  }

  /**
   * Returns the error for a rejected step. Reports missing and unknown fields first, because the error that a fast path threw may only mention the missing
   * value of a misspelt field.
   */
  misfit(spec: Spec, step: unknown, error: unknown): unknown {
    checkNodes(spec, step);
    return error instanceof ReplayError ? error : (this.#misfitOf(flattener(spec)(step)) ?? error);
  }

  /** Returns the error of the first value that does not fit, one value per leaf; undefined if all fit. */
  #misfitOf(values: readonly unknown[]): Error | undefined {
    for (const [i, view] of this.#views.entries()) {
      const misfit = put(matchingTarget(values[i], view, view.alternative), undefined, 0, values[i]);
      if (misfit !== undefined) return mismatchError(misfit.code, view.keys, misfit.rule, misfit.value);
    }
    return undefined;
  }

  /** Adds an object of the step, which needs new views of the record when memory moves. */
  addStep(step: Step): void {
    this.#steps.push(step);
  }

  /** Marks leaf i as assigned. Values written to an outdated array would be lost. */
  markAssigned(i: number): void {
    const leaf = this.#views[i] as LeafView;
    if (leaf.borrowedAt !== this.#moves) leaf.borrowedAt = undefined;
  }

  /** Returns a copy of the texts of leaf i. Changes to the copy have no effect on the staged step. */
  texts(i: number): readonly string[] {
    const { leaf, size, view } = this.#views[i] as LeafView;
    const texts: string[] = [];
    readTexts(view as unknown as Uint8Array, 0, (leaf as BoundedText).maxBytes, texts, size);
    return Object.freeze(texts);
  }

  /** Updates the views after memory has moved. */
  onMemoryMoved(): void {
    const { buffer } = this.#memory.u8;
    this.#moves++;
    this.#setMemory(new Float32Array(buffer, this.#at), new Int32Array(buffer, this.#at));
    for (const leaf of this.#views) leaf.view = viewOf(leaf, buffer);
  }

  #setMemory(f32: Float32Array, i32: Int32Array): void {
    for (const step of this.#steps) Step.setMemory(step, f32, i32);
  }
}

function viewOf({ leaf, address, size }: LeafView, buffer: ArrayBuffer): NumberArray {
  const view = leaf.dtype === "string" ? new Uint8Array(buffer, address, size * textBytes(leaf.maxBytes)) : new DTYPES[leaf.dtype].array(buffer, address, size);
  return view as unknown as NumberArray;
}

export function writerClosed(): ReplayError {
  return new ReplayError("CLOSED", "this writer was closed. Create a new one with replay.writer()");
}
