/** One connection of a channel. Calls in progress keep the program alive; if nobody is at the other end any more, a question finds it out and they end. */
import { Call, type CallHandlers } from "./call.ts";
import { framed, HEAD } from "./frames.ts";
import type { Http2Session, Http2Stream } from "./http2.ts";

/**
 * A server that has sent nothing in the meantime takes more pings than one in five minutes for an attack, and says GOAWAY too_many_pings (gRPC's
 * GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS; measured with Reverb 0.14). The first ping after a message is always welcome, and so is every call.
 */
const NEXT_PING_MS = 310_000;
/** A call that a server answers from memory, whatever others wait for. */
const QUESTION = "ServerInfo";

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
  #began = 0;
  #heard = 0;
  #pinged = Number.NEGATIVE_INFINITY;
  #answered = 0;
  #isAsked = false;
  /** What it is asked by, unless by a ping. */
  #question: Http2Stream | undefined;

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
    const heard = () => {
      this.#heard = performance.now();
    };
    stream.on("response", heard);
    stream.on("data", heard);
    stream.on("trailers", heard);
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
      this.#began = performance.now();
      this.#service = service;
      if (this.#isAsked) this.#await();
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
    const silent = performance.now() - Math.max(this.#began, this.#heard, this.#answered);
    const wait = this.#options.keepAliveMs - silent;
    if (wait > 0) this.#timer = setTimeout(() => this.#watch(), wait);
    else this.#ask();
  }

  /** Asks whether the server is there, by a ping where it is welcome, else by a call. */
  #ask(): void {
    const now = performance.now();
    const pings = this.#pinged <= this.#heard || (!this.isOpen && now - this.#pinged >= NEXT_PING_MS);
    if (pings && this.#session.ping !== undefined) {
      this.#pinged = now;
      this.#isAsked = true;
      // The calls themselves hear of the end of a connection.
      this.#session.ping((error) => {
        if (!error) this.#answer();
      });
    } else this.#question = this.#asking();
    if (this.#isAsked) this.#await();
    // It takes no new calls: those in progress may go on until it can be pinged.
    else this.#timer = setTimeout(() => this.#watch(), this.#options.keepAliveMs);
  }

  /** A call whose answer only says that the server is there; undefined if the connection takes no more. */
  #asking(): Http2Stream | undefined {
    if (!this.isOpen) return undefined;
    try {
      const stream = this.#request(this.#service, QUESTION);
      const answered = () => {
        if (this.#question !== stream) return;
        this.#question = undefined;
        if (!this.#session.destroyed) this.#answer();
      };
      stream.on("response", answered);
      // A refusal is an answer, too.
      stream.on("close", answered);
      stream.on("error", () => {});
      // Without a reader the stream would never end.
      stream.on("data", () => {});
      stream.write(framed(new Uint8Array(HEAD)));
      stream.end();
      this.#isAsked = true;
      return stream;
    } catch {
      return undefined;
    }
  }

  #answer(): void {
    this.#isAsked = false;
    this.#answered = performance.now();
    clearTimeout(this.#timer);
    if (this.#calls.size > 0) this.#watch();
  }

  #await(): void {
    const { keepAliveMs, keepAliveTimeoutMs } = this.#options;
    const since = performance.now();
    this.#timer = setTimeout(() => {
      // A slow way may bring the messages of others first; and a question that waits for the end of other calls was not asked.
      if (this.#heard > since || this.#question?.pending) {
        this.#await();
        return;
      }
      const why = `the server has said nothing for ${keepAliveMs} ms, and has not answered ${this.#question === undefined ? "a ping" : QUESTION} within ${keepAliveTimeoutMs} ms`;
      for (const call of [...this.#calls]) call.lose(why);
      this.#session.destroy();
    }, keepAliveTimeoutMs);
  }
}
