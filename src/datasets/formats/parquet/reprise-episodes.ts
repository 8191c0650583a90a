/** Reads the episodes of files that writeParquet wrote. */
import { pack } from "../../../schema/nest.ts";
import { Collector } from "../../model/collector.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { lastFlagOf } from "../../model/final-observation.ts";
import { FINAL_STEP, finalStepOf } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile, type RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import type { Damage } from "../damage.ts";
import { valuesOfJson } from "../jsonl/json-values.ts";
import type { ReadEpisode } from "../reader.ts";
import type { SelectedSpec } from "../selection/selected-spec.ts";
import { EpisodeBuffer } from "./episode-buffer.ts";
import type { ParquetFile } from "./parquet-file.ts";
import { findRepriseColumns, readRepriseSchema } from "./reprise-schema.ts";
import type { FileSchema } from "./schema.ts";
import { bytesOf, columnOf, slice } from "./table.ts";

export interface RepriseReadOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** The leaves of steps that are read. */
  readonly selected: SelectedSpec;
  /** The first part and the first episode to read. `part` is the number of the first file. Default: the beginning. */
  readonly start?: { readonly part: number; readonly episode: number };
  /** Whether only some of the files are read. Default: false. */
  readonly isPart?: boolean;
}

/**
 * Yields the episodes in files of writeParquet. @param schema the schema of the first file, which all other files must have
 * @throws RldsError CORRUPT if a file is damaged or missing · UNSUPPORTED if another version wrote a file
 */
