/** Implements a Replay: one pool of steps, the tables whose items refer to these steps, and the writers that append steps. */

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
  /** The number of stored steps, which items or writers use. */
  readonly steps: number;
  /**
   * The memory in bytes. `used` is the allocated memory, and `max` is `maxBytes`. `stored` is the memory of steps including their frames, if `storedBytes`
   * limits it.
   */
  readonly bytes: { readonly used: number; readonly max: number; readonly stored?: number };
  /** The statistics of packed frames, by the name in `packed`. */
  readonly packed: { readonly [name: string]: PackedStats };
  readonly tables: { readonly [name: string]: TableStats };
  readonly writers: number;
  /** The number of warnings of each kind, including the warnings that `logger` does not receive. */
  readonly warnings: { readonly [K in WarningKind]: number };
}

/** Returns the state of a Replay for storage. Only the package's own modules use it. */
export let stateOf: <S extends Spec, N extends string>(replay: Replay<S, N>) => ReplayState;

export function engineOf<S extends Spec, N extends string>(replay: Replay<S, N>): Engine {
  return stateOf(replay).engine;
}

export interface OpenOptions<S extends Spec = Any, N extends string = string> extends Partial<ReplayOptions<S, N>>, JournalOptions {
  /** Returns the new step for an old step, like `migrate` of `migrateSnapshot`. Used with `onMismatch: "migrate"`. */
  readonly migrate?: (step: Any) => OwnStepOf<NoInfer<S>>;
}

/** A Replay with a journal, as `Replay.open` returns it. */
export type OpenReplay<S extends Spec = Any, N extends string = string> = Replay<S, N> & { readonly journal: Journal };

/** A replay memory: tables of items, and writers that append steps. Without type arguments, the type is a Replay of any spec and tables. */
export class Replay<const S extends Spec = Any, const TableName extends string = string, const R extends TransitionRoles = Any> {
  readonly options: ResolvedReplayOptions;
  /** All tables by name, in the order of the options: `const { memory } = replay.tables`. */
  readonly tables: { readonly [K in TableName]: Table<S, R> };
  readonly #engine: Engine;
  readonly #tables = new Map<string, Table<S, R>>();
  readonly #writers: Writers;
  readonly #storedBytes: StoredBytes | undefined;

  #journal: Journal | undefined;
  /** The messages published to the Replay's actors. */
  readonly #publication = new Publication();

