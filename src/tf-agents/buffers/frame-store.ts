/**
 * Implements a content-addressed store of frames. Equal frames are stored once, with a reference count. A hash finds candidates, and a comparison of their
 * bytes confirms a match.
 */
import { ReplayError } from "../../base/error.ts";
import type { AnyArray, ArrayClass } from "../../schema/dtype.ts";

/** The size in bytes of a slab, which is a block of memory for several frames. A larger frame has a slab of its own. */
const SLAB_BYTES = 65536;
const FIRST_FRAMES = 64;

interface FrameBlock {
  readonly values: Float32Array;
  readonly words: Uint32Array;
}

export class FrameStore {
  readonly #array: ArrayClass;
  /** The number of elements in a frame. */
  readonly #size: number;
  /** The distance between frames, in 32-bit words. Each frame is padded with zeros to this size. */
  readonly #frameWords: number;
  /** The base-2 logarithm of the number of frames per slab. */
  readonly #bits: number;
  readonly #maxBytes: number;
  /** Returns the memory that the buffer uses in addition to the frames. */
  readonly #otherBytes: () => number;
  readonly #scratch: FrameBlock;
  #blocks: FrameBlock[] = [];
  /**
   * For each frame, the number of references, the hash, and the next frame in the bucket or in the free list. Frame numbers start at 1, and 0 means no frame.
   */
  #refs = new Uint32Array(0);
  #hashes = new Uint32Array(0);
  #next = new Uint32Array(0);
  #buckets = new Uint32Array(0);
  #free = 0;
  #high = 0;
  #count = 0;

  constructor(array: ArrayClass, size: number, maxBytes: number, otherBytes: () => number) {
    this.#array = array;
    this.#size = size;
    this.#frameWords = Math.ceil((size * array.BYTES_PER_ELEMENT) / 4);
    this.#bits = Math.max(0, 31 - Math.clz32(SLAB_BYTES / (4 * this.#frameWords)));
    this.#maxBytes = maxBytes;
    this.#otherBytes = otherBytes;
    this.#scratch = this.#createBlock(1);
  }

  /** The number of different frames in use. */
  get count(): number {
    return this.#count;
  }

  /** The memory allocated for frames, in bytes. */
  get bytes(): number {
    return this.#blocks.length * this.#slabBytes + 4 * (3 * this.#refs.length + this.#buckets.length);
  }

