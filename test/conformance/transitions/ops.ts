/** Implements the ops of PFRL cases with the public API. The internals of PFRL classes that cases record are derived from our results. */
import { existsSync } from "node:fs";
import type { Column } from "../../../src/index.ts";
import { batchExperiences, type Transition } from "../../../src/pfrl/index.ts";
import { scaled } from "../../support/size.ts";
import { isObject, Malformed } from "../case.ts";
import { countsOf } from "./counts.ts";
import { decode, dtypeOf, encode } from "./values.ts";
import { type Args, camelCase, named, type Prioritized, type World } from "./world.ts";

type Run = (world: World, on: string, args: Args) => unknown;

const LIST = { form: "list" } as const;

export const OPS: { readonly [op: string]: Run } = {
  // Writing
  append: (world, on, { extras, ...args }) => {
    const given = Object.fromEntries(Object.entries(args).map(([name, value]) => [camelCase(name), decode(value)]));
    world.on(on).append({ ...given, ...(decode(extras ?? {}) as object) } as never);
  },
  stop_current_episode: (world, on, args) => {
    world.on(on).stopCurrentEpisode(args.env_id);
  },
  new: (world, on, args) => {
    world.make(on, args.class, (args.args ?? {}) as Args);
  },

  // Files
  save: (world, on, { file }) => {
    world.on(on).save(world.path(file));
  },
  load: (world, on, { file }) => {
    world.on(on).load(world.path(file));
  },
  close: (world, on) => world.close(on),
  exists: (world, _, { file }) => existsSync(world.path(file)),

  // Reading
  len: (world, on) => world.on(on).length,
  n_episodes: (world, on) => (world.on(on) as { nEpisodes?: number }).nEpisodes,
  capacity: (world, on) => world.on(on).capacity,
  contents: (world, on) => transitions([...world.on(on).items()]),
  episodes: (world, on) => {
    const buffer = world.on(on);
    if (!("episodes" in buffer)) throw new Malformed("episodes of no episodic buffer");
    return transitions([...buffer.episodes()]);
  },
  open_windows: (world, on) => Object.fromEntries([...world.on(on).running()].map(([env, steps]) => [keyOf(env), transitions(steps)])),
  sample: (world, on, { n }) => weighed(world.on(on).sample(n as number, LIST)),
  sample_episodes: (world, on, { n, max_len }) => {
    const buffer = world.on(on);
    if (!("sampleEpisodes" in buffer)) throw new Malformed("sample_episodes of no episodic buffer");
    const list = buffer.sampleEpisodes(n as number, max_len as number | undefined, LIST);
    return { episodes: transitions([...list]), ...(list.weights === undefined ? {} : { weights: [...list.weights].map(encode) }) };
  },
  sample_check: (world, on, args) => sampleCheck(world, on, args.n as number, args.repeat as number),

  // Priorities
  update_errors: (world, on, { errors }) => {
    world.prioritized(on).updateErrors(decode(errors) as number[]);
  },
  priorities: (world, on) => prioritiesOf(world, on),
  beta: (world, on) => world.prioritized(on).beta,
  priority_from_errors: (world, on, { errors }) => encode(world.prioritized(on).priorityFromErrors(decode(errors) as number[])),
  weights_from_probabilities: (world, on, { probabilities, min_probability }) =>
    encode(world.prioritized(on).weightsFromProbabilities(decode(probabilities) as number[], decode(min_probability) as number)),
  weight_of_each: (world, on) => weightOfEach(world, on),
  pb_append: (world, on, { value, priority }) => {
    world.counted(on).push({ value, priority: priority === undefined ? undefined : (decode(priority) as number) });
  },
  pb_counts: (world, on, args) => countsOf(world.counted(on), world.args, args),

  // Functions
  batch_experiences: (_, __, { experiences, gamma, phi }) =>
    batched(
      (experiences as Args[][]).map((list) => list.map(transitionOf)),
      gamma,
      phi,
    ),
  batch_sampled: (world, on, { gamma, phi }) => {
    const lists = [...world.on(on).items()].map((item) => (Array.isArray(item) ? item : [item])) as Transition[][];
    return batched(lists, gamma, phi);
  },
};

/** Formats the id of an environment like Python. */
function keyOf(env: unknown): string {
  if (typeof env === "boolean") return env ? "True" : "False";
  return env === null ? "None" : String(env);
}

/** The ops whose results are compared as counts over many draws. */
export const COUNTED: ReadonlySet<string> = new Set(["pb_counts"]);

const PHIS: { readonly [name: string]: ((state: unknown) => unknown) | undefined } = {
  identity: undefined,
  float32: (state) => floats(state),
  div255: (state) => floats(state, 255),
  none_to_zero: (state) => (state === null ? new Float32Array(2) : floats(state)),
};

function floats(state: unknown, by = 1): unknown {
  if (typeof state === "number") return Float32Array.of(state / by);
  if (Array.isArray(state)) return state.map((part) => floats(part, by));
  return Float32Array.from(state as Float32Array, (x) => Number(x) / by);
}

