/** Samples a table on several servers in turn. A server that is gone or has no items does not delay the other servers. */

import { codeOf, ReplayError } from "../base/error.ts";
import { Waiters, type WaitOptions } from "../base/wait.ts";
import type { DrawnItem } from "../tf-agents/sampling/sample.ts";
import type { ItemSource } from "../tf-agents/sampling/sampler.ts";
import { checkSampler, type Sampler, type SamplerOptions } from "../tf-agents/sampling/sampler-options.ts";
import { BackOff } from "./back-off.ts";
import type { Channel } from "./grpc/channel.ts";
import { isGone, type Servers } from "./servers.ts";
import type { SignatureOf } from "./stream-sampler.ts";

/** The maximum number of items that wait here, per server. */
const READY = 16;
/** The maximum time, in milliseconds, for which a server whose rate limiter allows nothing may keep its share of a limited number of samples. */
const SHARE_MS = 200;
/** The pause, in milliseconds, before samples are requested again from a server without items. Other servers take its share in the meantime. */
const PAUSE_MS = 50;
/** The interval, in milliseconds, at which a lost server is retried. */
const RETRY_MS = 5000;

/** One server's part of the sampling. */
interface Source {
  readonly channel: Channel;
  readonly ready: DrawnItem[];
  readonly backOff: BackOff;
  sampler: Sampler | undefined;
  /** Whether shares are being requested from the server, one after the other. */
  isRunning: boolean;
  /** Whether the server's rate limiter has timed out since any server last returned an item. */
  hasTimedOut: boolean;
  /** The error with which the server was lost when the time limit for reconnecting ended, and the time of the last attempt. */
  error: unknown;
  attemptedAt: number;
}

export class ShardedSource implements ItemSource {
  readonly #servers: Servers;
  readonly #table: string;
  readonly #options: SamplerOptions;
  readonly #signature: SignatureOf;
  readonly #make: (channel: Channel, options: SamplerOptions) => Sampler;
  readonly #sources: readonly Source[];
  readonly #waiters = new Waiters();
  /** The number of samples per request to one server. */
  readonly #share: number;
  readonly #timeoutMs: number;
  readonly #requestMs: number;
  readonly #capacity: number;
  /** The number of samples that are still to be requested, and the number that are still to be returned. */
  #unrequested: number;
  #remaining: number;
  #nextSource = 0;
  /** The time at which the last item arrived, or the current wait began. */
  #lastItemAt = 0;
  /** The time at which all servers seemed lost. Each server is then tried once more. */
  #lossDetectedAt: number | undefined;
  /** The number of waiting calls to `next`. */
  #waiting = 0;
  /** The error that the next call throws, even if items have arrived. The call after that starts over. */
  #failure: { readonly error: unknown } | undefined;
  #isFailureReported = false;
  #closed: { readonly reason: unknown } | undefined;

