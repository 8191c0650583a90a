/**
 * Finds the stored steps of each episode, as chains of rows. Items and streams prove which rows follow each other. Other links may be stale, because freed rows
 * are reused. Such links count only if they join all stored pieces of an episode into one chain without a contradiction.
 */
import { ABOUT_FIRST, ABOUT_LENGTH, ABOUT_PRIORITY } from "../base/abi.ts";
import type { Engine } from "../memory/engine.ts";
import type { StateParts } from "../memory/state.ts";
import { CoreStream } from "../memory/stream.ts";

/** Consecutive steps of one episode, without a gap. */
export interface Piece {
  /** The number of the episode. If an episode has several pieces, the steps between the pieces are not stored. */
  readonly episode: number;
  /** The numbers of the rows, oldest first. */
  readonly rows: Uint32Array;
  /** How the episode ends at the last row (`Engine.endOf`). */
  readonly end: number;
  /** The number of steps of the episode so far, if a writer continues it after the last row; otherwise 0. */
  readonly openSteps: number;
}

/** The steps so far of episodes that writers continue, by episode number. */
export type OpenEpisodes = ReadonlyMap<number, number>;

export function openEpisodes(engine: Engine, { writers }: StateParts): OpenEpisodes {
  const open = new Map<number, number>();
  for (const handle of writers.flatMap(({ streams }) => streams)) {
    const stream = new CoreStream(engine, handle);
    const last = stream.rows().at(-1);
    if (last !== undefined && engine.endOf(last) === 0) open.set(engine.episodeOf(last), stream.episodeSteps);
  }
  return open;
}

/** The number of rows read per call. */
const CHUNK = 1024;

/**
 * Returns the pieces in the order in which their episodes began; within an episode, the piece that ends or continues the episode is last. O(rows of all items)
 */
export function storedEpisodes(engine: Engine, { tables, writers }: StateParts): Piece[] {
  const { core, pool } = engine;
  const { x } = core;
  const links = new Links(engine.steps);
  const follow = (row: number, next: number) => engine.endOf(row) === 0 && engine.episodeOf(row) === engine.episodeOf(next);
  for (const { handle } of tables) {
    const high = x.table_high(handle);
    for (let slot = 1; slot <= high; slot++) {
      // The priority of a free slot is Infinity. Pending items have negative priorities, and are included.
      if (!(x.table_about(handle, slot, ABOUT_PRIORITY) < Number.POSITIVE_INFINITY)) continue;
      let row = x.table_about(handle, slot, ABOUT_FIRST);
      let left = x.table_about(handle, slot, ABOUT_LENGTH);
      let before = 0;
      while (left > 0) {
        const count = Math.min(left, CHUNK);
        const at = core.scratch(4 * CHUNK) / 4;
        x.pool_run(pool, row, before === 0 ? 0 : 1, count, 4 * at);
        for (let i = 0; i < count; i++) {
          row = core.u32[at + i] as number;
          links.add(before, row, follow);
          before = row;
        }
        left -= count;
      }
    }
  }
  const open = new Map<number, number>();
  for (const handle of writers.flatMap(({ streams }) => streams)) {
    const stream = new CoreStream(engine, handle);
    let before = 0;
    for (const row of stream.rows()) {
      links.add(before, row, follow);
      before = row;
    }
    if (before !== 0 && engine.endOf(before) === 0) open.set(before, stream.episodeSteps);
  }
  links.join(engine);
  const pieces = links.chains().map((rows, place): Piece & { readonly place: number } => {
    const last = rows[rows.length - 1] as number;
    return { episode: engine.episodeOf(last), rows, end: engine.endOf(last), openSteps: open.get(last) ?? 0, place };
  });
  const isLast = ({ end, openSteps }: Piece) => Number(end !== 0 || openSteps > 0);
  return pieces.sort((a, b) => a.episode - b.episode || isLast(a) - isLast(b) || a.place - b.place);
}

/** A map from rows to their successors. It uses open addressing, so that a few million links take no longer than the rows themselves. */
class Links {
  readonly #shift: number;
  /** The rows; 0 in empty places. */
  readonly #keys: Uint32Array;
  readonly #next: Uint32Array;
  /** Whether a proven link leads to the row. */
  readonly #follows: Uint8Array;
  /** The number of unproven links that lead to the row; 2 means several. */
  readonly #claims: Uint8Array;
  /** The rows in insertion order. */
  readonly #visited: Uint32Array;
  #count = 0;

