/** Collects statistics of packed frames, by the name in the option `packed`. */
import { PACKED_LIVE } from "../base/abi.ts";
import type { Engine } from "./engine.ts";

/** The statistics of the frames that are packed under one name. */
export interface PackedStats {
  /** The number of frames. */
  readonly frames: number;
  /** The number of bytes of the packed frames, including their heads. */
  readonly bytes: number;
  /** The number of bytes that these frames would take without packing. */
  readonly rawBytes: number;
  /** The compression ratio: rawBytes / bytes. NaN without frames. */
  readonly ratio: number;
}

/** Returns the statistics of packed frames by name. O(names) */
export function packedStats({ core, packs }: Engine): { readonly [name: string]: PackedStats } {
  const stats = packs.map(({ name, handle, frames: pool, frameBytes }): [string, PackedStats] => {
    const frames = core.x.pool_live(pool);
    const [bytes, rawBytes] = [core.x.packs_number(handle, PACKED_LIVE), frames * frameBytes];
    return [name, { frames, bytes, rawBytes, ratio: rawBytes / bytes }];
  });
  return Object.fromEntries(stats);
}
