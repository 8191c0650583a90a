/** Implements one connection of a channel. Calls in progress keep the program alive. If the other end is gone, a probe detects that, and the calls end. */
import { Call, type CallHandlers } from "./call.ts";
import { frameMessage, HEAD } from "./frames.ts";
import type { Http2Session, Http2Stream } from "./http2.ts";

/**
 * Without data in between, a server treats more than one ping in five minutes as an attack and answers GOAWAY too_many_pings (gRPC's
 * GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS; measured with Reverb 0.14). The first ping after a message is always allowed, and so is every call.
 */
const NEXT_PING_MS = 310_000;
/** The method that probes call. A server answers it from memory, even while other calls wait. */
const PROBE_METHOD = "ServerInfo";

export interface ConnectionOptions {
  /** The maximum size of one answer, in bytes. */
  readonly maxMessageBytes: number;
  /** The time in milliseconds without data from the server, while calls are in progress, after which the server is probed. */
  readonly keepAliveMs: number;
  /** The time limit for the answer to a probe, in milliseconds. */
  readonly keepAliveTimeoutMs: number;
}

export class Connection {
  readonly #session: Http2Session;
  readonly #address: string;
  readonly #options: ConnectionOptions;
  readonly #calls = new Set<Call>();
  #service = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  /**
   * Points in time: when calls began after an idle time, when the server last sent data of a call, when the server was last pinged, and when the server last
   * answered.
   */
  #activeSince = 0;
  #lastMessageAt = 0;
  #lastPingAt = Number.NEGATIVE_INFINITY;
  #lastAnswerAt = 0;
  #isProbing = false;
  /** The stream of the probe, if it is not a ping. */
  #probeStream: Http2Stream | undefined;

  constructor(session: Http2Session, address: string, options: ConnectionOptions) {
    this.#session = session;
    this.#address = address;
    this.#options = options;
    session.unref?.();
  }

  /** Whether the connection accepts new calls. */
  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /** @throws an Error of the runtime if the connection accepts no more calls */
  call(service: string, method: string, handlers: CallHandlers): Call {
    const stream = this.#request(service, method);
    const onMessage = () => {
      this.#lastMessageAt = performance.now();
    };
    stream.on("response", onMessage);
    stream.on("data", onMessage);
    stream.on("trailers", onMessage);
    const call: Call = new Call(stream, this.#address, method, this.#options.maxMessageBytes, {
      ...handlers,
      end: (error) => {
        this.#calls.delete(call);
        if (this.#calls.size === 0) this.#rest();
        handlers.end(error);
      },
    });
    this.#calls.add(call);
    if (this.#calls.size === 1) {
      this.#session.ref?.();
      this.#activeSince = performance.now();
      this.#service = service;
      if (this.#isProbing) this.#await();
      else this.#watch();
    }
    return call;
  }

  #request(service: string, method: string): Http2Stream {
    return this.#session.request({ ":method": "POST", ":path": `/${service}/${method}`, "content-type": "application/grpc", te: "trailers" });
  }

  /** Accepts no new calls. Calls in progress may end. */
  close(): void {
    this.#session.close();
  }

  /** Ends all calls with this error. */
  end(error: unknown): void {
    for (const call of [...this.#calls]) call.cancel(error);
    this.#session.destroy();
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#session.unref?.();
  }

  #watch(): void {
    const silentMs = performance.now() - Math.max(this.#activeSince, this.#lastMessageAt, this.#lastAnswerAt);
    const wait = this.#options.keepAliveMs - silentMs;
    if (wait > 0) this.#timer = setTimeout(() => this.#watch(), wait);
    else this.#probe();
  }

  /** Probes the server, with a ping if one is allowed, otherwise with a call. */
  #probe(): void {
    const now = performance.now();
    const pings = this.#lastPingAt <= this.#lastMessageAt || (!this.isOpen && now - this.#lastPingAt >= NEXT_PING_MS);
    if (pings && this.#session.ping !== undefined) {
      this.#lastPingAt = now;
      this.#isProbing = true;
      // An error is ignored here, because the calls themselves report the end of the connection.
      this.#session.ping((error) => {
        if (!error) this.#onAnswer();
      });
    } else this.#probeStream = this.#openProbe();
    if (this.#isProbing) this.#await();
    // The connection accepts no new calls. Calls in progress may continue until a ping is allowed.
    else this.#timer = setTimeout(() => this.#watch(), this.#options.keepAliveMs);
  }

  /** Opens a call whose answer only shows that the server is alive; returns undefined if the connection accepts no more calls. */
  #openProbe(): Http2Stream | undefined {
    if (!this.isOpen) return undefined;
    try {
      const stream = this.#request(this.#service, PROBE_METHOD);
      const onResponse = () => {
        if (this.#probeStream !== stream) return;
        this.#probeStream = undefined;
        if (!this.#session.destroyed) this.#onAnswer();
      };
      stream.on("response", onResponse);
      // A rejection is also an answer.
      stream.on("close", onResponse);
      stream.on("error", () => {});
      // Without a reader, the stream would never end.
      stream.on("data", () => {});
      stream.write(frameMessage(new Uint8Array(HEAD)));
      stream.end();
      this.#isProbing = true;
      return stream;
    } catch {
      return undefined;
    }
  }

  #onAnswer(): void {
    this.#isProbing = false;
    this.#lastAnswerAt = performance.now();
    clearTimeout(this.#timer);
    if (this.#calls.size > 0) this.#watch();
  }

  #await(): void {
    const { keepAliveMs, keepAliveTimeoutMs } = this.#options;
    const startedAt = performance.now();
    this.#timer = setTimeout(() => {
      // A slow connection may deliver other messages first, and a probe that waits for other calls to end has not been sent yet.
      if (this.#lastMessageAt > startedAt || this.#probeStream?.pending) {
        this.#await();
        return;
      }
      const reason = `the server sent nothing for ${keepAliveMs} ms, and did not answer ${this.#probeStream === undefined ? "a ping" : PROBE_METHOD} within ${keepAliveTimeoutMs} ms`;
      for (const call of [...this.#calls]) call.lose(reason);
      this.#session.destroy();
    }, keepAliveTimeoutMs);
  }
}
