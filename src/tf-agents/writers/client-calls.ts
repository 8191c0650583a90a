/** The calls of a client: their arguments are checked here, wherever the tables are. */
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

/** An answer: a server always gives it later. */
export type Answer<K, T> = K extends "server" ? Promise<T> : T;

/** What `insert` returns: a server confirms its items later. */
type Inserted<K> = K extends "server" ? Promise<void> : Promise<void> | undefined;

type Samples<K, T> = K extends "server" ? AsyncIterable<T> : Dataset<T>;

/** What a writer needs of its sink. */
export interface SinkRequest {
  /** The client's method that makes the writer. */
  readonly maker: "legacyWriter" | "structuredWriter" | "trajectoryWriter";
  /** Steps that the longest item has. */
  readonly keep: number;
  /** Whether items must fit their table's signature. Default: true. */
  readonly validates?: boolean;
  /** Of a legacy writer. */
  readonly legacy?: ResolvedLegacyOptions;
}

/** One step that is an item of several tables. */
export interface InsertedStep {
  /** A value per leaf of the spec; undefined for a missing one. */
  readonly values: Values;
  /** The leaves with a value. */
  readonly leaves: readonly PlacedLeaf[];
  /** The columns of the items, and the same without their dimension of time. */
  readonly shapes: readonly ColumnShape[];
  readonly stepShapes: readonly ColumnShape[];
  readonly priorities: readonly (readonly [table: string, priority: number])[];
}

/** The tables of a client: those of a Replay, or of servers. Arguments were checked. */
export interface ClientTables<S extends Spec> {
  /** @throws ReplayError SPEC_MISMATCH for a client without a spec */
  readonly fields: Fields<S>;
  /** The longest `timeout` of `serverInfo`, in seconds. */
  readonly maxTimeout: number;
  /** Runs a call: its result, or a promise of it; errors come the same way. */
  answer<T>(call: () => Awaitable<T>): Awaitable<T>;
  /** @throws TypeError · ReplayError NOT_FOUND, in this process */
  mustBeTable(name: unknown): void;
  /** @throws ReplayError NOT_FOUND for a table that certainly does not exist */
  mustKnow(names: readonly string[]): void;
  sink(request: SinkRequest): StepSink;
  /**
   * The leaves that one step of a table is written with, for leaves of its signature.
   * @throws ReplayError SPEC_MISMATCH in this process, for a leaf that the spec does not have
   */
  leavesFor(table: string, leaves: readonly FoundLeaf[]): readonly PlacedLeaf[];
  insert(step: InsertedStep, options: WaitOptions): Awaitable<void> | undefined;
  /** @param read makes what is returned for an item, of a table with this signature */
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

/** The tables behind each client, for what writes steps of another form than the client's spec. */
const tablesOf = new WeakMap<object, ClientTables<Spec>>();

/** The tables of a client of this package; undefined for anything else. */
export function tablesOfClient(client: unknown): ClientTables<Spec> | undefined {
  return typeof client === "object" && client !== null ? tablesOf.get(client) : undefined;
}

export abstract class ClientCalls<S extends Spec, N extends string, K extends SinkKind> {
  readonly #tables: ClientTables<S>;

  constructor(tables: ClientTables<S>) {
    this.#tables = tables;
    tablesOf.set(this, tables as unknown as ClientTables<Spec>);
  }

  /** A writer of items whose columns name any steps at hand. Close it, or the client of a server. @throws RangeError, TypeError · ReplayError SPEC_MISMATCH without a spec */
  trajectoryWriter(options: TrajectoryWriterOptions): TrajectoryWriter<S, K> {
    const { fields } = this.#tables;
    const { keep, validates } = checkTrajectory(options);
    return new TrajectoryWriter<S, K>(fields, keep, this.#tables.sink({ maker: "trajectoryWriter", keep, validates }));
  }

  /** A writer that makes items of patterns by itself: Reverb's `structured_writer`. @throws RangeError, TypeError · ReplayError NOT_FOUND, SPEC_MISMATCH */
  structuredWriter(configs: readonly Config[]): StructuredWriter<S, K> {
    return new StructuredWriter<S, K>(this.#tables.fields, configs, (keep) => this.#tables.sink({ maker: "structuredWriter", keep }));
  }

  /** A writer of items of the last steps: Reverb's `client.writer`. @throws RangeError, TypeError · ReplayError SPEC_MISMATCH without a spec */
  legacyWriter(options: LegacyWriterOptions): LegacyWriter<S, K> {
    const legacy = checkLegacy(options);
    const { maxSequenceLength: keep } = legacy;
    return new LegacyWriter<S, K>(this.#tables.fields, keep, this.#tables.sink({ maker: "legacyWriter", keep, legacy }));
  }

  /**
   * Inserts one step, an episode of its own, as an item of each table. Fields that it leaves out are no part of the items. All of it or nothing. O(bytes + tables)
   * @returns `undefined`, or a promise: if a rate limiter makes an item wait, until none in these tables does; of a server until it has confirmed all of them
   * @throws RangeError for no table, a priority that is none · ReplayError NOT_FOUND, SPEC_MISMATCH, INVALID_DATA; nothing was inserted then · RATE_LIMITED, OUT_OF_MEMORY ·
   * TIMEOUT, IO, CLOSED, or the signal's reason
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
   * Items as the table gives them, one draw each. In this process none is drawn before it is asked for, `for` ends where the rate limiter lets none pass now, and `for await`
   * waits. What a server has drawn ahead when the loop is left counts as sampled. O(log size + steps + bytes) each
   * @param numSamples how many; none at all with -1. Default: 1
   * @throws RangeError, TypeError · ReplayError NOT_FOUND · in the iteration SPEC_MISMATCH for an item that is no sequence of steps, with `emitTimesteps`: it counts as sampled;
   * of a server NOT_FOUND, IO, CORRUPT
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

  /** What datasets draw from: a table, item by item. In this process nothing is drawn ahead. @throws RangeError, TypeError · ReplayError NOT_FOUND with the first item */
  sampler(table: string, options: SamplerOptions = {}): Sampler {
    return this.#tables.sampler(table, onlyKeys("options", options, SAMPLER));
  }

  /**
   * Every table by its name. Of several servers counts and sizes are sums over those that are there, all else is as on one of them. It waits for a server that is not there
   * yet: for `timeout`, or without one for `reconnectTimeoutMs`. In this process nothing is waited for. O(tables)
   * @throws ReplayError TIMEOUT, IO where no server answers · the signal's reason
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
   * Sets priorities, and deletes items. Keys whose items are gone are skipped. All of it or nothing. O(changes × log size)
   * @throws RangeError for a priority that is none, or a key; then nothing has changed · TypeError · ReplayError NOT_FOUND, IO
   */
  mutatePriorities(table: string, changes: PriorityChanges): Answer<K, void> {
    return this.#tables.answer(() => {
      this.#tables.mustBeTable(table);
      return this.#tables.mutate(table, keyChangesOf(changes));
    }) as Answer<K, void>;
  }

  /** Drops every item of a table and sets its counts to 0; items that wait come in then. O(size log size) @throws ReplayError NOT_FOUND, IO */
  reset(table: string): Answer<K, void> {
    return this.#tables.answer(() => {
      this.#tables.mustBeTable(table);
      return this.#tables.reset(table);
    }) as Answer<K, void>;
  }
}