export async function* readRepriseEpisodes<S>(
  files: AsyncIterable<ParquetFile>,
  schema: FileSchema,
  { maxBytes, signal, selected, start = { part: 0, episode: 0 }, isPart = false }: RepriseReadOptions,
): AsyncGenerator<ReadEpisode<S>, void> {
  const { stepSpec, metadataSpec } = schema;
  const buffer = new EpisodeBuffer<S>(selected.spec, maxBytes);
  let metadata: readonly ColumnData[] = [];
  let { part } = start;
  let last = false;
  /** The number of the current episode, or of the next episode if none has begun. */
  let { episode } = start;
  let isBefore = episode > 0;
  for await (const file of files) {
    const corrupt = (message: string) => corruptFile({ file: file.name, episode }, message);
    const fileSchema = readRepriseSchema(file);
    if (fileSchema === undefined || JSON.stringify([fileSchema.stepSpec, fileSchema.metadataSpec]) !== JSON.stringify([stepSpec, metadataSpec]))
      throw corrupt("the spec of the file differs from that of the first file");
    if (last) throw corrupt(`part ${fileSchema.part} follows the last part`);
    if (fileSchema.part !== part++) throw corrupt(`the next part must be ${part - 1}, got ${fileSchema.part}`);
    last = fileSchema.last;
    const { columns: allColumns, episode: episodeColumn, step: stepColumn } = findRepriseColumns(file, fileSchema);
    const stepColumns = allColumns.filter(({ of }) => of === "step");
    const columns = [...selected.places.map((place) => stepColumns[place] as (typeof allColumns)[number]), ...allColumns.filter(({ of }) => of === "episode")];
    const waiting = fileSchema.empty.filter(([index]) => index >= start.episode);
    const empty = function* (endEpisode: number): Generator<ReadEpisode<S>, void> {
      for (; waiting.length > 0 && (waiting[0]?.[0] as number) < endEpisode; episode++) {
        const [index, values] = waiting.shift() as readonly [number, unknown];
        if (index !== episode) throw corrupt(`the next episode must be ${episode}, got ${index}`);
        const data = collectMetadata(metadataSpec, values, file.name);
        yield {
          [FINAL_STEP]: "transition",
          ...(pack(metadataSpec as StepSpec, rowOf(metadataSpec, data)) as object),
          steps: new StepColumns<S>(selected.spec, new Collector(selected.spec, 1).take().data, 0),
        };
      }
    };
    const finishEpisode = (): ReadEpisode<S> => {
      episode++;
      const steps = buffer.take();
      const finalStep = finalStepOf({}, lastFlagOf(steps) === true);
      return { [FINAL_STEP]: finalStep, ...(pack(metadataSpec as StepSpec, rowOf(metadataSpec, metadata)) as object), steps };
    };
    let following = file.rows;
    for (const [group, rows] of file.groups.entries()) {
      signal?.throwIfAborted();
      following -= rows;
      const range = isBefore ? file.range(group, episodeColumn) : undefined;
      if (range !== undefined && range.max < BigInt(episode)) continue;
      const readColumns = [episodeColumn, stepColumn, ...columns.map(({ column }) => column)];
      const read = await file.read(group, readColumns);
      const [episodes, steps] = [0, 1].map(
        (k) => columnOf(read[k] as never, { dtype: "i64", shape: [] }, rows, { file: file.name, column: readColumns[k] as never }) as BigInt64Array,
      ) as [BigInt64Array, BigInt64Array];
      const data = columns.map(({ column, leaf }, k) => columnOf(read[k + 2] as never, leaf, rows, { file: file.name, column }));
      if (bytesOf(data) > maxBytes) throw corrupt(`a row group takes more than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
      const ofSteps = data.filter((_, k) => columns[k]?.of === "step");
      const ofEpisode = data.filter((_, k) => columns[k]?.of === "episode");
      for (let from = 0; from < rows; ) {
        const index = Number(episodes[from]);
        if (isBefore && index < episode) {
          from++;
          continue;
        }
        isBefore = false;
        if (buffer.length > 0 && index !== episode) yield finishEpisode();
        yield* empty(index);
        if (index !== episode) throw corrupt(`the next episode must be ${episode}, got ${index}`);
        let to = from;
        for (; to < rows && episodes[to] === episodes[from]; to++)
          if (steps[to] !== BigInt(buffer.length + to - from)) throw corrupt(`the next step must be ${buffer.length + to - from}, got ${steps[to]}`);
        if (buffer.length === 0) metadata = ofEpisode.map((column, k) => slice(column, leavesOf(metadataSpec as StepSpec)[k]?.size as number, from, from + 1));
        buffer.push(ofSteps, from, to, file.name, to < rows ? 0 : following);
        from = to;
      }
    }
    // An episode ends with its file. The remaining episodes of the file have no steps.
    if (buffer.length > 0) yield finishEpisode();
    yield* empty(fileSchema.episodes);
    if (episode !== fileSchema.episodes || waiting.length > 0)
      throw corrupt(`the file declares ${fileSchema.episodes} episodes up to its end, but ends after ${episode}`);
  }
  if (!last && !isPart) throw lastPartError(part);
}

/** Yields the intact episodes of each file separately, because no episode spans two files. */
export async function* salvageRepriseEpisodes<S>(
  files: AsyncIterable<ParquetFile>,
  schema: FileSchema,
  options: RepriseReadOptions,
  losses: Damage,
): AsyncGenerator<ReadEpisode<S>, void> {
  let next = 0;
  let isLast = false;
  for await (const file of files) {
    try {
      const { part, last, empty } = readRepriseSchema(file) ?? schema;
      if (part > next) losses.add(corruptFile({ file: file.name }, `part ${next} is missing before part ${part}`));
      next = part + 1;
      isLast = last;
      const { episode: column } = findRepriseColumns(file, schema);
      const [read] = file.rows === 0 ? [] : await file.read(0, [column]);
      const first = Math.min(Number(read?.values[0] ?? Number.POSITIVE_INFINITY), empty[0]?.[0] ?? Number.POSITIVE_INFINITY);
      const only = (async function* () {
        yield file;
      })();
      if (Number.isFinite(first)) yield* readRepriseEpisodes<S>(only, schema, { ...options, start: { part, episode: first }, isPart: true });
    } catch (error) {
      losses.add(error);
    }
  }
  if (!isLast) losses.add(lastPartError(next));
}

/** Returns the error for a dataset without its last part. @param parts the number of parts that exist */
function lastPartError(parts: number): RldsError {
  return corruptFile({}, `the last part of the dataset is missing: only ${parts} ${parts === 1 ? "part exists" : "parts exist"}`);
}

/** Returns the metadata of one episode, with one value per leaf. */
function rowOf(spec: { readonly [name: string]: StepSpec }, data: readonly ColumnData[]): unknown[] {
  const steps = new StepColumns<unknown>(spec as StepSpec, data, 1);
  const row = steps.at(0);
  return leavesOf(spec as StepSpec).map(({ keys }) => keys.reduce<unknown>((at, key) => (at as { [key: string]: unknown })[key], row));
}

function collectMetadata(spec: { readonly [name: string]: StepSpec }, values: unknown, file: string): ColumnData[] {
  const collector = new Collector(spec as StepSpec, 1);
  try {
    collector.add(valuesOfJson(spec as StepSpec, values));
  } catch (cause) {
    throw corruptFile({ file }, `the metadata of an episode without steps does not match the other episodes: ${(cause as Error).message}`, cause);
  }
  return collector.take().data;
}

/**
 * Returns the lengths of the episodes. Reads the column of episode numbers only if the statistics in the footer do not determine the lengths.
 * @throws RldsError CORRUPT if an episode is missing
 */
export async function readRepriseLengths(
  files: AsyncIterable<ParquetFile>,
  schema: FileSchema,
  { signal }: { readonly signal?: AbortSignal },
): Promise<number[]> {
  const lengths: number[] = [];
  for await (const file of files) {
    const { episodes, empty } = readRepriseSchema(file) ?? schema;
    const { episode: column } = findRepriseColumns(file, schema);
    const orderError = (index: number | bigint) => corruptFile({ file: file.name }, `the next episode must be ${lengths.length}, got ${index}`);
    // Between two episodes with rows, only episodes without steps may be missing.
    const grow = (to: number | bigint) => {
      if (!(to <= episodes && to <= lengths.length + empty.length + 1)) throw orderError(to);
      while (lengths.length < to) lengths.push(0);
    };
    const count = (index: bigint, rows: number) => {
      if (index < 0n) throw orderError(index);
      grow(index + 1n);
      (lengths[Number(index)] as number) += rows;
    };
    for (const [group, rows] of file.groups.entries()) {
      signal?.throwIfAborted();
      const range = file.range(group, column);
      if (range !== undefined && range.min === range.max) {
        count(range.min, rows);
        continue;
      }
      const [read] = await file.read(group, [column]);
      for (const index of columnOf(read as never, { dtype: "i64", shape: [] }, rows, { file: file.name, column }) as BigInt64Array) count(index, 1);
    }
    grow(episodes);
  }
  return lengths;
}
