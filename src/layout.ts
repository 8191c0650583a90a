/** Where the leaves of a step are: in the row, widest first; in a column of their own from 1 KiB on; in another pool where they are shared. */
import { DTYPES } from "./dtype.ts";
import { ReplayError } from "./error.ts";
import type { FoundLeaf } from "./spec.ts";

/** Where a leaf's bytes are (assembly/leaf.ts). */
export const NARROW = 0;
export const WIDE = 1;
export const SHARED = 2;

/** From here on a leaf is a column of its own. */
const WIDE_BYTES = 1024;
/** What a row costs beside its bytes: count, link, episode. */
export const HEAD_BYTES = 12;

export interface PlacedLeaf extends FoundLeaf {
  readonly index: number;
  readonly kind: number;
  /** Bytes of one value, all frames of a stack included. */
  readonly bytes: number;
  /** Bytes of one frame; of what is no stack, the value's. */
  readonly frameBytes: number;
  /** In the row. */
  readonly offset: number;
  /** In a staging record. */
  readonly staged: number;
}

export interface Layout {
  readonly leaves: readonly PlacedLeaf[];
  readonly rowBytes: number;
  readonly stagedBytes: number;
  /** Names of the shared pools, and the bytes of their frames. */
  readonly pools: readonly { readonly name: string; readonly frameBytes: number }[];
}

/** Places the leaves of a spec. */
export function layoutOf(found: readonly FoundLeaf[]): Layout {
  const pools: { name: string; frameBytes: number }[] = [];
  const placed = found.map((leaf, index) => {
    const bytes = leaf.size * DTYPES[leaf.leaf.dtype].bytes;
    const frameBytes = bytes / (leaf.leaf.stack ?? 1);
    const kind = leaf.leaf.shared !== undefined ? SHARED : bytes >= WIDE_BYTES ? WIDE : NARROW;
    if (kind === SHARED) share(pools, leaf, frameBytes);
    return { ...leaf, index, kind, bytes, frameBytes, offset: 0, staged: 0 };
  });
  // Widest first: each leaf then stands at a multiple of its own alignment, without gaps.
  const inRow = placed.filter((leaf) => leaf.kind !== WIDE).sort((a, b) => alignment(rowPart(b)) - alignment(rowPart(a)) || a.index - b.index);
  let at = 0;
  for (const leaf of inRow) {
    leaf.offset = at;
    leaf.staged = at;
    at += rowPart(leaf);
  }
  const widest = inRow.reduce((most, leaf) => Math.max(most, alignment(rowPart(leaf))), 1);
  const rowBytes = up(at, widest === 16 ? 16 : 8);
  let staged = up(rowBytes, 16);
  for (const leaf of placed) {
    if (leaf.kind === NARROW) continue;
    leaf.staged = staged;
    staged = up(staged + leaf.bytes, 16);
  }
  return { leaves: placed, rowBytes, stagedBytes: staged, pools };
}

/** What a leaf takes in the row: its value, or the numbers of its frames. */
function rowPart(leaf: { kind: number; bytes: number; frameBytes: number }): number {
  return leaf.kind === SHARED ? 4 * (leaf.bytes / leaf.frameBytes) : leaf.bytes;
}

/** The largest power of two up to 16 that divides a size. */
function alignment(bytes: number): number {
  return Math.min(bytes & -bytes, 16);
}

export function up(n: number, multiple: number): number {
  return Math.ceil(n / multiple) * multiple;
}

function share(pools: { name: string; frameBytes: number }[], leaf: FoundLeaf, frameBytes: number): void {
  const name = leaf.leaf.shared as string;
  const pool = pools.find((known) => known.name === name);
  if (pool === undefined) pools.push({ name, frameBytes });
  else if (pool.frameBytes !== frameBytes) {
    throw new ReplayError(
      "SPEC_MISMATCH",
      `leaves shared as ${JSON.stringify(name)} must be of one size: ${leaf.path} has ${frameBytes} bytes a frame, another leaf ${pool.frameBytes}`,
    );
  }
}
