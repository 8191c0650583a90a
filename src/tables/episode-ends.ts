/** How episodes end, and the checks of that: the same for a writer and for one at the other end of a port. */

import { flag, integer, mustBe, onlyKeys, ReplayError, show } from "../base/error.ts";
import type { EpisodeEnds } from "../memory/block.ts";
import { isList } from "../schema/copy-numbers.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { flattenPartial } from "../schema/nest.ts";
import type { GappedColumnsOf, PartialColumnsOf, PartialStepOf, Spec } from "../schema/spec.ts";
import type { Roles } from "../schema/transition-roles.ts";
import { hasReturns, type ResolvedWriterOptions } from "./rules.ts";

/** How an episode ends. */
export interface EndOptions<S = Spec> {
  /** The step behind the last one: what was seen there, in any leaves of the spec; the others are zeros. It is kept, and begins no item. */
  readonly final?: PartialStepOf<S>;
  /** Whether there is nothing after it to be worth anything; false where only time ran out. With rules of `nStep` or `sequence` it must be said. */
  readonly terminated?: boolean;
  /** The lane that ends. Default: all, where neither `final` nor `terminated` is given. */
  readonly lane?: number;
}

/** Which lanes' episodes end with a step: one value per lane, no lane where it is left out. Where both flags are there it terminated. */
export interface LaneEnds<S = Spec> {
  readonly terminated?: ArrayLike<number | boolean>;
  readonly truncated?: ArrayLike<number | boolean>;
  /** What was seen last, in any leaves of the spec, one value a lane; only those of lanes that end are read. */
  readonly final?: GappedColumnsOf<S>;
}

/** What belongs to the steps of a block: one number or boolean a step. */
export interface BlockOptions<S = Spec, TableName extends string = string> {
  /** Not 0 where the episode ends with the step, and nothing is known of what came after. */
  readonly ends?: ArrayLike<number | boolean>;
  readonly terminated?: ArrayLike<number | boolean>;
  readonly truncated?: ArrayLike<number | boolean>;
  /** Final steps: one for each episode that ends by `terminated` or `truncated`, in the order of the steps. */
  readonly final?: PartialColumnsOf<S>;
  /** By table, one value per step: the priority of the transition that begins with the step (rules of `nStep`), or of the item that ends with it (rules of `length` and `sequence`). */
  readonly priorities?: { readonly [T in TableName]?: ArrayLike<number> };
}

/** What decides how a writer's episodes must end. */
export interface EndRules extends Pick<ResolvedWriterOptions, "lanes" | "autoreset"> {
  /** Whether a rule makes transitions or sequences: then it must be said. */
  readonly hasTransitions: boolean;
  /** What transitions bootstrap from: its path, and its leaves by their numbers. */
  readonly observation: { readonly path: string; readonly leaves: readonly number[] };
}

export function endRulesOf({ lanes, autoreset, items }: ResolvedWriterOptions, roles: Roles): EndRules {
  const observation = { path: roles.path("observation"), leaves: roles.leaves("observation").map(({ index }) => index) };
  return { lanes, autoreset, hasTransitions: items.some(hasReturns), observation };
}

const NEEDS_TERMINATED = "said with rules of nStep or sequence: whether the episode terminated, or was only cut off";

/** The options of `endEpisode`, checked. */
export function checkEnd<S>(rules: EndRules, options: EndOptions<S>): EndOptions<S> {
  const { lane, final, terminated } = onlyKeys("endEpisode", options, "final, terminated, lane");
  const { lanes, hasTransitions } = rules;
  if (lane !== undefined) integer("lane", lane, 0, lanes - 1);
  if (terminated === undefined && hasTransitions) throw mustBe(TypeError, "terminated", NEEDS_TERMINATED, terminated);
  if (terminated !== undefined) flag("terminated", terminated);
  // It ends here and now, however the environments begin anew.
  if (terminated === false) requireFinal({ ...rules, autoreset: "disabled" }, final, 1);
  const isPlain = final === undefined && terminated !== true;
  if (!isPlain && lane === undefined && lanes > 1) throw mustBe(TypeError, "lane", `given with final or terminated, since the writer has ${lanes} lanes`, lane);
  return { lane, final, terminated };
}

