/** Writes whole episodes. Corresponds to `ReverbAddEpisodeObserver` of TF-Agents. */
import { finite, flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";
import { isPromise } from "../awaitable.ts";
import { StepType } from "../time-step.ts";
import type { ClientLike } from "../writers/client.ts";
import { clientOf } from "../writers/local-client.ts";
import type { Awaitable } from "../writers/step-client.ts";
import { Cache, CachedObserver, type ObserverCall, type Work } from "./cache.ts";
import { stepTypeOf } from "./step-schema.ts";

export interface EpisodeObserverOptions {
  /** The name of the table, or the names of several tables. Each table receives every item. */
  readonly tableName: string | readonly string[];
  /** The maximum number of steps per episode, including the boundary step. The observer allocates four bytes per step immediately. */
  readonly maxSequenceLength: number;
  /** The priority of new items. Default: 1. */
  readonly priority?: number;
  /** Whether to skip longer episodes with a warning instead of an error. Default: false. */
  readonly bypassPartialEpisodes?: boolean;
  /** Receives warnings. Default: console.warn. */
  readonly onWarning?: (message: string) => void;
  /**
   * The name of the observer's writer in a Replay of this process. After `Replay.open` or `Replay.restore`, the observer with that name continues its open
   * episode. Default: no name.
   */
  readonly name?: string;
}

const OPTIONS = "tableName, maxSequenceLength, priority, bypassPartialEpisodes, onWarning, name";

/**
 * An observer that creates one item per episode. It creates the item when the boundary step, of type LAST, arrives. The boundary step is part of the item. An
 * unfinished episode stays cached until `reset(true)`.
 */
export class ReverbAddEpisodeObserver<S extends Spec = Spec, C extends ClientLike<S> = ClientLike<S>> extends CachedObserver<S, C> {
  readonly #cache: Cache<S>;
  readonly #max: number;
  readonly #bypasses: boolean;
  readonly #warn: (message: string) => void;
  #priority: number;
  /** Whether the episode is too long. If so, its remaining steps are dropped. */
  #isTooLong = false;

  /**
   * Creates an observer.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError NOT_FOUND if a table does not exist
   * @throws ReplayError SPEC_MISMATCH if the spec has no step types, or if the writer of that name belongs to another observer
   * @throws ReplayError OUT_OF_TURN if the name is in use
   * @throws ReplayError UNSUPPORTED if `name` is set and the tables are not in this process
   */
  constructor(client: ClientLike<S> & C, options: EpisodeObserverOptions) {
    const { tableName, maxSequenceLength, priority = 1, bypassPartialEpisodes = false, onWarning = console.warn, name } = onlyKeys("options", options, OPTIONS);
    integer("maxSequenceLength", maxSequenceLength, 1, MAX_LENGTH);
    finite("priority", priority, 0);
    flag("bypassPartialEpisodes", bypassPartialEpisodes);
    if (typeof onWarning !== "function") throw mustBe(TypeError, "onWarning", "a function", onWarning);
    const cache = new Cache(clientOf(client as ClientLike<S>), tableName, () => ({ keep: maxSequenceLength, ...(name !== undefined && { name }) }));
    super(cache, (step) => this.#call(step));
    this.#cache = cache;
    this.#max = maxSequenceLength;
    this.#priority = priority;
    this.#bypasses = bypassPartialEpisodes;
    this.#warn = onWarning;
  }

  override close(): void {
    this.#isTooLong = false;
    super.close();
  }

  /** Ends the episode, and opens the observer if it is closed. @param writeCachedSteps whether the cached steps, if any, become an item */
  reset(writeCachedSteps = true): Promise<void> | undefined {
    const write = flag("writeCachedSteps", writeCachedSteps) === 1;
    return this.#cache.enqueue(() => this.#end(write));
  }

  /**
   * Sets the priority of future items, including the item of the open episode.
   * @throws TypeError, RangeError if the priority is invalid. The old priority then remains
   */
  updatePriority(priority: number): void {
    this.#priority = finite("priority", priority, 0);
  }

  #call(input: Parameters<ObserverCall<S>>[0]): Promise<void> | undefined {
    const cache = this.#cache;
    // This access throws if the observer is closed, even if the step is also invalid.
    cache.writer;
    const step = cache.schema.nest(input);
    if (!cache.isWaiting) {
      // Even a step that will be dropped is appended, because the writer checks its form.
      const pending = cache.writer.append(step) as Awaitable<unknown>;
      const isEnd = this.#countStep(step);
      if (isPromise(pending)) return cache.enqueue(() => this.#afterAppend(pending, isEnd));
      return isEnd ? cache.enqueue(() => this.#end(true)) : undefined;
    }
    // The caller may refill the step's arrays in the meantime.
    const copy = structuredClone(step);
    return cache.enqueue(() => this.#append(copy));
  }

  *#append(step: StepOf<S>): Work {
    const pending = this.#cache.writer.append(step) as Awaitable<unknown>;
    yield* this.#afterAppend(pending, this.#countStep(step));
  }

  /** Continues after a step when the other end of a port has accepted earlier steps. */
  *#afterAppend(pending: Awaitable<unknown>, isEnd: boolean): Work {
    if (isPromise(pending)) yield pending;
    if (isEnd) yield* this.#end(true);
  }

  /** Counts a step that was appended. Returns whether it ends an episode that must be written. */
  #countStep(step: StepOf<S>): boolean {
    const cache = this.#cache;
    const last = stepTypeOf(step) === StepType.LAST;
    const wasTooLong = this.#isTooLong;
    if (!wasTooLong && cache.steps < this.#max) {
      cache.steps++;
      return last;
    }
    const { steps } = cache;
    cache.forget();
    this.#isTooLong = !last;
    if (this.#isTooLong) cache.steps = steps;
    if (wasTooLong) return false;
    // The digest in the observers' test contains this wording.
    const message = `an episode has more than maxSequenceLength = ${this.#max} steps, and is not written: raise maxSequenceLength`;
    if (!this.#bypasses) throw new RangeError(`${message}, or set bypassPartialEpisodes`);
    this.#warn(message);
    return false;
  }

  *#end(write: boolean): Work {
    const cache = this.#cache;
    const answer = write && cache.steps > 0 && !this.#isTooLong ? yield* cache.createItems(cache.steps, this.#priority) : undefined;
    cache.open();
    cache.forget();
    this.#isTooLong = false;
    // The episode has ended, even if a server rejects its item.
    if (answer !== undefined) yield answer;
  }
}
