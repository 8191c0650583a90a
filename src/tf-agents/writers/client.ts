/** What observers, buffers and datasets speak to: the tables of this process, or those of a server (`ReverbClient` of reprise/reverb). */

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

/** The public part of a class, which another class may have as well. */
export type Public<T> = { [K in keyof T]: T[K] };

/** A structured writer of any client: `append` may give a promise, where too many items are on their way to a server. */
export interface AnyStructuredWriter<S extends Spec = Spec> extends Omit<Public<StructuredWriter<S>>, "append"> {
  append(step: PartOf<StepOf<S>>, options?: { readonly partialStep?: boolean }): Awaitable<void> | undefined;
}

/** A legacy writer of any client: the same. */
export interface AnyLegacyWriter<S extends Spec = Spec> extends Omit<Public<LegacyWriter<S>>, "append" | "appendSequence"> {
  append(step: PartOf<StepOf<S>>): Awaitable<void> | undefined;
  appendSequence(sequence: PartOf<ColumnsOf<S>>): Awaitable<void> | undefined;
}

export interface SampleCallOptions {
  /** Whether an item comes as a list of its steps. Default: true. */
  readonly emitTimesteps?: boolean;
  /** Whether data is nested as the table's signature, where it has one; else it is a flat list of columns. Default: false. */
  readonly unpackAsTableSignature?: boolean;
  /** Ends the iteration by throwing its reason. */
  readonly signal?: AbortSignal;
}

/** What `sample` gives for each item. */
export type SampleOf<O> = O extends { readonly emitTimesteps: false } ? ReplaySample<DataOf<O>> : readonly ReplaySample<DataOf<O>>[];
// biome-ignore lint/suspicious/noExplicitAny: of any signature
type DataOf<O> = O extends { readonly unpackAsTableSignature: true } ? any : readonly Column[];

export interface PriorityChanges {
  /** New priorities by key: a Map, or pairs. Of a key that comes twice the last one counts. */
  readonly updates?: Iterable<readonly [ItemKey, number]>;
  /** Items to delete. An item that is updated as well is gone. */
  readonly deletes?: Iterable<ItemKey>;
}

export interface ServerInfoOptions {
  /** Seconds to wait for a server, and its answer. Default: for ever for an answer; for a server that is not there the client's `reconnectTimeoutMs`. */
  readonly timeout?: number;
  /** Ends the wait by rejecting with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A path on a server's disk; in this process the bytes of a snapshot, for `Replay.restore`. */
export type Checkpoint = string | Iterable<Uint8Array<ArrayBuffer>>;

/** What datasets and buffers ask of a client: to draw from its tables. Every call: @throws ReplayError NOT_FOUND for a table that is not there */
export interface SampleClient {
  /** The dtype of its items' keys: u64 on a server, where they are bigints; f64 where it is left out. */
  readonly keyDtype?: "f64" | "u64";
  /** What warnings of its tables go to. Default: `console.warn`. */
  readonly logger?: Logger | null;
  /** What datasets draw from. @throws RangeError, TypeError; NOT_FOUND comes with the first item */
  sampler(table: string, options?: SamplerOptions): Sampler;
  /** Every table by its name. @throws ReplayError TIMEOUT */
  serverInfo(options?: ServerInfoOptions): Awaitable<{ readonly [table: string]: TableInfo }>;
  /** Sets priorities and deletes items. Keys whose items are gone are skipped. @throws RangeError for a priority that is none; then nothing has changed · TypeError */
  mutatePriorities(table: string, changes: PriorityChanges): Awaitable<void>;
  /** Drops every item of a table and sets its counts to 0. */
  reset(table: string): Awaitable<void>;
  /** The table itself, of a client that has it in this process: whole batches are drawn from it, at once. */
  table?(name: string): Table;
}

/**
 * Reverb's client: all that a program does with tables, wherever they are. What a server answers is a promise, what this process answers mostly is not: `await` does for both.
 * Every call: @throws ReplayError NOT_FOUND for a table that is not there
 */
export interface Client<S extends Spec = Spec, N extends string = string> extends StepClient<S>, SampleClient {
  /** A writer that makes the items of patterns by itself. @throws TypeError, RangeError for no config · ReplayError SPEC_MISMATCH */
  structuredWriter(configs: readonly Config[]): AnyStructuredWriter<S>;
  /** A writer of items whose columns name any steps at hand. @throws RangeError, TypeError */
  trajectoryWriter(options: TrajectoryWriterOptions): Public<TrajectoryWriter<S>>;
  /** A writer of items of the last steps: Reverb's `client.writer`. @throws RangeError, TypeError */
  legacyWriter(options: LegacyWriterOptions): AnyLegacyWriter<S>;
  /**
   * Inserts one step, an episode of its own, as an item of each table.
   * @returns nothing, or a promise: where it waits for a rate limiter, until it is in
   * @throws RangeError for no table, a priority that is none · ReplayError SPEC_MISMATCH, INVALID_DATA, TIMEOUT
   */
  insert(step: PartOf<StepOf<S>>, priorities: { readonly [K in N]?: number }, options?: WaitOptions): Promise<void> | undefined;
  /**
   * Items as the table gives them, each when the rate limiter lets it pass; none is drawn before it is asked for.
   * @param numSamples how many; 1 where it is left out, none at all with -1
   * @throws RangeError, TypeError · in the iteration ReplayError SPEC_MISMATCH for an item that is no sequence of steps, with `emitTimesteps`; it counts as sampled
   */
  sample<const O extends SampleCallOptions>(table: string, numSamples?: number, options?: O): AsyncIterable<SampleOf<O>>;
  /** Saves all tables. @returns what it was saved as */
  checkpoint(): Awaitable<Checkpoint>;
}

/** A client whose tables are in this process: they answer at once. */
export interface TableClient<S extends Spec = Spec, N extends string = string> extends Client<S, N> {
  serverInfo(options?: ServerInfoOptions): { readonly [table: string]: TableInfo };
  /** @throws ReplayError NOT_FOUND */
  table(name: string): Table<S>;
}

/** Wherever a client is asked for, a Replay stands for its own tables, and a writer across a port for those at the other end. */
export type ClientLike<S extends Spec = Spec, N extends string = string> = StepClient<S> | Replay<S, N> | RemoteWriter<S>;
