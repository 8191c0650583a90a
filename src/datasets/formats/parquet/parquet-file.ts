/** Opens one Parquet file. Provides its columns, its metadata, and its row groups, which are read one at a time. */
import { dataView } from "../../../base/bytes.ts";
import { columnRemedy, corruptFile, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import type { Selection } from "../selection/selection.ts";
import type { SourceFile } from "../sources/source.ts";
import { type FileColumn, fileColumns, nullFor, type SchemaNode } from "./columns.ts";
import { decompressOf, hyparquet } from "./packages.ts";
import { type ChunkValues, decodeChunk, Unreadable } from "./pages.ts";
import { Thrift } from "./thrift.ts";

export interface ParquetFile {
  readonly name: string;
  readonly columns: readonly FileColumn[];
  readonly rows: number;
  /** The number of rows in each row group. */
  readonly groups: readonly number[];
  /** The key-value metadata of the file. */
  readonly about: ReadonlyMap<string, string>;
  /** Returns the smallest and the largest integer of a column in a row group, or undefined if the footer does not contain them or if values are missing. */
  range(group: number, column: FileColumn): ChunkRange | undefined;
  /** Returns the same file with only the selected columns, under their new names. */
  select(selection: Selection): ParquetFile;
  /** Reads columns of a row group. @throws RldsError CORRUPT if a column is damaged · UNSUPPORTED if its type or encoding cannot be read */
  read(group: number, columns: readonly FileColumn[]): Promise<ChunkValues[]>;
}

export interface ChunkRange {
  readonly min: bigint;
  readonly max: bigint;
}

/** The magic number "PAR1". ENCRYPTED is "PARE", which marks an encrypted footer. */
const MAGIC = 0x31524150;
const ENCRYPTED = 0x45524150;

interface Chunk {
  readonly start: number;
  readonly length: number;
  readonly entries: number;
  readonly codec: string;
  readonly range: ChunkRange | undefined;
}

/**
 * Opens a Parquet file and reads its footer.
 * @throws RldsError CORRUPT if the footer is damaged · UNSUPPORTED if the file is encrypted or hyparquet is missing
 */
export async function parquetFile(file: SourceFile, maxBytes: number): Promise<ParquetFile> {
  const packages = await hyparquet();
  const at = (offset?: number) => ({ file: file.name, offset });
  if (file.size < 12) throw corruptFile(at(), `the file has ${file.size} bytes, but a Parquet file has at least 12`);
  const tail = dataView(await file.read(file.size - 8, 8));
  const magic = tail.getUint32(4, true);
  if (magic === ENCRYPTED) throw unsupportedFile({ file: file.name }, "the file is encrypted. Write it again without encryption");
  if (magic !== MAGIC || dataView(await file.read(0, 4)).getUint32(0, true) !== MAGIC)
    throw corruptFile(at(file.size - 4), "the file does not begin and end with PAR1");
  const length = tail.getUint32(0, true);
  const end = file.size - 8 - length;
  if (end < 4) throw corruptFile(at(file.size - 8), `the footer declares ${length} bytes, but the file has ${file.size}`);
  if (length > maxBytes)
    throw corruptFile(at(file.size - 8), `the footer has ${length} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
  const footer = await file.read(end, length + 8);
  try {
    // This parser checks the lengths, so the second parser can trust them.
    new Thrift(footer.subarray(0, length)).struct();
    const metadata = packages.parquetMetadata(footer.slice(), { geoparquet: false });
    const columns = fileColumns(packages.parquetSchema(metadata) as unknown as SchemaNode);
    const names = new Set(columns.map(({ path }) => path));
    if (names.size !== columns.length) throw new RangeError("two columns have the same name");
    const groups = metadata.row_groups.map(({ columns: chunkColumns, num_rows }) => {
      if (chunkColumns.length !== columns.length) throw new RangeError(`a row group has ${chunkColumns.length} columns, but the file has ${columns.length}`);
      const rows = parseCount(num_rows);
      return { rows, chunks: chunkColumns.map(({ meta_data, file_path }): Chunk => chunkOf(meta_data, file_path, end)) };
    });
    const rows = groups.reduce((sum, group) => sum + group.rows, 0);
    if (rows !== parseCount(metadata.num_rows)) throw new RangeError(`the row groups have ${rows} rows, but the footer declares ${metadata.num_rows}`);
    /** The index of each column in a row group, by its path in the file. */
    const places = new Map(columns.map((column, i) => [column.path, i]));
    const placeOf = ({ path }: FileColumn) => places.get(path) as number;
    const base: ParquetFile = {
      ...{ name: file.name, columns, rows, groups: groups.map((group) => group.rows) },
      about: new Map((metadata.key_value_metadata ?? []).map(({ key, value }) => [key, value ?? ""])),
      range: (group, column) => groups[group]?.chunks[placeOf(column)]?.range,
      select: (selection) => (selection.isEmpty ? base : { ...base, columns: selectColumns(columns, selection) }),
      async read(group, selected) {
        const { rows, chunks } = groups[group] as (typeof groups)[number];
        const results: ChunkValues[] = [];
        for (const column of selected) {
          const { start, length, entries, codec } = chunks[placeOf(column)] as Chunk;
          if (length > maxBytes)
            throw corruptFile(at(start), `column ${column.path} has ${length} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
          const decompress = await decompressOf(codec, packages, file.name);
          const bytes = await file.read(start, length);
          try {
            results.push(decodeChunk(bytes, { column, decompress, rows, entries, maxBytes }, packages));
          } catch (cause) {
            if (cause instanceof RldsError) throw cause;
            const message = `column ${column.path} cannot be read: ${reasonOf(cause)}${columnRemedy(column.keys)}`;
            if (cause instanceof Unreadable) throw unsupportedFile({ file: file.name, offset: start }, message, cause);
            throw corruptFile(at(start), message, cause);
          }
        }
        return results;
      },
    };
    return base;
  } catch (cause) {
    if (cause instanceof RldsError) throw cause;
    throw corruptFile(at(end), `the footer cannot be read: ${reasonOf(cause)}`, cause);
  }
}