function transitionOf(raw: Args): Transition {
  const { next_state = null, next_action = null, is_state_terminal = false, ...rest } = decode(raw) as Args;
  return { ...rest, nextState: next_state, nextAction: next_action, isStateTerminal: is_state_terminal } as unknown as Transition;
}

function batched(lists: Transition[][], gamma: unknown, phi: unknown = "identity"): unknown {
  if (!Object.hasOwn(PHIS, String(phi))) throw new Malformed(`unknown phi ${String(phi)}`);
  const made = batchExperiences(lists, { gamma: gamma as number, phi: PHIS[String(phi)] as never });
  const single = phi !== "identity" && typeof lists[0]?.[0]?.state === "number";
  const { nextState, isStateTerminal, nextAction, ...rest } = made;
  const all = { ...rest, next_state: nextState, is_state_terminal: isStateTerminal, ...(nextAction === undefined ? {} : { next_action: nextAction }) };
  return Object.fromEntries(Object.entries(all).map(([name, column]) => [name, columnOf(column, single && /state$/.test(name))]));
}

/**
 * Converts a column to the tensor format of the cases. @param single whether phi wrapped each number in an array of length 1, so that this dimension is removed
 */
function columnOf(column: unknown, single: boolean): unknown {
  if (Array.isArray(column)) return column.map((part) => columnOf(part, single));
  const { data, shape } = column as Column;
  if (data === undefined) return Object.fromEntries(Object.entries(column as object).map(([name, part]) => [name, columnOf(part, single)]));
  return {
    dtype: dtypeOf(data),
    shape: single && shape.at(-1) === 1 && shape.length === 2 ? shape.slice(0, 1) : shape,
    data: Array.from(data as Float32Array, encode),
  };
}

/** Converts our transitions, which may be in nested lists, to the format of the cases. */
function transitions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(transitions);
  return isObject(value) && "nextState" in value ? encode(named(value as unknown as Transition)) : encode(value);
}

/** Converts a sample to the format of the cases, in which the first transition of an item contains the item's weight. */
function weighed(list: readonly unknown[] & { readonly weights?: Float64Array }): unknown {
  const items = transitions([...list]) as (Args | Args[])[];
  const { weights } = list;
  if (weights === undefined) return items;
  return items.map((item, i) => (item as Args[]).map((one, k) => (k === 0 ? { ...one, weight: weights[i] } : one)));
}

function sampleCheck(world: World, on: string, n: number, repeat: number): unknown {
  const buffer = world.on(on);
  const sizes = new Set<number>();
  const seen = new Set<unknown>();
  let unique = true;
  // This draws 10 times as many samples as the case, or 4 times in a short run, so that no outcome is missing by chance.
  for (let i = 0; i < scaled(10, 4) * repeat; i++) {
    const list = buffer.sample(n, LIST) as readonly (readonly Transition[])[];
    const states = list.map(([first]) => first?.state);
    sizes.add(states.length);
    unique &&= new Set(states).size === states.length;
    for (const state of states) seen.add(state);
  }
  const sorted = (values: Set<unknown>) => [...values].sort((a, b) => (a as number) - (b as number));
  return { sizes: sorted(sizes), always_unique: unique, states_seen: sorted(seen) };
}

interface Trees {
  readonly sum_tree: readonly number[];
  readonly min_tree: readonly number[];
  readonly sum: number;
  readonly min: number;
}

/** Returns the contents of PFRL's two trees. In the sum tree, items that wait for their error have priority 0. */
function treesOf(world: World, on: string): Trees {
  const buffer = world.prioritized(on);
  const alternate = world.stored(on).options.priorities?.last.alternate === true;
  const waiting = new Set(alternate ? buffer.waitingKeys : []);
  const { keys, priorities } = buffer.priorities();
  const sums = [...priorities].map((priority, i) => (waiting.has(keys[i] as number) ? 0 : priority));
  return { sum_tree: sums, min_tree: [...priorities], sum: sums.reduce((sum, one) => sum + one, 0), min: Math.min(...priorities) };
}

function prioritiesOf(world: World, on: string): unknown {
  const buffer = world.prioritized(on);
  return encode({ ...treesOf(world, on), max_priority: buffer.maxPriority, waiting: buffer.waiting });
}

function weightOfEach(world: World, on: string): unknown {
  const buffer: Prioritized = world.prioritized(on);
  const { priorities } = world.stored(on).options;
  const { sum_tree, sum, min } = treesOf(world, on);
  if (sum === 0) throw new RangeError("the priorities must have a sum, got 0");
  const u = priorities?.uniformRatio ?? 0;
  const n = sum_tree.length;
  const probabilities = sum_tree.map((priority) => u / n + ((1 - u) * priority) / sum);
  const minProbability = u / n + ((1 - u) * min) / sum;
  const { beta } = buffer;
  const weights = buffer.weightsFromProbabilities(probabilities, minProbability);
  if (priorities !== undefined) priorities.importanceWeights.beta = beta;
  return { beta, probabilities, min_probability: minProbability, weights: encode(weights) };
}
