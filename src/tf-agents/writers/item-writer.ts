/** Implements the base of all writers of items, in this process and to a server. It provides `flush`, `close`, and episode ends that may wait. */
import { flag, onlyKeys, ReplayError } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { ItemPromise } from "../../tables/item-promise.ts";
import type { Flushed, FlushOptions, SinkKind, StepSink } from "../../tables/step-sink.ts";
import { isEndOfWait } from "../../tables/untold-errors.ts";

export interface EndEpisodeOptions extends WaitOptions {
  /** Whether to prevent later items from reaching back over the end of the episode. Default: true. */
  readonly clearBuffers?: boolean;
}

export class ItemWriter<K extends SinkKind> {
  readonly #sink: StepSink;

  constructor(sink: StepSink) {
    this.#sink = sink;
  }

  /**
   * Waits until at most `blockUntilNumItems` items of this writer are pending. In this process, a pending item waits for a rate limiter. With a server, it
   * waits for confirmation.
   * @returns a promise. In this process, returns `undefined` if no more than `blockUntilNumItems` items are pending
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws ReplayError NOT_FOUND, SPEC_MISMATCH, once, if the server rejected an item and the promise from `createItem` was not read
   * @throws the error that ended the stream to a server
   * @throws the signal's reason if the signal aborts
   */
  flush(options: FlushOptions = {}): Flushed<K> {
    return this.#sink.flush(options) as Flushed<K>;
  }

  /**
   * Closes the writer and releases its steps. Items remain, including items that wait. The stream to a server ends when its items are confirmed, or when the
   * client closes. `close` never throws for items that a server rejects. To see these errors, call `flush` first, or await `[Symbol.asyncDispose]`. The
   * client's logger receives each rejection that no promise reported.
   */
  close(): void {
    this.#sink.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * Waits until a server has confirmed all items, then closes the writer. In this process, closes the writer without waiting: items that wait for a rate
   * limiter remain.
   * @throws the errors of `flush`
   */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#sink.confirmed();
    } finally {
      this.close();
    }
  }
}

/** Ends a writer's episodes immediately, or when all of the writer's items are in their tables. */
export class EpisodeEnds {
  readonly #sink: StepSink;
  readonly #isExclusive: boolean;
  #isWaiting = false;

  /** @param isExclusive whether other calls throw while an end waits */
  constructor(sink: StepSink, isExclusive: boolean) {
    this.#sink = sink;
    this.#isExclusive = isExclusive;
  }

  /** @throws ReplayError OUT_OF_TURN while an end waits · the errors of the sink's `check` */
  check(): void {
    this.#sink.check();
    if (this.#isWaiting) throw new ReplayError("OUT_OF_TURN", "the episode is still ending. Await the promise from endEpisode() before this call");
  }

  /** Returns the checked options of `endEpisode`. @throws TypeError, RangeError if an option is invalid */
  options(options: EndEpisodeOptions): { readonly clears: boolean; readonly wait: WaitOptions } {
    const { clearBuffers = true, ...wait } = onlyKeys("options", options, "clearBuffers, timeoutMs, signal");
    return { clears: flag("clearBuffers", clearBuffers) === 1, wait };
  }

  /**
   * Ends an episode by calling `end`. If there is a time limit or a signal, first waits until all items are in their tables.
   * @param room resolves when there is room for the items that the end has created
   * @returns a promise that the caller need not await
   */
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
