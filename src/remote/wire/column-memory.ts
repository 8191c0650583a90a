/** A buffer for columns that are sent as such. */
import { DTYPES } from "../../schema/dtype.ts";
import { alignUp } from "../../schema/layout.ts";

/** A buffer with a view for each dtype. */
export class ColumnMemory {
  buffer: ArrayBuffer;
  u8!: Uint8Array<ArrayBuffer>;
  u32!: Uint32Array<ArrayBuffer>;
  f64!: Float64Array<ArrayBuffer>;

  /** @param spare one that may be large enough */
  constructor(spare: ArrayBuffer | undefined) {
    this.buffer = spare ?? new ArrayBuffer(0);
    this.#refreshViews();
  }

  /** As the core's: everything begins at 0. */
  scratch(bytes: number): number {
    // Never of a block's own size, by which those are known.
    if (this.buffer.byteLength < bytes) this.buffer = new ArrayBuffer(alignUp(bytes, 16) + 8);
    this.#refreshViews();
    return 0;
  }

  #refreshViews(): void {
    for (const dtype in DTYPES) this[dtype as "u8"] = new DTYPES[dtype as "u8"].array(this.buffer) as Uint8Array<ArrayBuffer>;
  }
}
