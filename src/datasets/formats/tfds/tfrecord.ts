/**
 * TFRecord files. Of each record:
 *   │ length u64 │ masked CRC-32C of the length u32 │ data … │ masked CRC-32C of the data u32 │   little endian
 */
import { dataView } from "../../../base/bytes.ts";
import { crc32c } from "../../../base/crc32c.ts";
import { corruptFile, type RldsError } from "../../model/rlds-error.ts";
import { ReadAhead } from "../sources/read-ahead.ts";
import type { SourceFile } from "../sources/source.ts";

/** Bytes before a record's data. */
export const HEAD = 12;
const FOOT = 4;

export interface TfRecordOptions {
  readonly signal?: AbortSignal;
  /** The most bytes that a record may have. */
  readonly maxBytes: number;
  /** Bytes that are read at once. */
  readonly block?: number;
}

/** A file's records, one after the other. Every error is an RldsError with file and offset. */
export class TfRecords {
  /** Where the last record begins. */
  offset = 0;
  /** Whether the last record was gone past, even if its bytes are damaged. */
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

  /** The data of the next record, a view that stays as it is. @throws RldsError CORRUPT */
  async next(): Promise<Uint8Array> {
    const length = await this.#head();
    if (length > this.#maxBytes) {
      // The record is whole, and so is what follows it.
      this.#reader.skip(length + FOOT);
      this.isPast = true;
      throw this.#corrupt(`a record of ${length} bytes is more than maxBytes, ${this.#maxBytes}: give a larger one`);
    }
    const bytes = await this.#reader.read(length + FOOT);
    this.isPast = true;
    if (maskedCrc32c(bytes, 0, length) !== u32(bytes, length)) throw this.#corrupt("a record's checksum does not fit its bytes: the file is damaged");
    return bytes.subarray(0, length);
  }

  /** Goes past a record; its data is not looked at. @throws RldsError CORRUPT */
  async skip(): Promise<void> {
    this.#reader.skip((await this.#head()) + FOOT);
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  /** Reads a record's head: its length, which the rest of the file has room for. */
  async #head(): Promise<number> {
    this.offset = this.#reader.position;
    this.isPast = false;
    if (this.#reader.remaining < HEAD)
      throw this.#corrupt(`a record's head has ${HEAD} bytes, and the file has ${this.#reader.remaining} left: it was cut off`);
    const head = await this.#reader.read(HEAD);
    if (!hasValidHead(head)) throw this.#corrupt("the checksum of a record's length does not fit: the file is damaged, or no TFRecord file");
    const length = u32(head, 0) + u32(head, 4) * 2 ** 32;
    const remaining = this.#reader.remaining - FOOT;
    if (length > remaining) throw this.#corrupt(`a record is said to have ${length} bytes, and the file has ${Math.max(remaining, 0)} left: it was cut off`);
    return length;
  }

  #corrupt(message: string): RldsError {
    return corruptFile({ file: this.#reader.file.name, offset: this.offset }, message);
  }
}

/** Whether the checksum of a record's length fits. @param head at least HEAD bytes */
export function hasValidHead(head: Uint8Array): boolean {
  return maskedCrc32c(head, 0, 8) === u32(head, 8);
}

function u32(bytes: Uint8Array, at: number): number {
  return dataView(bytes, at, 4).getUint32(0, true);
}

/** A checksum as a TFRecord has it: rotated and moved, so that the sum of bytes that contain sums differs from theirs. */
function maskedCrc32c(bytes: Uint8Array, from = 0, to = bytes.length): number {
  return masked(crc32c(bytes, from, to));
}

function masked(sum: number): number {
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0;
}

/** Bytes of a record beside its data. */
export const OVERHEAD = HEAD + FOOT;

/** A record around data that are in parts, which are not copied. */
export function recordOf(data: readonly Uint8Array[]): readonly Uint8Array[] {
  const [head, foot] = [new Uint8Array(HEAD), new Uint8Array(FOOT)];
  const length = data.reduce((sum, part) => sum + part.length, 0);
  dataView(head).setBigUint64(0, BigInt(length), true);
  dataView(head).setUint32(8, maskedCrc32c(head, 0, 8), true);
  const sum = data.reduce((before, part) => crc32c(part, 0, part.length, before), 0);
  dataView(foot).setUint32(0, masked(sum), true);
  return [head, ...data, foot];
}
