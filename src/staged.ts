/** The staging record as its users see it: nested as the spec, numbers to assign, arrays to fill in place. Nothing is copied until `append`. */
import type { Core } from "./core.ts";
import { type AnyArray, type ArrayOf, DTYPES, type Dtype } from "./dtype.ts";
import { ReplayError } from "./error.ts";
import { flattenInto, mismatch } from "./fill.ts";
import type { PlacedLeaf } from "./layout.ts";
import { type IsAny, isLeaf, keysOf, type Leaf, named, type Spec } from "./spec.ts";

type StagedLeaf<D extends Dtype, Shape> = Shape extends readonly [] ? (D extends "i64" | "u64" ? bigint : number) : ArrayOf<D>;
type StagedNode<S> = S extends Leaf<infer D, infer Shape> ? StagedLeaf<D, Shape> : { -readonly [K in keyof S]: StagedNode<S[K]> };

/** A leaf of shape [] is a number (with several lanes: an array), any other leaf a typed array. A spec that is a leaf itself has the name `value`. */
export type StagedOf<S> = IsAny<S> extends true ? unknown : S extends Leaf<infer D, infer Shape> ? { value: StagedLeaf<D, Shape> } : StagedNode<S>;

interface Slot {
  readonly leaf: PlacedLeaf;
  readonly address: number;
  readonly length: number;
  view: AnyArray;
  /** The array was handed out since memory last moved. */
  lent: boolean;
  /** It was handed out before memory moved, and has not been asked for again. */
  stale: boolean;
}

/** Makes what the user sees of a staging record. */
export type StepMaker = (staging: Staging) => object;

/**
 * How the steps of a spec are made: once a Replay, so that those of all its writers have the same accessors. V8 makes a slow dictionary of
 * an object whose accessors differ from those of an earlier one of the same form.
 * @param scalars whether leaves of shape [] are numbers
 */
export function stepMaker(spec: Spec, leaves: readonly PlacedLeaf[], scalars: boolean): StepMaker {
  let next = 0;
  const build = (node: Spec): PropertyDescriptor | StepMaker => {
    if (isLeaf(node)) {
      const leaf = leaves[next++] as PlacedLeaf;
      return scalars && leaf.shape.length === 0 ? Step.number(leaf) : Step.array(leaf.index);
    }
    const children = keysOf(node).map((key) => [key, build((node as { [key: string]: Spec })[key] as Spec)] as const);
    return Array.isArray(node) ? listMaker(children) : objectMaker(children);
  };
  const whole = build(spec);
  // A spec that is one leaf: the step is that leaf's value, under a name.
  return typeof whole === "function" ? whole : objectMaker([["value", whole]]);
}

type Children = readonly (readonly [key: string, child: PropertyDescriptor | StepMaker])[];

/**
 * One object of a step. Its accessors are as short as can be: V8 then compiles them into their callers, whatever else is there, and a number that
 * is assigned is not allocated.
 */
class Step {
  readonly #staging: Staging;
  /** The whole record. */
  #f32!: Float32Array;
  #i32!: Int32Array;

  constructor(staging: Staging) {
    this.#staging = staging;
    this.look();
    staging.objects.push(this);
  }

  /** Looks at the record where it is now. */
  look(): void {
    this.#f32 = this.#staging.f32;
    this.#i32 = this.#staging.i32;
  }

