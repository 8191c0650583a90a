/**
 * Declares the core's exports, grouped by noun in the order of assembly/index.ts, and the constants that both sides share. Handles and addresses are offsets in
 * linear memory.
 */

export type Fn<Args extends number[], Result = number> = (...args: Args) => Result;
export type A = number;

export interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly ABI_VERSION: { readonly value: number };
  /** The address from which sections are stored in an instance without an arena. */
  readonly SECTIONS_AT: { readonly value: number };

  // arena
  arena_alloc: Fn<[bytes: A]>;
  arena_check: Fn<[]>;
  arena_free: Fn<[ptr: A, bytes: A], void>;
  arena_init: Fn<[limitGranules: A, tracking: A], void>;
  arena_used: Fn<[]>;

  // layout: the byte offsets of a step's leaves
  layout_place: Fn<[places: A, stride: A, n: A, placed: A], void>;

  // pool
  pool_bytes: Fn<[leaves: A]>;
  pool_check: Fn<[pool: A]>;
  pool_init: Fn<[pool: A, rowBytes: A, leaves: A], void>;
  pool_leaf: Fn<[pool: A, i: A, kind: A, dtype: A, bytes: A, offset: A, staged: A, frames: A, shared: A], void>;
  pool_live: Fn<[pool: A]>;
  pool_open: Fn<[pool: A], void>;
  pool_reserve: Fn<[pool: A, rows: A]>;
  pool_room: Fn<[each: A, rows: A]>;
  pool_run: Fn<[pool: A, row: A, from: A, n: A, out: A], void>;

  // packs: the bytes of packed frames
  packs_bytes: Fn<[]>;
  packs_init: Fn<[packs: A, frame: A, row: A, element: A, entries: A]>;
  packs_number: Fn<[packs: A, which: A]>;

  // entry: the bytes of a packed frame, in a separate instance without an arena
  entry_apply: Fn<[work: A, from: A, size: A, patch: A, to: A, frame: A]>;
  entry_init: Fn<[work: A], void>;
  entry_work_bytes: Fn<[frame: A]>;

  // halves: floats of two bytes
  halves_narrow: Fn<[to: A, from: A, n: A, brain: A]>;

  // stored bytes: a limit on the bytes of rows
  stored_bytes_bytes: Fn<[pools: A]>;
  stored_bytes_init: Fn<[limit: A, max: A, step: A, table: A, pools: A, n: A], void>;
  stored_bytes_now: Fn<[limit: A]>;

  // row
  row_ends: Fn<[row: A]>;
  row_episode: Fn<[row: A]>;
  row_live: Fn<[row: A]>;

  // stream
  stream_bytes: Fn<[room: A]>;
  stream_check: Fn<[stream: A]>;
  stream_clear: Fn<[stream: A], void>;
  stream_drop: Fn<[stream: A, n: A], void>;
  stream_end: Fn<[stream: A, across: A], void>;
  stream_episode_steps: Fn<[stream: A]>;
  stream_hold: Fn<[stream: A, other: A], void>;
  stream_init: Fn<[stream: A, pool: A, room: A, limit: A], void>;
  stream_length: Fn<[stream: A]>;
  stream_lend: Fn<[stream: A, to: A], void>;
  stream_newest: Fn<[stream: A]>;
  stream_patch: Fn<[stream: A, from: A, leaf: A], void>;
  stream_reserve: Fn<[stream: A, n: A]>;
  stream_rows: Fn<[stream: A, from: A, max: A, out: A]>;
  stream_shrink: Fn<[stream: A, room: A], void>;
  stream_take: Fn<[stream: A, from: A], void>;

  // writer
  writer_append: Fn<[writer: A, staged: A]>;
  writer_append_block: Fn<[writer: A, columns: A, rows: A, ends: A, finals: A]>;
  writer_barren: Fn<[writer: A]>;
  writer_bytes: Fn<[lanes: A, rules: A, keep: A]>;
  writer_close: Fn<[writer: A], void>;
  writer_discard: Fn<[writer: A, lane: A], void>;
  writer_end: Fn<[writer: A, lane: A], void>;
  writer_finish: Fn<[writer: A, lane: A, staged: A, how: A]>;
  writer_init: Fn<[writer: A, pool: A, lanes: A, rules: A, keep: A, across: A, awaits: A, reward: A], void>;
  writer_number: Fn<[writer: A, i: A]>;
  writer_numbers: Fn<[writer: A]>;
  writer_rule: Fn<[writer: A, rule: A, table: A, length: A, stride: A, layout: A, priority: A, flags: A]>;
  writer_set_number: Fn<[writer: A, i: A, value: A]>;
  writer_stream: Fn<[writer: A, lane: A]>;

  // streams: a set of streams that buffers draw from
  streams_bytes: Fn<[n: A]>;
  streams_changed: Fn<[set: A], void>;
  streams_draw: Fn<[set: A, draw: A, ask: A, width: A, weigh: A]>;
  streams_init: Fn<[set: A, n: A, first: A, stride: A], void>;
  streams_seed: Fn<[set: A, low: A, high: A, stream: A], void>;
  streams_show: Fn<[set: A, i: A, shown: A], void>;
  streams_total: Fn<[set: A, width: A, weigh: A]>;

  // table
  table_about: Fn<[table: A, slot: A, which: A]>;
  table_arrange: Fn<[table: A, high: A, slots: A, n: A]>;
  table_bytes: Fn<[maxSize: A, maxPending: A, sampler: A, remover: A]>;
  table_can_insert: Fn<[table: A, n: A]>;
  table_can_sample: Fn<[table: A, n: A]>;
  table_chances: Fn<[table: A, n: A, ratio: A]>;
  table_check: Fn<[table: A]>;
  table_clear: Fn<[table: A], void>;
  table_close: Fn<[table: A], void>;
  table_close_draw: Fn<[table: A], void>;
  table_count_draw: Fn<[table: A, keys: A, n: A, times: A], void>;
  table_counter: Fn<[table: A, which: A]>;
  table_delete: Fn<[table: A, keys: A, n: A]>;
  table_discard: Fn<[table: A, stream: A]>;
  table_epoch: Fn<[table: A, draw: A, n: A, flags: A, seed: A, epoch: A, since: A, high: A, position: A]>;
  table_epoch_begin: Fn<[table: A]>;
  table_epoch_resume: Fn<[table: A, since: A, high: A, position: A, flags: A]>;
  table_exponents: Fn<[table: A, sampler: A, remover: A], void>;
  table_find: Fn<[table: A, key: A]>;
  table_free_slots: Fn<[table: A, out: A]>;
  table_get: Fn<[table: A, draw: A, n: A, flags: A]>;
  table_high: Fn<[table: A]>;
  table_hold_steps: Fn<[table: A]>;
  table_init: Fn<[table: A, pool: A, maxSize: A, maxPending: A, sampler: A, remover: A], void>;
  table_insert: Fn<[table: A, stream: A, length: A, layout: A, priority: A]>;
  table_insert_earlier: Fn<[table: A, stream: A, length: A, behind: A, layout: A, priority: A, isEarlier: A]>;
  table_item: Fn<[table: A, key: A, out: A]>;
  table_layouts: Fn<[table: A]>;
  table_limits: Fn<[table: A, maxSteps: A, maxTimesSampled: A, limiter: A], void>;
  table_loose: Fn<[table: A, n: A, longest: A, stepBytes: A]>;
  table_max_size: Fn<[table: A, max: A], void>;
  table_min: Fn<[table: A, zeros: A]>;
  table_move: Fn<[from: A, to: A]>;
  table_newest: Fn<[table: A]>;
  table_number: Fn<[table: A, number: A, tables: A], void>;
  table_open: Fn<[table: A, max: A], void>;
  table_peek: Fn<[table: A, draw: A, n: A, flags: A, among: A]>;
  table_random: Fn<[table: A]>;
  table_remover: Fn<[sampler: A, remover: A, alike: A]>;
  table_reserve: Fn<[table: A, n: A]>;
  table_sample: Fn<[table: A, draw: A, n: A, flags: A, among: A]>;
  table_seed: Fn<[table: A, low: A, high: A, stream: A], void>;
  table_slots: Fn<[table: A, after: A, max: A, out: A]>;
  table_sure: Fn<[table: A, n: A, flags: A, among: A, counts: A]>;
  table_total: Fn<[table: A]>;
  table_update: Fn<[table: A, keys: A, priorities: A, n: A, slots: A, nodes: A]>;
  table_weighs: Fn<[table: A]>;

  // priority: priorities computed from errors
  priority_max: Fn<[table: A, keys: A, priorities: A, n: A, out: A], void>;
  priority_of_errors: Fn<[at: A, n: A, alpha: A, eps: A, lower: A, upper: A, bounds: A]>;
  priority_powers: Fn<[at: A, n: A, exponent: A], void>;

  // draw
  draw_bytes: Fn<[items: A]>;
  draw_column: Fn<[draw: A, which: A]>;
  draw_given: Fn<[draw: A, table: A, n: A, ratio: A], void>;
  draw_goal_bytes: Fn<[]>;
  draw_goal_returns: Fn<[draw: A, pool: A, components: A, discount: A, gamma: A, rewards: A, terminals: A, narrow: A, returns: A]>;
  draw_goal_values: Fn<[draw: A, pool: A, leaf: A, which: A, room: A, to: A]>;
  draw_goals: Fn<[draw: A, table: A, ask: A, strategy: A], void>;
  draw_init: Fn<[draw: A, items: A, rows: A], void>;
  draw_mixed: Fn<[draw: A, table: A, n: A, alike: A, ratio: A]>;
  draw_n_step: Fn<[draw: A, pool: A, table: A, reward: A, discount: A, terminated: A, n: A, gamma: A, flags: A]>;
  draw_vector_returns: Fn<[draw: A, pool: A, reward: A, components: A, discount: A, terminated: A, gamma: A, narrow: A, out: A], void>;
  draw_narrow: Fn<[draw: A, column: A], void>;
  draw_result: Fn<[draw: A, which: A]>;
  draw_picks: Fn<[draw: A]>;
  draw_picked_rows: Fn<[draw: A, table: A, n: A, width: A, from: A, picks: A]>;
  draw_put_goals: Fn<[draw: A, goals: A, bytes: A, to: A], void>;
  draw_rows: Fn<[draw: A, kind: A, source: A, n: A, width: A, from: A]>;
  draw_sequences: Fn<
    [draw: A, table: A, reward: A, components: A, discount: A, terminated: A, n: A, gamma: A, flags: A, items: A, out: A, work: A, rewards: A]
  >;
  draw_single: Fn<[draw: A, table: A, stream: A, n: A], void>;
  draw_starts: Fn<[draw: A, table: A, width: A], void>;
  draw_weights: Fn<[draw: A, table: A, beta: A, normalize: A], void>;
  draw_weights_by: Fn<[draw: A, divisor: A, beta: A, bounded: A], void>;

  // gather
  gather: Fn<[draw: A, pool: A, outputs: A, n: A], void>;
  gather_runs: Fn<[draw: A, pool: A, outputs: A, n: A, first: A, out: A, frames: A, room: A]>;
  scatter: Fn<[draw: A, pool: A, outputs: A, n: A]>;

  // mixture: how many rows of a batch come from each source
  mixture_seed: Fn<[mixture: A, seedLow: A, seedHigh: A], void>;
  mixture_split: Fn<[mixture: A, sources: A, n: A, exact: A], void>;

  // record: state to bytes (a range of numbers, or only the changes) and back
  record_append: Fn<[stream: A, from: A, bytes: A]>;
  record_changed_counts: Fn<[table: A, segment: A, live: A, due: A, slot: A, max: A, out: A]>;
  record_changed_entries: Fn<[entries: A, segment: A, live: A, room: A, out: A]>;
  record_changed_rows: Fn<[pool: A, segment: A, live: A, max: A, out: A, links: A]>;
  record_changed_slots: Fn<[table: A, segment: A, live: A, max: A, out: A]>;
  record_collect_entries: Fn<[entries: A, segment: A, number: A, max: A]>;
  record_collect_rows: Fn<[pool: A, segment: A, number: A, max: A]>;
  record_collect_slots: Fn<[table: A, segment: A, slot: A, max: A]>;
  record_drawn: Fn<[table: A, out: A], void>;
  record_drawn_bytes: Fn<[]>;
  record_entries: Fn<[entries: A, number: A, room: A, out: A]>;
  record_free_rows: Fn<[pool: A, cursor: A, max: A, out: A]>;
  record_load_counts: Fn<[table: A, count: A, from: A, segment: A, live: A]>;
  record_load_drawn: Fn<[table: A, from: A]>;
  record_load_entries: Fn<[entries: A, bytes: A, from: A, segment: A, live: A]>;
  record_load_free: Fn<[pool: A, count: A, from: A]>;
  record_load_links: Fn<[pool: A, count: A, from: A, segment: A, live: A]>;
  record_load_rows: Fn<[pool: A, count: A, from: A, segment: A, live: A]>;
  record_load_slots: Fn<[table: A, count: A, from: A, segment: A, live: A]>;
  record_load_stream: Fn<[stream: A, from: A]>;
  record_load_table: Fn<[table: A, from: A]>;
  record_max_bytes: Fn<[pool: A]>;
  record_name_rows: Fn<[pool: A, numbers: A]>;
  record_pool: Fn<[pool: A, out: A], void>;
  record_row_bytes: Fn<[pool: A]>;
  record_rows: Fn<[pool: A, number: A, max: A, out: A]>;
  record_hold_frames: Fn<[pool: A, live: A]>;
  record_slot_bytes: Fn<[table: A]>;
  record_slots: Fn<[table: A, slot: A, max: A, out: A]>;
  record_stream: Fn<[stream: A, out: A], void>;
  record_table: Fn<[table: A, out: A], void>;
  record_table_bytes: Fn<[]>;
  record_write: Fn<[pool: A, row: A, before: A, out: A]>;

  // section: in a separate instance without an arena
  crc32c: Fn<[crc: A, at: A, length: A]>;
  section_seal: Fn<[at: A, kind: A, id: A, bytes: A], void>;
  section_sum: Fn<[at: A]>;
}

