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
  readonly scalar: boolean;
  view: AnyArray;
  /** The array was handed out since memory last moved. */
  lent: boolean;
  /** It was handed out before memory moved, and has not been asked for again. */
  stale: boolean;
}

/** Makes what the user sees of a staging record. */
export type StepMaker = (staging: Staging) => unknown;

/**
 * How the steps of a spec are made: once a Replay, so that those of all its writers have the same accessors. V8 makes a slow dictionary of
 * an object whose accessors differ from those of an earlier one of the same form.
 */
export function stepMaker(spec: Spec): StepMaker {
  let next = 0;
  const build = (node: Spec): number | StepMaker => {
    if (isLeaf(node)) return next++;
    const children = keysOf(node).map((key) => [key, build((node as { [key: string]: Spec })[key] as Spec)] as const);
    return Array.isArray(node) ? listMaker(children) : objectMaker(children);
  };
  const whole = build(spec);
  // A spec that is one leaf: the step is that leaf's value, under a name.
  return typeof whole === "number" ? objectMaker([["value", whole]]) : whole;
}

type Children = readonly (readonly [key: string, child: number | StepMaker])[];

function objectMaker(children: Children): StepMaker {
  // A class a node, since accessors that are defined on objects of one class must all be the same.
  class Step {
    readonly #staging: Staging;

    constructor(staging: Staging) {
      this.#staging = staging;
      for (const [key, child] of children) {
        const known = accessors.get(key);
        Object.defineProperty(this, key, known ?? { enumerable: true, value: (child as StepMaker)(staging) });
      }
      Object.freeze(this);
    }

    static accessor(i: number): PropertyDescriptor {
      return {
        enumerable: true,
        get(this: Step) {
          return this.#staging.read(i);
        },
        set(this: Step, value: unknown) {
          this.#staging.write(i, value);
        },
      };
    }
  }
  const leaves = children.filter((entry): entry is readonly [string, number] => typeof entry[1] === "number");
  const accessors = new Map(leaves.map(([key, i]) => [key, Step.accessor(i)]));
  return (staging) => new Step(staging);
}

/** Elements that are accessors are slow in any case. */
function listMaker(children: Children): StepMaker {
  return (staging) => {
    const made: unknown[] = [];
    for (const [key, child] of children) {
      const descriptor =
        typeof child === "number" ? { get: () => staging.read(child), set: (value: unknown) => staging.write(child, value) } : { value: child(staging) };
      Object.defineProperty(made, key, { enumerable: true, ...descriptor });
    }
    return Object.freeze(made);
  };
}

export class Staging {
  /** What the user sees. */
  readonly step: unknown;
  readonly #core: Core;
  readonly #slots: readonly Slot[];
  #generation: number;
  #stale = 0;
  #closed = false;

  /**
   * @param places where each leaf begins, and how many elements it has there
   * @param scalars whether leaves of shape [] are numbers
   */
  constructor(core: Core, maker: StepMaker, leaves: readonly PlacedLeaf[], places: readonly { address: number; length: number }[], scalars: boolean) {
    this.#core = core;
    this.#generation = core.generation;
    this.#slots = leaves.map((leaf, i) => {
      const { address, length } = places[i] as { address: number; length: number };
      return { leaf, address, length, scalar: scalars && leaf.shape.length === 0, view: this.#view(leaf, address, length), lent: false, stale: false };
    });
    this.step = maker(this);
  }

  /** Before an append: arrays that were read before memory moved are void, and what was written to them is lost. */
  check(): void {
    if (this.#generation !== this.#core.generation) this.#renew();
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
    this.#generation = -1;
  }

  /** Leaf i as its accessor gives it. */
  read(i: number): unknown {
    const slot = this.#fresh(i);
    if (slot.scalar) return slot.view[0];
    slot.lent = true;
    if (slot.stale) {
      slot.stale = false;
      this.#stale--;
    }
    return slot.view;
  }

  /** Assigns leaf i. */
  write(i: number, value: unknown): void {
    const { leaf, length, scalar, view } = this.#fresh(i);
    if (scalar) (view as Float32Array)[0] = value as number;
    else if (flattenInto(view, 0, length, value, leaf.leaf.dtype, named(leaf.keys)) !== length) throw mismatch(leaf, value, [], length);
  }

  #fresh(i: number): Slot {
    if (this.#generation !== this.#core.generation) this.#renew();
    return this.#slots[i] as Slot;
  }

  #view(leaf: PlacedLeaf, address: number, length: number): AnyArray {
    return new DTYPES[leaf.leaf.dtype].array(this.#core.u8.buffer, address, length);
  }

  #renew(): void {
    if (this.#closed) throw writerClosed();
    const moved = this.#slots[0]?.view.buffer !== this.#core.u8.buffer;
    this.#generation = this.#core.generation;
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
