/** The core's exports, one line each as in assembly/index.ts, and the numbers that cross with them. Handles and addresses are offsets in linear memory. */

export type Fn<Args extends number[], Result = number> = (...args: Args) => Result;
export type A = number;

export interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly ABI_VERSION: WebAssembly.Global;

  arena_alloc: Fn<[bytes: A]>;
  arena_free: Fn<[ptr: A, bytes: A], void>;
  arena_init: Fn<[limitGranules: A], void>;
  arena_used: Fn<[]>;

  draw_bytes: Fn<[items: A]>;
  draw_column: Fn<[draw: A, which: A]>;
  draw_init: Fn<[draw: A, items: A, rows: A], void>;
  draw_n_step: Fn<[draw: A, pool: A, leaves: A, n: A, gamma: A, flags: A], void>;
  draw_result: Fn<[draw: A, which: A]>;
  draw_window: Fn<[draw: A, table: A, width: A, from: A, cross: A], void>;

  gather_leaf: Fn<[draw: A, pool: A, leaf: A, out: A], void>;
  gather_runs: Fn<[draw: A, pool: A, leaf: A, out: A]>;
  gather_select: Fn<[draw: A, pool: A, steps: A, count: A], void>;

  pool_bytes: Fn<[leaves: A]>;
  pool_init: Fn<[pool: A, rowBytes: A, leaves: A], void>;
  pool_leaf: Fn<[pool: A, i: A, kind: A, dtype: A, bytes: A, offset: A, staged: A, frames: A, shared: A], void>;
  pool_live: Fn<[pool: A]>;
  pool_open: Fn<[pool: A], void>;

  stream_clear: Fn<[stream: A], void>;
  stream_episode_steps: Fn<[stream: A]>;
  stream_length: Fn<[stream: A]>;
  stream_patch: Fn<[stream: A, from: A, leaf: A], void>;

  table_bytes: Fn<[maxSize: A, maxPending: A, sampler: A, remover: A]>;
  table_can_insert: Fn<[table: A, n: A]>;
  table_can_sample: Fn<[table: A, n: A]>;
  table_clear: Fn<[table: A], void>;
  table_counter: Fn<[table: A, which: A]>;
  table_delete: Fn<[table: A, keys: A, n: A]>;
  table_exponents: Fn<[table: A, sampler: A, remover: A], void>;
  table_init: Fn<[table: A, pool: A, maxSize: A, maxPending: A, sampler: A, remover: A], void>;
  table_item: Fn<[table: A, key: A, out: A]>;
  table_limits: Fn<[table: A, maxSteps: A, maxTimesSampled: A, samplesPerInsert: A, minSize: A, minDiff: A, maxDiff: A], void>;
  table_newest: Fn<[table: A]>;
  table_sample: Fn<[table: A, draw: A, n: A, flags: A, among: A]>;
  table_seed: Fn<[table: A, low: A, high: A, stream: A], void>;
  table_settle: Fn<[table: A], void>;
  table_update: Fn<[table: A, keys: A, priorities: A, n: A, slots: A, nodes: A]>;
  table_weights: Fn<[table: A, draw: A, beta: A, normalize: A], void>;

  writer_append: Fn<[writer: A, staged: A]>;
  writer_append_block: Fn<[writer: A, columns: A, rows: A, ends: A]>;
  writer_bytes: Fn<[lanes: A, rules: A, keep: A]>;
  writer_create_item: Fn<[writer: A, lane: A, table: A, length: A, shape: A, priority: A]>;
  writer_end: Fn<[writer: A, lane: A], void>;
  writer_init: Fn<[writer: A, pool: A, lanes: A, rules: A, keep: A, across: A], void>;
  writer_rule: Fn<[writer: A, rule: A, table: A, length: A, stride: A, shape: A, priority: A]>;
  writer_stream: Fn<[writer: A, lane: A]>;
}

/** The version that this wrapper speaks. */
export const ABI_VERSION = 2;

/** Codes of refused calls (assembly/memory/error.ts). */
export const E_OUT_OF_MEMORY = -1;
export const E_RATE_LIMITED = -2;
export const E_PRIORITY = -3;
export const E_LENGTH = -4;
export const E_KEYS_EXHAUSTED = -5;

/** The error cell (HEADER in assembly/memory/layout.ts): which argument of a refused call, or which element of a batch, as i32; its value as f64. */
export const ERROR_ARGUMENT = 12 / 4;
export const ERROR_VALUE = 16 / 8;

/** Columns of a draw (assembly/draw/draw.ts). */
export const KEY = 0;
export const PROBABILITY = 1;
export const PRIORITY = 2;
export const WEIGHT = 3;
export const RETURN = 4;
export const DISCOUNT = 5;
export const TIMES_SAMPLED = 9;
export const TABLE_SIZE = 10;
export const LENGTH = 11;
export const STEPS = 12;
export const TERMINATED = 14;
export const TRUNCATED = 15;

/** Results of a draw (assembly/draw/draw.ts). */
export const BLOCKED = 0;
export const HAVE = 1;
export const NEED = 2;
export const DRAW_LONGEST = 3;
export const DRAW_SHAPE = 4;

/** Flags of table_sample (assembly/draw/sample.ts). */
export const DISTINCT = 1;
export const STRATIFIED = 2;

/** In the place of a step's number: the step where the n-step return ends (assembly/draw/gather.ts). */
export const BOOTSTRAP = 0x7fffffff;

/** Counters of a table (assembly/tables/inspect.ts). */
export const COUNTERS = ["size", "steps", "pending", "inserts", "samples", "deletes", "uniqueSamples", "episodes", "deletedEpisodes", "retiredSlots"] as const;
/** Two more, of all items since the table was empty: their shape (MAX_SHAPES where they had several), the length of the longest. */
export const SHAPE = 10;
export const LONGEST = 11;
