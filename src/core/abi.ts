/** The core's exports by noun, one line each as in assembly/index.ts, and the numbers that cross with them. Handles and addresses are offsets in linear memory. */

export type Fn<Args extends number[], Result = number> = (...args: Args) => Result;
export type A = number;

export interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly ABI_VERSION: WebAssembly.Global;
  /** Where an instance without an arena keeps sections. */
  readonly SECTIONS_AT: WebAssembly.Global;

  // arena
  arena_alloc: Fn<[bytes: A]>;
  arena_check: Fn<[]>;
  arena_free: Fn<[ptr: A, bytes: A], void>;
  arena_init: Fn<[limitGranules: A, tracking: A], void>;
  arena_used: Fn<[]>;

  // pool
  pool_bytes: Fn<[leaves: A]>;
  pool_check: Fn<[pool: A]>;
  pool_free_run: Fn<[pool: A, number: A, count: A]>;
  pool_free_runs: Fn<[pool: A, cursor: A, most: A, out: A], void>;
  pool_index: Fn<[pool: A]>;
  pool_init: Fn<[pool: A, rowBytes: A, leaves: A], void>;
  pool_leaf: Fn<[pool: A, i: A, kind: A, dtype: A, bytes: A, offset: A, staged: A, frames: A, shared: A], void>;
  pool_live: Fn<[pool: A]>;
  pool_numbers: Fn<[pool: A, out: A], void>;
  pool_open: Fn<[pool: A], void>;
  pool_record: Fn<[pool: A]>;
  pool_records: Fn<[pool: A, number: A, count: A, at: A, saving: A]>;
  pool_restore: Fn<[pool: A, high: A, episodes: A]>;
  pool_seek: Fn<[pool: A, number: A, held: A]>;
  pool_unindex: Fn<[pool: A], void>;

  // row
  row_ends: Fn<[row: A]>;
  row_episode: Fn<[row: A]>;
  row_live: Fn<[row: A]>;
  rows_named: Fn<[draw: A, n: A]>;
  rows_of: Fn<[draw: A]>;
  rows_run: Fn<[pool: A, row: A, from: A, most: A, out: A], void>;

  // stream
  stream_check: Fn<[stream: A]>;
  stream_clear: Fn<[stream: A], void>;
  stream_episode_steps: Fn<[stream: A]>;
  stream_length: Fn<[stream: A]>;
  stream_patch: Fn<[stream: A, from: A, leaf: A], void>;
  stream_record: Fn<[stream: A, at: A, saving: A]>;

  // writer
  writer_append: Fn<[writer: A, staged: A]>;
  writer_append_block: Fn<[writer: A, columns: A, rows: A, ends: A]>;
  writer_bytes: Fn<[lanes: A, rules: A, keep: A]>;
  writer_create_item: Fn<[writer: A, lane: A, table: A, length: A, shape: A, priority: A]>;
  writer_end: Fn<[writer: A, lane: A], void>;
  writer_init: Fn<[writer: A, pool: A, lanes: A, rules: A, keep: A, across: A], void>;
  writer_rule: Fn<[writer: A, rule: A, table: A, length: A, stride: A, shape: A, priority: A]>;
  writer_stream: Fn<[writer: A, lane: A]>;

  // window: a stream that grows, of a set of streams
  window_clear: Fn<[windows: A, i: A], void>;
  window_lend: Fn<[windows: A, i: A, writerStream: A], void>;
  window_length: Fn<[windows: A, i: A]>;
  window_reserve: Fn<[windows: A, i: A, steps: A]>;
  window_stream: Fn<[windows: A, i: A]>;
  window_take: Fn<[windows: A, i: A, writerStream: A], void>;

  // windows: a set of streams that buffers draw from
  windows_bytes: Fn<[n: A, own: A]>;
  windows_draw: Fn<[windows: A, draw: A, ask: A, width: A, weigh: A]>;
  windows_init: Fn<[windows: A, n: A, pool: A, first: A, stride: A], void>;
  windows_read: Fn<[windows: A, draw: A, count: A, width: A]>;
  windows_reserve: Fn<[windows: A, rows: A]>;
  windows_seed: Fn<[windows: A, low: A, high: A, stream: A], void>;
  windows_show: Fn<[windows: A, i: A, shown: A], void>;
  windows_total: Fn<[windows: A, width: A, weigh: A]>;

  // env: the stream of a running episode
  env_init: Fn<[env: A, pool: A, keep: A], void>;
  env_lend: Fn<[env: A, writerStream: A, keep: A]>;
  env_length: Fn<[env: A]>;
  env_reserve: Fn<[env: A, n: A]>;
  env_row: Fn<[env: A]>;
  env_rows: Fn<[env: A, from: A, most: A, out: A]>;
  env_shrink: Fn<[env: A], void>;
  env_take: Fn<[env: A, writerStream: A]>;

  // memory: a stream of steps without items
  memory_drop: Fn<[memory: A, n: A], void>;
  memory_named: Fn<[memory: A, draw: A, n: A], void>;
  memory_pick: Fn<[memory: A, random: A, draw: A, n: A], void>;
  memory_pour: Fn<[memory: A, env: A]>;

  // table
  table_bytes: Fn<[maxSize: A, maxPending: A, sampler: A, remover: A]>;
  table_can_insert: Fn<[table: A, n: A]>;
  table_can_sample: Fn<[table: A, n: A]>;
  table_check: Fn<[table: A]>;
  table_clear: Fn<[table: A], void>;
  table_counter: Fn<[table: A, which: A]>;
  table_delete: Fn<[table: A, keys: A, n: A]>;
  table_exponents: Fn<[table: A, sampler: A, remover: A], void>;
  table_init: Fn<[table: A, pool: A, maxSize: A, maxPending: A, sampler: A, remover: A], void>;
  table_item: Fn<[table: A, key: A, out: A]>;
  table_limits: Fn<[table: A, maxSteps: A, maxTimesSampled: A, samplesPerInsert: A, minSize: A, minDiff: A, maxDiff: A], void>;
  table_newest: Fn<[table: A]>;
  table_order: Fn<[table: A, role: A, cursor: A, most: A, out: A], void>;
  table_records: Fn<[table: A, slot: A, count: A, at: A, saving: A]>;
  table_rejoin: Fn<[table: A, role: A, count: A, from: A, disorder: A]>;
  table_sample: Fn<[table: A, draw: A, n: A, flags: A, among: A]>;
  table_seed: Fn<[table: A, low: A, high: A, stream: A], void>;
  table_settle: Fn<[table: A], void>;
  table_spans: Fn<[table: A, out: A], void>;
  table_update: Fn<[table: A, keys: A, priorities: A, n: A, slots: A, nodes: A]>;
  table_weights: Fn<[table: A, draw: A, beta: A, normalize: A], void>;

  // items: a table whose room grows, and what stands in it
  items_about: Fn<[table: A, slot: A, which: A]>;
  items_chance: Fn<[table: A]>;
  items_close: Fn<[table: A], void>;
  items_find: Fn<[table: A, key: A]>;
  items_free: Fn<[table: A, out: A]>;
  items_high: Fn<[table: A]>;
  items_lay: Fn<[table: A, high: A, slots: A, n: A]>;
  items_least: Fn<[table: A, zeros: A]>;
  items_limit: Fn<[table: A, most: A], void>;
  items_move: Fn<[from: A, to: A], void>;
  items_next: Fn<[table: A, slot: A]>;
  items_open: Fn<[table: A, most: A], void>;
  items_random: Fn<[table: A]>;
  items_reserve: Fn<[table: A, n: A]>;
  items_slots: Fn<[table: A, slot: A, most: A, out: A]>;
  items_total: Fn<[table: A]>;
  items_weigh: Fn<[table: A]>;

  // errors: priorities of errors
  errors_most: Fn<[table: A, keys: A, priorities: A, n: A, out: A], void>;
  errors_power: Fn<[at: A, n: A, exponent: A], void>;
  errors_weigh: Fn<[at: A, n: A, alpha: A, eps: A, least: A, most: A, bounds: A]>;

  // draw
  draw_bytes: Fn<[items: A]>;
  draw_column: Fn<[draw: A, which: A]>;
  draw_init: Fn<[draw: A, items: A, rows: A], void>;
  draw_n_step: Fn<[draw: A, pool: A, leaves: A, n: A, gamma: A, flags: A], void>;
  draw_result: Fn<[draw: A, which: A]>;
  draw_window: Fn<[draw: A, table: A, width: A, from: A, cross: A], void>;

  // picks: items that are drawn from two sets, or named
  picks_given: Fn<[table: A, draw: A, n: A, ratio: A], void>;
  picks_mixed: Fn<[table: A, draw: A, n: A, alike: A, ratio: A]>;
  picks_points: Fn<[table: A, draw: A, n: A, alike: A, ratio: A]>;
  picks_rows: Fn<[table: A, draw: A, width: A], void>;
  picks_starts: Fn<[table: A, draw: A, width: A], void>;
  picks_weights: Fn<[draw: A, divisor: A, beta: A, bounded: A], void>;

  // gather
  gather_leaf: Fn<[draw: A, pool: A, leaf: A, out: A], void>;
  gather_runs: Fn<[draw: A, pool: A, leaf: A, out: A]>;
  gather_select: Fn<[draw: A, pool: A, steps: A, count: A], void>;

  // record: one step as bytes
  record_append: Fn<[env: A, from: A, bytes: A, keep: A]>;
  record_most: Fn<[pool: A]>;
  record_write: Fn<[pool: A, row: A, before: A, out: A]>;

  // journal: what changed since it was asked last, and back
  journal_collect_rows: Fn<[pool: A, segment: A, number: A, most: A]>;
  journal_collect_slots: Fn<[table: A, segment: A, slot: A, most: A]>;
  journal_join_table: Fn<[table: A]>;
  journal_load_links: Fn<[pool: A, count: A, from: A, segment: A, live: A]>;
  journal_load_rows: Fn<[pool: A, count: A, from: A, segment: A, live: A]>;
  journal_load_slots: Fn<[table: A, count: A, from: A, segment: A, live: A]>;
  journal_load_stream: Fn<[stream: A, at: A]>;
  journal_name_rows: Fn<[pool: A, high: A, episodes: A]>;
  journal_row_bytes: Fn<[pool: A]>;
  journal_rows: Fn<[pool: A, segment: A, live: A, most: A, out: A, links: A], void>;
  journal_settle_rows: Fn<[pool: A, live: A]>;
  journal_slot_bytes: Fn<[table: A]>;
  journal_slots: Fn<[table: A, segment: A, live: A, most: A, out: A], void>;
  journal_stream: Fn<[stream: A, at: A], void>;
  journal_table: Fn<[table: A, at: A, saving: A], void>;
  journal_table_bytes: Fn<[]>;

  // section: in an instance of its own, without an arena
  crc32c: Fn<[crc: A, at: A, length: A]>;
  section_seal: Fn<[at: A, kind: A, id: A, bytes: A], void>;
  section_sum: Fn<[at: A]>;
}

