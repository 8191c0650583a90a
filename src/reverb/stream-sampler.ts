/** Draws items of a server's table, over one stream or several. */

import { ReplayError } from "../base/error.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { DrawnItem } from "../tf-agents/sampling/sample.ts";
import { checkSampler, type Sampler, type SamplerOptions } from "../tf-agents/sampling/sampler-options.ts";
import { drawnItem } from "./drawn-item.ts";
import { unreadable } from "./grpc/call.ts";
import type { Channel } from "./grpc/channel.ts";
import { METHOD, SampleStream, type Shared, type Stored } from "./sample-stream.ts";
import type { WireSignature } from "./tensors/signature.ts";

/** As Reverb's client has it. */
const IN_FLIGHT = 100;

interface Waiting {
  resolve(item: DrawnItem | undefined): void;
  reject(reason: unknown): void;
}

/** Asks for a table's signature. @param closing ends the wait as well */
export type SignatureOf = (options: WaitOptions, closing: AbortSignal) => Promise<WireSignature | undefined>;

/** Of a server. No more than `numWorkersPerIterator` × `maxInFlightSamplesPerWorker` items are on their way or held here. */
export class StreamSampler implements Sampler {
  readonly #signature: SignatureOf;
  readonly #shared: Shared;
  readonly #workers: number;
  #streams: readonly SampleStream[];
  /** Samples that came and were not asked for yet. */
  readonly #stored: Stored[] = [];
  readonly #waiting: Waiting[] = [];
  #known: WireSignature | undefined;
  #knowsSignature = false;
  /** Samples to be asked for, and to be given. */
  #unasked: number;
  #left: number;
  #error: unknown;
  readonly #closing = new AbortController();

  /** @throws RangeError, TypeError */
  constructor(channel: Channel, table: string, options: SamplerOptions, reconnectTimeoutMs: number, signature: SignatureOf) {
    const {
      maxSamples = -1,
      rateLimiterTimeoutMs = -1,
      maxInFlightSamplesPerWorker = IN_FLIGHT,
      numWorkersPerIterator = 1,
      maxSamplesPerStream = -1,
    } = checkSampler(options);
    const all = maxSamples < 0 ? Number.POSITIVE_INFINITY : maxSamples;
    this.#signature = signature;
    this.#unasked = all;
    this.#left = all;
    this.#shared = {
      channel,
      table,
      timeoutMs: rateLimiterTimeoutMs,
      inFlight: maxInFlightSamplesPerWorker,
      perStream: maxSamplesPerStream < 0 ? Number.POSITIVE_INFINITY : maxSamplesPerStream,
      reconnectTimeoutMs,
      grant: (most) => {
        const granted = Math.min(most, this.#unasked);
        this.#unasked -= granted;
        return granted;
      },
      came: (stored) => {
        this.#stored.push(stored);
        this.#serve();
        // The rate limiter lets samples pass again, also for streams whose time was up.
        this.#ask();
      },
      late: () => this.#late(),
      failed: (error) => {
        this.#error ??= error;
        // What has come is given first, and then the error; who asks again has other streams.
        for (const stream of this.#streams) stream.close();
        this.#streams = this.#begun();
        this.#serve();
      },
    };
    this.#workers = Math.max(1, numWorkersPerIterator);
    this.#streams = this.#begun();
  }

  /**
   * The next item. What is on its way when the sampler is closed counts as sampled: `maxInFlightSamplesPerWorker` bounds it. To a stream that waits for the rate limiter then
   * a server of version 0.14 still gives what passes next, unless that is later than `rateLimiterTimeoutMs`.
   * @throws ReplayError TIMEOUT where the rate limiter lets none pass in time · NOT_FOUND, IO, CORRUPT, UNSUPPORTED for data that is no numbers or texts, OUT_OF_MEMORY for an
   * item of more than `maxMessageBytes`: the next call tries again · CLOSED, or the signal's reason
   */
  async next({ signal }: Pick<WaitOptions, "signal"> = {}): Promise<DrawnItem | undefined> {
    signal?.throwIfAborted();
    if (this.#left === 0) return undefined;
    this.#mustBeOpen();
    if (!this.#knowsSignature) {
      this.#known = await this.#signature(signal === undefined ? {} : { signal }, this.#closing.signal);
      this.#knowsSignature = true;
      this.#mustBeOpen();
    }
    return await new Promise<DrawnItem | undefined>((resolve, reject) => {
      const aborted = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        resolve: (item) => {
          signal?.removeEventListener("abort", aborted);
          resolve(item);
        },
        reject: (reason) => {
          signal?.removeEventListener("abort", aborted);
          reject(reason);
        },
      };
      signal?.addEventListener("abort", aborted);
      this.#waiting.push(waiting);
      this.#serve();
      if (this.#waiting.length > 0) this.#ask();
    });
  }

  /** @param reason what who waits is told */
  close(reason: unknown = new ReplayError("CLOSED", "this sampler was closed while it waited for an item")): void {
    this.#closing.abort(reason);
    for (const stream of this.#streams) stream.close();
    this.#stored.length = 0;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(reason);
  }

  #mustBeOpen(): void {
    if (this.#closing.signal.aborted) throw new ReplayError("CLOSED", "this sampler was closed: make a new one with client.sampler()");
  }

  #begun(): readonly SampleStream[] {
    return Array.from({ length: this.#workers }, () => new SampleStream(this.#shared));
  }

  #ask(): void {
    for (const stream of this.#streams) stream.ask();
  }

  /** A stream's time was up. The limiter has let nothing pass for so long when that of all is. */
  #late(): void {
    const { channel, table, timeoutMs } = this.#shared;
    if (this.#stored.length > 0 || this.#streams.some((stream) => stream.isWaiting)) return;
    const error = new ReplayError(
      "TIMEOUT",
      `the rate limiter of table ${table} of the Reverb server at ${channel.address} has let no sample pass for ${timeoutMs} ms`,
    );
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      if (this.#left === 0) {
        this.#waiting.shift()?.resolve(undefined);
        continue;
      }
      const stored = this.#stored.shift();
      if (stored === undefined) {
        const error = this.#error;
        if (error === undefined) return;
        this.#error = undefined;
        for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
        return;
      }
      const waiting = this.#waiting.shift() as Waiting;
      this.#left--;
      if (this.#left === 0) for (const stream of this.#streams) stream.finish();
      else stored.stream.given();
      try {
        waiting.resolve(drawnItem(stored, this.#known, this.#shared.channel.maxMessageBytes));
      } catch (error) {
        waiting.reject(unreadable(this.#shared.channel.address, METHOD, error));
      }
    }
  }
}
