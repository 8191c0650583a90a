/** Applies a selection to the lines of a file. `only` does not affect the metadata of an episode. */
import type { Place } from "../../model/rlds-error.ts";
import type { Selection } from "../selection/selection.ts";
import { Records, type StepGroup } from "./records.ts";

/** The lines of a file with a selection applied. */
export class SelectedRecords {
  readonly layout: Records["layout"];
  readonly #selection: Selection;
  readonly #records: Records;
  /** The records without the effect of `only`, for the metadata. Undefined unless `only` is set and a line has an episode's steps and metadata as columns. */
  readonly #whole: Records | undefined;

  /** @param areSteps whether every line is a step @throws the errors of Records */
  constructor(first: unknown, place: Place, selection: Selection, areSteps = false) {
    this.#selection = selection;
    this.#records = new Records(this.#select(first), place, areSteps);
    this.layout = this.#records.layout;
    this.#whole = this.layout === "columns" && this.areEpisodes && selection.hasOnly ? new Records(this.#selectWhole(first), place) : undefined;
  }

  /** Whether each line is one whole episode. */
  get areEpisodes(): boolean {
    return this.#records.areEpisodes;
  }

  /** Treats columns that do not belong to an RLDS field as metadata if they do not have one value per step in this line. */
  note(value: unknown): void {
    this.#records.note(this.#select(value));
    this.#whole?.note(this.#selectWhole(value));
  }

  /** Returns the selected steps and metadata of a line. @throws the errors of Records */
  of(value: unknown, place: Place): StepGroup {
    const group = this.#records.of(this.#select(value), place);
    return this.#whole === undefined ? group : { ...group, metadata: this.#whole.of(this.#selectWhole(value), place).metadata };
  }

  /** Applies the selection to a line, which is a step, columns, an array of steps, or an episode with its steps. */
  #select(value: unknown): unknown {
    const selection = this.#selection;
    if (selection.isEmpty || typeof value !== "object" || value === null) return value;
    const selectStep = (step: unknown) => (typeof step === "object" && step !== null && !Array.isArray(step) ? selection.value(step) : step);
    if (Array.isArray(value)) return value.map(selectStep);
    const { steps, ...rest } = value as { readonly steps?: unknown };
    if (!Array.isArray(steps)) return selection.value(value);
    return { ...selection.metadataValue(rest), steps: steps.map(selectStep) };
  }

  #selectWhole(value: unknown): unknown {
    return typeof value === "object" && value !== null ? this.#selection.metadataValue(value) : value;
  }
}
