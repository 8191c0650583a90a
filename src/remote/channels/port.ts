/** Implements the use of ports in Node, Deno, Bun and browsers: sending, listening, and errors in messages. */
import { codeOf, mustBe, ReplayError, type ReplayErrorCode } from "../../base/error.ts";
import { malformed } from "../validators.ts";
import type { SentError } from "../wire/messages.ts";

/** Written as the type of a method, so that the listener types of each port are assignable. */
type Listener = { onMessage(event: unknown): void }["onMessage"];

/**
 * A MessagePort or a Worker. Inside a worker, `parentPort` or the global scope. With the types of web pages, that scope (`self`) is a Window, which takes the
 * transfer list as an option. A Worker supports both forms, but Reprise passes only the list.
 */
export interface PortLike {
  postMessage(message: unknown, transfer?: readonly object[] | { readonly transfer?: object[] }): void;
  addEventListener?(type: string, listener: Listener): void;
  removeEventListener?(type: string, listener: Listener): void;
  on?(event: string, listener: Listener): unknown;
  off?(event: string, listener: Listener): unknown;
}

/** Methods that only some ports have. */
export interface Control {
  start?(): void;
  close?(): void;
  ref?(): void;
  unref?(): void;
}

/** Events that report the end of a port: `close` of a MessagePort, and `exit` of a Node Worker. Not every browser reports the end. */
const ENDS = ["close", "exit"] as const;

/** @throws TypeError if the value is not a MessagePort or a Worker */
export function checkPort(port: unknown): void {
  if (!isPort(port)) throw mustBe(TypeError, "port", "a MessagePort or a Worker", port);
}

export function isPort(value: unknown): value is PortLike {
  const { postMessage, addEventListener, on } = (value ?? {}) as PortLike;
  return typeof postMessage === "function" && (typeof on === "function" || typeof addEventListener === "function");
}

/** Calls `onMessage` for each message, and `onEnd` when the port has ended. Returns a function that stops listening. */
export function listen(port: PortLike, onMessage: (message: unknown) => void, onEnd: () => void): () => void {
  const { on, off } = port;
  if (typeof on === "function" && typeof off === "function") {
    on.call(port, "message", onMessage);
    for (const event of ENDS) on.call(port, event, onEnd);
    return () => {
      off.call(port, "message", onMessage);
      for (const event of ENDS) off.call(port, event, onEnd);
    };
  }
  const onEvent = ({ data }: { readonly data: unknown }) => onMessage(data);
  port.addEventListener?.("message", onEvent);
  for (const event of ENDS) port.addEventListener?.(event, onEnd);
  (port as Control).start?.();
  return () => {
    port.removeEventListener?.("message", onEvent);
    for (const event of ENDS) port.removeEventListener?.(event, onEnd);
  };
}

export function encodeError(error: unknown): SentError {
  const { message } = error as Error;
  if (error instanceof ReplayError) return { kind: "ReplayError", code: error.code, message };
  return { kind: error instanceof RangeError ? "RangeError" : "TypeError", message: codeOf(error) === undefined ? message : `${codeOf(error)}: ${message}` };
}

/** Decodes an error. A malformed error also becomes an Error. */
export function decodeError(sentError: SentError): Error {
  const { kind, code = "CLOSED", message } = (sentError ?? {}) as Partial<SentError>;
  if (typeof message !== "string" || typeof code !== "string") return malformed("an error", "Reprise");
  return kind === "ReplayError" ? new ReplayError(code as ReplayErrorCode, message) : new (kind === "RangeError" ? RangeError : TypeError)(message);
}
