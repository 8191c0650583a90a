/** Implements an episodic buffer that remembers its open episodes. Modelled on `StatefulEpisodicReplayBuffer` of TF-Agents. */

import { mustBe } from "../../base/error.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import type { StepsOf } from "../../batch/batch.ts";
import type { Dataset } from "../../batch/iterate.ts";
import type { Spec } from "../../schema/spec.ts";
import { type Episodes, EpisodicReplayBuffer, type ExtractedEpisodes } from "./episodic-replay-buffer.ts";
import type { ItemsOf } from "./frames.ts";
import type { AsDatasetOptions, ClearOptions, Element, GetNextOptions, ReplayBuffer, SeparateElement } from "./replay-buffer.ts";

export class StatefulEpisodicReplayBuffer<const S extends Spec = Spec> implements ReplayBuffer<S> {
  readonly statefulDataset: boolean = false;
  readonly #buffer: EpisodicReplayBuffer<S>;
  #ids: number | readonly number[];

  /**
   * Creates a buffer that stores the ids of the episodes in progress.
   * @param numEpisodes the number of parallel episodes, for `addBatch`; if omitted or 0, a single episode, for `addSequence`
   * @throws TypeError if an argument has the wrong type
   * @throws RangeError if `numEpisodes` exceeds the capacity of the buffer
   */
  constructor(buffer: EpisodicReplayBuffer<S>, numEpisodes?: number) {
    hideFrames(new.target);
    if (!(buffer instanceof EpisodicReplayBuffer)) throw mustBe(TypeError, "buffer", "an EpisodicReplayBuffer", buffer);
    this.#buffer = buffer;
    this.#ids = buffer.createEpisodeIds(numEpisodes as number);
  }

  /** The ids of the episodes in progress. An episode that has not begun has the id -1. */
  get episodeIds(): number | readonly number[] {
    return this.#ids;
  }

  get dataSpec(): S {
    return this.#buffer.dataSpec;
  }

  get capacity(): number {
    return this.#buffer.capacity;
  }

  /** Adds one step per episode, like `EpisodicReplayBuffer.addBatch`. */
  addBatch(items: ItemsOf<S>): readonly number[] {
    const ids = this.#buffer.addBatch(items, this.#ids as number[]);
    this.#ids = ids;
    return ids;
  }

  /** Adds a sequence of steps to the episode, like `EpisodicReplayBuffer.addSequence`. */
  addSequence(items: ItemsOf<S>): number {
    const id = this.#buffer.addSequence(items, this.#ids as number);
    this.#ids = id;
    return id;
  }

  /** Adds copies of episodes, like `EpisodicReplayBuffer.extendEpisodes`. */
  extendEpisodes(indices: ArrayLike<number>, episodes: Episodes<S>): readonly number[] {
    const ids = this.#buffer.extendEpisodes(this.#ids as number[], indices, episodes);
    this.#ids = ids;
    return ids;
  }

  // The remaining methods forward to the buffer.

  createEpisodeIds(n?: undefined | 0): number;
  createEpisodeIds(n: number): number[];
  createEpisodeIds(n?: number): number | number[] {
    return this.#buffer.createEpisodeIds(n as number);
  }

  extract(locations: ArrayLike<number>, clearData?: boolean): ExtractedEpisodes<S> {
    return this.#buffer.extract(locations, clearData);
  }

  getEpisode(id: number): StepsOf<S> {
    return this.#buffer.getEpisode(id);
  }

  getValidIdsMask(ids: ArrayLike<number>): Uint8Array<ArrayBuffer> {
    return this.#buffer.getValidIdsMask(ids);
  }

  completedEpisodes(): number[] {
    return this.#buffer.completedEpisodes();
  }

  getNext(options: GetNextOptions & { readonly timeStacked: false; readonly numSteps: number }): SeparateElement<S>;
  getNext(options?: GetNextOptions & { readonly timeStacked?: true }): Element<S>;
  getNext(options?: GetNextOptions): Element<S> | SeparateElement<S>;
  getNext(options?: GetNextOptions): Element<S> | SeparateElement<S> {
    return this.#buffer.getNext(options);
  }

  asDataset(options?: AsDatasetOptions<S>): Dataset<Element<S>> {
    return this.#buffer.asDataset(options);
  }

  gatherAll(): StepsOf<S> {
    return this.#buffer.gatherAll();
  }

  /** Clears the buffer, like `EpisodicReplayBuffer.clear`. If ids restart at 0, the episodes in progress also get new ids. */
  clear(options?: ClearOptions): void {
    this.#buffer.clear(options);
    if (options?.clearAllVariables) this.#ids = typeof this.#ids === "number" ? -1 : this.#ids.map(() => -1);
  }

  numFrames(): number {
    return this.#buffer.numFrames();
  }
}
