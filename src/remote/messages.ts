/** What goes over the channel between an actor and the memory. */
import type { Block } from "../memory/block.ts";
import type { SentError } from "./port.ts";

/** Steps and calls; the memory's side gives the buffer back when it has appended them. */
export interface BlockMessage {
  readonly kind: "block";
  readonly buffer: ArrayBuffer;
  readonly slots: number;
  readonly used: number;
  /** CALL numbers each. */
  readonly calls: readonly number[];
  /** Those that items of this block name. */
  readonly columns: readonly object[];
  /** Its steps, then its items by table. */
  readonly counts: readonly number[];
}

/** Columns that were given as such: the buffer has them as placeBlock places them, from byte 0 on. */
export interface ColumnsMessage extends Pick<Block, "rows" | "ends" | "finals"> {
  readonly kind: "columns";
  readonly buffer: ArrayBuffer;
  readonly counts: readonly number[];
}

export interface FlushMessage {
  readonly kind: "flush";
  readonly id: number;
}

export interface ByeMessage {
  readonly kind: "bye";
}

export type ToMemory = BlockMessage | ColumnsMessage | FlushMessage | ByeMessage;

/** All of a message is in the memory: its buffer comes back. */
export interface TakenMessage {
  readonly kind: "taken";
  readonly counts: readonly number[];
  readonly buffer: ArrayBuffer;
}

export interface FlushedMessage {
  readonly kind: "flushed";
  readonly id: number;
}

/** The writer is closed: after a goodbye, or because of an error. */
export interface ClosedMessage {
  readonly kind: "closed";
  readonly error?: SentError;
}

/** The memory found no place for the writer after it had welcomed the actor: another one has its name by now, or there is no memory. */
export interface RefusedMessage {
  readonly kind: "refused";
  readonly error: SentError;
}

export type ToActor = TakenMessage | FlushedMessage | ClosedMessage | RefusedMessage;
