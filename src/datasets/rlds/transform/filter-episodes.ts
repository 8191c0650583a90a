/** Filters the episodes of a dataset with a predicate. */
import { mustBe } from "../../../base/error.ts";
import { createStepCopier } from "../../model/copy-steps.ts";
import type { RldsDataset, RldsEpisode, RldsStep } from "../../model/dataset.ts";
import { attachSchema, deriveSchema, episodesOf } from "../../model/derive.ts";
import { isSync } from "../../model/maybe-async.ts";
import { StepColumns } from "../../model/step-columns.ts";
import { checkEpisode } from "../../model/traversal.ts";

/** An episode whose steps are columns, as returned by the readers of files. */
type Read<S> = RldsEpisode<S> & { readonly steps: StepColumns<S> };
type Predicate<E> = (episode: E, index: number) => boolean | Promise<boolean>;

/**
 * Returns the episodes for which the predicate returns true. The predicate may read any number of the episode's steps. If steps can be read only once, the
 * steps that the predicate reads are cached, for one episode at a time. Steps in an array or in columns are not cached.
 * @throws TypeError if an argument is invalid
 */
export function filterEpisodes<S = RldsStep>(rlds: AsyncIterable<Read<S>>, predicate: Predicate<Read<S>>): RldsDataset<S> & AsyncIterable<Read<S>>;
export function filterEpisodes<S = RldsStep>(rlds: RldsDataset<S>, predicate: Predicate<RldsEpisode<S>>): RldsDataset<S> & AsyncIterable<RldsEpisode<S>>;
export function filterEpisodes<S>(rlds: RldsDataset<S>, predicate: Predicate<Read<S>>): RldsDataset<S> & AsyncIterable<RldsEpisode<S>> {
  if (typeof predicate !== "function") throw mustBe(TypeError, "predicate", "a function of (episode, index)", predicate);
  const episodes = episodesOf(rlds) as AsyncIterable<RldsEpisode<S>>;
  const filteredEpisodes = {
    async *[Symbol.asyncIterator]() {
      let index = 0;
      for await (const source of episodes) {
        const episode = checkEpisode(source, index);
        const { steps } = episode;
        if (Array.isArray(steps) || steps instanceof StepColumns) {
          if (await predicate(episode as Read<S>, index)) yield episode;
        } else {
          const cached = isSync(steps) ? new CachedSteps(steps) : new AsyncCachedSteps(steps);
          let isWanted = false;
          try {
            isWanted = await predicate({ ...episode, steps: cached.iterable } as unknown as Read<S>, index);
          } finally {
            if (!isWanted) await cached.close();
          }
          if (isWanted) yield cached.hasStarted ? { ...episode, steps: await cached.all() } : episode;
        }
        index++;
      }
    },
  };
  return attachSchema<S>(filteredEpisodes, deriveSchema(rlds)) as typeof filteredEpisodes & RldsDataset<S>;
}

/** Makes steps iterable repeatedly. Steps that have already been read come from a cache, and all other steps from the source. */
class CachedSteps<S> {
  readonly #source: Iterable<S>;
  readonly #steps: S[] = [];
  #iterator: Iterator<S> | undefined;

  constructor(source: Iterable<S>) {
    this.#source = source;
  }

  get hasStarted(): boolean {
    return this.#iterator !== undefined;
  }

  get iterable(): Iterable<S> {
    return { [Symbol.iterator]: () => this.#iterate() };
  }

  *#iterate(): Generator<S, void, undefined> {
    for (let i = 0; i < this.#steps.length || this.#next(); i++) yield this.#steps[i] as S;
  }

  #next(): boolean {
    this.#iterator ??= this.#source[Symbol.iterator]();
    const { done, value } = this.#iterator.next();
    if (!done) this.#steps.push(createStepCopier(this.#source)(value));
    return !done;
  }

  all(): readonly S[] {
    while (this.#next());
    return this.#steps;
  }

  close(): void {
    this.#iterator?.return?.();
  }
}

/** Does the same as CachedSteps for async steps. */
class AsyncCachedSteps<S> {
  readonly #source: AsyncIterable<S>;
  readonly #steps: S[] = [];
  #iterator: AsyncIterator<S> | undefined;

  constructor(source: AsyncIterable<S>) {
    this.#source = source;
  }

  get hasStarted(): boolean {
    return this.#iterator !== undefined;
  }

  get iterable(): AsyncIterable<S> {
    return { [Symbol.asyncIterator]: () => this.#iterate() };
  }

  async *#iterate(): AsyncGenerator<S, void, undefined> {
    for (let i = 0; i < this.#steps.length || (await this.#next()); i++) yield this.#steps[i] as S;
  }

  async #next(): Promise<boolean> {
    this.#iterator ??= this.#source[Symbol.asyncIterator]();
    const { done, value } = await this.#iterator.next();
    if (!done) this.#steps.push(createStepCopier(this.#source)(value));
    return !done;
  }

  async all(): Promise<readonly S[]> {
    while (await this.#next());
    return this.#steps;
  }

  async close(): Promise<void> {
    await this.#iterator?.return?.();
  }
}
