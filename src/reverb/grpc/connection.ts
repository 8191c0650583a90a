/** One connection of a channel. Calls in progress keep the program alive; if nobody is at the other end any more, a question finds it out and they end. */
import { Call, type CallHandlers } from "./call.ts";
import { frameMessage, HEAD } from "./frames.ts";
import type { Http2Session, Http2Stream } from "./http2.ts";

/**
 * A server that has sent nothing in the meantime takes more pings than one in five minutes for an attack, and says GOAWAY too_many_pings (gRPC's
 * GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS; measured with Reverb 0.14). The first ping after a message is always welcome, and so is every call.
 */
const NEXT_PING_MS = 310_000;
/** A call that a server answers from memory, whatever others wait for. */
const PROBE_METHOD = "ServerInfo";

export interface ConnectionOptions {
  /** Bytes that one answer may have. */
  readonly maxMessageBytes: number;
  /** Milliseconds without a word from the server, while calls are in progress, after which it is asked whether it is there. */
  readonly keepAliveMs: number;
  /** Milliseconds that the answer may take. */
  readonly keepAliveTimeoutMs: number;
}

export class Connection {
  readonly #session: Http2Session;
  readonly #address: string;
  readonly #options: ConnectionOptions;
  readonly #calls = new Set<Call>();
  #service = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When calls began after a rest, and when the server last sent something of a call, was pinged, and has answered. */
  #activeSince = 0;
  #lastMessageAt = 0;
  #lastPingAt = Number.NEGATIVE_INFINITY;
  #lastAnswerAt = 0;
  #isProbing = false;
  /** What it is asked by, unless by a ping. */
  #probeStream: Http2Stream | undefined;

  constructor(session: Http2Session, address: string, options: ConnectionOptions) {
    this.#session = session;
    this.#address = address;
    this.#options = options;
    session.unref?.();
  }

  /** Whether it takes new calls. */
  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /** @throws Error of the runtime's, where it takes no more */
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

  /** Takes no new calls; those in progress may end. */
  close(): void {
    this.#session.close();
  }

  /** Ends all calls with this. */
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

  /** Asks whether the server is there, by a ping where it is welcome, else by a call. */
  #probe(): void {
    const now = performance.now();
    const pings = this.#lastPingAt <= this.#lastMessageAt || (!this.isOpen && now - this.#lastPingAt >= NEXT_PING_MS);
    if (pings && this.#session.ping !== undefined) {
      this.#lastPingAt = now;
      this.#isProbing = true;
      // The calls themselves hear of the end of a connection.
      this.#session.ping((error) => {
        if (!error) this.#onAnswer();
      });
    } else this.#probeStream = this.#openProbe();
    if (this.#isProbing) this.#await();
    // It takes no new calls: those in progress may go on until it can be pinged.
    else this.#timer = setTimeout(() => this.#watch(), this.#options.keepAliveMs);
  }

  /** A call whose answer only says that the server is there; undefined if the connection takes no more. */
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
      // A refusal is an answer, too.
      stream.on("close", onResponse);
      stream.on("error", () => {});
      // Without a reader the stream would never end.
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
      // A slow way may bring the messages of others first; and a question that waits for the end of other calls was not asked.
      if (this.#lastMessageAt > startedAt || this.#probeStream?.pending) {
        this.#await();
        return;
      }
      const reason = `the server has said nothing for ${keepAliveMs} ms, and has not answered ${this.#probeStream === undefined ? "a ping" : PROBE_METHOD} within ${keepAliveTimeoutMs} ms`;
      for (const call of [...this.#calls]) call.lose(reason);
      this.#session.destroy();
    }, keepAliveTimeoutMs);
  }
}
