/** The servers behind one client: one, or several that do not know of each other. A server that is gone is reported, and the others go on. */

import type { WaitOptions } from "../base/wait.ts";
import type { FullLogger } from "../base/warnings.ts";
import type { Call, CallHandlers } from "./grpc/call.ts";
import type { Channel } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import { DEADLINE_EXCEEDED, RpcError } from "./grpc/status.ts";
import { randomKey } from "./keys.ts";
import { emptyRequest } from "./wire/requests.ts";

/** A server that is gone is asked so often, at most, whether it is back. */
const PROBE_MS = 1000;
const PROBE_TIMEOUT_MS = 10_000;
/** Calls that a server ended without a message, one after the other, before a stream goes on with another server. */
const MAX_FAILURES = 2;

export interface Answer<T> {
  readonly address: string;
  readonly value: T;
}

export class Servers {
  /** Of all of them, for messages. */
  readonly address: string;
  readonly channels: readonly Channel[];
  readonly #logger: FullLogger;
  /** When each that is gone was asked last. */
  readonly #unreachable = new Map<Channel, number>();
  #nextIndex: number;
  #isClosed = false;

  constructor(channels: readonly Channel[], logger: FullLogger) {
    this.channels = channels;
    this.address = channels.map(({ address }) => address).join(", ");
    this.#logger = logger;
    // Programs that have a writer each do not all begin with the same server.
    this.#nextIndex = Number(randomKey() % BigInt(channels.length));
  }

