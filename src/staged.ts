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
  /** A number to its users, not an array. */
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

/** One object of a step. Its accessors are short, so that V8 puts them where they are called; a number that is handed on as an argument costs an allocation. */
class Step {
  readonly #staging: Staging;

  constructor(staging: Staging) {
    this.#staging = staging;
  }

  /** What reads and assigns a leaf that is a number. */
  static number({ index, leaf: { dtype }, staged }: PlacedLeaf): PropertyDescriptor {
    const at = staged / DTYPES[dtype].bytes;
    if (dtype === "f32") {
      return {
        get(this: Step) {
          return this.#staging.core.f32[this.#staging.at4 + at];
        },
        set(this: Step, value: number) {
          this.#staging.core.f32[this.#staging.at4 + at] = value;
        },
      };
    }
    if (dtype === "i32") {
      return {
        get(this: Step) {
          return this.#staging.core.i32[this.#staging.at4 + at];
        },
        set(this: Step, value: number) {
          this.#staging.core.i32[this.#staging.at4 + at] = value;
        },
      };
    }
    return {
      get(this: Step) {
        return this.#staging.view(index)[0];
      },
      set(this: Step, value: number) {
        this.#staging.view(index)[0] = value;
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

export class Staging {
  /** What the user sees. */
  readonly step: unknown;
  readonly core: Core;
  /** Where the record begins, in words. */
  at4: number;
  readonly #slots: readonly Slot[];
  #generation: number;
  #stale = 0;
  #closed = false;

  /**
   * @param at where the record begins
   * @param places where each leaf begins, and how many elements it has there
   */
  constructor(core: Core, maker: StepMaker, at: number, leaves: readonly PlacedLeaf[], places: readonly { address: number; length: number }[]) {
    this.core = core;
    this.at4 = at / 4;
    this.#generation = core.generation;
    this.#slots = leaves.map((leaf, i) => {
      const { address, length } = places[i] as { address: number; length: number };
      return { leaf, address, length, view: this.#view(leaf, address, length), lent: false, stale: false };
    });
    this.step = maker(this);
  }

  /** Before an append: arrays that were read before memory moved are void, and what was written to them is lost. */
  check(): void {
    if (this.#generation !== this.core.generation) this.#renew();
    if (this.#stale === 0) return;
    const slot = this.#slots.find((one) => one.stale) as Slot;
    const path = named(slot.leaf.keys);
    throw new ReplayError(
      "OUT_OF_TURN",
      `staged.${path} was kept while memory grew, and is void: read it from writer.staged for every step. Fill the step again, then append`,
    );
  }

  /** The memory is no longer this writer's: what is assigned goes nowhere. */
  close(): void {
    this.#closed = true;
    this.#generation = -1;
    this.at4 = Number.NaN;
  }

  /** The elements of leaf i. */
  view(i: number): Float32Array {
    return this.#fresh(i).view as Float32Array;
  }

  /** The same, for a user to keep until memory moves. */
  lend(i: number): AnyArray {
    const slot = this.#fresh(i);
    slot.lent = true;
    if (slot.stale) {
      slot.stale = false;
      this.#stale--;
    }
    return slot.view;
  }

  /** Assigns the elements of leaf i. */
  fill(i: number, value: unknown): void {
    const { leaf, length, view } = this.#fresh(i);
    if (flattenInto(view, 0, length, value, leaf.leaf.dtype, named(leaf.keys)) !== length) throw mismatch(leaf, value, [], length);
  }

  #fresh(i: number): Slot {
    if (this.#generation !== this.core.generation) this.#renew();
    return this.#slots[i] as Slot;
  }

  #view(leaf: PlacedLeaf, address: number, length: number): AnyArray {
    return new DTYPES[leaf.leaf.dtype].array(this.core.u8.buffer, address, length);
  }

  #renew(): void {
    if (this.#closed) throw writerClosed();
    const moved = this.#slots[0]?.view.buffer !== this.core.u8.buffer;
    this.#generation = this.core.generation;
    if (!moved) return;
    for (const slot of this.#slots) {
      slot.view = this.#view(slot.leaf, slot.address, slot.length);
      if (slot.lent && !slot.stale) {
        slot.stale = true;
        this.#stale++;
      }
      slot.lent = false;
    }
  }
}

export function writerClosed(): ReplayError {
  return new ReplayError("CLOSED", "this writer was closed: make another one with replay.writer()");
}
