/** Lists the observer cases in which our answer differs from the recorded one (POLICY.md, departures.md). Parts that an entry omits stay as recorded. */

/** The steps of an item in table t: each is a step's action divided by 10, rounded down, or P for padding. The priority is 1 if it is omitted. */
export type Steps = readonly (number | "P")[] | { readonly steps: readonly (number | "P")[]; readonly priority: number };

export interface ObserverDeparture {
  /** The rule of POLICY.md. */
  readonly rule: string;
  /** The kind of the constructor's error. */
  readonly error?: string;
  readonly items?: readonly Steps[];
  /** Error kinds by the number of the op. */
  readonly errors?: { readonly [op: number]: string };
  readonly sizes?: readonly number[][];
  readonly cached?: readonly number[];
}

const CLOSED = "close() forgets the cached steps: the count is 0 while closed, and a reset after it writes nothing";
const FORM = "a step of the wrong form changes nothing";
const CHECKED = "every argument is checked at construction";
const FLAT = "flattened steps are accepted, as the document says";
const BATCH = "a step has no batch dimension";
const TYPING = "an accident of Python's typing: numbers are converted to the spec's dtypes, padding has them too";
const WHOLE = "nothing of an overflowed episode is written, and the next one is whole";
const EMPTY = "reset(true) with nothing cached does nothing";

const P = "P" as const;
const refusedForm = (...ops: number[]) => Object.fromEntries(ops.map((op) => [op, "SPEC_MISMATCH"]));
const sizes = (...each: number[]) => each.map((size) => [size]);

/** Departures of the trajectory observers by the name of the case. EPISODE contains those of the episode observer. */
export const TRAJECTORY: { readonly [name: string]: ObserverDeparture } = {
  close_reset_true_too_few: { rule: CLOSED, errors: {}, cached: [1, 0, 0, 1] },
  close_reset_true_window: { rule: CLOSED, errors: {}, cached: [1, 2, 0, 0, 0, 1, 2] },
  close_reset_true_pad: { rule: CLOSED, errors: {}, cached: [1, 0, 0, 0, 1, 2, 3] },
  close_open_reset_true_pad: { rule: CLOSED, items: [[10, 11, 12]], sizes: sizes(0, 0, 0, 0, 0, 0, 0, 1), cached: [1, 2, 0, 0, 0, 1, 2, 3] },
  close_open_reset_true: { rule: CLOSED, errors: {}, cached: [1, 2, 3, 0, 0, 0, 1, 2, 3] },
  close_drops_cache: { rule: CLOSED, cached: [1, 2, 0] },
  close_then_step: { rule: CLOSED, cached: [1, 2, 0, 0, 0] },
  close_twice: { rule: CLOSED, cached: [1, 2, 0, 0] },
  close_open_reuse: { rule: CLOSED, cached: [1, 2, 0, 0, 1, 2, 3, 4] },
  close_reset_false_reuse: { rule: CLOSED, cached: [1, 0, 0, 1, 2] },
  structure_changes: {
    rule: FORM,
    items: [
      [0, 2],
      [2, 3],
    ],
    errors: refusedForm(1),
    sizes: sizes(0, 0, 1, 2),
    cached: [1, 1, 2, 3],
  },
  structure_grows: { rule: FORM, items: [], errors: refusedForm(1, 2, 3), sizes: sizes(0, 0, 0, 0), cached: [1, 1, 1, 1] },
  structure_shrinks: { rule: FORM, cached: [1, 2, 2, 2, 2] },
  table_unknown: { rule: CHECKED, error: "NOT_FOUND" },
  priority_negative: { rule: CHECKED, error: "RangeError" },
  priority_text: { rule: CHECKED, error: "TypeError" },
  priority_none: { rule: CHECKED, error: "TypeError" },
  sequence_length_zero: { rule: CHECKED, error: "RangeError" },
  stride_zero: { rule: CHECKED, error: "RangeError" },
  stride_negative: { rule: CHECKED, error: "RangeError" },
  flat_list: { rule: FLAT, errors: {} },
  dict_input: { rule: TYPING, errors: {} },
  batched_one: { rule: BATCH, items: [], errors: refusedForm(0, 1, 2), sizes: sizes(0, 0, 0), cached: [0, 0, 0] },
  batched_two: { rule: BATCH, items: [], errors: refusedForm(0, 1, 2), sizes: sizes(0, 0, 0), cached: [0, 0, 0] },
  python_numbers: { rule: TYPING, items: [[0, 1]] },
  python_numbers_pad: { rule: TYPING, items: [[0, 1, P]], errors: {}, sizes: sizes(0, 1), cached: [1, 0] },
  step_type_int64_pad: { rule: TYPING, items: [[0, 1, P]], errors: {}, sizes: sizes(0, 1), cached: [1, 0] },
};

