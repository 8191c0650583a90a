/** Reads lines that writeJsonl wrote, which are the spec and then the episodes, each followed by its steps. */
import { blank } from "../../../schema/leaf.ts";
import { Collector } from "../../model/collector.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { lastFlagOf } from "../../model/final-observation.ts";
import { FINAL_STEP, finalStepOf } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { type About, nestedAbout } from "../about.ts";
import type { ReadEpisode } from "../reader.ts";
import type { SelectedSpec } from "../selection/selected-spec.ts";
import type { Selection } from "../selection/selection.ts";
import type { SourceFile } from "../sources/source.ts";
import { valuesOfJson } from "./json-values.ts";
import { type Line, type LinesOptions, lineError, linesOf } from "./lines.ts";
import { specFromJson } from "./spec-json.ts";

/** The schema that the first line declares. */
export interface RepriseSchema {
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly about: About;
}

/** Returns whether the first line of a file shows that writeJsonl wrote the file. */
export function isReprise(value: unknown): boolean {
  return typeof value === "object" && value !== null && "rlds" in value;
}

/** Returns the schema in the first line. @throws RldsError CORRUPT, UNSUPPORTED */
export function readRepriseSchema(line: Line, file: string): RepriseSchema {
  const { rlds, stepSpec, metadataSpec = {}, about } = line.value as { rlds: unknown; stepSpec?: unknown; metadataSpec?: unknown; about?: unknown };
  if (rlds !== 1) throw lineError(file, line, `has version ${JSON.stringify(rlds)}, but this version of Reprise reads only version 1`);
  return {
    stepSpec: specFromJson(stepSpec, file),
    metadataSpec: specFromJson(metadataSpec, file) as { readonly [name: string]: StepSpec },
    about: nestedAbout(about),
  };
}

/** The options for reading lines that writeJsonl wrote. */
export interface RepriseReadOptions extends LinesOptions {
  readonly selection: Selection;
  readonly selected: SelectedSpec;
}

/**
 * Yields the episodes of a file. If `losses` is set, errors are recorded there instead of thrown. @throws RldsError CORRUPT for lines in a different order ·
 * SPEC_MISMATCH for values that do not match the spec in the first line
 */
export async function* readRepriseEpisodes(
  file: SourceFile,
  { metadataSpec }: RepriseSchema,
  options: RepriseReadOptions,
): AsyncGenerator<ReadEpisode, void, undefined> {
  const name = file.name;
  const { maxBytes, losses, selection } = options;
  const stepSpec = options.selected.spec;
  const [elements, ofEpisode] = [stepSpec, metadataSpec].map((spec) => leavesOf(spec).reduce((sum, { size }) => sum + size, 0)) as [number, number];
  let isHeadRead = false;
  let steps: Collector | undefined;
  let metadata: object | undefined;
  let episode = -1;
  let bytes = 0;
  const finishEpisode = (): ReadEpisode => {
    const { data, length } =
      steps === undefined || steps.length === 0 ? { data: leavesOf(stepSpec).map(({ leaf }): ColumnData => blank(leaf, 0)), length: 0 } : steps.take();
    bytes = 0;
    const episodeSteps = new StepColumns<RldsStep>(stepSpec, data, length);
    return { [FINAL_STEP]: finalStepOf({}, lastFlagOf(episodeSteps) === true), ...metadata, steps: episodeSteps };
  };
  const readLine = function* (line: Line): Generator<ReadEpisode, void, undefined> {
    const place = { file: name, offset: line.at, episode };
    // The first line that is not blank is the spec, which the caller has already read.
    if (!isHeadRead) {
      isHeadRead = true;
      return;
    }
    const { episode: first, step } = (line.value ?? {}) as { episode?: unknown; step?: unknown };
    if ((first === undefined) === (step === undefined)) throw lineError(name, line, 'must be {"episode": …} or {"step": …}');
    if (first !== undefined) {
      if (metadata !== undefined) yield finishEpisode();
      episode++;
      if (ofEpisode > line.bytes) throw lineError(name, line, `has ${line.bytes} bytes, too few for ${ofEpisode} elements`);
      const collector = new Collector(metadataSpec as StepSpec, 1);
      collector.add(valuesOfJson(metadataSpec as StepSpec, first), { ...place, episode }, "the episode's metadata");
      metadata = new StepColumns<object>(metadataSpec as StepSpec, collector.take().data, 1).at(0);
    } else {
      if (metadata === undefined) throw lineError(name, line, "must be an episode, got a step before the first episode");
      if (elements > line.bytes) throw lineError(name, line, `has ${line.bytes} bytes, too few for ${elements} elements`);
      bytes += line.bytes;
      if (bytes > maxBytes) throw lineError(name, line, `belongs to an episode larger than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
      steps ??= new Collector(stepSpec, 1);
      steps.add(valuesOfJson(stepSpec, typeof step === "object" && step !== null ? selection.value(step) : step), { ...place, step: steps.length });
    }
  };
  for await (const line of linesOf(file, options)) {
    if (losses === undefined) {
      yield* readLine(line);
      continue;
    }
    // The lines after a lost line may belong to a different episode, so all lines up to the next beginning of an episode are skipped.
    if (line.isAfterLoss && metadata !== undefined) {
      yield finishEpisode();
      metadata = undefined;
    }
    try {
      yield* readLine(line);
    } catch (error) {
      losses.add(error);
      if (metadata !== undefined && steps !== undefined && steps.length > 0) yield finishEpisode();
      metadata = undefined;
    }
  }
  if (metadata !== undefined) yield finishEpisode();
}
