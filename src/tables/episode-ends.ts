/** Checks the ends of episodes, for local writers and for writers at the other end of a port. */

import { flag, integer, mustBe, onlyKeys, ReplayError, show } from "../base/error.ts";
import type { EpisodeEnds } from "../memory/block.ts";
import { isList } from "../schema/copy-numbers.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { flattenPartial } from "../schema/nest.ts";
import type { GappedColumnsOf, PartialColumnsOf, PartialStepOf, Spec } from "../schema/spec.ts";
import type { Roles } from "../schema/transition-roles.ts";
import { hasReturns, type ResolvedWriterOptions } from "./rules.ts";

/** The options for the end of an episode. */
export interface EndOptions<S = Spec> {
  /**
   * The final observation: a step after the last step, with any leaves of the spec. Missing leaves are zeros. The final observation is stored, but no item
   * begins with it.
   */
  readonly final?: PartialStepOf<S>;
  /**
   * Whether the environment ended the episode (true), or the episode was cut off (false, truncated). Required if the writer has an `nStep` or `sequence` rule.
   */
  readonly terminated?: boolean;
  /** The lane whose episode ends. Default: all lanes. Required with `final` or `terminated` if the writer has several lanes. */
  readonly lane?: number;
}

/** The lanes whose episodes end with a step: one value per lane. Default: none. If both flags are set, the episode terminated. */
export interface LaneEnds<S = Spec> {
  readonly terminated?: ArrayLike<number | boolean>;
  readonly truncated?: ArrayLike<number | boolean>;
  /** The final observations, with any leaves of the spec, and one value per lane. Only the values of lanes that end are read. */
  readonly final?: GappedColumnsOf<S>;
}

/** The options for a block of steps. Flags and priorities have one number or boolean per step. */
export interface BlockOptions<S = Spec, TableName extends string = string> {
  /** The flags of steps that end an episode without a final observation. A flag is not 0 if the episode ends with the step. */
  readonly ends?: ArrayLike<number | boolean>;
  readonly terminated?: ArrayLike<number | boolean>;
  readonly truncated?: ArrayLike<number | boolean>;
  /** The final steps, one for each episode that ends with `terminated` or `truncated`, in the order of the steps. */
  readonly final?: PartialColumnsOf<S>;
  /**
   * The priorities by table, one per step. With `nStep` rules, the priority belongs to the transition that begins with the step. With `length` and `sequence`
   * rules, it belongs to the item that ends with the step.
   */
  readonly priorities?: { readonly [T in TableName]?: ArrayLike<number> };
}

/** The properties that determine how a writer's episodes must end. */
export interface EndRules extends Pick<ResolvedWriterOptions, "lanes" | "autoreset"> {
  /** Whether a rule makes transitions or sequences, which require `terminated`. */
  readonly hasTransitions: boolean;
  /** The observation that transitions bootstrap from: its path, and the numbers of its leaves. */
  readonly observation: { readonly path: string; readonly leaves: readonly number[] };
}

export function endRulesOf({ lanes, autoreset, items }: ResolvedWriterOptions, roles: Roles): EndRules {
  const observation = { path: roles.path("observation"), leaves: roles.leaves("observation").map(({ index }) => index) };
  return { lanes, autoreset, hasTransitions: items.some(hasReturns), observation };
}

const NEEDS_TERMINATED = "a boolean: true if the environment ended the episode, or false if it was cut off (this writer has an nStep or sequence rule)";

/** Checks the options of `endEpisode`, and returns them. @throws TypeError, RangeError if an option is invalid or missing */
export function checkEnd<S>(rules: EndRules, options: EndOptions<S>): EndOptions<S> {
  const { lane, final, terminated } = onlyKeys("endEpisode", options, "final, terminated, lane");
  const { lanes, hasTransitions } = rules;
  if (lane !== undefined) integer("lane", lane, 0, lanes - 1);
  if (terminated === undefined && hasTransitions) throw mustBe(TypeError, "terminated", NEEDS_TERMINATED, terminated);
  if (terminated !== undefined) flag("terminated", terminated);
  // The episode ends with this call, regardless of how the environments reset.
  if (terminated === false) requireFinal({ ...rules, autoreset: "disabled" }, final, 1);
  const isPlain = final === undefined && terminated !== true;
  if (!isPlain && lane === undefined && lanes > 1) throw mustBe(TypeError, "lane", `the lane whose episode ends, because the writer has ${lanes} lanes`, lane);
  return { lane, final, terminated };
}

/**
 * Checks the options of `discardEpisode`. Returns the lane; undefined for all lanes. @throws TypeError, RangeError if the lane is invalid · ReplayError
 * UNSUPPORTED if items may span episodes
 */
export function checkDiscard({ lanes, across }: { readonly lanes: number; readonly across: boolean }, options: { readonly lane?: number }): number | undefined {
  const { lane } = onlyKeys("discardEpisode", options, "lane");
  if (across)
    throw new ReplayError(
      "UNSUPPORTED",
      "discardEpisode requires a writer without across, because items of this writer may span episodes. Delete its items by key",
    );
  return lane === undefined ? lane : integer("lane", lane, 0, lanes - 1);
}

