/** The episodes of rows, and the rows that follow them: 8 bytes for each row. */

const LINK_ROW = 0x3fffffff;
const FIRST_ROWS = 1024;

export class RowEpisodes {
  /** By the numbers of rows. */
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

  /** Of a row that has a successor now. */
  link(row: number, link: number): void {
    if (row < this.#links.length) this.#links[row] = link;
  }

  /** Adds the episodes of an item's rows. O(rows) */
  addTo(episodes: Set<number>, { first, length }: { readonly first: number; readonly length: number }): void {
    let row = first;
    for (let left = length; left > 0 && row !== 0; left--) {
      episodes.add(this.#episodes[row] ?? 0);
      row = (this.#links[row] ?? 0) & LINK_ROW;
    }
  }
}

function grown(from: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(length);
  larger.set(from);
  return larger;
}
