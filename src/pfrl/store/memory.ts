/** The single transitions of episodes that ended: rows, oldest first (assembly/writer/steps.ts). */
import { type Env, GRANULE, type Steps } from "./steps.ts";

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
    x.env_init(this.handle, engine.pool, 0);
  }

  get length(): number {
    return this.#steps.x.env_length(this.handle);
  }

  /** Room for n more. @throws ReplayError OUT_OF_MEMORY, and then nothing changed */
  reserve(n: number): void {
    const { engine, x } = this.#steps;
    const code = x.env_reserve(this.handle, n);
    if (code !== 0) throw engine.core.failure(code);
    engine.changed();
  }

  /** Holds the steps of a running episode as well. @throws ReplayError OUT_OF_MEMORY where no room was made */
  pour(env: Env): void {
    const { engine, x } = this.#steps;
    const code = x.memory_pour(this.handle, env.handle);
    if (code !== 0) throw engine.core.failure(code);
  }

  /** Lets the n oldest go. */
  drop(n: number): void {
    this.#steps.x.memory_drop(this.handle, n);
    this.#left += n;
  }

  /** Lets all go, and gives the memory back. */
  close(): void {
    const { engine, x } = this.#steps;
    this.drop(this.length);
    x.env_shrink(this.handle);
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
      const count = x.env_rows(this.handle, from + done, Math.min(CHUNK, n - done), at);
      rows.set(engine.core.u32.subarray(at / 4, at / 4 + count), done);
    }
    return rows;
  }
}
