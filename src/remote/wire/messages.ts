/** What goes between an actor and the memory: as objects over a port, as frames over a socket (frame.ts). */
import type { EndRules } from "../../tables/episode-ends.ts";
import type { SharedLeaves } from "./shared-frames.ts";

/** Of all messages. Both ends must have the same. */
export const VERSION = 1;

/** Of any writer. */
export const MAX_LANES = 65_536;

/** An error in a message. */
export interface SentError {
  readonly kind: "TypeError" | "RangeError" | "ReplayError";
  readonly code?: string;
  readonly message: string;
}

/** A leaf, in a message. */
export interface LeafDescription {
  readonly path: string;
  /** Dtype and shape, and of text how long it may be. */
  readonly text: string;
}

/** The memory's end listens: who asked before, and may not have been heard, asks again. */
export interface InviteMessage {
  readonly kind: "invite";
  readonly versions: readonly number[];
}

/** An actor asks to be let in. */
export interface HelloMessage {
  readonly kind: "hello";
  readonly version: number;
  /** A secret of the writer: the same each time that it asks. */
  readonly session: string;
  /** Whether it was welcomed before. */
  readonly resume: boolean;
  /** Whether it comes again where the channel breaks. */
  readonly reconnects: boolean;
  readonly leaves: readonly LeafDescription[];
  readonly lanes: number;
  /** The last message that the actor's program has handled. */
  readonly receipt: number;
}

/** What the actor's side must know of the writer. */
export interface WelcomeMessage {
  readonly kind: "welcome";
  readonly keep: number;
  readonly across: boolean;
  readonly ends: EndRules;
  /** The leaf whose values must be finite, by its number. */
  readonly reward?: number | undefined;
  readonly tables: readonly string[];
  /** The table of each rule. */
  readonly rules: readonly string[];
  readonly maxInFlight: number;
  readonly confirm: "memory" | "disk";
  /** The last block that the memory has, and the last one that is confirmed. */
  readonly received: number;
  readonly confirmed: number;
  /** Bytes of a frame at most, and of frames that are not confirmed. A port has no such limits. */
  readonly frameBytes?: number | undefined;
  readonly inFlightBytes?: number | undefined;
  readonly shared?: readonly SharedLeaves[] | undefined;
  readonly keepAliveMs?: number | undefined;
  readonly keepAliveTimeoutMs?: number | undefined;
}

/** Steps and calls. */
export interface BlockMessage {
  readonly kind: "block";
  /** Counts blocks and columns of a session, from 1 on. */
  readonly number: number;
  readonly buffer: ArrayBuffer;
  /** Where the block begins in it. */
  readonly base: number;
  /** Slots that the block has room for, and those that it has. */
  readonly slots: number;
  readonly used: number;
  /** CALL numbers each. */
  readonly calls: readonly number[];
  /** Those that items of this block name. */
  readonly columns: readonly object[];
}

/** Columns that were given as such. */
export interface ColumnsMessage {
  readonly kind: "columns";
  readonly number: number;
  readonly buffer: ArrayBuffer;
  readonly rows: number;
  /** Where each leaf's column begins. */
  readonly columns: readonly number[];
  /** Where the rows are told which of them end an episode, a byte each; 0 for nowhere. */
  readonly ends: number;
  /** Final steps, and where each leaf's column of them begins. */
  readonly finals: number;
  readonly finalColumns: readonly number[];
  /** Where each rule's priorities begin; 0 for none. */
  readonly priorities: readonly number[];
}

export interface FlushMessage {
  readonly kind: "flush";
  readonly id: number;
}

export interface ByeMessage {
  readonly kind: "bye";
}

/** The actor's program has handled the messages up to this one. */
export interface ReceiptMessage {
  readonly kind: "receipt";
  readonly number: number;
}

export type ToMemory = BlockMessage | ColumnsMessage | FlushMessage | ByeMessage | ReceiptMessage | HelloMessage;

/** All blocks up to this one are taken. Over a port, the buffer comes back. */
export interface ConfirmationMessage {
  readonly kind: "confirmation";
  readonly number: number;
  readonly buffer?: ArrayBuffer | undefined;
}

export interface FlushedMessage {
  readonly kind: "flushed";
  readonly id: number;
}

/** The writer is closed: after a goodbye, or because of an error. */
export interface ClosedMessage {
  readonly kind: "closed";
  readonly error?: SentError | undefined;
}

/** The memory does not let the actor in. */
export interface RefusedMessage {
  readonly kind: "refused";
  readonly error: SentError;
}

/** A message of the memory's program. */
export interface UserMessage {
  readonly kind: "message";
  readonly number: number;
  readonly type: "bytes" | "json";
  readonly body: Uint8Array<ArrayBuffer>;
}

export type ToActor = InviteMessage | WelcomeMessage | ConfirmationMessage | FlushedMessage | ClosedMessage | RefusedMessage | UserMessage;
