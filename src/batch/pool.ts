/**
 * Keeps a pool of buffers whose batches were passed to the caller or released. The next batch of the same form reuses such a buffer. This saves an allocation
 * and, for large batches, page faults.
 */
import type { BatchBuffer } from "./buffer.ts";
import type { Recycle } from "./options.ts";

/** The maximum numbers of spare buffers, and of buffers with released batches. Further buffers are garbage-collected. */
const MAX_SPARE = 2;
const MAX_RETURNED = 32;

/** The home of batches whose late use must be detected. When such a batch is released, its arrays become empty. */
const DETACHING = { back: (buffer: BatchBuffer): void => buffer.detach() };

export class BatchPool {
  /** The buffers of batches to refill, and of parts of batches. */
  readonly known = new WeakMap<object, BatchBuffer>();
  /** The buffers whose batches were passed to the caller. */
  readonly #spare: BatchBuffer[] = [];
  /** The buffers whose lent batches were released. */
  readonly #returned: BatchBuffer[] = [];

  /** Returns a buffer for a new batch of this layout, or a buffer with a released batch; undefined if the pool has no such buffer. */
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

  /** Lends the batch of a buffer, as the option `recycle` requires. */
  lend(buffer: BatchBuffer, recycle: true | "detach"): BatchBuffer {
    return buffer.lend(recycle === true ? this : DETACHING);
  }

  /** Passes the batch of a buffer to the caller permanently. */
  give(buffer: BatchBuffer): object {
    const batch = buffer.give();
    this.#spare.push(buffer);
    if (this.#spare.length > MAX_SPARE) this.#spare.shift();
    return batch;
  }

  /** Takes back a released batch. If the memory was transferred or an object of the batch is frozen, the batch is left to the garbage collector. */
  back(buffer: BatchBuffer): void {
    if (!buffer.canRefill) return;
    this.#returned.push(buffer);
    if (this.#returned.length > MAX_RETURNED) this.#returned.shift();
  }
}
