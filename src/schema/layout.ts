/** Where the leaves of a step are, as the core places them (assembly/rows/layout.ts): in the row; wide ones in a column of their own; if shared, in another pool. */
import { mustBe, show } from "../base/error.ts";
import { elementBytes } from "./leaf.ts";
import type { FoundLeaf } from "./spec.ts";

/** Where the bytes of a leaf are (assembly/rows/leaf.ts). */
export const NARROW = 0;
export const WIDE = 1;
export const SHARED = 2;

/** From this size on, neighbours go straight into a batch: for less, a copy by the host costs more than a stop on the way. */
export const DIRECT_BYTES = 1024;
/** The size of a row's count, link and episode. */
export const HEAD_BYTES = 12;

/** What can be told of a leaf alone. */
export interface MeasuredLeaf extends FoundLeaf {
  readonly index: number;
  /** Bytes of one value, including all frames of a stack. */
  readonly bytes: number;
  /** Bytes of one frame, or of the value if it is not a stack. */
  readonly frameBytes: number;
}

export interface PlacedLeaf extends MeasuredLeaf {
  readonly kind: number;
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

/** Where they stand says the core (src/memory/layout.ts). */
export function measureLeaves(found: readonly FoundLeaf[]): MeasuredLeaf[] {
  return found.map((leaf, index) => {
    const bytes = leaf.size * elementBytes(leaf.leaf);
    return { ...leaf, index, bytes, frameBytes: bytes / (leaf.leaf.stack ?? 1) };
  });
}

/** The pools of leaves that share frames, in the order of the leaves. @throws ReplayError SPEC_MISMATCH where their frames differ in size */
export function poolsOf(leaves: readonly MeasuredLeaf[]): Layout["pools"] {
  const pools: { name: string; frameBytes: number }[] = [];
  for (const { leaf, frameBytes, path } of leaves) if (leaf.shared !== undefined) addPool(pools, leaf.shared, frameBytes, path);
  return pools;
}

/** Whether its values at these steps go into a batch without a stop in scratch memory, which has their addresses alone. */
export function isDirect(found: PlacedLeaf, steps: readonly number[]): boolean {
  const { kind, frameBytes } = found;
  if (!canBeDirect(found)) return false;
  // Of a window they stand side by side, as far as others did not append at the same time.
  const areNeighbours = kind === WIDE && steps.length > 1 && steps.every((step, i) => i === 0 || step === (steps[i - 1] as number) + 1);
  return (areNeighbours ? steps.length : 1) * frameBytes >= DIRECT_BYTES;
}

/** Whether its values do so at some steps. */
export function canBeDirect({ kind, leaf, frameBytes }: PlacedLeaf): boolean {
  return (kind === WIDE || (kind === SHARED && frameBytes >= DIRECT_BYTES)) && leaf.dtype !== "string";
}

export function alignUp(n: number, multiple: number): number {
  return Math.ceil(n / multiple) * multiple;
}

/** Leaves that share frames use the same pool and must have frames of the same size. */
function addPool(pools: { name: string; frameBytes: number }[], name: string, frameBytes: number, path: string): void {
  const pool = pools.find((other) => other.name === name);
  if (pool === undefined) pools.push({ name, frameBytes });
  else if (pool.frameBytes !== frameBytes)
    throw mustBe("SPEC_MISMATCH", `a frame of ${path}`, `of ${pool.frameBytes} bytes, like the other leaves shared as ${show(name)}`, frameBytes);
}
