/**
 * Holds the internal state that the public classes of one Replay share: the core, the pools, column layouts and waiting calls. Not exported from the package.
 */
import { ReplayError } from "../base/error.ts";
import { Waiters } from "../base/wait.ts";
import { type Logger, type WarningKind, Warnings } from "../base/warnings.ts";
import { alignUp, arrayOffsets, ENTRY, type FramePool, type Layout, NARROW, PACKED, type PackedFrames } from "../schema/layout.ts";
import { dtypeCode } from "../schema/leaf.ts";
import { flattener, type Visit, visitor } from "../schema/nest.ts";
import { ObjectStore } from "../schema/object-store.ts";
import type { Spec } from "../schema/spec.ts";
import { Roles, type TransitionRoles } from "../schema/transition-roles.ts";
import { ColumnLayouts } from "./column-layouts.ts";
import type { Core } from "./core.ts";
import { reentrancyError } from "./reentrancy.ts";
import { SmallBlocks } from "./small-blocks.ts";
import { Staging, type StepMaker, stepMaker } from "./staged.ts";

export interface EngineOptions {
  readonly transition?: TransitionRoles | undefined;
  readonly logger?: Logger | null | undefined;
}

/** The part of a writer that warnings need: its lanes, the items that its rules make, and the steps in its lanes and open episodes. */
interface WriterInfo {
  readonly lanes: number;
  readonly items: readonly { readonly table: string; readonly length: number }[];
  readonly core: { readonly barrenEpisodes: number; length(lane: number): number; episodeSteps(lane: number): number };
}

/** A staging record, and the object that fills it. */
export interface StepFiller {
  /** The address of the record. */
  readonly record: number;
  readonly staging: Staging;
  readonly fill: Visit;
}

/** The memory of a packed pool's frames. */
export interface Packs {
  readonly name: string;
  readonly handle: number;
  /** The handle of the pool that stores the entries of packed frames. */
  readonly entries: number;
  /** The handle of the pool that stores the packed frames. */
  readonly frames: number;
  readonly frameBytes: number;
}

/** Returns the number of a writer's steps that belong to open episodes or are still in its lanes. */
const openSteps = ({ lanes, core }: WriterInfo): number =>
  Array.from({ length: lanes }, (_, lane) => Math.max(core.episodeSteps(lane), core.length(lane))).reduce((a, b) => a + b, 0);

export class Engine {
  readonly core: Core;
  /** Allocates the memory of writers. */
  readonly smallBlocks: SmallBlocks;
  readonly spec: Spec;
  readonly layout: Layout;
  /** Maps leaves to their roles in a transition. */
  readonly roles: Roles;
  readonly pool: number;
  /** The pools of shared frames, in the layout's order. */
  readonly framePools: readonly number[];
  /** The pools of the entries of packed frames, and the packs of these entries. */
  readonly entryPools: readonly number[];
  readonly packs: readonly Packs[];
  /** The makers of staged steps, for writers with one lane and with several lanes. */
  readonly makeStep: StepMaker;
  readonly makeLanes: StepMaker;
  readonly waiters = new Waiters();
  /** The store of JavaScript values, which rows cannot contain. */
  readonly objectStore = new ObjectStore((row) => this.isLive(row));
  readonly columnLayouts: ColumnLayouts;
  /** Increases with every call that changes the Replay. A reader that spans several calls compares this number, and stops if it differs. */
  changes = 0;
  /** Runs after each change, if there is a journal (reprise/storage). */
  journal?: () => void;
  /** Creates the error for the next call that would change the Replay, if the journal failed after the last call. */
  journalError: (() => Error) | undefined;
  /** Objects that are connected to a port. They are closed before the Replay is disposed of. */
  readonly closers = new Set<{ close(): void }>();
  closed = false;
  /** Whether every public call is rejected: the Replay is closed, or a call is reading its arguments, which may run functions of the caller. */
  locked = false;
  readonly warnings: Warnings;
  /** Whether a writer that is now closed had appended steps. */
  #hadSteps = false;
  /** Whether a writer ended an episode as terminated. */
  hasTerminated = false;
  /** The open writers. */
  readonly writers = new Set<WriterInfo>();
  /** The number of `length` rules that set no priority, among all open writers, per table. Items of these rules get priority 1. */
  readonly defaultPriorityRules = new Map<string, number>();
  /** The shared record of all writers that append whole steps one at a time. Every append writes each leaf of the record. */
  #sharedFiller: StepFiller | undefined;
  #sharers = 0;
  /** The offset of each leaf's array in a record of one step, and the end of the last array. */
  readonly #arrayOffsets: readonly number[];
  readonly recordBytes: number;
  /** Whether the record was never shared, so that it contains the step of its only writer. */
  isUnshared = true;
  /** Whether a staged value contained NaN. */
  sawNaN = false;
  #flatten: ((value: unknown) => unknown[]) | undefined;
  /** Staging records of closed writers, by size. Former users of the records may keep arrays that view them until memory moves. */
  readonly #spare = new Map<number, number[]>();

