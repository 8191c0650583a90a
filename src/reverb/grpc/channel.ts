/** Manages a connection to a gRPC server. The connection is opened when a call needs it, and reopened after a loss. Calls do not wait for each other. */
import { codeOf, finite, ReplayError } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { type Call, type CallHandlers, unreadable } from "./call.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { type Http2, http2 } from "./http2.ts";
import { DEADLINE_EXCEEDED, INTERNAL, RpcError, UNAUTHENTICATED, UNAVAILABLE } from "./status.ts";

/** The number of bytes that the server may send ahead. With the default of 64 KiB, the server would wait for each acknowledgement. */
const WINDOW = 16 * 1024 * 1024;
/** The memory limit of a session in megabytes, the unit of Node. */
const SESSION_MEMORY = 1024;
/** The defaults of `keepAliveMs` and `keepAliveTimeoutMs`. */
export const KEEP_ALIVE_MS = 30_000;
export const KEEP_ALIVE_TIMEOUT_MS = 20_000;

interface Socket {
  setKeepAlive?(on: boolean, initialDelay: number): unknown;
  on?(event: "error", listener: (error: Error) => void): unknown;
}

export interface ChannelOptions extends Partial<ConnectionOptions> {
  /** The maximum size of one answer, in bytes. */
  readonly maxMessageBytes: number;
  /** The options of `tls.connect`. Without them, the connection is not encrypted. */
  readonly credentials?: object | undefined;
  /** The time limit for connecting, in milliseconds, until the server's first frame. */
  readonly connectTimeoutMs: number;
}

/** The part of a channel that streams use. A route over several servers also implements it. */
export type ChannelLike = Pick<Channel, "address" | "call">;

export class Channel {
  /** The address of the server: `HOST:PORT`. */
  readonly address: string;
  readonly #service: string;
  readonly #options: ChannelOptions & ConnectionOptions;
  /** The connection for new calls. */
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  /** All connections that have not ended, including one on which the server accepts no new calls. */
  readonly #connections = new Set<Connection>();
  #stopConnecting = () => {};
  readonly #pauses = new Set<() => void>();
  #closed = false;

  constructor(address: string, service: string, options: ChannelOptions) {
    this.address = address;
    this.#service = service;
    this.#options = { ...options, keepAliveMs: options.keepAliveMs ?? KEEP_ALIVE_MS, keepAliveTimeoutMs: options.keepAliveTimeoutMs ?? KEEP_ALIVE_TIMEOUT_MS };
  }

  /** The maximum size of one answer, in bytes. */
  get maxMessageBytes(): number {
    return this.#options.maxMessageBytes;
  }

  /** Makes a `unary` call and reads its answer. @throws the errors of `unary`, and the errors of `read`. A CORRUPT error gets the server's address */
  async request<T>(method: string, request: Uint8Array<ArrayBuffer>, read: (responseBytes: Uint8Array) => T, options?: WaitOptions): Promise<T> {
    const responseBytes = await this.unary(method, request, options);
    try {
      return read(responseBytes);
    } catch (error) {
      throw unreadable(this.address, method, error);
    }
  }

  /**
   * Makes a call with one message in each direction.
   * @throws RpcError if the call fails, with DEADLINE_EXCEEDED after `timeoutMs` milliseconds · the signal's reason if the signal aborts
   */
  async unary(method: string, request: Uint8Array<ArrayBuffer>, { signal, timeoutMs }: WaitOptions = {}): Promise<Uint8Array> {
    signal?.throwIfAborted();
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
    return await new Promise<Uint8Array>((resolve, reject) => {
      let call: Call | undefined;
      let answer: Uint8Array | undefined;
      let hasEnded = false;
      const end = (error: unknown) => {
        if (hasEnded) return;
        hasEnded = true;
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        if (error !== undefined) reject(error);
        else if (answer === undefined) reject(new RpcError(this.address, method, INTERNAL, "it sent no answer"));
        else resolve(answer);
      };
      const stop = (reason: unknown) => {
        call?.cancel(reason);
        end(reason);
      };
      const aborted = () => stop(signal?.reason);
      const late = () => stop(new RpcError(this.address, method, DEADLINE_EXCEEDED, `it did not answer within ${timeoutMs} ms`));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      signal?.addEventListener("abort", aborted);
      const handlers: CallHandlers = {
        message: (bytes) => {
          if (answer !== undefined) throw new RpcError(this.address, method, INTERNAL, "it sent more than one answer");
          answer = bytes;
        },
        end,
      };
      this.call(method, handlers).then((newCall) => {
        call = newCall;
        if (hasEnded) newCall.cancel();
        else {
          newCall.send(request);
          newCall.finish();
        }
      }, end);
    });
  }

