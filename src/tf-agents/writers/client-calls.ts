/** Implements the methods of a client. Arguments are checked here, both for tables in this process and for tables on servers. */
import { finite, flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { checkSignal, checkWait, type WaitOptions } from "../../base/wait.ts";
import type { Dataset } from "../../batch/iterate.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import type { FoundLeaf, Spec, StepOf } from "../../schema/spec.ts";
import type { SinkKind, StepSink } from "../../tables/step-sink.ts";
import type { Config } from "../patterns/config.ts";
import { type DrawnItem, nestColumns, type ReplaySample, stepColumns, stepsOf, wholeColumns } from "../sampling/sample.ts";
import type { Sampler, SamplerOptions } from "../sampling/sampler-options.ts";
import type { TableInfo } from "../sampling/table-info.ts";
import type { ColumnShape, Signature } from "../signature.ts";
import type { PriorityChanges, SampleCallOptions, SampleOf, ServerInfoOptions } from "./client.ts";
import type { Fields, PartOf, Values } from "./fields.ts";
import { type KeyChanges, keyChangesOf } from "./key-changes.ts";
import { checkLegacy, type LegacyWriterOptions, type ResolvedLegacyOptions } from "./legacy-options.ts";
import { LegacyWriter } from "./legacy-writer.ts";
import type { Awaitable } from "./step-client.ts";
import { StructuredWriter } from "./structured-writer.ts";
import { checkTrajectory, TrajectoryWriter, type TrajectoryWriterOptions } from "./trajectory-writer.ts";

/** The type of an answer: servers always answer with a promise. */
export type Answer<K, T> = K extends "server" ? Promise<T> : T;

/** The return type of `insert`: a server confirms its items later. */
type Inserted<K> = K extends "server" ? Promise<void> : Promise<void> | undefined;

type Samples<K, T> = K extends "server" ? AsyncIterable<T> : Dataset<T>;

/** The options with which a writer opens its sink, which receives the writer's steps and items. */
export interface SinkRequest {
  /** The client method that creates the writer. */
  readonly maker: "legacyWriter" | "structuredWriter" | "trajectoryWriter";
  /** The number of steps in the longest item. */
  readonly keep: number;
  /** Whether items must fit the signature of their table. Default: true. */
  readonly validates?: boolean;
  /** The options of a legacy writer. */
  readonly legacy?: ResolvedLegacyOptions;
}

/** One step that becomes an item of several tables. */
export interface InsertedStep {
  /** One value per leaf of the spec; undefined for a missing value. */
  readonly values: Values;
  /** The leaves with a value. */
  readonly leaves: readonly PlacedLeaf[];
  /** The columns of the items with a time dimension. `stepShapes` describes the same columns without it. */
  readonly shapes: readonly ColumnShape[];
  readonly stepShapes: readonly ColumnShape[];
  readonly priorities: readonly (readonly [table: string, priority: number])[];
}

/** The tables of a client, in a Replay or on servers. Arguments are already checked. */
export interface ClientTables<S extends Spec> {
  /** The fields of a step. @throws ReplayError SPEC_MISMATCH for a client without a spec */
  readonly fields: Fields<S>;
  /** The longest `timeout` of `serverInfo`, in seconds. */
  readonly maxTimeout: number;
  /** Runs a call and returns its result, or a promise of the result. An error is thrown, or rejects the promise. */
  answer<T>(call: () => Awaitable<T>): Awaitable<T>;
  /** Checks the name of a table. @throws TypeError if it is not a string · ReplayError NOT_FOUND if a Replay of this process does not have the table */
  mustBeTable(name: unknown): void;
  /** Checks that tables exist, as far as the client can tell. @throws ReplayError NOT_FOUND if a table certainly does not exist */
  mustKnow(names: readonly string[]): void;
  sink(request: SinkRequest): StepSink;
  /**
   * Returns the leaves with which one step is written to a table, given the leaves of the table's signature.
   * @throws ReplayError SPEC_MISMATCH in this process, if a leaf is not in the spec
   */
  leavesFor(table: string, leaves: readonly FoundLeaf[]): readonly PlacedLeaf[];
  insert(step: InsertedStep, options: WaitOptions): Awaitable<void> | undefined;
  /** Iterates over `count` drawn items of a table. @param read converts an item of a table with this signature to the value that is returned for the item */
  samples(
    table: string,
    count: number,
    signal: AbortSignal | undefined,
    read: (own: Signature | undefined) => (item: DrawnItem) => unknown,
  ): AsyncIterable<unknown>;
  sampler(table: string, options: SamplerOptions): Sampler;
  info(options: WaitOptions): Awaitable<{ readonly [table: string]: TableInfo }>;
  mutate(table: string, changes: KeyChanges): Awaitable<void>;
  reset(table: string): Awaitable<void>;
}

const SAMPLER = "maxSamples, rateLimiterTimeoutMs, maxInFlightSamplesPerWorker, numWorkersPerIterator, maxSamplesPerStream";

/** The tables of each client, for code that writes steps whose form differs from the client's spec. */
const tablesOf = new WeakMap<object, ClientTables<Spec>>();

/** Returns the tables of a client of this package, or undefined for any other value. */
export function tablesOfClient(client: unknown): ClientTables<Spec> | undefined {
  return typeof client === "object" && client !== null ? tablesOf.get(client) : undefined;
}

export abstract class ClientCalls<S extends Spec, N extends string, K extends SinkKind> {
  readonly #tables: ClientTables<S>;

  constructor(tables: ClientTables<S>) {
    this.#tables = tables;
    tablesOf.set(this, tables as unknown as ClientTables<Spec>);
  }

  /**
   * Opens a writer of items whose columns can contain any steps that are still available. Close the writer, or the client of a server.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError SPEC_MISMATCH if the client has no spec
   */
  trajectoryWriter(options: TrajectoryWriterOptions): TrajectoryWriter<S, K> {
    const { fields } = this.#tables;
    const { keep, validates } = checkTrajectory(options);
    return new TrajectoryWriter<S, K>(fields, keep, this.#tables.sink({ maker: "trajectoryWriter", keep, validates }));
  }

  /**
   * Opens a writer that creates items automatically from patterns. Corresponds to `structured_writer` of Reverb.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError NOT_FOUND if a table does not exist
   * @throws ReplayError SPEC_MISMATCH if the configs do not match the spec or the table's signature
   */
  structuredWriter(configs: readonly Config[]): StructuredWriter<S, K> {
    return new StructuredWriter<S, K>(this.#tables.fields, configs, (keep) => this.#tables.sink({ maker: "structuredWriter", keep }));
  }

  /**
   * Opens a writer of items that span the last steps. Corresponds to `client.writer` of Reverb.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError SPEC_MISMATCH if the client has no spec
   */
  legacyWriter(options: LegacyWriterOptions): LegacyWriter<S, K> {
    const legacy = checkLegacy(options);
    const { maxSequenceLength: keep } = legacy;
    return new LegacyWriter<S, K>(this.#tables.fields, keep, this.#tables.sink({ maker: "legacyWriter", keep, legacy }));
  }

  /**
   * Inserts one step, as an item and an episode of its own, into each table that is a key of `priorities`. Fields that the step omits are also missing from the
   * items. If one table rejects the step, no table receives the step. Costs O(bytes + tables).
   * @returns `undefined`, or a promise. In this process, the promise resolves when no item of these tables waits for a rate limiter; with a server, when all
   * items are confirmed.
   * @throws RangeError if no table is named, or if a priority is invalid
   * @throws ReplayError NOT_FOUND if a table does not exist. In that case, nothing was inserted
   * @throws ReplayError SPEC_MISMATCH if the step does not match the spec or a signature. In that case, nothing was inserted
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype. In that case, nothing was inserted
   * @throws ReplayError RATE_LIMITED if too many items are waiting
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws ReplayError IO if the server cannot be reached
   * @throws ReplayError CLOSED if the client is closed
   * @throws the signal's reason if the signal aborts
   */
  insert(step: PartOf<StepOf<S>>, priorities: { readonly [T in N]?: number }, options: WaitOptions = {}): Inserted<K> {
    const tables = this.#tables;
    return tables.answer<void>(() => {
      const { signal, timeoutMs } = onlyKeys("options", options, "signal, timeoutMs");
      checkWait({ signal, timeoutMs } as WaitOptions);
      const { fields } = tables;
      const isByTable = typeof priorities === "object" && priorities !== null && !Array.isArray(priorities);
      const entries = isByTable ? (Object.entries(priorities) as [string, number][]) : [];
      if (entries.length === 0) throw mustBe(RangeError, "priorities", "an object with at least one table, such as { table: priority }", priorities);
      tables.mustKnow(entries.map(([table]) => table));
      for (const [table, priority] of entries) finite(`priorities.${table}`, priority, 0);
      const values = fields.take(step);
      const leaves = fields.leaves.filter((_, i) => values[i] !== undefined);
      if (leaves.length === 0) throw mustBe("SPEC_MISMATCH", "step", "an object with at least one field", step);
      const stepShapes = leaves.map(({ leaf: { dtype }, shape }) => ({ dtype, shape }));
      const shapes = stepShapes.map(({ dtype, shape }) => ({ dtype, shape: [1, ...shape] }));
      return tables.insert({ values, leaves, shapes, stepShapes, priorities: entries }, options) as Awaitable<void>;
    }) as Inserted<K>;
  }

  /**
   * Iterates over items, each drawn separately by the table's sampler. In this process, items are drawn lazily. `for` ends when the rate limiter allows no
   * draw, and `for await` waits. With a server, items that are prefetched but unread when the loop ends count as sampled. Costs O(log size + steps + bytes) per
   * item.
   * @param numSamples the number of items, or -1 for no limit. Default: 1
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError NOT_FOUND if the table does not exist. With a server, the error is thrown during iteration
   * @throws ReplayError SPEC_MISMATCH during iteration if an item is not a sequence of steps, with `emitTimesteps`. The item counts as sampled
   * @throws ReplayError IO during iteration if the server cannot be reached
   * @throws ReplayError CORRUPT during iteration if an answer of the server is damaged
   */
  sample<const O extends SampleCallOptions>(table: string, numSamples = 1, options?: O): Samples<K, SampleOf<O>> {
    const known: SampleCallOptions = onlyKeys("options", options ?? {}, "emitTimesteps, unpackAsTableSignature, signal");
    const { emitTimesteps = true, unpackAsTableSignature = false, signal } = known;
    if (numSamples !== -1) integer("numSamples", numSamples, 1);
    flag("emitTimesteps", emitTimesteps);
    flag("unpackAsTableSignature", unpackAsTableSignature);
    checkSignal(signal);
    this.#tables.mustBeTable(table);
    const read = (own: Signature | undefined) => {
      const signature = unpackAsTableSignature ? own : undefined;
      const nest = (columns: ReturnType<typeof wholeColumns>) => (signature === undefined ? columns : nestColumns(table, signature, columns));
      return (item: DrawnItem): ReplaySample | readonly ReplaySample[] => {
        const { info } = item;
        if (!emitTimesteps) return { info, data: nest(wholeColumns(item)) };
        return Array.from({ length: stepsOf(table, item, false) }, (_, t) => ({ info, data: nest(stepColumns(item, t)) }));
      };
    };
    return this.#tables.samples(table, Math.max(numSamples, 0), signal, read) as Samples<K, SampleOf<O>>;
  }

  /**
   * Returns a source of the table's items for datasets. In this process, nothing is prefetched.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError NOT_FOUND with the first item if the table does not exist
   */
  sampler(table: string, options: SamplerOptions = {}): Sampler {
    return this.#tables.sampler(table, onlyKeys("options", options, SAMPLER));
  }

  /**
   * Returns information about every table, by name. With several servers, counts and sizes are sums over the servers that answer. All other values come from
   * one of these servers. Waits for a server that is not reachable yet, up to `timeout` seconds, or up to `reconnectTimeoutMs` if `timeout` is omitted. In this
   * process, the call never waits. Costs O(tables).
   * @throws ReplayError TIMEOUT if no server answers in time
   * @throws ReplayError IO if no server can be reached
   * @throws the signal's reason if the signal aborts
   */
  serverInfo(options: ServerInfoOptions = {}): Answer<K, { readonly [table: string]: TableInfo }> {
    const tables = this.#tables;
    return tables.answer(() => {
      const { timeout, signal } = onlyKeys("options", options, "timeout, signal");
      if (timeout !== undefined && timeout !== null) finite("timeout", timeout, 0, tables.maxTimeout);
      checkSignal(signal);
      signal?.throwIfAborted();
      return tables.info({ ...(timeout != null && { timeoutMs: 1000 * timeout }), ...(signal !== undefined && { signal }) });
    }) as Answer<K, { readonly [table: string]: TableInfo }>;
  }

  /**
   * Sets priorities and deletes items. Keys of evicted items are skipped. If one change is invalid, no change is made. Costs O(changes × log size).
   * @throws TypeError, RangeError if a priority or a key is invalid. In that case, nothing has changed
   * @throws ReplayError NOT_FOUND if the table does not exist
   * @throws ReplayError IO if the server cannot be reached
   */
  mutatePriorities(table: string, changes: PriorityChanges): Answer<K, void> {
    return this.#tables.answer(() => {
      this.#tables.mustBeTable(table);
      return this.#tables.mutate(table, keyChangesOf(changes));
    }) as Answer<K, void>;
  }

  /**
   * Removes every item of a table and sets its counts to 0. Items that wait for room are then inserted. Costs O(size log size).
   * @throws ReplayError NOT_FOUND if the table does not exist
   * @throws ReplayError IO if the server cannot be reached
   */
  reset(table: string): Answer<K, void> {
    return this.#tables.answer(() => {
      this.#tables.mustBeTable(table);
      return this.#tables.reset(table);
    }) as Answer<K, void>;
  }
}