  /** Addresses of those that did not answer the last time. */
  get unreachable(): readonly string[] {
    return [...this.#unreachable.keys()].map(({ address }) => address);
  }

  /** The next in the round, without those that are gone. Where all are, any. */
  next(): Channel {
    this.#probe();
    const { channels } = this;
    for (let k = 0; k < channels.length; k++) {
      const channel = channels[this.#nextIndex++ % channels.length] as Channel;
      if (!this.#unreachable.has(channel)) return channel;
    }
    return channels[this.#nextIndex++ % channels.length] as Channel;
  }

  /** The way of a stream. @param homeChannel its server. Default: the next in the round */
  route(homeChannel = this.next()): Route {
    return new Route(this, homeChannel);
  }

  /** What any of them answers. @throws RpcError that names all, where none does; what `read` throws · the signal's reason */
  request<T>(method: string, request: Uint8Array<ArrayBuffer>, read: (message: Uint8Array) => T, options?: WaitOptions): Promise<T> {
    return this.tryEach(this.next(), method, (channel) => channel.request(method, request, read, options));
  }

  /** Waits a while: until the signal's end, or that of the client, at most. */
  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const onPauseEnd = () => {
        stop();
        signal?.removeEventListener("abort", onPauseEnd);
        resolve();
      };
      const stop = (this.channels[0] as Channel).after(ms, onPauseEnd);
      signal?.addEventListener("abort", onPauseEnd);
    });
  }

  /** What all answer that are not gone. @throws RpcError of one that refuses; where none answers one that names all · the signal's reason */
  async all<T>(method: string, request: Uint8Array<ArrayBuffer>, read: (response: Uint8Array) => T, options?: WaitOptions): Promise<readonly Answer<T>[]> {
    const { channels } = this;
    this.#probe();
    const reachable = channels.filter((channel) => !this.#unreachable.has(channel));
    const errors: unknown[] = [];
    const requestFrom = async (channel: Channel): Promise<Answer<T>[]> => {
      const requestOnce = async () => [{ address: channel.address, value: await channel.request(method, request, read, options) }];
      try {
        // The connection may have been lost since the last call, and the server be there.
        const answer = await requestOnce().catch((error) =>
          channels.length > 1 && error instanceof RpcError && error.isLost ? requestOnce() : Promise.reject(error),
        );
        this.markReachable(channel);
        return answer;
      } catch (error) {
        this.markLost(channel, error);
        errors.push(error);
        return [];
      }
    };
    const responses = (await Promise.all(reachable.map(requestFrom))).flat();
    // The others may be back.
    if (responses.length === 0 && errors.every(isGone))
      responses.push(...(await Promise.all(channels.filter((channel) => !reachable.includes(channel)).map(requestFrom))).flat());
    const rejection = errors.find((error) => !isGone(error));
    if (rejection !== undefined) throw rejection;
    if (responses.length === 0) throw this.unreachableError(method, errors);
    return responses;
  }

  /**
   * Tries one after another until one can be reached; those that are gone come last.
   * @throws what an attempt threw for another reason; else an error that names all
   */
  async tryEach<T>(first: Channel, method: string, attempt: (channel: Channel) => Promise<T>): Promise<T> {
    const { channels } = this;
    const at = channels.indexOf(first);
    const round = [...channels.slice(at), ...channels.slice(0, at)];
    const order = [...round.filter((channel) => !this.#unreachable.has(channel)), ...round.filter((channel) => this.#unreachable.has(channel))];
    const errors: unknown[] = [];
    for (const channel of order) {
      try {
        const result = await attempt(channel);
        this.markReachable(channel);
        return result;
      } catch (error) {
        if (!isGone(error)) throw error;
        this.markLost(channel, error);
        errors.push(error);
      }
    }
    throw this.unreachableError(method, errors);
  }

  /** Takes a server out of the round, where the error says that it is gone. */
  markLost(channel: Channel, error: unknown): void {
    if (this.channels.length === 1 || !isGone(error)) return;
    const isNewlyLost = !this.#unreachable.has(channel);
    this.#unreachable.set(channel, performance.now());
    if (isNewlyLost) void this.#report(channel, error);
  }

  /** Tells the logger why items of a closed writer are lost, of which no call has told. */
  warnLoss(reason: unknown): void {
    const message = reason instanceof Error ? reason.message : String(reason);
    this.#logger.warn(
      `reprise: a writer was closed, and not all of its items are in their tables: ${message}. Await flush() before close() to have it as an error`,
    );
  }

  /** Tells the logger that a server is gone, and how many others go on. The last one may have gone after another came back, which nobody has asked since: that is asked first. */
  async #report(channel: Channel, error: unknown): Promise<void> {
    const otherChannels = this.channels.filter((otherChannel) => otherChannel !== channel);
    const countReachable = () => otherChannels.filter((otherChannel) => !this.#unreachable.has(otherChannel)).length;
    if (countReachable() === 0) await Promise.all(otherChannels.map((otherChannel) => this.#probeChannel(otherChannel)));
    if (this.#isClosed) return;
    const count = countReachable();
    this.#logger.warn(`reprise: ${(error as Error).message}; ${count === 0 ? "no other server is left" : `${count} of ${this.channels.length} servers go on`}`);
  }

  /** Takes it into the round again. */
  markReachable(channel: Channel): void {
    if (this.#unreachable.delete(channel)) this.#logger.info(`reprise: the Reverb server at ${channel.address} is back`);
  }

  /** The error for a call that no server has answered. */
  unreachableError(method: string, errors: readonly unknown[]): unknown {
    const [first] = errors;
    if (errors.length < 2 || !(first instanceof RpcError)) return first;
    const messages = errors.map((error) => (error instanceof RpcError ? `${error.address}: ${error.details}` : String(error))).sort();
    const isUnsent = errors.every((error) => error instanceof RpcError && error.isUnsent);
    return new RpcError(this.address, method, first.status, `none of them is left (${messages.join("; ")})`, new AggregateError(errors), isUnsent);
  }

  close(): void {
    this.#isClosed = true;
    for (const channel of this.channels) channel.close();
  }

  /** Asks those that are gone whether they are back. Nobody waits for it. */
  #probe(): void {
    for (const [channel, probedAt] of this.#unreachable) if (performance.now() - probedAt >= PROBE_MS) void this.#probeChannel(channel);
  }

  /** Asks one that is gone whether it is back. */
  async #probeChannel(channel: Channel): Promise<void> {
    this.#unreachable.set(channel, performance.now());
    try {
      await channel.unary("ServerInfo", emptyRequest(HEAD), { timeoutMs: PROBE_TIMEOUT_MS });
      this.markReachable(channel);
    } catch {
      // It stays out of the round.
    }
  }
}

/** How a stream gets to a server: to its own, and where that cannot be reached to the next one, with which it goes on. */
export class Route {
  readonly #servers: Servers;
  readonly #home: Channel;
  #channel: Channel;
  #failures = 0;

  constructor(servers: Servers, homeChannel: Channel) {
    this.#servers = servers;
    this.#home = homeChannel;
    this.#channel = homeChannel;
  }

  get address(): string {
    return this.#channel.address;
  }

  /** Whether it goes to the server that it was made for. */
  get isHome(): boolean {
    return this.#channel === this.#home;
  }

  /** As `Channel.call`. @throws RpcError that names all, where none can be reached */
  async call(method: string, handlers: CallHandlers): Promise<Call> {
    const { channels } = this.#servers;
    if (this.#failures >= MAX_FAILURES) {
      this.#channel = channels[(channels.indexOf(this.#channel) + 1) % channels.length] as Channel;
      this.#failures = 0;
    }
    const countingHandlers: CallHandlers = {
      ...handlers,
      message: (bytes) => {
        this.#failures = 0;
        handlers.message(bytes);
      },
      end: (error) => {
        if (isGone(error)) this.#failures++;
        handlers.end(error);
      },
    };
    return await this.#servers.tryEach(this.#channel, method, async (channel) => {
      const call = await channel.call(method, countingHandlers);
      this.#channel = channel;
      return call;
    });
  }
}

/** Whether an error says that a server is gone, or does not answer any more. */
export function isGone(error: unknown): boolean {
  return error instanceof RpcError && (error.isLost || error.status === DEADLINE_EXCEEDED);
}
