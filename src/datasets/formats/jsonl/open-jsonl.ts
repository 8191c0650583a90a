/** Lines of JSON as datasets: our own form, and what others write. */
import { integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import { Collector } from "../../model/collector.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP, finalStepSpec } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile, type Place, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { StepColumns } from "../../model/step-columns.ts";
import type { FinalObservation } from "../columns/flat.ts";
import type { EndedSteps } from "../columns/transitions.ts";
import { checkLeaves } from "../leaf-count.ts";
import type { ReadEpisode, ReadOptions, RldsReader } from "../reader.ts";
import { type Source, sourceOf } from "../sources/open-source.ts";
import type { SourceFile, SourceFolder } from "../sources/source.ts";
import { inferSpec } from "./infer.ts";
import { valuesOfJson } from "./json-values.ts";
import { inLine, type Line, linesOf } from "./lines.ts";
import { isReprise, readRepriseEpisodes, readRepriseSchema } from "./reprise-jsonl.ts";
import { inferRowSchema, type RowSchema, Rows } from "./rows.ts";

export interface JsonlOptions extends ReadOptions {
  /** What some fields of a step are, by RLDS's names, where it is not what the first step seems to say; not for our own form, which says it itself. */
  readonly stepSpec?: { readonly [name: string]: StepSpec };
  /** Of transitions, as openD4rl has it; `rlds` where it is left out. */
  readonly finalObservation?: FinalObservation;
  /** Instead of the runtime's own, for URLs. */
  readonly fetch?: Fetch;
}

const OPTIONS = "stepSpec, finalObservation, fetch, signal, maxBytes";

/**
 * A file of JSON lines, or the only one in a folder. One that writeJsonl wrote says what its steps are. Any other has a step a line, or an episode a line as `{"steps": […], …metadata}`. Names: `observation` (also `obs`, plurals,
 * camelCase), `action`, `reward`, `discount`; what has no such name is metadata. With `is_first`, `is_last`, `is_terminal` they are RLDS's steps; else transitions, which end by `terminated` (or `terminal`;
 * `done` alone means it), `truncated` (or `timeout`; `done` beside it), or where `episode` (or `episode_id`) changes; `next_observation` of the last one becomes the final step. What a step is, the first one
 * says: numbers are f32 (of metadata of an episode f64), flags bool, texts strings, lists of the same have a shape; every other step must fit. NaN and Infinity may be words or strings.
 * Memory: one episode, at most maxBytes of text.
 * @throws RldsError NOT_FOUND, EMPTY, UNSUPPORTED, CORRUPT and SPEC_MISMATCH with file, byte and line
 */
export async function openJsonl<S = RldsStep>(from: Source, options: JsonlOptions = {}): Promise<RldsReader<S>> {
  const { maxBytes = MAX_SOURCE_BYTES, signal, fetch, finalObservation = "rlds", stepSpec = {} } = onlyKeys("options", options, OPTIONS);
  integer("maxBytes", maxBytes, 1);
  if (!["rlds", "next", "none"].includes(finalObservation)) throw mustBe(RangeError, "finalObservation", "one of rlds, next, none", finalObservation);
  const source = await sourceOf(from, { signal, maxBytes, fetch });
  const file = source.file ?? (await onlyFile(source.folder));
  try {
    const first = await firstLine(file, maxBytes, signal);
    const base = { format: "jsonl", name: file.name.replace(/\.(jsonl|ndjson|json)$/, ""), about: {}, close: () => file.close() } as const;
    if (isReprise(first.value)) {
      const schema = readRepriseSchema(first, file.name);
      return {
        ...base,
        about: schema.about,
        stepSpec: schema.stepSpec,
        metadataSpec: finalStepSpec(schema.metadataSpec),
        [Symbol.asyncIterator]: () => readRepriseEpisodes(file, schema, maxBytes, signal),
      } as RldsReader<unknown> as RldsReader<S>;
    }
    const generic = new GenericJsonl(file, first, stepSpec, { maxBytes, signal, finalObservation });
    const { stepSpec: inferredSpec, metadataSpec } = generic;
    return {
      ...base,
      stepSpec: inferredSpec,
      metadataSpec: finalStepSpec(metadataSpec),
      [Symbol.asyncIterator]: () => generic.episodes(),
    } as RldsReader<unknown> as RldsReader<S>;
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

async function firstLine(file: SourceFile, maxBytes: number, signal?: AbortSignal): Promise<Line> {
  for await (const line of linesOf(file, maxBytes, signal)) return line;
  throw new RldsError("EMPTY", "the file has no lines", { file: file.name });
}

interface GenericOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  readonly finalObservation: FinalObservation;
}

/** Whole episodes a line: its steps and the rest. */
function episodeOf(value: unknown): { steps: readonly unknown[]; metadata: object } | undefined {
  const { steps, ...metadata } = (value ?? {}) as { steps?: unknown };
  return Array.isArray(steps) ? { steps, metadata } : undefined;
}

class GenericJsonl {
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly #file: SourceFile;
  readonly #schema: RowSchema;
  readonly #hasWholeEpisodes: boolean;
  readonly #options: GenericOptions;

  constructor(file: SourceFile, first: Line, spec: { readonly [name: string]: StepSpec }, options: GenericOptions) {
    const wholeEpisode = episodeOf(first.value);
    const place = { file: file.name, offset: first.at };
    if (wholeEpisode !== undefined && wholeEpisode.steps.length === 0)
      throw new RldsError("EMPTY", "the first episode has no steps from which to infer the spec", place);
    const metadata = wholeEpisode === undefined ? {} : inferSpec(wholeEpisode.metadata, "f64");
    if (metadata === undefined) throw unsupportedFile(place, "the metadata of the first episode contains null or is nested too deeply");
    checkLeaves(metadata, "the metadata of the first episode", place);
    this.#file = file;
    this.#hasWholeEpisodes = wholeEpisode !== undefined;
    this.#options = options;
    this.#schema = inferRowSchema(wholeEpisode === undefined ? first.value : wholeEpisode.steps[0], spec, options.finalObservation, place);
    this.stepSpec = this.#schema.stepSpec;
    this.metadataSpec = metadata as { readonly [name: string]: StepSpec };
    const elements = leavesOf(this.#schema.rowSpec).reduce((sum, { size }) => sum + size, 0);
    if (elements > first.bytes)
      throw new RldsError("SPEC_MISMATCH", `a step must have ${elements} elements, and the first line has ${first.bytes} bytes`, place);
  }

  async *episodes(): AsyncGenerator<ReadEpisode, void, undefined> {
    const { maxBytes, signal } = this.#options;
    const rows = new Rows(this.#schema);
    const byNumber = this.#schema.has.includes("episode");
    let episode = 0;
    let bytes = 0;
    let place: Place = { file: this.#file.name };
    const finishEpisode = async (isEnd: boolean): Promise<ReadEpisode> => {
      bytes = 0;
      const ended = await rows.take(isEnd, place);
      episode++;
      return { ...ended };
    };
    for await (const line of linesOf(this.#file, maxBytes, signal)) {
      const fresh = { file: this.#file.name, offset: line.at };
      if (this.#hasWholeEpisodes) {
        place = { ...fresh, episode };
        const ended = await this.#wholeSteps(rows, line, place);
        yield { [FINAL_STEP]: ended[FINAL_STEP], ...this.#metadata(line, place), steps: ended.steps };
        episode++;
        continue;
      }
      if (rows.begins(line.value, fresh)) yield await finishEpisode(true);
      place = { ...fresh, episode };
      bytes += line.bytes;
      if (bytes > maxBytes) throw corruptFile(inLine(this.#file.name, line), `is in an episode of more than the ${maxBytes} bytes that maxBytes allows`);
      if (rows.add(line.value, place, line.bytes)) yield await finishEpisode(true);
    }
    if (rows.length > 0) yield await finishEpisode(byNumber);
  }

  #metadata(line: Line, place: Place): object {
    const spec = this.metadataSpec as StepSpec;
    const { metadata } = episodeOf(line.value) ?? {};
    if (metadata === undefined) throw corruptFile(inLine(this.#file.name, line), "must be an episode as the first one is, with its steps");
    const collector = new Collector(spec, 1);
    collector.add(valuesOfJson(spec, metadata), place, "the episode's metadata");
    return new StepColumns<object>(spec, collector.take().data, 1).at(0);
  }

  async #wholeSteps(rows: Rows, line: Line, place: Place): Promise<EndedSteps> {
    const { steps } = episodeOf(line.value) as { steps: readonly unknown[] };
    for (const [i, step] of steps.entries()) {
      if (rows.add(step, place, line.bytes) && i < steps.length - 1)
        throw new RldsError("INVALID_DATA", "a step in the middle of the episode is marked as the last one", { ...place, step: i });
    }
    return rows.take(true, place);
  }
}
