/** Implements `Replay.open`: a new or restored Replay in a directory. */
import { codeOf, flag, integer, mustBe, onlyKeys, ReplayError } from "../base/error.ts";
import { GROUP_END, KEPT, POOLS } from "../base/kinds.ts";
import { MAX_REPLAY_BYTES, SEGMENT_BYTES } from "../base/limits.ts";
import { type Logger, loggerOf, toConsole } from "../base/warnings.ts";
import { ready } from "../files/builtins.ts";
import type { Directory } from "../files/directory.ts";
import { node } from "../files/node.ts";
import { Changes } from "../memory/changes.ts";
import { placesFor } from "../memory/journal-bytes.ts";
import { checkHead, headOf, type StateHead } from "./format/head.ts";
import { SessionRecords } from "./format/sessions.ts";
import { WritersReader } from "./format/writers.ts";
import { Journal } from "./journal/journal.ts";
import { checkOnMismatch, migrateJournal, type OnMismatch } from "./journal/migrate.ts";
import { checkDurability, checkRetain, type Durability, EVERY_SECOND, type Retain } from "./log/durability.ts";
import { type Log, openScanning } from "./log/log.ts";
import { type PeekOptions, peekLog } from "./log/peek.ts";
import { fileOf } from "./log/segment-head.ts";
import type { Renames } from "./migration/leaf-names.ts";
import type { AnyStep } from "./migration/options.ts";
import { checkWriters, type MakeReplay, type OpenWriters, type ReplayState } from "./replay-state.ts";
import { checkSpec, MIGRATION_PAGE } from "./spec-mismatch.ts";

export interface JournalOptions {
  /** The path of a directory (Node, Deno, Bun), or a result of `opfs`, `sqlite` or `memory` from reprise/storage. */
  readonly dir: string | Directory;
  /** The time at which the changes of a call are written to the disk. Default: `{ everyMs: 1000 }`, which is at most one second after the call. */
  readonly durability?: Durability;
  /**
   * The policy for evicted steps on the disk. "capacity" releases their space, and "all" keeps everything. Default: the setting with which the directory was
   * created, or "capacity" for a new directory.
   */
  readonly retain?: Retain;
  /** The approximate size of a file in bytes, at least 4096. Default: 16 MiB. */
  readonly segmentBytes?: number;
  /** Whether to continue with the data before damage in the middle of the files, and cut off the rest. Default: false. */
  readonly salvage?: boolean;
  /**
   * The policy for the previous run's writers. "close" closes them like `close()`, which truncates their episodes and makes their last items. Use it for
   * environments that restart with each run. "keep" keeps them for `replay.writer({ name })` and `replay.writers`. Default: "keep".
   */
  readonly writers?: OpenWriters;
  /**
   * Whether to take the directory from an owner whose state Reprise cannot detect, such as an owner on another machine, in another container, or in a worker.
   * Pass true only if the owner has certainly ended. Default: false.
   */
  readonly takeOver?: boolean;
  /**
   * The policy for a journal whose spec or tables differ from the options. "error" throws SPEC_MISMATCH. "migrate" rewrites the journal, and keeps the old
   * files until the new files are complete. Default: "error".
   */
  readonly onMismatch?: OnMismatch;
  /** The new paths of leaves, by old path, like `rename` of `migrateSnapshot`. Used with `onMismatch: "migrate"`. */
  readonly rename?: Renames;
  /** Returns the new step for an old step, like `migrate` of `migrateSnapshot`. Used with `onMismatch: "migrate"`. */
  readonly migrate?: (step: AnyStep) => unknown;
  /** Receives warnings, including the journal's warnings about data that a crash cut off or lost. Default: `console.warn`. Pass null to silence warnings. */
  readonly logger?: Logger | null;
  readonly signal?: AbortSignal;
  /** Receives the number of bytes read so far, and the number of bytes to read. */
  readonly onProgress?: (progress: { readonly bytes: number; readonly of: number }) => void;
}