function selectColumns(columns: readonly FileColumn[], selection: Selection): FileColumn[] {
  return columns.flatMap((column) => {
    const keys = selection.keysOf(column.keys);
    return keys === undefined ? [] : [{ ...column, keys, nullValue: nullFor(column, selection.nullOf(column.keys)) }];
  });
}

/** Returns the reason why a decoder threw, as text. A TypeError means that a required part is missing, but its message would not help the user. */
function reasonOf(cause: unknown): string {
  if (cause instanceof TypeError) return "a required part is missing";
  return cause instanceof Error ? cause.message : String(cause);
}

function parseCount(value: unknown): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0) throw new RangeError(`a number of rows, values or bytes must be an integer >= 0, got ${value}`);
  return number;
}

/** Returns the position and the properties of a column chunk, which must be before the footer. @throws RangeError if its metadata is invalid */
function chunkOf(meta: unknown, path: string | undefined, end: number): Chunk {
  if (path !== undefined && path !== null) throw new RangeError("a column chunk is stored in another file");
  const { data_page_offset, dictionary_page_offset, total_compressed_size, num_values, codec, statistics } = (meta ?? {}) as { [name: string]: unknown };
  // A column without values may have invalid offsets.
  if (parseCount(num_values) === 0) return { start: 4, length: 0, entries: 0, codec: String(codec), range: undefined };
  const data = parseCount(data_page_offset);
  // Some writers use 0 for a missing dictionary.
  const dictionary = dictionary_page_offset === undefined ? 0 : parseCount(dictionary_page_offset);
  const start = dictionary > 0 ? Math.min(data, dictionary) : data;
  const length = parseCount(total_compressed_size);
  if (start < 4 || start + length > end) throw new RangeError(`a column is at bytes ${start} … ${start + length}, outside the data at 4 … ${end}`);
  return { start, length, entries: parseCount(num_values), codec: String(codec), range: rangeOf(statistics) };
}

function rangeOf(statistics: unknown): ChunkRange | undefined {
  const { min_value, max_value, null_count } = (statistics ?? {}) as { [name: string]: unknown };
  const areIntegers = [min_value, max_value].every((value) => typeof value === "bigint" || Number.isSafeInteger(value));
  if (!areIntegers || null_count === undefined || Number(null_count) !== 0) return undefined;
  return { min: BigInt(min_value as number), max: BigInt(max_value as number) };
}
