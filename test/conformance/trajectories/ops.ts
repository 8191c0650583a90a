/** The ops of the trajectories' cases, by name: what each asks of ours, and our answer in the words of the cases. */
import * as agents from "../../../src/agents/index.ts";
import type { Column } from "../../../src/column.ts";
import { ourArguments } from "../arguments.ts";
import { isObject, Malformed, type Op, type Result } from "../case.ts";
import { ourSpec } from "../step-spec.ts";
import { dtypes, fieldsOf, given, loose, ours, partOf, plain, plainSpec, specOf, trajectorySpecOf } from "./values.ts";

type Args = Op[1];
type Fields = { readonly [field: string]: unknown };

/** What a case says beside its ops. */
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

function maker(name: "first" | "mid" | "last" | "singleStep" | "boundary"): Ask {
  return (test, args) => {
    const { observation, action, policyInfo, reward, discount } = loose(fieldsOf(test.spec, args)) as { readonly [field: string]: never };
    return answer(agents[name](observation, action, policyInfo, reward, discount));
  };
}

/** Time steps: theirs take a scalar discount as it is where nothing is a tensor. */
function stepMaker(name: "transition" | "termination" | "truncation"): Ask {
  return (test, { outer_dims, ...args }) => {
    const { observation, reward, discount } = loose(fieldsOf(test.spec, args)) as { readonly [field: string]: never };
    const options = outer_dims === undefined ? {} : { outerDims: outer_dims as [] };
    return answer(name === "termination" ? agents.termination(observation, reward, options) : agents[name](observation, reward, discount, options));
  };
}

function converter(name: "asTrajectory" | "asTransition" | "asHalfTransition" | "asNStepTransition"): Ask {
  return (test, { value, ...args }) => {
    const convert = agents[name] as (spec: unknown, value: unknown, options: unknown) => unknown;
    const state = test.spec.state === undefined || name === "asTrajectory" ? {} : { policyStateSpec: ourSpec(test.spec.state) };
    return answer(convert(trajectorySpecOf(test.spec), valueOf(test, mustBeObject(value)), { ...ourArguments(args), ...state }));
  };
}

/** A trajectory, a transition, or something else: then a nest of observations. */
function valueOf(test: TrajectoryCase, value: Fields): unknown {
  return "time_step" in value || "step_type" in value ? partOf(test.spec, value) : given(test.spec.observation, value);
}

export const TRAJECTORY_OPS: { readonly [name: string]: Ask } = {
  first: maker("first"),
  mid: maker("mid"),
  last: maker("last"),
  single_step: maker("singleStep"),
  boundary: maker("boundary"),
  from_episode: (test, args) => answer(agents.fromEpisode(fieldsOf(test.spec, args) as never)),
  from_transition(test, args) {
    const { timeStep, actionStep, nextTimeStep } = loose(partOf(test.spec, args)) as { readonly [part: string]: never };
    return answer(agents.fromTransition(timeStep, actionStep, nextTimeStep));
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
  transition: stepMaker("transition"),
  termination: stepMaker("termination"),
  truncation: stepMaker("truncation"),
  discounted_return(test, { rewards, discounts, ...args }) {
    const number = (value: unknown) => given(specOf(test.spec, "reward"), value) as Column;
    const { final_value, ...options } = args;
    const finalValue = final_value === undefined ? {} : { finalValue: number(final_value) };
    const named = Object.fromEntries(Object.entries(options).map(([name, value]) => [ours(name), value]));
    return answer(agents.discountedReturn(number(rewards), number(discounts), { ...ourArguments(named), ...finalValue }));
  },
  as_trajectory: converter("asTrajectory"),
  as_transition: converter("asTransition"),
  as_half_transition: converter("asHalfTransition"),
  as_n_step_transition: converter("asNStepTransition"),
};
