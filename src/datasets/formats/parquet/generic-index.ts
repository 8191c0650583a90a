/** Finds the beginnings of the episodes in generic files. Only the columns that mark them are read. */
import { EpisodeBoundaries, endsWithData, roleColumns, rolesOf, sameColumn } from "./episode-boundaries.ts";
import type { GenericSchema } from "./generic-schema.ts";
import type { ParquetFile } from "./parquet-file.ts";

/** For each episode, the number of its file, the row with which the episode begins, and the number of its steps. */
export interface GenericIndex {
  readonly files: readonly number[];
  readonly rows: readonly number[];
  readonly lengths: readonly number[];
  /** Whether the rows of an episode are not consecutive, because the episode number reappears after a different number. */
  readonly isInterleaved: boolean;
}

/**
 * Reads the index. Costs O(rows), but row groups whose statistics show a single episode are not read.
 * @throws RldsError the errors of readGenericEpisodes that concern the columns with a role
 */
export async function readGenericIndex(
  files: AsyncIterable<ParquetFile>,
  { mapping, hasNext }: GenericSchema,
  { signal }: { readonly signal?: AbortSignal },
): Promise<GenericIndex> {
  const index = { files: [] as number[], rows: [] as number[], lengths: [] as number[] };
  const boundaries = new EpisodeBoundaries(mapping);
  let [file, length, begin] = [-1, 0, { file: 0, row: 0 }];
  const known = new Set<unknown>();
  let isInterleaved = false;
  let previous: unknown;
  const note = (value: unknown) => {
    if (value === previous) return;
    isInterleaved ||= known.has(value);
    known.add(value);
    previous = value;
  };
  const finishEpisode = (next: { file: number; row: number }, isEnd: boolean) => {
    index.files.push(begin.file);
    index.rows.push(begin.row);
    index.lengths.push(length + Number(hasNext && isEnd));
    [length, begin] = [0, next];
  };
  const readRoles = async (parquet: ParquetFile, group: number, rows: number) => {
    const columns = roleColumns(mapping).map(({ path }) => sameColumn(parquet, path));
    const roles = rolesOf(mapping, await parquet.read(group, columns), rows, parquet.name);
    if (roles.episode !== undefined) for (let i = 0; i < rows; i++) note(roles.episode[i]);
    return roles;
  };
  for await (const parquet of files) {
    file++;
    if (length === 0) begin = { file, row: 0 };
    const readColumns = roleColumns(mapping).map(({ path }) => sameColumn(parquet, path));
    const [episode] = mapping.episode === undefined ? [] : readColumns;
    let rowsBefore = 0;
    for (const [group, rows] of parquet.groups.entries()) {
      signal?.throwIfAborted();
      // The statistics of unsigned numbers are not used, because footers store their bounds as if they were signed.
      const range = episode?.dtype?.startsWith("i") ? parquet.range(group, episode) : undefined;
      const isSingleEpisode = range !== undefined && range.min === range.max && rows > 0;
      const value = isSingleEpisode && (episode?.dtype === "i64" ? range.min : Number(range.min));
      const ends = isSingleEpisode ? boundaries.ofSingleEpisode(value as number | bigint, rows) : boundaries.of(await readRoles(parquet, group, rows), rows, 0);
      if (isSingleEpisode) note(value);
      let from = 0;
      for (const { to, isEnd } of ends) {
        length += to - from;
        from = to;
        finishEpisode({ file, row: rowsBefore + to }, isEnd);
      }
      length += rows - from;
      rowsBefore += rows;
    }
    if (boundaries.endsWithFile()) finishEpisode({ file: file + 1, row: 0 }, true);
  }
  if (length > 0) finishEpisode({ file: file + 1, row: 0 }, endsWithData(mapping));
  return { ...index, isInterleaved };
}
