/** Draws items one after the other, wherever their table is. Reverb's `Sampler`. */
import { ReplayError } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { SinkKind } from "../../tables/step-sink.ts";
import type { Awaitable } from "../writers/step-client.ts";
import type { DrawnItem } from "./sample.ts";
import type { Sampler } from "./sampler-options.ts";

type NextOptions = Pick<WaitOptions, "signal">;
type Next<K> = K extends "server" ? Promise<DrawnItem | undefined> : Awaitable<DrawnItem | undefined>;

/** Where a sampler's items come from: a table of this process, streams of a server, or several servers. */
export interface ItemSource {
  /** Whether `maxSamples` items were given. */
  readonly isOver: boolean;
  /** Prepares a source on a server for its first item. @param closing ends the wait as well */
  prepare?(options: WaitOptions, closing: AbortSignal): Promise<void>;
  /** The next item; undefined after the last one. */
  next(options: NextOptions): Awaitable<DrawnItem | undefined>;
  /** @param reason what calls that wait are rejected with */
  close(reason: unknown): void;
}

/** A sampler of a server always answers later. */
export class ItemSampler<K extends SinkKind = "process"> implements Sampler {
  readonly #source: ItemSource;
  readonly #closing = new AbortController();
  #isReady = false;

  constructor(source: ItemSource) {
    this.#source = source;
  }

  /**
   * The next item, of several servers that of the next one that has some. After an error the next call tries again. What is on its way from a server when the sampler is closed
   * counts as sampled: `maxInFlightSamplesPerWorker` bounds it. To a stream that waits for the rate limiter then a server of version 0.14 still gives what passes next, unless
   * that is later than `rateLimiterTimeoutMs`.
   * @throws ReplayError TIMEOUT where the rate limiter lets none pass in time · of a server NOT_FOUND, IO, CORRUPT, UNSUPPORTED for data that is no numbers or texts,
   * OUT_OF_MEMORY for an item of more than `maxMessageBytes` · CLOSED, or the signal's reason
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
    if (this.#closing.signal.aborted) throw new ReplayError("CLOSED", "this sampler was closed: make a new one with client.sampler()");
  }
}
