/**
 * Locates the lists of a tf.train.Example in its record. Only the positions of lists are recorded, so each list is copied at most once.
 *
 * Example { Features features = 1 } · Features { map<string, Feature> feature = 1 }
 * Feature { oneof: BytesList bytes_list = 1, FloatList float_list = 2, Int64List int64_list = 3 } · each list { repeated value = 1 }
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { corruptFile, type Place, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { HEAD } from "./tfrecord.ts";

/** The field number of BytesList in Feature. FLOATS and INTS are the field numbers of the other lists. */
export const BYTES = 1;
export const FLOATS = 2;
export const INTS = 3;
const KINDS = ["nothing", "bytes", "floats", "integers"];

/** The number of offsets, two per range, after which their memory is counted. */
const RANGES_PER_CHECK = 4096;

interface StoredList {
  readonly kind: number;
  /** The beginnings and ends of the messages that form one list. */
  readonly ranges: number[];
}

/** The keys that are read from a record. All other keys are skipped. */
export interface Keys {
  readonly names: ReadonlySet<string>;
  /** The number of bytes in the longest key. */
  readonly longest: number;
}

export function keysOf(keys: readonly string[]): Keys {
  return { names: new Set(keys), longest: Math.max(0, ...keys.map((key) => new TextEncoder().encode(key).length)) };
}

export class Example {
  readonly bytes: Uint8Array;
  readonly #lists = new Map<string, StoredList>();
  readonly #place: Place;
  readonly #keys: Keys;
  readonly #maxBytes: number;
  #usedBytes: number;

