/** Stores the steps that a writer has buffered, leaf by leaf, and the chunks that contain them. */
import type { PlacedLeaf } from "../schema/layout.ts";
import { randomKey } from "./keys.ts";
import { chunkOf, type StepValue } from "./step-values.ts";
import type { StepLocation } from "./tensors/runs.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

/**
 * A leaf with at least this many bytes per step has separate chunks, so that an item does not send wide leaves that it does not name. For smaller leaves, the
 * cost of a separate chunk matters more.
 */
const WIDE_BYTES = 1024;
/** The default limits of a chunk: the number of steps, and the number of bytes of one leaf. */
const CHUNK_STEPS = 128;
const CHUNK_BYTES = 1 << 18;

interface BufferedValue {
  readonly value: StepValue;
  location: (StepLocation & { readonly chunk: ChunkMessage }) | undefined;
}

/** The steps of a leaf, by their number since the writer was created. */
interface LeafBuffer {
  readonly leaf: PlacedLeaf;
  readonly steps: Map<number, BufferedValue>;
  /** The first step that is not in a chunk yet, and the newest step. */
  unplaced: number;
  newest: number;
  keep: number;
  maxChunk: number;
}

export interface ChunkOptions {
  /** The maximum number of steps per chunk. Default: 128, or fewer if a leaf would otherwise exceed 256 KiB. */
  readonly maxChunk?: number | undefined;
  /** Whether integers are stored as differences between consecutive steps. */
  readonly deltaEncoded?: boolean | undefined;
}

export class BufferedSteps {
  readonly #leaves: LeafBuffer[];
  readonly #deltaEncoded: boolean;
  /**
   * The keys of the chunks that contain available steps, with the number of available values in each. Requests list the keys, so that the server keeps the
   * chunks.
   */
  readonly #chunks = new Map<bigint, number>();
  #episodeId = randomKey();
  #episodeStart = 0;

  constructor(leaves: readonly PlacedLeaf[], keep: number, { maxChunk, deltaEncoded = false }: ChunkOptions = {}) {
    this.#leaves = leaves.map((leaf) => ({ leaf, steps: new Map(), unplaced: 0, newest: -1, keep, maxChunk: maxChunk ?? chunkSteps(leaf) }));
    this.#deltaEncoded = deltaEncoded;
  }

  /** @param total the number of steps so far */
  configure(leaf: number, keep: number, maxChunk: number | undefined, total: number): void {
    const leafBuffer = this.#leaves[leaf] as LeafBuffer;
    for (const step of leafBuffer.steps.keys()) if (step < total - keep) this.#drop(leafBuffer, step);
    leafBuffer.keep = keep;
    leafBuffer.maxChunk = maxChunk ?? chunkSteps(leafBuffer.leaf);
  }

  /** Returns the oldest available step of a leaf, or `total` if no step is available. */
  oldest(leaf: number, total: number): number {
    const [first = total] = (this.#leaves[leaf] as LeafBuffer).steps.keys();
    return first;
  }

  /** Adds values to a step. */
  add(step: number, values: readonly (StepValue | undefined)[]): void {
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      const leafBuffer = this.#leaves[i] as LeafBuffer;
      if (value !== undefined) {
        leafBuffer.steps.set(step, { value, location: undefined });
        leafBuffer.newest = step;
      }
      this.#drop(leafBuffer, step - leafBuffer.keep);
    }
  }

