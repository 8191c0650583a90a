/** The staging record as its users see it: nested as the spec, numbers to assign, arrays to fill in place. Nothing is copied until `append`. */
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
 * A leaf of shape [] is a number (with several lanes: an array), any other leaf a typed array. Text is a string, or a frozen array of strings: assign another one.
 * A spec that is a leaf itself has the name `value`.
 */
// biome-ignore lint/suspicious/noExplicitAny: of any spec, any leaf can be assigned
export type StagedOf<S, Lanes = false> = IsAny<S> extends true ? any : S extends RowLeaf ? { value: StagedNode<S, Lanes> } : StagedNode<S, Lanes>;

/** Makes what the user sees of a staging record. */
export type StepMaker = (staging: Staging) => object;

/** What a name of a step stands for: a node, or a leaf's accessor. */
type StagedPart = StepMaker | PropertyDescriptor;

/**
 * How the steps of a spec are made: once a Replay, so that those of all its writers have the same accessors. V8 makes a slow dictionary of
 * an object whose accessors differ from those of an earlier one of the same form.
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
  // A spec that is one leaf: the step is that leaf's value, under a name.
  return typeof root === "function" ? root : nodeMaker(["value"], [root], false);
}

/**
 * One object of a step. Its accessors are as short as can be: V8 then compiles them into their callers, whatever else is there, and a number that
 * is assigned is not allocated. In Node 20 that is up to 27 bytes of its code, and 26 is what one that assigns a number has.
 */
class Step {
  readonly #staging: Staging;
  /** The record and what follows it, one element a word. */
  #f32!: Float32Array;
  #i32!: Int32Array;

  constructor(staging: Staging) {
    this.#staging = staging;
    staging.addStep(this);
  }

  /** Says where the record is now. Not a method: a leaf may have any name. */
  static setMemory(step: Step, f32: Float32Array, i32: Int32Array): void {
    step.#f32 = f32;
    step.#i32 = i32;
  }

  /** What reads and assigns a leaf that is a number. */
  static number({ index, leaf: { dtype }, staged }: PlacedLeaf): PropertyDescriptor {
    const at = staged / 4;
    // A value becomes a number first: an object's `valueOf` may move the memory, or close the writer.
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
    // Of these some number does not fit, which a typed array would not tell.
    return {
      get,
      set(this: Step, value: unknown) {
        (this.#staging.setters[index] as Visit)(value);
      },
    };
  }

  /** What reads the texts of a leaf, and writes them. */
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

  /** What lends the array of a leaf, and fills it. */
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
  // A class a node: V8 tells objects apart by where they begin.
  const Node = class extends Step {};
  return (staging) => {
    const step = new Node(staging);
    // A list's accessors are those of an object beside it; elements that are accessors are slow in any case.
    const node = list ? [] : step;
    names.forEach((name, i) => {
      const part = parts[i] as StagedPart;
      const of = typeof part === "function" ? { value: part(staging) } : list ? { get: part.get?.bind(step), set: part.set?.bind(step) } : part;
      Object.defineProperty(node, name, { enumerable: true, ...of });
    });
    return Object.freeze(node);
  };
}

/** A writer's first steps are all looked through for NaN, later ones every so many. */
const FIRST_CHECKS = 100;
const CHECK_INTERVAL = 1024;
/** Steps until a look that is never; still a small integer. */
const NEVER = 2 ** 30;
/** Elements of a value that are looked at; of more, evenly spread ones. */
const MAX_CHECKED = 256;

/** In the place of all that a closed writer had. */
const CLOSED = new Proxy({}, { get: throwClosed, set: throwClosed }) as never;

function throwClosed(): never {
  throw writerClosed();
}

/** A place whose array may be lent. */
interface LeafView extends ViewTarget {
  /** Of its array. */
  readonly address: number;
  /** Another form that values may have. */
  readonly alternative: LeafTarget | undefined;
  /** The count of moves when the array was last borrowed. */
  borrowedAt: number | undefined;
}

/** What a staging record is in: linear memory, or where no core is (reprise/remote) a buffer. */
export interface StagedMemory {
  readonly u8: Uint8Array<ArrayBuffer>;
  readonly u32: Uint32Array<ArrayBuffer>;
  /** Makes half floats of arrays; without it they are only checked. */
  narrow?(dtype: HalfDtype, to: number, from: number, n: number): number;
  /** Told where it has moved. */
  readonly listeners: Set<{ onMemoryMoved(): void }>;
}

export class Staging {
  readonly #step: object;
  /** What writes a leaf's value to its place, leaf by leaf. */
  setters: readonly Visit[];
  /** The objects of its step. */
  readonly #steps: Step[] = [];
  readonly #memory: StagedMemory;
  readonly #at: number;
  #views: readonly LeafView[];
  /** How often memory has moved. */
  #moves = 0;
  /** The count when all arrays that were lent were good. */
  #checkedMoves = -1;
  #isUsed = false;
  /** Leaves of flags, into which anything may be written, and of floats, into which NaN may. */
  readonly #flags: readonly LeafView[];
  readonly #floats: readonly LeafView[];
  /** Of half floats, into which numbers may be written that these cannot be. */
  readonly #halves: readonly LeafView[];

