/**
 * A tf.train.Example as it lies in its record:
 *   Example { Features features = 1 } · Features { map<string, Feature> feature = 1 }
 *   Feature { oneof: BytesList bytes_list = 1, FloatList float_list = 2, Int64List int64_list = 3 } · each list { repeated value = 1 }
 * The walk only notes where the lists are: whoever wants one copies it once.
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type Place, RldsError } from "../../model/rlds-error.ts";
import { HEAD } from "./tfrecord.ts";

/** Of a feature's list: the number of its field in Feature. */
export const BYTES = 1;
export const FLOATS = 2;
export const INTS = 3;
const KINDS = ["nothing", "bytes", "floats", "integers"];

/** After so many places their own memory is counted too. */
const NOTED = 4096;

interface StoredList {
  readonly kind: number;
  /** From and to of its messages, which are one list together. */
  readonly ranges: number[];
}

/** The keys that are looked for; all others are passed over. */
export interface Keys {
  readonly known: ReadonlySet<string>;
  /** Bytes of the longest. */
  readonly longest: number;
}

export function keysOf(keys: readonly string[]): Keys {
  return { known: new Set(keys), longest: Math.max(0, ...keys.map((key) => new TextEncoder().encode(key).length)) };
}

export class Example {
  readonly bytes: Uint8Array;
  readonly #lists = new Map<string, StoredList>();
  readonly #place: Place;
  readonly #keys: Keys;
  readonly #maxBytes: number;
  #taken: number;

  /** @param place of the record, not of its data @throws RldsError CORRUPT */
  constructor(bytes: Uint8Array, keys: Keys, place: Place, maxBytes: number) {
    this.bytes = bytes;
    this.#place = place;
    this.#keys = keys;
    this.#maxBytes = maxBytes;
    this.#taken = bytes.length;
    this.fields(0, bytes.length, (field, wire, reader) => {
      if (field !== 1 || wire !== WireType.LengthDelimited) return false;
      const to = end(reader);
      this.fields(reader.pos, to, (inner, innerWire, at) => inner === 1 && innerWire === WireType.LengthDelimited && this.#entry(at));
      reader.pos = to;
      return true;
    });
  }

  /** Room for so many bytes of what the record comes to, before they are taken. @throws RldsError CORRUPT */
  room(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken > this.#maxBytes)
      throw this.wrong(`the record would take ${this.#taken} bytes in memory, more than maxBytes, ${this.#maxBytes}: give a larger one`);
  }

  /** Where the values of a list are; nothing where there is none. @throws RldsError CORRUPT where it holds values of another kind */
  ranges(key: string, kind: number): readonly number[] {
    const found = this.#lists.get(key);
    if (found === undefined || found.ranges.length === 0) return [];
    if (found.kind !== kind) throw this.wrong(`feature ${key} must hold ${KINDS[kind]}, and holds ${KINDS[found.kind]}`, found.ranges[0]);
    return found.ranges;
  }

  /** @param at within the record's data */
  wrong(message: string, at?: number, { cause, step }: { cause?: unknown; step?: number } = {}): RldsError {
    const { offset = 0 } = this.#place;
    const place = { ...this.#place, offset: at === undefined ? offset : offset + HEAD + at, ...(step === undefined ? {} : { step }) };
    return cause instanceof RldsError ? cause : new RldsError("CORRUPT", message, place, { cause });
  }

  /** What reading a value of a feature gives. @throws RldsError CORRUPT, with the value's place, for whatever it throws */
  guarded<T>(key: string, at: number, step: number | undefined, work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw this.wrong(`feature ${key} cannot be read: ${(cause as Error).message}`, at, { cause, step });
    }
  }

  /** Bytes that may still be taken. */
  get left(): number {
    return this.#maxBytes - this.#taken;
  }

  unsupported(message: string, step?: number): RldsError {
    return new RldsError("UNSUPPORTED", message, step === undefined ? this.#place : { ...this.#place, step });
  }

  /** Every field of the message at `from` … `to`; those that `take` does not take are passed over. @throws RldsError CORRUPT */
  fields(from: number, to: number, take: (field: number, wire: WireType, reader: BinaryReader) => boolean): void {
    const reader = new BinaryReader(to === this.bytes.length ? this.bytes : this.bytes.subarray(0, to));
    reader.pos = from;
    try {
      while (reader.pos < to) {
        const [field, wire] = reader.tag();
        if (!take(field, wire, reader)) reader.skip(wire, field);
      }
    } catch (cause) {
      throw this.wrong(`the record is no tf.train.Example: ${(cause as Error).message}`, Math.min(reader.pos, to), { cause });
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
    if (this.#keys.known.has(key)) this.#lists.set(key, list);
    reader.pos = to;
    return true;
  }

  #feature(from: number, to: number): StoredList {
    let list: StoredList = { kind: 0, ranges: [] };
    this.fields(from, to, (field, wire, reader) => {
      if (wire !== WireType.LengthDelimited || field > INTS) return false;
      const last = end(reader);
      if (field !== list.kind) list = { kind: field, ranges: [] };
      if (last > reader.pos && list.ranges.push(reader.pos, last) % NOTED === 0) this.room(8 * NOTED);
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
  const found: number[] = [];
  const ranges = example.ranges(key, kind);
  // Values one by one may be many, and two bytes each.
  const note = (from: number, to: number) => {
    if (found.push(from, to) % NOTED === 0) example.room(8 * NOTED);
  };
  for (let i = 0; i < ranges.length; i += 2) {
    example.fields(ranges[i] as number, ranges[i + 1] as number, (field, wire, reader) => {
      if (field !== 1) return false;
      if (wire === WireType.LengthDelimited) {
        const to = end(reader);
        note(reader.pos, to);
        reader.pos = to;
        return true;
      }
      if (wire !== (kind === FLOATS ? WireType.Bit32 : WireType.Varint) || kind === BYTES) return false;
      const from = reader.pos;
      reader.skip(wire);
      note(from, reader.pos);
      return true;
    });
  }
  return found;
}
