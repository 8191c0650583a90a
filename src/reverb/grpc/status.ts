/** Maps the gRPC status of a call to an error with the address, the reason and a remedy. */
import { ReplayError, type ReplayErrorCode } from "../../base/error.ts";

export const OK = 0;
const CANCELLED = 1;
const UNKNOWN = 2;
export const DEADLINE_EXCEEDED = 4;
export const RESOURCE_EXHAUSTED = 8;
export const INTERNAL = 13;
export const UNAVAILABLE = 14;
export const UNAUTHENTICATED = 16;

/** The gRPC name, the error code, and the remedy of each status number. */
const STATUSES: { readonly [status: number]: readonly [name: string, code: ReplayErrorCode, remedy?: string] } = {
  1: ["CANCELLED", "IO", "The server or a proxy cancelled it. Call again"],
  2: ["UNKNOWN", "IO", "Read the log of the server"],
  3: ["INVALID_ARGUMENT", "INVALID_DATA"],
  4: ["DEADLINE_EXCEEDED", "TIMEOUT"],
  5: ["NOT_FOUND", "NOT_FOUND"],
  6: ["ALREADY_EXISTS", "IO"],
  7: ["PERMISSION_DENIED", "IO", "Pass matching credentials, such as { ca } with the authority of its certificate"],
  8: ["RESOURCE_EXHAUSTED", "OUT_OF_MEMORY", "Increase the client's maxMessageBytes if that is the limit, otherwise the server's memory"],
  9: ["FAILED_PRECONDITION", "OUT_OF_TURN"],
  10: ["ABORTED", "IO"],
  11: ["OUT_OF_RANGE", "INVALID_DATA"],
  12: ["UNIMPLEMENTED", "UNSUPPORTED", "Check that it is a Reverb server of about version 0.14"],
  13: ["INTERNAL", "IO", "Read the log of the server"],
  14: ["UNAVAILABLE", "IO", "Check that the server runs, and that this is its address"],
  15: ["DATA_LOSS", "CORRUPT", "Restart it from a checkpoint"],
  16: ["UNAUTHENTICATED", "IO", "Pass matching credentials, such as { ca } with the authority of its certificate"],
};

/** A call that ended with a status other than OK. */
export class RpcError extends ReplayError {
  /** The address of the server. */
  readonly address: string;
  readonly status: number;
  /** The server's message. */
  readonly details: string;
  /** Whether there was no connection, so that the server has not received the call. */
  readonly isUnsent: boolean;

  constructor(address: string, method: string, status: number, details: string, cause?: unknown, isUnsent = false) {
    const [name, code, remedy] = STATUSES[status] ?? [`status ${status}`, "IO"];
    super(code, `the Reverb server at ${address} ended ${method} with ${name}: ${details || "no details"}${remedy === undefined ? "" : `. ${remedy}`}`);
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

/** Returns the gRPC status that corresponds to an HTTP status, for an answer without a gRPC status. */
export function statusOfHttp(status: number): number {
  if (status === 400) return INTERNAL;
  if (status === 401) return UNAUTHENTICATED;
  if (status === 403) return 7;
  if (status === 404) return 12;
  return [429, 502, 503, 504].includes(status) ? UNAVAILABLE : UNKNOWN;
}

/** Decodes `grpc-message`, which is percent-encoded. */
export function messageOf(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