  /**
   * @param at where the record begins
   * @param addresses where each leaf begins
   * @param arrays the same of its array, which half floats are made of
   * @param lead the first dimension of values: none where there is one lane
   * @param isVector whether values of one lane may have that dimension, too
   * @param onNaN called if a value that is given holds NaN; then `checkForNaN` finds it
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
    // Of several lanes the record is a block of columns.
    if (lead.length > 0) memory.u32.set(addresses, at / 4);
    this.setters = this.#views.map((view) => setterOf(view, view.alternative));
    this.#step = maker(this);
    this.onMemoryMoved();
    memory.listeners.add(this);
  }

  /** What the user sees. */
  use(): object {
    this.#isUsed = true;
    return this.#step;
  }

  /** Before an append: arrays that were read before memory moved are void, and what was written to them is lost. */
  check(): void {
    if (this.#checkedMoves !== this.#moves) this.#checkAll();
  }

  #checkAll(): void {
    if (this.#flags.length > 0) this.#checkFlags();
    if (!this.#isUsed) throw mustBe(TypeError, "step", "a step, since nothing is in writer.staged, which append() without a step appends", undefined);
    // No function here: one that holds another allocates at each call.
    for (const { borrowedAt = this.#moves, keys } of this.#views) {
      if (borrowedAt < this.#moves)
        throw new ReplayError("OUT_OF_TURN", `staged.${pathText(keys)} is out of date because memory has grown: read it from writer.staged again`);
    }
    // By index: before V8 has optimized it, `of` leaves an object per turn.
    for (let i = 0; i < this.#halves.length; i++) mustNarrow(this.#halves[i] as LeafView);
    // What is written to flags and halves is looked at in each step.
    if (this.#flags.length === 0 && this.#halves.length === 0) this.#checkedMoves = this.#moves;
  }

  /** Looks through the values of floats of the step that was appended last. @param looks of its writer, with this one @returns steps until it should look again */
  checkForNaN(reportNaN: (leaf: string) => void, looks: number): number {
    for (const { view, size, keys } of this.#floats) if (hasNaN(view, 0, size, Math.ceil(size / MAX_CHECKED))) reportNaN(pathText(keys));
    return this.#floats.length === 0 ? NEVER : looks < FIRST_CHECKS ? 1 : CHECK_INTERVAL;
  }

  #checkFlags(): void {
    for (const { view, keys } of this.#flags)
      for (let i = 0; i < view.length; i++)
        if ((view[i] as number) > 1) throw mustBe("INVALID_DATA", `staged.${pathText(keys)}`, "bool, an integer in 0 … 1", view[i]);
  }

  /** Whether somebody may hold an array that looks at the record. */
  get isBorrowed(): boolean {
    return this.#views.some(({ borrowedAt }) => borrowedAt === this.#moves);
  }

  /** The memory is no longer this writer's. */
  close(): void {
    this.#memory.listeners.delete(this);
    this.#setMemory(CLOSED, CLOSED);
    this.setters = CLOSED;
    this.#views = CLOSED;
  }

  /** The elements of leaf i. */
  view(i: number): NumberArray {
    return (this.#views[i] as LeafView).view;
  }

  /** The same, for a user to keep until memory moves. */
  borrow(i: number): NumberArray {
    const leaf = this.#views[i] as LeafView;
    leaf.borrowedAt = this.#moves;
    return leaf.view;
  }

  /** Why a step was refused: a misspelt field is missing first, and a fast way may only have stumbled over a value. */
  misfit(spec: Spec, step: unknown, error: unknown): unknown {
    checkNodes(spec, step);
    return error instanceof ReplayError ? error : (this.#misfitOf(flattener(spec)(step)) ?? error);
  }

  /** Which of these values, one a leaf, does not fit; undefined where all do. */
  #misfitOf(values: readonly unknown[]): Error | undefined {
    for (const [i, view] of this.#views.entries()) {
      const misfit = put(matchingTarget(values[i], view, view.alternative), undefined, 0, values[i]);
      if (misfit !== undefined) return mismatchError(misfit.code, view.keys, misfit.rule, misfit.value);
    }
    return undefined;
  }

  /** Adds an object of its step, which needs the place of the record. */
  addStep(step: Step): void {
    this.#steps.push(step);
  }

  /** Leaf i was assigned: what was written to an array that is out of date would be nowhere in it. */
  markAssigned(i: number): void {
    const leaf = this.#views[i] as LeafView;
    if (leaf.borrowedAt !== this.#moves) leaf.borrowedAt = undefined;
  }

  /** The texts of leaf i: a copy, so that nobody takes it for what is staged. */
  texts(i: number): readonly string[] {
    const { leaf, size, view } = this.#views[i] as LeafView;
    const texts: string[] = [];
    readTexts(view as unknown as Uint8Array, 0, (leaf as BoundedText).maxBytes, texts, size);
    return Object.freeze(texts);
  }

  /** Memory has moved. */
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
  return new ReplayError("CLOSED", "this writer was closed: make a new one with replay.writer()");
}
