/** Converts pairs of adjacent steps to trajectories, one step at a time, like `convert_rlds_to_trajectories` of TF-Agents. */

import { mustBe } from "../../../base/error.ts";
import { isList } from "../../../schema/copy-numbers.ts";
import type { Trajectory } from "../../../tf-agents/trajectory.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { numberOf } from "../../model/elements.ts";
import { type Place, RldsError } from "../../model/rlds-error.ts";
import { flagOf, mustBeStep } from "../../model/step-fields.ts";
import { type FirstInfo, firstInfo, mustBeInfo, type PolicyInfoFn } from "./policy-info.ts";
import { noSteps } from "./trajectory-spec.ts";

const FIRST = 0;
const MID = 1;
const LAST = 2;

/** A step whose flags have been read. */
interface FlaggedStep {
  readonly step: RldsStep;
  readonly episode: number;
  readonly index: number;
  readonly first: boolean;
  readonly last: boolean;
  readonly terminal: boolean;
}

export class Pairing {
  readonly #policyInfoFn: PolicyInfoFn | undefined;
  #previous: FlaggedStep | undefined;
  /** The number of trajectories so far. */
  count = 0;
  /** The place of the step that the latest trajectory comes from, and the number of trajectories before it. */
  place: Place = {};
  /** The spec of the steps. It is known from the first trajectory on. */
  stepSpec: StepSpec | undefined;
  /** The result of policyInfoFn for the first step. */
  firstInfo: FirstInfo | undefined;

  constructor(policyInfoFn: PolicyInfoFn | undefined) {
    this.#policyInfoFn = policyInfoFn;
  }

  /** Adds a step, and returns the trajectory of the previous step. @throws RldsError SPEC_MISMATCH · INVALID_DATA if the steps are in an impossible order */
  take(value: unknown, episode: number, index: number): Trajectory | undefined {
    const place = { episode, step: index, pushed: this.count };
    const step = mustBeStep(value, place);
    const flag = (field: "is_first" | "is_last" | "is_terminal") => flagOf(step, field, place);
    const next = { step, episode, index, first: flag("is_first"), last: flag("is_last"), terminal: flag("is_terminal") };
    const previous = this.#previous;
    if (previous === undefined && !next.first) throw this.#orderError("the data must begin with a first step, got is_first false", next);
    if (previous !== undefined) this.#check(previous, next);
    this.#previous = next;
    return previous === undefined ? undefined : this.#trajectory(previous, next.step, next.first ? FIRST : next.last ? LAST : MID);
  }

  /**
   * Returns the trajectory of the last step of the dataset. @param zero the first step of zeros that is assumed to follow
   * @throws RldsError EMPTY if there are no steps · INVALID_DATA if the last episode does not end
   */
  end(zero: RldsStep): Trajectory {
    const last = this.#previous;
    if (last === undefined) throw noSteps();
    if (last.terminal && !last.last) throw this.#terminal(last);
    if (!last.last) throw this.#unendedError(last);
    return this.#trajectory(last, zero, FIRST);
  }

  #infoOf(policyInfoFn: PolicyInfoFn, step: RldsStep, next: RldsStep, place: Place): unknown {
    if (this.count > 0 || this.stepSpec === undefined) return mustBeInfo(policyInfoFn(step, next), place);
    this.firstInfo = firstInfo(policyInfoFn, this.stepSpec, step, next, place);
    return this.firstInfo.value;
  }

  #check(previous: FlaggedStep, next: FlaggedStep): void {
    if (previous.terminal && !previous.last) throw this.#terminal(previous);
    if (previous.last && !next.first) throw this.#orderError("a last step must be followed by a first step, got is_first false", next);
    if (!previous.last && (next.first || next.episode !== previous.episode)) throw this.#unendedError(previous);
  }

  #terminal(step: FlaggedStep): RldsError {
    return this.#orderError("a terminal step must be the last step of its episode, got is_terminal without is_last", step);
  }

  #unendedError(step: FlaggedStep): RldsError {
    return this.#orderError("an episode must end with a last step, got is_last false", step);
  }

  #orderError(rule: string, { episode, index }: FlaggedStep): RldsError {
    return new RldsError("INVALID_DATA", `${rule}. Repair the data, or import it with mode "repair" or "drop"`, { episode, step: index, pushed: this.count });
  }

  #trajectory({ step, first, last, terminal, episode, index }: FlaggedStep, next: RldsStep, nextType: number): Trajectory {
    const place: Place = { episode, step: index, pushed: this.count };
    this.place = place;
    const policyInfo = this.#policyInfoFn === undefined ? NO_INFO : this.#infoOf(this.#policyInfoFn, step, next, place);
    const { observation, action, reward } = step;
    this.count++;
    return {
      stepType: last ? LAST : first ? FIRST : MID,
      observation,
      action,
      policyInfo,
      // In an episode of one step, the same step is the first and the last.
      nextStepType: first && last ? LAST : nextType,
      reward: reward as number,
      discount: terminal ? 0 : discountOf(step, place),
    };
  }
}

const NO_INFO: readonly never[] = [];

/** Returns the discount as a single number. Discounts are f32 in every trajectory. */
function discountOf({ discount }: RldsStep, place: Place): number {
  if (typeof discount === "number") return discount;
  const number = numberOf(discount);
  // NaN is valid if the array really contains it.
  if (!Number.isNaN(number) || (isList(discount) && discount.length === 1 && typeof discount[0] === "number")) return number;
  throw new RldsError("SPEC_MISMATCH", mustBe(TypeError, "discount", "a single number", discount).message, place);
}
