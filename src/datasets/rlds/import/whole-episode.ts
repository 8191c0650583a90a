/** An episode that was read whole, and what is given on of it. */
import { createStepCopier } from "../../model/copy-steps.ts";
import type { RldsEpisode, RldsStep } from "../../model/dataset.ts";
import { isAllZero } from "../../model/elements.ts";
import { type FinalStep, finalStepOf, withFinalStep } from "../../model/final-step.ts";
import { StepColumns } from "../../model/step-columns.ts";
import type { StepReceiver } from "./import-reader.ts";
import type { RunningReport } from "./import-report.ts";
import { repairEpisode, type Segment } from "./repair.ts";
import { segmentSteps } from "./segment-steps.ts";
import { type NonFiniteLeaf, type StepFacts, TERMINAL } from "./step-checks.ts";

/** Memory: the steps, where the episode does not have them as columns or in an array already. */
export class WholeEpisode<S> implements StepReceiver<S> {
  readonly #episode: RldsEpisode<S>;
  readonly #steps: StepColumns<S> | readonly S[];
  readonly #collected: S[] | undefined;
  readonly #flags: number[] = [];
  readonly #rewards: number[] = [];
  readonly #misfits = new Set<number>();
  readonly #nonFinite = new Map<number, readonly NonFiniteLeaf[]>();

  constructor(episode: RldsEpisode<S>) {
    this.#episode = episode;
    const { steps } = episode;
    const isStored = Array.isArray(steps) || steps instanceof StepColumns;
    this.#collected = isStored ? undefined : [];
    this.#steps = isStored ? (steps as readonly S[]) : (this.#collected as S[]);
  }

  add({ flags, reward, mismatch, nonFinite }: StepFacts, step: S | undefined): void {
    const i = this.#flags.push(flags) - 1;
    this.#rewards.push(reward);
    if (mismatch !== undefined) this.#misfits.add(i);
    if (nonFinite !== undefined) this.#nonFinite.set(i, nonFinite);
    this.#collected?.push(createStepCopier(undefined)(step as S));
  }

  /** The very episode, where its steps can be gone through again. @param states whether it must state the kind of its last step */
  keepEpisode(report: RunningReport, states: boolean): RldsEpisode<S> {
    const finalStep = finalStepOf(this.#episode, true);
    this.#keep(report, 0, this.#flags.length, finalStep);
    if (states) return { ...withFinalStep(this.#episode, finalStep), steps: this.#steps as readonly S[] };
    return this.#collected === undefined ? this.#episode : { ...this.#episode, steps: this.#steps as readonly S[] };
  }

  /** Nothing of it. */
  drop(report: RunningReport, episode: number): void {
    report.dropped.episodes.add({ episode });
    report.dropped.steps += this.#flags.length;
  }

  /** What is right of it, as episodes of their own. */
  *repair(report: RunningReport, episode: number): Generator<RldsEpisode<S>, void, undefined> {
    const facts = { flags: this.#flags, misfits: this.#misfits, nonFinite: this.#nonFinite };
    const segments = repairEpisode(facts, (repair, step, path) => report.repaired[repair].add({ episode, step, path }));
    if (segments.length === 0) return this.drop(report, episode);
    report.dropped.steps += segments.reduce((rest, { from, to }) => rest - (to - from), this.#flags.length);
    for (const segment of segments) {
      const finalStep = this.#finalStepOf(segment);
      this.#keep(report, segment.from, segment.to, finalStep);
      yield { ...withFinalStep(this.#episode, finalStep), steps: segmentSteps(this.#steps, segment) as readonly S[] };
    }
  }

  /** A step that becomes the last one keeps its action and reward, unless they were not finite, or are the zeros of a terminal observation. */
  #finalStepOf({ to, setLast, zeroed }: Segment): FinalStep {
    if (zeroed.length > 0) return "observation";
    if (!setLast) return finalStepOf(this.#episode, true);
    const steps = this.#steps;
    const isTerminal = ((this.#flags[to - 1] as number) & TERMINAL) !== 0;
    const last = (steps instanceof StepColumns ? steps.at(to - 1) : steps[to - 1]) as RldsStep;
    return isTerminal && isAllZero([last.action, last.reward]) ? "observation" : "transition";
  }

  #keep(report: RunningReport, from: number, to: number, finalStep: FinalStep): void {
    const transitions = finalStep === "transition" ? to - from : Math.max(0, to - from - 1);
    const sum = this.#rewards.slice(from, from + transitions).reduce((sum, reward) => sum + reward, 0);
    report.kept.episode(to - from, transitions, sum);
  }
}
