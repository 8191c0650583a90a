/** Implements `batch_recurrent_experiences` of PFRL, which stacks episodes for the update of a recurrent model, and `random_subseq`, which cuts episodes. */

import { described, integer, mustBe } from "../base/error.ts";
import { Column } from "../schema/column.ts";
import { type AnyArray, zeros } from "../schema/dtype.ts";
import { isLeaf, isObject, shapeOf, sizeOf } from "../schema/leaf.ts";
import { nested } from "../schema/nest.ts";
import { type BatchExperiencesOptions, floats, listsOf, parseOptions, type Stacked } from "./batch-experiences.ts";
import type { PartLeaf } from "./rows/leaf.ts";
import { type DefaultDtype, stackOf } from "./rows/stack.ts";
import { infer } from "./rows/step-spec.ts";
import type { Transition } from "./transition.ts";

/**
 * A batch for a recurrent learner. `state` and `nextState` have one element per episode. All other columns with one value per step are in order of time: the
 * first steps of all episodes, then the second steps of all episodes that have a second step, and so on.
 */
export interface RecurrentExperiences {
  /** For each episode, the states of its steps, mapped by phi. */
  readonly state: Stacked[];
  readonly action: Stacked;
  readonly reward: Column<"f32">;
  /** For each episode, the next states of its steps, mapped by phi. */
  readonly nextState: Stacked[];
  readonly isStateTerminal: Column<"f32">;
  /** The discount of each step, which is gamma. */
  readonly discount: Column<"f32">;
  /**
   * The `recurrentState` of each episode's first transition, stacked along the second dimension. Null values become zeros. If all values are null, the result
   * is null.
   */
  readonly recurrentState: Stacked;
  /** The `nextRecurrentState` of each episode's first transition, in the form of `recurrentState`. */
  readonly nextRecurrentState: Stacked;
  /** The next action of each step. Present only if every step has a next action. */
  readonly nextAction?: Stacked;
}

/** The dtype of plain numbers in a recurrent state. */
const DEFAULT_DTYPE: DefaultDtype = { dtype: undefined, fractions: "f64" };

/**
 * Converts episodes to a batch for a recurrent learner. Dtypes follow the rules of `batchExperiences`. In a recurrent state, arrays are dimensions and
 * objects nest: the pair of an LSTM is `{h, c}`. Costs O(bytes).
 * @param experiences episodes in the list form, the longest first; each first transition has `recurrentState` and `nextRecurrentState`, which may be null
 * @throws TypeError, RangeError if an argument is invalid
 */
export function batchRecurrentExperiences(experiences: readonly (readonly Transition[])[], options: BatchExperiencesOptions): RecurrentExperiences {
  const { gamma, mapState, states, actions } = parseOptions(options);
  const lists = listsOf(experiences, 'a list of episodes, such as the result of sampleEpisodes(n, maxLength, { form: "list" })');
  lists.forEach(({ length }, i) => {
    const previousLength = lists[i - 1]?.length ?? length;
    if (length > previousLength)
      throw mustBe(
        RangeError,
        "experiences",
        ["sorted with the longest episode first", "Call experiences.sort((a, b) => b.length - a.length)"],
        described(`${length} steps after ${previousLength}`),
      );
  });
  const flat = timeFirst(lists);
  const state = lists.map((list) => list.map((transition) => mapState(transition.state)));
  const nextState = lists.map((list) => list.map((transition) => mapState(transition.nextState)));
  const [all, next] = [state.flat(), nextState.flat()];
  const action = flat.map((transition) => transition.action);
  const nextActions = flat.map((transition) => transition.nextAction ?? null);
  const batch = {
    // All lists are passed in each call, so that all results get the same dtype.
    state: state.map((values) => stackOf("state", values, states, [...all, ...next])),
    action: stackOf("action", action, actions, nextActions),
    reward: floats(flat.map((transition) => transition.reward)),
    nextState: nextState.map((values) => stackOf("nextState", values, states, [...all, ...next])),
    isStateTerminal: floats(flat.map((transition) => Number(transition.isStateTerminal))),
    discount: floats(flat.map(() => gamma)),
    recurrentState: joined("recurrentState", lists),
    nextRecurrentState: joined("nextRecurrentState", lists),
  };
  return nextActions.includes(null) ? batch : { ...batch, nextAction: stackOf("nextAction", nextActions, actions, action) };
}

/**
 * Returns a run of `subseqLen` elements with a uniformly random start, or `seq` itself if it has at most `subseqLen` elements.
 * @param random returns a number of at least 0 and below 1, such as `Math.random`; pass a generator with a seed for repeatable results
 * @throws TypeError, RangeError if an argument is invalid
 */
export function randomSubseq<S extends { readonly length: number; slice(from: number, to: number): unknown }>(
  seq: S,
  subseqLen: number,
  random: () => number,
): S | ReturnType<S["slice"]> {
  integer("subseqLen", subseqLen, 0);
  if (typeof seq?.slice !== "function") throw mustBe(TypeError, "seq", "an array, or an object with length and slice like an array", seq);
  if (typeof random !== "function") throw mustBe(TypeError, "random", "a function, such as Math.random", random);
  if (seq.length <= subseqLen) return seq;
  const at = random();
  if (!(at >= 0 && at < 1)) throw mustBe(RangeError, "the result of random", "a number >= 0 and < 1", at);
  const from = Math.floor(at * (seq.length - subseqLen + 1));
  return seq.slice(from, from + subseqLen) as ReturnType<S["slice"]>;
}

function timeFirst(lists: readonly (readonly Transition[])[]): Transition[] {
  const flat: Transition[] = [];
  for (let t = 0; t < (lists[0] as readonly Transition[]).length; t++)
    for (const list of lists) {
      if (t >= list.length) break;
      flat.push(list[t] as Transition);
    }
  return flat;
}

function joined(name: string, lists: readonly (readonly Transition[])[]): Stacked {
  const values = lists.map(([first]) => first?.[name]);
  for (const value of values)
    if (value === undefined) throw mustBe(TypeError, name, ["given as an extra of each episode's first transition", "Pass null if it has no value"], value);
  return concatValues(name, values);
}

/** Concatenates the recurrent states of episodes along a new second dimension, like `concatenate_recurrent_states` of PFRL. */
function concatValues(name: string, values: readonly unknown[]): Stacked {
  const present = values.filter((value) => value !== null && value !== undefined);
  if (present.length === 0) return null;
  const spec = infer(present[0], name);
  if (!isLeaf(spec)) {
    const keys = Object.keys(spec);
    const parts = keys.map((key) => concatValues(`${name}.${key}`, values.map((value) => (value as { readonly [key: string]: unknown } | null)?.[key] ?? null))); // biome-ignore format: one part per line
    return nested(keys, parts, Array.isArray(spec));
  }
  const [first, ...rest] = isObject(spec) ? [] : shapeOf(spec as PartLeaf);
  if (first === undefined) throw mustBe(TypeError, name, "null, a typed array, or an array or object of typed arrays", present[0]);
  const { data } = stackOf(name, present, DEFAULT_DTYPE) as Column;
  const n = values.length;
  const inner = sizeOf(rest);
  const output = zeros((spec as PartLeaf).dtype as "f32", n * first * inner) as AnyArray as Float32Array<ArrayBuffer>;
  let from = 0;
  values.forEach((value, i) => {
    if (value === null || value === undefined) return;
    for (let a = 0; a < first; a++, from += inner) output.set((data as Float32Array).subarray(from, from + inner), (a * n + i) * inner);
  });
  return new Column(output, [first, n, ...rest]);
}
