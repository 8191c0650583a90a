/** Opens tables of comma-separated values as datasets, with one step per row. */
import { integer, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import { setPart } from "../../../schema/nest.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { finalStepSpec } from "../../model/final-step.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { checkFinalObservation, type FinalObservation } from "../columns/flat.ts";
import { fieldsOf } from "../columns/names.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import { damageOf, withDamage } from "../damage.ts";
import { GenericJsonl } from "../jsonl/generic-jsonl.ts";
import { type Line, lineError } from "../jsonl/lines.ts";
import { READ_OPTIONS, type ReadOptions, type RldsReader } from "../reader.ts";
import { type NullValue, Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import type { SourceFile, SourceFolder } from "../sources/source.ts";
import { type CellKind, CellKinds, cellValue } from "./cells.ts";
import { leavesOfHeader, type TableLeaf } from "./header.ts";
import { type RowOptions, type TableForm, type TableRow, tableForm, tableRows } from "./rows.ts";

/** The options of `openCsv`. */
export interface CsvOptions extends ReadOptions {
  /** The specs of step fields, by RLDS name, for fields whose form the file does not determine. */
  readonly stepSpec?: { readonly [name: string]: StepSpec };
  /** The rule for the final step if the rows are transitions, as in `openD4rl`. Default: `rlds`. */
  readonly finalObservation?: FinalObservation;
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

/**
 * Opens a file of values separated by commas, tabs, semicolons or vertical bars. If the source is a folder, opens its only file of this kind. The first line
 * contains the names of the columns, and each row is a step.
 *
 * Columns `observation.0`, `observation.1` … form one leaf. Names such as `observation_0` and `observation[0]` have the same effect, and names such as
 * `image.0.1` form a leaf of two dimensions. Names such as `observation.position.0` and `observation/position.0` form nested leaves. The field names (such as
 * `episode`, `done` or `is_first`), the ends of episodes and the dtypes of numbers follow the rules of `openJsonl`.
 *
 * A column contains numbers or flags (`true`, `False`) if all of its cells do. Any other column contains text. An empty cell is a missing value. In metadata
 * and in a leaf of several numbers, it is NaN. In other fields of a step, it requires the option `null`.
 *
 * Opening reads the file twice. Keeps one episode in memory, with at most maxBytes of text.
 * @throws RldsError NOT_FOUND if the file or folder does not exist
 * @throws RldsError EMPTY if the file has no rows
 * @throws RldsError UNSUPPORTED if the columns cannot be recognized
 * @throws RldsError CORRUPT if a line is damaged
 * @throws RldsError SPEC_MISMATCH if a cell does not fit its column. The error includes the file, the byte and the line
 * @throws TypeError, RangeError if an option is invalid
 */
export async function openCsv<S = RldsStep>(from: Source, options: CsvOptions = {}): Promise<RldsReader<S>> {
  const known = onlyKeys("options", options, `stepSpec, finalObservation, fetch, ${READ_OPTIONS}`);
  const { maxBytes = MAX_SOURCE_BYTES, signal, fetch, finalObservation = "rlds", stepSpec = {}, salvage } = known;
  const selection = new Selection(options);
  const losses = damageOf(salvage);
  integer("maxBytes", maxBytes, 1);
  checkFinalObservation(finalObservation);
  const source = await decompressedSource(from, { signal, maxBytes, fetch, salvage });
  const file = source.file ?? (await onlyFile(source.folder));
  try {
    const table = await CsvTable.open(file, { maxBytes, ...(signal && { signal }), losses }, selection);
    const lines = () => table.lines();
    let first: Line | undefined;
    for await (const line of lines()) {
      first = line;
      break;
    }
    if (first === undefined) throw new RldsError("EMPTY", "the table has no rows below the header", { file: file.name });
    const rows = await GenericJsonl.open(file, first, stepSpec, {
      lines,
      maxBytes,
      ...(signal && { signal }),
      losses,
      selection,
      finalObservation,
      areSteps: true,
    });
    selection.check();
    return {
      format: "csv",
      name: file.name.replace(/\.(csv|tsv)$/i, ""),
      about: {},
      stepSpec: rows.stepSpec,
      metadataSpec: finalStepSpec(rows.metadataSpec),
      close: () => file.close(),
      ...withDamage(losses),
      [Symbol.asyncIterator]: () => rows.episodes(),
    } as RldsReader<unknown> as RldsReader<S>;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Returns the only .csv or .tsv file in a folder. @throws RldsError UNSUPPORTED if the folder has none or several of them */
async function onlyFile(folder: SourceFolder): Promise<SourceFile> {
  const paths = (await folder.list())?.filter((path) => /\.(csv|tsv)$/i.test(path)) ?? [];
  const [path] = paths;
  if (path !== undefined && paths.length === 1) return folder.open(path);
  throw unsupportedFile({ file: folder.name }, `the folder must contain exactly one .csv or .tsv file, got ${paths.length}. Pass one file instead`);
}

interface KindLeaf extends TableLeaf {
  readonly kind: CellKind;
  /** Whether an empty cell is left out, as if it were a missing name in a JSON line. */
  readonly isOptional: boolean;
  /** The replacement for an empty cell among the elements of a leaf. */
  readonly blank: NullValue;
}

/** Presents the rows of a table as objects, as in JSON lines. */
class CsvTable {
  readonly #file: SourceFile;
  readonly #form: TableForm;
  readonly #options: RowOptions;
  readonly #width: number;
  readonly #leaves: readonly KindLeaf[];

  /** Opens a table. Reads the file once, because all cells together determine the kinds of columns. */
  static async open(file: SourceFile, options: RowOptions, selection: Selection): Promise<CsvTable> {
    const form = await tableForm(file);
    let leaves: readonly TableLeaf[] | undefined;
    let kinds: CellKinds[] = [];
    let width = 0;
    try {
      for await (const row of tableRows(file, form, { ...options, losses: undefined })) {
        if (leaves === undefined) {
          leaves = leavesOfHeader(row.cells, { file: file.name, offset: row.at });
          width = row.cells.length;
          kinds = leaves.map(() => new CellKinds());
        } else if (row.cells.length === width)
          for (const [i, { columns }] of leaves.entries()) for (const column of columns) (kinds[i] as CellKinds).add(row.cells[column] as string);
      }
    } catch (error) {
      // When a reader reaches the row, it throws the error again with its place, or records it as a loss.
      if (leaves === undefined || !(error instanceof RldsError)) throw error;
    }
    if (leaves === undefined) throw new RldsError("EMPTY", "the file has no lines", { file: file.name });
    const places = leaves.map(({ keys }) => selection.keysOf(keys) ?? keys);
    const fields = fieldsOf([...new Set(places.map(([top]) => top as string))]);
    const all = leaves.map((leaf, i) => ({
      ...leaf,
      kind: (kinds[i] as CellKinds).kind,
      blank: selection.nullOf(leaf.keys) ?? ((kinds[i] as CellKinds).kind === "flag" ? false : Number.NaN),
      isOptional: fields.get(places[i]?.[0] as string) === undefined && selection.nullOf(leaf.keys) === undefined,
    }));
    return new CsvTable(file, form, options, width, all);
  }

  private constructor(file: SourceFile, form: TableForm, options: RowOptions, width: number, leaves: readonly KindLeaf[]) {
    this.#file = file;
    this.#form = form;
    this.#options = options;
    this.#width = width;
    this.#leaves = leaves;
  }

  async *lines(): AsyncGenerator<Line, void, undefined> {
    const { losses } = this.#options;
    let isHeader = true;
    let isAfterLoss = false;
    for await (const row of tableRows(this.#file, this.#form, this.#options)) {
      if (isHeader) {
        isHeader = false;
        continue;
      }
      isAfterLoss ||= row.isAfterLoss === true;
      if (row.cells.length !== this.#width) {
        const error = lineError(this.#file.name, row, `has ${row.cells.length} cells, but the first line has ${this.#width}`);
        if (losses === undefined) throw error;
        losses.add(error);
        isAfterLoss = true;
        continue;
      }
      const { number, at, bytes } = row;
      // The length must be at least the number of cells. Each cell takes at least one byte, including its separator, but the last row may lack its line break.
      yield { value: this.#step(row), number, at, bytes: bytes + 1, ...(isAfterLoss && { isAfterLoss }) };
      isAfterLoss = false;
    }
  }

  #step({ cells }: TableRow): object {
    const step = {};
    for (const { keys, shape, columns, kind, isOptional, blank } of this.#leaves) {
      const values = columns.map((column) => cellValue(cells[column] as string, kind));
      if (shape.length === 0) {
        if (values[0] !== null || !isOptional) place(step, keys, values[0]);
      } else
        place(
          step,
          keys,
          nested(
            values.map((value) => value ?? blank),
            shape,
          ),
        );
    }
    return step;
  }
}

/** Converts a flat list of values to nested lists of a shape. */
function nested(values: readonly unknown[], shape: readonly number[]): unknown {
  let lists = values;
  for (const length of [...shape.slice(1)].reverse())
    lists = Array.from({ length: lists.length / length }, (_, i) => lists.slice(i * length, (i + 1) * length));
  return lists;
}

function place(step: object, keys: readonly string[], value: unknown): void {
  let at = step as { [name: string]: unknown };
  for (const key of keys.slice(0, -1)) {
    if (!Object.hasOwn(at, key)) setPart(at, key, {});
    at = at[key] as { [name: string]: unknown };
  }
  setPart(at, keys.at(-1) as string, value);
}
