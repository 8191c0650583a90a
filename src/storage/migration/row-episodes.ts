/** Tracks the episodes and successors of rows: 8 bytes per row. */
import type { SavedItem } from "./saved-item.ts";

const LINK_ROW = 0x3fffffff;
const FIRST_ROWS = 1024;

export class RowEpisodes {
  /** The link of each row, by row number. Its low 30 bits are the row number of the successor. */
  #links = new Uint32Array(FIRST_ROWS);
  #episodes = new Uint32Array(FIRST_ROWS);

  set(row: number, link: number, episode: number): void {
    if (row >= this.#links.length) {
      const rows = Math.max(row + 1, 2 * this.#links.length);
      this.#links = grown(this.#links, rows);
      this.#episodes = grown(this.#episodes, rows);
    }
    this.#links[row] = link;
    this.#episodes[row] = episode;
  }

  /** Sets the link of a row, if the row is known. */
  link(row: number, link: number): void {
    if (row < this.#links.length) this.#links[row] = link;
  }

  /** Returns the number of episodes whose items are all evicted. Takes O(rows of all items) if any item is evicted. */
  countGone(evicted: ReadonlySet<SavedItem>, kept: readonly SavedItem[]): number {
    if (evicted.size === 0) return 0;
    const [gone, remaining] = [this.#episodesOf(evicted), this.#episodesOf(kept)];
    for (const episode of remaining) gone.delete(episode);
    return gone.size;
  }

  #episodesOf(items: Iterable<SavedItem>): Set<number> {
    const episodes = new Set<number>();
    for (const { first, length } of items) {
      let row = first;
      for (let left = length; left > 0 && row !== 0; left--) {
        episodes.add(this.#episodes[row] ?? 0);
        row = (this.#links[row] ?? 0) & LINK_ROW;
      }
    }
    return episodes;
  }
}

function grown(from: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(length);
  larger.set(from);
  return larger;
}
