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

export class Staging {
  /** What the user sees. */
  readonly step: unknown;
  readonly #core: Core;
  readonly #slots: Slot[] = [];
  #generation: number;
  #stale = 0;
  #closed = false;

  /**
   * @param places where each leaf begins, and how many elements it has there
   * @param scalars whether leaves of shape [] are numbers
   */
  constructor(core: Core, spec: Spec, leaves: readonly PlacedLeaf[], places: readonly { address: number; length: number }[], scalars: boolean) {
    this.#core = core;
    this.#generation = core.generation;
    let next = 0;
    const build = (node: Spec): unknown => {
      if (isLeaf(node)) return next++;
      const made = Array.isArray(node) ? [] : {};
      for (const key of keysOf(node)) {
        const child = build((node as { [key: string]: Spec })[key] as Spec);
        const descriptor =
          typeof child === "number"
            ? this.#accessor(leaves[child] as PlacedLeaf, places[child] as { address: number; length: number }, scalars)
            : { value: child };
        Object.defineProperty(made, key, { enumerable: true, ...descriptor });
      }
      return Object.freeze(made);
    };
    const whole = build(spec);
    // A spec that is one leaf: the step is that leaf's value, under a name.
    this.step =
      typeof whole === "number"
        ? Object.freeze(
            Object.defineProperty({}, "value", {
              enumerable: true,
              ...this.#accessor(leaves[0] as PlacedLeaf, places[0] as { address: number; length: number }, scalars),
            }),
          )
        : whole;
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

  #accessor(leaf: PlacedLeaf, { address, length }: { address: number; length: number }, scalars: boolean): PropertyDescriptor {
    const slot: Slot = { leaf, address, length, view: this.#view(leaf, address, length), lent: false, stale: false };
    this.#slots.push(slot);
    const fresh = () => {
      if (this.#generation !== this.#core.generation) this.#renew();
      return slot.view as Float32Array;
    };
    if (scalars && leaf.shape.length === 0) {
      return {
        get: () => fresh()[0],
        set: (value: number) => {
          fresh()[0] = value;
        },
      };
    }
    return {
      get: () => {
        const view = fresh();
        slot.lent = true;
        if (slot.stale) {
          slot.stale = false;
          this.#stale--;
        }
        return view;
      },
      set: (value: unknown) => {
        if (flattenInto(fresh(), 0, length, value, leaf.leaf.dtype, named(leaf.keys)) !== length) throw mismatch(leaf, value, [], length);
      },
    };
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