  /** What reads and assigns a leaf that is a number. */
  static number({ index, leaf: { dtype }, staged }: PlacedLeaf): PropertyDescriptor {
    const at = staged / 4;
    if (dtype === "f32") {
      return {
        get(this: Step) {
          return this.#f32[at];
        },
        set(this: Step, value: number) {
          this.#f32[at] = value;
        },
      };
    }
    if (dtype === "i32") {
      return {
        get(this: Step) {
          return this.#i32[at];
        },
        set(this: Step, value: number) {
          this.#i32[at] = value;
        },
      };
    }
    return {
      get(this: Step) {
        return this.#staging.slot(index).view[0];
      },
      set(this: Step, value: number) {
        (this.#staging.slot(index).view as Float32Array)[0] = value;
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
        this.#staging.fill(index, value);
      },
    };
  }
}

function objectMaker(children: Children): StepMaker {
  // A class a node: V8 tells objects apart by where they begin.
  const Node = class extends Step {};
  return (staging) => define(new Node(staging), staging, children);
}

/** Elements that are accessors are slow in any case. */
function listMaker(children: Children): StepMaker {
  return (staging) => {
    const step = new Step(staging);
    const bound = children.map(([key, child]) =>
      typeof child === "function" ? ([key, child] as const) : ([key, { get: child.get?.bind(step), set: child.set?.bind(step) }] as const),
    );
    return define([], staging, bound);
  };
}

function define(made: object, staging: Staging, children: Children): object {
  for (const [key, child] of children) {
    Object.defineProperty(made, key, { enumerable: true, ...(typeof child === "function" ? { value: child(staging) } : child) });
  }
  return Object.freeze(made);
}

/** In the place of a closed writer's record. */
const CLOSED = new Proxy(new Float32Array(0), { get: refuse, set: refuse });

function refuse(): never {
  throw writerClosed();
}

export class Staging {
  /** What the user sees. */
  readonly step: object;
  /** All objects of the step. */
  readonly objects: Step[] = [];
  /** The record, one element a word. */
  f32!: Float32Array;
  i32!: Int32Array;
  readonly #core: Core;
  readonly #at: number;
  readonly #words: number;
  readonly #slots: readonly Slot[];
  #stale = 0;
  #closed = false;

  /**
   * @param at where the record begins
   * @param places where each leaf begins, and how many elements it has there
   */
  constructor(core: Core, maker: StepMaker, at: number, bytes: number, leaves: readonly PlacedLeaf[], places: readonly { address: number; length: number }[]) {
    this.#core = core;
    this.#at = at;
    this.#words = bytes / 4;
    this.#slots = leaves.map((leaf, i) => {
      const { address, length } = places[i] as { address: number; length: number };
      return { leaf, address, length, view: this.#view(leaf, address, length), lent: false, stale: false };
    });
    this.#look();
    this.step = maker(this);
    core.lookers.add(this);
  }

  /** Before an append: arrays that were read before memory moved are void, and what was written to them is lost. */
  check(): void {
    if (this.#stale === 0) return;
    const slot = this.#slots.find((one) => one.stale) as Slot;
    const path = named(slot.leaf.keys);
    throw new ReplayError(
      "OUT_OF_TURN",
      `staged.${path} was kept while memory grew, and is void: read it from writer.staged for every step. Fill the step again, then append`,
    );
  }

  /** The memory is no longer this writer's. */
  close(): void {
    this.#closed = true;
    this.#core.lookers.delete(this);
    this.f32 = CLOSED;
    this.i32 = CLOSED as unknown as Int32Array;
    for (const object of this.objects) object.look();
  }

  /** Leaf i. */
  slot(i: number): Slot {
    if (this.#closed) refuse();
    return this.#slots[i] as Slot;
  }

  /** The elements of leaf i, for a user to keep until memory moves. */
  lend(i: number): AnyArray {
    const slot = this.slot(i);
    slot.lent = true;
    if (slot.stale) {
      slot.stale = false;
      this.#stale--;
    }
    return slot.view;
  }

  /** Assigns the elements of leaf i. */
  fill(i: number, value: unknown): void {
    const { leaf, length, view } = this.slot(i);
    if (flattenInto(view, 0, length, value, leaf.leaf.dtype, named(leaf.keys)) !== length) throw mismatch(leaf, value, [], length);
  }

  /** Memory has moved. */
  moved(): void {
    this.#look();
    for (const object of this.objects) object.look();
    for (const slot of this.#slots) {
      slot.view = this.#view(slot.leaf, slot.address, slot.length);
      if (slot.lent && !slot.stale) {
        slot.stale = true;
        this.#stale++;
      }
      slot.lent = false;
    }
  }

  #look(): void {
    const { buffer } = this.#core.u8;
    this.f32 = new Float32Array(buffer, this.#at, this.#words);
    this.i32 = new Int32Array(buffer, this.#at, this.#words);
  }

  #view(leaf: PlacedLeaf, address: number, length: number): AnyArray {
    return new DTYPES[leaf.leaf.dtype].array(this.#core.u8.buffer, address, length);
  }
}

export function writerClosed(): ReplayError {
  return new ReplayError("CLOSED", "this writer was closed: make another one with replay.writer()");
}
