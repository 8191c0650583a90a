/** Writes one Parquet file. Rows are buffered until they form a row group. */

import { isText } from "../../../schema/leaf.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { StagedFile } from "../sinks/staging.ts";
import { ABOUT, EPISODE_INDEX, type FileSchema, type OutputColumn, type SchemaElement, STEP_INDEX } from "./schema.ts";
import { type Codec, encodingOf, type ParquetPackage, rowOf, TableWriter } from "./table-writer.ts";

/** The number of elements that completes a row group, even if it has fewer rows than allowed. */
const GROUP_ELEMENTS = 2 ** 20;
/** The total length of texts, in UTF-16 code units, and bytes that completes a row group, even if it has fewer rows than allowed. */
const GROUP_BYTES = 2 ** 25;

/** Consecutive rows of one episode, beginning with step `from`. */
export interface Rows {
  readonly episode: number;
  readonly from: number;
  readonly length: number;
  readonly steps: readonly ColumnData[];
  readonly metadata: readonly ColumnData[];
}

export class PartWriter {
  readonly file: StagedFile;
  readonly #columns: readonly OutputColumn[];
  readonly #groupRows: number;
  readonly #table: TableWriter;
  #indices: [bigint[], bigint[]] = [[], []];
  #rows: unknown[][];
  /** The total length of the texts and bytes in the buffered rows. */
  #textBytes = 0;

  constructor(file: StagedFile, schema: readonly SchemaElement[], columns: readonly OutputColumn[], groupRows: number, codec: Codec, packages: ParquetPackage) {
    this.file = file;
    this.#columns = columns;
    const rowElements = columns.reduce((sum, { size }) => sum + size, 2);
    this.#groupRows = Math.max(1, Math.min(groupRows, Math.floor(GROUP_ELEMENTS / rowElements)));
    this.#table = new TableWriter(file, schema, codec, packages);
    this.#rows = columns.map(() => []);
  }

  async add({ episode, from, length, steps, metadata }: Rows): Promise<void> {
    const stepColumns = this.#columns.filter((column) => column.of === "step").length;
    for (let i = 0; i < length; i++) {
      this.#indices[0].push(BigInt(episode));
      this.#indices[1].push(BigInt(from + i));
      this.#columns.forEach(({ leaf, size, of }, k) => {
        const value = of === "step" ? rowOf(leaf, steps[k] as ColumnData, i * size) : rowOf(leaf, metadata[k - stepColumns] as ColumnData, 0);
        (this.#rows[k] as unknown[]).push(value);
        if (isText(leaf)) this.#textBytes += lengthOf(value);
      });
      if (this.#indices[0].length >= this.#groupRows || this.#textBytes >= GROUP_BYTES) await this.#group();
    }
  }

  async finish(schema: FileSchema): Promise<void> {
    await this.#group();
    await this.#table.finish({ [ABOUT]: JSON.stringify(schema) });
  }

  async #group(): Promise<void> {
    if (this.#indices[0].length === 0) return;
    await this.#table.write([
      { name: EPISODE_INDEX, data: this.#indices[0] },
      { name: STEP_INDEX, data: this.#indices[1] },
      ...this.#columns.map(({ name, leaf }, k) => ({ name, data: this.#rows[k] as unknown[], ...encodingOf(leaf) })),
    ]);
    this.#indices = [[], []];
    this.#textBytes = 0;
    this.#rows = this.#columns.map(() => []);
  }
}

/** Returns the total length of all texts or bytes in a value. */
function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.reduce((sum, part) => sum + lengthOf(part), 0) : (value as string | Uint8Array).length;
}
