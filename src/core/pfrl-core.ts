/** The module behind reprise/pfrl, in the memory of a core (assembly/pfrl/). */
import bytes from "../../dist/pfrl-bytes.js";
import { internals } from "../index.ts";
import type { A, Fn } from "./abi.ts";
import type { Core } from "./core.ts";

/** Its exports, one line each as in assembly/pfrl.ts. */
export interface PfrlExports {
  env_init: Fn<[env: A, pool: A, keep: A], void>;
  env_lend: Fn<[env: A, writerStream: A, keep: A]>;
  env_length: Fn<[env: A]>;
  env_reserve: Fn<[env: A, n: A]>;
  env_row: Fn<[env: A]>;
  env_rows: Fn<[env: A, from: A, most: A, out: A]>;
  env_shrink: Fn<[env: A], void>;
  env_take: Fn<[env: A, writerStream: A]>;
  errors_most: Fn<[table: A, keys: A, priorities: A, n: A, out: A], void>;
  errors_power: Fn<[at: A, n: A, exponent: A], void>;
  errors_weigh: Fn<[at: A, n: A, alpha: A, eps: A, least: A, most: A, bounds: A]>;
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
  memory_drop: Fn<[memory: A, n: A], void>;
  memory_named: Fn<[memory: A, draw: A, n: A], void>;
  memory_pick: Fn<[memory: A, random: A, draw: A, n: A], void>;
  memory_pour: Fn<[memory: A, env: A]>;
  picks_given: Fn<[table: A, draw: A, n: A, ratio: A], void>;
  picks_mixed: Fn<[table: A, draw: A, n: A, alike: A, ratio: A]>;
  picks_points: Fn<[table: A, draw: A, n: A, alike: A, ratio: A]>;
  picks_rows: Fn<[table: A, draw: A, width: A], void>;
  picks_starts: Fn<[table: A, draw: A, width: A], void>;
  picks_weights: Fn<[draw: A, divisor: A, beta: A, bounded: A], void>;
  record_append: Fn<[env: A, from: A, bytes: A, keep: A]>;
  record_most: Fn<[pool: A]>;
  record_write: Fn<[pool: A, row: A, before: A, out: A]>;
  row_ends: Fn<[row: A]>;
  row_episode: Fn<[row: A]>;
  row_live: Fn<[row: A]>;
  rows_named: Fn<[draw: A, n: A]>;
  rows_of: Fn<[draw: A]>;
  rows_run: Fn<[pool: A, row: A, from: A, most: A, out: A], void>;
}

/** What `items_about` tells of a slot. */
export const PRIORITY = 0;
export const KEY = 1;
export const LENGTH = 2;
export const FIRST_ROW = 3;

/** The most items that a table can have. */
export const MOST_ITEMS = 2 ** 26 - 1;

let compiled: WebAssembly.Module | undefined;

/** The module of a core. @param module where a host compiles ahead of time */
export function pfrlOf(core: Core, module?: WebAssembly.Module): PfrlExports {
  // Not where a module is given: its host may forbid compiling.
  if (module === undefined) compiled ??= internals.compile(bytes);
  return new WebAssembly.Instance((module ?? compiled) as WebAssembly.Module, { env: { memory: core.x.memory } }).exports as unknown as PfrlExports;
}