  /** @param core a new core @throws TypeError, ReplayError if `transition` does not fit the spec */
  constructor(core: Core, spec: Spec, layout: Layout, { transition, logger }: EngineOptions) {
    this.warnings = new Warnings(logger);
    this.spec = spec;
    this.layout = layout;
    this.roles = new Roles(layout.leaves, transition);
    this.makeStep = stepMaker(spec, layout.leaves, true);
    this.makeLanes = stepMaker(spec, layout.leaves, false);
    this.core = core;
    const offsets = arrayOffsets(
      layout.leaves,
      layout.leaves.map((leaf) => leaf.staged),
      1,
      layout.stagedBytes,
    );
    this.recordBytes = offsets.pop() as number;
    this.#arrayOffsets = offsets;
    this.smallBlocks = new SmallBlocks(core);
    this.core.listeners.add(this);
    this.columnLayouts = new ColumnLayouts(this.core, layout.leaves);
    const { x } = this.core;
    const { leaves, pools, rowBytes } = layout;
    const packs = pools.flatMap((pool) => (pool.packed === undefined ? [] : [this.#packs(pool, pool.packed)]));
    this.entryPools = packs.map(({ entries }) => entries);
    this.framePools = pools.map(({ name, frameBytes }) => {
      const handle = packs.find((other) => other.name === name)?.handle;
      if (handle !== undefined) return this.#pool(0, 1, (pool) => x.pool_leaf(pool, 0, PACKED, 0, frameBytes, 0, 0, 1, handle));
      return this.#pool(alignUp(frameBytes, 8), 1, (pool) => x.pool_leaf(pool, 0, NARROW, 0, frameBytes, 0, 0, 1, 0));
    });
    this.packs = packs.map((one) => ({ ...one, frames: this.framePools[pools.findIndex(({ name }) => name === one.name)] as number }));
    this.pool = this.#pool(rowBytes, leaves.length, (pool) => {
      for (const { index, kind, leaf, bytes, frameBytes, offset, staged } of leaves) {
        const shared = this.framePools[pools.findIndex(({ name }) => name === leaf.shared)] ?? 0;
        x.pool_leaf(pool, index, kind, dtypeCode(leaf), frameBytes, offset, staged, bytes / frameBytes, shared);
      }
    });
  }

  /** Begins every public call. @throws ReplayError CLOSED if the Replay is closed, OUT_OF_TURN if another call is reading its arguments */
  open(): void {
    if (this.locked) throw this.closed ? disposed() : reentrancyError();
  }

  /** Begins a public call that may change the Replay. @throws ReplayError CLOSED, OUT_OF_TURN, and the journal's error */
  begin(): void {
    if (this.locked || this.journalError !== undefined) this.#refuse();
  }

  #refuse(): never {
    this.open();
    throw (this.journalError as () => Error)();
  }