/** The version that this wrapper speaks. */
export const ABI_VERSION = 3;

/** Codes of refused calls (assembly/memory/error.ts). */
export const E_OUT_OF_MEMORY = -1;
export const E_RATE_LIMITED = -2;
export const E_PRIORITY = -3;
export const E_LENGTH = -4;
export const E_KEYS_EXHAUSTED = -5;

/** HEADER in assembly/memory/layout.ts: which argument of a refused call, or which element of a batch, as i32; its value as f64; how many marks were set, as u32. */
export const ERROR_ARGUMENT = 12 / 4;
export const ERROR_VALUE = 16 / 8;
export const MARKS = 40 / 4;

/** Columns of a draw (assembly/draw/draw.ts). */
export const KEY = 0;
export const PROBABILITY = 1;
export const PRIORITY = 2;
export const WEIGHT = 3;
export const RETURN = 4;
export const DISCOUNT = 5;
export const SLOT = 8;
/** In the place of SLOT: the stream of a window. */
export const STREAM = 8;
export const TIMES_SAMPLED = 9;
export const TABLE_SIZE = 10;
export const LENGTH = 11;
export const STEPS = 12;
/** In the place of STEPS: with which step of its stream a window begins. */
export const START = 12;
export const TERMINATED = 14;
export const TRUNCATED = 15;

