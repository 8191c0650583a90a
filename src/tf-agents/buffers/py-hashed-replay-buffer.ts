/**
 * Implements a buffer of trajectories whose observations are stacks of frames. Equal frames are stored once. Modelled on `PyHashedReplayBuffer` of TF-Agents.
 */

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
  /** The items. Their observations consist of frame numbers. */
  readonly #items: PyItems<Spec>;
  readonly #frames: FrameStore;
  readonly #array: ArrayClass;
  readonly #shape: readonly number[];
  /** The number of frames per observation, and the number of elements per frame. */
  readonly #stack: number;
  readonly #size: number;
  /** The frame numbers of the stored items, by the items' places. */
  #itemFrames = new Uint32Array(0);

  /**
   * Creates an empty buffer. In addition to the stored data, the buffer takes 4 bytes per frame of each stack, and 16 bytes per distinct frame.
   * @param dataSpec the spec of one trajectory. Its observation must be one numeric leaf whose last dimension counts the frames
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError SPEC_MISMATCH if the observation is not one leaf of stacked frames
   */
  constructor(dataSpec: S, options: PyBufferOptions) {
    hideFrames(new.target);
    const { observation } = checkTrajectorySpec(dataSpec);
    const leaf = isLeaf(observation) ? (observation as RowLeaf) : undefined;
    const shape = leaf === undefined ? [] : shapeOf(leaf);
    if (leaf === undefined || leaf.dtype === "string" || shape.length === 0)
      throw mustBe("SPEC_MISMATCH", "dataSpec.observation", "one numeric leaf whose last dimension counts the frames", observation);
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

  /** The number of distinct frames that are stored. */
  get distinctFrames(): number {
    return this.#frames.count;
  }

  /** The memory allocated for frames, in bytes. */
  get frameBytes(): number {
    return this.#frames.bytes;
  }

  /**
   * Adds a batch, like `PyUniformReplayBuffer.addBatch`. Frames that are already stored are not stored again. Frames of evicted items are freed, unless other
   * items share them.
   */
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

  /** Drops all items and frames, and frees the memory of the frames. */
  clear(): void {
    this.#items.clear();
    this.#frames.clear();
    this.#itemFrames = new Uint32Array(0);
  }

  /**
   * Returns the frame numbers of some observations, and adds a reference to each frame. @throws ReplayError OUT_OF_MEMORY, in which case no reference was added
   */
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

  /** Replaces frame numbers with the frames. */
  #decode(items: { readonly observation: Column<"u32"> }): unknown {
    const { data: numbers, shape } = items.observation;
    const data = new this.#array(numbers.length * this.#size);
    for (let n = 0; n < numbers.length; n++) {
      const item = Math.floor(n / this.#stack);
      this.#frames.copy(numbers[n] as number, data, item * this.#size * this.#stack + (n % this.#stack), this.#stack);
    }
    return { ...items, observation: new Column(data as Column["data"], [...shape.slice(0, -1), ...this.#shape]) };
  }

  /** Makes room for the frame numbers of `items` items. */
  #reserve(items: number): void {
    const neededFrames = Math.min(items, this.capacity) * this.#stack;
    if (neededFrames <= this.#itemFrames.length) return;
    const larger = new Uint32Array(Math.min(Math.max(neededFrames, 2 * this.#itemFrames.length), this.capacity * this.#stack));
    larger.set(this.#itemFrames);
    this.#itemFrames = larger;
  }

  /** Stores the frames of the i-th item, and releases the frames of the item that it replaces. */
  #keep(i: number, numbers: Uint32Array, row: number): void {
    const at = (i % this.capacity) * this.#stack;
    for (let k = 0; k < this.#stack; k++) {
      if (i >= this.capacity) this.#frames.release(this.#itemFrames[at + k] as number);
      this.#itemFrames[at + k] = numbers[row * this.#stack + k] as number;
    }
  }
}
