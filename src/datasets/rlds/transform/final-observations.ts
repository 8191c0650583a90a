/** Adds a final observation to all episodes of a dataset. */
import { flag, mustBe, onlyKeys } from "../../../base/error.ts";
import type { RldsDataset, RldsEpisode, RldsStep } from "../../model/dataset.ts";
import { attachSchema, deriveSchema, episodesOf, keepSpec } from "../../model/derive.ts";
import { numberLike, numberOfEpisode } from "../../model/episode-number.ts";
import { lastFlagOf, stepsWithFinal, stepsWithoutLastTransition } from "../../model/final-observation.ts";
import { type FinalStep, finalStepOf, finalStepSpec, statedFinalStep, withFinalStep } from "../../model/final-step.ts";
import { mapIterable } from "../../model/maybe-async.ts";
import { RldsError } from "../../model/rlds-error.ts";

/**
 * The treatment of each episode's last step. It overrides the kind that the data states.
 * - "observation": the step is only a final observation.
 * - "transition": the step is a transition, and its observation is repeated as the final observation.
 * - "drop": a last transition without a next observation is left out, and its observation becomes the final observation.
 * - "refuse": an episode that ends with a transition causes an error.
 */
export type FinalStepRule = FinalStep | "drop" | "refuse";

export interface FinalObservationOptions {
  /**
   * The treatment of each episode's last step. Default: the kind that the episode states in `final_step`, which all readers set. If there is no final
   * observation, the last observation is repeated.
   */
  readonly finalStep?: FinalStepRule;
  /**
   * Whether to repeat the last observation of an episode that ends with a transition. If false, each episode only states the treatment of its last step in
   * `final_step`, and a dataset writer can repeat the observation. Default: true.
   */
  readonly repeat?: boolean;
}

/** The counts of episodes that an iteration changed. */
export interface FinalStepCounts {
  /** The number of episodes whose last observation was repeated, because the data does not contain the next observation. */
  readonly repeated: number;
  /** The number of episodes whose last transition was left out. */
  readonly dropped: number;
}

export type RldsWithFinals<S = RldsStep> = RldsDataset<S> & {
  /** The counts of the latest iteration. They grow during the iteration. */
  readonly finalSteps: FinalStepCounts;
};

const RULES: readonly unknown[] = ["observation", "transition", "drop", "refuse"];

/** Returns the value unchanged. @throws RangeError if it is not a FinalStepRule */
export function mustBeRule(value: unknown): FinalStepRule {
  if (!RULES.includes(value)) throw mustBe(RangeError, "finalStep", '"observation", "transition", "drop" or "refuse"', value);
  return value as FinalStepRule;
}

/**
 * Returns the same episodes, each with a final observation. If an episode ends with a transition (`final_step` is "transition"), its last observation is
 * repeated as the final observation, with zeros as action, reward and discount. The flags is_last and is_terminal move to this additional step. Episodes that
 * do not state `final_step` are assumed to end as in RLDS, and do not change. Works lazily, and keeps one step in memory, or one episode if the steps are
 * columns.
 * @throws TypeError, RangeError if an argument is invalid
 * @throws RldsError INVALID_DATA during iteration if an episode ends with a transition and the rule is "refuse"
 */
export function withFinalObservations<S = RldsStep>(rlds: RldsDataset<S>, options: FinalObservationOptions = {}): RldsWithFinals<S> {
  const { finalStep, repeat = true } = onlyKeys("options", options, "finalStep, repeat");
  flag("repeat", repeat);
  const counts = { repeated: 0, dropped: 0 };
  const stated = finalStep === undefined ? rlds : withFinalStepRule(rlds, finalStep, counts);
  const episodes = mapIterable(episodesOf(stated), (source: RldsEpisode<S>, index) => {
    if (index === 0) counts.repeated = 0;
    if (!repeat || !isEpisode(source) || statedFinalStep(source) !== "transition") return source;
    counts.repeated++;
    return numberLike({ ...withFinalStep(source, "observation"), steps: stepsWithFinal(source.steps) }, source);
  });
  return Object.assign(attachSchema<S>(episodes, deriveSchema(stated)), { finalSteps: counts });
}

/** Returns each episode with the kind of last step that a rule determines. @param counts receives the number of episodes that lost their last transition */
export function withFinalStepRule<S>(rlds: RldsDataset<S>, rule: FinalStepRule, counts: { dropped: number } = { dropped: 0 }): RldsDataset<S> {
  mustBeRule(rule);
  const episodes = mapIterable(episodesOf(rlds), (source: RldsEpisode<S>, index) => {
    if (index === 0) counts.dropped = 0;
    return isEpisode(source) ? ruledEpisode(source, rule, index, () => counts.dropped++) : source;
  });
  return attachSchema<S>(episodes, deriveSchema(rlds, keepSpec, finalStepSpec));
}

function ruledEpisode<S>(episode: RldsEpisode<S>, rule: FinalStepRule, index: number, onDrop: () => void): RldsEpisode<S> {
  if (rule === "observation" || rule === "transition") return withFinalStep(episode, rule);
  const hasFinal = finalStepOf(episode, lastFlagOf(episode.steps) ?? true) === "observation";
  if (!hasFinal && rule === "refuse") throw noFinalError(numberOfEpisode(episode, index));
  if (hasFinal) return withFinalStep(episode, "observation");
  onDrop();
  return numberLike({ ...withFinalStep(episode, "observation"), steps: stepsWithoutLastTransition(episode.steps) }, episode);
}

/** Returns the error of the rule "refuse". */
export function noFinalError(episode: number): RldsError {
  return new RldsError(
    "INVALID_DATA",
    'the episode has no final observation: its last step is a transition. Use finalStep "transition" to repeat the last observation, or "drop" to leave that transition out',
    { episode },
  );
}

/** Returns whether a value is an episode. Other values are passed on, and their consumer throws an error. */
function isEpisode(value: unknown): boolean {
  return typeof (value as { readonly steps?: unknown } | null)?.steps === "object";
}
