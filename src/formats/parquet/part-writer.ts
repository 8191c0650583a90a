/** One file of Parquet on its way: rows until they are a row group. */
import type { StepLeaf } from "../../rlds/dataset/dataset.ts";
import type { ColumnData } from "../../rlds/dataset/step-columns.ts";
import { isText, sizeOf } from "../../spec/leaf.ts";
import type { StagedFile } from "../sinks/staging.ts";
import type { hyparquetWriter } from "./packages.ts";
import { ABOUT, EPISODE_INDEX, type FileForm, type SchemaElement, STEP_INDEX, type WrittenColumn } from "./schema.ts";

type Writer = Awaited<ReturnType<typeof hyparquetWriter>>;
type Codec = "SNAPPY" | "UNCOMPRESSED";

/** So many elements are a row group, whatever its rows are. */
const GROUP_ELEMENTS = 2 ** 20;
/** And so many bytes of texts and bytes. */
const GROUP_BYTES = 2 ** 25;

/** Rows of one episode, from step `from` on. */
export interface Rows {
  readonly episode: number;
  readonly from: number;
  readonly length: number;
  readonly steps: readonly ColumnData[];
  readonly metadata: readonly ColumnData[];
}

export class PartWriter {
  readonly file: StagedFile;
  readonly #columns: readonly WrittenColumn[];
  readonly #groupRows: number;
  readonly #bytes: InstanceType<Writer["ByteWriter"]>;
  readonly #parquet: InstanceType<Writer["ParquetWriter"]>;
  #indices: [bigint[], bigint[]] = [[], []];
  #rows: unknown[][];
  /** Of texts and bytes in the rows. */
  #textBytes = 0;

  constructor(
    file: StagedFile,
    schema: readonly SchemaElement[],
    columns: readonly WrittenColumn[],
    groupRows: number,
    codec: Codec,
    { ByteWriter, ParquetWriter }: Writer,
  ) {
    this.file = file;
    this.#columns = columns;
    const rowElements = columns.reduce((sum, { size }) => sum + size, 2);
    this.#groupRows = Math.max(1, Math.min(groupRows, Math.floor(GROUP_ELEMENTS / rowElements)));
    this.#bytes = new ByteWriter();
    this.#parquet = new ParquetWriter({ writer: this.#bytes, schema: schema as never, codec, createdBy: "reprise" });
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

  async finish(form: FileForm): Promise<void> {
    await this.#group();
    this.#parquet.kvMetadata = [{ key: ABOUT, value: JSON.stringify(form) }];
    await this.#parquet.finish();
    await this.#drain();
    await this.file.close();
  }

  async #group(): Promise<void> {
    if (this.#indices[0].length === 0) return;
    const index = (name: string, data: bigint[]) => ({ name, data });
    const columnData = [
      ...[index(EPISODE_INDEX, this.#indices[0]), index(STEP_INDEX, this.#indices[1])],
      // A dictionary takes -0 for 0.
      ...this.#columns.map(({ name, leaf }, k) => ({
        name,
        data: this.#rows[k] as unknown[],
        ...(leaf.dtype.startsWith("f") ? { encoding: "PLAIN" as const } : {}),
      })),
    ];
    await this.#parquet.write({ columnData: columnData as never, rowGroupSize: this.#groupRows });
    this.#indices = [[], []];
    this.#textBytes = 0;
    this.#rows = this.#columns.map(() => []);
    await this.#drain();
  }

  /** What was encoded goes to the file; the writer counts on from there. */
  async #drain(): Promise<void> {
    await this.file.write(new Uint8Array(this.#bytes.buffer, 0, this.#bytes.index));
    this.#bytes.index = 0;
  }
}

/** Of all texts or bytes in a value. */
function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.reduce((sum, part) => sum + lengthOf(part), 0) : (value as string | Uint8Array).length;
}

/** A single value, or lists. */
function rowOf(leaf: StepLeaf, data: ColumnData, at: number): unknown {
  const { dtype, shape } = leaf;
  const element = (i: number) => (dtype === "bool" ? data[i] === 1 : data[i]);
  if (shape.length === 0) return element(at);
  const nest = (depth: number, from: number): unknown[] => {
    const below = sizeOf(shape.slice(depth + 1));
    const deeper = depth + 1 < shape.length;
    return Array.from({ length: shape[depth] as number }, (_, k) => (deeper ? nest(depth + 1, from + k * below) : element(from + k)));
  };
  return nest(0, at);
}
