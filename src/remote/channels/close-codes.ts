/** Why a socket is closed (docs/reference/actors-protocol.md). */
import { codeOf } from "../../base/error.ts";

export const CLOSE = {
  /** After a goodbye, or by the program of an end. */
  normal: 1000,
  /** The memory failed. */
  failed: 4000,
  /** The two ends do not fit each other. */
  refused: 4001,
  /** A frame breaks the protocol, or a value the spec. */
  broken: 4002,
  tooLarge: 4003,
  tooMuch: 4004,
  /** Another connection has this session now. */
  replaced: 4005,
  silent: 4006,
  /** The memory cannot let anybody in now, and may later. */
  unready: 4007,
} as const;

/** Whether a writer that is closed so does not come again. */
export function isFinal(code: number | undefined): boolean {
  return code === CLOSE.normal || (code !== undefined && code >= CLOSE.failed && code <= CLOSE.replaced);
}

/** Codes of errors that are no fault of the writer's end. */
const OWN_FAULTS: readonly unknown[] = ["OUT_OF_MEMORY", "IO", "CLOSED", "LOCKED", "KEYS_EXHAUSTED", "RATE_LIMITED", "TIMEOUT", "OUT_OF_TURN"];

/** The code that an error of a writer closes its socket with. */
export function closeCodeOf(error: unknown): number {
  const { closeCode } = (error ?? {}) as { readonly closeCode?: number };
  return closeCode ?? (OWN_FAULTS.includes(codeOf(error)) ? CLOSE.failed : CLOSE.broken);
}

/** An error that closes its socket with a code of its own. */
export function withCloseCode<E extends Error>(error: E, closeCode: number): E {
  Object.defineProperty(error, "closeCode", { value: closeCode });
  return error;
}

const MAX_REASON_BYTES = 123;

/** A reason as sockets take it. */
export function reasonText(text: string): string {
  const encoder = new TextEncoder();
  if (encoder.encode(text).length <= MAX_REASON_BYTES) return text;
  const room = new Uint8Array(MAX_REASON_BYTES - 3);
  return `${text.slice(0, encoder.encodeInto(text, room).read)}…`;
}
