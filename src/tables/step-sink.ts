/**
 * Defines the target of a writer's steps: a Replay of this process, a Replay at the other end of a port, or a server. The writers of TF-Agents and Reverb use
 * only this interface.
 */
import type { WaitOptions } from "../base/wait.ts";
import type { Column } from "../schema/column.ts";
import type { ColumnOf } from "../schema/columns.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import type { Spec, StepOf } from "../schema/spec.ts";
import { ItemPromise } from "./item-promise.ts";
import type { ItemOptions } from "./rules.ts";

/** The location of a sink: this process, or a server. Calls to a server return promises. */
export type SinkKind = "process" | "server";

/** The result of a call that a server may delay. If too many items are in flight, it is a promise that resolves when there is room. */
// biome-ignore lint/suspicious/noConfusingVoidType: used only as a return type
export type Room<K> = K extends "server" ? Promise<void> | undefined : void;

/** The result of `flush`, which is always a promise for a server. */
export type Flushed<K> = K extends "server" ? Promise<void> : Promise<void> | undefined;

export interface FlushOptions extends WaitOptions {
  /** The number of items that may still wait when the call resolves. Default: 0. */
  readonly blockUntilNumItems?: number;
}

/**
 * The methods that observers call. The methods append whole steps of one environment, and make items from the last steps. Writers of a Replay, a port and a
 * server have these methods.
 */
export interface StepWriter<S extends Spec = Spec> {
  /** Appends a step. Returns a promise if steps are sent elsewhere and too many are in flight. */
  append(step: StepOf<S>): unknown;
  createItem(table: string, options: Pick<ItemOptions, "length" | "priority">): Promise<void> | undefined;
  endEpisode(): unknown;
  flush(options?: WaitOptions): Promise<void> | undefined;
  close(): void;
}

/** A column of an item: the numbers of the steps, and their leaf. */
export interface ItemColumn {
  /** The column's name in the item, with dots if it is nested. */
  readonly name: string;
  readonly leaf: PlacedLeaf;
  readonly steps: readonly number[];
  /** Whether the column is a single step, without a dimension of time. */
  readonly isSqueezed: boolean;
}

/** A pattern from which a writer makes items repeatedly: the same columns of the latest steps. */
export interface ItemPattern {
  readonly config: { readonly table: string; readonly priority: { readonly value: number; readonly leaf?: unknown } };
  readonly nodes: readonly {
    /** The number of the column's leaf. */
    readonly leaf: number;
    /** The ages of the column's steps, oldest first. Age 1 is the newest step. */
    readonly ages: readonly number[];
    readonly node: { readonly isSqueezed: boolean; readonly leaf: Pick<PlacedLeaf, "leaf" | "shape"> };
  }[];
  readonly length: number;
  /** The number of steps between the item's newest step and the newest step of the sink. */
  readonly endOffset: number;
  /** The same columns in the form of a Replay's option `columns`. */
  readonly columns: { readonly [name: string]: ColumnOf };
}

/** Accepts steps leaf by leaf, possibly in parts, and makes items with any columns. Steps are numbered from 0, in append order. */
export interface StepSink {
  readonly leaves: readonly PlacedLeaf[];
  /** The number of steps so far, including an open step. */
  readonly total: number;
  /** The number of complete steps of the open episode. */
  readonly episodeSteps: number;
  /** The values of the step that the last append left open, one per leaf; undefined if no step is open. */
  readonly open: readonly unknown[] | undefined;
  /** Whether a trajectory writer must reject other calls while the end of an episode waits for items. */
  readonly isExclusiveAtEnd: boolean;
  /** Checks that the sink accepts calls. @throws ReplayError CLOSED, OUT_OF_TURN, or the error that ended a stream */
  check(): void;
  /** Checks the name of a table. @throws TypeError if it is not a string · ReplayError NOT_FOUND if the table certainly does not exist */
  mustKnow(table: unknown): void;
  /** Appends a step, or adds values to the open step. @param values one value per leaf, undefined for a missing value @param step the same values, nested */
  append(values: readonly unknown[], step: unknown, isPartial: boolean): Promise<void> | undefined;
  /** Appends many steps. @param columns one column per leaf, with a dimension of time; undefined for a missing column */
  appendColumns(columns: readonly unknown[]): Promise<void> | undefined;
  /** Keeps one leaf for `steps` steps, and any leaf for at most `longest` steps. @returns the number of the leaf's oldest step that is still available */
  keep(leaf: number, steps: number, longest: number, maxChunkLength: number | undefined): number;
  /** Copies steps of a leaf. */
  read(leaf: PlacedLeaf, steps: readonly number[]): Column["data"];
  /** Makes an item. @param columns the columns in the order of their names @returns a promise if the item, or the caller, has to wait */
  createItem(table: string, priority: number, columns: readonly ItemColumn[]): Promise<void> | undefined;
  /** Makes an item from the last `length` steps of these leaves. @returns the same as `createItem` */
  createLast(table: string, length: number, priority: number, leaves: readonly PlacedLeaf[]): Promise<void> | undefined;
  /** Sets the patterns of `insert`. Called once. @throws RangeError · ReplayError NOT_FOUND, SPEC_MISMATCH if a table does not accept a pattern */
  prepare(patterns: readonly ItemPattern[]): void;
  /**
   * Checks whether items of some patterns are allowed, before a step is appended. @param count the number of valid entries in `patterns` @throws ReplayError
   * RATE_LIMITED, SPEC_MISMATCH
   */
  admit(patterns: Int32Array, count: number): void;
  /** Makes the item of a pattern. @returns a promise that resolves when there is room, if the caller has to wait */
  insert(pattern: number, priority: number): Promise<void> | undefined;
  /** Returns the result of `endEpisode` without a time limit: a promise if the caller has to wait for items of this sink. */
  waiting(): Promise<void> | undefined;
  /** Ends the episode. @param clears whether later items must not include steps before the end */
  endEpisode(clears: boolean): void;
  flush(options: FlushOptions): Promise<void> | undefined;
  /** Keeps an error of a call for `flush`, unless the call's promise reports it. */
  keepError?(reason: unknown, answer: ItemPromise): void;
  /** Resolves when no item of an open sink depends on this process any more. Returns undefined if that is already true. */
  confirmed(): Promise<void> | undefined;
  close(): void;
}

/** Returns one promise that resolves when there is room for several items; undefined without promises. The caller need not await it. */
export function allOf(rooms: readonly Promise<void>[]): Promise<void> | undefined {
  if (rooms.length < 2) return rooms[0];
  return ItemPromise.of(rooms);
}
