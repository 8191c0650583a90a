/** A Replay: one pool of steps, the tables that refer to them, and the writers that append them. */

import { finite, integer, mustBe, oneOfRule, onlyKeys } from "../base/error.ts";
import { customInspect, PlainText } from "../base/inspect.ts";
import { MAX_ITEMS, MAX_LENGTH, MAX_REPLAY_BYTES, SEGMENT_BYTES } from "../base/limits.ts";
import { checkSeed } from "../base/seed.ts";
import { hideFrames } from "../base/stack-trace.ts";
import { type Logger, toConsole, type WarningKind } from "../base/warnings.ts";
import { Core } from "../memory/core.ts";
import { Engine } from "../memory/engine.ts";
import { placesFor } from "../memory/journal-bytes.ts";
import { layoutOf } from "../memory/layout.ts";
import { type PackedStats, packedStats } from "../memory/packed-stats.ts";
import { State } from "../memory/state.ts";
import { maxStepBytes, StoredBytes } from "../memory/stored-bytes.ts";
import { CoreTable } from "../memory/table.ts";
import type { AcceptedWriter, AcceptOptions, Host } from "../remote/accept.ts";
import type { PortLike } from "../remote/port.ts";
import type { ColumnSet } from "../schema/columns.ts";
import { checkRateLimiter, minSize } from "../schema/rate-limiter.ts";
import { fifo, SELECTORS, type Selector, uniform } from "../schema/selector.ts";
import { copySpec, describeSpec, leavesOf, type Spec } from "../schema/spec.ts";
import type { TransitionRoles } from "../schema/transition-roles.ts";
import type { Journal } from "../storage/journal/journal.ts";
import type { JournalOptions } from "../storage/open.ts";
import type { ReplayState, SavedOptions } from "../storage/replay-state.ts";
import { type RestoreOptions, restore, type SnapshotSource } from "../storage/snapshot/read.ts";
import { snapshot } from "../storage/snapshot/write.ts";
import { resolveWriterOptions, unknownTable, type WriterOptions } from "../tables/rules.ts";
import { type AnyTable, type ResolvedTableOptions, Table, type TableOptions, type TableStats } from "../tables/table.ts";
import type { HasLanes, OneLane, Writer } from "../tables/writer.ts";
import type { SavedWriterOptions } from "../tables/writer-internals.ts";
import { Writers } from "../tables/writers.ts";
import { ITEM_STEPS, type Plan, planOf } from "./plan.ts";

/** Not `any`, so that an editor knows the names where none is written yet. */
type RolesOption<R> = 0 extends 1 & R ? TransitionRoles : R;

export interface ReplayOptions<S extends Spec = Any, TableName extends string = string, R extends TransitionRoles = Any> {
  /** The form of a step: a leaf, or leaves nested in objects and arrays. */
  readonly spec: S;
  /** The tables by name. Default: none; steps then live only in the windows of writers. */
  readonly tables?: { readonly [K in TableName]: TableOptions };
  /** Maximum memory in bytes. Default and upper limit: 4 GiB. */
  readonly maxBytes?: number;
  /**
   * Limits the bytes of stored steps with their frames (`stats().bytes.stored`), for packed frames, whose size depends on their content. After each call that appends, the
   * table `evictFrom` evicts items with its remover until the bytes are within `max` or it is empty. Steps that writers or other tables hold stay. A block of columns is
   * checked once per thousand steps or so. If the table is empty, an `append` beyond `max` throws OUT_OF_MEMORY and changes nothing. Default: no limit but `maxBytes`.
   */
  readonly storedBytes?: StoredBytesOptions<NoInfer<TableName>>;
  /**
   * Seed of every random draw: the same seed and calls give the same bytes. A whole number from 0, or a bigint below 2^64. Default: 0, always: two Replays without a
   * seed draw alike.
   */
  readonly seed?: number | bigint;
  /** Which leaf plays which part in a transition: for rules with `nStep`, and for views of transitions. Default: the leaves that have the parts' own names. */
  readonly transition?: RolesOption<R>;
  /** Another build of the core than the one that comes with the package, such as `reprise/core.wasm` where the host forbids compiling: all of the package runs with it. */
  readonly module?: WebAssembly.Module;
  /**
   * Told of what is allowed and hardly meant, each kind once; `stats().warnings` counts them. A function, or an object with a method `warn`. Snapshots do not
   * have it. Default: `console.warn`; null for nobody.
   */
  readonly logger?: Logger | null;
}

