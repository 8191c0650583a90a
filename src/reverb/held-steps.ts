/** The steps that a writer has at hand, leaf by leaf, and the chunks that they are in by now. */
import type { PlacedLeaf } from "../schema/layout.ts";
import { randomKey } from "./keys.ts";
import { chunkOf, type StepValue } from "./step-values.ts";
import type { StepPlace } from "./tensors/runs.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

/** From so many bytes on a leaf has chunks of its own: an item then brings none that it does not name. Below, what a chunk costs counts more. */
const WIDE_BYTES = 1024;
/** Steps and bytes of a chunk, about. */
const CHUNK_STEPS = 128;
const CHUNK_BYTES = 1 << 18;

interface Held {
  readonly value: StepValue;
  place: (StepPlace & { readonly chunk: ChunkMessage }) | undefined;
}

/** A leaf's steps, by their number since the writer was made. */
interface HeldLeaf {
  readonly leaf: PlacedLeaf;
  readonly steps: Map<number, Held>;
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

export class HeldSteps {
  readonly #leaves: HeldLeaf[];
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
    const held = this.#leaves[leaf] as HeldLeaf;
    for (const step of held.steps.keys()) if (step < total - keep) this.#drop(held, step);
    held.keep = keep;
    held.maxChunk = maxChunk ?? chunkSteps(held.leaf);
  }

  /** The oldest step of a leaf that is at hand; `total` where none is. */
  oldest(leaf: number, total: number): number {
    const [first = total] = (this.#leaves[leaf] as HeldLeaf).steps.keys();
    return first;
  }

  /** Values of a step, or more of them. */
  add(step: number, values: readonly (StepValue | undefined)[]): void {
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      const held = this.#leaves[i] as HeldLeaf;
      if (value !== undefined) {
        held.steps.set(step, { value, place: undefined });
        held.newest = step;
      }
      this.#drop(held, step - held.keep);
    }
  }

  value({ index }: PlacedLeaf, step: number): StepValue {
    return ((this.#leaves[index] as HeldLeaf).steps.get(step) as Held).value;
  }

  /** A value a leaf; undefined where the step has none. */
  values(step: number): (StepValue | undefined)[] {
    return this.#leaves.map(({ steps }) => steps.get(step)?.value);
  }

  /** Where a step is, in a chunk that may be made for it. @param chunks notes that chunk */
  place({ index }: PlacedLeaf, step: number, chunks: Set<ChunkMessage>): StepPlace {
    const leaf = this.#leaves[index] as HeldLeaf;
    const held = leaf.steps.get(step) as Held;
    if (held.place === undefined) this.#chunk(leaf);
    const place = held.place as unknown as NonNullable<Held["place"]>;
    chunks.add(place.chunk);
    return place;
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

  #drop({ steps }: HeldLeaf, step: number): void {
    const place = steps.get(step)?.place;
    steps.delete(step);
    if (place === undefined) return;
    const left = (this.#chunks.get(place.chunkKey) as number) - 1;
    if (left === 0) this.#chunks.delete(place.chunkKey);
    else this.#chunks.set(place.chunkKey, left);
  }

  /** Puts what a leaf has in no chunk into some, together with narrow leaves that have the same steps in none. */
  #chunk(asked: HeldLeaf): void {
    const waiting = unplacedOf(asked);
    if (waiting.length === 0) return;
    const isWide = (leaf: HeldLeaf) => leaf.leaf.bytes >= WIDE_BYTES;
    const together = isWide(asked) ? [asked] : this.#leaves.filter((leaf) => !isWide(leaf) && leaf.maxChunk === asked.maxChunk && isUnplaced(leaf, waiting));
    for (let from = 0; from < waiting.length; ) {
      const first = waiting[from] as number;
      let to = from + 1;
      while (to < waiting.length && to - from < asked.maxChunk && waiting[to] === first + (to - from)) to++;
      const columns = together.map(({ leaf, steps }) => {
        const values = new Array<StepValue>(to - from);
        for (let k = 0; k < values.length; k++) values[k] = (steps.get(first + k) as Held).value;
        return { leaf, values };
      });
      const chunk = chunkOf(randomKey(), this.#episodeId, Math.max(0, first - this.#episodeStart), columns, this.#deltaEncoded);
      this.#chunks.set(chunk.key, together.length * (to - from));
      for (let index = 0; index < together.length; index++) {
        const { steps } = together[index] as HeldLeaf;
        for (let offset = 0; offset < to - from; offset++) (steps.get(first + offset) as Held).place = { chunkKey: chunk.key, offset, index, chunk };
      }
      from = to;
    }
    for (const leaf of together) leaf.unplaced = (waiting.at(-1) as number) + 1;
  }
}

function chunkSteps({ bytes }: PlacedLeaf): number {
  return Math.max(1, Math.min(CHUNK_STEPS, Math.floor(CHUNK_BYTES / Math.max(bytes, 1))));
}

/** The steps of a leaf that are in no chunk, oldest first. */
function unplacedOf({ steps, unplaced, newest, keep }: HeldLeaf): number[] {
  const found: number[] = [];
  for (let step = Math.max(unplaced, newest - keep + 1); step <= newest; step++) {
    const held = steps.get(step);
    if (held !== undefined && held.place === undefined) found.push(step);
  }
  return found;
}

/** Whether these are the steps of a leaf that are in no chunk. */
function isUnplaced({ steps, unplaced, newest, keep }: HeldLeaf, waiting: readonly number[]): boolean {
  let found = 0;
  for (let step = Math.max(unplaced, newest - keep + 1); step <= newest; step++) {
    const held = steps.get(step);
    if (held !== undefined && held.place === undefined && waiting[found++] !== step) return false;
  }
  return found === waiting.length;
}