/** The options of the Replay itself. They may be omitted for an existing Replay. */
interface ReplayOptions {
  readonly spec?: object;
  readonly tables?: object;
  readonly maxBytes?: number;
  readonly seed?: number | bigint;
  readonly transition?: object;
  readonly module?: WebAssembly.Module;
}

const OPTIONS =
  "dir, spec, tables, maxBytes, seed, transition, module, durability, retain, segmentBytes, salvage, writers, takeOver, onMismatch, rename, migrate, logger, signal, onProgress";
/** The number of bytes read between two checks of the signal. */
const YIELD_BYTES = 32 << 20;

/** A directory's manifest of its Replay. */
interface About extends Omit<StateHead, "options"> {
  readonly content: "replay";
  readonly options: Omit<StateHead["options"], "maxBytes">;
  readonly retain: Retain;
}

export async function open<R>(options: JournalOptions & ReplayOptions, make: MakeReplay<R>): Promise<{ readonly replay: R; readonly journal: Journal }> {
  onlyKeys("Replay.open", options, OPTIONS);
  const isMigrating = checkOnMismatch(options);
  const { dir, durability = EVERY_SECOND, retain, segmentBytes = SEGMENT_BYTES, salvage = false, writers = "keep", takeOver = false } = options;
  const { logger = toConsole, signal, onProgress, module } = options;
  const journalOptions = { durability: checkDurability(durability), segmentBytes: integer("segmentBytes", segmentBytes, 4096) };
  if (retain !== undefined) checkRetain(retain);
  flag("salvage", salvage);
  checkWriters(writers);
  flag("takeOver", takeOver);
  signal?.throwIfAborted();
  await ready;
  if (typeof dir !== "string" && typeof dir?.list !== "function")
    throw mustBe(TypeError, "dir", "the path of a directory, or a result of opfs(), sqlite() or memory() from reprise/storage", dir);
  const directory = typeof dir === "string" ? node(dir) : dir;
  const { spec, tables, seed, maxBytes, transition } = options;
  const replayOptions =
    spec === undefined
      ? { ...existingOptions(directory, { salvage, takeOver }, options), logger }
      : { spec, tables, seed, maxBytes, transition, module, logger };
  const places = placesFor(maxBytes ?? MAX_REPLAY_BYTES, segmentBytes);
  let replayState = make(replayOptions, places);
  const report = reportsOf(signal, onProgress);
  if (isMigrating) await migrateDirectory(directory, replayState, options, report);
  const logOptions = { durability: "manual", segmentBytes, salvage, takeOver, logger, ...(module && { module }) } as const;
  let newestPools: Uint8Array | undefined;
  const log = openScanning(directory, { about: about(replayState, retain ?? "capacity"), ...logOptions }, (sections) => {
    if (sections.kind === POOLS) newestPools = sections.payload.slice();
  });
  try {
    const existing = aboutIn(directory, log);
    if (log.lost.length > 0) throw droppedError(directory, log.lost);
    const names = Object.keys(existing.options.tables);
    checkSpec("options.spec", replayState.options.spec, existing.options.spec, directory.name, REMEDY);
    checkNames(Object.keys(replayState.options.tables), names, directory.name);
    checkSame(about(replayState, retain ?? existing.retain), existing, directory.name);
    // Records refer to tables by number, and the numbers follow the order of the names.
    if (Object.keys(replayState.options.tables).some((name, number) => name !== names[number])) {
      const tables = replayState.options.tables;
      replayState.engine.dispose();
      replayState = make({ ...replayOptions, tables: Object.fromEntries(names.map((name) => [name, tables[name]])) }, places);
    }
    const changes = new Changes(replayState.engine, replayState, places);
    if (newestPools !== undefined && !log.salvaged) changes.growFor(newestPools);
    const recovery = new Recovery(replayState, changes, directory.name);
    for (const progress of log.replay((kind, id, payload, segment) => recovery.visit(kind, id, payload, segment))) await report(progress);
    recovery.finish();
    if (log.salvaged) for (const [what, invariant] of changes.brokenInvariants()) throw brokenError(directory, `${what}, invariant ${invariant}`);
    const journal = new Journal(
      replayState,
      changes,
      log,
      { ...journalOptions, retain: existing.retain, logger: loggerOf(logger) },
      recovery.keptValue,
      recovery.sessions,
    );
    if (log.salvaged) journal.renew();
    replayState.finishRestore(writers);
    return { replay: replayState.replay, journal };
  } catch (error) {
    // The log is released without writing anything more.
    log.leave();
    throw error;
  }
}

