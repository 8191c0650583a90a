/** Where the leaves of a step are: in the row, widest first; from 256 bytes on in a column of their own; if shared, in another pool. */
import { mustBe, show } from "../error.ts";
import { elementBytes } from "./leaf.ts";
import type { FoundLeaf } from "./spec.ts";

/** Where the bytes of a leaf are (assembly/rows/leaf.ts). */
export const NARROW = 0;
export const WIDE = 1;
export const SHARED = 2;

/** From this size on, a leaf is a column of its own. */
const WIDE_BYTES = 256;
/** From this size on, neighbours go straight into a batch: for less, a copy by the host costs more than a stop on the way. */
export const STRAIGHT_BYTES = 1024;
/** The size of a row's count, link and episode. */
export const HEAD_BYTES = 12;

export interface PlacedLeaf extends FoundLeaf {
  readonly index: number;
  readonly kind: number;
  /** Bytes of one value, including all frames of a stack. */
  readonly bytes: number;
  /** Bytes of one frame, or of the value if it is not a stack. */
  readonly frameBytes: number;
  /** Offset in the row. */
  readonly offset: number;
  /** Offset in a staging record. */
  readonly staged: number;
}

export interface Layout {
  readonly leaves: readonly PlacedLeaf[];
  readonly rowBytes: number;
  readonly stagedBytes: number;
  /** Names of the shared pools, and the size of their frames. */
  readonly pools: readonly { readonly name: string; readonly frameBytes: number }[];
}

/** Places the leaves of a spec. */
export function layoutOf(found: readonly FoundLeaf[]): Layout {
  const pools: { name: string; frameBytes: number }[] = [];
  const leaves = found.map((leaf, index) => {
    const { shared, stack = 1 } = leaf.leaf;
    const bytes = leaf.size * elementBytes(leaf.leaf);
    const frameBytes = bytes / stack;
    const kind = shared !== undefined ? SHARED : bytes >= WIDE_BYTES ? WIDE : NARROW;
    if (shared !== undefined) share(pools, shared, frameBytes, leaf.path);
    // In the row: the value, or the numbers of its frames.
    const part = kind === SHARED ? 4 * stack : bytes;
    // The largest power of two up to 16 that divides it.
    const alignment = Math.min(part & -part, 16);
    return { ...leaf, index, kind, bytes, frameBytes, offset: 0, staged: 0, part, alignment };
  });
  // Widest first, so that each leaf is aligned without gaps.
  const inRow = leaves.filter((leaf) => leaf.kind !== WIDE).sort((a, b) => b.alignment - a.alignment);
  let at = 0;
  for (const leaf of inRow) {
    leaf.offset = at;
    leaf.staged = at;
    at += leaf.part;
  }
  const rowBytes = up(at, inRow[0]?.alignment === 16 ? 16 : 8);
  let stagedBytes = up(rowBytes, 16);
  for (const leaf of leaves) {
    if (leaf.kind === NARROW) continue;
    leaf.staged = stagedBytes;
    stagedBytes = up(stagedBytes + leaf.bytes, 16);
  }
  return { leaves, rowBytes, stagedBytes, pools };
}

/** Whether its values at these steps go into a batch without a stop in scratch memory, which has their addresses alone. */
export function goesStraight(found: PlacedLeaf, steps: readonly number[]): boolean {
  const { kind, frameBytes } = found;
  if (!mayGoStraight(found)) return false;
  // Of a window they stand side by side, as far as others did not append at the same time.
  const areNeighbours = kind === WIDE && steps.length > 1 && steps.every((step, i) => i === 0 || step === (steps[i - 1] as number) + 1);
  return (areNeighbours ? steps.length : 1) * frameBytes >= STRAIGHT_BYTES;
}

/** Whether its values do so at some steps. */
export function mayGoStraight({ kind, leaf, frameBytes }: PlacedLeaf): boolean {
  return (kind === WIDE || (kind === SHARED && frameBytes >= STRAIGHT_BYTES)) && leaf.dtype !== "string";
}

export function up(n: number, multiple: number): number {
  return Math.ceil(n / multiple) * multiple;
}

/** Leaves that share frames use the same pool and must have frames of the same size. */
function share(pools: { name: string; frameBytes: number }[], name: string, frameBytes: number, path: string): void {
  const pool = pools.find((known) => known.name === name);
  if (pool === undefined) pools.push({ name, frameBytes });
  else if (pool.frameBytes !== frameBytes)
    throw mustBe("SPEC_MISMATCH", `a frame of ${path}`, `of ${pool.frameBytes} bytes, like the other leaves shared as ${show(name)}`, frameBytes);
}