  static {
    stateOf = (replay) => replay.#state();
    customInspect<Replay>(this, "Replay", (replay) => replay.#inspect());
  }

  /**
   * Creates a Replay. The memory for tables is allocated immediately, and the memory for steps is allocated as they are appended.
   * @throws TypeError if an option has the wrong type
   * @throws RangeError if an option is invalid, or if the limits do not fit into `maxBytes`. `Replay.plan` computes the required bytes
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
        plan.bytes > MAX_REPLAY_BYTES
          ? "A Replay has at most 4 GiB. Lower maxSize or maxSteps, or make each step smaller"
          : "Increase maxBytes, or lower maxSize or maxSteps";
      const journal = places > 0 ? ` with a journal (${planOf(layout, tables, new Core(maxBytes, module), 0, undefined, storedBytes?.max).bytes} without)` : "";
      const need = `at least ${plan.bytes}${journal} for the tables and ${plan.steps} steps of ${plan.bytesPerStep} bytes`;
      throw mustBe(RangeError, options.maxBytes === undefined ? "maxBytes (4 GiB by default)" : "maxBytes", [need, remedy], maxBytes);
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
    // Memory for a snapshot is reserved now, so that a snapshot is possible even if steps use up the rest.
    new State(engine, this.#state()).reserve();
  }

  /**
   * Returns the memory that a Replay with these options would need, without allocating it. Each item is assumed to add one new step, and one new frame per
   * pool of `shared`. If the order of eviction is neither insertion order nor its reverse, each item is assumed to add all its steps and frames. This is the
   * case for removers other than fifo and lifo, and for `maxTimesSampled`.
   * @param options.itemSteps the number of steps of the longest items that writers will make: `nStep` + 1, or the length of a rule or of `createItem`. Default:
   * 4
   */
  static plan<const S extends Spec, const N extends string>(options: ReplayOptions<S, N> & { readonly itemSteps?: number }): Plan {
    const { spec, tables, maxBytes, storedBytes } = resolveOptions(options, `${OPTIONS}, itemSteps`);
    const itemSteps = integer("itemSteps", options.itemSteps ?? ITEM_STEPS, 1, MAX_LENGTH);
    const layout = layoutOf(leavesOf(spec), options.module);
    const plan = (places: number) => planOf(layout, tables, new Core(maxBytes, options.module, places > 0), places, itemSteps, storedBytes?.max);
    return { ...plan(0), openedBytes: plan(placesFor(maxBytes, SEGMENT_BYTES)).bytes };
  }

  /**
   * Opens a Replay in a directory: the stored Replay, or a new Replay if the directory is empty. A stored Replay is in the state after one of its calls. That
   * state includes everything that was flushed. The next draws are the same as without the interruption. Its writers are in `writers`, and `replay.writer({
   * name })` returns the writer with that name. Needs memory for one section in addition to the Replay. Costs O(bytes of the files).
   * @throws ReplayError LOCKED if another process has the directory open
   * @throws ReplayError CORRUPT if a file is damaged before its end (see `salvage`)
   * @throws ReplayError IO if a file cannot be read or written
   * @throws ReplayError NOT_FOUND if `spec` is omitted and the directory is empty
   * @throws ReplayError SPEC_MISMATCH if the stored Replay differs from the options
   * @throws the signal's reason if the signal aborts
   */
  static async open<const S extends Spec = Any, const N extends string = string>(options: OpenOptions<S, N>): Promise<OpenReplay<S, N>> {
    // The module is loaded on demand, so that a program without storage does not load it.
    const store = await import("../storage/open.ts");
    const { replay, journal } = await store.open<Replay<S, N>>(options, make<S, N>);
    replay.#journal = journal;
    return replay as OpenReplay<S, N>;
  }

  /**
   * Returns a Replay in the state of a snapshot: the same items and keys, and the same draws from now on. Its writers are in `writers`; `replay.writer({ name
   * })` returns the writer of a name. Type arguments are not checked; `spec` is compared with the snapshot's spec, and determines the type.
   * @param source bytes, an iterable of chunks, or an asynchronous iterable, for which the result is a promise
   * @throws ReplayError CORRUPT if bytes are missing or altered
   * @throws ReplayError UNSUPPORTED if another version wrote the snapshot
   * @throws ReplayError SPEC_MISMATCH if `spec` differs from the snapshot's spec
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

  /** Returns the table with this name. @throws ReplayError NOT_FOUND if no table has this name */
  table(name: TableName): Table<S, R> {
    this.#engine.open();
    const table = this.#tables.get(name);
    if (table === undefined) throw unknownTable(name, this.#tables.keys());
    return table;
  }

  /**
   * Returns a writer. Use one writer per environment, or one writer with several lanes for environments in lock-step. With a `name`, the first call of a run
   * returns the writer of that name from `Replay.open` or `Replay.restore`, if the options are the same. That writer continues in the middle of its episode.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError NOT_FOUND if a table does not exist
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   * @throws ReplayError OUT_OF_TURN if an open writer of this run has the name
   * @throws ReplayError SPEC_MISMATCH if the restored writer of that name has other options. The message names the first difference
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
   * Accepts the steps of an environment at the other end of a port or a socket, where `remoteWriter` of `reprise/remote` writes them. Resolves when an actor
   * has connected. Either end may connect first. An actor whose socket broke reconnects with another socket. Call this method for each socket of a server. For
   * an actor that reconnects, the call returns the same object. The options are the options of a writer, except `lanes`, which the actor sets.
   * @param port a MessagePort or a Worker; a WebSocket of a server or a client; or any other `ByteChannel`
   * @throws ReplayError SPEC_MISMATCH if the specs differ, which both ends report
   * @throws ReplayError OUT_OF_TURN if the port or the name already has a writer
   * @throws ReplayError UNSUPPORTED if the other end has another version of Reprise, or if `confirm` is "disk" and the Replay has no journal
   * @throws ReplayError NOT_FOUND if the actor's session is no longer known
   * @throws ReplayError CORRUPT if the peer breaks the protocol
   * @throws ReplayError CLOSED if the port or socket is closed
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws the signal's reason if the signal aborts
   * @throws the errors of `writer`
   */
  async acceptWriter(port: PortLike | Socket, options: AcceptOptions<TableName, ColumnSet<S>> = {}): Promise<AcceptedWriter> {
    this.#engine.open();
    // Messages that arrive during the import must not be lost.
    const arrival = new Arrival(port);
    try {
      // The module is loaded on demand, because most programs have no ports.
      const { accept } = await import("../remote/accept.ts");
      return await accept(arrival, this.#host, options as AcceptOptions);
    } finally {
      arrival.release();
    }
  }

  /** The part of the Replay that accepted writers use. */
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
          throw new ReplayError("NOT_FOUND", "the writer of this session is closed. Create a new one");
        const writer = this.#writers.writer(writerOptions as WriterOptions<string, ColumnSet<unknown>>);
        return writer as unknown as ReturnType<Host["writer"]>;
      },
      hasOrphan: (name) => this.#writers.orphan(name) !== undefined,
      closeOrphan: (name) => this.#writers.orphan(name)?.close(),
    };
  }