/** Checks the second argument of `append`, and returns it. @param hasLanes whether the option `lanes` was passed, even if its value is 1 */
export function checkLaneEnds<S>(hasLanes: boolean, ends: LaneEnds<S>): LaneEnds<S> {
  if (hasLanes) return onlyKeys("append", ends, "terminated, truncated, final");
  const remedy = "Call endEpisode({ final, terminated }) afterwards, or pass lanes: 1";
  throw mustBe(TypeError, "the second argument of append", ["omitted, because the writer has no lanes", remedy], ends);
}

/**
 * Checks which ends of episodes are passed together. With autoreset "nextStep", `final` is not allowed. With rules that make transitions or sequences, `ends`
 * is not allowed, and `final` requires `terminated` or `truncated`. A list that is missing then means false for all steps.
 */
export function requireFlag({ autoreset, hasTransitions }: EndRules, { ends, terminated, truncated }: EpisodeEnds, final: unknown): void {
  if (final !== undefined && autoreset === "nextStep")
    throw mustBe(TypeError, "final", 'omitted with autoreset: "nextStep", because the next step contains it', final);
  if (!hasTransitions) return;
  if (ends !== undefined) throw mustBe(TypeError, "ends", ["omitted with nStep or sequence rules", "Pass terminated and truncated"], ends);
  if ((terminated ?? truncated) === undefined && final !== undefined) throw mustBe(TypeError, "terminated", NEEDS_TERMINATED, terminated);
}

/**
 * Requires the final observation of truncated episodes, from which transitions bootstrap. With autoreset "nextStep", the next step contains it. @param
 * hasTerminated whether some steps could have terminated
 */
export function requireFinal({ autoreset, hasTransitions }: EndRules, final: unknown, truncated: number, hasTerminated = true): void {
  if (truncated === 0 || !hasTransitions || autoreset === "nextStep" || hasValue(final)) return;
  const rule = "the last observation of a truncated episode, because its transitions bootstrap from it";
  throw mustBe(TypeError, "final", [rule, hasTerminated ? "" : "If the episode terminated, pass terminated"], final);
}

/** Returns whether a nest contains any value. */
function hasValue(nest: unknown): boolean {
  return typeof nest === "object" && nest !== null && !isList(nest) ? Object.values(nest).some(hasValue) : nest !== undefined;
}

/** Requires the observation in the final step. @param values the passed value for each leaf of the spec */
export function requireObservation({ hasTransitions, observation }: EndRules, values: readonly unknown[], final: unknown): void {
  if (!hasTransitions || observation.leaves.some((leaf) => values[leaf] !== undefined)) return;
  const rule = `an object with ${show(observation.path)}, because transitions of a truncated episode bootstrap from it`;
  throw mustBe("SPEC_MISMATCH", "final", rule, final);
}

/** Returns columns of the final steps of the lanes that end; undefined for a leaf without values. */
export function finalStep(spec: Spec, leaves: readonly PlacedLeaf[], lanes: number, { terminated, truncated }: EpisodeEnds, final: unknown): unknown[] {
  const endedLanes = Array.from({ length: lanes }, (_, lane) => lane).filter((lane) => terminated?.[lane] || truncated?.[lane]);
  return flattenPartial(spec, final, "final").map((column, i) => {
    if (column === undefined) return column;
    const { path, size } = leaves[i] as PlacedLeaf;
    const isFlat = isList(column) && column.length === lanes * size && !isList(column[0] ?? column[endedLanes[0] as number]);
    if (!isList(column) || (!isFlat && column.length !== lanes)) throw mustBe("SPEC_MISMATCH", `final.${path}`, `one value for each of ${lanes} lanes`, column);
    return isFlat ? endedLanes.flatMap((lane) => Array.prototype.slice.call(column, lane * size, (lane + 1) * size)) : endedLanes.map((lane) => column[lane]);
  });
}

export function notFinite(path: string, value: unknown): Error {
  return mustBe("INVALID_DATA", path, ["finite, because nStep and sequence rules sum it", "To allow other values, set finite: false in the rule"], value);
}

export function beginsWithFinal(length: number): Error {
  return new RangeError(`length must not be ${length}, because the item would begin with the final step of an episode. Pass another length`);
}

export function beyondWindow(windowLength: number, length: number): Error {
  return mustBe(RangeError, "length", [`an integer in 1 … ${windowLength}, the number of steps in the window`, "Increase keep for longer items"], length);
}

const finalNextText = (lane: number) => `the next step of lane ${lane} is the final step of its episode (autoreset: "nextStep")`;

export function endsAlready(lane: number): Error {
  const reason = `${finalNextText(lane)}, so the episode cannot end again`;
  return new ReplayError("INVALID_DATA", `${reason}. If your environments reset within the same step, use autoreset: "sameStep"`);
}

/** Returns the error for ending an episode that is not open. @param isFinalNext whether the lane's final step has not been appended yet */
export function noEpisode(lane: number, isFinalNext: boolean): Error {
  const reason = isFinalNext ? finalNextText(lane) : "no step was appended since the last episode ended";
  return new ReplayError("OUT_OF_TURN", `no episode is open: ${reason}. Call endEpisode only after append`);
}