  /** @param place the place of the record, not of its data @throws RldsError CORRUPT if the record is not an Example */
  constructor(bytes: Uint8Array, keys: Keys, place: Place, maxBytes: number) {
    this.bytes = bytes;
    this.#place = place;
    this.#keys = keys;
    this.#maxBytes = maxBytes;
    this.#usedBytes = bytes.length;
    this.fields(0, bytes.length, (field, wire, reader) => {
      if (field !== 1 || wire !== WireType.LengthDelimited) return false;
      const to = end(reader);
      this.fields(reader.pos, to, (inner, innerWire, at) => inner === 1 && innerWire === WireType.LengthDelimited && this.#entry(at));
      reader.pos = to;
      return true;
    });
  }

  /** Reserves memory for decoded data before it is allocated. @throws RldsError CORRUPT if the record exceeds its limit */
  reserve(bytes: number): void {
    this.#usedBytes += bytes;
    if (this.#usedBytes > this.#maxBytes)
      throw this.corruptError(
        `the record would take ${this.#usedBytes} bytes in memory, more than the ${this.#maxBytes} that maxBytes allows. Increase maxBytes`,
      );
  }

  /** Returns the ranges of a list's values, or no ranges if the list does not exist. @throws RldsError CORRUPT if the list contains values of another kind */
  ranges(key: string, kind: number): readonly number[] {
    const list = this.#lists.get(key);
    if (list === undefined || list.ranges.length === 0) return [];
    if (list.kind !== kind) throw this.corruptError(`feature ${key} must contain ${KINDS[kind]}, got ${KINDS[list.kind]}`, list.ranges[0]);
    return list.ranges;
  }

  /** Returns the error for damage. @param at the offset in the record's data. Default: the beginning of the record */
  corruptError(message: string, at?: number, { cause, step }: { cause?: unknown; step?: number } = {}): RldsError {
    const { offset = 0 } = this.#place;
    const place = { ...this.#place, offset: at === undefined ? offset : offset + HEAD + at, ...(step === undefined ? {} : { step }) };
    return cause instanceof RldsError ? cause : corruptFile(place, message, cause);
  }

  /** Calls a function that reads a value of a feature. @throws RldsError CORRUPT with the place of the value if the function throws any error */
  guard<T>(key: string, at: number, step: number | undefined, task: () => T): T {
    try {
      return task();
    } catch (cause) {
      throw this.corruptError(`feature ${key} cannot be read: ${(cause as Error).message}`, at, { cause, step });
    }
  }

  /** The number of bytes that may still be reserved. */
  get remainingBytes(): number {
    return this.#maxBytes - this.#usedBytes;
  }

  unsupported(message: string, step?: number): RldsError {
    return unsupportedFile(step === undefined ? this.#place : { ...this.#place, step }, message);
  }

  /**
   * Visits every field of the message at `from` … `to`. Fields for which `onField` returns false are skipped. @throws RldsError CORRUPT if the message is
   * damaged
   */
  fields(from: number, to: number, onField: (field: number, wire: WireType, reader: BinaryReader) => boolean): void {
    const reader = new BinaryReader(to === this.bytes.length ? this.bytes : this.bytes.subarray(0, to));
    reader.pos = from;
    try {
      while (reader.pos < to) {
        const [field, wire] = reader.tag();
        if (!onField(field, wire, reader)) reader.skip(wire, field);
      }
    } catch (cause) {
      throw this.corruptError(`the record is not a tf.train.Example: ${(cause as Error).message}`, Math.min(reader.pos, to), { cause });
    }
  }

  /** Reads an entry of the map, which has a key and a feature. If a key repeats, the last entry counts. */
  #entry(reader: BinaryReader): boolean {
    const to = end(reader);
    let key = "";
    let list: StoredList = { kind: 0, ranges: [] };
    this.fields(reader.pos, to, (field, wire, at) => {
      if (wire !== WireType.LengthDelimited || field > 2) return false;
      const last = end(at);
      if (field === 2) list = this.#feature(at.pos, last);
      else key = last - at.pos > this.#keys.longest ? "" : new TextDecoder().decode(this.bytes.subarray(at.pos, last));
      at.pos = last;
      return true;
    });
    if (this.#keys.names.has(key)) this.#lists.set(key, list);
    reader.pos = to;
    return true;
  }

  #feature(from: number, to: number): StoredList {
    let list: StoredList = { kind: 0, ranges: [] };
    this.fields(from, to, (field, wire, reader) => {
      if (wire !== WireType.LengthDelimited || field > INTS) return false;
      const last = end(reader);
      if (field !== list.kind) list = { kind: field, ranges: [] };
      if (last > reader.pos && list.ranges.push(reader.pos, last) % RANGES_PER_CHECK === 0) this.reserve(8 * RANGES_PER_CHECK);
      reader.pos = last;
      return true;
    });
    return list;
  }
}

/** Reads the length of a message and returns its end. */
function end(reader: BinaryReader): number {
  const length = reader.uint32();
  const to = reader.pos + length;
  if (to > reader.len) throw new RangeError(`a field declares ${length} bytes, but only ${reader.len - reader.pos} follow`);
  return to;
}

/** Returns the byte ranges of a list's values, which may be packed or separate, as alternating beginnings and ends. */
export function payload(example: Example, key: string, kind: number): number[] {
  const offsets: number[] = [];
  const ranges = example.ranges(key, kind);
  // There may be many separate values, which take as few as two bytes each.
  const addRange = (from: number, to: number) => {
    if (offsets.push(from, to) % RANGES_PER_CHECK === 0) example.reserve(8 * RANGES_PER_CHECK);
  };
  for (let i = 0; i < ranges.length; i += 2) {
    example.fields(ranges[i] as number, ranges[i + 1] as number, (field, wire, reader) => {
      if (field !== 1) return false;
      if (wire === WireType.LengthDelimited) {
        const to = end(reader);
        addRange(reader.pos, to);
        reader.pos = to;
        return true;
      }
      if (wire !== (kind === FLOATS ? WireType.Bit32 : WireType.Varint) || kind === BYTES) return false;
      const from = reader.pos;
      reader.skip(wire);
      addRange(from, reader.pos);
      return true;
    });
  }
  return offsets;
}