  constructor(rows: number) {
    const bits = Math.max(4, 33 - Math.clz32(rows));
    this.#shift = 32 - bits;
    this.#keys = new Uint32Array(2 ** bits);
    this.#next = new Uint32Array(2 ** bits);
    this.#follows = new Uint8Array(2 ** bits);
    this.#claims = new Uint8Array(2 ** bits);
    this.#visited = new Uint32Array(rows);
  }

  /** Adds a stored row that follows the row `before` in a run. If `before` is 0, the row begins the run. */
  add(before: number, row: number, follow: (before: number, row: number) => boolean): void {
    const at = this.#place(row);
    if (before === 0) return;
    const from = this.#place(before);
    // Only forged data has two links to one row, or a cycle of links, which would never end.
    if (this.#next[from] !== 0 || this.#follows[at] === 1 || !follow(before, row)) return;
    this.#next[from] = row;
    this.#follows[at] = 1;
  }

  /** Follows unproven links in the episodes whose pieces the links join into one chain. */
  join(engine: Engine): void {
    const { core, pool } = engine;
    const heads = new Map<number, number>();
    const joins = new Map<number, number>();
    const more = (counts: Map<number, number>, episode: number) => counts.set(episode, (counts.get(episode) ?? 0) + 1);
    const loose: number[] = [];
    for (const row of this.#rows) {
      const at = this.#place(row);
      const episode = engine.episodeOf(row);
      if (this.#follows[at] === 0) more(heads, episode);
      if (this.#next[at] !== 0 || engine.endOf(row) !== 0) continue;
      const out = core.scratch(4);
      core.x.pool_run(pool, row, 1, 1, out);
      const next = core.u32[out / 4] as number;
      const to = this.#find(next);
      if (next === 0 || this.#keys[to] !== next || this.#follows[to] === 1 || engine.episodeOf(next) !== episode) continue;
      this.#claims[to] = Math.min(2, (this.#claims[to] as number) + 1);
      loose.push(row);
      this.#next[at] = next;
    }
    const isSure = (row: number) => this.#claims[this.#place(this.#next[this.#place(row)] as number)] === 1;
    for (const row of loose) if (isSure(row)) more(joins, engine.episodeOf(row));
    for (const row of loose) {
      const episode = engine.episodeOf(row);
      const at = this.#place(row);
      if (isSure(row) && joins.get(episode) === (heads.get(episode) ?? 0) - 1) this.#follows[this.#place(this.#next[at] as number)] = 1;
      else this.#next[at] = 0;
    }
    // If the links form a cycle, no row is the first row, so no link can be trusted.
    let walked = 0;
    for (const row of this.#rows) for (let at = row; this.#follows[this.#place(row)] === 0 && at !== 0; at = this.#next[this.#place(at)] as number) walked++;
    if (walked === this.#count) return;
    for (const row of loose) {
      const at = this.#place(row);
      if (this.#next[at] !== 0) this.#follows[this.#place(this.#next[at] as number)] = 0;
      this.#next[at] = 0;
    }
  }

  chains(): Uint32Array[] {
    const chains: Uint32Array[] = [];
    for (const first of this.#rows) {
      if (this.#follows[this.#place(first)] === 1) continue;
      const rows: number[] = [];
      for (let row = first; row !== 0; row = this.#next[this.#place(row)] as number) rows.push(row);
      chains.push(Uint32Array.from(rows));
    }
    return chains;
  }

  get #rows(): Uint32Array {
    return this.#visited.subarray(0, this.#count);
  }

  /** Returns the place of a row, or the empty place where it would be. */
  #find(row: number): number {
    const keys = this.#keys;
    let at = Math.imul(row, 0x9e3779b1) >>> this.#shift;
    while (keys[at] !== row && keys[at] !== 0) at = (at + 1) & (keys.length - 1);
    return at;
  }

  #place(row: number): number {
    const at = this.#find(row);
    if (this.#keys[at] === 0) {
      this.#keys[at] = row;
      this.#visited[this.#count++] = row;
    }
    return at;
  }
}
