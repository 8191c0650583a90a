/** The staging record as its users see it: nested as the spec, numbers to assign, arrays to fill in place. Nothing is copied until `append`. */
import { mustBe, ReplayError } from "../base/error.ts";
import { DTYPES, type Dtype, type GivenArrayOf, type Numbered } from "../schema/dtype.ts";
import { formOf, hasNaN, type LeafTarget, put, putter, targetOf, type ViewTarget } from "../schema/fit.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { type BoundedText, isText, type Leaf, type RowLeaf, type ShapeOf } from "../schema/leaf.ts";
import { checkNodes, flattener, fold, named, refused, type Visit } from "../schema/nest.ts";
import type { IsAny, Spec } from "../schema/spec.ts";
import { readTexts, textBytes } from "../schema/text.ts";

type StagedLeaf<D extends Dtype, Shape, Lanes> = Lanes extends true
  ? GivenArrayOf<D>
  : Shape extends readonly []
    ? D extends "i64" | "u64"
      ? bigint
      : number
    : GivenArrayOf<D>;
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
  const whole = fold<RowLeaf, StagedPart>(
    spec,
    (index, _, leaf) => {
      const placed = leaves[index] as PlacedLeaf;
      const isOne = scalars && placed.shape.length === 0;
      return isText(leaf) ? Step.text(index, isOne) : isOne ? Step.number(placed) : Step.array(index);
    },
    (names, parts, _, list) => nodeMaker(names, parts, list),
  );
  // A spec that is one leaf: the step is that leaf's value, under a name.
  return typeof whole === "function" ? whole : nodeMaker(["value"], [whole], false);
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
    staging.shows(this);
  }

  /** Says where the record is now. Not a method: a leaf may have any name. */
  static look(step: Step, f32: Float32Array, i32: Int32Array): void {
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
        (this.#staging.puts[index] as Visit)(value);
      },
    };
  }

  /** What reads the texts of a leaf, and writes them. */
  static text(index: number, isOne: boolean): PropertyDescriptor {
    return {
      get(this: Step) {
        const texts = this.#staging.texts(index);
        return isOne ? texts[0] : texts;
      },
      set(this: Step, value: unknown) {
        (this.#staging.puts[index] as Visit)(value);
      },
    };
  }

  /** What lends the array of a leaf, and fills it. */
  static array(index: number): PropertyDescriptor {
    return {
      get(this: Step) {
        return this.#staging.lend(index);
      },
      set(this: Step, value: unknown) {
        (this.#staging.puts[index] as Visit)(value);
        this.#staging.assigned(index);
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
    const made = list ? [] : step;
    names.forEach((name, i) => {
      const part = parts[i] as StagedPart;
      const of = typeof part === "function" ? { value: part(staging) } : list ? { get: part.get?.bind(step), set: part.set?.bind(step) } : part;
      Object.defineProperty(made, name, { enumerable: true, ...of });
    });
    return Object.freeze(made);
  };
}

/** A writer's first steps are all looked through for NaN, later ones every so many. */
const FIRST_LOOKS = 100;
const LOOK_EVERY = 256;
/** Steps until a look that is never; still a small integer. */
const NEVER = 2 ** 30;
/** Elements of a value that are looked at; of more, evenly spread ones. */
const MOST_LOOKS = 256;

/** In the place of all that a closed writer had. */
const CLOSED = new Proxy({}, { get: refuse, set: refuse }) as never;

function refuse(): never {
  throw writerClosed();
}

/** A place whose array may be lent. */
interface LeafView extends ViewTarget {
  readonly address: number;
  /** The form that values may have instead. */
  readonly other: LeafTarget | undefined;
  /** How often memory had moved when it was lent last. */
  lent: number | undefined;
}

/** What a staging record is in: linear memory, or where no core is (reprise/remote) a buffer. */
export interface StagedMemory {
  readonly u8: Uint8Array<ArrayBuffer>;
  readonly u32: Uint32Array<ArrayBuffer>;
  /** Told where it has moved. */
  readonly lookers: Set<{ moved(): void }>;
}

export class Staging {
  readonly #step: object;
  /** What writes a leaf's value to its place, leaf by leaf. */
  puts: readonly Visit[];
  /** The objects of its step. */
  readonly #shown: Step[] = [];
  readonly #memory: StagedMemory;
  readonly #at: number;
  #views: readonly LeafView[];
  /** How often memory has moved. */
  #moves = 0;
  /** The count when all arrays that were lent were good. */
  #checked = -1;
  #used = false;
  /** Leaves of flags, into which anything may be written, and of floats, into which NaN may. */
  readonly #flags: readonly LeafView[];
  readonly #floats: readonly LeafView[];
  /** Looks for NaN so far. */
  #looks = 0;

  /**
   * @param at where the record begins
   * @param addresses where each leaf begins
   * @param lead the first dimension of values: none where there is one lane
   * @param isVector whether values of one lane may have that dimension, too
   * @param onNaN called if a value that is given holds NaN; then `lookForNaN` finds it
   */
  constructor(
    memory: StagedMemory,
    maker: StepMaker,
    at: number,
    leaves: readonly PlacedLeaf[],
    addresses: readonly number[],
    lead: readonly number[],
    isVector = false,
    onNaN?: () => void,
  ) {
    this.#memory = memory;
    this.#at = at;
    this.#views = leaves.map(({ leaf, shape, keys }, i) => {
      const target = targetOf(leaf.dtype, [...lead, ...shape]);
      const other = isVector ? targetOf(leaf.dtype, [1, ...shape]) : undefined;
      return { ...target, other, leaf, keys, address: addresses[i] as number, view: new Float64Array(), lent: undefined, onNaN };
    });
    this.#flags = this.#views.filter(({ leaf }) => leaf.dtype === "bool");
    this.#floats = this.#views.filter(({ leaf }) => leaf.dtype === "f32" || leaf.dtype === "f64");
    // Of several lanes the record is a block of columns.
    if (lead.length > 0) memory.u32.set(addresses, at / 4);
    this.puts = this.#views.map((view) => putter(view, view.other));
    this.#step = maker(this);
    this.moved();
    memory.lookers.add(this);
  }

  /** What the user sees. */
  use(): object {
    this.#used = true;
    return this.#step;
  }

  /** Before an append: arrays that were read before memory moved are void, and what was written to them is lost. */
  check(): void {
    if (this.#checked !== this.#moves) this.#checkAll();
  }

  #checkAll(): void {
    if (this.#flags.length > 0) this.#checkFlags();
    if (!this.#used) throw mustBe(TypeError, "step", "a step, since nothing is in writer.staged, which append() without a step appends", undefined);
    // No function here: one that holds another allocates at each call.
    for (const { lent = this.#moves, keys } of this.#views) {
      if (lent < this.#moves)
        throw new ReplayError("OUT_OF_TURN", `staged.${named(keys)} is out of date because memory has grown: read it from writer.staged again`);
    }
    // What is written to flags is looked at in each step.
    if (this.#flags.length === 0) this.#checked = this.#moves;
  }

  /** Looks through the values of floats of the step that was appended last. @returns steps until it should look again */
  lookForNaN(sawNaN: (leaf: string) => void): number {
    for (const { view, size, keys } of this.#floats) if (hasNaN(view, 0, size, Math.ceil(size / MOST_LOOKS))) sawNaN(named(keys));
    return this.#floats.length === 0 ? NEVER : ++this.#looks < FIRST_LOOKS ? 1 : LOOK_EVERY;
  }

  #checkFlags(): void {
    for (const { view, keys } of this.#flags)
      for (let i = 0; i < view.length; i++)
        if ((view[i] as number) > 1) throw mustBe("INVALID_DATA", `staged.${named(keys)}`, "bool, an integer in 0 … 1", view[i]);
  }

  /** Whether somebody may hold an array that looks at the record. */
  get isLent(): boolean {
    return this.#views.some(({ lent }) => lent === this.#moves);
  }

  /** The memory is no longer this writer's. */
  close(): void {
    this.#memory.lookers.delete(this);
    this.#look(CLOSED, CLOSED);
    this.puts = CLOSED;
    this.#views = CLOSED;
  }

  /** The elements of leaf i. */
  view(i: number): Numbered {
    return (this.#views[i] as LeafView).view;
  }

  /** The same, for a user to keep until memory moves. */
  lend(i: number): Numbered {
    const leaf = this.#views[i] as LeafView;
    leaf.lent = this.#moves;
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
      const misfit = put(formOf(values[i], view, view.other), undefined, 0, values[i]);
      if (misfit !== undefined) return refused(misfit.code, view.keys, misfit.rule, misfit.value);
    }
    return undefined;
  }

  /** One more object of its step, to be told where the record is. */
  shows(step: Step): void {
    this.#shown.push(step);
  }

  /** Leaf i was assigned: what was written to an array that is out of date would be nowhere in it. */
  assigned(i: number): void {
    const leaf = this.#views[i] as LeafView;
    if (leaf.lent !== this.#moves) leaf.lent = undefined;
  }

  /** The texts of leaf i: a copy, so that nobody takes it for what is staged. */
  texts(i: number): readonly string[] {
    const { leaf, size, view } = this.#views[i] as LeafView;
    const texts: string[] = [];
    readTexts(view as unknown as Uint8Array, 0, (leaf as BoundedText).maxBytes, texts, size);
    return Object.freeze(texts);
  }

  /** Memory has moved. */
  moved(): void {
    const { buffer } = this.#memory.u8;
    this.#moves++;
    this.#look(new Float32Array(buffer, this.#at), new Int32Array(buffer, this.#at));
    for (const leaf of this.#views) leaf.view = viewOf(leaf, buffer);
  }

  #look(f32: Float32Array, i32: Int32Array): void {
    for (const step of this.#shown) Step.look(step, f32, i32);
  }
}

function viewOf({ leaf, address, size }: LeafView, buffer: ArrayBuffer): Numbered {
  const view = leaf.dtype === "string" ? new Uint8Array(buffer, address, size * textBytes(leaf.maxBytes)) : new DTYPES[leaf.dtype].array(buffer, address, size);
  return view as unknown as Numbered;
}

export function writerClosed(): ReplayError {
  return new ReplayError("CLOSED", "this writer was closed: make a new one with replay.writer()");
}
