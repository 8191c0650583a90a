/** An episode that was read whole, and what is given on of it. */
import { keeperOf } from "../../model/copied.ts";
import type { RldsEpisode } from "../../model/dataset.ts";
import { StepColumns } from "../../model/step-columns.ts";
import type { NonFiniteLeaf, StepFacts } from "./facts.ts";
import type { RunningReport } from "./import-report.ts";
import { mend } from "./mend.ts";
import type { Keeper } from "./reading.ts";
import { segmentSteps } from "./segment-steps.ts";

/** Memory: the steps, where the episode does not have them as columns or in an array already. */
export class WholeEpisode<S> implements Keeper<S> {
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
    const isThere = Array.isArray(steps) || steps instanceof StepColumns;
    this.#collected = isThere ? undefined : [];
    this.#steps = isThere ? (steps as readonly S[]) : (this.#collected as S[]);
  }

  add({ flags, reward, misfit, nonFinite }: StepFacts, step: S | undefined): void {
    const i = this.#flags.push(flags) - 1;
    this.#rewards.push(reward);
    if (misfit !== undefined) this.#misfits.add(i);
    if (nonFinite !== undefined) this.#nonFinite.set(i, nonFinite);
    this.#collected?.push(keeperOf(undefined)(step as S));
  }

  /** The very episode, where its steps can be gone through again. */
  asItIs(report: RunningReport): RldsEpisode<S> {
    this.#keep(report, 0, this.#flags.length);
    return this.#collected === undefined ? this.#episode : { ...this.#episode, steps: this.#steps as readonly S[] };
  }

  /** Nothing of it. */
  dropped(report: RunningReport, episode: number): void {
    report.dropped.episodes.add({ episode });
    report.dropped.steps += this.#flags.length;
  }

  /** What is right of it, as episodes of their own. */
  *mended(report: RunningReport, episode: number): Generator<RldsEpisode<S>, void, undefined> {
    const facts = { flags: this.#flags, misfits: this.#misfits, nonFinite: this.#nonFinite };
    const segments = mend(facts, (repair, step, path) => report.repaired[repair].add({ episode, step, path }));
    if (segments.length === 0) return this.dropped(report, episode);
    report.dropped.steps += segments.reduce((rest, { from, to }) => rest - (to - from), this.#flags.length);
    for (const segment of segments) {
      this.#keep(report, segment.from, segment.to);
      yield { ...this.#episode, steps: segmentSteps(this.#steps, segment) as readonly S[] };
    }
  }

  #keep(report: RunningReport, from: number, to: number): void {
    const sum = this.#rewards.slice(from, to - 1).reduce((sum, reward) => sum + reward, 0);
    report.kept.episode(to - from, sum);
  }
}
