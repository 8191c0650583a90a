/**
 * Defines the interface of clients, which observers, buffers and datasets use to reach the tables of this process or of a server (`ReverbClient` of
 * reprise/reverb).
 */

import type { WaitOptions } from "../../base/wait.ts";
import type { Logger } from "../../base/warnings.ts";
import type { RemoteWriter } from "../../remote/writer.ts";
import type { Replay } from "../../replay/replay.ts";
import type { Column } from "../../schema/column.ts";
import type { ColumnsOf, Spec, StepOf } from "../../schema/spec.ts";
import type { Table } from "../../tables/table.ts";
import type { Config } from "../patterns/config.ts";
import type { ItemKey, ReplaySample } from "../sampling/sample.ts";
import type { Sampler, SamplerOptions } from "../sampling/sampler-options.ts";
import type { TableInfo } from "../sampling/table-info.ts";
import type { PartOf } from "./fields.ts";
import type { LegacyWriterOptions } from "./legacy-options.ts";
import type { LegacyWriter } from "./legacy-writer.ts";
import type { Awaitable, StepClient } from "./step-client.ts";
import type { StructuredWriter } from "./structured-writer.ts";
import type { TrajectoryWriter, TrajectoryWriterOptions } from "./trajectory-writer.ts";

/** The public members of a class, which other classes can implement. */
export type Public<T> = { [K in keyof T]: T[K] };

/** A structured writer of any client. `append` returns a promise if too many items are in flight to a server. */
export interface AnyStructuredWriter<S extends Spec = Spec> extends Omit<Public<StructuredWriter<S>>, "append"> {
  append(step: PartOf<StepOf<S>>, options?: { readonly partialStep?: boolean }): Awaitable<void> | undefined;
}

/** A legacy writer of any client. `append` and `appendSequence` return a promise if too many items are in flight to a server. */
export interface AnyLegacyWriter<S extends Spec = Spec> extends Omit<Public<LegacyWriter<S>>, "append" | "appendSequence"> {
  append(step: PartOf<StepOf<S>>): Awaitable<void> | undefined;
  appendSequence(sequence: PartOf<ColumnsOf<S>>): Awaitable<void> | undefined;
}

