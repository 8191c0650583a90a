/** Buffers a whole episode and passes on its valid parts. */
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

/** Keeps the steps in memory, unless the episode already stores the steps as columns or in an array. */
export class WholeEpisode<S> implements StepReceiver<S> {
  readonly #episode: RldsEpisode<S>;
  readonly #steps: StepColumns<S> | readonly S[];
  readonly #collected: S[] | undefined;
  /** The facts about each step, stored compactly because an episode may have a million steps. */
  #flags: Uint8Array;
  #rewards: Float64Array;
  #length = 0;
  readonly #misfits = new Set<number>();
  readonly #nonFinite = new Map<number, readonly NonFiniteLeaf[]>();

  constructor(episode: RldsEpisode<S>) {
    this.#episode = episode;
    const { steps } = episode;
    const isStored = Array.isArray(steps) || steps instanceof StepColumns;
    this.#collected = isStored ? undefined : [];
    this.#steps = isStored ? (steps as readonly S[]) : (this.#collected as S[]);
    const capacity = isStored ? Math.max(this.#steps.length, 1) : 64;
    this.#flags = new Uint8Array(capacity);
    this.#rewards = new Float64Array(capacity);
  }

  add({ flags, reward, mismatch, nonFinite }: StepFacts, step: S | undefined): void {
    const i = this.#length++;
    if (i === this.#flags.length) this.#grow();
    this.#flags[i] = flags;
    this.#rewards[i] = reward;
    if (mismatch !== undefined) this.#misfits.add(i);
    if (nonFinite !== undefined) this.#nonFinite.set(i, nonFinite);
    this.#collected?.push(createStepCopier(undefined)(step as S));
  }

  #grow(): void {
    const [flags, rewards] = [new Uint8Array(2 * this.#length), new Float64Array(2 * this.#length)];
    flags.set(this.#flags);
    rewards.set(this.#rewards);
    [this.#flags, this.#rewards] = [flags, rewards];
  }

  /** Passes on the episode, unchanged if its steps can be iterated again. @param states whether the episode must state the kind of its last step */
  keepEpisode(report: RunningReport, states: boolean): RldsEpisode<S> {
    const finalStep = finalStepOf(this.#episode, true);
    this.#keep(report, 0, this.#length, finalStep);
    if (states) return { ...withFinalStep(this.#episode, finalStep), steps: this.#steps as readonly S[] };
    return this.#collected === undefined ? this.#episode : { ...this.#episode, steps: this.#steps as readonly S[] };
  }

  /** Leaves out the whole episode. */
  drop(report: RunningReport, episode: number): void {
    report.dropped.episodes.add({ episode });
    report.dropped.steps += this.#length;
  }

  /** Passes on the valid segments as separate episodes. */
  *repair(report: RunningReport, episode: number): Generator<RldsEpisode<S>, void, undefined> {
    const facts = { flags: this.#flags.subarray(0, this.#length), misfits: this.#misfits, nonFinite: this.#nonFinite };
    const segments = repairEpisode(facts, (repair, step, path) => report.repaired[repair].add({ episode, step, path }));
    if (segments.length === 0) return this.drop(report, episode);
    report.dropped.steps += segments.reduce((rest, { from, to }) => rest - (to - from), this.#length);
    for (const segment of segments) {
      const finalStep = this.#finalStepOf(segment);
      this.#keep(report, segment.from, segment.to, finalStep);
      yield { ...withFinalStep(this.#episode, finalStep), steps: segmentSteps(this.#steps, segment) as readonly S[] };
    }
  }

  /**
   * Returns the kind of the last step of a segment. A step that becomes the last step keeps its action and reward, unless they are not finite, or are the zeros
   * of a terminal observation.
   */
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
    let sum = 0;
    for (let i = from; i < from + transitions; i++) sum += this.#rewards[i] as number;
    report.kept.episode(to - from, transitions, sum);
  }
}
