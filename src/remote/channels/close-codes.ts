/** Defines the close codes of sockets, one per reason (docs/reference/actors-protocol.md). */
import { codeOf } from "../../base/error.ts";

export const CLOSE = {
  /** The actor said goodbye, or the program at either end closed the socket. */
  normal: 1000,
  /** The Replay failed. */
  failed: 4000,
  /** The two ends do not match. */
  refused: 4001,
  /** A frame breaks the protocol, or a value does not fit the spec. */
  broken: 4002,
  tooLarge: 4003,
  tooMuch: 4004,
  /** Another connection has taken over this session. */
  replaced: 4005,
  silent: 4006,
  /** The Replay cannot accept actors now, but may later. */
  unready: 4007,
} as const;

/** Returns whether a writer that is closed with this code does not reconnect. */
export function isFinal(code: number | undefined): boolean {
  return code === CLOSE.normal || (code !== undefined && code >= CLOSE.failed && code <= CLOSE.replaced);
}

/** The codes of errors that the Replay's end caused, not the writer's end. */
const OWN_FAULTS: readonly unknown[] = ["OUT_OF_MEMORY", "IO", "CLOSED", "LOCKED", "KEYS_EXHAUSTED", "RATE_LIMITED", "TIMEOUT", "OUT_OF_TURN"];

/** Returns the code with which an error closes its socket. */
export function closeCodeOf(error: unknown): number {
  const { closeCode } = (error ?? {}) as { readonly closeCode?: number };
  return closeCode ?? (OWN_FAULTS.includes(codeOf(error)) ? CLOSE.failed : CLOSE.broken);
}

/** Attaches a close code to an error. */
export function withCloseCode<E extends Error>(error: E, closeCode: number): E {
  Object.defineProperty(error, "closeCode", { value: closeCode });
  return error;
}

const MAX_REASON_BYTES = 123;

/** Shortens a reason to the length that sockets accept. */
export function reasonText(text: string): string {
  const encoder = new TextEncoder();
  if (encoder.encode(text).length <= MAX_REASON_BYTES) return text;
  const room = new Uint8Array(MAX_REASON_BYTES - 3);
  return `${text.slice(0, encoder.encodeInto(text, room).read)}…`;
}
