/** What the public classes of one Replay share: the core, the pools, column layouts, and who waits. Not exported from the package. */
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

/** A writer as warnings see it: which items it makes. */
interface WriterInfo {
  readonly lanes: number;
  readonly items: readonly { readonly table: string; readonly length: number }[];
  readonly core: { readonly barrenEpisodes: number; length(lane: number): number; episodeSteps(lane: number): number };
}

/** A staging record, and what fills it. */
export interface StepFiller {
  /** Where the record is. */
  readonly record: number;
  readonly staging: Staging;
  readonly fill: Visit;
}

/** Where the frames of a packed pool have their bytes. */
export interface Packs {
  readonly name: string;
  readonly handle: number;
  /** The pool of their entries. */
  readonly entries: number;
  /** The pool itself. */
  readonly frames: number;
  readonly frameBytes: number;
}

/** Steps of a writer's open episodes, or at hand. */
const openSteps = ({ lanes, core }: WriterInfo): number =>
  Array.from({ length: lanes }, (_, lane) => Math.max(core.episodeSteps(lane), core.length(lane))).reduce((a, b) => a + b, 0);

export class Engine {
  readonly core: Core;
  /** Memory of writers. */
  readonly smallBlocks: SmallBlocks;
  readonly spec: Spec;
  readonly layout: Layout;
  /** Which leaf plays which part in a transition. */
  readonly roles: Roles;
  readonly pool: number;
  /** The pools of shared frames, in the layout's order. */
  readonly framePools: readonly number[];
  /** Of frames that are packed: the pools of their entries, and their packs. */
  readonly entryPools: readonly number[];
  readonly packs: readonly Packs[];
  /** Make the staged steps of writers with one lane, and with several. */
  readonly makeStep: StepMaker;
  readonly makeLanes: StepMaker;
  readonly waiters = new Waiters();
  /** Values in JavaScript, which rows cannot hold. */
  readonly objectStore = new ObjectStore((row) => this.isLive(row));
  readonly columnLayouts: ColumnLayouts;
  /** Raised by every call that changes something: whoever reads over several calls sees that it must not go on. */
  changes = 0;
  /** Told after each of them, where there is a journal (reprise/storage). */
  journal?: () => void;
  /** Makes the error of the next call that would change something, if the journal failed after the last one. */
  journalError: (() => Error) | undefined;
  /** Told before it is disposed of: what has another end, at a port. */
  readonly closers = new Set<{ close(): void }>();
  closed = false;
  /** Whether every public call is refused: it is closed, or a call is just reading what it was given, which may run functions of the caller. */
  locked = false;
  readonly warnings: Warnings;
  /** Whether a writer that is closed by now had appended steps. */
  #hadSteps = false;
  /** Whether a writer said of an episode that it terminated. */
  hasTerminated = false;
  /** Those that are open. */
  readonly writers = new Set<WriterInfo>();
  /** By table, the number of rules of open writers without a priority, which give items priority 1. */
  readonly defaultPriorityRules = new Map<string, number>();
  /** The record of all writers of one step at a time, as long as they are given whole steps: each leaf of it is written each time. */
  #sharedFiller: StepFiller | undefined;
  #sharers = 0;
  /** In a record of one step: where the array of each leaf is; where these end. */
  readonly #arrayOffsets: readonly number[];
  readonly recordBytes: number;
  /** Whether it was never shared: the step in it is that of its only writer. */
  isUnshared = true;
  /** Whether a value that was staged held NaN. */
  sawNaN = false;
  #flatten: ((value: unknown) => unknown[]) | undefined;
  /** Staging records of closed writers, by size: their users may still hold arrays that look at them, until memory moves. */
  readonly #spare = new Map<number, number[]>();

  /** @param core a new one @throws TypeError, ReplayError for a `transition` that does not fit */
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

  /** Every public call begins here. */
  open(): void {
    if (this.locked) throw this.closed ? disposed() : reentrancyError();
  }

  /** As does this in its place, where the call may change something. */
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

  /** Blocks that were placed: each is looked at for NaN at other places (memory/block.ts). */
  blocks = 0;
  /** Told of a leaf whose value was seen to hold NaN. */
  readonly reportNaN = (leaf: string): void => this.warnings.noteNaN(leaf);

  /** Says each kind once, and counts it. */
  warn(kind: WarningKind, message: string): void {
    this.warnings.warn(kind, message);
  }

  /** Notes rules without a priority: 1 when their writer opens, -1 when it is closed. */
  countDefaultPriorities(tables: readonly string[], by: number): void {
    for (const table of tables) this.defaultPriorityRules.set(table, (this.defaultPriorityRules.get(table) ?? 0) + by);
  }

  /** Lets a writer go that is about to close. */
  forget(writer: WriterInfo): void {
    if (this.writers.delete(writer)) this.#hadSteps ||= openSteps(writer) > 0 || writer.core.barrenEpisodes > 0;
  }

  /** Whether at least `count` steps were appended, judging by open episodes and those without an item. */
  hadSteps(count: number): boolean {
    const open = [...this.writers];
    return this.#hadSteps || open.some(({ core }) => core.barrenEpisodes > 0) || open.reduce((sum, writer) => sum + openSteps(writer), 0) >= count;
  }

  /** Whether a rule makes items of at least so many steps for a table. */
  makesItems(table: string, length: number): boolean {
    return [...this.writers].some(({ items }) => items.some((rule) => rule.table === table && rule.length >= length));
  }

