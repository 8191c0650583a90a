/** Caches recent episodes, so that they are not read again when the user returns to them. */
import type { EpisodeData } from "../messages.ts";
import type { LeafColumn } from "../model/columns.ts";

export class KeptEpisodes {
  readonly #episodes = new Map<number, EpisodeData>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(index: number): EpisodeData | undefined {
    const found = this.#episodes.get(index);
    if (found === undefined) return undefined;
    // The most recently used episode is last.
    this.#episodes.delete(index);
    this.#episodes.set(index, found);
    return found;
  }

  /** Adds an episode and evicts the least recently used episodes. An episode larger than the cache is not stored. */
  add(episode: EpisodeData): void {
    const bytes = bytesOf(episode);
    if (this.#episodes.has(episode.index) || bytes > this.#maxBytes) return;
    this.#episodes.set(episode.index, episode);
    this.#bytes += bytes;
    for (const [index, old] of this.#episodes) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#episodes.delete(index);
      this.#bytes -= bytesOf(old);
    }
  }
}

function bytesOf({ columns }: EpisodeData): number {
  return columns.reduce((sum, { data }: LeafColumn) => sum + (ArrayBuffer.isView(data) ? data.byteLength : 64 * data.length), 1024);
}
