/** Encodes plain values as bytes (tags.ts). */
import { described, mustBe } from "../base/error.ts";
import { MAX_VALUE_DEPTH } from "../base/limits.ts";
import { isPlain } from "../schema/infer.ts";
import { ARRAYS, TAG } from "./tags.ts";

const NAMES: readonly string[] = ARRAYS.map(({ name }) => name);
const KINDS = "null, undefined, a boolean, number, bigint, string, typed array, ArrayBuffer, array, plain object, Map, Set or Date";
const LONE = /\p{Surrogate}/u;

/**
 * Encodes a value as tagged bytes.
 * @param path the name of the value in messages
 * @throws TypeError if a value cannot be encoded: functions, symbols, instances of classes, cycles, and more than 128 levels of nesting. The error names the
 * path
 */
export function encodeTagged(value: unknown, path: string): Uint8Array<ArrayBuffer> {
  const writer = new TagWriter();
  writer.value(value, { parent: undefined, step: path, depth: 0, owner: undefined });
  return writer.bytes();
}

/** The position of a value in the encoded value, as a linked list to the root. Its path is built only for an error message. */
interface TagPlace {
  readonly parent: TagPlace | undefined;
  readonly step: string | number;
  readonly depth: number;
  /** The object or collection that directly contains the value. It is compared to detect cycles. */
  readonly owner: object | undefined;
}

class TagWriter {
  #bytes = new Uint8Array(256);
  #numbers = new DataView(this.#bytes.buffer);
  #end = 0;

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#end);
  }

  value(value: unknown, place: TagPlace): void {
    if (value === undefined) this.#u8(TAG.undefined);
    else if (value === null) this.#u8(TAG.null);
    else if (typeof value === "boolean") this.#u8(value ? TAG.true : TAG.false);
    else if (typeof value === "number") this.#f64(TAG.number, value);
    else if (typeof value === "bigint") this.#raw(TAG.bigint, new TextEncoder().encode(value.toString(16)));
    else if (typeof value === "string") this.#text(value);
    else if (typeof value !== "object") throw unsupportedError(value, place);
    else if (ArrayBuffer.isView(value)) this.#view(value, place);
    else if (value instanceof ArrayBuffer) this.#raw(TAG.buffer, new Uint8Array(value));
    else if (value instanceof Date) this.#f64(TAG.date, value.getTime());
    else this.#object(value, place);
  }

  #view(value: ArrayBufferView, place: TagPlace): void {
    // The check also recognizes subclasses and arrays from other realms.
    const number = NAMES.indexOf((value as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] as string);
    if (number < 0) throw unsupportedError(value, place);
    this.#raw(TAG.arrays + number, new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }

  #object(value: object, place: TagPlace): void {
    if (place.depth >= MAX_VALUE_DEPTH) throw new TypeError(`${pathOf(place)} is nested more than ${MAX_VALUE_DEPTH} levels deep`);
    for (let at: TagPlace | undefined = place; at !== undefined; at = at.parent) {
      if (at.owner === value) throw new TypeError(`${pathOf(place)} is cyclic: it contains itself`);
    }
    if (Array.isArray(value)) {
      this.#head(TAG.array, value.length);
      for (let i = 0; i < value.length; i++) this.value(value[i], childPlace(value, i, place));
    } else if (value instanceof Map) {
      this.#head(TAG.map, value.size);
      let i = 0;
      for (const [key, item] of value) {
        this.value(key, childPlace(value, `key ${i}`, place));
        this.value(item, childPlace(value, `value ${i++}`, place));
      }
    } else if (value instanceof Set) {
      this.#head(TAG.set, value.size);
      let i = 0;
      for (const item of value) this.value(item, childPlace(value, `member ${i++}`, place));
    } else {
      if (!isPlain(value) || Object.getOwnPropertySymbols(value).length > 0) throw unsupportedError(value, place);
      const keys = Object.keys(value);
      this.#head(TAG.object, keys.length);
      for (const key of keys) {
        this.#text(key);
        this.value((value as { [key: string]: unknown })[key], childPlace(value, key, place));
      }
    }
  }

  #text(text: string): void {
    if (LONE.test(text)) {
      const units = Uint8Array.from({ length: 2 * text.length }, (_, i) => text.charCodeAt(i >>> 1) >>> (8 * (i & 1)));
      this.#raw(TAG.units, units);
      return;
    }
    this.#u8(TAG.text);
    const at = this.#reserve(4 + 3 * text.length);
    const { written } = new TextEncoder().encodeInto(text, this.#bytes.subarray(at + 4));
    this.#numbers.setUint32(at, written, true);
    this.#end = at + 4 + written;
  }

  #head(tag: number, count: number): void {
    this.#u8(tag);
    const at = this.#reserve(4);
    this.#numbers.setUint32(at, count, true);
  }

  #u8(byte: number): void {
    const at = this.#reserve(1);
    this.#bytes[at] = byte;
  }

  #f64(tag: number, value: number): void {
    this.#u8(tag);
    const at = this.#reserve(8);
    this.#numbers.setFloat64(at, value, true);
  }

  #raw(tag: number, bytes: Uint8Array): void {
    this.#u8(tag);
    const at = this.#reserve(4 + bytes.length);
    this.#numbers.setUint32(at, bytes.length, true);
    this.#bytes.set(bytes, at + 4);
  }

  /** Makes room for `size` more bytes. Returns their offset. */
  #reserve(size: number): number {
    const at = this.#end;
    this.#end += size;
    if (this.#end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#end, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, at));
      this.#bytes = larger;
      this.#numbers = new DataView(larger.buffer);
    }
    return at;
  }
}

function childPlace(owner: object, step: string | number, parent: TagPlace): TagPlace {
  return { parent, step, depth: parent.depth + 1, owner };
}

function unsupportedError(value: unknown, place: TagPlace): Error {
  return mustBe(TypeError, pathOf(place), KINDS, typeof value === "object" && value !== null ? described(`an instance of ${value.constructor?.name}`) : value);
}

function pathOf({ parent, step }: TagPlace): string {
  if (parent === undefined) return String(step);
  const name = typeof step === "number" ? `[${step}]` : /^[A-Za-z_$][\w$]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  return pathOf(parent) + name;
}
