/** One connection of a channel. Calls in progress keep the program alive; where nobody is at the other end any more, a ping finds it out and they end. */
import { Call, type CallHandlers } from "./call.ts";
import type { Http2Session } from "./http2.ts";

/**
 * A server that has sent nothing in the meantime takes more pings than one in five minutes for an attack, and says GOAWAY too_many_pings (gRPC's
 * GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS; measured with Reverb 0.14). The first one after a message is always welcome.
 */
const NEXT_PING_MS = 310_000;

export interface ConnectionOptions {
  /** Bytes that one answer may have. */
  readonly maxMessageBytes: number;
  /** Milliseconds without a word from the server, while calls are in progress, after which a ping asks whether it is there. */
  readonly keepAliveMs: number;
  /** Milliseconds that the answer to a ping may take. */
  readonly keepAliveTimeoutMs: number;
}

export class Connection {
  readonly #session: Http2Session;
  readonly #address: string;
  readonly #options: ConnectionOptions;
  readonly #calls = new Set<Call>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the server was last heard, and asked. */
  #heard = 0;
  #pinged = Number.NEGATIVE_INFINITY;
  #isAsked = false;

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
    const stream = this.#session.request({
      ":method": "POST",
      ":path": `/${service}/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const heard = () => {
      this.#heard = performance.now();
    };
    stream.on("response", heard);
    stream.on("data", heard);
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
      this.#heard = Math.max(this.#heard, performance.now());
      if (this.#isAsked) this.#await();
      else this.#watch();
    }
    return call;
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
    const { keepAliveMs } = this.#options;
    const now = performance.now();
    const silent = now - this.#heard;
    const again = this.#pinged > this.#heard ? this.#pinged + NEXT_PING_MS - now : 0;
    const wait = Math.max(keepAliveMs - silent, Math.min(again, keepAliveMs));
    if (wait > 0) this.#timer = setTimeout(() => this.#watch(), wait);
    else this.#ping(now);
  }

  #ping(now: number): void {
    this.#pinged = now;
    this.#isAsked = true;
    this.#await();
    this.#session.ping?.((error) => {
      // An end of the connection is the calls' to hear of.
      if (error) return;
      this.#isAsked = false;
      clearTimeout(this.#timer);
      if (this.#calls.size > 0) this.#watch();
    });
  }

  #await(): void {
    const { keepAliveMs, keepAliveTimeoutMs } = this.#options;
    const since = performance.now();
    this.#timer = setTimeout(() => {
      // A slow way may bring the messages of others first.
      if (this.#heard > since) {
        this.#await();
        return;
      }
      const why = `the server has said nothing for ${keepAliveMs} ms, and has not answered a ping within ${keepAliveTimeoutMs} ms`;
      for (const call of [...this.#calls]) call.lose(why);
      this.#session.destroy();
    }, keepAliveTimeoutMs);
  }
}
