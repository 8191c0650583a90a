/** Implements the ops of the trajectory cases, by name. Each calls our function, and returns our answer in the format of the cases. */

import type { Column } from "../../../src/schema/column.ts";
import * as agents from "../../../src/tf-agents/index.ts";
import { ourArguments } from "../arguments.ts";
import { isObject, Malformed, type Op, type Result } from "../case.ts";
import { ourSpec } from "../step-spec.ts";
import { dtypes, fieldsOf, given, loose, ours, partOf, plain, plainSpec, specOf, trajectorySpecOf } from "./values.ts";

type Args = Op[1];
type Fields = { readonly [field: string]: unknown };

/** The parts of a case that its ops use. */
export interface TrajectoryCase {
  readonly spec: Fields;
  readonly form: unknown;
}

type Ask = (test: TrajectoryCase, args: Args) => Result;

const answer = (value: unknown): Result => ({ value: plain(value), dtypes: dtypes(value) });
const batch = (test: TrajectoryCase, value: unknown) => partOf(test.spec, mustBeObject(value)) as never;

function mustBeObject(value: unknown): Fields {
  if (!isObject(value)) throw new Malformed(`expected an object, got ${JSON.stringify(value)}`);
  return value;
}

function maker(make: typeof agents.first): Ask {
  return (test, args) => {
    const { observation, action, policyInfo, reward, discount } = loose(fieldsOf(test.spec, args)) as Fields;
    return answer(make(observation, action, policyInfo, reward as number, discount as number));
  };
}

/** Returns an op that creates a time step with `make`. */
function stepMaker(make: (step: { observation: unknown; reward: number; discount: number }, options: agents.StepOptions) => agents.TimeStep): Ask {
  return (test, { outer_dims, ...args }) => {
    const step = loose(fieldsOf(test.spec, args)) as { observation: unknown; reward: number; discount: number };
    return answer(make(step, outer_dims === undefined ? {} : { outerDims: outer_dims as [] }));
  };
}

function converter(convert: (spec: never, value: never, options: never) => unknown, hasState = true): Ask {
  return (test, { value, ...args }) => {
    const state = test.spec.state === undefined || !hasState ? {} : { policyStateSpec: ourSpec(test.spec.state) };
    return answer(
      convert(trajectorySpecOf(test.spec) as never, experienceOf(test, mustBeObject(value)) as never, { ...ourArguments(args), ...state } as never),
    );
  };
}

/** Converts the value of a case, which is a trajectory, a transition or a nest of observations, to columns. */
function experienceOf(test: TrajectoryCase, value: Fields): unknown {
  return "time_step" in value || "step_type" in value ? partOf(test.spec, value) : given(test.spec.observation, value);
}

export const TRAJECTORY_OPS: { readonly [name: string]: Ask } = {
  first: maker(agents.first),
  mid: maker(agents.mid),
  last: maker(agents.last),
  single_step: maker(agents.singleStep),
  boundary: maker(agents.boundary),
  from_episode: (test, args) => answer(agents.fromEpisode(fieldsOf(test.spec, args) as never)),
  from_transition(test, args) {
    const { timeStep, actionStep, nextTimeStep } = loose(partOf(test.spec, args)) as Fields;
    return answer(agents.fromTransition(timeStep as agents.TimeStep, actionStep, nextTimeStep as agents.TimeStep));
  },
  to_transition(test, { trajectory, next_trajectory }) {
    return answer(agents.toTransition(batch(test, trajectory), next_trajectory === undefined ? undefined : batch(test, next_trajectory)));
  },
  to_n_step_transition: (test, { trajectory, gamma }) => answer(agents.toNStepTransition(batch(test, trajectory), gamma as number)),
  experience_to_transitions: (test, { trajectory, squeeze_time_dim }) =>
    answer(agents.experienceToTransitions(batch(test, trajectory), { squeezeTimeDim: squeeze_time_dim as boolean })),
  to_transition_spec: (test) => ({ spec: plainSpec(agents.toTransitionSpec(trajectorySpecOf(test.spec) as never)) }),
  replace(test, { trajectory, fields }) {
    return answer(agents.replace(batch(test, trajectory), fieldsOf(test.spec, mustBeObject(fields))));
  },
  flags(test, { trajectory, time_step }) {
    const { isFirst, isMid, isLast, isBoundary } = agents;
    const step = fieldsOf(test.spec, mustBeObject(trajectory ?? time_step)) as never;
    const { shape } = (step as { readonly stepType: Column }).stepType;
    const shaped = (flags: boolean | Uint8Array) => (typeof flags === "boolean" ? flags : plain({ data: flags, shape }));
    const of = { is_first: shaped(isFirst(step)), is_mid: shaped(isMid(step)), is_last: shaped(isLast(step)) };
    return time_step === undefined ? { ...of, is_boundary: shaped(isBoundary(step)) } : of;
  },
  restart(test, { observation, batch_size }) {
    const options = batch_size === undefined ? {} : { batchSize: batch_size as number };
    return answer(agents.restart(loose(given(test.spec.observation, observation)), options));
  },
  transition: stepMaker(({ observation, reward, discount }, options) => agents.transition(observation, reward, discount, options)),
  termination: stepMaker(({ observation, reward }, options) => agents.termination(observation, reward, options)),
  truncation: stepMaker(({ observation, reward, discount }, options) => agents.truncation(observation, reward, discount, options)),
  discounted_return(test, { rewards, discounts, ...args }) {
    const number = (value: unknown) => given(specOf(test.spec, "reward"), value) as Column;
    const { final_value, ...options } = args;
    const finalValue = final_value === undefined ? {} : { finalValue: number(final_value) };
    const named = Object.fromEntries(Object.entries(options).map(([name, value]) => [ours(name), value]));
    return answer(agents.discountedReturn(number(rewards), number(discounts), { ...ourArguments(named), ...finalValue }));
  },
  as_trajectory: converter(agents.asTrajectory, false),
  as_transition: converter(agents.asTransition),
  as_half_transition: converter(agents.asHalfTransition),
  as_n_step_transition: converter(agents.asNStepTransition),
};