  dispose(): void {
    this.closed = true;
    this.locked = true;
    this.waiters.rejectAll(disposed);
  }

  /** The number of placed blocks. Each block is checked for NaN at different positions (memory/block.ts). */
  blocks = 0;
  /** Receives the path of a leaf with a NaN value. */
  readonly reportNaN = (leaf: string): void => this.warnings.noteNaN(leaf);

  /** Logs the first warning of each kind, and counts all warnings. */
  warn(kind: WarningKind, message: string): void {
    this.warnings.warn(kind, message);
  }

  /** Counts the `length` rules without a priority, one element of `tables` per rule. `by` is +1 when their writer opens, and -1 when the writer closes. */
  countDefaultPriorities(tables: readonly string[], by: number): void {
    for (const table of tables) this.defaultPriorityRules.set(table, (this.defaultPriorityRules.get(table) ?? 0) + by);
  }

  /** Forgets a writer that is about to close. */
  forget(writer: WriterInfo): void {
    if (this.writers.delete(writer)) this.#hadSteps ||= openSteps(writer) > 0 || writer.core.barrenEpisodes > 0;
  }

  /**
   * Returns whether steps were certainly appended: by a writer that is now closed, in an episode that ended without an item, or (at least `count` steps) in
   * open episodes and lanes.
   */
  hadSteps(count: number): boolean {
    const open = [...this.writers];
    return this.#hadSteps || open.some(({ core }) => core.barrenEpisodes > 0) || open.reduce((sum, writer) => sum + openSteps(writer), 0) >= count;
  }

  /** Returns whether a rule makes items of at least `length` steps for a table. */
  makesItems(table: string, length: number): boolean {
    return [...this.writers].some(({ items }) => items.some((rule) => rule.table === table && rule.length >= length));
  }

  /** The number of stored steps. */
  get steps(): number {
    return this.core.x.pool_live(this.pool);
  }

  /** Returns whether a row is in use. */
  isLive(row: number): boolean {
    return this.core.x.row_live(row) !== 0;
  }

  /** Returns the number of a row's episode. */
  episodeOf(row: number): number {
    return this.core.x.row_episode(row);
  }

  /** Returns whether a row is the last of its episode. */
  isLast(row: number): boolean {
    return this.core.x.row_ends(row) !== 0;
  }

  /**
   * Returns how a row's episode ends at the row: 0 if it continues; FINAL_TRUNCATED or FINAL_TERMINATED for a final step; another number for a last step
   * without a final step.
   */
  endOf(row: number): number {
    return this.core.x.row_ends(row);
  }

  /** Returns the lengths of the items that rules of open writers make for a table. */
  ruleLengths(table: string): number[] {
    return [...this.writers].flatMap(({ items }) => items.filter((rule) => rule.table === table).map(({ length }) => length));
  }

  /** The number of bytes in use. */
  get bytes(): number {
    return this.core.x.arena_used();
  }

  /** Ensures that `rows` rows can be taken. @throws ReplayError OUT_OF_MEMORY */
  reserve(rows: number): void {
    this.core.checkedResult(this.core.x.pool_reserve(this.pool, rows));
  }

  /** Makes room for a block of `steps` steps as columns, each aligned to 16 bytes. @throws ReplayError OUT_OF_MEMORY */
  reserveBlock(steps: number): void {
    this.core.scratch(this.layout.leaves.reduce((bytes, leaf) => bytes + leaf.arrayBytes * steps + 32, steps + 32));
  }

  /** Returns the shared record, and counts one more writer that appends one step at a time. @throws ReplayError OUT_OF_MEMORY */
  shareFiller(): StepFiller {
    this.isUnshared = this.#sharedFiller === undefined;
    this.#sharedFiller ??= this.fillerOf(this.core.alloc(this.recordBytes));
    this.#sharers++;
    return this.#sharedFiller;
  }

