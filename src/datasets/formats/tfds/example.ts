/**
 * A tf.train.Example as it lies in its record:
 *   Example { Features features = 1 } · Features { map<string, Feature> feature = 1 }
 *   Feature { oneof: BytesList bytes_list = 1, FloatList float_list = 2, Int64List int64_list = 3 } · each list { repeated value = 1 }
 * The walk only notes where the lists are: whoever wants one copies it once.
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { corruptFile, type Place, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { HEAD } from "./tfrecord.ts";

/** Of a feature's list: the number of its field in Feature. */
export const BYTES = 1;
export const FLOATS = 2;
export const INTS = 3;
const KINDS = ["nothing", "bytes", "floats", "integers"];

/** After so many places their own memory is counted too. */
const RANGES_PER_CHECK = 4096;

interface StoredList {
  readonly kind: number;
  /** From and to of its messages, which are one list together. */
  readonly ranges: number[];
}

/** The keys that are looked for; all others are passed over. */
export interface Keys {
  readonly names: ReadonlySet<string>;
  /** Bytes of the longest. */
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

  /** @param place of the record, not of its data @throws RldsError CORRUPT */
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

  /** Room for so many bytes of what the record comes to, before they are taken. @throws RldsError CORRUPT */
  reserve(bytes: number): void {
    this.#usedBytes += bytes;
    if (this.#usedBytes > this.#maxBytes)
      throw this.corruptError(`the record would take ${this.#usedBytes} bytes in memory, more than maxBytes, ${this.#maxBytes}: give a larger one`);
  }

  /** Where the values of a list are; nothing where there is none. @throws RldsError CORRUPT where it holds values of another kind */
  ranges(key: string, kind: number): readonly number[] {
    const list = this.#lists.get(key);
    if (list === undefined || list.ranges.length === 0) return [];
    if (list.kind !== kind) throw this.corruptError(`feature ${key} must hold ${KINDS[kind]}, and holds ${KINDS[list.kind]}`, list.ranges[0]);
    return list.ranges;
  }

  /** @param at within the record's data */
  corruptError(message: string, at?: number, { cause, step }: { cause?: unknown; step?: number } = {}): RldsError {
    const { offset = 0 } = this.#place;
    const place = { ...this.#place, offset: at === undefined ? offset : offset + HEAD + at, ...(step === undefined ? {} : { step }) };
    return cause instanceof RldsError ? cause : corruptFile(place, message, cause);
  }

  /** What reading a value of a feature gives. @throws RldsError CORRUPT, with the value's place, for whatever it throws */
  guard<T>(key: string, at: number, step: number | undefined, task: () => T): T {
    try {
      return task();
    } catch (cause) {
      throw this.corruptError(`feature ${key} cannot be read: ${(cause as Error).message}`, at, { cause, step });
    }
  }

  /** Bytes that may still be taken. */
  get remainingBytes(): number {
    return this.#maxBytes - this.#usedBytes;
  }

  unsupported(message: string, step?: number): RldsError {
    return unsupportedFile(step === undefined ? this.#place : { ...this.#place, step }, message);
  }

  /** Every field of the message at `from` … `to`; those that `onField` does not read are skipped. @throws RldsError CORRUPT */
  fields(from: number, to: number, onField: (field: number, wire: WireType, reader: BinaryReader) => boolean): void {
    const reader = new BinaryReader(to === this.bytes.length ? this.bytes : this.bytes.subarray(0, to));
    reader.pos = from;
    try {
      while (reader.pos < to) {
        const [field, wire] = reader.tag();
        if (!onField(field, wire, reader)) reader.skip(wire, field);
      }
    } catch (cause) {
      throw this.corruptError(`the record is no tf.train.Example: ${(cause as Error).message}`, Math.min(reader.pos, to), { cause });
    }
  }

  /** An entry of the map: key and feature. Of a key that comes twice the last one counts. */
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

/** Where the message ends whose length is next. */
function end(reader: BinaryReader): number {
  const length = reader.uint32();
  const to = reader.pos + length;
  if (to > reader.len) throw new RangeError(`${length} bytes should follow, but ${reader.len - reader.pos} do`);
  return to;
}

/** Field `value` of a list: where its bytes are, be they packed or one by one. */
export function payload(example: Example, key: string, kind: number): number[] {
  const offsets: number[] = [];
  const ranges = example.ranges(key, kind);
  // Values one by one may be many, and two bytes each.
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
