/** Writes protobuf messages from the end to the front, so that a nested message exists before its length is written. Callers write the last field first. */

const UTF8 = new TextEncoder();

/** Splits a 64-bit number into halves without creating bigints. */
const HALVES = new Uint32Array(2);
const WHOLE = new BigUint64Array(HALVES.buffer);
const DOUBLE = new Float64Array(HALVES.buffer);

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;

export class BytesWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #at: number;

  /** @param capacity the initial size in bytes; the buffer grows */
  constructor(capacity = 1024) {
    this.#bytes = new Uint8Array(capacity);
    this.#at = capacity;
  }

  /** The number of bytes written so far; differences of this value are the lengths of messages. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  /** Returns a copy of the written bytes with `head` free bytes before it, and empties the writer. */
  take(head = 0): Uint8Array<ArrayBuffer> {
    const output = new Uint8Array(head + this.length);
    output.set(this.#bytes.subarray(this.#at), head);
    this.#at = this.#bytes.length;
    return output;
  }

  /** Writes the head of a message whose fields are already written. `start` is the length of the writer before these fields. */
  message(field: number, start: number): void {
    this.#u32(this.length - start);
    this.#u32(field * 8 + DELIMITED);
  }

  /** Writes an int32. Like the other methods for single values and lists, omits a field that has the default value. */
  int32(field: number, value: number): void {
    if (value === 0) return;
    // A negative number is encoded as if it had 64 bits.
    if (value < 0) this.#varint(value >>> 0, 0xffffffff);
    else this.#u32(value);
    this.#u32(field * 8 + VARINT);
  }

  bool(field: number, value: boolean): void {
    this.int32(field, Number(value));
  }

  /** Writes a whole number that a double represents exactly. */
  int64(field: number, value: number): void {
    if (value === 0) return;
    if (value > 0) this.#varint(value >>> 0, Math.floor(value / 0x100000000));
    else this.#big(BigInt(value));
    this.#u32(field * 8 + VARINT);
  }

  uint64(field: number, value: bigint): void {
    if (value === 0n) return;
    this.#big(value);
    this.#u32(field * 8 + VARINT);
  }

  double(field: number, value: number): void {
    if (Object.is(value, 0)) return;
    DOUBLE[0] = value;
    this.#reserve(8);
    this.#fixed(HALVES[1] as number);
    this.#fixed(HALVES[0] as number);
    this.#u32(field * 8 + FIXED64);
  }

  string(field: number, value: string): void {
    const { length } = value;
    if (length === 0) return;
    // Names of tables are usually short and ASCII.
    this.#reserve(length);
    let i = length - 1;
    for (let code = 0; i >= 0; i--) {
      code = value.charCodeAt(i);
      if (code > 0x7f) break;
      this.#bytes[this.#at - length + i] = code;
    }
    if (i >= 0) {
      this.nestedMessage(field, UTF8.encode(value));
      return;
    }
    this.#at -= length;
    this.#u32(length);
    this.#u32(field * 8 + DELIMITED);
  }

  bytes(field: number, value: Uint8Array): void {
    if (value.length > 0) this.nestedMessage(field, value);
  }

  /** Writes a nested message that was encoded separately. */
  nestedMessage(field: number, value: Uint8Array): void {
    this.#reserve(value.length);
    this.#at -= value.length;
    this.#bytes.set(value, this.#at);
    this.#u32(value.length);
    this.#u32(field * 8 + DELIMITED);
  }

  /** Writes a packed list of uint64. */
  packedInts(field: number, values: readonly bigint[]): void {
    if (values.length === 0) return;
    const start = this.length;
    for (let i = values.length - 1; i >= 0; i--) this.#big(values[i] as bigint);
    this.message(field, start);
  }

  #big(value: bigint): void {
    WHOLE[0] = BigInt.asUintN(64, value);
    this.#varint(HALVES[0] as number, HALVES[1] as number);
  }

  #u32(value: number): void {
    if (this.#at < 5) this.#reserve(5);
    const bytes = this.#bytes;
    const length = value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
    let at = this.#at - length;
    this.#at = at;
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
    bytes[at] = rest;
  }

  #varint(low: number, high: number): void {
    if (high === 0) {
      this.#u32(low);
      return;
    }
    this.#reserve(10);
    const bytes = this.#bytes;
    // Seven bits per byte: four bytes from the lower half, one across both, the rest from the upper half.
    let rest = high >>> 3;
    let length = 5;
    for (let more = rest; more > 0; more >>>= 7) length++;
    let at = this.#at - length;
    this.#at = at;
    bytes[at++] = (low & 0x7f) | 0x80;
    bytes[at++] = ((low >>> 7) & 0x7f) | 0x80;
    bytes[at++] = ((low >>> 14) & 0x7f) | 0x80;
    bytes[at++] = ((low >>> 21) & 0x7f) | 0x80;
    bytes[at++] = (low >>> 28) | ((high & 7) << 4) | (rest > 0 ? 0x80 : 0);
    for (; rest > 0; rest >>>= 7) bytes[at++] = (rest & 0x7f) | (rest > 0x7f ? 0x80 : 0);
  }

  #fixed(half: number): void {
    const bytes = this.#bytes;
    bytes[--this.#at] = half >>> 24;
    bytes[--this.#at] = half >>> 16;
    bytes[--this.#at] = half >>> 8;
    bytes[--this.#at] = half;
  }

  /** Makes room for more bytes. */
  #reserve(bytes: number): void {
    if (this.#at >= bytes) return;
    const { length } = this;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, length + bytes));
    larger.set(this.#bytes.subarray(this.#at), larger.length - length);
    this.#at = larger.length - length;
    this.#bytes = larger;
  }
}
