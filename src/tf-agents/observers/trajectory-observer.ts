/** Writes windows of fixed length. Corresponds to `ReverbAddTrajectoryObserver` and `ReverbTrajectorySequenceObserver` of TF-Agents. */
import { finite, flag, integer, onlyKeys, ReplayError } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";
import { isPromise } from "../awaitable.ts";
import { StepType } from "../time-step.ts";
import type { ClientLike } from "../writers/client.ts";
import { clientOf } from "../writers/local-client.ts";
import type { Awaitable } from "../writers/step-client.ts";
import { Cache, CachedObserver, isLimited, type ObserverCall, type Work } from "./cache.ts";
import { stepTypeOf } from "./step-schema.ts";

export interface TrajectoryObserverOptions {
  /** The name of the table, or the names of several tables. Each table receives every item. */
  readonly tableName: string | readonly string[];
  /** The number of steps per item. */
  readonly sequenceLength: number;
  /** The number of steps between the starts of two items. Default: 1. Set it to sequenceLength for items that do not overlap. */
  readonly strideLength?: number;
  /** The priority of new items. Default: 1. */
  readonly priority?: number;
  /**
   * Whether the end of an episode is padded with boundary steps of zeros, so that its last steps also become an item, even in a short episode. Default: false.
   */
  readonly padEndOfEpisodes?: boolean;
  /** Whether padding continues until the last item begins with the episode's boundary step. Requires padEndOfEpisodes. Default: false. */
  readonly tileEndOfEpisodes?: boolean;
  /**
   * The name of the observer's writer in a Replay of this process. After `Replay.open` or `Replay.restore`, the observer with that name continues its open
   * episode. Default: no name.
   */
  readonly name?: string;
}

const OPTIONS = "tableName, sequenceLength, strideLength, priority, padEndOfEpisodes, tileEndOfEpisodes, name";

/**
 * An observer that creates items of the last `sequenceLength` steps. It creates the first item as soon as there are enough steps, and another item every
 * `strideLength` steps. A step of type LAST ends the episode. The cached steps are then dropped, unless the ends of episodes are padded. No item spans two
 * episodes. Each call costs O(bytes + items), and allocates nothing unless it has to wait.
 */
export class ReverbAddTrajectoryObserver<S extends Spec = Spec, C extends ClientLike<S> = ClientLike<S>> extends CachedObserver<S, C> {
  /** Whether a step of type LAST ends the episode. */
  static readonly cutsAtBoundaries: boolean = true;
  readonly #cache: Cache<S>;
  readonly #length: number;
  readonly #stride: number;
  readonly #priority: number;
  readonly #pads: boolean;
  readonly #tiles: boolean;
  readonly #cuts: boolean;

