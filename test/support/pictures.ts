/** Generates frames of every kind that affects packing: zeros, noise, pictures with motion, repeated pictures, pictures with a few changed bytes. */
import type { TestRandom } from "./random.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export class Pictures {
  readonly #size: number;
  /** The number of bytes per row. */
  readonly #row: number;
  readonly #random: TestRandom;
  readonly #background: Bytes;
  #last: Bytes;
  #at = 0;

  constructor(size: number, row: number, random: TestRandom) {
    this.#size = size;
    this.#row = row;
    this.#random = random;
    this.#background = Uint8Array.from({ length: size }, (_, i) => ((i % row) >> 3) * 11 + (Math.floor(i / row) >> 2));
    this.#last = this.#background;
  }

  /** Returns the next frame, in an array that never changes. */
  next(): Bytes {
    const random = this.#random;
    const dice = random.below(24);
    if (dice === 0) this.#last = new Uint8Array(this.#size);
    else if (dice < 4) this.#last = Uint8Array.from({ length: this.#size }, () => random.below(256));
    else if (dice < 7) this.#last = this.#touched(this.#last.slice());
    else if (dice === 7) this.#last = new Uint8Array(this.#size).fill(random.below(256));
    // Otherwise, the last frame is repeated.
    else if (dice > 9) this.#last = this.#moved();
    return this.#last;
  }

  #touched(frame: Bytes): Bytes {
    for (let n = 1 + this.#random.below(6); n > 0; n--) frame[this.#random.below(frame.length)] = this.#random.below(256);
    return frame;
  }

  /** Draws two objects in front of the background, moved by one step. */
  #moved(): Bytes {
    const frame = this.#background.slice();
    this.#at += this.#random.below(4);
    for (const [shift, size, color] of [
      [this.#at, 5, 255],
      [3 * this.#at, 3, 77],
    ] as const)
      for (let y = 0; y < size; y++) {
        const from = ((y + (shift >> 2)) * this.#row + (shift % this.#row)) % frame.length;
        frame.fill(color, from, Math.min(from + size, frame.length));
      }
    return frame;
  }
}
