/** Draws epochs of a table: batches that yield each item present at the start once. */

import { DELETES, INSERTS, PENDING, SAMPLES, SHUFFLED } from "../base/abi.ts";
import { codeOf, flag, integer, mustBe, onlyKeys, ReplayError, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { EpochPlace, EpochState } from "./epoch-state.ts";
import { type Dataset, type ElementSource, elementsOf } from "./iterate.ts";
import type { SampleOptions } from "./options.ts";
import { type Draws, stuck } from "./waiting.ts";

const MAX_U32 = 0xffffffff;

export interface EpochOptions {
  /**
   * The number of epochs. Each epoch yields every item that is in the table at its start once. Cannot be combined with `beta`, `normalize`, `among`,
   * `stratified`, `replacement: true`, or a table with `maxTimesSampled`.
   */
  readonly epochs: number;
  /** Whether the order of an epoch is random. Otherwise it is the order of slots, which is insertion order until an item is removed. Default: true. */
  readonly shuffle?: boolean;
  /** The seed of the random orders. Default: 0. */
  readonly seed?: number;
  /** A result of `state()`, from which the dataset continues. */
  readonly state?: EpochState;
}

/** Options that both kinds of datasets accept. */
export interface LoopOptions extends SampleOptions {
  readonly batchSize: number;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly dropRemainder?: boolean;
  readonly prefetch?: number;
}

/** A dataset of batches in epochs. A loop continues where the last one stopped. After the last epoch, the next loop starts the same number of epochs again. */
export interface EpochDataset<B> extends Dataset<B> {
  /** Returns the position after the last batch that a loop received. */
  state(): EpochState;
}

/**
 * The number of items at the start of an epoch, the table's counters at the start (`samples`: after the last draw of the epoch), and the number of items drawn
 * since. As long as the counters show that no item was removed, `items` - `draws` items remain to be drawn.
 */
interface Counts {
  items: number;
  inserts: number;
  samples: number;
  deletes: number;
  draws: number;
}

type Place = EpochPlace & { counts: Counts | undefined };

/** One step of an iteration: a batch (undefined after the last epoch), and the position after the batch. */
interface Step<B> {
  readonly batch: B | undefined;
  readonly place: Place;
}

class Epochs<B extends { readonly count: number; release?(): void }> {
  readonly #draws: Draws<B>;
  readonly #n: number;
  readonly #epochs: number;
  readonly #drops: boolean;
  readonly #options: SampleOptions;
  /** The position after the last batch that a loop received. */
  #place: Place;
  /** The position after the last batch drawn. */
  #head: Place;

  constructor(draws: Draws<B>, n: number, epochs: number, drops: boolean, options: SampleOptions, place: EpochPlace) {
    this.#draws = draws;
    this.#n = n;
    this.#epochs = epochs;
    this.#drops = drops;
    this.#options = options;
    this.#place = { ...place, counts: undefined };
    this.#head = copyOf(this.#place);
  }

  state(): EpochState {
    const { counts: _, ...state } = this.#place;
    return state;
  }

  /** Returns to the last batch that a loop received, so that batches drawn ahead are drawn again. */
  rewind(): void {
    this.#head = copyOf(this.#place);
  }

  /** Sets the position after a batch that the loop received. */
  reached(place: Place): void {
    this.#place = place;
  }

  /**
   * Returns the next batch, or the end of the last epoch; undefined if the table is empty or its rate limiter blocks the draw. @throws ReplayError
   * KEYS_EXHAUSTED if no key is left that could mark the beginning of an epoch
   */
  next(ahead: boolean): Step<B> | undefined {
    const { engine, core } = this.#draws.table;
    engine.begin();
    const place = this.#head;
    for (;;) {
      if (place.since === 0) {
        // An epoch begins when its first batch can be drawn, so it includes the items that are inserted before that.
        const { size } = core;
        if (size === 0 || !core.canSample(Math.min(this.#n, size))) return undefined;
        this.#begin(place);
      }
      const n = this.#left(place);
      if (n > 0 && !core.canSample(n)) return undefined;
      if (n === this.#n || (n > 0 && !this.#drops)) {
        const batch = this.#draws.sampler.epoch(place, n, this.#options, ahead);
        const { counts } = place;
        if (counts !== undefined) {
          counts.draws += batch.count;
          counts.samples = core.counter(SAMPLES);
        }
        // If the table was emptied in the meantime, the batch may be empty.
        if (batch.count > 0) return { batch, place: copyOf(place) };
        batch.release?.();
      }
      place.epoch++;
      place.position = 0;
      place.since = 0;
      place.slots = 0;
      place.counts = undefined;
      if (place.epoch % this.#epochs === 0) return { batch: undefined, place: copyOf(place) };
    }
  }

  /**
   * Checks, after a blocked draw, that inserts can unblock it. @throws ReplayError RATE_LIMITED if the rate limiter of a table with items permits no insert
   * either
   */
  checkStuck(): void {
    const { core, name } = this.#draws.table;
    if (core.size > 0 && !core.canInsert(1)) throw stuck(name);
  }

  #begin(place: Place): void {
    const { engine, core, name } = this.#draws.table;
    place.since = core.beginEpoch();
    if (place.since === 0)
      throw new ReplayError(
        "KEYS_EXHAUSTED",
        `table ${show(name)} has no keys left to distinguish the items of this epoch from newer items. Create a new Replay`,
      );
    place.slots = core.high;
    const isKnown = core.counter(PENDING) === 0;
    place.counts = isKnown
      ? { items: core.size, inserts: core.counter(INSERTS), samples: core.counter(SAMPLES), deletes: core.counter(DELETES), draws: 0 }
      : undefined;
    engine.changed();
  }

  /** Returns the number of items in the next batch. */
  #left(place: Place): number {
    const { core } = this.#draws.table;
    const { counts } = place;
    if (counts !== undefined) {
      const isWhole =
        core.counter(DELETES) === counts.deletes &&
        core.counter(INSERTS) >= counts.inserts &&
        core.counter(SAMPLES) >= counts.samples &&
        core.size >= counts.items;
      if (isWhole) return Math.min(this.#n, counts.items - counts.draws);
      place.counts = undefined;
    }
    return this.#draws.sampler.epochItems(place, this.#n);
  }
}

function copyOf(place: Place): Place {
  return { ...place, counts: place.counts && { ...place.counts } };
}

const OPTIONS = ["among", "stratified", "beta", "normalize"] as const;

/**
 * Checks that epochs are possible with the table and the options. @throws ReplayError UNSUPPORTED if the table has `maxTimesSampled`, or an option excludes
 * epochs · RangeError if the rate limiter never permits n draws together
 */
function checkEpochs({ table }: Draws<{ readonly count: number }>, n: number, options: SampleOptions): void {
  const { maxTimesSampled, maxSize, rateLimiter } = table.limits;
  const name = show(table.name);
  if (maxTimesSampled <= MAX_U32)
    throw new ReplayError("UNSUPPORTED", `epochs require a table without maxTimesSampled, but draws from table ${name} remove items. Omit epochs`);
  const wrong = OPTIONS.find((option) => options[option] !== undefined);
  if (wrong !== undefined) throw new ReplayError("UNSUPPORTED", `epochs draw every item once, so ${wrong} has no meaning. Omit ${wrong}`);
  if (options.replacement === true) throw new ReplayError("UNSUPPORTED", "epochs draw every item once, without replacement. Omit replacement");
  const { minSize, minDiff, maxDiff, samplesPerInsert } = rateLimiter;
  const most = Math.floor(Math.max(maxDiff, samplesPerInsert * minSize) - minDiff);
  if (Math.min(n, maxSize) > most)
    throw mustBe(RangeError, "batchSize", `<= ${most}, because the rate limiter of table ${name} never allows more draws in one call`, n);
}

/** Returns the position at which a dataset begins. @throws TypeError, RangeError if an option is invalid, or if `seed` or `shuffle` differs from the state */
function placeOf({ shuffle, seed, state }: Partial<EpochOptions>): EpochPlace {
  if (state === undefined)
    return { shuffle: flag("shuffle", shuffle ?? true) === 1, seed: integer("seed", seed ?? 0, 0, MAX_U32), epoch: 0, position: 0, since: 0, slots: 0 };
  const known = onlyKeys("state", state, "shuffle, seed, epoch, position, since, slots");
  if (seed !== undefined && seed !== known.seed) throw mustBe(RangeError, "seed", "equal to state.seed, or omitted", seed);
  if (shuffle !== undefined && shuffle !== known.shuffle) throw mustBe(RangeError, "shuffle", "equal to state.shuffle, or omitted", shuffle);
  return {
    shuffle: flag("state.shuffle", known.shuffle) === 1,
    seed: integer("state.seed", known.seed, 0, MAX_U32),
    epoch: integer("state.epoch", known.epoch, 0, MAX_U32),
    position: integer("state.position", known.position, 0, MAX_U32),
    since: integer("state.since", known.since, 0, MAX_U32),
    slots: integer("state.slots", known.slots, 0, MAX_U32),
  };
}

/** Returns a dataset of batches in epochs. */
export function epochsOf<B extends { readonly count: number; release?(): void }>(draws: Draws<B>, options: LoopOptions & EpochOptions): EpochDataset<B> {
  const { batchSize, signal, timeoutMs, prefetch = 0, dropRemainder = false, epochs, shuffle, seed, state, ...sample } = options;
  const n = integer("batchSize", batchSize, 1, MAX_LENGTH);
  const ahead = options.into === undefined ? integer("prefetch", prefetch, 0, 1024) : 0;
  const drops = flag("dropRemainder", dropRemainder) === 1;
  integer("epochs", epochs, 1, MAX_U32);
  checkEpochs(draws, n, sample);
  draws.sampler.check(sample);
  const place = placeOf({ shuffle, seed, state } as Partial<EpochOptions>);
  const { engine, core, name } = draws.table;
  const { since, slots, position } = place;
  if (since !== 0 || slots !== 0 || position !== 0) {
    engine.begin();
    if (!core.resumeEpoch(since, slots, position, place.shuffle ? SHUFFLED : 0))
      throw mustBe(RangeError, "state", `the state of a dataset of table ${show(name)}, from this Replay or the Replay from which it was restored`, state);
    engine.changed();
  }
  const walk = new Epochs(draws, n, epochs, drops, sample, place);
  const lends = sample.recycle === true || sample.recycle === "detach";
  const begin = (): ElementSource<B> => {
    walk.rewind();
    /** The batches that the loop has not received yet, with the position after each batch. */
    const places = new Map<B, Place>();
    /** The position after the last epoch, if a draw ahead reached it. */
    let end: Place | undefined;
    const take = (): Step<B> | undefined => {
      const step = walk.next(false);
      if (step === undefined) walk.checkStuck();
      else walk.reached(step.place);
      return step;
    };
    return {
      next: () => take()?.batch,
      most: (prefetch) => draws.most(prefetch),
      ahead() {
        const step = end === undefined ? walk.next(true) : undefined;
        if (step?.batch !== undefined) places.set(step.batch, step.place);
        else end ??= step?.place;
        return step?.batch;
      },
      passed(batch) {
        const at = places.get(batch);
        if (at === undefined) return;
        places.delete(batch);
        draws.sampler.passed(batch);
        walk.reached(at);
      },
      done: (batch) => {
        if (lends) batch.release?.();
      },
      close: () => walk.rewind(),
      later({ signal: stop }) {
        if (end !== undefined) {
          walk.reached(end);
          end = undefined;
          return undefined;
        }
        const attempt = () => {
          engine.open();
          return take();
        };
        const failed = (error: unknown) => {
          if (codeOf(error) === "TIMEOUT") return undefined;
          throw error;
        };
        try {
          const wait = { signal: stop, ...(timeoutMs !== undefined && { timeoutMs }) };
          const step = engine.waiters.until(attempt, () => `table ${show(name)} could not provide a batch of the epoch`, wait, core);
          return step instanceof Promise ? step.then(({ batch }) => batch, failed) : step.batch;
        } catch (error) {
          return failed(error);
        }
      },
    };
  };
  return { ...elementsOf(begin, { prefetch: ahead, ...(signal !== undefined && { signal }) }), state: () => walk.state() };
}
