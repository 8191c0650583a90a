/** What a Replay, or a client of a server, lends to the writers that it accepts. */
import type { Publication } from "../base/publication.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import type { ColumnsOf, Spec } from "../schema/spec.ts";
import type { Roles } from "../schema/transition-roles.ts";
import type { SessionRecords } from "../storage/format/sessions.ts";
import type { BlockOptions, EndOptions } from "../tables/episode-ends.ts";
import type { ItemOptions, ResolvedWriterOptions, WriterOptions } from "../tables/rules.ts";

/** What is used of an engine. */
export interface HostEngine {
  readonly spec: Spec;
  readonly layout: { readonly leaves: readonly PlacedLeaf[] };
  readonly roles: Roles;
  /** Called when it is disposed of. */
  readonly closers: Set<{ close(): void }>;
  readonly closed: boolean;
  /** @throws ReplayError CLOSED, or what a journal could not write before */
  begin(): void;
}

/** What takes an actor's steps: a Replay's writer, or one that sends them on to a server. */
export interface HostWriter {
  readonly options: Pick<ResolvedWriterOptions, "lanes" | "items" | "name">;
  /** @returns how many rows @throws ReplayError RATE_LIMITED where they have to wait: nothing has happened then; the same of the others */
  appendColumns(columns: ColumnsOf<Spec>, options: BlockOptions): number;
  createItem(table: string, options: ItemOptions): unknown;
  endEpisode(options: EndOptions): unknown;
  discardEpisode(options: { readonly lane?: number }): unknown;
  flush(wait: WaitOptions): Promise<void> | undefined;
  close(): void;
  /** Resolves when what was made so far is where it goes, if that is another process. */
  confirmSoFar?(): Promise<void>;
}

export interface Host {
  readonly engine: HostEngine;
  /** Names of its tables. */
  readonly tables: readonly string[];
  /** What is published to all actors. */
  readonly publication: Publication;
  /** Where a Replay has one. */
  readonly journal: { readonly sessions: SessionRecords; flush(): Promise<void> } | undefined;
  resolve(options: WriterOptions): ResolvedWriterOptions;
  /** Resolves when a call that was refused by the rate limiters of these tables may have room. @throws ReplayError RATE_LIMITED where it never will */
  waitForRoom(tables: readonly string[], signal: AbortSignal): Promise<unknown>;
  /** @throws ReplayError OUT_OF_TURN for the name of a writer that is open in this run */
  mustBeFree(name: string | undefined): void;
  /** A new writer, in the place of one of an earlier run. */
  writer(options: WriterOptions): HostWriter;
  /** The writer of an earlier run that has the name, in the midst of its episode. @throws ReplayError SPEC_MISMATCH for other options */
  resumeWriter(options: WriterOptions): HostWriter;
  /** Whether there is a writer of an earlier run that nobody has gone on with. */
  hasOrphan(name: string): boolean;
  /** Closes the writer of an earlier run that nobody has gone on with. */
  closeOrphan(name: string): void;
}
