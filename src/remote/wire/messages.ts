/** Defines the messages between an actor and the Replay: objects over a port, frames over a socket (frame.ts). */
import type { EndRules } from "../../tables/episode-ends.ts";
import type { SharedLeaves } from "./shared-frames.ts";

/** The version of the protocol, which must be the same at both ends. */
export const VERSION = 1;

/** The maximum number of lanes of a writer. */
export const MAX_LANES = 65_536;

/** An error in a message. */
export interface SentError {
  readonly kind: "TypeError" | "RangeError" | "ReplayError";
  readonly code?: string;
  readonly message: string;
}

/** A leaf in a message. */
export interface LeafDescription {
  readonly path: string;
  /** The dtype and shape; for text also its maximum length. */
  readonly text: string;
}

/** Reports that the Replay's end is ready. An actor whose earlier request may have been lost repeats the request. */
export interface InviteMessage {
  readonly kind: "invite";
  readonly versions: readonly number[];
}

/** An actor's request for a connection. */
export interface HelloMessage {
  readonly kind: "hello";
  readonly version: number;
  /** The secret of the writer, the same in each request. */
  readonly session: string;
  /** Whether the actor was welcomed before. */
  readonly resume: boolean;
  /** Whether the actor reconnects if the channel breaks. */
  readonly reconnects: boolean;
  readonly leaves: readonly LeafDescription[];
  readonly lanes: number;
  /** The number of the last message that the actor's program has handled or is handling. */
  readonly receipt: number;
}

/** Accepts an actor, and passes the properties of the writer to its end. */
export interface WelcomeMessage {
  readonly kind: "welcome";
  readonly keep: number;
  readonly across: boolean;
  readonly ends: EndRules;
  /** The number of the leaf whose values must be finite. */
  readonly reward?: number | undefined;
  readonly tables: readonly string[];
  /** The table of each rule. */
  readonly rules: readonly string[];
  readonly maxInFlight: number;
  readonly confirm: "memory" | "disk";
  /** The numbers of the last block that the Replay has received, and of the last confirmed block. */
  readonly received: number;
  readonly confirmed: number;
  /** The maximum number of bytes of a frame, and of unconfirmed frames. Undefined for a port. */
  readonly frameBytes?: number | undefined;
  readonly inFlightBytes?: number | undefined;
  readonly shared?: readonly SharedLeaves[] | undefined;
  readonly keepAliveMs?: number | undefined;
  readonly keepAliveTimeoutMs?: number | undefined;
}

/** Contains steps and calls. */
export interface BlockMessage {
  readonly kind: "block";
  /** The number in the session's sequence of blocks and columns, from 1 on. */
  readonly number: number;
  readonly buffer: ArrayBuffer;
  /** The offset of the block in the buffer. */
  readonly base: number;
  /** The capacity in slots, and the number of used slots. */
  readonly slots: number;
  readonly used: number;
  /** The encoded calls, with CALL numbers per call. */
  readonly calls: readonly number[];
  /** The `columns` options of items in this block. */
  readonly columns: readonly object[];
}

/** Contains columns from `appendColumns`. */
export interface ColumnsMessage {
  readonly kind: "columns";
  readonly number: number;
  readonly buffer: ArrayBuffer;
  readonly rows: number;
  /** The offset of each leaf's column. */
  readonly columns: readonly number[];
  /** The offset of the bytes that end episodes, one per row; 0 if there are no such bytes. */
  readonly ends: number;
  /** The number of final steps, and the offset of each leaf's column of final steps. */
  readonly finals: number;
  readonly finalColumns: readonly number[];
  /** The offset of each rule's priorities; 0 for a rule without priorities. */
  readonly priorities: readonly number[];
}

export interface FlushMessage {
  readonly kind: "flush";
  readonly id: number;
}

export interface ByeMessage {
  readonly kind: "bye";
}

/** Reports that the actor's program has handled the messages up to this number. */
export interface ReceiptMessage {
  readonly kind: "receipt";
  readonly number: number;
}

export type ToMemory = BlockMessage | ColumnsMessage | FlushMessage | ByeMessage | ReceiptMessage | HelloMessage;

/** Reports that all blocks up to this number are confirmed. Over a port, also returns the buffer of the block. */
export interface ConfirmationMessage {
  readonly kind: "confirmation";
  readonly number: number;
  readonly buffer?: ArrayBuffer | undefined;
}

export interface FlushedMessage {
  readonly kind: "flushed";
  readonly id: number;
}

/** Reports that the writer is closed: after a goodbye, or because of an error. */
export interface ClosedMessage {
  readonly kind: "closed";
  readonly error?: SentError | undefined;
}

/** Rejects an actor. */
export interface RefusedMessage {
  readonly kind: "refused";
  readonly error: SentError;
}

/** A message from the Replay's program. */
export interface UserMessage {
  readonly kind: "message";
  readonly number: number;
  readonly type: "bytes" | "json";
  readonly body: Uint8Array<ArrayBuffer>;
}

export type ToActor = InviteMessage | WelcomeMessage | ConfirmationMessage | FlushedMessage | ClosedMessage | RefusedMessage | UserMessage;