export interface SampleCallOptions {
  /** Whether to return an item as a list of its steps. Default: true. */
  readonly emitTimesteps?: boolean;
  /** Whether `data` is nested like the table's signature, if the table has one. If false, `data` is a flat list of columns. Default: false. */
  readonly unpackAsTableSignature?: boolean;
  /** A signal that aborts the iteration. The iteration then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The value that `sample` returns for each item. */
export type SampleOf<O> = O extends { readonly emitTimesteps: false } ? ReplaySample<DataOf<O>> : readonly ReplaySample<DataOf<O>>[];
// biome-ignore lint/suspicious/noExplicitAny: of any signature
type DataOf<O> = O extends { readonly unpackAsTableSignature: true } ? any : readonly Column[];

export interface PriorityChanges {
  /** The new priorities by key, as a Map or pairs. If a key occurs twice, the last priority counts. */
  readonly updates?: Iterable<readonly [ItemKey, number]>;
  /** The keys of the items to delete. If a key is both updated and deleted, it is deleted. */
  readonly deletes?: Iterable<ItemKey>;
}

export interface ServerInfoOptions {
  /**
   * The time in seconds to wait for a server and its answer. Default: no limit for the answer, and the client's `reconnectTimeoutMs` for a server that is not
   * reachable.
   */
  readonly timeout?: number;
  /** A signal that aborts the wait. The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A checkpoint: a path on a server's disk, or the bytes of a snapshot for `Replay.restore` in this process. */
export type Checkpoint = string | Iterable<Uint8Array<ArrayBuffer>>;

/** The part of a client that datasets and buffers use to draw from tables. Every call throws NOT_FOUND if the table does not exist. */
export interface SampleClient {
  /** The dtype of item keys: "u64" on a server, whose keys are bigints. Default: "f64". */
  readonly keyDtype?: "f64" | "u64";
  /** Receives warnings about the client's tables. Default: `console.warn`. */
  readonly logger?: Logger | null;
  /**
   * Returns a source of items for datasets.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError NOT_FOUND with the first item if the table does not exist
   */
  sampler(table: string, options?: SamplerOptions): Sampler;
  /** Returns information about every table, by name. @throws ReplayError TIMEOUT if the time limit ends the wait */
  serverInfo(options?: ServerInfoOptions): Awaitable<{ readonly [table: string]: TableInfo }>;
  /**
   * Sets priorities and deletes items. Keys of evicted items are skipped. If the call throws, nothing has changed.
   * @throws TypeError, RangeError if a priority or a key is invalid
   */
  mutatePriorities(table: string, changes: PriorityChanges): Awaitable<void>;
  /** Removes every item of a table and sets its counts to 0. */
  reset(table: string): Awaitable<void>;
  /** Returns a table of this process, from which whole batches can be drawn synchronously. */
  table?(name: string): Table;
}

/**
 * The client interface of Reverb, for tables in this process and on servers. For a server, methods return promises. For this process, most methods return plain
 * values. `await` handles both. Every call throws NOT_FOUND if the table does not exist.
 */
export interface Client<S extends Spec = Spec, N extends string = string> extends StepClient<S>, SampleClient {
  /**
   * Opens a writer that creates items automatically from patterns.
   * @throws TypeError, RangeError if there is no config
   * @throws ReplayError SPEC_MISMATCH if the configs do not match the spec
   */
  structuredWriter(configs: readonly Config[]): AnyStructuredWriter<S>;
  /** Opens a writer of items whose columns can contain any steps that are still available. @throws TypeError, RangeError if an argument is invalid */
  trajectoryWriter(options: TrajectoryWriterOptions): Public<TrajectoryWriter<S>>;
  /** Opens a writer of items that span the last steps. Corresponds to `client.writer` of Reverb. @throws TypeError, RangeError if an argument is invalid */
  legacyWriter(options: LegacyWriterOptions): AnyLegacyWriter<S>;
  /**
   * Inserts one step, as an item and an episode of its own, into each table that is a key of `priorities`.
   * @returns undefined, or a promise that resolves when the item is inserted, if a rate limiter makes the item wait
   * @throws RangeError if no table is named, or if a priority is invalid
   * @throws ReplayError SPEC_MISMATCH if the step does not match the spec
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   */
  insert(step: PartOf<StepOf<S>>, priorities: { readonly [K in N]?: number }, options?: WaitOptions): Promise<void> | undefined;
  /**
   * Iterates over items. Each item is drawn lazily, when the rate limiter allows the draw.
   * @param numSamples the number of items, or -1 for no limit. Default: 1
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError SPEC_MISMATCH during iteration if an item is not a sequence of steps, with `emitTimesteps`. The item counts as sampled
   */
  sample<const O extends SampleCallOptions>(table: string, numSamples?: number, options?: O): AsyncIterable<SampleOf<O>>;
  /** Saves all tables. @returns the path or bytes of the checkpoint */
  checkpoint(): Awaitable<Checkpoint>;
}

/** A client whose tables are in this process. Its methods answer synchronously. */
export interface TableClient<S extends Spec = Spec, N extends string = string> extends Client<S, N> {
  serverInfo(options?: ServerInfoOptions): { readonly [table: string]: TableInfo };
  /** Returns the table of this name. @throws ReplayError NOT_FOUND if the table does not exist */
  table(name: string): Table<S>;
}

/**
 * Any value that is accepted as a client. A Replay is a client of its own tables, and a remote writer is a client of the tables at the other end of its port.
 */
export type ClientLike<S extends Spec = Spec, N extends string = string> = StepClient<S> | Replay<S, N> | RemoteWriter<S>;
