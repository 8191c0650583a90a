/** A connection to a gRPC server, made when a call needs it and anew when it was lost. Calls do not wait for each other. */
import { finite, ReplayError } from "../../error.ts";
import { MAX_TIMEOUT_MS } from "../../limits.ts";
import type { WaitOptions } from "../../wait.ts";
import { Call, type CallHandlers } from "./call.ts";
import { type Http2, type Http2Session, http2 } from "./http2.ts";
import { DEADLINE_EXCEEDED, INTERNAL, RpcError, UNAVAILABLE } from "./status.ts";

/** How much the server may send ahead: 64 KiB, the default, would let it wait for each answer. */
const WINDOW = 16 * 1024 * 1024;
/** In the megabytes of a connection that Node counts. */
const SESSION_MEMORY = 1024;
/** After so long without a packet the system asks whether the other end is there. */
const KEEP_ALIVE_MS = 30_000;

interface Socket {
  setKeepAlive?(on: boolean, initialDelay: number): unknown;
}

export interface ChannelOptions {
  /** Bytes that one answer may have. */
  readonly maxMessageBytes: number;
  /** Options of `tls.connect`; without them the connection is not encrypted. */
  readonly credentials?: object | undefined;
  /** Milliseconds that connecting may take. */
  readonly connectTimeoutMs: number;
}

/** What streams need of a channel, or of what stands for several. */
export type Way = Pick<Channel, "address" | "call">;

export class Channel {
  /** `HOST:PORT`. */
  readonly address: string;
  readonly #service: string;
  readonly #options: ChannelOptions;
  #session: Http2Session | undefined;
  #connecting: Promise<Http2Session> | undefined;
  #calls = 0;
  #closed = false;

  constructor(address: string, service: string, options: ChannelOptions) {
    this.address = address;
    this.#service = service;
    this.#options = options;
  }

  /**
   * A call of one message there and one back.
   * @throws RpcError, of DEADLINE_EXCEEDED after `timeoutMs`; the signal's reason
   */
  async unary(method: string, request: Uint8Array<ArrayBuffer>, { signal, timeoutMs }: WaitOptions = {}): Promise<Uint8Array> {
    signal?.throwIfAborted();
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
    return await new Promise<Uint8Array>((resolve, reject) => {
      let call: Call | undefined;
      let answer: Uint8Array | undefined;
      let over = false;
      const end = (error: unknown) => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        if (error !== undefined) reject(error);
        else if (answer === undefined) reject(new RpcError(this.address, method, INTERNAL, "it gave no answer"));
        else resolve(answer);
      };
      const stop = (reason: unknown) => {
        call?.cancel(reason);
        end(reason);
      };
      const aborted = () => stop(signal?.reason);
      const late = () => stop(new RpcError(this.address, method, DEADLINE_EXCEEDED, `it has not answered within ${timeoutMs} ms`));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      signal?.addEventListener("abort", aborted);
      const handlers: CallHandlers = {
        message: (bytes) => {
          answer = bytes;
        },
        end,
      };
      this.call(method, handlers).then((made) => {
        call = made;
        if (over) made.cancel();
        else {
          made.send(request);
          made.finish();
        }
      }, end);
    });
  }

  /** Begins a call with any number of messages both ways. @throws RpcError UNAVAILABLE where there is no connection · ReplayError CLOSED */
  async call(method: string, handlers: CallHandlers): Promise<Call> {
    const session = await this.#connected(method);
    // It may have gone while this waited for it.
    if (session.closed || session.destroyed) throw new RpcError(this.address, method, UNAVAILABLE, "the connection was lost");
    const stream = session.request({
      ":method": "POST",
      ":path": `/${this.#service}/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    if (this.#calls++ === 0) session.ref?.();
    return new Call(stream, this.address, method, this.#options.maxMessageBytes, {
      ...handlers,
      end: (error) => {
        if (--this.#calls === 0) session.unref?.();
        handlers.end(error);
      },
    });
  }

  /** Ends the connection and all calls. */
  close(): void {
    this.#closed = true;
    this.#session?.destroy();
    this.#session = undefined;
  }

  async #connected(method: string): Promise<Http2Session> {
    if (this.#closed) throw new ReplayError("CLOSED", "this client was closed: make a new ReverbClient");
    const { closed, destroyed } = this.#session ?? {};
    if (this.#session !== undefined && closed !== true && destroyed !== true) return this.#session;
    this.#connecting ??= this.#connect(method).finally(() => {
      this.#connecting = undefined;
    });
    return await this.#connecting;
  }

  async #connect(method: string): Promise<Http2Session> {
    const { connect }: Http2 = await http2();
    const { credentials, connectTimeoutMs } = this.#options;
    const settings = { enablePush: false, initialWindowSize: WINDOW };
    const scheme = credentials === undefined ? "http" : "https";
    const session = connect(`${scheme}://${this.address}`, { ...credentials, settings, maxSessionMemory: SESSION_MEMORY });
    return await new Promise<Http2Session>((resolve, reject) => {
      const lost = (error: Error | undefined) => {
        clearTimeout(timer);
        if (this.#session === session) this.#session = undefined;
        reject(new RpcError(this.address, method, UNAVAILABLE, error?.message ?? "the connection was lost", error));
      };
      const timer = setTimeout(() => {
        lost(new Error(`no connection within ${connectTimeoutMs} ms`));
        session.destroy();
      }, connectTimeoutMs);
      session.on("error", lost);
      session.on("close", () => lost(undefined));
      // A server that goes away takes no new calls; those in progress may end.
      session.on("goaway", () => {
        if (this.#session === session) this.#session = undefined;
        session.close();
      });
      session.on("connect", (_: unknown, socket: Socket | undefined) => {
        clearTimeout(timer);
        if (this.#closed) {
          session.destroy();
          lost(undefined);
          return;
        }
        // Bun's stalls after it.
        if (!("Bun" in globalThis)) session.setLocalWindowSize?.(WINDOW);
        // Not by the session's own socket, which refuses it.
        socket?.setKeepAlive?.(true, KEEP_ALIVE_MS);
        session.unref?.();
        this.#session = session;
        resolve(session);
      });
    });
  }
}
