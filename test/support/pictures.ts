/** Frames of every kind that matters to packing: zeros, noise, pictures in which something moves, the same again, the same but for a few bytes. */
import type { TestRandom } from "./random.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export class Pictures {
  readonly #size: number;
  /** Bytes of a row. */
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

  /** The next one, in an array that stays as it is. */
  next(): Bytes {
    const random = this.#random;
    const dice = random.below(24);
    if (dice === 0) this.#last = new Uint8Array(this.#size);
    else if (dice < 4) this.#last = Uint8Array.from({ length: this.#size }, () => random.below(256));
    else if (dice < 7) this.#last = this.#touched(this.#last.slice());
    else if (dice === 7) this.#last = new Uint8Array(this.#size).fill(random.below(256));
    // Or the same again.
    else if (dice > 9) this.#last = this.#moved();
    return this.#last;
  }

  #touched(frame: Bytes): Bytes {
    for (let n = 1 + this.#random.below(6); n > 0; n--) frame[this.#random.below(frame.length)] = this.#random.below(256);
    return frame;
  }

  /** Two things before the background, a step further. */
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
