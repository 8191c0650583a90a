/** Reads episodes whose rows are interleaved, as in a table that several environments write. */
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { ReadEpisode } from "../reader.ts";
import { roleColumns, sameColumn } from "./episode-boundaries.ts";
import { EpisodeBuffer } from "./episode-buffer.ts";
import { createEpisode, type GenericReadOptions, readGroup } from "./generic-episodes.ts";
import type { GenericSchema } from "./generic-schema.ts";
import type { ParquetFile } from "./parquet-file.ts";
import { bytesOf } from "./table.ts";

const BOOL: StepLeaf = { dtype: "bool", shape: [] };

/**
 * Yields the episodes in the order in which they begin, each with its rows in the order of the file. All episodes are in memory.
 * @throws RldsError CORRUPT if the episodes take more than maxBytes
 */
export async function* readInterleavedEpisodes<S>(
  files: AsyncIterable<ParquetFile>,
  schema: GenericSchema,
  { maxBytes, signal, losses }: GenericReadOptions,
): AsyncGenerator<ReadEpisode<S>, void> {
  const { mapping, leaves } = schema;
  const spec = [...leaves.map(({ leaf }) => leaf), BOOL, BOOL, BOOL] as StepSpec;
  const sizes = leavesOf(spec).map(({ size }) => size);
  const buffers = new Map<unknown, EpisodeBuffer<unknown>>();
  let bytes = 0;
  for await (const file of files) {
    const columns = [...leaves.map(({ path, leaf }) => sameColumn(file, path, leaf)), ...roleColumns(mapping).map(({ path }) => sameColumn(file, path))];
    for (const group of file.groups.keys()) {
      signal?.throwIfAborted();
      const chunk = await readGroup(schema, file, group, { maxBytes, columns, losses });
      if (chunk === undefined) continue;
      bytes += bytesOf(chunk.data);
      if (bytes > maxBytes)
        throw corruptFile(
          { file: file.name },
          `the episodes of column ${mapping.episode?.keys.join("/")} are interleaved, and their rows take more than the ${maxBytes} bytes that maxBytes allows. Sort the file by that column`,
        );
      for (const [episode, rows] of rowsByEpisode(chunk.roles.episode as ColumnData)) {
        const buffer = buffers.get(episode) ?? new EpisodeBuffer<unknown>(spec, maxBytes);
        buffers.set(episode, buffer);
        buffer.push(
          chunk.data.map((column, k) => gather(column, sizes[k] as number, rows)),
          0,
          rows.length,
          file.name,
        );
      }
    }
  }
  for (const [episode, buffer] of buffers) {
    buffers.delete(episode);
    yield createEpisode<S>(schema, buffer.take().data, true, (mapping.first ?? mapping.last) !== undefined);
  }
}

function rowsByEpisode(episodes: ColumnData): Map<unknown, number[]> {
  const rows = new Map<unknown, number[]>();
  for (let i = 0; i < episodes.length; i++) {
    const found = rows.get(episodes[i]);
    if (found === undefined) rows.set(episodes[i], [i]);
    else found.push(i);
  }
  return rows;
}

function gather(column: ColumnData, size: number, rows: readonly number[]): ColumnData {
  if (Array.isArray(column)) return rows.flatMap((row) => column.slice(row * size, (row + 1) * size)) as ColumnData;
  const data = column as Float32Array;
  const gathered = new (data.constructor as Float32ArrayConstructor)(rows.length * size);
  rows.forEach((row, i) => {
    gathered.set(data.subarray(row * size, (row + 1) * size), i * size);
  });
  return gathered;
}
