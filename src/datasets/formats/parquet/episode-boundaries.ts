/** Finds the ends of episodes in generic files. An episode ends where the episode number changes or a flag is set. */
import type { StepLeaf } from "../../model/dataset.ts";
import { columnRemedy, RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { FileColumn } from "./columns.ts";
import type { Mapping } from "./mapping.ts";
import type { ParquetFile } from "./parquet-file.ts";
import { columnOf } from "./table.ts";

export const ROLES = ["episode", "first", "last", "terminal", "truncated", "done"] as const;

export type Roles = { readonly [role in (typeof ROLES)[number]]?: ColumnData };

/** The columns that were read from a row group. */
type Chunks = Awaited<ReturnType<ParquetFile["read"]>>;

/** The end of an episode. `to` is the row of the row group before which the episode ends, and `isEnd` is set if the data marks this end. */
export interface EpisodeBoundary {
  readonly to: number;
  readonly isEnd: boolean;
}

export class EpisodeBoundaries {
  readonly #mapping: Mapping;
  #previous: unknown;
  /** The number of rows in the current episode. */
  #length = 0;

  constructor(mapping: Mapping) {
    this.#mapping = mapping;
  }

  /** Yields the ends of episodes in a row group, starting at row `from`. */
  *of(roles: Roles, rows: number, from: number): Generator<EpisodeBoundary, void> {
    const { episode, first, last, terminal, truncated, done } = roles;
    for (let i = from; i < rows; i++) {
      const isNewEpisode = episode === undefined ? isSet(first, i) : episode[i] !== this.#previous;
      if (isNewEpisode && this.#length > 0) {
        this.#length = 0;
        yield { to: i, isEnd: episode !== undefined };
      }
      this.#previous = episode?.[i];
      this.#length++;
      if (episode !== undefined || !(isSet(last, i) || isSet(terminal, i) || isSet(truncated, i) || isSet(done, i))) continue;
      this.#length = 0;
      yield { to: i + 1, isEnd: true };
    }
  }

  /** Does the same as `of` for a row group whose rows all have the same episode number. */
  *ofSingleEpisode(episode: bigint | number, rows: number): Generator<EpisodeBoundary, void> {
    if (episode !== this.#previous && this.#length > 0) {
      this.#length = 0;
      yield { to: 0, isEnd: true };
    }
    this.#previous = episode;
    this.#length += rows;
  }

  /** Ends the episode, so the next row begins another episode. */
  cut(): void {
    this.#length = 0;
    this.#previous = undefined;
  }

  /** Ends the file. Returns whether this also ends the episode. If nothing marks episodes, each file is an episode. */
  endsWithFile(): boolean {
    const { episode, first, last, terminal, truncated, done } = this.#mapping;
    const isEnd = this.#length > 0 && [episode, first, last, terminal, truncated, done].every((column) => column === undefined);
    if (isEnd) this.#length = 0;
    return isEnd;
  }
}

/**
 * Returns whether the last episode ends with the data, although no row marks this end. If flags mark terminations but no flag marks truncations, the end of the
 * data truncates the episode.
 */
export function endsWithData({ episode, last, terminal, truncated, done }: Mapping): boolean {
  return episode !== undefined || (terminal !== undefined && [last, truncated, done].every((column) => column === undefined));
}

/** Returns the columns that have a role, such as the column of episode numbers. */
export function roleColumns(mapping: Mapping): FileColumn[] {
  return ROLES.flatMap((role) => mapping[role] ?? []);
}

/** Checks and returns the values of the columns that have a role. @throws RldsError INVALID_DATA if a value is missing */
export function rolesOf(mapping: Mapping, read: Chunks, rows: number, file: string): Roles {
  const roles: { [role in (typeof ROLES)[number]]?: ColumnData } = {};
  for (const [k, role] of ROLES.filter((role) => mapping[role] !== undefined).entries()) {
    const column = mapping[role] as FileColumn;
    roles[role] = columnOf(read[k] as never, { dtype: column.dtype, shape: [] } as StepLeaf, rows, { file, column });
    checkPresent(roles[role] as ColumnData, column, file);
  }
  return roles;
}

/** Checks that no float is missing, that is, NaN. @throws RldsError INVALID_DATA if one is missing */
function checkPresent(values: ColumnData, column: FileColumn, file: string): void {
  if (!(values instanceof Float32Array || values instanceof Float64Array)) return;
  const row = values.findIndex((value) => Number.isNaN(value));
  if (row >= 0)
    throw new RldsError(
      "INVALID_DATA",
      `column ${column.keys.join("/")} must have a value in every row, got none or NaN in row ${row} of a row group${columnRemedy(column.keys, true)}`,
      { file },
    );
}

export function isSet(flags: ColumnData | undefined, i: number): boolean {
  return flags !== undefined && Number(flags[i]) !== 0;
}

/** Returns the column at a path, which must match the column of the first file. @throws RldsError SPEC_MISMATCH if the column is missing or differs */
export function sameColumn(file: ParquetFile, path: string, leaf?: StepLeaf): FileColumn {
  const column = file.columns.find((column) => column.path === path);
  if (column === undefined || (leaf !== undefined && (column.dtype !== leaf.dtype || column.listDepth !== leaf.shape.length)))
    throw new RldsError(
      "SPEC_MISMATCH",
      `the file must have a column ${path}, as in the first file, got ${column === undefined ? "none" : `a column of ${column.type}`}`,
      { file: file.name },
    );
  return column;
}