  /** Starts a call with any number of messages in both directions. @throws RpcError UNAVAILABLE without a connection · ReplayError CLOSED after `close` */
  async call(method: string, handlers: CallHandlers): Promise<Call> {
    const connection = await this.#getConnection(method);
    try {
      return connection.call(this.#service, method, handlers);
    } catch (error) {
      // The connection ended while this call waited for it, or the connection has reached its maximum number of calls.
      if (this.#connection === connection) this.#connection = undefined;
      if (connection.isOpen) connection.close();
      throw this.#closed ? closedError() : new RpcError(this.address, method, UNAVAILABLE, "the connection was lost", error, true);
    }
  }

  /** Calls `then` after a delay, or immediately when the channel is closed. @returns a function that cancels the delay */
  after(ms: number, then: () => void): () => void {
    const onEnd = () => {
      stop();
      then();
    };
    const stop = () => {
      clearTimeout(timer);
      this.#pauses.delete(onEnd);
    };
    const timer = setTimeout(onEnd, this.#closed ? 0 : ms);
    this.#pauses.add(onEnd);
    return stop;
  }

  /** Ends the connection, all calls and all delays. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopConnecting();
    for (const connection of this.#connections) connection.end(closedError());
    this.#connection = undefined;
    for (const stopPause of [...this.#pauses]) stopPause();
  }

  async #getConnection(method: string): Promise<Connection> {
    if (this.#closed) throw closedError();
    if (this.#connection?.isOpen) return this.#connection;
    this.#connecting ??= this.#connect(method).finally(() => {
      this.#connecting = undefined;
    });
    return await this.#connecting;
  }

  async #connect(method: string): Promise<Connection> {
    const { connect }: Http2 = await http2();
    if (this.#closed) throw closedError();
    const { credentials, connectTimeoutMs } = this.#options;
    const settings = { enablePush: false, initialWindowSize: WINDOW };
    const scheme = credentials === undefined ? "http" : "https";
    const begin = () => {
      try {
        return connect(`${scheme}://${this.address}`, { ...credentials, settings, maxSessionMemory: SESSION_MEMORY });
      } catch (error) {
        throw new RpcError(this.address, method, UNAUTHENTICATED, `these credentials are invalid: ${(error as Error).message}`, error);
      }
    };
    const session = begin();
    return await new Promise<Connection>((resolve, reject) => {
      let connection: Connection | undefined;
      let isConnected = false;
      const onLost = (error: Error | undefined) => {
        clearTimeout(timer);
        if (connection !== undefined) {
          this.#connections.delete(connection);
          if (this.#connection === connection) this.#connection = undefined;
        }
        if (this.#closed) reject(closedError());
        else {
          const [status, reason] = describeLoss(error, credentials !== undefined, isConnected);
          reject(new RpcError(this.address, method, status, reason, error, true));
        }
      };
      const timer = setTimeout(() => {
        const problem = isConnected ? "it accepted the connection, but did not answer in HTTP/2" : "it accepted no connection";
        onLost(new Error(`${problem} within ${connectTimeoutMs} ms`));
        session.destroy();
      }, connectTimeoutMs);
      this.#stopConnecting = () => {
        onLost(undefined);
        session.destroy();
      };
      session.on("error", onLost);
      session.on("close", () => onLost(undefined));
      // A server that shuts down accepts no new calls. Calls in progress may end.
      session.on("goaway", () => {
        if (this.#connection === connection) this.#connection = undefined;
        session.close();
      });
      session.on("connect", (_: unknown, socket: Socket | undefined) => {
        // The session may already be destroyed before its event arrives.
        if (session.destroyed) return;
        isConnected = true;
        // In Bun, the session would stall after this call.
        if (!("Bun" in globalThis)) session.setLocalWindowSize?.(WINDOW);
        // `session.socket` rejects this method, so the method of the event's socket is called.
        socket?.setKeepAlive?.(true, this.#options.keepAliveMs);
        // Only the socket reports that a server rejects a certificate.
        socket?.on?.("error", (error) => connection === undefined && onLost(error));
      });
      // This event is the server's first frame. A port that only accepts connections never sends a frame.
      session.on("remoteSettings", () => {
        if (connection !== undefined || session.destroyed) return;
        clearTimeout(timer);
        this.#stopConnecting = () => {};
        connection = new Connection(session, this.address, this.#options);
        this.#connections.add(connection);
        if (!session.closed) this.#connection = connection;
        resolve(connection);
      });
    });
  }
}

/** Returns the reason for a lost connection and its status. Errors that a retry cannot solve are not UNAVAILABLE. */
function describeLoss(error: Error | undefined, isSecure: boolean, isConnected: boolean): readonly [status: number, why: string] {
  const code = String(codeOf(error));
  if (isSecure && error !== undefined) {
    if (code.includes("WRONG_VERSION_NUMBER")) return [INTERNAL, `its answer is not TLS (${code}). Omit credentials if the server uses none`];
    if (/ALERT/.test(code)) return [UNAUTHENTICATED, `it rejects this client's credentials (${code})`];
    if (/CERT|UNABLE_TO|INVALID_CA|HOSTNAME/.test(code)) return [UNAUTHENTICATED, `its certificate cannot be trusted: ${error.message} (${code})`];
  }
  if (error === undefined && isConnected && !isSecure)
    return [UNAVAILABLE, "it ended the connection without an answer in HTTP/2. Pass credentials if the server uses TLS"];
  return [UNAVAILABLE, error?.message || "the connection was lost"];
}

function closedError(): ReplayError {
  return new ReplayError("CLOSED", "this client was closed. Create a new ReverbClient");
}