  /**
   * Returns the number of a frame whose elements are `stride` apart, and adds a reference to it. Stores the frame if it is new. O(bytes)
   * @throws ReplayError OUT_OF_MEMORY
   */
  retain(from: AnyArray, start: number, stride: number): number {
    const { values, words } = this.#scratch;
    for (let i = 0, at = start; i < this.#size; i++, at += stride) values[i] = from[at] as number;
    const hash = hashOf(words, this.#frameWords);
    let number = this.#buckets.length === 0 ? 0 : (this.#buckets[hash & (this.#buckets.length - 1)] as number);
    while (number !== 0 && !(this.#hashes[number] === hash && this.#equals(number))) number = this.#next[number] as number;
    if (number === 0) number = this.#store(hash);
    (this.#refs[number] as number)++;
    return number;
  }

  /** Removes a reference to a frame. The frame's place is freed with its last reference. Amortized O(1) */
  release(number: number): void {
    const refs = (this.#refs[number] as number) - 1;
    this.#refs[number] = refs;
    if (refs > 0) return;
    const bucket = (this.#hashes[number] as number) & (this.#buckets.length - 1);
    const next = this.#next[number] as number;
    if (this.#buckets[bucket] === number) this.#buckets[bucket] = next;
    else {
      let previous = this.#buckets[bucket] as number;
      while (this.#next[previous] !== number) previous = this.#next[previous] as number;
      this.#next[previous] = next;
    }
    this.#next[number] = this.#free;
    this.#free = number;
    this.#count--;
  }

  /** Copies a frame to an array, with elements `stride` apart. O(bytes) */
  copy(number: number, to: AnyArray, start: number, stride: number): void {
    const { values } = this.#blocks[(number - 1) >> this.#bits] as FrameBlock;
    const first = this.#indexInBlock(number) * this.#perFrame;
    for (let i = 0, at = start; i < this.#size; i++, at += stride) (to as Float32Array)[at] = values[first + i] as number;
  }

  /** Drops all frames and frees their memory. */
  clear(): void {
    this.#blocks = [];
    this.#refs = new Uint32Array(0);
    this.#hashes = new Uint32Array(0);
    this.#next = new Uint32Array(0);
    this.#buckets = new Uint32Array(0);
    this.#free = 0;
    this.#high = 0;
    this.#count = 0;
  }

  /** The distance between frames, in elements. */
  get #perFrame(): number {
    return (this.#frameWords * 4) / this.#array.BYTES_PER_ELEMENT;
  }

  get #slabBytes(): number {
    return (this.#frameWords * 4) << this.#bits;
  }

  #indexInBlock(number: number): number {
    return (number - 1) & ((1 << this.#bits) - 1);
  }

  #equals(number: number): boolean {
    const { words } = this.#blocks[(number - 1) >> this.#bits] as FrameBlock;
    const { words: scratchWords } = this.#scratch;
    const first = this.#indexInBlock(number) * this.#frameWords;
    for (let i = 0; i < this.#frameWords; i++) if (words[first + i] !== scratchWords[i]) return false;
    return true;
  }

  /** Stores the frame that is in the scratch buffer. Returns its number. */
  #store(hash: number): number {
    let number = this.#free;
    if (number === 0) {
      this.#grow();
      number = ++this.#high;
    } else this.#free = this.#next[number] as number;
    (this.#blocks[(number - 1) >> this.#bits] as FrameBlock).words.set(this.#scratch.words, this.#indexInBlock(number) * this.#frameWords);
    this.#hashes[number] = hash;
    this.#link(number);
    this.#count++;
    return number;
  }

  #link(number: number): void {
    const bucket = (this.#hashes[number] as number) & (this.#buckets.length - 1);
    this.#next[number] = this.#buckets[bucket] as number;
    this.#buckets[bucket] = number;
  }

  /** Makes room for one more frame. @throws ReplayError OUT_OF_MEMORY, in which case nothing has changed */
  #grow(): void {
    const frames = this.#high + 2 > this.#refs.length ? Math.max(FIRST_FRAMES, 2 * this.#refs.length) : this.#refs.length;
    const slabs = this.#high >> this.#bits < this.#blocks.length ? 0 : 1;
    const more = slabs * this.#slabBytes + 16 * (frames - this.#refs.length);
    if (this.#otherBytes() + this.bytes + more > this.#maxBytes)
      throw new ReplayError("OUT_OF_MEMORY", `maxBytes must be more than ${this.#maxBytes} for another frame. Increase maxBytes, or lower capacity`);
    let block: FrameBlock | undefined;
    let largerArrays: Uint32Array<ArrayBuffer>[] = [];
    try {
      if (slabs === 1) block = this.#createBlock(1 << this.#bits);
      if (frames > this.#refs.length) largerArrays = [new Uint32Array(frames), new Uint32Array(frames), new Uint32Array(frames), new Uint32Array(frames)];
    } catch (error) {
      throw new ReplayError("OUT_OF_MEMORY", `no memory is left for another frame: ${(error as Error).message}. Lower capacity`);
    }
    if (block !== undefined) this.#blocks.push(block);
    const [refs, hashes, next, buckets] = largerArrays;
    if (refs === undefined) return;
    refs.set(this.#refs);
    hashes?.set(this.#hashes);
    this.#refs = refs;
    this.#hashes = hashes as Uint32Array<ArrayBuffer>;
    this.#next = next as Uint32Array<ArrayBuffer>;
    this.#buckets = buckets as Uint32Array<ArrayBuffer>;
    // The table grows only when no place is free, so every place has a frame.
    for (let number = 1; number <= this.#high; number++) this.#link(number);
  }

  #createBlock(frames: number): FrameBlock {
    const buffer = new ArrayBuffer(4 * this.#frameWords * frames);
    return { values: new this.#array(buffer) as unknown as Float32Array, words: new Uint32Array(buffer) };
  }
}

/** Returns a 32-bit hash of words. */
function hashOf(words: Uint32Array, n: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < n; i++) {
    hash = Math.imul(hash ^ (words[i] as number), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}