/** The lane of `discardEpisode`, checked; undefined for all. @throws TypeError, RangeError, ReplayError UNSUPPORTED */
export function checkDiscard({ lanes, across }: { readonly lanes: number; readonly across: boolean }, options: { readonly lane?: number }): number | undefined {
  const { lane } = onlyKeys("discardEpisode", options, "lane");
  if (across)
    throw new ReplayError(
      "UNSUPPORTED",
      "discardEpisode needs a writer that is not across, since items of such a writer may span episodes: delete its items by their keys",
    );
  return lane === undefined ? lane : integer("lane", lane, 0, lanes - 1);
}

/** The second argument of `append`, checked. @param hasLanes whether the writer was asked for lanes, be it one */
export function checkLaneEnds<S>(hasLanes: boolean, ends: LaneEnds<S>): LaneEnds<S> {
  if (hasLanes) return onlyKeys("append", ends, "terminated, truncated, final");
  const rule = "left out of a writer without lanes: call endEpisode({ final, terminated }) after it, or ask for lanes: 1";
  throw mustBe(TypeError, "the second argument of append", rule, ends);
}

/** With rules that make transitions it must be said whether episodes terminate; flags that are left out are those of no step. */
export function requireFlag({ autoreset, hasTransitions }: EndRules, { ends, terminated, truncated }: EpisodeEnds, final: unknown): void {
  if (final !== undefined && autoreset === "nextStep")
    throw mustBe(TypeError, "final", 'left out with autoreset: "nextStep", where it comes as the next step', final);
  if (!hasTransitions) return;
  if (ends !== undefined) throw mustBe(TypeError, "ends", "left out with rules of nStep or sequence: say terminated and truncated", ends);
  if ((terminated ?? truncated) === undefined && final !== undefined) throw mustBe(TypeError, "terminated", NEEDS_TERMINATED, terminated);
}

/** What is truncated needs what was seen last, to bootstrap from. @param hasTerminated whether some steps could have terminated */
export function requireFinal({ autoreset, hasTransitions }: EndRules, final: unknown, truncated: number, hasTerminated = true): void {
  if (truncated === 0 || !hasTransitions || autoreset === "nextStep" || hasValue(final)) return;
  const hint = hasTerminated ? "" : " (or terminated must be said, where it did)";
  throw mustBe(TypeError, "final", `given where an episode is truncated: what was seen last, which its transitions bootstrap from${hint}`, final);
}

/** Whether there is a value in a nest. */
function hasValue(nest: unknown): boolean {
  return typeof nest === "object" && nest !== null && !isList(nest) ? Object.values(nest).some(hasValue) : nest !== undefined;
}

/** And of the final step the observation. @param values what was given for each leaf of the spec */
export function requireObservation({ hasTransitions, observation }: EndRules, values: readonly unknown[], final: unknown): void {
  if (!hasTransitions || observation.leaves.some((leaf) => values[leaf] !== undefined)) return;
  const rule = `an object with ${show(observation.path)} where an episode is truncated: its transitions bootstrap from there`;
  throw mustBe("SPEC_MISMATCH", "final", rule, final);
}

/** Columns of the final steps of the lanes that end; undefined for a leaf without. */
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
  return mustBe("INVALID_DATA", path, "finite, since rules of nStep and sequence sum it (finite: false in the rule allows others)", value);
}

export function beginsWithFinal(length: number): Error {
  return mustBe(RangeError, "length", "such that the item does not begin with the final step of an episode", length);
}

export function beyondWindow(windowLength: number, length: number): Error {
  return mustBe(RangeError, "length", `an integer in 1 … ${windowLength}, the number of steps in the window (raise keep for longer items)`, length);
}

const finalNextText = (lane: number) => `the next step of lane ${lane} is the final one of its episode (autoreset: "nextStep")`;

export function endsAlready(lane: number): Error {
  const reason = `${finalNextText(lane)}, and cannot end it again`;
  return new ReplayError("INVALID_DATA", `${reason}: if your environments give what was seen last beside the step, say "sameStep"`);
}

/** @param isFinalNext whether the lane's final step is still to come */
export function noEpisode(lane: number, isFinalNext: boolean): Error {
  const reason = isFinalNext ? finalNextText(lane) : "no step was appended since the last episode ended";
  return new ReplayError("OUT_OF_TURN", `endEpisode has no episode to end: ${reason}`);
}
