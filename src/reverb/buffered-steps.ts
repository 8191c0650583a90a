/** The steps that a writer has buffered, leaf by leaf, and the chunks that contain them. */
import type { PlacedLeaf } from "../schema/layout.ts";
import { randomKey } from "./keys.ts";
import { chunkOf, type StepValue } from "./step-values.ts";
import type { StepLocation } from "./tensors/runs.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

/** From so many bytes on a leaf has chunks of its own: an item then brings none that it does not name. Below, what a chunk costs counts more. */
const WIDE_BYTES = 1024;
/** Steps and bytes of a chunk, about. */
const CHUNK_STEPS = 128;
const CHUNK_BYTES = 1 << 18;

interface BufferedValue {
  readonly value: StepValue;
  location: (StepLocation & { readonly chunk: ChunkMessage }) | undefined;
}

/** A leaf's steps, by their number since the writer was made. */
interface LeafBuffer {
  readonly leaf: PlacedLeaf;
  readonly steps: Map<number, BufferedValue>;
  /** Steps from this one on are in no chunk; the newest one. */
  unplaced: number;
  newest: number;
  keep: number;
  maxChunk: number;
}

export interface ChunkOptions {
  /** Steps of a chunk at most; by default what is about a quarter of a megabyte. */
  readonly maxChunk?: number | undefined;
  /** Whether integers are kept as differences of consecutive steps. */
  readonly deltaEncoded?: boolean | undefined;
}

export class BufferedSteps {
  readonly #leaves: LeafBuffer[];
  readonly #deltaEncoded: boolean;
  /** The chunks of steps at hand, with the number of values in each: they are asked for with every request. */
  readonly #chunks = new Map<bigint, number>();
  #episodeId = randomKey();
  #episodeStart = 0;

  constructor(leaves: readonly PlacedLeaf[], keep: number, { maxChunk, deltaEncoded = false }: ChunkOptions = {}) {
    this.#leaves = leaves.map((leaf) => ({ leaf, steps: new Map(), unplaced: 0, newest: -1, keep, maxChunk: maxChunk ?? chunkSteps(leaf) }));
    this.#deltaEncoded = deltaEncoded;
  }

  /** @param total steps that there were */
  configure(leaf: number, keep: number, maxChunk: number | undefined, total: number): void {
    const leafBuffer = this.#leaves[leaf] as LeafBuffer;
    for (const step of leafBuffer.steps.keys()) if (step < total - keep) this.#drop(leafBuffer, step);
    leafBuffer.keep = keep;
    leafBuffer.maxChunk = maxChunk ?? chunkSteps(leafBuffer.leaf);
  }

  /** The oldest step of a leaf that is at hand; `total` where none is. */
  oldest(leaf: number, total: number): number {
    const [first = total] = (this.#leaves[leaf] as LeafBuffer).steps.keys();
    return first;
  }

  /** Values of a step, or more of them. */
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

  /** A value a leaf; undefined where the step has none. */
  values(step: number): (StepValue | undefined)[] {
    return this.#leaves.map(({ steps }) => steps.get(step)?.value);
  }

  /** Where a step is, in a chunk that may be made for it. @param chunks notes that chunk */
  locate({ index }: PlacedLeaf, step: number, chunks: Set<ChunkMessage>): StepLocation {
    const leaf = this.#leaves[index] as LeafBuffer;
    const buffered = leaf.steps.get(step) as BufferedValue;
    if (buffered.location === undefined) this.#chunk(leaf);
    const location = buffered.location as unknown as NonNullable<BufferedValue["location"]>;
    chunks.add(location.chunk);
    return location;
  }

  /** The chunks that later items may refer to. O(chunks) */
  chunkKeys(): Set<bigint> {
    return new Set(this.#chunks.keys());
  }

  /** @param total steps that there were */
  endEpisode(total: number): void {
    // A chunk has steps of one episode.
    this.chunkAll();
    this.#episodeId = randomKey();
    this.#episodeStart = total;
  }

  /** Puts all steps that are in no chunk into some. */
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

  /** Puts what a leaf has in no chunk into some, together with narrow leaves that have the same steps in none. */
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

/** The steps of a leaf that are in no chunk, oldest first. */
function unplacedOf({ steps, unplaced, newest, keep }: LeafBuffer): number[] {
  const unplacedSteps: number[] = [];
  for (let step = Math.max(unplaced, newest - keep + 1); step <= newest; step++) {
    const buffered = steps.get(step);
    if (buffered !== undefined && buffered.location === undefined) unplacedSteps.push(step);
  }
  return unplacedSteps;
}

/** Whether these are the steps of a leaf that are in no chunk. */
function isUnplaced({ steps, unplaced, newest, keep }: LeafBuffer, waiting: readonly number[]): boolean {
  let count = 0;
  for (let step = Math.max(unplaced, newest - keep + 1); step <= newest; step++) {
    const buffered = steps.get(step);
    if (buffered !== undefined && buffered.location === undefined && waiting[count++] !== step) return false;
  }
  return count === waiting.length;
}