/** Results of a draw (assembly/draw/draw.ts). */
export const BLOCKED = 0;
export const HAVE = 1;
export const NEED = 2;
export const DRAW_LONGEST = 3;
export const DRAW_SHAPE = 4;

/** Flags of table_sample (assembly/selectors/selector.ts). */
export const DISTINCT = 1;
export const STRATIFIED = 2;

/** Flags of draw_n_step, and what stands for no leaf (assembly/draw/n-step.ts). */
export const OWN = 1;
export const TERMINAL = 2;
export const NONE = 0xffff;

/** Flags of errors_weigh: which bounds there are (assembly/draw/errors.ts). */
export const LEAST = 1;
export const MOST = 2;

/** Kinds of selectors, and what is added to one (assembly/selectors/selector.ts). */
export const FIFO = 1;
export const LIFO = 2;
export const UNIFORM = 3;
export const PRIORITIZED = 4;
export const MIN_HEAP = 5;
export const MAX_HEAP = 6;
export const WITH_MIN = 16;
export const TOGETHER = 32;

/** In the place of a step's number: the step where the n-step return ends (assembly/draw/gather.ts). */
export const BOOTSTRAP = 0x7fffffff;

/** Counters of a table (assembly/tables/inspect.ts). */
export const COUNTERS = ["size", "steps", "pending", "inserts", "samples", "deletes", "uniqueSamples", "episodes", "deletedEpisodes", "retiredSlots"] as const;
/** Two more, of all items since the table was empty: their shape (MAX_SHAPES where they had several), the length of the longest. */
export const SHAPE = 10;
export const LONGEST = 11;

/** What weighs a stream of a set (assembly/draw/streams.ts). */
export const LEVEL = 0;
export const ALIKE = 1;
export const BY_STEPS = 2;

/** What `items_about` tells of a slot (assembly/tables/room.ts). */
export const ABOUT_PRIORITY = 0;
export const ABOUT_KEY = 1;
export const ABOUT_LENGTH = 2;
export const ABOUT_FIRST = 3;