export const EPISODE: { readonly [name: string]: ObserverDeparture } = {
  never_ends_then_close: { rule: CLOSED, cached: [1, 2, 3, 0] },
  close_reset_true: { rule: CLOSED, cached: [1, 2, 0, 0, 1, 0] },
  close_reset_false: { rule: CLOSED, cached: [1, 2, 0, 0, 1, 0] },
  close_mid_open_count_stays: {
    rule: CLOSED,
    items: [
      [10, 11, 12],
      [20, 21],
    ],
    errors: {},
    sizes: sizes(0, 0, 0, 0, 0, 0, 1, 1, 2),
    cached: [1, 2, 0, 0, 1, 2, 0, 1, 0],
  },
  close_overflow_open: {
    rule: CLOSED,
    items: [
      [10, 11],
      [20, 21],
    ],
    sizes: sizes(0, 0, 0, 0, 0, 0, 0, 1, 1, 2),
    cached: [1, 2, 2, 2, 0, 0, 1, 0, 1, 0],
  },
  too_long_at_boundary_raises: {
    rule: WHOLE,
    items: [
      [10, 11, 12],
      [20, 21, 22],
    ],
    sizes: sizes(0, 0, 0, 0, 0, 0, 1, 1, 1, 2),
    cached: [1, 2, 3, 0, 1, 2, 0, 1, 2, 0],
  },
  max_one: { rule: WHOLE, items: [[0], [9], [10]], sizes: sizes(1, 1, 1, 2, 3), cached: [0, 1, 0, 0, 0] },
  too_long_reset_true: { rule: WHOLE, items: [[10, 11]], sizes: sizes(0, 0, 0, 0, 0, 0, 0, 1) },
  too_long_bypass_reset_true: { rule: WHOLE, items: [[10, 11]], sizes: sizes(0, 0, 0, 0, 0, 0, 0, 1) },
  too_long_bypass_then_reset_true: { rule: EMPTY, errors: {} },
  reset_false_then_true: { rule: EMPTY, errors: {} },
  priority_text: { rule: CHECKED, error: "TypeError" },
  priority_none: { rule: CHECKED, error: "TypeError" },
  priority_numeric_text: { rule: CHECKED, error: "TypeError" },
  priority_negative: { rule: CHECKED, error: "RangeError" },
  priority_bool: { rule: CHECKED, error: "TypeError" },
  update_priority_text: {
    rule: "updatePriority checks as the constructor does",
    items: [[0, 1], [10, 11], { steps: [20, 21], priority: 2 }],
    errors: { 2: "TypeError" },
    sizes: sizes(0, 1, 1, 1, 2, 2, 2, 3),
    cached: [1, 0, 0, 1, 0, 0, 1, 0],
  },
  table_unknown: { rule: CHECKED, error: "NOT_FOUND" },
  flat_list: { rule: FLAT, errors: {}, sizes: sizes(0, 1, 1), cached: [1, 0, 0] },
  batched_one: { rule: BATCH, items: [], errors: refusedForm(0, 1), sizes: sizes(0, 0), cached: [0, 0] },
  batched_two: { rule: BATCH, items: [], errors: refusedForm(0, 1), sizes: sizes(0, 0, 0), cached: [0, 0, 0] },
};