  /**
   * Sends a message, such as the learner's weights, to all actors that `acceptWriter` has accepted or will accept. The message arrives at their `onmessage`.
   * Bytes are sent unchanged, and other values as JSON. An actor that is slow or disconnected receives only the newest message.
   * @throws TypeError if JSON cannot represent the message
   */
  publish(message: Message): void {
    this.#engine.open();
    this.#publication.put(message);
  }

  /** The open writers, in the order of their creation. */
  get writers(): readonly Writer<S, TableName, boolean>[] {
    return this.#writers.all as unknown as Writer<S, TableName, boolean>[];
  }

  /** Returns the counters of the Replay and its tables. Costs O(tables). */
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
   * Returns the whole state as chunks of about 64 KiB or less. The state includes items, keys, steps, open episodes and random states. Don't change the Replay
   * until the last chunk is read. Needs no additional memory, so it also works at `maxBytes`.
   * @throws ReplayError OUT_OF_TURN if the Replay changed before the last chunk was read
   */
  snapshot(): Iterable<Uint8Array<ArrayBuffer>> {
    return snapshot(this.#state());
  }

  /** The journal that stores this Replay in a directory. Undefined if `Replay.open` did not return this Replay. */
  get journal(): Journal | undefined {
    return this.#journal;
  }

  /**
   * Resolves when everything so far is on the disk. Resolves immediately for a Replay without a journal.
   * @throws ReplayError IO if the disk cannot be written. The state in memory is unaffected, and a later flush tries again
   */
  async flush(): Promise<void> {
    this.#engine.open();
    await this.#journal?.flush();
  }

  /** Flushes the Replay and releases all its resources. Waiting calls reject, and later calls throw CLOSED. The memory is garbage-collected. */
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

  /** Calls `dispose`, for `await using`. */
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

/** Creates a Replay. The function is outside the class, which must not name itself (see base/inspect.ts). */
function make<S extends Spec, N extends string>(options: object, places: number): ReplayState<Replay<S, N>> {
  return stateOf(new (Replay as unknown as new (options: object, places: number) => Replay<S, N>)(options, places)) as ReplayState<Replay<S, N>>;
}