  /**
   * Creates an observer.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError NOT_FOUND if a table does not exist
   * @throws ReplayError SPEC_MISMATCH if the spec has no step types, or if the writer of that name belongs to another observer
   * @throws ReplayError OUT_OF_TURN if the name is in use
   * @throws ReplayError UNSUPPORTED if `name` is set and the tables are not in this process
   */
  constructor(client: ClientLike<S> & C, options: TrajectoryObserverOptions) {
    onlyKeys("options", options, OPTIONS);
    const { tableName, sequenceLength, strideLength = 1, priority = 1, padEndOfEpisodes = false, tileEndOfEpisodes = false, name } = options;
    integer("sequenceLength", sequenceLength, 1, MAX_LENGTH);
    integer("strideLength", strideLength, 1, MAX_LENGTH);
    finite("priority", priority, 0);
    flag("padEndOfEpisodes", padEndOfEpisodes);
    if (flag("tileEndOfEpisodes", tileEndOfEpisodes) === 1 && !padEndOfEpisodes) throw new RangeError("tileEndOfEpisodes requires padEndOfEpisodes: true");
    const cache = new Cache(clientOf(client as ClientLike<S>), tableName, (tables) => ({
      keep: sequenceLength,
      items: tables.map((table) => ({ table, length: sequenceLength, stride: strideLength, priority })),
      ...(name !== undefined && { name }),
    }));
    super(cache, (step) => this.#call(step));
    this.#cache = cache;
    this.#length = sequenceLength;
    this.#stride = strideLength;
    this.#priority = priority;
    this.#pads = padEndOfEpisodes;
    this.#tiles = tileEndOfEpisodes;
    this.#cuts = (new.target as typeof ReverbAddTrajectoryObserver).cutsAtBoundaries;
  }

  /**
   * Ends the episode, and opens the observer if it is closed.
   * @param writeCachedSteps whether the cached steps are written. With padding, the steps are padded. Without padding, the last `sequenceLength` steps become
   * an item, even if they already form an item, as in TF-Agents
   * @throws ReplayError TOO_FEW if the cached steps are too few for an item and are not padded. The steps stay cached
   */
  reset(writeCachedSteps = true): Promise<void> | undefined {
    const write = flag("writeCachedSteps", writeCachedSteps) === 1;
    return this.#cache.enqueue(() => this.#end(write));
  }

  #call(input: Parameters<ObserverCall<S>>[0]): Promise<void> | undefined {
    const cache = this.#cache;
    const { writer } = cache;
    const step = cache.schema.nest(input);
    if (cache.isWaiting) return this.#appendLater(step);
    let pending: Awaitable<unknown>;
    try {
      pending = writer.append(step) as Awaitable<unknown>;
    } catch (error) {
      if (isLimited(error)) return this.#appendLater(step);
      throw error;
    }
    cache.steps++;
    const isEnd = this.#endsWith(step);
    if (isPromise(pending)) return this.#afterAppend(pending, isEnd);
    return isEnd ? cache.enqueue(() => this.#end(this.#pads)) : undefined;
  }

  /** Appends a step after the waiting calls. The step is copied, because the caller may refill its arrays in the meantime. */
  #appendLater(input: StepOf<S>): Promise<void> | undefined {
    const cache = this.#cache;
    const step = structuredClone(input);
    const endsWith = this.#endsWith(step);
    const end = () => this.#end(this.#pads);
    return cache.enqueue(function* () {
      yield* cache.append(step);
      cache.steps++;
      if (endsWith) yield* end();
    });
  }

  /** Continues after a step when the other end of a port has accepted earlier steps. */
  #afterAppend(pending: Promise<unknown>, isEnd: boolean): Promise<void> | undefined {
    const end = () => this.#end(this.#pads);
    return this.#cache.enqueue(function* () {
      yield pending;
      if (isEnd) yield* end();
    });
  }

  #endsWith(step: StepOf<S>): boolean {
    return this.#cuts && stepTypeOf(step) === StepType.LAST;
  }

  *#end(write: boolean): Work {
    const cache = this.#cache;
    let answer: Promise<void> | undefined;
    if (write && cache.steps > 0) {
      if (this.#pads) yield* this.#pad();
      else if (!this.#hasNewItem())
        throw new ReplayError(
          "TOO_FEW",
          `the ${cache.steps} cached steps are too few for an item of ${this.#length} steps. Call reset(false) to drop them, or set padEndOfEpisodes to write them`,
        );
      else answer = yield* cache.createItems(this.#length, this.#priority);
    }
    cache.open();
    cache.forget();
    // The episode has ended, even if a server rejects its item.
    if (answer !== undefined) yield answer;
  }

  *#pad(): Work {
    const cache = this.#cache;
    const missing = this.#tiles ? this.#length - 1 : Math.max(0, this.#length - cache.steps);
    try {
      for (let i = 0; i < missing; i++) yield* cache.append(cache.schema.padding);
    } catch (error) {
      // No step of the next episode may follow the padding.
      cache.forget();
      throw error;
    }
  }

  /** Returns whether the writer's rule has just created an item. */
  #hasNewItem(): boolean {
    const excess = this.#cache.steps - this.#length;
    return excess >= 0 && excess % this.#stride === 0;
  }
}

/**
 * A trajectory observer whose windows continue across steps of type LAST. Such steps neither end the episode nor cause padding. Only `reset` ends an episode.
 */
export class ReverbTrajectorySequenceObserver<S extends Spec = Spec, C extends ClientLike<S> = ClientLike<S>> extends ReverbAddTrajectoryObserver<S, C> {
  static override readonly cutsAtBoundaries = false;
}
