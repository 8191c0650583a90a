/** Lines of JSON as datasets: our own form, and what others write. */
import { integer, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { finalStepSpec } from "../../model/final-step.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { checkFinalObservation, type FinalObservation } from "../columns/flat.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import { damageOf, withDamage } from "../damage.ts";
import { READ_OPTIONS, type ReadOptions, type RldsReader } from "../reader.ts";
import { addAbsentFields, nameSalvage } from "../reader-steps.ts";
import { selectSpec } from "../selection/selected-spec.ts";
import { Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import type { SourceFile, SourceFolder } from "../sources/source.ts";
import { elementsOf } from "./elements.ts";
import { GenericJsonl } from "./generic-jsonl.ts";
import { type Line, linesOf } from "./lines.ts";
import { isReprise, readRepriseEpisodes, readRepriseSchema } from "./reprise-jsonl.ts";

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
  const losses = damageOf(salvage);
  integer("maxBytes", maxBytes, 1);
  checkFinalObservation(finalObservation);
  const source = await decompressedSource(from, { signal, maxBytes, fetch, salvage });
  const file = source.file ?? (await onlyFile(source.folder));
  try {
    const form = await formOf(file, maxBytes, signal);
    const lines = () => (form === "lines" ? linesOf(file, { maxBytes, signal, losses }) : elementsOf(file, form === "array", { maxBytes, signal, losses }));
    const first = await firstOf(lines(), file.name);
    const name = file.name.replace(/\.(jsonl|ndjson|json)$/, "");
    const base = { format: "jsonl", name, about: {}, close: () => file.close(), ...withDamage(losses) } as const;
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
