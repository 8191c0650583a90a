/** Where the episodes of generic files begin, by the columns that tell it alone. */
import { EpisodeBoundaries, roleColumns, rolesOf, sameColumn } from "./episode-boundaries.ts";
import type { GenericSchema } from "./generic-schema.ts";
import type { ParquetFile } from "./parquet-file.ts";

/** Of each episode: the number of its file, the row of that file with which it begins, and its steps. */
export interface GenericIndex {
  readonly files: readonly number[];
  readonly rows: readonly number[];
  readonly lengths: readonly number[];
}

/** O(rows), but for groups of which the footer says that they are of one episode. @throws RldsError as readGenericEpisodes, for these columns */
export async function readGenericIndex(
  files: AsyncIterable<ParquetFile>,
  { mapping }: GenericSchema,
  { signal }: { readonly signal?: AbortSignal },
): Promise<GenericIndex> {
  const index = { files: [] as number[], rows: [] as number[], lengths: [] as number[] };
  const boundaries = new EpisodeBoundaries(mapping);
  let [file, length, begin] = [-1, 0, { file: 0, row: 0 }];
  const finishEpisode = (next: { file: number; row: number }) => {
    index.files.push(begin.file);
    index.rows.push(begin.row);
    index.lengths.push(length);
    [length, begin] = [0, next];
  };
  for await (const parquet of files) {
    file++;
    if (length === 0) begin = { file, row: 0 };
    const readColumns = roleColumns(mapping).map(({ path }) => sameColumn(parquet, path));
    const [episode] = mapping.episode === undefined ? [] : readColumns;
    let rowsBefore = 0;
    for (const [group, rows] of parquet.groups.entries()) {
      signal?.throwIfAborted();
      // Of unsigned numbers footers say what those would be with a sign.
      const range = episode?.dtype?.startsWith("i") ? parquet.range(group, episode) : undefined;
      const isSingleEpisode = range !== undefined && range.min === range.max && rows > 0;
      const value = isSingleEpisode && (episode?.dtype === "i64" ? range.min : Number(range.min));
      const ends = isSingleEpisode
        ? boundaries.ofSingleEpisode(value as number | bigint, rows)
        : boundaries.of(rolesOf(mapping, await parquet.read(group, readColumns), rows, parquet.name), rows, 0);
      let from = 0;
      for (const { to } of ends) {
        length += to - from;
        from = to;
        finishEpisode({ file, row: rowsBefore + to });
      }
      length += rows - from;
      rowsBefore += rows;
    }
    if (boundaries.endsWithFile()) finishEpisode({ file: file + 1, row: 0 });
  }
  if (length > 0) finishEpisode({ file: file + 1, row: 0 });
  return index;
}
