/** Draws items one after the other, in this process or from a server. Corresponds to `Sampler` of Reverb. */
import { ReplayError } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { SinkKind } from "../../tables/step-sink.ts";
import type { Awaitable } from "../writers/step-client.ts";
import type { DrawnItem } from "./sample.ts";
import type { Sampler } from "./sampler-options.ts";

type NextOptions = Pick<WaitOptions, "signal">;
type Next<K> = K extends "server" ? Promise<DrawnItem | undefined> : Awaitable<DrawnItem | undefined>;

/** The source of a sampler's items, which is a table of this process, the streams of a server, or several servers. */
export interface ItemSource {
  /** Whether `maxSamples` items have been returned. */
  readonly isOver: boolean;
  /** Prepares a source on a server for its first item. @param closing a signal that also aborts the wait */
  prepare?(options: WaitOptions, closing: AbortSignal): Promise<void>;
  /** Returns the next item, or undefined after the last item. */
  next(options: NextOptions): Awaitable<DrawnItem | undefined>;
  /** Ends the draws. @param reason the error with which waiting calls reject */
  close(reason: unknown): void;
}

/** A sampler of tables in this process or on a server. A sampler of a server always returns promises. */
export class ItemSampler<K extends SinkKind = "process"> implements Sampler {
  readonly #source: ItemSource;
  readonly #closing = new AbortController();
  #isReady = false;

  constructor(source: ItemSource) {
    this.#source = source;
  }

  /**
   * Returns the next item. With several servers, the item comes from the next server that has an item. After an error, the next call tries again. Items that
   * are in flight from a server when the sampler is closed count as sampled. `maxInFlightSamplesPerWorker` limits their number. If a stream is then waiting for
   * the rate limiter, a server of version 0.14 still delivers the next item that the limiter allows, unless `rateLimiterTimeoutMs` expires first.
   * @throws ReplayError TIMEOUT if the rate limiter allows no draw in time · with a server NOT_FOUND, IO, CORRUPT, UNSUPPORTED for data that is neither numbers
   * nor texts, OUT_OF_MEMORY for an item of more than `maxMessageBytes` · CLOSED, or the signal's reason
   */
  next(options: NextOptions = {}): Next<K> {
    return (this.#source.prepare === undefined ? this.#source.next(options) : this.#later(options)) as Next<K>;
  }

  close(reason: unknown = new ReplayError("CLOSED", "this sampler was closed while it waited for an item")): void {
    this.#closing.abort(reason);
    this.#source.close(reason);
  }

  async #later({ signal }: NextOptions): Promise<DrawnItem | undefined> {
    signal?.throwIfAborted();
    const source = this.#source;
    if (source.isOver) return undefined;
    this.#mustBeOpen();
    const options = signal === undefined ? {} : { signal };
    if (!this.#isReady) {
      await source.prepare?.(options, this.#closing.signal);
      this.#isReady = true;
      this.#mustBeOpen();
    }
    return await source.next(options);
  }

  #mustBeOpen(): void {
    if (this.#closing.signal.aborted) throw new ReplayError("CLOSED", "this sampler was closed. Create a new one with client.sampler()");
  }
}
