/** Implements `batch_experiences` of PFRL: n-step returns, discounts and ends of sampled transitions, with their states and actions, as typed arrays. */

import { finite, mustBe, onlyKeys } from "../base/error.ts";
import { Column } from "../schema/column.ts";
import { elementsIn } from "../schema/copy-numbers.ts";
import { type Dtype, isDtype } from "../schema/dtype.ts";
import { columnsOf, type DefaultDtype, elementsOf, stackOf } from "./rows/stack.ts";
import type { StepSpec, WholeSpec } from "./rows/step-spec.ts";
import type { AnyBatch, TransitionBatch } from "./rows/transition-batch.ts";
import { specOfBatch } from "./store/batches.ts";
import type { Transition } from "./transition.ts";

export interface BatchExperiencesOptions {
  /** The discount per step, a finite number. */
  readonly gamma: number;
  /**
   * Maps each state to the learner's input. States have the same form as in lists of transitions. The typed arrays in the states of a batch are views of the
   * batch's columns.
   */
  readonly phi?: (state: never) => unknown;
  /** The dtypes of plain numbers. Default: the dtype of a batch's column; for lists and for results of phi, the rule of `batchExperiences`. */
  readonly dtypes?: { readonly state?: Dtype; readonly action?: Dtype };
}

/** A column, or columns nested like the values. Values that no column can store are in an array. */
// biome-ignore lint/suspicious/noExplicitAny: what phi makes is not known before it runs
export type Stacked = any;

export interface Experiences {
  /** The first state of each item, mapped by phi. */
  readonly state: Stacked;
  /** The first action of each item. */
  readonly action: Stacked;
  /** The discounted sum of the rewards of each item: gamma^i times the i-th reward. */
  readonly reward: Column<"f32">;
  /** The state after the last step of each item, mapped by phi. */
  readonly nextState: Stacked;
  /** The terminal flag of each item: 1 if a step of the item ended in a terminal state. */
  readonly isStateTerminal: Column<"f32">;
  /** The discount for the value of each item's `nextState`: gamma to the power of the item's number of steps. */
  readonly discount: Column<"f32">;
  /** The action after the last step of each item. Present only if every item has such an action. */
  readonly nextAction?: Stacked;
}

/**
 * Converts a sample to a batch for a learner. Typed arrays, and the columns of a batch, keep their dtype. Plain numbers in a list or from phi become f64 in
 * states and f32 in actions. Single numbers become i64 if they are whole in all items, including next states or next actions. `dtypes` overrides this rule.
 * Costs O(bytes).
 * @param experiences the result of `sample`: lists of transitions, or a batch. Without phi, missing next states of a batch are zeros
 * @throws TypeError if an argument is invalid, or if a next state in a list is null and phi does not replace it, or if phi returns null
 * @throws RangeError if an argument is invalid
 */
export function batchExperiences<S extends StepSpec>(
  experiences: readonly (readonly Transition[])[] | TransitionBatch<S>,
  options: BatchExperiencesOptions,
): Experiences {
  const settings = parseOptions(options);
  const spec = specOfBatch(experiences);
  if (spec !== undefined) return ofBatch(experiences as AnyBatch, spec, settings);
  const { gamma, mapState, states, actions } = settings;
  const lists = listsOf(experiences, "a list of lists of transitions, or a batch from sample()");
  const first = lists.map((list) => list[0] as Transition);
  const last = lists.map((list) => list.at(-1) as Transition);
  const firstStates = first.map((transition) => mapState(transition.state));
  const nextStates = last.map((transition) => mapState(transition.nextState));
  const firstActions = first.map((transition) => transition.action);
  const nextActions = last.map((transition) => transition.nextAction ?? null);
  const batch = {
    state: stackOf("state", firstStates, states, nextStates),
    action: stackOf("action", firstActions, actions, nextActions),
    reward: floats(lists.map((list) => returnOf(list, gamma))),
    nextState: stackOf("nextState", nextStates, states, firstStates),
    isStateTerminal: floats(lists.map((list) => Number(list.some((transition) => transition.isStateTerminal)))),
    discount: floats(lists.map((list) => list.reduce((product) => product * gamma, 1))),
  };
  return nextActions.includes(null) ? batch : { ...batch, nextAction: stackOf("nextAction", nextActions, actions, firstActions) };
}

/** The checked options of `batchExperiences`. */
interface BatchSettings {
  readonly gamma: number;
  readonly phi: ((state: never) => unknown) | undefined;
  /** Applies phi to a state, or returns the state if there is no phi. */
  readonly mapState: (state: unknown) => unknown;
  readonly states: DefaultDtype;
  readonly actions: DefaultDtype;
}

