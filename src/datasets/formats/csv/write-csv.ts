/** Writes an RLDS dataset as a table of comma-separated values, with one row per step. */
import { readChunks } from "../../model/chunks.ts";
import type { RldsDataset, StepLeaf, StepSpec } from "../../model/dataset.ts";
import { lastFlagOf } from "../../model/final-observation.ts";
import { FINAL_STEP, finalStepOf, finalStepSpec } from "../../model/final-step.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { fieldOf } from "../columns/names.ts";
import { addFilmLosses } from "../film-references.ts";
import { base64 } from "../jsonl/json-values.ts";
import { type FileTask, metadataRow, writeSingleFile } from "../sinks/single-file.ts";
import type { Sink } from "../sinks/sink.ts";
import type { WriteOptions, WriteReport } from "../sinks/writer.ts";
import { columnNames } from "./column-names.ts";
import { numberText } from "./number-text.ts";

/** The maximum number of elements that are converted to text at a time. */
const CHUNK_ELEMENTS = 2 ** 16;
/** The maximum number of steps that are in memory at a time. */
const CHUNK_STEPS = 1024;
const EPISODE_INDEX = "episode_index";

/**
 * Writes a table with a header and one row per step. The columns are `episode_index`, the elements of each leaf, and the metadata of the episode, including
 * `final_step`. The metadata is repeated in each row. The columns of a leaf are named `observation/state.0`, or `observation/grid.0.1` for a matrix, or
 * `reward` for a single value. Numbers have the fewest digits that restore their value in their dtype. Flags are `true` and `false`. The rows are RLDS steps,
 * so final observations are also rows.
 *
 * If the path does not end with .csv, it is a folder, and the file is steps.csv. The same data produces the same bytes. At most 1024 steps are in memory at a
 * time.
 * @throws TypeError if an option is invalid
 * @throws RldsError SPEC_MISMATCH if a step does not match the spec. The error includes the episode, the step and the leaf
 * @throws RldsError UNSUPPORTED if two columns would have the same name, or if `strict` is set and data would be lost
 * @throws RldsError EMPTY if the dataset has neither a spec nor a step from which to infer it
 * @throws RldsError IO if the target cannot be written or already exists
 */
export function writeCsv(rlds: RldsDataset<unknown>, to: Sink, options: WriteOptions = {}): Promise<WriteReport> {
  return writeSingleFile(rlds, to, { endings: [".csv"], name: "steps.csv" }, options, async (task, { onProgress }) => {
    const { data, file, signal, losses, about } = task;
    const table = new Table(task);
    if (about !== undefined && Object.keys(about).length > 0) losses.add("about", "CSV has values of steps only");
    task.checkLosses();
    const { unparse } = await import("./papaparse.ts");
    const encoder = new TextEncoder();
    const write = (rows: readonly (readonly string[])[]) => file.write(encoder.encode(`${unparse(rows as string[][], { newline: "\n" })}\n`));
    await write([table.header]);
    let [episodes, steps] = [0, 0];
    for await (const { steps: episodeSteps, ...metadata } of data.episodes) {
      losses.addSplits(metadata);
      // Every row contains the kind of the last step. If steps arrive one by one, it is not known yet, so the last step is assumed to have `is_last`.
      const kind = finalStepOf(metadata, lastFlagOf(episodeSteps) ?? true);
      const cells = table.metadataCells({ ...metadata, [FINAL_STEP]: kind }, episodes);
      let length = 0;
      for await (const chunk of readChunks(episodeSteps, data.stepSpec, { episode: episodes, max: table.chunkSteps, signal })) {
        await write(Array.from({ length: chunk.length }, (_, i) => [String(episodes), ...table.stepCells(chunk.data, i), ...cells]));
        length += chunk.length;
      }
      if (length === 0) losses.addEpisode("empty episodes", "CSV has rows of steps only");
      episodes++;
      steps += length;
      onProgress?.({ episodes, steps, bytes: file.bytes });
    }
    return { episodes, steps, repeated: 0 };
  });
}

/** A leaf and the names of its columns. */
interface TableLeaf extends LeafEntry {
  readonly index: number;
  readonly names: readonly string[];
}

class Table {
  readonly header: readonly string[];
  /** The number of steps per chunk. */
  readonly chunkSteps: number;
  readonly #steps: readonly TableLeaf[];
  readonly #metadata: readonly TableLeaf[];
  readonly #metadataSpec: { readonly [name: string]: StepSpec };

  /** @throws RldsError UNSUPPORTED if two columns would have the same name */
  constructor({ data: { stepSpec, metadataSpec }, losses }: FileTask) {
    this.#metadataSpec = finalStepSpec(metadataSpec);
    // In data that was read from such a table, `final_step` and `episode_index` are leaves. These leaves are left out, because the episode may now state
    // another kind and the new file has its own numbers.
    this.#steps = leavesOf(stepSpec)
      .map(toTableLeaf)
      .filter(({ path }) => path !== FINAL_STEP && path !== EPISODE_INDEX);
    const stepNames = new Set(this.#steps.flatMap(({ names }) => names));
    const metadata = leavesOf(this.#metadataSpec as StepSpec).map(toTableLeaf);
    this.#metadata = metadata.filter(({ path, keys, names }) => {
      // The new file has its own episode numbers.
      if (path === EPISODE_INDEX) return false;
      const isStep = names.some((name) => stepNames.has(name));
      const isField = fieldOf(keys[0] as string) !== undefined;
      if (isStep || isField)
        losses.add(`metadata ${path}`, isStep ? "the steps have a column of this name" : "a column of this name would be a field of a step");
      return !isStep && !isField;
    });
    this.header = [EPISODE_INDEX, ...[...this.#steps, ...this.#metadata].flatMap(({ names }) => names)];
    const twice = this.header.find((name, i) => this.header.indexOf(name) < i);
    if (twice !== undefined) throw new RldsError("UNSUPPORTED", `two columns would be named ${JSON.stringify(twice)}. Rename a leaf with mapSteps`);
    for (const { path, leaf, size } of [...this.#steps, ...this.#metadata]) {
      if (leaf.dtype === "bytes") losses.add(path, "CSV has texts instead of bytes: they are written as base64");
      if (size === 0) losses.add(path, "CSV has no value without elements");
    }
    addFilmLosses(losses, stepSpec);
    losses.addEmptyGroups(stepSpec, metadataSpec);
    this.chunkSteps = Math.max(1, Math.min(CHUNK_STEPS, Math.floor(CHUNK_ELEMENTS / this.header.length)));
  }

  stepCells(data: readonly ColumnData[], row: number): string[] {
    return this.#steps.flatMap((leaf) => cellsOf(leaf, data[leaf.index] as ColumnData, row));
  }

  metadataCells(metadata: object, episode: number): string[] {
    const data = metadataRow(this.#metadataSpec, metadata, episode);
    return this.#metadata.flatMap((leaf) => cellsOf(leaf, data[leaf.index] as ColumnData, 0));
  }
}

function toTableLeaf(entry: LeafEntry, index: number): TableLeaf {
  return { ...entry, index, names: columnNames(entry.path, entry.leaf.shape) };
}

function cellsOf({ leaf, size }: TableLeaf, data: ColumnData, row: number): string[] {
  return Array.from({ length: size }, (_, k) => cellOf(leaf, data[row * size + k]));
}

function cellOf({ dtype }: StepLeaf, value: unknown): string {
  if (dtype === "bool") return value === 1 ? "true" : "false";
  if (dtype === "bytes") return base64(value as Uint8Array);
  return typeof value === "number" ? numberText(value, dtype) : String(value);
}
