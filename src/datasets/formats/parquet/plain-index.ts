/** Where the episodes of somebody else's files begin, by the columns that say it alone. */
import { Cuts, roleColumns, rolesOf, sameColumn } from "./cuts.ts";
import type { ParquetFile } from "./parquet-file.ts";
import type { PlainForm } from "./plain-form.ts";

/** Of each episode: the number of its file, the row of that file with which it begins, and its steps. */
export interface PlainIndex {
  readonly files: readonly number[];
  readonly rows: readonly number[];
  readonly lengths: readonly number[];
}

/** O(rows), but for groups of which the footer says that they are of one episode. @throws RldsError as plainEpisodes, of these columns */
export async function plainIndex(
  files: AsyncIterable<ParquetFile>,
  { mapping }: PlainForm,
  { signal }: { readonly signal?: AbortSignal },
): Promise<PlainIndex> {
  const index = { files: [] as number[], rows: [] as number[], lengths: [] as number[] };
  const cuts = new Cuts(mapping);
  let [file, length, begin] = [-1, 0, { file: 0, row: 0 }];
  const ended = (next: { file: number; row: number }) => {
    index.files.push(begin.file);
    index.rows.push(begin.row);
    index.lengths.push(length);
    [length, begin] = [0, next];
  };
  for await (const parquet of files) {
    file++;
    if (length === 0) begin = { file, row: 0 };
    const wanted = roleColumns(mapping).map(({ place }) => sameColumn(parquet, place));
    const [episode] = mapping.episode === undefined ? [] : wanted;
    let before = 0;
    for (const [group, rows] of parquet.groups.entries()) {
      signal?.throwIfAborted();
      // Of unsigned numbers footers say what those would be with a sign.
      const range = episode?.dtype?.startsWith("i") ? parquet.range(group, episode) : undefined;
      const isOne = range !== undefined && range.min === range.max && rows > 0;
      const value = isOne && (episode?.dtype === "i64" ? range.min : Number(range.min));
      const found = isOne
        ? cuts.same(value as number | bigint, rows)
        : cuts.of(rolesOf(mapping, await parquet.read(group, wanted), rows, parquet.name), rows, 0);
      let from = 0;
      for (const { to } of found) {
        length += to - from;
        from = to;
        ended({ file, row: before + to });
      }
      length += rows - from;
      before += rows;
    }
    if (cuts.endsWithFile()) ended({ file: file + 1, row: 0 });
  }
  if (length > 0) ended({ file: file + 1, row: 0 });
  return index;
}