type Report = (progress: { readonly bytes: number; readonly of: number }) => Promise<void> | undefined;

/** Returns a function that reports the progress, and regularly lets other code run. Its promise rejects with the reason of the signal after an abort. */
function reportsOf(signal: AbortSignal | undefined, onProgress: JournalOptions["onProgress"]): Report {
  let last = 0;
  return (progress) => {
    onProgress?.(progress);
    if (progress.bytes < last) last = 0;
    if (progress.bytes < last + YIELD_BYTES) return undefined;
    last = progress.bytes;
    return new Promise((resolve) => setTimeout(resolve)).then(() => signal?.throwIfAborted());
  };
}

/** Migrates the journal, if it exists and differs from the options. @throws ReplayError SPEC_MISMATCH if a migration cannot make these changes */
async function migrateDirectory(
  directory: Directory,
  replayState: ReplayState,
  { rename, migrate, takeOver = false, module, logger = toConsole }: JournalOptions & ReplayOptions,
  report: Report,
): Promise<void> {
  const log = peekLog(directory, { salvage: false, takeOver, module });
  if (log === undefined) return;
  const existing = aboutIn(directory, log);
  const requested = about(replayState, existing.retain);
  if (!differs(requested, existing)) return;
  const { spec, tables, transition = {}, ...others } = requested.options;
  const names = Object.keys(existing.options.tables);
  checkNames(Object.keys(tables), names, directory.name, BEYOND);
  const { spec: _, tables: __, transition: ___, ...existingOthers } = existing.options;
  checkSame(others, existingOthers, directory.name, BEYOND);
  // Records refer to tables by number, and the numbers follow the order of the names.
  const ordered = Object.fromEntries(names.map((name) => [name, tables[name] as object]));
  const migration = migrateJournal({
    directory,
    existing,
    about: { ...requested, options: { ...requested.options, tables: ordered } },
    options: { spec, tables: ordered, transition, ...(rename && { rename }), ...(migrate && { migrate: migrate as never }) },
    takeOver,
    module,
    logger: loggerOf(logger),
    warningLogger: logger,
  });
  for await (const progress of migration) await report(progress);
}

/** Returns whether the specs, tables or roles of two Replays differ. */
function differs(requested: About, existing: About): boolean {
  try {
    checkSpec("spec", requested.options.spec, existing.options.spec, "", "");
    checkSame(requested, existing, "");
    return false;
  } catch (error) {
    if (codeOf(error) === "SPEC_MISMATCH") return true;
    throw error;
  }
}

/** Restores a Replay from its journal: reads records in written order, then completes the state. */
export class Recovery {
  readonly #replayState: ReplayState;
  readonly #changes: Changes;
  readonly #name: string;
  readonly #writers = new WritersReader();
  readonly sessions = new SessionRecords();
  /** The encoded value that the program last passed to `keep`. */
  keptValue: Uint8Array | undefined;

  constructor(replayState: ReplayState, changes: Changes, name: string) {
    this.#replayState = replayState;
    this.#changes = changes;
    this.#name = name;
  }