  /** Steps that something holds. */
  get steps(): number {
    return this.core.x.pool_live(this.pool);
  }

  /** Whether something holds a row. */
  isLive(row: number): boolean {
    return this.core.x.row_live(row) !== 0;
  }

  /** The number of a row's episode. */
  episodeOf(row: number): number {
    return this.core.x.row_episode(row);
  }

  /** Whether its episode ends with a row. */
  isLast(row: number): boolean {
    return this.core.x.row_ends(row) !== 0;
  }

  /** How its episode ends with a row: 0 it goes on; FINAL_TRUNCATED, FINAL_TERMINATED; else with it, and nothing was seen after it. */
  endOf(row: number): number {
    return this.core.x.row_ends(row);
  }

  /** Steps of the items that the rules of open writers make for a table. */
  ruleLengths(table: string): number[] {
    return [...this.writers].flatMap(({ items }) => items.filter((rule) => rule.table === table).map(({ length }) => length));
  }

  /** Bytes that are taken. */
  get bytes(): number {
    return this.core.x.arena_used();
  }

  /** Makes sure that so many rows can be taken. @throws ReplayError OUT_OF_MEMORY */
  reserve(rows: number): void {
    this.core.checkedResult(this.core.x.pool_reserve(this.pool, rows));
  }

  /** Makes room for a block of so many steps as columns, each of which begins with a multiple of 16. @throws ReplayError OUT_OF_MEMORY */
  reserveBlock(steps: number): void {
    this.core.scratch(this.layout.leaves.reduce((bytes, leaf) => bytes + leaf.arrayBytes * steps + 32, steps + 32));
  }

  /** One more writer of one step at a time that shares a record with the others. @throws ReplayError OUT_OF_MEMORY */
  shareFiller(): StepFiller {
    this.isUnshared = this.#sharedFiller === undefined;
    this.#sharedFiller ??= this.fillerOf(this.core.alloc(this.recordBytes));
    this.#sharers++;
    return this.#sharedFiller;
  }

  /** A writer shares it no more. */
  unshareFiller(): void {
    this.#sharers--;
    const filler = this.#sharedFiller;
    if (this.#sharers > 0 || filler === undefined) return;
    this.#sharedFiller = undefined;
    filler.staging.close();
    this.core.x.arena_free(filler.record, this.recordBytes);
  }

  /** Copies the step of a record to another one. */
  copyStep(from: number, to: number): void {
    this.core.u8.copyWithin(to, from, from + this.recordBytes);
  }

  /** What fills a record of one step. */
  fillerOf(record: number): StepFiller {
    const { leaves } = this.layout;
    const addresses = leaves.map((leaf) => record + leaf.staged);
    const arrays = this.#arrayOffsets.map((offset) => record + offset);
    const staging = new Staging(this.core, this.makeStep, record, leaves, addresses, arrays, [], false, this.onNaN);
    return { record, staging, fill: visitor(this.spec, (i) => staging.setters[i] as Visit) };
  }

  /** Called where a value that is staged holds NaN. */
  readonly onNaN = (): void => {
    this.sawNaN = true;
  };

  /** The values of the leaves of a step or of columns. @throws ReplayError SPEC_MISMATCH */
  get flatten(): (value: unknown) => unknown[] {
    this.#flatten ??= flattener(this.spec);
    return this.#flatten;
  }

  /** A zeroed staging record. */
  stage(bytes: number): number {
    const at = this.#spare.get(bytes)?.pop();
    if (at === undefined) return this.core.alloc(bytes);
    this.core.u8.fill(0, at, at + bytes);
    return at;
  }

  /** Gives a staging record back. @param isBorrowed whether its user may hold arrays that look at it: then it is kept for the next writer, and never becomes anything else */
  unstage(at: number, bytes: number, isBorrowed: boolean): void {
    if (at === 0) return;
    if (isBorrowed) this.#spare.set(bytes, [...(this.#spare.get(bytes) ?? []), at]);
    else this.core.x.arena_free(at, bytes);
  }

  /** Memory has moved: arrays that looked at it are void. */
  onMemoryMoved(): void {
    for (const [bytes, records] of this.#spare) for (const at of records) this.core.x.arena_free(at, bytes);
    this.#spare.clear();
  }

  /** After calls that may have taken memory, or let items in. */
  changed(): void {
    this.changes++;
    // Asked here: nearly always memory has not grown, and nobody waits.
    if (this.core.u8.length === 0) this.core.refresh();
    if (this.waiters.hasWaiters) this.waiters.wake();
    this.journal?.();
  }

  /** Where packed frames have their bytes. @throws ReplayError OUT_OF_MEMORY */
  #packs({ name, frameBytes }: FramePool, { row, element }: PackedFrames): Omit<Packs, "frames"> {
    const { x } = this.core;
    const handle = this.core.alloc(x.packs_bytes());
    const entries = this.#pool(0, 1, (pool) => x.pool_leaf(pool, 0, ENTRY, 0, frameBytes, 0, 0, 1, handle));
    this.core.checkedResult(x.packs_init(handle, frameBytes, row, element, entries));
    return { name, handle, entries, frameBytes };
  }

  /** A pool whose leaves `addLeaves` sets up. */
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
  return new ReplayError("CLOSED", "this Replay was disposed of: make a new one");
}