  value({ index }: PlacedLeaf, step: number): StepValue {
    return ((this.#leaves[index] as LeafBuffer).steps.get(step) as BufferedValue).value;
  }

  /** Returns one value per leaf; undefined for a missing value. */
  values(step: number): (StepValue | undefined)[] {
    return this.#leaves.map(({ steps }) => steps.get(step)?.value);
  }

  /** Returns the position of a step in its chunk, and creates the chunk if necessary. @param chunks receives the chunk */
  locate({ index }: PlacedLeaf, step: number, chunks: Set<ChunkMessage>): StepLocation {
    const leaf = this.#leaves[index] as LeafBuffer;
    const buffered = leaf.steps.get(step) as BufferedValue;
    if (buffered.location === undefined) this.#chunk(leaf);
    const location = buffered.location as unknown as NonNullable<BufferedValue["location"]>;
    chunks.add(location.chunk);
    return location;
  }

  /** Returns the keys of the chunks that later items may refer to. O(chunks) */
  chunkKeys(): Set<bigint> {
    return new Set(this.#chunks.keys());
  }

  /** @param total the number of steps so far */
  endEpisode(total: number): void {
    // A chunk contains the steps of a single episode.
    this.chunkAll();
    this.#episodeId = randomKey();
    this.#episodeStart = total;
  }

  /** Puts all remaining steps into chunks. */
  chunkAll(): void {
    for (const leaf of this.#leaves) this.#chunk(leaf);
  }

  clear(): void {
    for (const { steps } of this.#leaves) steps.clear();
    this.#chunks.clear();
  }

  #drop({ steps }: LeafBuffer, step: number): void {
    const location = steps.get(step)?.location;
    steps.delete(step);
    if (location === undefined) return;
    const remaining = (this.#chunks.get(location.chunkKey) as number) - 1;
    if (remaining === 0) this.#chunks.delete(location.chunkKey);
    else this.#chunks.set(location.chunkKey, remaining);
  }

  /**
   * Puts the remaining steps of a leaf into chunks. A narrow leaf shares its chunks with the narrow leaves that have the same remaining steps and the same
   * limit.
   */
  #chunk(leafBuffer: LeafBuffer): void {
    const waiting = unplacedOf(leafBuffer);
    if (waiting.length === 0) return;
    const isWide = (leaf: LeafBuffer) => leaf.leaf.bytes >= WIDE_BYTES;
    const chunkLeaves = isWide(leafBuffer)
      ? [leafBuffer]
      : this.#leaves.filter((leaf) => !isWide(leaf) && leaf.maxChunk === leafBuffer.maxChunk && isUnplaced(leaf, waiting));
    for (let from = 0; from < waiting.length; ) {
      const first = waiting[from] as number;
      let to = from + 1;
      while (to < waiting.length && to - from < leafBuffer.maxChunk && waiting[to] === first + (to - from)) to++;
      const columns = chunkLeaves.map(({ leaf, steps }) => {
        const values = new Array<StepValue>(to - from);
        for (let k = 0; k < values.length; k++) values[k] = (steps.get(first + k) as BufferedValue).value;
        return { leaf, values };
      });
      const chunk = chunkOf(randomKey(), this.#episodeId, Math.max(0, first - this.#episodeStart), columns, this.#deltaEncoded);
      this.#chunks.set(chunk.key, chunkLeaves.length * (to - from));
      for (let index = 0; index < chunkLeaves.length; index++) {
        const { steps } = chunkLeaves[index] as LeafBuffer;
        for (let offset = 0; offset < to - from; offset++)
          (steps.get(first + offset) as BufferedValue).location = { chunkKey: chunk.key, offset, index, chunk };
      }
      from = to;
    }
    for (const leaf of chunkLeaves) leaf.unplaced = (waiting.at(-1) as number) + 1;
  }
}

function chunkSteps({ bytes }: PlacedLeaf): number {
  return Math.max(1, Math.min(CHUNK_STEPS, Math.floor(CHUNK_BYTES / Math.max(bytes, 1))));
}

/** Returns the steps of a leaf that are not in a chunk, oldest first. */
function unplacedOf({ steps, unplaced, newest, keep }: LeafBuffer): number[] {
  const unplacedSteps: number[] = [];
  for (let step = Math.max(unplaced, newest - keep + 1); step <= newest; step++) {
    const buffered = steps.get(step);
    if (buffered !== undefined && buffered.location === undefined) unplacedSteps.push(step);
  }
  return unplacedSteps;
}

/** Returns whether exactly these steps of a leaf are not in a chunk. */
function isUnplaced({ steps, unplaced, newest, keep }: LeafBuffer, waiting: readonly number[]): boolean {
  let count = 0;
  for (let step = Math.max(unplaced, newest - keep + 1); step <= newest; step++) {
    const buffered = steps.get(step);
    if (buffered !== undefined && buffered.location === undefined && waiting[count++] !== step) return false;
  }
  return count === waiting.length;
}