export interface StoredBytesOptions<TableName extends string = string> {
  /** In bytes. At least the bytes of one step whose frames do not pack. */
  readonly max: number;
  /** The table that evicts items. Default: none, so that `append` throws at the limit. */
  readonly evictFrom?: TableName;
}

export interface ReplayStats {
  /** Number of steps that items or writers hold. */
  readonly steps: number;
  /** `used`: memory that is taken, `max`: `maxBytes`; `stored`: what steps take, with their frames, where `storedBytes` limits it. */
  readonly bytes: { readonly used: number; readonly max: number; readonly stored?: number };
  /** By the name that `packed` was given. */
  readonly packed: { readonly [name: string]: PackedStats };
  readonly tables: { readonly [name: string]: TableStats };
  readonly writers: number;
  /** How often each kind of warning came up; `logger` is told the first time. */
  readonly warnings: { readonly [K in WarningKind]: number };
}

/** The options with all defaults filled in, as a snapshot stores them. */
export interface ResolvedReplayOptions extends SavedOptions {
  readonly tables: { readonly [name: string]: ResolvedTableOptions };
  /** As it was given. */
  readonly transition?: TransitionRoles | undefined;
}

/** For modules of the package: the state of a Replay, as storage uses it. */
export let stateOf: <S extends Spec, N extends string>(replay: Replay<S, N>) => ReplayState;

export function engineOf<S extends Spec, N extends string>(replay: Replay<S, N>): Engine {
  return stateOf(replay).engine;
}

export interface OpenOptions<S extends Spec = Any, N extends string = string> extends Partial<ReplayOptions<S, N>>, JournalOptions {}

/** A Replay with a journal. */
export type OpenReplay<S extends Spec = Any, N extends string = string> = Replay<S, N> & { readonly journal: Journal };

/** A spec of which nothing is known: every Replay goes where `Replay` is asked for. */
// biome-ignore lint/suspicious/noExplicitAny: nothing else goes both ways
type Any = any;

const DEFAULT_PENDING = 1023;
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Without type arguments, `Replay` is one of any spec and tables. */
export class Replay<const S extends Spec = Any, const TableName extends string = string, const R extends TransitionRoles = Any> {
  readonly options: ResolvedReplayOptions;
  /** All tables by their names: `const { memory } = replay.tables`. In the order of the options. */
  readonly tables: { readonly [K in TableName]: Table<S, R> };
  readonly #engine: Engine;
  readonly #tables = new Map<string, Table<S, R>>();
  readonly #writers: Writers;
  readonly #storedBytes: StoredBytes | undefined;

  #journal: Journal | undefined;

