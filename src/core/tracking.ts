/** The tracking build of the core, and the journal module: what tells which rows and slots changed, in the memory of such a core (assembly/journal/). */
import journalBytes from "../../dist/journal-bytes.js";
import trackingBytes from "../../dist/tracking-bytes.js";
import { internals } from "../index.ts";
import type { A, Fn } from "./abi.ts";
import type { Core } from "./core.ts";

/** Its exports, one line each as in assembly/journal.ts. */
export interface JournalExports {
  arena_check: Fn<[]>;
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
  pool_check: Fn<[pool: A]>;
  pool_numbers: Fn<[pool: A, out: A], void>;
  stream_check: Fn<[stream: A]>;
  table_check: Fn<[table: A]>;
}

/** Where the count of marks is (HEADER in assembly/memory/layout.ts). */
export const MARKS = 36 / 4;

export interface StorageModules {
  readonly tracking: WebAssembly.Module;
  readonly journal: WebAssembly.Module;
}

let builtIn: StorageModules | undefined;

/** The modules of the package, compiled once. */
export function storageModules(): StorageModules {
  builtIn ??= { tracking: internals.compile(trackingBytes), journal: internals.compile(journalBytes) };
  return builtIn;
}

/** The journal module in the memory of a tracking core. */
export function journalOf(core: Core, modules: StorageModules): JournalExports {
  return new WebAssembly.Instance(modules.journal, { env: { memory: core.x.memory } }).exports as unknown as JournalExports;
}
