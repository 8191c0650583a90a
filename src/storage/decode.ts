/** Decodes tagged values (tags.ts). The bytes are untrusted, so every length is checked, and a key named `__proto__` never sets a prototype. */
import { corrupt, type ReplayError } from "../base/error.ts";
import { MAX_VALUE_DEPTH } from "../base/limits.ts";
import { ARRAYS, TAG } from "./tags.ts";

const BIGINT = /^-?[0-9a-f]+$/;

/** Decodes a tagged value. @throws ReplayError CORRUPT if the bytes are not a tagged value */
export function decodeTagged(bytes: Uint8Array): unknown {
  const reader = new TagReader(bytes);
  const value = reader.value(0);
  reader.end();
  return value;
}

class TagReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  value(depth: number): unknown {
    const from = this.#at;
    const tag = this.#view.getUint8(this.#take(1));
    switch (tag) {
      case TAG.undefined:
        return undefined;
      case TAG.null:
        return null;
      case TAG.false:
        return false;
      case TAG.true:
        return true;
      case TAG.number:
        return this.#view.getFloat64(this.#take(8), true);
      case TAG.date:
        return new Date(this.#view.getFloat64(this.#take(8), true));
      case TAG.bigint:
        return this.#bigint();
      case TAG.text:
      case TAG.units:
        return this.#text(tag);
      case TAG.buffer:
        return this.#raw().slice().buffer;
    }
    const array = ARRAYS[tag - TAG.arrays];
    if (array !== undefined) return this.#array(array);
    // Nesting is limited, since the recursion could otherwise overflow the stack.
    if (depth >= MAX_VALUE_DEPTH) throw this.#corrupt(from, `values are nested more than ${MAX_VALUE_DEPTH} levels deep`);
    switch (tag) {
      case TAG.array:
        return Array.from({ length: this.#count(1) }, () => this.value(depth + 1));
      case TAG.set:
        return new Set(Array.from({ length: this.#count(1) }, () => this.value(depth + 1)));
      case TAG.map:
        return new Map(Array.from({ length: this.#count(2) }, () => [this.value(depth + 1), this.value(depth + 1)] as const));
      case TAG.object:
        return this.#object(depth);
      default:
        throw this.#corrupt(from, `${tag} is not a tag`);
    }
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw this.#corrupt(this.#at, "bytes follow the end");
  }

  #object(depth: number): object {
    const object = {};
    for (let remaining = this.#count(6); remaining > 0; remaining--) {
      const at = this.#at;
      const tag = this.#view.getUint8(this.#take(1));
      if (tag !== TAG.text && tag !== TAG.units) throw this.#corrupt(at, "a key is not a string");
      const key = this.#text(tag);
      const value = this.value(depth + 1);
      // An assignment to `__proto__` would set the prototype.
      Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    }
    return object;
  }

  #bigint(): bigint {
    const at = this.#at;
    const digits = new TextDecoder().decode(this.#raw());
    if (!BIGINT.test(digits)) throw this.#corrupt(at, "a bigint has characters that are not digits");
    return digits.startsWith("-") ? -BigInt(`0x${digits.slice(1)}`) : BigInt(`0x${digits}`);
  }

  #text(tag: number): string {
    const at = this.#at;
    const raw = this.#raw();
    if (tag === TAG.text) {
      try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
      } catch {
        throw this.#corrupt(at, "a string is not valid UTF-8");
      }
    }
    if (raw.length % 2 !== 0) throw this.#corrupt(at, "a string ends in the middle of a character");
    let text = "";
    for (let i = 0; i < raw.length; i += 2) text += String.fromCharCode((raw[i] as number) | ((raw[i + 1] as number) << 8));
    return text;
  }

  #array(kind: (typeof ARRAYS)[number]): unknown {
    const at = this.#at;
    const raw = this.#raw();
    if (raw.length % kind.BYTES_PER_ELEMENT !== 0) throw this.#corrupt(at, `${raw.length} bytes are not a ${kind.name}`);
    return new kind(raw.slice().buffer as ArrayBuffer);
  }

  /** Reads a number of values that take at least `min` bytes each. @throws ReplayError CORRUPT if the values cannot fit in the remaining bytes */
  #count(min: number): number {
    const at = this.#take(4);
    const count = this.#view.getUint32(at, true);
    if (count * min > this.#bytes.length - this.#at) throw this.#corrupt(at, `${count} values do not fit in ${this.#bytes.length - this.#at} bytes`);
    return count;
  }

  #raw(): Uint8Array {
    const length = this.#count(1);
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  #take(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.#bytes.length) throw this.#corrupt(at, "a value is incomplete");
    this.#at += bytes;
    return at;
  }

  #corrupt(at: number, what: string): ReplayError {
    return corrupt(`a value is truncated or altered at byte ${at}`, what);
  }
}