  /** Releases a writer's share of the shared record. */
  unshareFiller(): void {
    this.#sharers--;
    const filler = this.#sharedFiller;
    if (this.#sharers > 0 || filler === undefined) return;
    this.#sharedFiller = undefined;
    filler.staging.close();
    this.core.x.arena_free(filler.record, this.recordBytes);
  }

  /** Copies the step of one record to another. */
  copyStep(from: number, to: number): void {
    this.core.u8.copyWithin(to, from, from + this.recordBytes);
  }

  /** Returns the filler of a record of one step. */
  fillerOf(record: number): StepFiller {
    const { leaves } = this.layout;
    const addresses = leaves.map((leaf) => record + leaf.staged);
    const arrays = this.#arrayOffsets.map((offset) => record + offset);
    const staging = new Staging(this.core, this.makeStep, record, leaves, addresses, arrays, [], false, this.onNaN);
    return { record, staging, fill: visitor(this.spec, (i) => staging.setters[i] as Visit) };
  }

  /** Runs if a staged value contains NaN. */
  readonly onNaN = (): void => {
    this.sawNaN = true;
  };

  /** A function that returns the values of the leaves of a step or of columns. It throws SPEC_MISMATCH if the structure differs from the spec. */
  get flatten(): (value: unknown) => unknown[] {
    this.#flatten ??= flattener(this.spec);
    return this.#flatten;
  }

  /** Allocates a zeroed staging record. */
  stage(bytes: number): number {
    const at = this.#spare.get(bytes)?.pop();
    if (at === undefined) return this.core.alloc(bytes);
    this.core.u8.fill(0, at, at + bytes);
    return at;
  }

  /** Releases a staging record. @param isBorrowed whether the user may have arrays that view the record; if so, the record is kept for the next writer */
  unstage(at: number, bytes: number, isBorrowed: boolean): void {
    if (at === 0) return;
    if (isBorrowed) this.#spare.set(bytes, [...(this.#spare.get(bytes) ?? []), at]);
    else this.core.x.arena_free(at, bytes);
  }

  /** Frees the spare records after memory moved, since arrays that viewed them are now detached. */
  onMemoryMoved(): void {
    for (const [bytes, records] of this.#spare) for (const at of records) this.core.x.arena_free(at, bytes);
    this.#spare.clear();
  }

  /** Completes a call that may have taken memory or inserted items. */
  changed(): void {
    this.changes++;
    // The conditions are checked here and not in the called methods, because memory rarely grows and waits are rare.
    if (this.core.u8.length === 0) this.core.refresh();
    if (this.waiters.hasWaiters) this.waiters.wake();
    this.journal?.();
  }

  /** Creates the memory of packed frames. @throws ReplayError OUT_OF_MEMORY */
  #packs({ name, frameBytes }: FramePool, { row, element }: PackedFrames): Omit<Packs, "frames"> {
    const { x } = this.core;
    const handle = this.core.alloc(x.packs_bytes());
    const entries = this.#pool(0, 1, (pool) => x.pool_leaf(pool, 0, ENTRY, 0, frameBytes, 0, 0, 1, handle));
    this.core.checkedResult(x.packs_init(handle, frameBytes, row, element, entries));
    return { name, handle, entries, frameBytes };
  }

  /** Creates a pool, whose leaves `addLeaves` sets up. */
  #pool(rowBytes: number, leaves: number, addLeaves: (pool: number) => void): number {
    const { x } = this.core;
    const pool = this.core.alloc(x.pool_bytes(leaves));
    x.pool_init(pool, rowBytes, leaves);
    addLeaves(pool);
    x.pool_open(pool);
    return pool;
  }
}

export function disposed(): ReplayError {
  return new ReplayError("CLOSED", "this Replay was disposed of. Create a new one");
}