/** The version of the core that this wrapper supports. */
export const ABI_VERSION = 29;

/** Error codes (assembly/memory/error.ts). */
export const E_OUT_OF_MEMORY = -1;
export const E_RATE_LIMITED = -2;
export const E_PRIORITY = -3;
export const E_LENGTH = -4;
export const E_KEYS_EXHAUSTED = -5;
export const E_UNSUPPORTED = -7;
export const E_FINAL = -8;
export const E_NO_EPISODE = -9;
export const E_REWARD = -10;
export const E_UNLIKE = -11;
export const E_STORED = -12;
export const E_PRIORITY_LEAF = -13;

/** Flags of writer_rule (assembly/writer/writer.ts). The last number is the position of the lowest bit of the number of the priority leaf, plus 1. */
export const TAILS = 1;
export const LARGEST = 2;
export const SEQUENCE = 4;
export const PRIORITY_LEAF_BITS = 8;

/**
 * How an episode ends at a row of a block: without a final step, truncated or terminated (assembly/writer/ends.ts). Then two flags of a final step: the episode
 * was truncated, or terminated (assembly/rows/row.ts).
 */
export const ENDS = 1;
export const TRUNCATES = 2;
export const TERMINATES = 3;
export const LINK_FINAL = 0x40000000;
export const LINK_ENDS = 0xc0000000;
/**
 * Results of row_ends for the final step of a truncated and of a terminated episode. The result is 2 for the last step of an episode without a final step, and
 * 0 for any other step.
 */
