/** Writes whole episodes: TF-Agents' `ReverbAddEpisodeObserver`. */
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
  /** The table, or several: each gets every item. */
  readonly tableName: string | readonly string[];
  /** Steps of an episode at most, the boundary step among them. Four bytes each are taken at once. */
  readonly maxSequenceLength: number;
  /** Of new items; 1 where it is left out. */
  readonly priority?: number;
  /** Whether a longer episode is passed over, with a warning, instead of being an error. */
  readonly bypassPartialEpisodes?: boolean;
  /** What a warning goes to; console.warn where it is left out. */
  readonly onWarning?: (message: string) => void;
  /**
   * The name of its writer in a Replay of this process: after `Replay.open` or `Replay.restore` the observer with that name goes on in the midst of its episode. Default: none.
   */
  readonly name?: string;
}

const OPTIONS = "tableName, maxSequenceLength, priority, bypassPartialEpisodes, onWarning, name";

/** Makes one item of each episode when its boundary step comes (the step of type LAST, which belongs to it). An unfinished one stays cached until `reset(true)`. */
export class ReverbAddEpisodeObserver<S extends Spec = Spec, C extends ClientLike<S> = ClientLike<S>> extends CachedObserver<S, C> {
  readonly #cache: Cache<S>;
  readonly #max: number;
  readonly #bypasses: boolean;
  readonly #warn: (message: string) => void;
  #priority: number;
  /** Whether the episode grew too long: the rest of it is dropped. */
  #isTooLong = false;

  /**
   * @throws TypeError, RangeError for an option · ReplayError NOT_FOUND for a table, SPEC_MISMATCH for a spec without step types, or where the writer of that name was another
   * observer's · OUT_OF_TURN for a name that is held · UNSUPPORTED for one where the tables are elsewhere
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

  /** Ends the episode, and opens the observer where it is closed. `writeCachedSteps`: makes an item of what is cached, if anything is. */
  reset(writeCachedSteps = true): Promise<void> | undefined {
    const write = flag("writeCachedSteps", writeCachedSteps) === 1;
    return this.#cache.enqueue(() => this.#end(write));
  }

  /** The priority of the items to come, that of the open episode included. @throws TypeError, RangeError; then the old one stays */
  updatePriority(priority: number): void {
    this.#priority = finite("priority", priority, 0);
  }

  #call(input: Parameters<ObserverCall<S>>[0]): Promise<void> | undefined {
    const cache = this.#cache;
    // Closed it takes no step, not even to look at.
    cache.writer;
    const step = cache.schema.nest(input);
    if (!cache.isWaiting) {
      // Also where it is not kept: the writer checks its form.
      const pending = cache.writer.append(step) as Awaitable<unknown>;
      const isEnd = this.#countStep(step);
      if (isPromise(pending)) return cache.enqueue(() => this.#afterAppend(pending, isEnd));
      return isEnd ? cache.enqueue(() => this.#end(true)) : undefined;
    }
    // The caller may use the step's arrays again meanwhile.
    const copy = structuredClone(step);
    return cache.enqueue(() => this.#append(copy));
  }

  *#append(step: StepOf<S>): Work {
    const pending = this.#cache.writer.append(step) as Awaitable<unknown>;
    yield* this.#afterAppend(pending, this.#countStep(step));
  }

  /** What follows a step waits until the other end of a port has taken some. */
  *#afterAppend(pending: Awaitable<unknown>, isEnd: boolean): Work {
    if (isPromise(pending)) yield pending;
    if (isEnd) yield* this.#end(true);
  }

  /** Counts a step that was appended; whether an episode ends with it that is to be written. */
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
    // The episode has ended, also if a server refuses its item.
    if (answer !== undefined) yield answer;
  }
}
