/** Defines the interface through which accepted writers use their host: a Replay, or a client of a server. */
import type { Publication } from "../base/publication.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import type { ColumnsOf, Spec } from "../schema/spec.ts";
import type { Roles } from "../schema/transition-roles.ts";
import type { SessionRecords } from "../storage/format/sessions.ts";
import type { BlockOptions, EndOptions } from "../tables/episode-ends.ts";
import type { ItemOptions, ResolvedWriterOptions, WriterOptions } from "../tables/rules.ts";

/** The part of an engine that accepted writers use. */
export interface HostEngine {
  readonly spec: Spec;
  readonly layout: { readonly leaves: readonly PlacedLeaf[] };
  readonly roles: Roles;
  /** The objects to close when the engine is disposed of. */
  readonly closers: Set<{ close(): void }>;
  readonly closed: boolean;
  /** Prepares a change. @throws ReplayError CLOSED after the engine was disposed of · an earlier write error of the journal */
  begin(): void;
}

/** The writer that appends an actor's steps: a Replay's writer, or a writer that forwards the steps to a server. */
export interface HostWriter {
  readonly options: Pick<ResolvedWriterOptions, "lanes" | "items" | "name">;
  /**
   * Appends rows, and returns their number. @throws ReplayError RATE_LIMITED if the rows have to wait for a rate limiter. In that case, nothing has changed.
   * The other methods that change tables throw this error under the same condition
   */
  appendColumns(columns: ColumnsOf<Spec>, options: BlockOptions): number;
  createItem(table: string, options: ItemOptions): unknown;
  endEpisode(options: EndOptions): unknown;
  discardEpisode(options: { readonly lane?: number }): unknown;
  flush(wait: WaitOptions): Promise<void> | undefined;
  close(): void;
  /** Resolves when everything appended so far has arrived, if the target is another process. */
  confirmSoFar?(): Promise<void>;
}

export interface Host {
  readonly engine: HostEngine;
  /** The names of the host's tables. */
  readonly tables: readonly string[];
  /** The messages published to all actors. */
  readonly publication: Publication;
  /** The journal of a Replay, if the Replay has a journal. */
  readonly journal: { readonly sessions: SessionRecords; flush(): Promise<void> } | undefined;
  resolve(options: WriterOptions): ResolvedWriterOptions;
  /** Resolves when a call that the rate limiters of these tables rejected may have room. @throws ReplayError RATE_LIMITED if there can never be room */
  waitForRoom(tables: readonly string[], signal: AbortSignal): Promise<unknown>;
  /** Checks that a name is free. @throws ReplayError OUT_OF_TURN if a writer of this run has the name */
  mustBeFree(name: string | undefined): void;
  /** Returns a new writer, which replaces a writer of an earlier run with the same name. */
  writer(options: WriterOptions): HostWriter;
  /** Returns the writer with that name from an earlier run, in the middle of its episode. @throws ReplayError SPEC_MISMATCH if the options differ */
  resumeWriter(options: WriterOptions): HostWriter;
  /** Returns whether there is a writer of an earlier run that was not continued. */
  hasOrphan(name: string): boolean;
  /** Closes the writer of an earlier run that was not continued. */
  closeOrphan(name: string): void;
}