  /** Reads a section of a complete group. */
  visit(kind: number, id: number, payload: Uint8Array, segment: number): void {
    if (kind === GROUP_END) return;
    if (kind === KEPT) this.keptValue = payload.slice();
    else if (!this.#writers.take(kind, id, payload) && !this.sessions.take(kind, id, payload) && !this.#changes.load(kind, id, payload, segment))
      throw this.#corrupt(` in segment ${segment}`);
  }

  /** Completes the state after all sections were visited. */
  finish(): void {
    if (!this.#changes.hasLoaded) return;
    if (!this.#writers.adopt(this.#replayState) || !this.#changes.finish()) throw this.#corrupt();
  }

  #corrupt(place = ""): ReplayError {
    return new ReplayError("CORRUPT", `the journal in ${this.#name} is inconsistent${place}: another version of Reprise wrote it, or Reprise has a bug`);
  }
}

function about(replayState: ReplayState, retain: Retain): About {
  const { version, options, layout } = headOf(replayState);
  const { maxBytes: _, ...stored } = options;
  return { content: "replay", version, options: stored, layout, retain };
}

/** @throws ReplayError SPEC_MISMATCH if the directory contains data other than a Replay · UNSUPPORTED if another version wrote the state */
export function aboutIn(directory: Directory, log: Log): About {
  const { content } = log.about as About;
  if (content !== "replay") throw mustBe("SPEC_MISMATCH", "dir", "the directory of a Replay", directory.name);
  checkHead(directory.name, log.about);
  return log.about as About;
}

/** Returns the options of the existing Replay, except for options that were passed. @throws ReplayError NOT_FOUND if no Replay exists */
function existingOptions(
  directory: Directory,
  { salvage, takeOver }: PeekOptions,
  { maxBytes, tables, seed, transition, module }: ReplayOptions,
): ReplayOptions {
  const log = peekLog(directory, { salvage, takeOver, module });
  if (log === undefined) throw new ReplayError("NOT_FOUND", `there is no Replay in ${directory.name}. Pass spec and tables to create one`);
  const { options } = aboutIn(directory, log);
  const { spec } = options;
  return {
    spec,
    tables: tables ?? options.tables,
    seed: seed ?? BigInt.asUintN(64, BigInt(options.seed)),
    transition: transition ?? options.transition,
    maxBytes,
    module,
  };
}

/** Compares the names of tables, regardless of their order. @throws ReplayError SPEC_MISMATCH with the names of all tables if they differ */
function checkNames(requested: readonly string[], existing: readonly string[], name: string, remedy = REMEDY): void {
  const namesText = (names: readonly string[]) => names.map((tableName) => JSON.stringify(tableName)).join(", ");
  if (requested.length === existing.length && requested.every((one) => existing.includes(one))) return;
  throw new ReplayError("SPEC_MISMATCH", `options.tables must be ${namesText(existing)}, as in ${name}, got ${namesText(requested)}. ${remedy}`);
}

/** Compares options, including nested options. @throws ReplayError SPEC_MISMATCH with the first difference */
function checkSame(requested: object, existing: object, name: string, remedy = REMEDY, path = ""): void {
  for (const key of new Set([...Object.keys(requested), ...Object.keys(existing)])) {
    const [a, b] = [requested, existing].map((value) => (value as { [key: string]: unknown })[key]);
    if (typeof a === "object" && typeof b === "object" && a !== null && b !== null) checkSame(a, b, name, remedy, `${path}${key}.`);
    else if (a !== b) throw mismatchError(name, `${path}${key}`, a, b, remedy);
  }
}

function droppedError({ name }: Directory, segments: readonly number[]): ReplayError {
  const files = segments.map(fileOf).join(", ");
  return new ReplayError(
    "CORRUPT",
    `the data before the damage in ${name} is incomplete: it needs ${files}, but the log has deleted that data. Nothing was changed`,
  );
}

function brokenError({ name }: Directory, what: string): ReplayError {
  return new ReplayError("CORRUPT", `the data before the damage in ${name} is inconsistent: ${what}. Nothing was changed`);
}

/** The remedy if the existing Replay differs. */
const REMEDY = `Omit spec and tables, use another directory, or pass onMismatch: "migrate" (see ${MIGRATION_PAGE})`;

/** The remedy if a migration was requested. */
const BEYOND = `A migration cannot change it. Use another directory (see ${MIGRATION_PAGE})`;

function mismatchError(name: string, key: string, requested: unknown, existing: unknown, remedy: string): Error {
  const rule = existing === undefined ? "omitted" : JSON.stringify(existing);
  return mustBe("SPEC_MISMATCH", key, [`${rule}, as in ${name}`, remedy], requested);
}
