/** Reads the episodes of an import, one after the other, and adds the results to a report. */
import { addSentence, mustBe } from "../../../base/error.ts";
import type { RldsEpisode, RldsStep, StepSpec } from "../../model/dataset.ts";
import { isAllZero } from "../../model/elements.ts";
import { numberOfEpisode } from "../../model/episode-number.ts";
import { statedFinalStep } from "../../model/final-step.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { StepColumns } from "../../model/step-columns.ts";
import { abortable, checkEpisode } from "../../model/traversal.ts";
import type { Fault, RunningReport } from "./import-report.ts";
import { Inspector, LAST, type StepFacts } from "./step-checks.ts";
import { EpisodeValidator, type Violation } from "./validate.ts";

/** Receives the steps that are read. */
export interface StepReceiver<S> {
  /** @param step the step; undefined if the steps are columns */
  add(facts: StepFacts, step: S | undefined): void;
}

export interface ReadEpisodeFacts {
  /** The index in the source, starting at 0. */
  readonly index: number;
  readonly length: number;
  /** The first fault. */
  readonly violation: Violation | undefined;
}

/** Reads episodes one after the other. O(1) memory */
export class ImportReader {
  readonly #inspector: Inspector;
  readonly #report: RunningReport;
  readonly #signal: AbortSignal | undefined;

  constructor(spec: StepSpec | undefined, report: RunningReport, signal: AbortSignal | undefined) {
    this.#inspector = new Inspector(spec);
    this.#report = report;
    this.#signal = signal;
  }

  /** Reads an episode. @throws TypeError if the value is not an episode · the errors of the source */
  async episode<S>(source: RldsEpisode<S>, receiver?: StepReceiver<S>): Promise<ReadEpisodeFacts> {
    const report = this.#report;
    const index = numberOfEpisode(source, report.episodes);
    const { steps } = checkEpisode(source, index);
    const hasFinal = statedFinalStep(source) !== "transition";
    let violation: Violation | undefined;
    const validator = new EpisodeValidator((current) => {
      violation ??= current;
      const { fault, step, subject: path, value, count } = current;
      report.faults[fault].add({ episode: index, step, path, value }, count);
    });
    let length = 0;
    let sum = 0;
    let endsWithFinal = false;
    let last: S | undefined;
    const pending = this.#inspector.read<S>(abortable(steps, this.#signal), (facts, step) => {
      validator.step(facts);
      receiver?.add(facts, step);
      length++;
      endsWithFinal = hasFinal && (facts.flags & LAST) !== 0;
      if (!endsWithFinal) sum += facts.reward;
      last = step;
    });
    if (pending !== undefined) await pending;
    validator.end();
    report.episode(length, length - Number(endsWithFinal), sum);
    if (violation !== undefined) report.faultyEpisodes++;
    if (endsWithFinal) this.#final((steps instanceof StepColumns ? steps.at(length - 1) : last) as RldsStep, index, length - 1);
    return { index, length, violation };
  }

  #final(last: RldsStep | null | undefined, episode: number, step: number): void {
    if (isAllZero([last?.action, last?.reward])) this.#report.zeroFinalSteps++;
    if (isAllZero(last?.observation)) this.#report.zeroFinalObservations.add({ episode, step });
  }
}

/** The repair of each fault in the mode "repair", for messages. */
const REMEDIES: { readonly [fault in Fault]: string } = {
  emptyEpisodes: "leave the episode out",
  danglingTails: "set is_last",
  missingFirsts: "set is_first",
  firstsInMidEpisode: "begin an episode there",
  lastsInMidEpisode: "end the episode there",
  terminalsWithoutLast: "set is_last and end the episode there",
  nonFinite: "end the episode before the step",
  wrongForms: "end the episode before the step",
};

/** Returns an episode's fault as an error: SPEC_MISMATCH if a step has a different form, otherwise INVALID_DATA. */
export function violationError({ fault, subject, rule, value, step }: Violation, episode: number): RldsError {
  const code = fault === "wrongForms" ? "SPEC_MISMATCH" : "INVALID_DATA";
  const { message } = mustBe(TypeError, subject, rule, value);
  const remedy = `Pass mode: "repair" to importRlds to ${REMEDIES[fault]}, or mode: "drop" to leave such episodes out`;
  return new RldsError(code, addSentence(message, remedy), { episode, step });
}
