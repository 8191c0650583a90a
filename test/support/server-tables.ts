/** Writes descriptions of the tables on a server by hand, with signatures of any data type and selectors that clients do not know. */
import { BytesWriter } from "../../src/reverb/wire/bytes-writer.ts";

/** A column of a signature: TensorFlow's number of its data type, and its shape. -1 is any size, and null any shape. */
export type WrittenLeaf = readonly [dtype: number, shape: readonly number[] | null];
export interface WrittenTable {
  readonly name: string;
  readonly size?: number;
  readonly maxSize?: number;
  readonly signature?: { readonly [column: string]: WrittenLeaf };
  /** Whether its sampler is unknown to clients. */
  readonly oddSampler?: boolean;
  readonly oddRemover?: boolean;
}

/** Returns a ServerInfoResponse. */
export function serverInfoOf(tables: readonly WrittenTable[]): Uint8Array<ArrayBuffer> {
  const writer = new BytesWriter();
  for (const { name, size = 0, maxSize = 1000, signature, oddSampler = false, oddRemover = false } of [...tables].reverse()) {
    const since = writer.length;
    writer.string(8, name);
    writer.int64(7, size);
    if (signature !== undefined) writeDict(writer, 6, signature);
    writer.int64(3, maxSize);
    writeSelector(writer, 2, oddRemover);
    writeSelector(writer, 1, oddSampler);
    writer.message(2, since);
  }
  return writer.take();
}

function writeSelector(writer: BytesWriter, field: number, odd: boolean): void {
  const since = writer.length;
  // No version of Reverb uses field 9 so far.
  writer.bool(odd ? 9 : 1, true);
  writer.message(field, since);
}

/** Writes a StructuredValue for a dict. */
function writeDict(writer: BytesWriter, field: number, columns: NonNullable<WrittenTable["signature"]>): void {
  const value = writer.length;
  const dict = writer.length;
  for (const [name, [dtype, shape]] of Object.entries(columns)) {
    const pair = writer.length;
    const structure = writer.length;
    const spec = writer.length;
    writer.int32(3, dtype);
    const dims = writer.length;
    if (shape === null) writer.bool(3, true);
    else
      for (const n of [...shape].reverse()) {
        const dim = writer.length;
        writer.int64(1, n);
        writer.message(2, dim);
      }
    writer.message(2, dims);
    writer.message(33, spec);
    writer.message(2, structure);
    writer.string(1, name);
    writer.message(1, pair);
  }
  writer.message(53, dict);
  writer.message(field, value);
}
