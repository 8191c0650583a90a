/** The single transitions of episodes that ended: rows, oldest first (assembly/rows/recent.ts). */
import { type Env, GRANULE, ROOM, type Steps } from "./steps.ts";

const CHUNK = 1024;

export class Memory {
  readonly handle: number;
  readonly #steps: Steps;
  /** How many have left. */
  #left = 0;

  constructor(steps: Steps) {
    const { engine, x } = steps;
    this.#steps = steps;
    this.handle = engine.core.alloc(GRANULE);
    x.stream_init(this.handle, engine.pool, ROOM, 0);
  }

  get length(): number {
    return this.#steps.x.stream_length(this.handle);
  }

  /** Room for n more. @throws ReplayError OUT_OF_MEMORY, and then nothing changed */
  reserve(n: number): void {
    const { engine, x } = this.#steps;
    const code = x.stream_reserve(this.handle, n);
    if (code !== 0) throw engine.core.failure(code);
    engine.changed();
  }

  /** Holds the steps of a running episode as well; there must be room. */
  pour(env: Env): void {
    this.#steps.x.stream_hold(this.handle, env.handle);
  }

  /** Lets the n oldest go. */
  drop(n: number): void {
    this.#steps.x.stream_drop(this.handle, n);
    this.#left += n;
  }

  /** Lets all go, and gives the memory back. */
  close(): void {
    const { engine, x } = this.#steps;
    this.drop(this.length);
    x.stream_shrink(this.handle, ROOM);
    engine.core.x.arena_free(this.handle, GRANULE);
  }

  /** Names of all rows, one by one; without those that leave meanwhile, which may be other steps by then. */
  *held(): Generator<number, void> {
    const before = this.#left;
    for (const [i, row] of this.rows().entries()) if (i >= this.#left - before) yield row;
  }

  /** Names of n rows from the `from`-th oldest on. */
  rows(from = 0, n: number = this.length): Uint32Array {
    const { engine, x } = this.#steps;
    const rows = new Uint32Array(n);
    const at = engine.core.scratch(4 * CHUNK);
    for (let done = 0; done < n; done += CHUNK) {
      const count = x.stream_rows(this.handle, from + done, Math.min(CHUNK, n - done), at);
      rows.set(engine.core.u32.subarray(at / 4, at / 4 + count), done);
    }
    return rows;
  }
}
