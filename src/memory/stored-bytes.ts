/** Sets a limit on the bytes of a Replay's steps, including their frames (assembly/tables/stored-bytes.ts). */
import { HEAD_BYTES, type Layout, storedFrameBytes, WIDE } from "../schema/layout.ts";
import type { Engine } from "./engine.ts";

/** Returns the maximum size of a step in bytes, which it has if all of its frames are new and incompressible. */
export function maxStepBytes({ leaves, rowBytes, pools }: Layout): number {
  let bytes = HEAD_BYTES + rowBytes;
  for (const { kind, leaf, bytes: value, frameBytes } of leaves) {
    if (kind === WIDE) bytes += value;
    const pool = pools.find(({ name }) => name === leaf.shared);
    if (pool !== undefined) bytes += (value / frameBytes) * storedFrameBytes(pool);
  }
  return bytes;
}

export class StoredBytes {
  readonly #engine: Engine;
  readonly #handle: number;

  /** @param table the table that evicts items; 0 if no table does @throws ReplayError OUT_OF_MEMORY */
  constructor(engine: Engine, max: number, table: number) {
    this.#engine = engine;
    const { core, layout } = engine;
    const pools = [engine.pool, ...engine.framePools];
    this.#handle = core.alloc(core.x.stored_bytes_bytes(pools.length));
    const at = core.scratch(4 * pools.length);
    core.u32.set(pools, at >>> 2);
    core.x.stored_bytes_init(this.#handle, max, maxStepBytes(layout), table, at, pools.length);
  }

  /** The current number of bytes of the steps. O(pools) */
  get now(): number {
    return this.#engine.core.x.stored_bytes_now(this.#handle);
  }
}
