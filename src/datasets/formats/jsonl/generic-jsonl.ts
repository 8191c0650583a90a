/** Reads JSON lines that other programs wrote. Opening determines the types of all values, and each later pass over the lines yields the episodes. */
import { Collector } from "../../model/collector.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP, statedFinalStep } from "../../model/final-step.ts";
import { type Place, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { StepColumns } from "../../model/step-columns.ts";
import type { FinalObservation } from "../columns/flat.ts";
import { checkLeaves } from "../leaf-count.ts";
import type { ReadEpisode } from "../reader.ts";
import type { Selection } from "../selection/selection.ts";
import { valuesOfJson } from "./json-values.ts";
import { type Line, type LinesOptions, lineError } from "./lines.ts";
import type { StepGroup } from "./records.ts";
import { inferRowSchema, type RowSchema, Rows, RowTypes } from "./rows.ts";
import { SelectedRecords } from "./selected-records.ts";
import { ValueTypes, withMissing } from "./value-types.ts";

/** The options for reading JSON lines that other programs wrote. */
export interface GenericOptions extends LinesOptions {
  /** Starts a new pass over all lines. */
  readonly lines: () => AsyncIterable<Line>;
  readonly selection: Selection;
  readonly finalObservation: FinalObservation;
  /** Whether every line is a step, regardless of its values. */
  readonly areSteps?: boolean;
}

/** The episodes in JSON lines. The lines may come from any source. */
export class GenericJsonl {
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly #file: { readonly name: string };
  readonly #records: SelectedRecords;
  readonly #schema: RowSchema;
  readonly #options: GenericOptions;

  static async open(file: { readonly name: string }, first: Line, spec: { readonly [name: string]: StepSpec }, options: GenericOptions): Promise<GenericJsonl> {
    const place = { file: file.name, offset: first.at };
    const records = new SelectedRecords(first.value, place, options.selection, options.areSteps);
    const types = { rows: new RowTypes(), metadata: new ValueTypes(true) };
    if (records.of(first.value, place).steps.length === 0)
      throw new RldsError("EMPTY", "the first episode has no steps from which to infer the spec. Begin the file with an episode that has steps", place);
    const add = (group: StepGroup) => {
      for (const step of group.steps) types.rows.add(step, place);
      if (records.areEpisodes) types.metadata.add(group.metadata);
    };
    const pass = async (visit: (value: unknown) => void) => {
      try {
        for await (const line of options.lines()) {
          try {
            visit(line.value);
          } catch (error) {
            // The loss is recorded when the episode is read.
            if (options.losses === undefined || !(error instanceof RldsError)) throw error;
          }
        }
      } catch (error) {
        // The error is thrown again, with its place, when a reader reaches the line.
        if (!(error instanceof RldsError)) throw error;
      }
    };
    if (records.layout === "columns") await pass((value) => records.note(value));
    add(records.of(first.value, place));
    await pass((value) => add(records.of(value, place)));
    return new GenericJsonl(file, first, records, types, spec, options);
  }

  private constructor(
    file: { readonly name: string },
    first: Line,
    records: SelectedRecords,
    types: { readonly rows: RowTypes; readonly metadata: ValueTypes },
    spec: { readonly [name: string]: StepSpec },
    options: GenericOptions,
  ) {
    const place = { file: file.name, offset: first.at };
    const { steps, metadata } = records.of(first.value, place);
    const metadataSpec = (types.metadata.spec(false) ?? {}) as { readonly [name: string]: StepSpec };
    const unknown = Object.keys(records.areEpisodes ? metadata : {}).find((name) => !Object.hasOwn(metadataSpec, name));
    if (unknown !== undefined) throw unsupportedFile(place, `metadata ${unknown} of the first episode is null or nested too deeply. Remove it from the file`);
    checkLeaves(metadataSpec, "the metadata of the episodes", place);
    this.#file = file;
    this.#records = records;
    this.#options = options;
    this.#schema = inferRowSchema(steps[0], types.rows, spec, options.finalObservation, place);
    this.stepSpec = this.#schema.stepSpec;
    this.metadataSpec = metadataSpec;
  }

  async *episodes(): AsyncGenerator<ReadEpisode, void, undefined> {
    const { maxBytes, losses } = this.#options;
    const { areEpisodes, layout } = this.#records;
    const rows = new Rows(this.#schema, maxBytes);
    // The end of the data ends the last episode if rows have episode numbers, or if they mark terminations and have no `done` that could mark truncations.
    const { has } = this.#schema;
    const endsWithData = has.includes("episode") || (has.includes("terminated") && !has.includes("done"));
    let episode = 0;
    let bytes = 0;
    let place: Place = { file: this.#file.name };
    let metadata: object = {};
    const finishEpisode = async (isEnd: boolean): Promise<ReadEpisode> => {
      bytes = 0;
      const ended = await rows.take(isEnd, place);
      episode++;
      // If the file itself states the kind of an episode's last step, that kind takes precedence.
      return { ...metadata, ...ended, [FINAL_STEP]: statedFinalStep({ ...metadata }) ?? ended[FINAL_STEP] };
    };
    /** Adds the rows of a line, and yields each episode that the line completes. */
    const readLine = async function* (this: GenericJsonl, line: Line): AsyncGenerator<ReadEpisode, void, undefined> {
      const fresh = { file: this.#file.name, offset: line.at };
      const group = this.#records.of(line.value, { file: this.#file.name, offset: line.at, episode });
      if (areEpisodes) metadata = this.#metadata(group.metadata, { ...fresh, episode });
      bytes += line.bytes;
      if (bytes > maxBytes)
        throw lineError(this.#file.name, line, `belongs to an episode larger than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
      for (const [i, step] of group.steps.entries()) {
        if (layout !== "steps" && rows.begins(step, fresh)) {
          yield await finishEpisode(true);
          bytes = line.bytes;
        }
        place = { ...fresh, episode };
        const isEnd = rows.add(step, place, line.bytes);
        if (isEnd && layout === "steps" && i < group.steps.length - 1)
          throw new RldsError("INVALID_DATA", "a step in the middle of the episode is marked as the last step", { ...place, step: i });
        if (isEnd && layout !== "steps") yield await finishEpisode(true);
      }
      if (areEpisodes && (rows.length > 0 || layout === "steps")) yield await finishEpisode(true);
    };
    for await (const line of this.#options.lines()) {
      // The content of the lost lines is unknown, so the rows before them form an episode without an end.
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
    if (rows.length > 0) yield await finishEpisode(endsWithData && !isCut);
  }

  #metadata(metadata: object, place: Place): object {
    const spec = this.metadataSpec as StepSpec;
    const collector = new Collector(spec, 1);
    collector.add(valuesOfJson(spec, withMissing(spec, metadata)), place, "the episode's metadata");
    return new StepColumns<object>(spec, collector.take().data, 1).at(0);
  }
}