  /**
   * @param make creates a sampler of one server's table, which fails immediately if the connection is lost
   * @throws RangeError, TypeError if an option is invalid
   */
  constructor(
    servers: Servers,
    table: string,
    options: SamplerOptions,
    reconnectTimeoutMs: number,
    signature: SignatureOf,
    make: (channel: Channel, options: SamplerOptions) => Sampler,
  ) {
    const { maxSamples = -1, rateLimiterTimeoutMs = -1, maxInFlightSamplesPerWorker = READY } = checkSampler(options);
    const count = servers.channels.length;
    const all = maxSamples < 0 ? Number.POSITIVE_INFINITY : maxSamples;
    this.#servers = servers;
    this.#table = table;
    this.#options = options;
    this.#signature = signature;
    this.#make = make;
    this.#unrequested = all;
    this.#remaining = all;
    this.#share = Math.ceil(all / count);
    this.#timeoutMs = rateLimiterTimeoutMs;
    // If there are shares, no server may keep its share without a time limit. Otherwise, each server waits only for its own samples.
    if (maxSamples < 0) this.#requestMs = rateLimiterTimeoutMs;
    else this.#requestMs = rateLimiterTimeoutMs < 0 ? SHARE_MS : Math.min(SHARE_MS, Math.ceil(rateLimiterTimeoutMs / count));
    this.#capacity = Math.min(READY, maxInFlightSamplesPerWorker);
    const first = servers.channels.indexOf(servers.next());
    const round = [...servers.channels.slice(first), ...servers.channels.slice(0, first)];
    this.#sources = round.map((channel) => ({
      channel,
      ready: [],
      backOff: new BackOff(reconnectTimeoutMs),
      sampler: undefined,
      isRunning: false,
      hasTimedOut: false,
      error: undefined,
      attemptedAt: 0,
    }));
  }

  get isOver(): boolean {
    return this.#remaining === 0;
  }

  /** Waits until a server can be reached. This wait has a separate time limit. */
  async prepare(options: WaitOptions, closing: AbortSignal): Promise<void> {
    await this.#signature(options, closing);
  }

  /** Returns the next item. After an error, the next call tries all servers again. */
  async next(wait: Pick<WaitOptions, "signal">): Promise<DrawnItem | undefined> {
    if (this.#isFailureReported) this.#beginAnew();
    if (this.#waiting++ === 0) this.#lastItemAt = performance.now();
    if (this.#failure === undefined) for (const source of this.#sources) if (!source.isRunning) void this.#run(source);
    this.#waiters.wake();
    try {
      const take = () => this.#take();
      return (await this.#waiters.until(take, () => "no server returned an item", wait)).item;
    } finally {
      this.#waiting--;
    }
  }

  close(reason: unknown): void {
    this.#closed ??= { reason };
    for (const { sampler, ready } of this.#sources) {
      sampler?.close();
      ready.length = 0;
    }
    this.#waiters.wake();
  }

  /** Whether no more samples are requested from any server. */
  get #isDone(): boolean {
    return this.#remaining === 0 || this.#failure !== undefined || this.#closed !== undefined;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#waiters.wake();
  }

  #beginAnew(): void {
    this.#failure = undefined;
    this.#isFailureReported = false;
    this.#lossDetectedAt = undefined;
    for (const source of this.#sources) {
      source.hasTimedOut = false;
      source.error = undefined;
      source.backOff.reset();
    }
  }

  /** Takes the next item that has arrived, from the servers in turn. Returns undefined if no item has arrived. */
  #take(): { readonly item: DrawnItem | undefined } | undefined {
    if (this.#remaining === 0) return { item: undefined };
    if (this.#closed !== undefined) throw this.#closed.reason;
    if (this.#failure !== undefined) {
      this.#isFailureReported = true;
      throw this.#failure.error;
    }
    const { length } = this.#sources;
    for (let k = 0; k < length; k++) {
      const { ready } = this.#sources[(this.#nextSource + k) % length] as Source;
      const item = ready.shift();
      if (item === undefined) continue;
      this.#nextSource += k + 1;
      this.#remaining--;
      if (this.#remaining === 0 || ready.length === this.#capacity - 1) this.#waiters.wake();
      return { item };
    }
    return undefined;
  }

  /** Requests share after share from one server, as long as samples remain. */
  async #run(source: Source): Promise<void> {
    source.isRunning = true;
    while (!this.#isDone) {
      // While the server's rate limiter has timed out and no call waits, nothing more is requested.
      const mayRequest = () => (this.#unrequested > 0 && (!source.hasTimedOut || this.#waiting > 0)) || this.#isDone || undefined;
      await this.#waiters.until(mayRequest, () => "a share");
      const share = Math.min(this.#share, this.#unrequested);
      if (this.#isDone || share === 0) continue;
      const isLimited = share !== Number.POSITIVE_INFINITY;
      if (isLimited) this.#unrequested -= share;
      const maxSamples = isLimited ? share : -1;
      let receivedCount = 0;
      source.sampler = this.#make(source.channel, { ...this.#options, maxSamples, rateLimiterTimeoutMs: this.#requestMs });
      let pauseMs = 0;
      try {
        for (let item = await source.sampler.next(); item !== undefined; item = await source.sampler.next()) {
          receivedCount++;
          this.#onItem(source, item);
          if (source.ready.length >= this.#capacity)
            await this.#waiters.until(
              () => source.ready.length < this.#capacity || this.#remaining === 0 || this.#closed !== undefined || undefined,
              () => "room",
            );
        }
      } catch (error) {
        pauseMs = this.#onFailure(source, error);
      } finally {
        source.sampler.close();
        source.sampler = undefined;
      }
      if (isLimited) this.#unrequested += share - receivedCount;
      this.#waiters.wake();
      if (pauseMs > 0) await this.#pause(source, pauseMs);
    }
    source.isRunning = false;
  }

  async #pause(source: Source, ms: number): Promise<void> {
    let isDone = false;
    const stop = source.channel.after(ms, () => {
      isDone = true;
      this.#waiters.wake();
    });
    const mayTry = () => isDone || this.#isDone || this.#mustTry(source) || undefined;
    await this.#waiters.until(mayTry, () => "a pause");
    stop();
  }

  /** Returns whether all servers seem lost and this server has not been tried since. */
  #mustTry({ error, attemptedAt }: Source): boolean {
    return this.#lossDetectedAt !== undefined && error !== undefined && attemptedAt < this.#lossDetectedAt;
  }

  #onItem(source: Source, item: DrawnItem): void {
    this.#lastItemAt = performance.now();
    for (const otherSource of this.#sources) otherSource.hasTimedOut = false;
    source.error = undefined;
    this.#lossDetectedAt = undefined;
    source.backOff.reset();
    this.#servers.markReachable(source.channel);
    source.ready.push(item);
    this.#waiters.wake();
  }

  /** Handles an error of one server. @returns the pause before the server is used again, in milliseconds */
  #onFailure(source: Source, error: unknown): number {
    if (this.#isDone) return 0;
    if (codeOf(error) === "TIMEOUT" && !isGone(error)) {
      source.hasTimedOut = true;
      const waitedMs = performance.now() - this.#lastItemAt;
      const all = this.#sources.every(({ hasTimedOut, error: lossError }) => hasTimedOut || lossError !== undefined);
      if (this.#timeoutMs >= 0 && all && this.#waiting > 0 && waitedMs >= this.#timeoutMs - this.#requestMs / 2)
        this.#fail(new ReplayError("TIMEOUT", `no server's rate limiter allowed a sample from table ${this.#table} within ${this.#timeoutMs} ms`));
      return PAUSE_MS;
    }
    if (!isGone(error)) {
      this.#fail(error);
      return 0;
    }
    this.#servers.markLost(source.channel, error);
    const wait = source.backOff.after(error);
    if (wait !== undefined) return wait;
    source.error = error;
    source.attemptedAt = performance.now();
    const lossErrors = this.#sources.map(({ error: lossError }) => lossError);
    if (lossErrors.includes(undefined)) return RETRY_MS;
    // Servers that were lost earlier may be back, since lost servers are tried only rarely.
    this.#lossDetectedAt ??= source.attemptedAt;
    if (this.#sources.some((otherSource) => this.#mustTry(otherSource))) this.#waiters.wake();
    else this.#fail(this.#servers.unreachableError("SampleStream", lossErrors));
    return RETRY_MS;
  }
}
