/** How calls end: gRPC's status, as errors that say where, what, and what to do. */
import { ReplayError, type ReplayErrorCode } from "../../base/error.ts";

export const OK = 0;
const CANCELLED = 1;
const UNKNOWN = 2;
export const DEADLINE_EXCEEDED = 4;
export const RESOURCE_EXHAUSTED = 8;
export const INTERNAL = 13;
export const UNAVAILABLE = 14;
export const UNAUTHENTICATED = 16;

/** By the number: gRPC's name, our code, what to do. */
const STATUSES: { readonly [status: number]: readonly [name: string, code: ReplayErrorCode, remedy?: string] } = {
  1: ["CANCELLED", "IO", "the server, or something between, has stopped it: call again"],
  2: ["UNKNOWN", "IO", "the log of the server says more"],
  3: ["INVALID_ARGUMENT", "INVALID_DATA"],
  4: ["DEADLINE_EXCEEDED", "TIMEOUT"],
  5: ["NOT_FOUND", "NOT_FOUND"],
  6: ["ALREADY_EXISTS", "IO"],
  7: ["PERMISSION_DENIED", "IO", "give credentials that fit, such as { ca } with the authority of its certificate"],
  8: ["RESOURCE_EXHAUSTED", "OUT_OF_MEMORY", "give the client a greater maxMessageBytes where that was the limit, else the server more memory"],
  9: ["FAILED_PRECONDITION", "OUT_OF_TURN"],
  10: ["ABORTED", "IO"],
  11: ["OUT_OF_RANGE", "INVALID_DATA"],
  12: ["UNIMPLEMENTED", "UNSUPPORTED", "is it a Reverb server, of version 0.14 or about?"],
  13: ["INTERNAL", "IO", "the log of the server says more"],
  14: ["UNAVAILABLE", "IO", "is the server running, and is this its address?"],
  15: ["DATA_LOSS", "CORRUPT", "restart it from a checkpoint"],
  16: ["UNAUTHENTICATED", "IO", "give credentials that fit, such as { ca } with the authority of its certificate"],
};

/** A call that ended with another status than OK. */
export class RpcError extends ReplayError {
  /** Of the server. */
  readonly address: string;
  readonly status: number;
  /** What the server said. */
  readonly details: string;
  /** Whether there was no connection, so that the server has not seen the call. */
  readonly isUnsent: boolean;

  constructor(address: string, method: string, status: number, details: string, cause?: unknown, isUnsent = false) {
    const [name, code, remedy] = STATUSES[status] ?? [`status ${status}`, "IO"];
    super(code, `the Reverb server at ${address} ended ${method} with ${name}: ${details || "it says no more"}${remedy === undefined ? "" : `; ${remedy}`}`);
    this.address = address;
    this.status = status;
    this.details = details;
    this.isUnsent = isUnsent;
    if (cause !== undefined) this.cause = cause;
  }

  /** Whether the same call may succeed on another connection. */
  get isLost(): boolean {
    return this.status === UNAVAILABLE || this.status === CANCELLED;
  }
}

/** gRPC's status of an answer without one, by its HTTP status. */
export function statusOfHttp(status: number): number {
  if (status === 400) return INTERNAL;
  if (status === 401) return UNAUTHENTICATED;
  if (status === 403) return 7;
  if (status === 404) return 12;
  return [429, 502, 503, 504].includes(status) ? UNAVAILABLE : UNKNOWN;
}

/** `grpc-message` is percent-encoded. */
export function messageOf(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
