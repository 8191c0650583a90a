/** Implements one call in progress: its messages in both directions, and its end. */
import { ReplayError } from "../../base/error.ts";
import { FrameReader, frameMessage } from "./frames.ts";
import type { Headers, Http2Stream } from "./http2.ts";
import { INTERNAL, messageOf, OK, RESOURCE_EXHAUSTED, RpcError, statusOfHttp, UNAVAILABLE } from "./status.ts";

/** The HTTP/2 error code CANCEL. */
const CANCEL = 8;

export interface CallHandlers {
  /** Runs when a message arrives; its bytes are a view that does not change. An exception ends the call. */
  readonly message: (bytes: Uint8Array) => void;
  /** Runs last, when the call has ended. The argument is undefined if the status was OK. */
  readonly end: (error: unknown) => void;
  /** Runs when there is room again, after `send` has returned false. */
  readonly drain?: () => void;
}

export class Call {
  /** The maximum size of a received message, in bytes. */
  readonly maxMessageBytes: number;
  readonly #stream: Http2Stream;
  readonly #handlers: CallHandlers;
  readonly #address: string;
  readonly #method: string;
  #status: number | undefined;
  #details = "";
  #hasEnded = false;

  constructor(stream: Http2Stream, address: string, method: string, maxBytes: number, handlers: CallHandlers) {
    this.#stream = stream;
    this.#address = address;
    this.#method = method;
    this.maxMessageBytes = maxBytes;
    this.#handlers = handlers;
    const frames = new FrameReader(maxBytes, (bytes) => {
      if (!this.#hasEnded) handlers.message(bytes);
    });
    stream.on("response", (headers: Headers) => this.#response(headers));
    stream.on("trailers", (headers: Headers) => this.#trailers(headers));
    stream.on("drain", () => handlers.drain?.());
    stream.on("data", (bytes: Uint8Array) => {
      if (this.#hasEnded) return;
      try {
        const reason = frames.push(bytes);
        if (reason !== undefined) this.#fail(reason.includes("maxMessageBytes") ? RESOURCE_EXHAUSTED : INTERNAL, reason);
      } catch (error) {
        this.cancel(unreadable(address, method, error));
      }
    });
    let streamError: Error | undefined;
    stream.on("error", (error: Error) => {
      streamError = error;
    });
    const onClose = () => {
      if (this.#hasEnded) return;
      if (this.#status === OK && frames.isPartial) this.#fail(INTERNAL, "its last message is cut off");
      else if (this.#status === OK) this.#end(undefined);
      else if (this.#status !== undefined) this.#fail(this.#status, this.#details);
      else this.#fail(UNAVAILABLE, reasonOf(streamError), streamError);
    };
    stream.on("close", onClose);
    // If a server ends a call while this side has more to send, the stream stays open.
    const onTrailers = () => {
      if (this.#hasEnded || stream.destroyed) return;
      onClose();
      if (!stream.destroyed) stream.close();
    };
    // If there is no status, the connection has usually ended and is about to report why.
    stream.on("end", () => (this.#status === undefined ? setTimeout(onTrailers, 0) : onTrailers()));
  }

  /** @param bytes a message with HEAD free bytes before it @returns whether there is room for more; false once the call has ended */
  send(bytes: Uint8Array<ArrayBuffer>): boolean {
    if (this.#hasEnded || this.#stream.destroyed) return false;
    return this.#stream.write(frameMessage(bytes));
  }

  /** Ends this side's messages. */
  finish(): void {
    if (!this.#hasEnded && !this.#stream.destroyed) this.#stream.end();
  }

  /** Ends the call now, with this reason as its result. */
  cancel(reason?: unknown): void {
    if (this.#hasEnded) return;
    this.#end(reason);
    this.#stream.close(CANCEL);
  }

  /** Ends the call now, as if its connection were lost. */
  lose(reason: string): void {
    if (!this.#hasEnded) this.#fail(UNAVAILABLE, `the connection was lost (${reason})`);
  }

  #response(headers: Headers): void {
    const http = Number(headers[":status"]);
    if (headers["grpc-status"] !== undefined) this.#trailers(headers);
    else if (http !== 200) {
      this.#status = statusOfHttp(http);
      this.#details = `it answered with HTTP status ${http}`;
    }
  }

  #trailers(headers: Headers): void {
    const status = Number(headers["grpc-status"] ?? Number.NaN);
    if (!Number.isInteger(status)) return;
    this.#status = status;
    this.#details = messageOf(String(headers["grpc-message"] ?? ""));
  }

  #fail(status: number, details: string, cause?: unknown): void {
    this.#end(new RpcError(this.#address, this.#method, status, details, cause));
    if (!this.#stream.destroyed) this.#stream.close(CANCEL);
  }

  #end(error: unknown): void {
    this.#hasEnded = true;
    this.#handlers.end(error);
  }
}

/** Returns the error for an unreadable message, with the server's address. Other errors are returned unchanged. */
export function unreadable(address: string, method: string, error: unknown): unknown {
  if (!(error instanceof ReplayError) || (error.code !== "CORRUPT" && error.code !== "UNSUPPORTED")) return error;
  const remedy = "Check that it is a Reverb server of about version 0.14, and that no proxy changes its messages";
  const located = new ReplayError(error.code, `the Reverb server at ${address} answered ${method} with an unreadable message: ${error.message}. ${remedy}`);
  located.cause = error;
  return located;
}

function reasonOf(error: Error | undefined): string {
  if (error === undefined) return "the connection was lost";
  const { cause } = error;
  return `the connection was lost (${cause instanceof Error ? cause.message : error.message})`;
}
