/** Datasets whose episodes all end with a final observation. */
import { flag, mustBe, onlyKeys } from "../../../base/error.ts";
import type { RldsDataset, RldsEpisode, RldsStep } from "../../model/dataset.ts";
import { attachSchema, deriveSchema, episodesOf, keepSpec } from "../../model/derive.ts";
import { numberLike, numberOfEpisode } from "../../model/episode-number.ts";
import { lastFlagOf, stepsWithFinal, stepsWithoutLastTransition } from "../../model/final-observation.ts";
import { type FinalStep, finalStepOf, finalStepSpec, statedFinalStep, withFinalStep } from "../../model/final-step.ts";
import { mapIterable } from "../../model/maybe-async.ts";
import { RldsError } from "../../model/rlds-error.ts";

/**
 * What becomes of the last step of each episode, whatever the data state of it. "observation": it is the final observation alone. "transition": it is a transition, and its
 * observation is repeated as the final one. "drop": a last transition without a next observation is left out, and its observation becomes the final one. "refuse": such an episode is an error.
 */
export type FinalStepRule = FinalStep | "drop" | "refuse";

export interface FinalObservationOptions {
  /** Default: what each episode states by `final_step`, as all readers do; the last observation is repeated where an episode has no final one. */
  readonly finalStep?: FinalStepRule;
  /** Whether the last observation is repeated where an episode ends with a transition. Default: true. False: episodes only state by `final_step` what `finalStep` makes of them, for a writer */
  readonly repeat?: boolean;
}

/** Of the episodes that a pass has gone through. */
export interface FinalStepCounts {
  /** Episodes whose last observation is there twice, since no data has the one that followed. */
  readonly repeated: number;
  /** Episodes whose last transition was left out. */
  readonly dropped: number;
}

export type RldsWithFinals<S = RldsStep> = RldsDataset<S> & {
  /** Counts of the latest pass; they fill while that goes on. */
  readonly finalSteps: FinalStepCounts;
};

const RULES: readonly unknown[] = ["observation", "transition", "drop", "refuse"];

/** @throws RangeError */
export function mustBeRule(value: unknown): FinalStepRule {
  if (!RULES.includes(value)) throw mustBe(RangeError, "finalStep", '"observation", "transition", "drop" or "refuse"', value);
  return value as FinalStepRule;
}

/**
 * The same episodes, each with a final observation: where an episode ends with a transition (`final_step` is "transition"), its last observation is repeated as the final one, with zeros as action, reward
 * and discount; is_last and is_terminal move there. Episodes that state nothing end as RLDS has it, and stay. Lazy; memory: an episode that is columns, else a step.
 * @throws TypeError, RangeError for an argument; passes throw RldsError INVALID_DATA for rule "refuse"
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

/** Each episode with the kind of last step that a rule makes of it. @param counts receives how many lost their last transition */
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

/** @throws nothing: the error of rule "refuse" */
export function noFinalError(episode: number): RldsError {
  return new RldsError(
    "INVALID_DATA",
    'the episode has no final observation: its last step is a transition. Use finalStep "transition", which repeats the last observation, or "drop", which leaves that transition out',
    { episode },
  );
}

/** Another value is passed on: the consumer that meets it names it. */
function isEpisode(value: unknown): boolean {
  return typeof (value as { readonly steps?: unknown } | null)?.steps === "object";
}
