/**
 * Manages the server or servers of one client. Servers do not communicate with each other. If a server is gone, a warning is logged and the other servers
 * continue.
 */

import type { WaitOptions } from "../base/wait.ts";
import type { FullLogger } from "../base/warnings.ts";
import type { Call, CallHandlers } from "./grpc/call.ts";
import type { Channel } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import { DEADLINE_EXCEEDED, RpcError } from "./grpc/status.ts";
import { randomKey } from "./keys.ts";
import { emptyRequest } from "./wire/requests.ts";

/** The minimum time in milliseconds between two probes of a server that is gone. */
const PROBE_MS = 1000;
const PROBE_TIMEOUT_MS = 10_000;
/** After a server has ended this many consecutive calls without sending a message, a stream continues on another server. */
const MAX_FAILURES = 2;

export interface Answer<T> {
  readonly address: string;
  readonly value: T;
}

export class Servers {
  /** The addresses of all servers, for messages. */
  readonly address: string;
  readonly channels: readonly Channel[];
  readonly #logger: FullLogger;
  /** The time at which each server that is gone was lost or last probed. */
  readonly #unreachable = new Map<Channel, number>();
  #nextIndex: number;
  #isClosed = false;

  constructor(channels: readonly Channel[], logger: FullLogger) {
    this.channels = channels;
    this.address = channels.map(({ address }) => address).join(", ");
    this.#logger = logger;
    // Several programs that each have one writer should not all use the same server.
    this.#nextIndex = Number(randomKey() % BigInt(channels.length));
  }

  /** The addresses of the servers that did not answer the last request. */
  get unreachable(): readonly string[] {
    return [...this.#unreachable.keys()].map(({ address }) => address);
  }

  /** Returns the next server in turn that is not gone, or any server if all servers are gone. */
  next(): Channel {
    this.#probe();
    const { channels } = this;
    for (let k = 0; k < channels.length; k++) {
      const channel = channels[this.#nextIndex++ % channels.length] as Channel;
      if (!this.#unreachable.has(channel)) return channel;
    }
    return channels[this.#nextIndex++ % channels.length] as Channel;
  }

  /** Returns the route of a stream. @param homeChannel the stream's home server. Default: the next server in turn */
  route(homeChannel = this.next()): Route {
    return new Route(this, homeChannel);
  }

  /** Returns the answer of any server. @throws RpcError that names all servers, if no server answers; the errors of `read` · the signal's reason */
  request<T>(method: string, request: Uint8Array<ArrayBuffer>, read: (message: Uint8Array) => T, options?: WaitOptions): Promise<T> {
    return this.tryEach(this.next(), method, (channel) => channel.request(method, request, read, options));
  }

  /** Waits until the delay ends, the signal aborts, or the client closes. */
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

  /**
   * Returns the answers of all servers that are not gone.
   * @throws RpcError of a server that rejects the call; if no server answers, an RpcError that names all servers · the signal's reason
   */
  async all<T>(method: string, request: Uint8Array<ArrayBuffer>, read: (response: Uint8Array) => T, options?: WaitOptions): Promise<readonly Answer<T>[]> {
    const { channels } = this;
    this.#probe();
    const reachable = channels.filter((channel) => !this.#unreachable.has(channel));
    const errors: unknown[] = [];
    const requestFrom = async (channel: Channel): Promise<Answer<T>[]> => {
      const requestOnce = async () => [{ address: channel.address, value: await channel.request(method, request, read, options) }];
      try {
        // The connection may have been lost since the last call, although the server is running.
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
    // The other servers may have come back.
    if (responses.length === 0 && errors.every(isGone))
      responses.push(...(await Promise.all(channels.filter((channel) => !reachable.includes(channel)).map(requestFrom))).flat());
    const rejection = errors.find((error) => !isGone(error));
    if (rejection !== undefined) throw rejection;
    if (responses.length === 0) throw this.unreachableError(method, errors);
    return responses;
  }

  /**
   * Tries the servers one after another until a server can be reached. Servers that are gone are tried last.
   * @throws the error of an attempt that failed for another reason; otherwise an error that names all servers
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

  /** Removes a server from the rotation, if the error means that it is gone. */
  markLost(channel: Channel, error: unknown): void {
    if (this.channels.length === 1 || !isGone(error)) return;
    const isNewlyLost = !this.#unreachable.has(channel);
    this.#unreachable.set(channel, performance.now());
    if (isNewlyLost) void this.#report(channel, error);
  }

  /** Logs why items of a closed writer are lost, if no call has reported the reason. */
  warnLoss(reason: unknown): void {
    const message = reason instanceof Error ? reason.message : String(reason);
    this.#logger.warn(
      `reprise: a writer was closed before all of its items were in their tables: ${message}. Await flush() before close() to receive this as an error`,
    );
  }

  /**
   * Logs that a server is gone, and how many other servers remain. If all other servers seem to be gone, they are probed first, because a server may have come
   * back in the meantime.
   */
  async #report(channel: Channel, error: unknown): Promise<void> {
    const otherChannels = this.channels.filter((otherChannel) => otherChannel !== channel);
    const countReachable = () => otherChannels.filter((otherChannel) => !this.#unreachable.has(otherChannel)).length;
    if (countReachable() === 0) await Promise.all(otherChannels.map((otherChannel) => this.#probeChannel(otherChannel)));
    if (this.#isClosed) return;
    const count = countReachable();
    this.#logger.warn(
      `reprise: ${(error as Error).message}. ${count === 0 ? "No other server is left" : `${count} of ${this.channels.length} servers continue`}`,
    );
  }

  /** Returns a server to the rotation. */
  markReachable(channel: Channel): void {
    if (this.#unreachable.delete(channel)) this.#logger.info(`reprise: the Reverb server at ${channel.address} is back`);
  }

  /** Returns the error for a call that no server has answered. */
  unreachableError(method: string, errors: readonly unknown[]): unknown {
    const [first] = errors;
    if (errors.length < 2 || !(first instanceof RpcError)) return first;
    const messages = errors.map((error) => (error instanceof RpcError ? `${error.address}: ${error.details}` : String(error))).sort();
    const isUnsent = errors.every((error) => error instanceof RpcError && error.isUnsent);
    return new RpcError(
      this.address,
      method,
      first.status,
      `none of the servers can be reached (${messages.join("; ")})`,
      new AggregateError(errors),
      isUnsent,
    );
  }

  close(): void {
    this.#isClosed = true;
    for (const channel of this.channels) channel.close();
  }

  /** Probes the servers that are gone. No caller waits for the result. */
  #probe(): void {
    for (const [channel, probedAt] of this.#unreachable) if (performance.now() - probedAt >= PROBE_MS) void this.#probeChannel(channel);
  }

  /** Probes one server that is gone. */
  async #probeChannel(channel: Channel): Promise<void> {
    this.#unreachable.set(channel, performance.now());
    try {
      await channel.unary("ServerInfo", emptyRequest(HEAD), { timeoutMs: PROBE_TIMEOUT_MS });
      this.markReachable(channel);
    } catch {
      // The server stays out of the rotation.
    }
  }
}

/** The route of a stream to a server. If the stream's home server cannot be reached, the stream continues on the next server. */
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

  /** Whether the route leads to the home server. */
  get isHome(): boolean {
    return this.#channel === this.#home;
  }

  /** Starts a call, like `Channel.call`. @throws RpcError that names all servers, if no server can be reached */
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

/** Returns whether an error means that a server is gone, or no longer answers. */
export function isGone(error: unknown): boolean {
  return error instanceof RpcError && (error.isLost || error.status === DEADLINE_EXCEEDED);
}
