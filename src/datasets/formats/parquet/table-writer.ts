/** Writes one Parquet file, one row group at a time. */

import { isFloat } from "../../../schema/dtype.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { StagedFile } from "../sinks/staging.ts";
import type { hyparquetWriter } from "./packages.ts";
import type { SchemaElement } from "./schema.ts";

export type ParquetPackage = Awaited<ReturnType<typeof hyparquetWriter>>;
export type Codec = "SNAPPY" | "UNCOMPRESSED";

/** The rows of one column in a row group. */
export interface ColumnRows {
  readonly name: string;
  readonly data: readonly unknown[];
  /** The encoding. Default: the choice of hyparquet-writer. */
  readonly encoding?: "PLAIN";
}

export class TableWriter {
  readonly file: StagedFile;
  readonly #bytes: InstanceType<ParquetPackage["ByteWriter"]>;
  readonly #parquet: InstanceType<ParquetPackage["ParquetWriter"]>;

  constructor(file: StagedFile, schema: readonly SchemaElement[], codec: Codec, { ByteWriter, ParquetWriter }: ParquetPackage) {
    this.file = file;
    this.#bytes = new ByteWriter();
    this.#parquet = new ParquetWriter({ writer: this.#bytes, schema: schema as never, codec, createdBy: "reprise" });
  }

  /** Writes a row group. All columns must have the same number of rows. */
  async write(columnData: readonly ColumnRows[]): Promise<void> {
    await this.#parquet.write({ columnData: columnData as never, rowGroupSize: Math.max(columnData[0]?.data.length ?? 0, 1) });
    await this.#drain();
  }

  /** Writes the footer and closes the file. @param about the key-value metadata of the file */
  async finish(about: { readonly [key: string]: string } = {}): Promise<void> {
    this.#parquet.kvMetadata = Object.entries(about).map(([key, value]) => ({ key, value }));
    await this.#parquet.finish();
    await this.#drain();
    await this.file.close();
  }

  /** Passes the encoded bytes to the file. The writer continues to count from the end of these bytes. */
  async #drain(): Promise<void> {
    await this.file.write(new Uint8Array(this.#bytes.buffer, 0, this.#bytes.index));
    this.#bytes.index = 0;
  }
}

/**
 * Returns the encoding of a leaf. Floats have no dictionary, because a dictionary would turn -0 into 0. Bytes, such as images, have no dictionary, because they
 * rarely repeat.
 */
export function encodingOf({ dtype }: StepLeaf): Pick<ColumnRows, "encoding"> {
  return isFloat(dtype) || dtype === "bytes" ? { encoding: "PLAIN" } : {};
}

/** Returns the value whose elements begin at `at`, as a single value or as lists. */
export function rowOf({ dtype, shape }: StepLeaf, data: ColumnData, at: number): unknown {
  const element = (i: number) => (dtype === "bool" ? data[i] === 1 : data[i]);
  if (shape.length === 0) return element(at);
  const nest = (depth: number, from: number): unknown[] => {
    const below = sizeOf(shape.slice(depth + 1));
    const deeper = depth + 1 < shape.length;
    return Array.from({ length: shape[depth] as number }, (_, k) => (deeper ? nest(depth + 1, from + k * below) : element(from + k)));
  };
  return nest(0, at);
}
