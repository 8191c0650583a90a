/** Opens JSON lines, written by Reprise or by other programs, as datasets. */
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

/** The options of `openJsonl`. */
export interface JsonlOptions extends ReadOptions {
  /**
   * The specs of step fields, by RLDS name, for fields whose form the steps do not determine. This option has no effect on files of `writeJsonl`, which contain
   * their spec.
   */
  readonly stepSpec?: { readonly [name: string]: StepSpec };
  /** The rule for the final step if the steps are transitions, as in `openD4rl`. Default: `rlds`. */
  readonly finalObservation?: FinalObservation;
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

const OPTIONS = `stepSpec, finalObservation, fetch, ${READ_OPTIONS}`;

/**
 * Opens a file of JSON lines. If the source is a folder, opens its only file of this kind. Instead of lines, a file may also contain one array of the same
 * values, an array of arrays of steps, or objects that span several lines.
 *
 * A file that writeJsonl wrote contains its spec. In any other file, each line is a step or an episode. An episode is `{"steps": […], …metadata}`, or columns
 * of the same length, such as `{"observations": […], "actions": […], "rewards": […], "terminated": true}`. If there is one more observation than actions, the
 * last observation is the final observation. The names are `observation` (also `obs`, plurals, camelCase), `action`, `reward` and `discount`. Names that are
 * not mentioned here or in the next paragraph are metadata.
 *
 * If the steps have `is_first`, `is_last` or `is_terminal`, they are RLDS steps. Otherwise, they are transitions. An episode ends with `terminated` (or
 * `terminal`, or `done` without another flag), with `truncated` (or `timeout`, or `done` in addition to `terminated`), or where `episode` (or `episode_id`)
 * changes. The `next_observation` of the last transition becomes the final step.
 *
 * All steps together determine the spec, so opening reads the whole file. Numbers are f32 if each of them is the shortest decimal of an f32, otherwise f64.
 * Integers are i32, i64 or u64, except in observations, rewards and discounts, which are floats. Flags are bool, texts are strings, and lists of equal elements
 * have a shape. Metadata that are missing in some steps or episodes become NaN for floats, 0 for integers, "" for strings and false for flags. Every other
 * value must fit the spec. NaN and Infinity may have quotation marks or not. Keeps one episode in memory, with at most maxBytes of text.
 * @throws RldsError NOT_FOUND if the file or folder does not exist
 * @throws RldsError EMPTY if the file has no steps
 * @throws RldsError UNSUPPORTED if the steps cannot be recognized
 * @throws RldsError CORRUPT if a line is not JSON
 * @throws RldsError SPEC_MISMATCH if a value does not fit the spec. The error includes the file, the byte and the line
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

/** Returns the only JSON lines file in a folder. @throws RldsError UNSUPPORTED if the folder has no such file or several such files */
async function onlyFile(folder: SourceFolder): Promise<SourceFile> {
  const paths = (await folder.list())?.filter((path) => /\.(jsonl|ndjson)$/.test(path)) ?? [];
  const [path] = paths;
  if (path !== undefined && paths.length === 1) return folder.open(path);
  throw unsupportedFile({ file: folder.name }, `the folder must contain exactly one .jsonl file, got ${paths.length}. Pass one file instead`);
}

async function firstOf(lines: AsyncIterable<Line>, file: string): Promise<Line> {
  for await (const line of lines) return line;
  throw new RldsError("EMPTY", "the file has no lines", { file });
}

/** The arrangement of values in a file: "lines" for one per line, "array" for the elements of one array, "values" for objects that span several lines. */
type Form = "lines" | "array" | "values";

const HEAD_BYTES = 4096;

async function formOf(file: SourceFile, maxBytes: number, signal?: AbortSignal): Promise<Form> {
  const head = new TextDecoder("latin1").decode(await file.read(0, Math.min(file.size, HEAD_BYTES)));
  const text = head.replace(/^ï»¿/, "").trimStart();
  if (text.startsWith("[")) return "array";
  if (!text.startsWith("{")) return "lines";
  // If the first line is not valid JSON on its own, the first object may span several lines.
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