export const FINAL_TRUNCATED = 1;
export const FINAL_TERMINATED = 3;

/**
 * Fields of HEADER (assembly/memory/layout.ts): the argument or element that a call failed on (i32), its value (f64), the number of recorded changes (u32), and
 * whether changes are recorded (2: freed rows also wait to be written).
 */
export const ERROR_ARGUMENT = 12 / 4;
export const ERROR_VALUE = 16 / 8;
export const CHANGES = 40 / 4;
export const TRACKING = 36 / 4;
export const KEEPING = 2;
/** The offset of a byte in a table (SLOTS in assembly/tables/slots.ts). The byte is not 0 if counts of draws are newer than their records. */
export const COUNTS_WAIT = 208 + 34;

/** Columns of a draw (assembly/draw/draw.ts). */
export const KEY = 0;
export const PROBABILITY = 1;
export const PRIORITY = 2;
export const TIMES_SAMPLED = 3;
export const TABLE_SIZE = 4;
export const LENGTH = 5;
export const WEIGHT = 6;
export const RETURN = 7;
export const DISCOUNT = 8;
export const STEPS = 9;
/** The step of the item or stream at which a run begins. Uses the same column as STEPS until n-step returns are computed. */
export const START = 9;
export const TERMINATED = 10;
export const TRUNCATED = 11;
/** The column that records whether each entry has a new goal. */
export const RELABELLED = 12;
/** The slot of an item, or the number of a stream in its set. */
export const SLOT = 14;
/** The number of bytes of a draw before its columns. */
export const DRAW_BYTES = 96;

