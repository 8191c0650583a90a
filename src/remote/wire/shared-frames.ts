/**
 * Sends each shared frame only once. The columns of leaves that share frames contain references, and both ends keep the most recent frames
 * (docs/reference/actors-protocol.md).
 */
import type { PlacedLeaf } from "../../schema/layout.ts";
import { corruptFrame } from "./frame.ts";

/** Leaves that share frames, and the number of recent frames that both ends keep. */
export interface SharedLeaves {
  /** The numbers of the leaves. */
  readonly leaves: readonly number[];
  /** The number of bytes of a frame in a column. */
  readonly frameBytes: number;
  readonly capacity: number;
}

/** The number of bytes of a reference. */
export const REFERENCE_BYTES = 4;

/** Returns the number of bytes of a row's references. If all frames of the row are new, the references are sent in addition to the frames. */
export function referenceBytesOf(leaves: readonly PlacedLeaf[], shared: readonly SharedLeaves[]): number {
  const bytesOf = (entry: SharedLeaves) =>
    entry.leaves.reduce((sum, leaf) => sum + (leaves[leaf] as PlacedLeaf).arrayBytes / entry.frameBytes, 0) * REFERENCE_BYTES;
  return shared.reduce((sum, entry) => sum + bytesOf(entry), 0);
}

/** The writer's end: the most recently sent frames. */
export class FrameSender {
  readonly #bytes: number;
  readonly #capacity: number;
  readonly #isWords: boolean;
  /** The most recent frames. Each frame is at its number modulo the capacity. */
  #ring = new Uint8Array(0);
  #ringWords = new Int32Array(0);
  /** The number of the newest frame with each hash. */
  readonly #numbers = new Map<number, number>();
  /** The hash of each frame, by the frame's place in the ring. */
  readonly #hashes: number[] = [];
  #count = 0;

  constructor({ frameBytes, capacity }: SharedLeaves) {
    this.#bytes = frameBytes;
    this.#capacity = capacity;
    this.#isWords = frameBytes % 4 === 0;
  }

  /** Returns the number of a frame, and whether it has to be sent. @param at a multiple of 4 if frames consist of words */
  refer(from: Uint8Array, at: number): { readonly number: number; readonly isNew: boolean } {
    const bytes = this.#bytes;
    const words = this.#isWords ? new Int32Array(from.buffer, from.byteOffset + at, bytes / 4) : undefined;
    const frame = words ?? from.subarray(at, at + bytes);
    let hash = 0;
    for (let i = 0; i < frame.length; i++) {
      hash = Math.imul(hash ^ (frame[i] as number), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    const number = this.#numbers.get(hash);
    if (number !== undefined && this.#isAt(number % this.#capacity, frame)) return { number, isNew: false };
    return { number: this.#add(hash, from.subarray(at, at + bytes)), isNew: true };
  }

  #isAt(place: number, frame: Int32Array | Uint8Array): boolean {
    const from = place * frame.length;
    const ring = this.#isWords ? this.#ringWords : this.#ring;
    for (let i = 0; i < frame.length; i++) if (ring[from + i] !== frame[i]) return false;
    return true;
  }

  #add(hash: number, frame: Uint8Array): number {
    if (this.#ring.length === 0) {
      this.#ring = new Uint8Array(this.#bytes * this.#capacity);
      if (this.#isWords) this.#ringWords = new Int32Array(this.#ring.buffer);
    }
    const number = this.#count++;
    const place = number % this.#capacity;
    const old = this.#hashes[place];
    if (old !== undefined && this.#numbers.get(old) === number - this.#capacity) this.#numbers.delete(old);
    this.#hashes[place] = hash;
    this.#numbers.set(hash, number);
    this.#ring.set(frame, place * this.#bytes);
    return number;
  }
}

/** The Replay's end: the most recently received frames. */
export class FrameReceiver {
  readonly #bytes: number;
  readonly #capacity: number;
  #ring = new Uint8Array(0);
  /** The number of frames received. */
  #count = 0;

  constructor({ frameBytes, capacity }: SharedLeaves) {
    this.#bytes = frameBytes;
    this.#capacity = capacity;
  }

  /**
   * Writes the frames of references.
   * @param references the numbers of the frames @param frames the new frames @param to the target @param at the offset of the first frame in the target
   * @throws ReplayError CORRUPT if a reference is unknown
   */
  resolve(references: Uint32Array, frames: Uint8Array, to: Uint8Array, at: number): void {
    const bytes = this.#bytes;
    const fresh = frames.length / bytes;
    const oldest = -Math.min(this.#count, this.#capacity);
    for (let i = 0; i < references.length; i++) {
      // The distance from the first new frame; counts wrap at 2^32.
      const place = ((references[i] as number) - this.#count) | 0;
      if (place < oldest || place >= fresh) throw corruptFrame(`refers to the frame ${references[i]}, which is unknown`);
      const isNew = place >= 0;
      const source = isNew ? frames : this.#ring;
      const from = (isNew ? place : (this.#count + place) % this.#capacity) * bytes;
      to.set(source.subarray(from, from + bytes), at + i * bytes);
    }
  }

  /** Keeps the new frames, after all references of their block are resolved. */
  add(frames: Uint8Array): void {
    const bytes = this.#bytes;
    const fresh = frames.length / bytes;
    if (fresh > 0 && this.#ring.length === 0) this.#ring = new Uint8Array(bytes * this.#capacity);
    for (let i = Math.max(0, fresh - this.#capacity); i < fresh; i++)
      this.#ring.set(frames.subarray(i * bytes, (i + 1) * bytes), ((this.#count + i) % this.#capacity) * bytes);
    this.#count += fresh;
  }
}
