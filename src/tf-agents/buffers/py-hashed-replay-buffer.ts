/** A buffer of trajectories whose observations are stacks of frames: equal frames are stored once. After TF-Agents' `PyHashedReplayBuffer`. */

import { mustBe } from "../../base/error.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { Column } from "../../schema/column.ts";
import { u32 } from "../../schema/constructors.ts";
import { type AnyArray, type ArrayClass, DTYPES } from "../../schema/dtype.ts";
import { isLeaf, type Leaf, type RowLeaf, shapeOf, sizeOf } from "../../schema/leaf.ts";
import type { Spec } from "../../schema/spec.ts";
import type { TrajectorySpec } from "../trajectory.ts";
import { checkTrajectorySpec } from "../transitions/transition.ts";
import { FrameStore } from "./frame-store.ts";
import { type Batch, createBatchReader, type ItemsOf } from "./frames.ts";
import { PyBuffer, type PyBufferOptions, PyItems } from "./py-items.ts";

type Fields = { readonly observation: AnyArray; readonly [field: string]: unknown };

export class PyHashedReplayBuffer<const S extends TrajectorySpec<Spec, Spec, Spec> = TrajectorySpec<Leaf, Spec, Spec>> extends PyBuffer<S> {
  readonly #toBatch: (items: unknown) => Batch;
  /** Its observations are numbers of frames. */
  readonly #items: PyItems<Spec>;
  readonly #frames: FrameStore;
  readonly #array: ArrayClass;
  readonly #shape: readonly number[];
  /** Frames of an observation, and elements of one. */
  readonly #stack: number;
  readonly #size: number;
  /** The frames of each place's item. */
  #itemFrames = new Uint32Array(0);

  /**
   * Adds 4 bytes a frame of a stack, and 16 a different frame, to what is stored once.
   * @param dataSpec of one trajectory. The last dimension of its observation, which is one leaf of numbers, counts frames
   * @throws TypeError, RangeError · ReplayError SPEC_MISMATCH for another observation
   */
  constructor(dataSpec: S, options: PyBufferOptions) {
    hideFrames(new.target);
    const { observation } = checkTrajectorySpec(dataSpec);
    const leaf = isLeaf(observation) ? (observation as RowLeaf) : undefined;
    const shape = leaf === undefined ? [] : shapeOf(leaf);
    if (leaf === undefined || leaf.dtype === "string" || shape.length === 0)
      throw mustBe("SPEC_MISMATCH", "dataSpec.observation", "one leaf of numbers, whose last dimension counts frames", observation);
    const stack = shape.at(-1) as number;
    const items = new PyItems<Spec>({ ...dataSpec, observation: u32(stack) }, options, (batch) => this.#decode(batch as never));
    super(dataSpec, items);
    this.#items = items;
    this.#array = DTYPES[leaf.dtype].array as ArrayClass;
    this.#shape = shape;
    this.#stack = stack;
    this.#size = sizeOf(shape.slice(0, -1));
    this.#toBatch = createBatchReader(dataSpec);
    this.#frames = new FrameStore(this.#array, this.#size, options.maxBytes ?? Infinity, () => this.#items.bytes + this.#itemFrames.byteLength);
  }

  /** Different frames that there are. */
  get distinctFrames(): number {
    return this.#frames.count;
  }

  /** Memory that was taken for these, in bytes. */
  get frameBytes(): number {
    return this.#frames.bytes;
  }

  /** As PyUniformReplayBuffer's. Frames whose bytes are stored already are not stored again; those of items that leave go with them, unless others have them too. */
  addBatch(items: ItemsOf<S>): void {
    const { rows, values } = this.#toBatch(items);
    const { observation, ...rest } = values as Fields;
    const numbers = this.#encode(observation, rows);
    try {
      this.#reserve(this.#items.added + rows);
      this.#items.add({ ...rest, observation: numbers }, rows);
    } catch (error) {
      for (const number of numbers) this.#frames.release(number);
      throw error;
    }
    for (let row = 0; row < rows; row++) this.#keep(this.#items.added - rows + row, numbers, row);
  }

  /** Forgets all items and frames, and gives the frames' memory back. */
  clear(): void {
    this.#items.clear();
    this.#frames.clear();
    this.#itemFrames = new Uint32Array(0);
  }

  /** The numbers of the frames of some observations, each held. @throws ReplayError OUT_OF_MEMORY, and then none is held */
  #encode(observation: AnyArray, rows: number): Uint32Array<ArrayBuffer> {
    const numbers = new Uint32Array(rows * this.#stack);
    let n = 0;
    try {
      for (; n < numbers.length; n++) {
        const row = Math.floor(n / this.#stack);
        numbers[n] = this.#frames.retain(observation, row * this.#size * this.#stack + (n % this.#stack), this.#stack);
      }
    } catch (error) {
      while (n > 0) this.#frames.release(numbers[--n] as number);
      throw error;
    }
    return numbers;
  }

  /** Frames in the place of their numbers. */
  #decode(items: { readonly observation: Column<"u32"> }): unknown {
    const { data: numbers, shape } = items.observation;
    const data = new this.#array(numbers.length * this.#size);
    for (let n = 0; n < numbers.length; n++) {
      const item = Math.floor(n / this.#stack);
      this.#frames.copy(numbers[n] as number, data, item * this.#size * this.#stack + (n % this.#stack), this.#stack);
    }
    return { ...items, observation: new Column(data as Column["data"], [...shape.slice(0, -1), ...this.#shape]) };
  }

  /** Room for the numbers of so many items. */
  #reserve(items: number): void {
    const neededFrames = Math.min(items, this.capacity) * this.#stack;
    if (neededFrames <= this.#itemFrames.length) return;
    const larger = new Uint32Array(Math.min(Math.max(neededFrames, 2 * this.#itemFrames.length), this.capacity * this.#stack));
    larger.set(this.#itemFrames);
    this.#itemFrames = larger;
  }

  /** Notes the frames of the i-th item, and lets those of the item go whose place it took. */
  #keep(i: number, numbers: Uint32Array, row: number): void {
    const at = (i % this.capacity) * this.#stack;
    for (let k = 0; k < this.#stack; k++) {
      if (i >= this.capacity) this.#frames.release(this.#itemFrames[at + k] as number);
      this.#itemFrames[at + k] = numbers[row * this.#stack + k] as number;
    }
  }
}