  static {
    stateOf = (replay) => replay.#state();
    customInspect<Replay>(this, "Replay", (replay) => replay.#inspect());
  }

  /**
   * Takes the memory of the tables at once, and that of steps as they are appended.
   * @throws RangeError if the limits do not fit into `maxBytes`; `Replay.plan` computes what they need
   */
  constructor(options: ReplayOptions<S, TableName, R>);
  constructor(options: ReplayOptions<S, TableName, R>, places = 0) {
    hideFrames(new.target);
    this.options = resolveOptions(options);
    const { spec, tables, maxBytes, seed, storedBytes } = this.options;
    const { module, transition, logger = toConsole } = options;
    const layout = layoutOf(leavesOf(spec), module);
    const core = new Core(maxBytes, module, places > 0);
    if (storedBytes !== undefined) checkStoredBytes(storedBytes, tables, maxStepBytes(layout));
    const plan = planOf(layout, tables, core, places, undefined, storedBytes?.max);
    if (plan.bytes > maxBytes) {
      const remedy =
        plan.bytes > MAX_REPLAY_BYTES ? "; a Replay has 4 GiB at most: lower maxSize or maxSteps, or store less a step" : " (or lower maxSize or maxSteps)";
      const journal = places > 0 ? ` with a journal (${planOf(layout, tables, new Core(maxBytes, module), 0, undefined, storedBytes?.max).bytes} without)` : "";
      const need = `at least ${plan.bytes}${journal} for the tables and ${plan.steps} steps of ${plan.bytesPerStep} bytes${remedy}`;
      throw mustBe(RangeError, options.maxBytes === undefined ? "maxBytes (4 GiB by default)" : "maxBytes", need, maxBytes);
    }
    const engine = new Engine(core, spec, layout, { transition, logger });
    this.#engine = engine;
    this.#writers = new Writers(engine, this.#tables as ReadonlyMap<string, AnyTable>);
    Object.entries(tables).forEach(([name, table], number, { length }) => {
      this.#tables.set(name, new Table<S, R>(engine, name, table, new CoreTable(engine, table, seed, number, length)));
    });
    if (storedBytes !== undefined) {
      const { max, evictFrom } = storedBytes;
      this.#storedBytes = new StoredBytes(engine, max, evictFrom === undefined ? 0 : (this.#tables.get(evictFrom) as Table<S, R>).handle);
    }
    this.tables = Object.freeze(Object.fromEntries(this.#tables)) as { readonly [K in TableName]: Table<S, R> };
    // Whatever steps take, there is room for a snapshot.
    new State(engine, this.#state()).reserve();
  }

  /**
   * The memory that a Replay with these options would need. Allocates none of it. It counts one new step, and one new frame per pool of `shared`, for each item. Where
   * items leave in another order than they came (removers but fifo and lifo, `maxTimesSampled`), it counts all steps and frames of each item.
   * @param options.itemSteps steps of the longest items that writers will make: `nStep` + 1, or the length of a rule or of `createItem`. Default: 4
   */
  static plan<const S extends Spec, const N extends string>(options: ReplayOptions<S, N> & { readonly itemSteps?: number }): Plan {
    const { spec, tables, maxBytes, storedBytes } = resolveOptions(options, `${OPTIONS}, itemSteps`);
    const itemSteps = integer("itemSteps", options.itemSteps ?? ITEM_STEPS, 1, MAX_LENGTH);
    const layout = layoutOf(leavesOf(spec), options.module);
    const plan = (places: number) => planOf(layout, tables, new Core(maxBytes, options.module, places > 0), places, itemSteps, storedBytes?.max);
    return { ...plan(0), openedBytes: plan(placesFor(maxBytes, SEGMENT_BYTES)).bytes };
  }

  /**
   * Opens a Replay in a directory: a new one, or the one that is there, as it was after some call, and at least after all that was flushed. The next draws are
   * those that it would have given. Its writers are in `writers`; `replay.writer({ name })` gives the one of a name. O(bytes of the files); memory for one section beside the Replay.
   * @throws ReplayError LOCKED where another process has it open · CORRUPT where a file is damaged before its end (see `salvage`) · IO · NOT_FOUND where `spec`
   * is left out and nothing is there · SPEC_MISMATCH where something else is there than the options say; or the signal's reason
   */
  static async open<const S extends Spec = Any, const N extends string = string>(options: OpenOptions<S, N>): Promise<OpenReplay<S, N>> {
    // Loaded when asked for: a program that keeps nothing loads no files.
    const store = await import("../storage/open.ts");
    const { replay, journal } = await store.open<Replay<S, N>>(options, make<S, N>);
    replay.#journal = journal;
    return replay as OpenReplay<S, N>;
  }

  /**
   * A Replay as it was when the snapshot was taken: the same items and keys, and the same draws from now on. Its writers are in `writers`; `replay.writer({ name })` gives
   * the one of a name. Type arguments are believed: `spec` is compared with the snapshot's, and gives the type.
   * @param source bytes, an iterable of chunks, or an asynchronous one: then the result is a promise
   * @throws ReplayError CORRUPT where bytes are missing or altered · UNSUPPORTED for another version's snapshot · SPEC_MISMATCH where `spec` is another one
   */
  static restore<const S extends Spec = Any, N extends string = string>(source: SnapshotSource, options?: RestoreOptions<S>): Replay<S, N>;
  static restore<const S extends Spec = Any, N extends string = string>(source: AsyncIterable<Uint8Array>, options?: RestoreOptions<S>): Promise<Replay<S, N>>;
  static restore(source: SnapshotSource | AsyncIterable<Uint8Array>, options: RestoreOptions = {}): unknown {
    return restore(source, options, make);
  }

  #state(): ReplayState<this> {
    const replay = this;
    return {
      replay,
      engine: replay.#engine,
      options: replay.options,
      tables: [...replay.#tables.values()],
      get writers() {
        return replay.#writers.states;
      },
      adopt: (options) => replay.#writers.adopt(options as SavedWriterOptions),
      finishRestore: (writers, isCopy) => replay.#writers.finishRestore(writers, isCopy),
      get hasOrphans() {
        return replay.#writers.hasOrphans;
      },
    };
  }

  /** The table of this name. @throws ReplayError NOT_FOUND */
  table(name: TableName): Table<S, R> {
    this.#engine.open();
    const table = this.#tables.get(name);
    if (table === undefined) throw unknownTable(name, this.#tables.keys());
    return table;
  }

  /**
   * Makes a writer. Use one per environment, or one with several lanes for environments that run in lock-step. With a `name`, the first call of a run returns the writer of
   * that name that `Replay.open` or `Replay.restore` brought back, in the midst of its episode, if its options are the same.
   * @throws TypeError, RangeError for an option · ReplayError NOT_FOUND for a table · OUT_OF_MEMORY · OUT_OF_TURN for the name of a writer that is open in this run ·
   * SPEC_MISMATCH for other options than the writer of that name has, naming the first one
   */
  writer<const L extends number = 0>(
    options: WriterOptions<TableName, ColumnSet<S>> & { readonly lanes?: L } = {},
  ): Writer<S, TableName, HasLanes<L>> & OneLane<S, L> {
    this.#engine.begin();
    const writer = this.#writers.writer(options as WriterOptions<string, ColumnSet<unknown>>);
    this.#engine.changed();
    return writer as unknown as Writer<S, TableName, HasLanes<L>> & OneLane<S, L>;
  }

  /**
   * Takes the steps of an environment at the other end of a port, where `remoteWriter` of `reprise/remote` writes them. Resolves when an actor has come; either
   * end may come first. The options are those of a writer, but that the actor says how many lanes there are.
   * @param port a MessagePort or a Worker
   * @throws ReplayError SPEC_MISMATCH where the specs differ, which both ends are told · OUT_OF_TURN where the port has a writer already · UNSUPPORTED for another
   * version of Reprise at the other end · CLOSED, TIMEOUT, or the signal's reason; and as `writer`
   */
  async acceptWriter(port: PortLike, options: AcceptOptions<TableName, ColumnSet<S>> = {}): Promise<AcceptedWriter> {
    this.#engine.open();
    // Loaded when asked for: most programs have no ports.
    const remote = await import("../remote/accept.ts");
    this.#engine.open();
    const host: Host = {
      engine: this.#engine,
      tables: this.#tables,
      resolve: (writerOptions) => resolveWriterOptions(this.#engine, this.#tables, writerOptions),
      mustBeFree: (name) => this.#writers.mustBeFree(name),
      writer: (writerOptions) => {
        this.#engine.begin();
        const writer = this.#writers.replaceWriter(writerOptions as WriterOptions<string, ColumnSet<unknown>>);
        this.#engine.changed();
        return writer as unknown as ReturnType<Host["writer"]>;
      },
    };
    return remote.accept(port, host, options as AcceptOptions);
  }

  /** The open writers, in the order of their creation. */
  get writers(): readonly Writer<S, TableName, boolean>[] {
    return this.#writers.all as unknown as Writer<S, TableName, boolean>[];
  }

  /** Counters of the Replay and its tables. O(tables) */
  stats(): ReplayStats {
    this.#engine.open();
    const { steps, bytes } = this.#engine;
    return {
      steps,
      bytes: { used: bytes, max: this.options.maxBytes, ...(this.#storedBytes !== undefined && { stored: this.#storedBytes.now }) },
      packed: packedStats(this.#engine),
      tables: Object.fromEntries([...this.#tables].map(([name, table]) => [name, table.stats()])),
      writers: this.#writers.size,
      warnings: { ...this.#engine.warnings.counts },
    };
  }

  /**
   * Everything, as chunks of at most about 64 KiB: items, keys, steps, open episodes, random states. Nothing may change until the last chunk was read.
   * Needs no memory that the Replay does not have: it works at `maxBytes`, too.
   * @throws ReplayError OUT_OF_TURN where something did
   */
  snapshot(): Iterable<Uint8Array<ArrayBuffer>> {
    return snapshot(this.#state());
  }

  /** What keeps this Replay in a directory; undefined where `Replay.open` did not make it. */
  get journal(): Journal | undefined {
    return this.#journal;
  }

  /**
   * Resolves when everything so far is on the disk: at once for a Replay that is in memory only.
   * @throws ReplayError IO where it cannot be written; what is in memory stands, and a later flush tries again
   */
  async flush(): Promise<void> {
    this.#engine.open();
    await this.#journal?.flush();
  }

  /** Flushes and gives everything up; calls that wait are rejected, later calls throw CLOSED. Its memory goes with the garbage. */
  dispose(): void {
    if (!this.#engine.closed) this.#engine.open();
    for (const closer of this.#engine.closers) closer.close();
    try {
      this.#journal?.close();
    } finally {
      if (!this.#engine.closed) this.#engine.dispose();
    }
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** As `dispose`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose();
  }

  #inspect(): object {
    const spec = describeSpec(this.options.spec);
    if (this.#engine.closed) return { spec, tables: new PlainText("closed") };
    const { steps, bytes, writers } = this.stats();
    const used = new PlainText(`${(bytes.used / 2 ** 20).toFixed(1)} of ${(bytes.max / 2 ** 20).toFixed(0)} MiB`);
    const tables = [...this.#tables.values()].map(({ name, size, options }) => [name, new PlainText(`${size} of ${options.maxSize} items`)]);
    return { spec, tables: Object.fromEntries(tables), steps, memory: used, writers };
  }
}

/** Out of the class, which does not name itself: see base/inspect.ts. */
function make<S extends Spec, N extends string>(options: object, places: number): ReplayState<Replay<S, N>> {
  return stateOf(new (Replay as unknown as new (options: object, places: number) => Replay<S, N>)(options, places)) as ReplayState<Replay<S, N>>;
}

const OPTIONS = "spec, tables, maxBytes, storedBytes, seed, transition, module, logger";

function resolveOptions(options: ReplayOptions, keys = OPTIONS): ResolvedReplayOptions {
  if (options === undefined) throw mustBe(TypeError, "the options of Replay", "an object with spec and tables", options);
  const { spec, tables, maxBytes = MAX_REPLAY_BYTES, storedBytes, seed = 0, transition } = onlyKeys("Replay", options, keys);
  if (spec === undefined) throw mustBe(TypeError, "spec", "given: the form of a step, such as { observation: f32(4), action: i32(), reward: f32() }", spec);
  if (typeof (tables ?? {}) !== "object" || Array.isArray(tables))
    throw mustBe(TypeError, "tables", "an object of tables by their names, such as { memory: { maxSize: 1000 } }", tables);
  checkSeed(seed);
  return {
    spec: copySpec(spec),
    tables: Object.fromEntries(Object.entries(tables ?? {}).map(([name, table]) => [name, resolveTable(name, table as TableOptions)])),
    maxBytes: Math.min(integer("maxBytes", maxBytes, 1, 2 ** 32), MAX_REPLAY_BYTES),
    ...(storedBytes !== undefined && { storedBytes: { ...onlyKeys("storedBytes", storedBytes, "max, evictFrom") } }),
    seed: String(seed),
    ...(transition !== undefined && { transition: { ...transition } }),
  };
}

/** @param least what one step may take */
function checkStoredBytes({ max, evictFrom }: StoredBytesOptions, tables: object, least: number): void {
  finite("storedBytes.max", max, 0);
  if (max < least) throw mustBe(RangeError, "storedBytes.max", `at least ${least}, the bytes of a step whose frames do not pack`, max);
  if (evictFrom !== undefined && !Object.hasOwn(tables, evictFrom))
    throw mustBe("NOT_FOUND", "storedBytes.evictFrom", oneOfRule(Object.keys(tables)), evictFrom);
}

function resolveTable(name: string, options: TableOptions): ResolvedTableOptions {
  if (name === "" || name === "__proto__") throw mustBe(RangeError, "the name of a table", "a non-empty string, and not __proto__", name);
  const subject = `tables.${name}`;
  onlyKeys(subject, options, "maxSize, sampler, remover, rateLimiter, maxTimesSampled, maxSteps, maxPending");
  const { maxSize, sampler = uniform(), remover = fifo(), rateLimiter = minSize(1) } = options;
  const { maxTimesSampled = NO_LIMIT, maxSteps = NO_LIMIT, maxPending = DEFAULT_PENDING } = options;
  integer(`${subject}.maxSize`, maxSize, 1, MAX_ITEMS);
  integer(`${subject}.maxTimesSampled`, maxTimesSampled, 1);
  integer(`${subject}.maxSteps`, maxSteps, 1);
  integer(`${subject}.maxPending`, maxPending, 0, MAX_ITEMS);
  for (const [role, value] of Object.entries({ sampler, remover }))
    if (!isSelector(value)) throw mustBe(TypeError, `${subject}.${role}`, "a selector, such as uniform()", value);
  checkRateLimiter(`${subject}.rateLimiter`, rateLimiter);
  return { maxSize, sampler: { ...sampler }, remover: { ...remover }, rateLimiter: { ...rateLimiter }, maxTimesSampled, maxSteps, maxPending };
}

/** Whether a value is a selector, from one of the functions or from a snapshot. */
function isSelector(value: unknown): value is Selector {
  const { kind, exponent = 1 } = (value ?? {}) as Selector;
  return SELECTORS.includes(kind) && Number.isFinite(exponent);
}