/**
 * The size of an OUTPUT in bytes (assembly/draw/output.ts), and the indices of two of its fields: the address of the steps, and the distance from one list of
 * steps to the next.
 */
export const OUTPUT_BYTES = 20;
export const OUTPUT_STEPS = 1;
export const OUTPUT_STRIDE = 3;
/** The number of bytes of a RUN (assembly/draw/output.ts). */
export const RUN_BYTES = 16;
/** The number of bytes of a WINDOW before the unpacked frames (assembly/draw/unpacked-frames.ts). */
export const WINDOW_HEAD = 16;
/** The number after the last column, for which draw_column returns the address of the rows. */
export const ROWS = 16;

/**
 * The sources of the runs of a draw: items, streams, or single rows. Then the positions at which the runs begin in longer items: at random, or at START. CROSS
 * is added if a run may continue past the end of an episode (assembly/draw/row-matrix.ts).
 */
export const OF_ITEMS = 0;
export const OF_STREAMS = 1;
export const OF_ROWS = 2;
export const FROM_ANY = 2;
export const FROM_START = 3;
export const CROSS = 4;

/** The numbers of the results that draw_result returns (assembly/draw/draw.ts). */
export const BLOCKED = 0;
export const HAVE = 1;
export const NEED = 2;
export const DRAW_LONGEST = 3;
export const DRAW_LAYOUT = 4;
export const DRAW_SHORTEST = 5;
export const DRAW_POSITION = 6;

