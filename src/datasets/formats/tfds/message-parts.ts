/** Builds a protobuf message in parts. Large values are not copied, but are views of the caller's memory. */

const BLOCK_BYTES = 1 << 16;
/** The maximum size in bytes of a value that is copied. Larger values become views. */
const MAX_COPIED = 1 << 12;
/** The maximum length of a base-128 number, in bytes. */
const VARINT_BYTES = 10;
const LENGTH_DELIMITED = 2;

export class MessageParts {
  length = 0;
  readonly #parts: Uint8Array[] = [];
  #block: Uint8Array;
  #begin = 0;
  #end = 0;

  /** @param bytes the approximate number of bytes that will be copied. With a small number, a small message takes little memory */
  constructor(bytes = 64) {
    this.#block = new Uint8Array(Math.min(BLOCK_BYTES, bytes + VARINT_BYTES));
  }

  /** All parts, in order. The parts remain valid as long as the added values do not change. */
  get parts(): readonly Uint8Array[] {
    this.#flush();
    return this.#parts;
  }

  /** Adds a field that contains bytes. */
  field(number: number, bytes: Uint8Array): void {
    this.#head(number, bytes.length);
    this.#bytes(bytes);
  }

  /** Adds a field that contains a message. */
  message(number: number, { parts, length }: MessageParts): void {
    this.#head(number, length);
    for (const part of parts) this.#bytes(part);
  }

  /**
   * Adds base-128 numbers. A negative number takes ten bytes. A uint64 of 2^63 or more also takes ten bytes, because tensorflow_datasets writes it as the int64
   * with the same bits.
   */
  varints(data: ArrayLike<number | bigint>): void {
    const before = this.#end - this.#begin;
    let flushed = 0;
    let [block, at] = [this.#block, this.#end];
    for (let i = 0; i < data.length; i++) {
      if (block.length - at < VARINT_BYTES) {
        flushed += at - this.#begin;
        this.#end = at;
        this.#flush(VARINT_BYTES);
        [block, at] = [this.#block, this.#end];
      }
      const value = data[i] as number | bigint;
      if (typeof value === "number" && value >= 0) {
        let rest = value;
        for (; rest > 127; rest = Math.floor(rest / 128)) block[at++] = (rest & 127) | 128;
        block[at++] = rest;
      } else {
        let rest = BigInt.asUintN(64, BigInt(value));
        for (; rest > 127n; rest >>= 7n) block[at++] = Number(rest & 127n) | 128;
        block[at++] = Number(rest);
      }
    }
    this.#end = at;
    this.length += flushed + at - this.#begin - before;
  }

  #head(number: number, length: number): void {
    this.varints([number * 8 + LENGTH_DELIMITED, length]);
  }

  #bytes(bytes: Uint8Array): void {
    this.length += bytes.length;
    if (bytes.length > MAX_COPIED) {
      this.#flush();
      this.#parts.push(bytes);
      return;
    }
    if (this.#block.length - this.#end < bytes.length) this.#flush(bytes.length);
    this.#block.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Ends a part. @param room the number of bytes for which the next block must have room */
  #flush(room = 0): void {
    if (this.#end > this.#begin) this.#parts.push(this.#block.subarray(this.#begin, this.#end));
    if (this.#block.length - this.#end < room) {
      // If a block was too small, more data probably follows.
      this.#block = new Uint8Array(Math.min(BLOCK_BYTES, Math.max(4 * this.#block.length, room)));
      this.#end = 0;
    }
    this.#begin = this.#end;
  }
}
