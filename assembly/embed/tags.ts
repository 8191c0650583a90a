/**
 * Reads and writes values as bytes, as in src/storage/tags.ts: a type byte, then the value. This file handles the types in the head of a snapshot and in its
 * list of writers.
 *
 * TAGS, 32 bytes: │ at u32 │ end u32 │ broken u32 │ odd u32 │ word u32 │ bytes u32 │ value f64 │
 *   at, end: the rest to read · broken: the rest is cut off, or has another type than requested · odd: the data has values that only TypeScript supports · word, bytes: the last text · value: the last number
 */
import { ZEROS_AT } from "../memory/layout";
import { placeOf } from "./decimal";
import { Root } from "./root";
import { isText, isUtf8 } from "./utf8";

export const FALSE: u32 = 2;
export const TRUE: u32 = 3;
export const NUMBER: u32 = 4;
export const TEXT: u32 = 6;
export const ARRAY: u32 = 9;
export const OBJECT: u32 = 10;
/** The last of the types that take one byte and have no content. null and undefined are also such types. */
const LAST_WORD: u32 = TRUE;
const BIGINT: u32 = 5;
const UNITS: u32 = 7;
const DATE: u32 = 8;
/** Values of this type and of later types are bytes or arrays of numbers: a length, then the content. */
const BUFFER: u32 = 13;
const MAX_DEPTH: u32 = 128;
/** The value of `odd`, instead of 1, if a name that must be kept is not valid UTF-8. */
export const NOT_UTF8: u32 = 2;

const TAGS_AT: usize = memory.data(32, 8);

@unmanaged
export class Tags {
  at: u32;
  end: u32;
  broken: u32;
  odd: u32;
  word: u32;
  bytes: u32;
  value: f64;

  static of(at: u32, bytes: u32): Tags {
    const tags = changetype<Tags>(TAGS_AT);
    memory.fill(TAGS_AT, 0, offsetof<Tags>());
    tags.at = at;
    tags.end = at + bytes;
    return tags;
  }

  /** Reads the type of the next value. */
  tag(): u32 {
    return <u32>load<u8>(<usize>this.take(1));
  }

  /** Reads the number of elements of a value whose type was read. */
  count(): u32 {
    const count = load<u32>(<usize>this.take(4));
    // Each element takes at least one byte.
    if (count <= this.end - this.at) return count;
    this.broken = 1;
    return 0;
  }

  /** Begins to read an object or an array; returns the number of its parts. */
  enter(tag: u32): u32 {
    if (this.tag() == tag) return this.count();
    this.broken = 1;
    return 0;
  }

  /** Reads a text into `word`. */
  text(): void {
    const tag = this.tag();
    if (tag == UNITS) this.odd = 1;
    if (tag != TEXT) this.broken = 1;
    const bytes = this.count();
    this.word = this.take(bytes);
    this.bytes = this.broken != 0 ? 0 : bytes;
  }

  /** Reads a number into `value`. */
  number(): f64 {
    if (this.tag() != NUMBER) this.broken = 1;
    this.value = load<f64>(<usize>this.take(8));
    return this.value;
  }

  /** Reads a whole number within a range. */
  whole(least: f64, most: f64): f64 {
    const value = this.within(least, most);
    if (Math.floor(value) != value) this.broken = 1;
    return value;
  }

  /** Reads any number within a range. Out of range, it sets `broken` and returns the least value. */
  within(least: f64, most: f64): f64 {
    const value = this.number();
    if (value >= least && value <= most) return value;
    this.broken = 1;
    return least;
  }

  /** Reads a text that must be kept, in UTF-8, into `word`. */
  name(): void {
    this.text();
    if (!isUtf8(this.word, this.bytes)) this.odd = NOT_UTF8;
  }

  /** Whether the text equals `word`. */
  is(word: string): bool {
    return isText(this.word, this.bytes, word);
  }

  /** Skips a value. */
  skip(depth: u32 = 0): void {
    const tag = this.tag();
    if (tag <= LAST_WORD || this.broken != 0) return;
    if (tag == NUMBER || tag == DATE) this.take(8);
    else if (tag == TEXT || tag == UNITS || tag == BIGINT || tag >= BUFFER) this.take(this.count());
    else if (depth >= MAX_DEPTH) this.broken = 1;
    else {
      const count = this.count();
      for (let i: u32 = 0; i < count && this.broken == 0; i++) {
        if (tag == OBJECT) this.text();
        this.skip(depth + 1);
        // A map has a value for each key.
        if (tag == OBJECT + 1) this.skip(depth + 1);
      }
    }
  }

  /** Returns the address of that many bytes, which count as read, or of zeros if fewer are left. */
  private take(bytes: u32): u32 {
    const at = this.at;
    if (bytes > this.end - at) {
      this.broken = 1;
      return <u32>ZEROS_AT;
    }
    this.at += bytes;
    return at;
  }
}
if (offsetof<Tags>() != 32) ERROR("TAGS is 32 bytes");

/** Moves to the value of a key in the object that begins at `from`; returns whether the key exists. */
export function find(tags: Tags, from: u32, key: string): bool {
  tags.at = from;
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0; left--) {
    tags.text();
    if (tags.is(key)) return true;
    tags.skip();
  }
  return false;
}

/**
 * Assembles bytes in the root's list: values, or a text.
 *
 * PUT, 8 bytes: │ failed u32 │ … u32 │   failed: there was no memory for a byte
 */
const PUT_AT: usize = memory.data(8, 8);

@unmanaged
export class Put {
  failed: u32;
  unused: u32;

  static begin(): Put {
    Root.the().bytes().count = 0;
    const put = changetype<Put>(PUT_AT);
    put.failed = 0;
    return put;
  }

  object(count: u32): Put {
    return this.byte(OBJECT).u32(count);
  }

  array(count: u32): Put {
    return this.byte(ARRAY).u32(count);
  }

  /** Appends a key, or an internal text. */
  text(text: string): Put {
    return this.byte(TEXT).u32(text.length).raw(text);
  }

  textAt(at: u32, bytes: u32): Put {
    return this.byte(TEXT).u32(bytes).rawAt(at, bytes);
  }

  number(x: f64): Put {
    const bits = reinterpret<u64>(x);
    return this.byte(NUMBER)
      .u32(<u32>bits)
      .u32(<u32>(bits >> 32));
  }

  flag(is: bool): Put {
    return this.byte(is ? TRUE : FALSE);
  }

  /** Appends only the characters, without a type byte. */
  raw(text: string): Put {
    for (let i = 0; i < text.length; i++) this.byte(<u32>text.charCodeAt(i));
    return this;
  }

  rawAt(at: u32, bytes: u32): Put {
    for (let i: u32 = 0; i < bytes; i++) this.byte(load<u8>(<usize>(at + i)));
    return this;
  }

  /** Appends a whole number in decimal. */
  digits(n: u64): Put {
    for (let place = placeOf(n); place > 0; place /= 10) this.byte(48 + <u32>((n / place) % 10));
    return this;
  }

  u32(word: u32): Put {
    for (let i: u32 = 0; i < 4; i++) this.byte((word >> (i << 3)) & 255);
    return this;
  }

  byte(byte: u32): Put {
    const at: usize = this.failed != 0 ? 0 : Root.the().bytes().push(1);
    if (at == 0) this.failed = 1;
    else store<u8>(at, <u8>byte);
    return this;
  }
}
if (offsetof<Put>() != 8) ERROR("PUT is 8 bytes");
