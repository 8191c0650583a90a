/** Buffers whose batches were given away or came back: the next batch that is alike is made by one of them, which spares the allocation, and the page faults of large ones. */
import type { BatchBuffer } from "./buffer.ts";
import type { Recycle } from "./options.ts";

/** So many are kept of each kind: more are for the garbage collector. */
const MAX_SPARE = 2;
const MAX_RETURNED = 32;

/** Where batches go whose late use should be seen: their arrays are empty from then on. */
const DETACHING = { back: (buffer: BatchBuffer): void => buffer.detach() };

export class BatchPool {
  /** Those of batches to refill, and of parts of batches. */
  readonly known = new WeakMap<object, BatchBuffer>();
  /** Those whose batches were given away. */
  readonly #spare: BatchBuffer[] = [];
  /** Those whose batches were lent, and came back. */
  readonly #returned: BatchBuffer[] = [];

  /** One that has a new batch of such a layout, or one that came back; undefined if there is none. */
  take(recycle: Recycle, n: number, width: number, content: object, holds: number): BatchBuffer | undefined {
    if (recycle === "detach") return undefined;
    const idle = recycle ? this.#returned : this.#spare;
    for (let i = idle.length - 1; i >= 0; i--) {
      const buffer = idle[i] as BatchBuffer;
      const { layout } = buffer;
      const fits = layout.n === n && layout.width === width && layout.content === content && layout.holds === holds;
      if (!fits || (recycle && !buffer.canRefill)) continue;
      if (i === idle.length - 1) idle.pop();
      else idle.splice(i, 1);
      return recycle ? buffer : buffer.renew();
    }
    return undefined;
  }

  /** Lends the batch of a buffer as its call said. */
  lend(buffer: BatchBuffer, recycle: true | "detach"): BatchBuffer {
    return buffer.lend(recycle === true ? this : DETACHING);
  }

  /** Gives the batch of a buffer away. */
  give(buffer: BatchBuffer): object {
    const batch = buffer.give();
    this.#spare.push(buffer);
    if (this.#spare.length > MAX_SPARE) this.#spare.shift();
    return batch;
  }

  /** A batch that was lent is released. If its memory was transferred, or something of it is frozen, it is for the garbage collector. */
  back(buffer: BatchBuffer): void {
    if (!buffer.canRefill) return;
    this.#returned.push(buffer);
    if (this.#returned.length > MAX_RETURNED) this.#returned.shift();
  }
}