/** Flags of table_sample (assembly/selectors/selector.ts, assembly/draw/sample.ts). */
export const DISTINCT = 1;
export const STRATIFIED = 2;
/** `among` counts from the newest item. */
export const NEWEST = 4;
export const SAME_COLUMNS = 8;
export const SIZED = 16;
export const AHEAD = 32;
/** Flags of table_epoch (assembly/draw/epoch.ts). */
export const SHUFFLED = 128;
export const LOOKS = 256;

/** Flags of draw_n_step, and the number that means "no leaf" (assembly/draw/n-step.ts). */
export const OWN_NEXT = 1;
export const ENDS_BEHIND = 2;
export const NO_LEAF = 0xffff;

/** The values that draw_goal_values gathers, and the steps from which goals are taken (assembly/draw/goals.ts). */
export const GOALS = 0;
export const ACHIEVED = 1;
export const GOALS_ONCE = 2;
export const FUTURE = 0;
export const FINAL = 1;
export const EPISODE = 2;
/** A flag of draw_sequences, and the sizes in bytes of its scratch memory: of the head, and of each row of a window (assembly/draw/sequence.ts). */
export const WIDE_FLOATS = 1;
export const SEQUENCE_WORK = 64;
export const SEQUENCE_ROW_WORK = 25;

/** Flags of priority_of_errors: the bounds that are set (assembly/draw/weights.ts). */
export const LOWER = 1;
export const UPPER = 2;

/** A flag that is added to the number of a selector that tracks its minimum weight (assembly/selectors/selector.ts). */
export const WITH_MIN = 16;

/** A special step number: the step at which the n-step return ends (assembly/draw/output.ts). */
export const BOOTSTRAP = 0x7fffffff;

/** Counters of a table (assembly/tables/inspect.ts). */
export const COUNTERS = ["size", "steps", "pending", "inserts", "samples", "deletes", "uniqueSamples", "episodes", "deletedEpisodes", "retiredSlots"] as const;
/** Indices in COUNTERS. */
export const PENDING = 2;
export const INSERTS = 3;
export const SAMPLES = 4;
export const DELETES = 5;
/**
 * Three more indices, for all items since the table was last empty: the column layout (-1 if there are several), the longest length and the shortest length.
 */
export const LAYOUT = 10;
export const LONGEST = 11;
export const SHORTEST = 12;
/** Another index: the highest priority that a live item has received since the table was made or cleared, and at least 1. */
export const MAX_PRIORITY = 13;

/** An argument of `packs_number`, which then returns the number of bytes of the packed frames in use (assembly/rows/packed-frame.ts). */
export const PACKED_LIVE = 0;

/** The ways in which a draw weights the streams of a set (assembly/draw/windows/streams.ts). */
export const LEVEL = 0;
export const UNIFORM = 1;
export const BY_STEPS = 2;

/** Arguments of `table_about`: the value that it returns for a slot (assembly/tables/growing-table.ts). */
export const ABOUT_PRIORITY = 0;
export const ABOUT_KEY = 1;
export const ABOUT_LENGTH = 2;
export const ABOUT_FIRST = 3;
