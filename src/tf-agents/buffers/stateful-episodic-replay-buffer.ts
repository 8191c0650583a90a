/** An episodic buffer that remembers which episodes are being added to. After TF-Agents' `StatefulEpisodicReplayBuffer`. */

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
   * @param numEpisodes episodes that go side by side, for `addBatch`; one, for `addSequence`, where it is left out or 0
   * @throws TypeError, RangeError (more than the buffer's capacity)
   */
  constructor(buffer: EpisodicReplayBuffer<S>, numEpisodes?: number) {
    hideFrames(new.target);
    if (!(buffer instanceof EpisodicReplayBuffer)) throw mustBe(TypeError, "buffer", "an EpisodicReplayBuffer", buffer);
    this.#buffer = buffer;
    this.#ids = buffer.createEpisodeIds(numEpisodes as number);
  }

  /** The ids of the episodes that are being added to; -1 for one that has not begun. */
  get episodeIds(): number | readonly number[] {
    return this.#ids;
  }

  get dataSpec(): S {
    return this.#buffer.dataSpec;
  }

  get capacity(): number {
    return this.#buffer.capacity;
  }

  /** One step each; see `EpisodicReplayBuffer.addBatch`. */
  addBatch(items: ItemsOf<S>): readonly number[] {
    const ids = this.#buffer.addBatch(items, this.#ids as number[]);
    this.#ids = ids;
    return ids;
  }

  /** A sequence of steps; see `EpisodicReplayBuffer.addSequence`. */
  addSequence(items: ItemsOf<S>): number {
    const id = this.#buffer.addSequence(items, this.#ids as number);
    this.#ids = id;
    return id;
  }

  /** Copies of episodes; see `EpisodicReplayBuffer.extendEpisodes`. */
  extendEpisodes(indices: ArrayLike<number>, episodes: Episodes<S>): readonly number[] {
    const ids = this.#buffer.extendEpisodes(this.#ids as number[], indices, episodes);
    this.#ids = ids;
    return ids;
  }

  // Every other method is the buffer's.

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

  /** See `EpisodicReplayBuffer.clear`. Where ids are numbered from 0 again, those that are being added to are given anew, too. */
  clear(options?: ClearOptions): void {
    this.#buffer.clear(options);
    if (options?.clearAllVariables) this.#ids = typeof this.#ids === "number" ? -1 : this.#ids.map(() => -1);
  }

  numFrames(): number {
    return this.#buffer.numFrames();
  }
}
