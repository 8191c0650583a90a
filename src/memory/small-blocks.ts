/** Allocates memory for blocks smaller than a granule of the arena. Blocks of one size share granules, which are freed with their last block. */
import type { Core } from "./core.ts";

const GRANULE = 4096;
/** The maximum number of bytes of a block that shares a granule. A larger block takes separate granules. */
const MAX_BYTES = GRANULE / 2;

export class SmallBlocks {
  readonly #core: Core;
  /** The addresses of free blocks, by size. */
  readonly #free = new Map<number, number[]>();
  /** The number of used blocks, by the address of their granule. */
  readonly #counts = new Map<number, number>();

  constructor(core: Core) {
    this.#core = core;
  }

  /** Allocates zeroed memory. @throws ReplayError OUT_OF_MEMORY */
  take(bytes: number): number {
    if (bytes > MAX_BYTES) return this.#core.alloc(bytes);
    const size = sizeOf(bytes);
    const free = this.#free.get(size) ?? [];
    this.#free.set(size, free);
    if (free.length === 0) {
      const granule = this.#core.alloc(GRANULE);
      this.#counts.set(granule, 0);
      for (let at = granule + GRANULE - (GRANULE % size) - size; at >= granule; at -= size) free.push(at);
    }
    const at = free.pop() as number;
    const granule = granuleOf(at);
    this.#counts.set(granule, (this.#counts.get(granule) as number) + 1);
    this.#core.u8.fill(0, at, at + size);
    return at;
  }

  /** Frees memory. O(1), or O(free blocks of the same size) */
  give(at: number, bytes: number): void {
    const { x } = this.#core;
    if (bytes > MAX_BYTES) {
      x.arena_free(at, bytes);
      return;
    }
    const size = sizeOf(bytes);
    const free = this.#free.get(size) as number[];
    const granule = granuleOf(at);
    const count = (this.#counts.get(granule) as number) - 1;
    this.#counts.set(granule, count);
    free.push(at);
    if (count > 0) return;
    this.#counts.delete(granule);
    this.#free.set(
      size,
      free.filter((block) => granuleOf(block) !== granule),
    );
    x.arena_free(granule, GRANULE);
  }
}

/** Rounds a size up to a multiple of 64 bytes, so that a new block is more likely to fit into the place of a freed block. */
function sizeOf(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}

/** Returns the address of a block's granule. Addresses are unsigned 32-bit numbers. */
function granuleOf(at: number): number {
  return at - (at % GRANULE);
}
