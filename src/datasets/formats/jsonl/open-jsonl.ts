/** Lines of JSON as datasets: our own form, and what others write. */
import { integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import { Collector } from "../../model/collector.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP, finalStepSpec, statedFinalStep } from "../../model/final-step.ts";
import { corruptFile, type Place, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { StepColumns } from "../../model/step-columns.ts";
import type { FinalObservation } from "../columns/flat.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import { checkLeaves } from "../leaf-count.ts";
import { lossesOf, withLosses } from "../losses.ts";
import { READ_OPTIONS, type ReadEpisode, type ReadOptions, type RldsReader } from "../reader.ts";
import { addAbsentFields, nameSalvage } from "../reader-steps.ts";
import { selectSpec } from "../selection/selected-spec.ts";
import { Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import type { SourceFile, SourceFolder } from "../sources/source.ts";
import { elementsOf } from "./elements.ts";
import { valuesOfJson } from "./json-values.ts";
import { inLine, type Line, type LinesOptions, linesOf } from "./lines.ts";
import { Records, type StepGroup } from "./records.ts";
import { isReprise, readRepriseEpisodes, readRepriseSchema } from "./reprise-jsonl.ts";
import { inferRowSchema, type RowSchema, Rows, RowTypes } from "./rows.ts";
import { ValueTypes, withMissing } from "./value-types.ts";

export interface JsonlOptions extends ReadOptions {
  /** What some fields of a step are, by RLDS's names, where it is not what the first step seems to say; not for our own form, which says it itself. */
  readonly stepSpec?: { readonly [name: string]: StepSpec };
  /** Of transitions, as openD4rl has it; `rlds` where it is left out. */
  readonly finalObservation?: FinalObservation;
  /** Instead of the runtime's own, for URLs. */
  readonly fetch?: Fetch;
}

const OPTIONS = `stepSpec, finalObservation, fetch, ${READ_OPTIONS}`;

/**
 * A file of JSON lines, or the only one in a folder; also a file that is one array of the same things, or of arrays of steps, or whose objects are written over several lines. One that writeJsonl wrote says what its steps are. Any other has a step a line, or an episode a line: as `{"steps": […], …metadata}`, or as columns of one length
 * (`{"observations": […], "actions": […], "rewards": […], "terminated": true}`, where one observation more is the final one). Names: `observation` (also `obs`, plurals,
 * camelCase), `action`, `reward`, `discount`; what has no such name is metadata. With `is_first`, `is_last`, `is_terminal` they are RLDS's steps; else transitions, which end by `terminated` (or `terminal`;
 * `done` alone means it), `truncated` (or `timeout`; `done` beside it), or where `episode` (or `episode_id`) changes; `next_observation` of the last one becomes the final step. What a step is, all
 * of them say: the file is gone through once as it is opened. Numbers are f32 if each of them is the shortest decimal of its f32, else f64; whole numbers are i32, i64 or u64, but for
 * observations, rewards and discounts, which are real. Flags are bool, texts strings, lists of the same have a shape. Metadata that some steps or episodes do not have are NaN, 0 for integers, "" or false
 * there; every other value must fit. NaN and Infinity may be words or strings.
 * Memory: one episode, at most maxBytes of text.
 * @throws RldsError NOT_FOUND, EMPTY, UNSUPPORTED, CORRUPT and SPEC_MISMATCH with file, byte and line
 */
export async function openJsonl<S = RldsStep>(from: Source, options: JsonlOptions = {}): Promise<RldsReader<S>> {
  const { maxBytes = MAX_SOURCE_BYTES, signal, fetch, finalObservation = "rlds", stepSpec = {}, salvage } = onlyKeys("options", options, OPTIONS);
  const selection = new Selection(options);
  const losses = lossesOf(salvage);
  integer("maxBytes", maxBytes, 1);
  if (!["rlds", "next", "none"].includes(finalObservation)) throw mustBe(RangeError, "finalObservation", "one of rlds, next, none", finalObservation);
  const source = await decompressedSource(from, { signal, maxBytes, fetch, salvage });
  const file = source.file ?? (await onlyFile(source.folder));
  try {
    const form = await formOf(file, maxBytes, signal);
    const lines = () => (form === "lines" ? linesOf(file, { maxBytes, signal, losses }) : elementsOf(file, form === "array", { maxBytes, signal, losses }));
    const first = await firstOf(lines(), file.name);
    const name = file.name.replace(/\.(jsonl|ndjson|json)$/, "");
    const base = { format: "jsonl", name, about: {}, close: () => file.close(), ...withLosses(losses) } as const;
    if (isReprise(first.value)) {
      const schema = readRepriseSchema(first, file.name);
      const selected = selectSpec(schema.stepSpec, selection);
      selection.check();
      const read = { maxBytes, signal, losses, selection, selected };
      const own = addAbsentFields({
        ...base,
        about: schema.about,
        stepSpec: selected.spec,
        metadataSpec: finalStepSpec(schema.metadataSpec),
        [Symbol.asyncIterator]: () => readRepriseEpisodes(file, schema, read),
      } as RldsReader<unknown>);
      return nameSalvage(own) as RldsReader<S>;
    }
    const generic = await GenericJsonl.open(file, first, stepSpec, { lines, maxBytes, signal, losses, selection, finalObservation });
    selection.check();
    const { stepSpec: inferredSpec, metadataSpec } = generic;
    return nameSalvage({
      ...base,
      stepSpec: inferredSpec,
      metadataSpec: finalStepSpec(metadataSpec),
      [Symbol.asyncIterator]: () => generic.episodes(),
    } as RldsReader<unknown>) as RldsReader<S>;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** @throws RldsError UNSUPPORTED where there is none, or more than one */
async function onlyFile(folder: SourceFolder): Promise<SourceFile> {
  const paths = (await folder.list())?.filter((path) => /\.(jsonl|ndjson)$/.test(path)) ?? [];
  const [path] = paths;
  if (path !== undefined && paths.length === 1) return folder.open(path);
  throw unsupportedFile({ file: folder.name }, `a folder must contain one file of JSON lines (.jsonl), got ${paths.length}: name the file`);
}

async function firstOf(lines: AsyncIterable<Line>, file: string): Promise<Line> {
  for await (const line of lines) return line;
  throw new RldsError("EMPTY", "the file has no lines", { file });
}

/** How values stand in a file: a line each, as elements of one array, or over lines. */
type Form = "lines" | "array" | "values";

const HEAD_BYTES = 4096;

async function formOf(file: SourceFile, maxBytes: number, signal?: AbortSignal): Promise<Form> {
  const head = new TextDecoder("latin1").decode(await file.read(0, Math.min(file.size, HEAD_BYTES)));
  const text = head.replace(/^ï»¿/, "").trimStart();
  if (text.startsWith("[")) return "array";
  // An object that does not end with its line.
  if (!text.startsWith("{")) return "lines";
  try {
    await firstOf(linesOf(file, { maxBytes, signal }), file.name);
    return "lines";
  } catch (error) {
    if (!(error instanceof RldsError)) throw error;
  }
  try {
    await firstOf(elementsOf(file, false, { maxBytes, signal }), file.name);
    return "values";
  } catch (error) {
    if (!(error instanceof RldsError)) throw error;
    return "lines";
  }
}

interface GenericOptions extends LinesOptions {
  /** A new pass. */
  readonly lines: () => AsyncIterable<Line>;
  readonly selection: Selection;
  readonly finalObservation: FinalObservation;
}

/** Lines of another's making: a pass tells what all values are, and each later one gives the episodes. */
class GenericJsonl {
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly #file: SourceFile;
  readonly #records: Records;
  readonly #schema: RowSchema;
  readonly #options: GenericOptions;

  static async open(file: SourceFile, firstLine: Line, spec: { readonly [name: string]: StepSpec }, options: GenericOptions): Promise<GenericJsonl> {
    const first = { ...firstLine, value: selectLine(firstLine.value, options.selection) };
    const place = { file: file.name, offset: first.at };
    const records = new Records(first.value, place);
    const types = { rows: new RowTypes(), metadata: new ValueTypes(true) };
    if (records.of(first.value, place).steps.length === 0) throw new RldsError("EMPTY", "the first episode has no steps from which to infer the spec", place);
    const add = (group: StepGroup) => {
      for (const step of group.steps) types.rows.add(step, place);
      if (records.areEpisodes) types.metadata.add(group.metadata);
    };
    const pass = async (visit: (value: unknown) => void) => {
      try {
        for await (const line of options.lines()) {
          try {
            visit(selectLine(line.value, options.selection));
          } catch (error) {
            // It is a loss when its episode is read.
            if (options.losses === undefined || !(error instanceof RldsError)) throw error;
          }
        }
      } catch (error) {
        // Whoever reads so far is told, and where it is.
        if (!(error instanceof RldsError)) throw error;
      }
    };
    if (records.layout === "columns") await pass((value) => records.note(value));
    add(records.of(first.value, place));
    await pass((value) => add(records.of(value, place)));
    return new GenericJsonl(file, first, records, types, spec, options);
  }

  private constructor(
    file: SourceFile,
    first: Line,
    records: Records,
    types: { readonly rows: RowTypes; readonly metadata: ValueTypes },
    spec: { readonly [name: string]: StepSpec },
    options: GenericOptions,
  ) {
    const place = { file: file.name, offset: first.at };
    const { steps, metadata } = records.of(first.value, place);
    const metadataSpec = (types.metadata.spec(false) ?? {}) as { readonly [name: string]: StepSpec };
    const unknown = Object.keys(records.areEpisodes ? metadata : {}).find((name) => !Object.hasOwn(metadataSpec, name));
    if (unknown !== undefined) throw unsupportedFile(place, `the metadata of the first episode contains null or is nested too deeply: ${unknown}`);
    checkLeaves(metadataSpec, "the metadata of the episodes", place);
    this.#file = file;
    this.#records = records;
    this.#options = options;
    this.#schema = inferRowSchema(steps[0], types.rows, spec, options.finalObservation, place);
    this.stepSpec = this.#schema.stepSpec;
    this.metadataSpec = metadataSpec;
  }

  async *episodes(): AsyncGenerator<ReadEpisode, void, undefined> {
    const { maxBytes, selection, losses } = this.#options;
    const { areEpisodes, layout } = this.#records;
    const rows = new Rows(this.#schema, maxBytes);
    const byNumber = this.#schema.has.includes("episode");
    let episode = 0;
    let bytes = 0;
    let place: Place = { file: this.#file.name };
    let metadata: object = {};
    const finishEpisode = async (isEnd: boolean): Promise<ReadEpisode> => {
      bytes = 0;
      const ended = await rows.take(isEnd, place);
      episode++;
      // What the file says of an episode by itself is believed.
      return { ...metadata, ...ended, [FINAL_STEP]: statedFinalStep({ ...metadata }) ?? ended[FINAL_STEP] };
    };
    /** The rows of a line, as far as they are episodes. */
    const readLine = async function* (this: GenericJsonl, line: Line): AsyncGenerator<ReadEpisode, void, undefined> {
      const fresh = { file: this.#file.name, offset: line.at };
      const group = this.#records.of(selectLine(line.value, selection), { ...inLine(this.#file.name, line), episode });
      if (areEpisodes) metadata = this.#metadata(group.metadata, { ...fresh, episode });
      bytes += line.bytes;
      if (bytes > maxBytes) throw corruptFile(inLine(this.#file.name, line), `is in an episode of more than the ${maxBytes} bytes that maxBytes allows`);
      for (const [i, step] of group.steps.entries()) {
        if (layout !== "steps" && rows.begins(step, fresh)) {
          yield await finishEpisode(true);
          bytes = line.bytes;
        }
        place = { ...fresh, episode };
        const isEnd = rows.add(step, place, line.bytes);
        if (isEnd && layout === "steps" && i < group.steps.length - 1)
          throw new RldsError("INVALID_DATA", "a step in the middle of the episode is marked as the last one", { ...place, step: i });
        if (isEnd && layout !== "steps") yield await finishEpisode(true);
      }
      if (areEpisodes && (rows.length > 0 || layout === "steps")) yield await finishEpisode(true);
    };
    for await (const line of this.#options.lines()) {
      // Nobody knows what was in a line that is lost: what was before it is an episode without an end.
      if (line.isAfterLoss && rows.length > 0) yield await finishEpisode(false);
      if (losses === undefined) {
        yield* readLine.call(this, line);
        continue;
      }
      try {
        yield* readLine.call(this, line);
      } catch (error) {
        losses.add(error);
        if (areEpisodes) await rows.take(false, place);
        else if (rows.length > 0) yield await finishEpisode(false);
        bytes = 0;
      }
    }
    const isCut = losses?.all.some(({ offset = -1 }) => offset > (place.offset ?? 0));
    if (rows.length > 0) yield await finishEpisode(byNumber && !isCut);
  }

  #metadata(metadata: object, place: Place): object {
    const spec = this.metadataSpec as StepSpec;
    const collector = new Collector(spec, 1);
    collector.add(valuesOfJson(spec, withMissing(spec, metadata)), place, "the episode's metadata");
    return new StepColumns<object>(spec, collector.take().data, 1).at(0);
  }
}

/** A line as it is selected: a step, columns, an array of steps, or an episode with its steps. */
function selectLine(value: unknown, selection: Selection): unknown {
  if (selection.isEmpty || typeof value !== "object" || value === null) return value;
  const selectStep = (step: unknown) => (typeof step === "object" && step !== null && !Array.isArray(step) ? selection.value(step) : step);
  if (Array.isArray(value)) return value.map(selectStep);
  const { steps, ...rest } = value as { readonly steps?: unknown };
  if (!Array.isArray(steps)) return selection.value(value);
  return { ...selection.value(rest), steps: steps.map(selectStep) };
}
