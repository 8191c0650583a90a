/** What all writers of items have, wherever their steps go: flush and close, and ends of episodes that may wait. */
import { flag, onlyKeys, ReplayError } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { ItemPromise } from "../../tables/item-promise.ts";
import type { Flushed, FlushOptions, SinkKind, StepSink } from "../../tables/step-sink.ts";
import { isEndOfWait } from "../../tables/untold-errors.ts";

export interface EndEpisodeOptions extends WaitOptions {
  /** Whether no later item reaches back over the end. Default: true. */
  readonly clearBuffers?: boolean;
}

export class ItemWriter<K extends SinkKind> {
  readonly #sink: StepSink;

  constructor(sink: StepSink) {
    this.#sink = sink;
  }

  /**
   * Waits until at most `blockUntilNumItems` of this writer's items wait: for a rate limiter in this process, for the confirmation of a server.
   * @returns a promise; in this process `undefined` if no more items wait
   * @throws RangeError, TypeError · ReplayError TIMEOUT, or the signal's reason · of a server what ended the stream; NOT_FOUND, SPEC_MISMATCH, once, if these refused an item whose promise nobody reads,
   * after `createItem`
   */
  flush(options: FlushOptions = {}): Flushed<K> {
    return this.#sink.flush(options) as Flushed<K>;
  }

  /**
   * Releases the steps. Items stay, also those that wait. To a server the stream ends when they are confirmed, or with the client. `close` throws nothing of items that a
   * server refuses: `flush` first, or await `[Symbol.asyncDispose]`. The client's logger is told of one that no promise has told of.
   */
  close(): void {
    this.#sink.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Waits until a server has confirmed all items, then closes. Items that wait for a rate limiter of this process need no writer. @throws as `flush` */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#sink.confirmed();
    } finally {
      this.close();
    }
  }
}

/** The ends of a writer's episodes: at once, or when all of its items are in their tables. */
export class EpisodeEnds {
  readonly #sink: StepSink;
  readonly #isExclusive: boolean;
  #isWaiting = false;

  /** @param isExclusive whether other calls are refused while an end waits */
  constructor(sink: StepSink, isExclusive: boolean) {
    this.#sink = sink;
    this.#isExclusive = isExclusive;
  }

  /** @throws ReplayError OUT_OF_TURN while an end waits; and as the sink's `check` */
  check(): void {
    this.#sink.check();
    if (this.#isWaiting) throw new ReplayError("OUT_OF_TURN", "the episode is just ending: await what endEpisode gave first");
  }

  /** @throws TypeError, RangeError */
  options(options: EndEpisodeOptions): { readonly clears: boolean; readonly wait: WaitOptions } {
    const { clearBuffers = true, ...wait } = onlyKeys("options", options, "clearBuffers, timeoutMs, signal");
    return { clears: flag("clearBuffers", clearBuffers) === 1, wait };
  }

  /** Ends an episode with `end`: after all items, if there is a time limit or a signal. @param room of items that the end has made @returns a promise the caller need not await */
  end(wait: WaitOptions, end: () => void, room?: Promise<void>): Promise<void> | undefined {
    const isLimited = wait.timeoutMs !== undefined || wait.signal !== undefined;
    const waits = isLimited ? this.#sink.flush(wait) : this.#sink.waiting();
    if (waits === undefined || !isLimited) {
      end();
      return waits ?? room;
    }
    this.#isWaiting = this.#isExclusive;
    const ended = waits
      .finally(() => {
        this.#isWaiting = false;
      })
      .then(() => {
        this.#sink.check();
        end();
      });
    const answer = ItemPromise.of([ended]);
    ended.catch((reason) => {
      if (!isEndOfWait(reason, wait)) this.#sink.keepError?.(reason, answer);
    });
    return answer;
  }
}
