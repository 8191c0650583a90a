/** Writes windows of fixed length: TF-Agents' `ReverbAddTrajectoryObserver` and `ReverbTrajectorySequenceObserver`. */
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
  /** The table, or several: each gets every item. */
  readonly tableName: string | readonly string[];
  /** Steps of an item. */
  readonly sequenceLength: number;
  /** Steps from one item's beginning to the next one's; 1 where it is left out, sequenceLength for items that do not overlap. */
  readonly strideLength?: number;
  /** Of new items; 1 where it is left out. */
  readonly priority?: number;
  /** Whether the end of an episode is filled up with boundary steps of zeros, so that its last steps, or a short episode, become an item too. */
  readonly padEndOfEpisodes?: boolean;
  /** With padding: whether it goes on until the last item begins with the episode's boundary step. */
  readonly tileEndOfEpisodes?: boolean;
  /**
   * The name of its writer in a Replay of this process: after `Replay.open` or `Replay.restore` the observer with that name goes on in the midst of its episode. Default: none.
   */
  readonly name?: string;
}

const OPTIONS = "tableName, sequenceLength, strideLength, priority, padEndOfEpisodes, tileEndOfEpisodes, name";

/**
 * Makes an item of the last `sequenceLength` steps as soon as there are so many, then every `strideLength` steps. A step whose type is LAST ends the
 * episode; what is cached then is dropped, unless the ends are padded. No item spans two episodes. O(bytes + items) a call, without garbage.
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
   * @throws TypeError, RangeError for an option · ReplayError NOT_FOUND for a table, SPEC_MISMATCH for a spec without step types, or where the writer of that name was another
   * observer's · OUT_OF_TURN for a name that is held · UNSUPPORTED for one where the tables are elsewhere
   */
  constructor(client: ClientLike<S> & C, options: TrajectoryObserverOptions) {
    onlyKeys("options", options, OPTIONS);
    const { tableName, sequenceLength, strideLength = 1, priority = 1, padEndOfEpisodes = false, tileEndOfEpisodes = false, name } = options;
    integer("sequenceLength", sequenceLength, 1, MAX_LENGTH);
    integer("strideLength", strideLength, 1, MAX_LENGTH);
    finite("priority", priority, 0);
    flag("padEndOfEpisodes", padEndOfEpisodes);
    if (flag("tileEndOfEpisodes", tileEndOfEpisodes) === 1 && !padEndOfEpisodes) throw new RangeError("tileEndOfEpisodes needs padEndOfEpisodes: true");
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
   * Ends the episode, and opens the observer where it is closed. `writeCachedSteps`: pads what is cached, or else makes an item of the last
   * `sequenceLength` steps, once more where they are one already, as TF-Agents does.
   * @throws ReplayError TOO_FEW where the cached steps are no item, and are not padded: they stay cached
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

  /** The same behind those calls that wait. The caller may use the step's arrays again meanwhile: it is copied. */
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

  /** What follows a step waits until the other end of a port has taken some. */
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
          `the ${cache.steps} cached steps end no item of ${this.#length}: reset(false) drops them, padEndOfEpisodes writes them`,
        );
      else answer = yield* cache.createItems(this.#length, this.#priority);
    }
    cache.open();
    cache.forget();
    // The episode has ended, also if a server refuses its item.
    if (answer !== undefined) yield answer;
  }

  *#pad(): Work {
    const cache = this.#cache;
    const missing = this.#tiles ? this.#length - 1 : Math.max(0, this.#length - cache.steps);
    try {
      for (let i = 0; i < missing; i++) yield* cache.append(cache.schema.padding);
    } catch (error) {
      // No step of the next episode may come behind padding.
      cache.forget();
      throw error;
    }
  }

  /** Whether the writer's rule has just made an item. */
  #hasNewItem(): boolean {
    const excess = this.#cache.steps - this.#length;
    return excess >= 0 && excess % this.#stride === 0;
  }
}

/** The same, but that a step of type LAST neither ends the episode nor is padded: windows go on over it. Only `reset` ends. */
export class ReverbTrajectorySequenceObserver<S extends Spec = Spec, C extends ClientLike<S> = ClientLike<S>> extends ReverbAddTrajectoryObserver<S, C> {
  static override readonly cutsAtBoundaries = false;
}
