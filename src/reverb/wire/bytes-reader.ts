/** Reads protobuf messages, field by field, and checks every length before using it. */
import { corrupt, type ReplayError } from "../../base/error.ts";

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const HALVES = new Uint32Array(2);
const WHOLE = new BigUint64Array(HALVES.buffer);
const DOUBLE = new Float64Array(HALVES.buffer);

/** A tag is a field's number times 8, plus its wire type. */
export const VARINT = 0;
export const FIXED64 = 1;
export const DELIMITED = 2;
export const FIXED32 = 5;

export class BytesReader {
  readonly #bytes: Uint8Array;
  /** The name of the message in errors. */
  readonly #name: string;
  #at = 0;
  /** The end of the message that is being read. */
  #end: number;

  constructor(bytes: Uint8Array, name: string) {
    this.#bytes = bytes;
    this.#name = name;
    this.#end = bytes.length;
  }

  /** Returns the next tag; 0 at the end of the message. */
  tag(): number {
    if (this.#at >= this.#end) return 0;
    const tag = this.#low();
    if (tag < 8) throw this.corruptError("it has a field 0, which protobuf does not have");
    return tag;
  }

  /** Enters a nested message. @returns the argument to pass to `leaveMessage` after the last tag */
  enter(): number {
    const length = this.#length();
    const outer = this.#end;
    this.#end = this.#at + length;
    return outer;
  }

  leaveMessage(outer: number): void {
    this.#end = outer;
  }

  /** Whether a packed list that was entered has more elements. */
  get more(): boolean {
    return this.#at < this.#end;
  }

  int32(): number {
    return this.#low() | 0;
  }

  bool(): boolean {
    this.#varint();
    return (HALVES[0] as number) !== 0 || (HALVES[1] as number) !== 0;
  }

  uint64(): bigint {
    this.#varint();
    return WHOLE[0] as bigint;
  }

  /** Reads a signed whole number as the nearest double. */
  int64(): number {
    this.#varint();
    return (HALVES[0] as number) + ((HALVES[1] as number) | 0) * 0x100000000;
  }

  double(): number {
    HALVES[0] = this.#fixed();
    HALVES[1] = this.#fixed();
    return DOUBLE[0] as number;
  }

  /** Reads a field of bytes, and returns a view of them. */
  bytes(): Uint8Array {
    const length = this.#length();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  string(): string {
    const from = this.#at;
    const bytes = this.bytes();
    if (bytes.length < 24) {
      let text = "";
      let i = 0;
      for (; i < bytes.length && (bytes[i] as number) < 0x80; i++) text += String.fromCharCode(bytes[i] as number);
      if (i === bytes.length) return text;
    }
    try {
      return UTF8.decode(bytes);
    } catch {
      throw this.corruptError("a string is not valid UTF-8", from);
    }
  }

  /** Skips a field that is not needed. */
  skip(tag: number): void {
    const wire = tag & 7;
    if (wire === VARINT) this.#varint();
    else if (wire === DELIMITED) this.#skipBytes(this.#length());
    else if (wire === FIXED64) this.#skipBytes(8);
    else if (wire === FIXED32) this.#skipBytes(4);
    else throw this.corruptError(`field ${tag >>> 3} has wire type ${wire}, which protobuf 3 does not have`);
  }

  /** Returns the error for an invalid message. */
  corruptError(reason: string, at = this.#at): ReplayError {
    return corrupt(`a ${this.#name} cannot be read at byte ${at} of ${this.#bytes.length}`, reason);
  }

  #length(): number {
    const length = this.#low();
    if (length > this.#end - this.#at) throw this.corruptError(`${length} bytes should follow, but ${this.#end - this.#at} remain`);
    return length;
  }

  #skipBytes(bytes: number): void {
    if (bytes > this.#end - this.#at) throw this.corruptError(`${bytes} bytes should follow, but ${this.#end - this.#at} remain`);
    this.#at += bytes;
  }

  #fixed(): number {
    this.#skipBytes(4);
    const at = this.#at;
    const bytes = this.#bytes;
    return ((bytes[at - 4] as number) | ((bytes[at - 3] as number) << 8) | ((bytes[at - 2] as number) << 16) | ((bytes[at - 1] as number) << 24)) >>> 0;
  }

  /** Reads the lower 32 bits of a number. Most numbers have one byte. */
  #low(): number {
    const byte = this.#bytes[this.#at] as number;
    if (byte < 0x80 && this.#at < this.#end) {
      this.#at++;
      return byte;
    }
    this.#varint();
    return HALVES[0] as number;
  }

  #varint(): void {
    const bytes = this.#bytes;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.#at >= this.#end) throw this.corruptError("it ends within a number");
      const byte = bytes[this.#at++] as number;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else if (shift < 63) high |= bits << (shift - 32);
      else if (bits > 1) break;
      else high |= bits << 31;
      if (byte < 0x80) {
        HALVES[0] = low;
        HALVES[1] = high;
        return;
      }
    }
    throw this.corruptError("a number has more than 64 bits");
  }
}

/** Reads the value of a message's only field. */
export function readOnly<T>(reader: BytesReader, expectedTag: number, read: () => T, fallback: T): T {
  const outer = reader.enter();
  let value = fallback;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === expectedTag) value = read();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return value;
}
