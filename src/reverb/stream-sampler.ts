/** Samples the items of a server's table, over one or more streams. */

import { ReplayError } from "../base/error.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { DrawnItem } from "../tf-agents/sampling/sample.ts";
import type { ItemSource } from "../tf-agents/sampling/sampler.ts";
import { checkSampler, type SamplerOptions } from "../tf-agents/sampling/sampler-options.ts";
import { decodeItem } from "./decode-item.ts";
import { unreadable } from "./grpc/call.ts";
import type { Channel } from "./grpc/channel.ts";
import { METHOD, SampleStream, type StreamContext, type StreamItem } from "./sample-stream.ts";
import type { WireSignature } from "./tensors/signature.ts";

/** The default number of samples in flight, as in Reverb's client. */
const IN_FLIGHT = 100;

interface Waiting {
  resolve(item: DrawnItem | undefined): void;
  reject(reason: unknown): void;
}

/** Requests a table's signature. @param closing also aborts the wait */
export type SignatureOf = (options: WaitOptions, closing: AbortSignal) => Promise<WireSignature | undefined>;

/** A source of the items of a server's table. At most `numWorkersPerIterator` × `maxInFlightSamplesPerWorker` items are in flight or stored here. */
export class StreamSource implements ItemSource {
  readonly #signature: SignatureOf;
  readonly #context: StreamContext;
  readonly #workers: number;
  #streams: readonly SampleStream[];
  /** Samples that have arrived, but that no call to `next` has taken yet. */
  readonly #stored: StreamItem[] = [];
  readonly #waiting: Waiting[] = [];
  #tableSignature: WireSignature | undefined;
  /** The number of samples that are still to be requested, and the number that are still to be returned. */
  #unrequested: number;
  #remaining: number;
  #error: unknown;

  /** @throws RangeError, TypeError if an option is invalid */
  constructor(channel: Channel, table: string, options: SamplerOptions, reconnectTimeoutMs: number, signature: SignatureOf) {
    checkSampler(options);
    const { maxSamples = -1, rateLimiterTimeoutMs = -1, maxSamplesPerStream = -1 } = options;
    const { maxInFlightSamplesPerWorker = IN_FLIGHT, numWorkersPerIterator = 1 } = options;
    const all = maxSamples < 0 ? Number.POSITIVE_INFINITY : maxSamples;
    this.#signature = signature;
    this.#unrequested = all;
    this.#remaining = all;
    this.#context = {
      channel,
      table,
      timeoutMs: rateLimiterTimeoutMs,
      inFlight: maxInFlightSamplesPerWorker,
      perStream: maxSamplesPerStream < 0 ? Number.POSITIVE_INFINITY : maxSamplesPerStream,
      reconnectTimeoutMs,
      grant: (max) => {
        const grant = Math.min(max, this.#unrequested);
        this.#unrequested -= grant;
        return grant;
      },
      receive: (stored) => {
        this.#stored.push(stored);
        this.#serve();
        // The rate limiter allows samples again, so streams that timed out continue.
        this.#requestMore();
      },
      onTimeout: () => this.#late(),
      onError: (error) => {
        this.#error ??= error;
        // Samples that arrived are returned before the error. The call after the error opens the new streams.
        for (const stream of this.#streams) stream.close();
        this.#streams = this.#createStreams();
        this.#serve();
      },
    };
    this.#workers = Math.max(1, numWorkersPerIterator);
    this.#streams = this.#createStreams();
  }

  get isOver(): boolean {
    return this.#remaining === 0;
  }

  async prepare(options: WaitOptions, closing: AbortSignal): Promise<void> {
    this.#tableSignature = await this.#signature(options, closing);
  }

  next({ signal }: Pick<WaitOptions, "signal">): Promise<DrawnItem | undefined> {
    return new Promise<DrawnItem | undefined>((resolve, reject) => {
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
      if (this.#waiting.length > 0) this.#requestMore();
    });
  }

  close(reason: unknown): void {
    for (const stream of this.#streams) stream.close();
    this.#stored.length = 0;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(reason);
  }

  #createStreams(): readonly SampleStream[] {
    return Array.from({ length: this.#workers }, () => new SampleStream(this.#context));
  }

  #requestMore(): void {
    for (const stream of this.#streams) stream.requestMore();
  }

  /** Runs when a stream has timed out. When all streams have timed out, the limiter has allowed nothing for the whole time limit. */
  #late(): void {
    const { channel, table, timeoutMs } = this.#context;
    if (this.#stored.length > 0 || this.#streams.some((stream) => stream.isWaiting)) return;
    const error = new ReplayError(
      "TIMEOUT",
      `the rate limiter of table ${table} on the Reverb server at ${channel.address} allowed no sample within ${timeoutMs} ms`,
    );
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      if (this.#remaining === 0) {
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
      this.#remaining--;
      if (this.#remaining === 0) for (const stream of this.#streams) stream.finish();
      else stored.stream.onRead();
      try {
        waiting.resolve(decodeItem(stored, this.#tableSignature, this.#context.channel.maxMessageBytes));
      } catch (error) {
        waiting.reject(unreadable(this.#context.channel.address, METHOD, error));
      }
    }
  }
}
