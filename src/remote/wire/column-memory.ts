/** Implements a buffer for columns that are sent in one message. */
import { DTYPES } from "../../schema/dtype.ts";
import { alignUp } from "../../schema/layout.ts";

/** A buffer with a view per dtype. */
export class ColumnMemory {
  buffer: ArrayBuffer;
  u8!: Uint8Array<ArrayBuffer>;
  u32!: Uint32Array<ArrayBuffer>;
  f64!: Float64Array<ArrayBuffer>;

  /** @param spare a buffer that may be large enough */
  constructor(spare: ArrayBuffer | undefined) {
    this.buffer = spare ?? new ArrayBuffer(0);
    this.#refreshViews();
  }

  /** Works like `scratch` of the core. The returned address is always 0. */
  scratch(bytes: number): number {
    // The size differs from the size of a block's buffer, because returned buffers are recognized by their size.
    if (this.buffer.byteLength < bytes) this.buffer = new ArrayBuffer(alignUp(bytes, 16) + 8);
    this.#refreshViews();
    return 0;
  }

  #refreshViews(): void {
    for (const dtype in DTYPES) this[dtype as "u8"] = new DTYPES[dtype as "u8"].array(this.buffer) as Uint8Array<ArrayBuffer>;
  }
}
