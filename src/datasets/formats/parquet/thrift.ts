/** Parses Thrift's compact protocol defensively. No length may exceed the remaining bytes, and nesting is limited. */
import { dataView } from "../../../base/bytes.ts";
import { MAX_THRIFT_DEPTH } from "../../../base/file-limits.ts";

export type ThriftValue = number | bigint | boolean | Uint8Array | readonly ThriftValue[] | ThriftStruct;

/** The fields of a struct, by number. */
export interface ThriftStruct {
  readonly [field: number]: ThriftValue | undefined;
}

/** Parses structs. Throws a RangeError if the bytes are not a valid struct. The caller adds the name of the file. */
export class Thrift {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.#view = dataView(bytes);
    this.at = at;
  }

  struct(depth = 0): ThriftStruct {
    if (depth > MAX_THRIFT_DEPTH) throw new RangeError("structs are nested too deeply");
    const fields: { [field: number]: ThriftValue } = {};
    for (let field = 0; ; ) {
      const head = this.#byte();
      if (head === 0) return fields;
      const delta = head >> 4;
      field = delta > 0 ? field + delta : Number(zigzag(this.#varint()));
      fields[field] = this.#value(head & 15, depth);
    }
  }

  #value(type: number, depth: number): ThriftValue {
    if (type === 1 || type === 2) return type === 1;
    if (type === 3) return this.#byte();
    if (type === 4 || type === 5) return Number(BigInt.asIntN(32, zigzag(this.#varint())));
    if (type === 6) return BigInt.asIntN(64, zigzag(this.#varint()));
    if (type === 7) return this.#view.getFloat64(this.#skipBytes(8), true);
    if (type === 8) {
      const length = Number(this.#varint());
      const at = this.#skipBytes(length);
      return this.#bytes.subarray(at, at + length);
    }
    if (type === 9) return this.#list(depth);
    if (type === 12) return this.struct(depth + 1);
    throw new RangeError(`a field has the invalid type ${type}`);
  }

  #list(depth: number): readonly ThriftValue[] {
    if (depth > MAX_THRIFT_DEPTH) throw new RangeError("lists are nested too deeply");
    const head = this.#byte();
    const length = head >> 4 === 15 ? Number(this.#varint()) : head >> 4;
    // Each element takes at least one byte.
    if (length > this.#bytes.length - this.at) throw new RangeError(`a list has ${length} elements, more than the bytes that follow`);
    const type = head & 15;
    const list: ThriftValue[] = [];
    for (let i = 0; i < length; i++) list.push(type === 1 || type === 2 ? this.#byte() === 1 : this.#value(type, depth + 1));
    return list;
  }

  #byte(): number {
    return this.#bytes[this.#skipBytes(1)] as number;
  }

  /** Skips bytes and returns their offset. */
  #skipBytes(length: number): number {
    const at = this.at;
    if (length > this.#bytes.length - at) throw new RangeError("the data ends too early");
    this.at += length;
    return at;
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new RangeError("a number has more than ten bytes");
  }
}

function zigzag(value: bigint): bigint {
  return (value >> 1n) ^ -(value & 1n);
}