export function parseOptions(options: BatchExperiencesOptions): BatchSettings {
  const { gamma, phi, dtypes = {} } = onlyKeys("options", options, "gamma, phi, dtypes");
  finite("gamma", gamma);
  if (phi !== undefined && typeof phi !== "function") throw mustBe(TypeError, "phi", "a function", phi);
  const states: DefaultDtype = { dtype: dtypeFor("state", dtypes), fractions: "f64" };
  const actions: DefaultDtype = { dtype: dtypeFor("action", dtypes), fractions: "f32" };
  return { gamma, phi, mapState: (state) => (phi === undefined ? state : phi(state as never)), states, actions };
}

/** Checks lists of transitions. Returns copies of the lists, so that phi cannot change them. */
export function listsOf(experiences: unknown, rule: string): readonly (readonly Transition[])[] {
  if (!Array.isArray(experiences)) throw mustBe(TypeError, "experiences", rule, experiences);
  if (experiences.length === 0) throw mustBe(RangeError, "experiences", "a list of at least one element", experiences);
  return elementsIn(experiences).map((list, i) => {
    if (!Array.isArray(list) || list.length === 0) throw mustBe(TypeError, `experiences[${i}]`, "a list of at least one transition", list);
    return elementsIn(list).map((transition, t) => {
      if (typeof transition !== "object" || transition === null) throw mustBe(TypeError, `experiences[${i}][${t}]`, "a transition", transition);
      const { reward } = transition as Transition;
      if (typeof reward !== "number" && typeof reward !== "boolean") throw mustBe(TypeError, `reward of experiences[${i}][${t}]`, "a number", reward);
      return transition as Transition;
    });
  });
}

/** Returns the dtype that the caller chose, if any. @throws RangeError if it is not a dtype of numbers · TypeError for invalid options */
function dtypeFor(name: "state" | "action", dtypes: { readonly state?: Dtype; readonly action?: Dtype }): Dtype | undefined {
  const dtype = onlyKeys("dtypes", dtypes, "state, action")[name];
  if (dtype === undefined || (dtype !== "bool" && isDtype(dtype))) return dtype;
  throw mustBe(RangeError, `dtypes.${name}`, 'a numeric dtype, such as "f32"', dtype);
}

/** Implements `batchExperiences` for a batch. */
function ofBatch(batch: AnyBatch, spec: WholeSpec, { gamma, phi, states, actions }: BatchSettings): Experiences {
  const { count, lengths, reward, isStateTerminal, hasNextState, hasNextAction } = batch;
  const itemSize = reward.data.length / count;
  const mapStates = (name: "state" | "nextState") => {
    const element = elementsOf(spec.state, batch[name]);
    return Array.from({ length: count }, (_, i) => phi?.((name === "state" || hasNextState.data[i] !== 0 ? element(i) : null) as never));
  };
  const mappedStates = phi && { state: mapStates("state"), nextState: mapStates("nextState") };
  const column = (name: "state" | "nextState", otherName: "state" | "nextState") =>
    mappedStates === undefined ? columnsOf(name, spec.state, batch[name], states.dtype) : stackOf(name, mappedStates[name], states, mappedStates[otherName]);
  const [returns, discounts, terminals] = [new Float32Array(count), new Float32Array(count), new Float32Array(count)];
  for (let i = 0; i < count; i++) {
    let factor = 1;
    let sum = 0;
    for (let t = 0; t < (lengths[i] as number); t++) {
      sum += factor * Number(reward.data[i * itemSize + t]);
      factor *= gamma;
      if (isStateTerminal.data[i * itemSize + t] !== 0) terminals[i] = 1;
    }
    returns[i] = sum;
    discounts[i] = factor;
  }
  const shape = [count];
  const experiencesBatch = {
    state: column("state", "nextState"),
    action: columnsOf("action", spec.action, batch.action, actions.dtype),
    reward: new Column<"f32">(returns, shape),
    nextState: column("nextState", "state"),
    isStateTerminal: new Column<"f32">(terminals, shape),
    discount: new Column<"f32">(discounts, shape),
  };
  return hasNextAction.data.every((flag) => flag !== 0)
    ? { ...experiencesBatch, nextAction: columnsOf("nextAction", spec.action, batch.nextAction, actions.dtype) }
    : experiencesBatch;
}

function returnOf(list: readonly Transition[], gamma: number): number {
  let sum = 0;
  let factor = 1;
  for (const { reward } of list) {
    sum += factor * reward;
    factor *= gamma;
  }
  return sum;
}

export function floats(values: readonly number[]): Column<"f32"> {
  return new Column<"f32">(Float32Array.from(values), [values.length]);
}
