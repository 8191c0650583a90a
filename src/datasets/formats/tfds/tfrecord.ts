/**
 * Reads TFRecord files. Each record has this layout, in little-endian order:
 *   │ length u64 │ masked CRC-32C of the length u32 │ data … │ masked CRC-32C of the data u32 │
 */
import { dataView } from "../../../base/bytes.ts";
import { crc32c } from "../../../base/crc32c.ts";
import { corruptFile, type RldsError } from "../../model/rlds-error.ts";
import { ReadAhead } from "../sources/read-ahead.ts";
import type { SourceFile } from "../sources/source.ts";

/** The number of bytes before a record's data. */
export const HEAD = 12;
const FOOT = 4;

export interface TfRecordOptions {
  readonly signal?: AbortSignal;
  /** The maximum size of a record, in bytes. */
  readonly maxBytes: number;
  /** The number of bytes that are read together. */
  readonly block?: number;
}

/** Reads the records of a file one after the other. Every error is an RldsError that includes the file and the offset. */
export class TfRecords {
  /** The offset of the record that was read last. */
  offset = 0;
  /** Whether the reader is past the record that it read last, so it can continue with the next record even if the bytes of that record are damaged. */
  isPast = true;
  readonly #reader: ReadAhead;
  readonly #maxBytes: number;

  constructor(file: SourceFile, { signal, maxBytes, block }: TfRecordOptions) {
    this.#reader = new ReadAhead(file, { signal, block });
    this.#maxBytes = maxBytes;
  }

  get atEnd(): boolean {
    return this.#reader.remaining === 0;
  }

  get position(): number {
    return this.#reader.position;
  }

  /** Returns the data of the next record as a view that remains valid. @throws RldsError CORRUPT if the record is damaged or exceeds maxBytes */
  async next(): Promise<Uint8Array> {
    const length = await this.#head();
    if (length > this.#maxBytes) {
      // The size of the record is known, so reading can continue after it.
      this.#reader.skip(length + FOOT);
      this.isPast = true;
      throw this.#corrupt(`a record has ${length} bytes, more than the ${this.#maxBytes} that maxBytes allows. Increase maxBytes`);
    }
    const bytes = await this.#reader.read(length + FOOT);
    this.isPast = true;
    if (maskedCrc32c(bytes, 0, length) !== u32(bytes, length)) throw this.#corrupt("the checksum of a record does not match its bytes: the file is damaged");
    return bytes.subarray(0, length);
  }

  /** Skips a record without checking its data. @throws RldsError CORRUPT if the header of the record is damaged */
  async skip(): Promise<void> {
    this.#reader.skip((await this.#head()) + FOOT);
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  /** Reads the header of a record and returns the length of its data, for which the rest of the file must have room. */
  async #head(): Promise<number> {
    this.offset = this.#reader.position;
    this.isPast = false;
    if (this.#reader.remaining < HEAD)
      throw this.#corrupt(`the file is truncated: the header of a record has ${HEAD} bytes, but only ${this.#reader.remaining} are left`);
    const head = await this.#reader.read(HEAD);
    if (!hasValidHead(head)) throw this.#corrupt("the checksum of a record's length does not match: the file is damaged, or not a TFRecord file");
    const length = u32(head, 0) + u32(head, 4) * 2 ** 32;
    const remaining = this.#reader.remaining - FOOT;
    if (length > remaining) throw this.#corrupt(`the file is truncated: a record declares ${length} bytes, but only ${Math.max(remaining, 0)} are left`);
    return length;
  }

  #corrupt(message: string): RldsError {
    return corruptFile({ file: this.#reader.file.name, offset: this.offset }, message);
  }
}

/** Returns whether the checksum of a record's length is valid. @param head at least HEAD bytes */
export function hasValidHead(head: Uint8Array): boolean {
  return maskedCrc32c(head, 0, 8) === u32(head, 8);
}

function u32(bytes: Uint8Array, at: number): number {
  return dataView(bytes, at, 4).getUint32(0, true);
}

/** Computes the checksum of TFRecords. It is a CRC that is rotated and offset, so that CRCs within the data cause no problems. */
function maskedCrc32c(bytes: Uint8Array, from = 0, to = bytes.length): number {
  return masked(crc32c(bytes, from, to));
}

function masked(sum: number): number {
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0;
}

/** The number of bytes that a record takes in addition to its data. */
export const OVERHEAD = HEAD + FOOT;

/** Returns a record, in parts, with the given data. The parts of the data are not copied. */
export function recordOf(data: readonly Uint8Array[]): readonly Uint8Array[] {
  const [head, foot] = [new Uint8Array(HEAD), new Uint8Array(FOOT)];
  const length = data.reduce((sum, part) => sum + part.length, 0);
  dataView(head).setBigUint64(0, BigInt(length), true);
  dataView(head).setUint32(8, maskedCrc32c(head, 0, 8), true);
  const sum = data.reduce((before, part) => crc32c(part, 0, part.length, before), 0);
  dataView(foot).setUint32(0, masked(sum), true);
  return [head, ...data, foot];
}
