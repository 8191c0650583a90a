/** A Replay: one pool of steps, the tables that refer to them, and the writers that append them. */

import { integer, mustBe, ReplayError } from "../base/error.ts";
import { customInspect, PlainText } from "../base/inspect.ts";
import { MAX_LENGTH, MAX_REPLAY_BYTES, SEGMENT_BYTES } from "../base/limits.ts";
import { type Message, Publication } from "../base/publication.ts";
import { hideFrames } from "../base/stack-trace.ts";
import { toConsole, type WarningKind } from "../base/warnings.ts";
import { Core } from "../memory/core.ts";
import { Engine } from "../memory/engine.ts";
import { placesFor } from "../memory/journal-bytes.ts";
import { layoutOf } from "../memory/layout.ts";
import { type PackedStats, packedStats } from "../memory/packed-stats.ts";
import { State } from "../memory/state.ts";
import { maxStepBytes, StoredBytes } from "../memory/stored-bytes.ts";
import { CoreTable } from "../memory/table.ts";
import type { AcceptOptions } from "../remote/accept.ts";
import type { AcceptedWriter } from "../remote/accepted-writer.ts";
import { Arrival } from "../remote/channels/arrival.ts";
import type { Socket } from "../remote/channels/channel.ts";
import type { PortLike } from "../remote/channels/port.ts";
import type { Host } from "../remote/host.ts";
import type { ColumnSet } from "../schema/columns.ts";
import { describeSpec, leavesOf, type OwnStepOf, type PathOf, type Spec } from "../schema/spec.ts";
import type { TransitionRoles } from "../schema/transition-roles.ts";
import type { Journal } from "../storage/journal/journal.ts";
import type { JournalOptions } from "../storage/open.ts";
import type { ReplayState } from "../storage/replay-state.ts";
import { type RestoreOptions, restore, type SnapshotSource } from "../storage/snapshot/read.ts";
import { snapshot } from "../storage/snapshot/write.ts";
import { waitForRoom } from "../tables/room.ts";
import { resolveWriterOptions, unknownTable, type WriterOptions } from "../tables/rules.ts";
import { type AnyTable, Table, type TableStats } from "../tables/table.ts";
import type { HasLanes, OneLane, Writer } from "../tables/writer.ts";
import type { SavedWriterOptions } from "../tables/writer-internals.ts";
import { Writers } from "../tables/writers.ts";
import { type Any, checkStoredBytes, OPTIONS, type ReplayOptions, type ResolvedReplayOptions, resolveOptions } from "./options.ts";
import { ITEM_STEPS, type Plan, planOf } from "./plan.ts";

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

/** For modules of the package: the state of a Replay, as storage uses it. */
export let stateOf: <S extends Spec, N extends string>(replay: Replay<S, N>) => ReplayState;

export function engineOf<S extends Spec, N extends string>(replay: Replay<S, N>): Engine {
  return stateOf(replay).engine;
}

export interface OpenOptions<S extends Spec = Any, N extends string = string> extends Partial<ReplayOptions<S, N>>, JournalOptions {
  /** With `onMismatch: "migrate"`: returns the new step of an old one, as `migrate` of `migrateSnapshot`. */
  readonly migrate?: (step: Any) => OwnStepOf<NoInfer<S>>;
}

/** A Replay with a journal. */
export type OpenReplay<S extends Spec = Any, N extends string = string> = Replay<S, N> & { readonly journal: Journal };

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
  /** What its actors are told. */
  readonly #publication = new Publication();

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
    options: WriterOptions<TableName, ColumnSet<S>, PathOf<S>> & { readonly lanes?: L } = {},
  ): Writer<S, TableName, HasLanes<L>> & OneLane<S, L> {
    this.#engine.begin();
    const writer = this.#writers.writer(options as WriterOptions<string, ColumnSet<unknown>>);
    this.#engine.changed();
    return writer as unknown as Writer<S, TableName, HasLanes<L>> & OneLane<S, L>;
  }

  /**
   * Takes the steps of an environment at the other end of a port or a socket, where `remoteWriter` of `reprise/remote` writes them. Resolves when an actor has come;
   * either end may come first. An actor whose socket broke comes again by another one: call this for each socket of a server; the result is the same object then. The
   * options are those of a writer, but that the actor says how many lanes there are.
   * @param port a MessagePort or a Worker; a WebSocket, of a server or a client, or any other `ByteChannel`
   * @throws ReplayError SPEC_MISMATCH where the specs differ, which both ends are told · OUT_OF_TURN where the port, or the name, has a writer already · UNSUPPORTED for
   * another version of Reprise at the other end, or `confirm: "disk"` without a journal · NOT_FOUND where the actor's session is not known any more · CORRUPT for a peer
   * that does not speak the protocol · CLOSED, TIMEOUT, or the signal's reason; and as `writer`
   */
  async acceptWriter(port: PortLike | Socket, options: AcceptOptions<TableName, ColumnSet<S>> = {}): Promise<AcceptedWriter> {
    this.#engine.open();
    // What comes while the rest is loaded must not be lost.
    const arrival = new Arrival(port);
    try {
      // Loaded when asked for: most programs have no ports.
      const { accept } = await import("../remote/accept.ts");
      return await accept(arrival, this.#host, options as AcceptOptions);
    } finally {
      arrival.release();
    }
  }

  /** What it lends to the writers that it accepts. */
  get #host(): Host {
    return {
      engine: this.#engine,
      tables: [...this.#tables.keys()],
      publication: this.#publication,
      journal: this.#journal,
      resolve: (writerOptions) => resolveWriterOptions(this.#engine, this.#tables, writerOptions),
      waitForRoom: (names, signal) => {
        const tables = names.map((name) => this.#tables.get(name) as unknown as AnyTable);
        return waitForRoom(this.#engine, tables, signal);
      },
      mustBeFree: (name) => this.#writers.mustBeFree(name),
      writer: (writerOptions) => {
        this.#engine.begin();
        const writer = this.#writers.replaceWriter(writerOptions as WriterOptions<string, ColumnSet<unknown>>);
        this.#engine.changed();
        return writer as unknown as ReturnType<Host["writer"]>;
      },
      resumeWriter: (writerOptions) => {
        this.#engine.begin();
        if (this.#writers.orphan(writerOptions.name as string) === undefined)
          throw new ReplayError("NOT_FOUND", "the writer of this session was closed since: make a new one");
        const writer = this.#writers.writer(writerOptions as WriterOptions<string, ColumnSet<unknown>>);
        return writer as unknown as ReturnType<Host["writer"]>;
      },
      hasOrphan: (name) => this.#writers.orphan(name) !== undefined,
      closeOrphan: (name) => this.#writers.orphan(name)?.close(),
    };
  }

  /**
   * Sends a message to all actors that `acceptWriter` let in, and to those that come later: the learner's weights. It arrives at their `onmessage`, bytes as they are and
   * anything else as JSON. An actor that is slow, or away, receives only the newest one.
   * @throws TypeError for what JSON cannot say
   */
  publish(message: Message): void {
    this.#engine.open();
    this.#publication.put(message);
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
