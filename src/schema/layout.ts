/**
 * Computes the places of a step's leaves, as the core assigns them (assembly/rows/layout.ts): in the row, in a separate column if a leaf is wide, or in another
 * pool if it is shared.
 */
import { described, mustBe, show } from "../base/error.ts";
import { isHalf } from "./half.ts";
import { elementBytes, type RowLeaf } from "./leaf.ts";
import type { FoundLeaf } from "./spec.ts";

/** The kinds of places of a leaf's bytes (assembly/rows/leaf.ts). */
export const NARROW = 0;
export const WIDE = 1;
export const SHARED = 2;
/** The kinds of the only leaf of a pool of packed frames, and of the only leaf of the pool of their entries. */
export const PACKED = 3;
export const ENTRY = 4;

/** The minimum size of adjacent values that are copied directly into a batch. Smaller values are gathered first, since a host copy per value costs more. */
export const DIRECT_BYTES = 1024;
/** The number of bytes of a row's head: its reference count, link and episode (u32 each). */
export const HEAD_BYTES = 12;
/** The number of bytes that the head of a packed frame's entry takes in a pack. */
const ENTRY_HEAD_BYTES = 8;

/** The sizes of a leaf, which do not depend on other leaves. */
export interface MeasuredLeaf extends FoundLeaf {
  readonly index: number;
  /** The number of bytes of one value in rows, including all frames of a stack. */
  readonly bytes: number;
  /** The number of bytes of one value in an array of a column or a batch: twice as many for half floats. */
  readonly arrayBytes: number;
  /** The number of bytes of one frame in rows, or of the value if the value is not a stack. */
  readonly frameBytes: number;
}

export interface PlacedLeaf extends MeasuredLeaf {
  readonly kind: number;
  /** The offset in the row, in bytes; 0 if the leaf has a separate column. */
  readonly offset: number;
  /** The offset in a staging record, in bytes. */
  readonly staged: number;
}

export interface Layout {
  readonly leaves: readonly PlacedLeaf[];
  readonly rowBytes: number;
  readonly stagedBytes: number;
  /** The pools of frames that leaves share. */
  readonly pools: readonly FramePool[];
}

/** The pool of frames that the leaves with one name share. */
export interface FramePool {
  readonly name: string;
  readonly frameBytes: number;
  /** How the frames are packed; undefined if they are not packed. */
  readonly packed?: PackedFrames | undefined;
}

export interface PackedFrames {
  /** The expected ratio of the size of frames to their packed size. */
  readonly ratio: number;
  /** The number of bytes of a row of the image, and of a pixel: the distances between bytes that are usually similar. */
  readonly row: number;
  readonly element: number;
}

/** Measures leaves. The core assigns their places (src/memory/layout.ts). */
export function measureLeaves(found: readonly FoundLeaf[]): MeasuredLeaf[] {
  return found.map((leaf, index) => {
    const bytes = leaf.size * elementBytes(leaf.leaf);
    const arrayBytes = isHalf(leaf.leaf.dtype) ? 2 * bytes : bytes;
    return { ...leaf, index, bytes, arrayBytes, frameBytes: bytes / (leaf.leaf.stack ?? 1) };
  });
}

/** Returns the pools of leaves that share frames, in the order of the leaves. @throws ReplayError SPEC_MISMATCH if their frames differ in size */
export function poolsOf(leaves: readonly MeasuredLeaf[]): Layout["pools"] {
  const pools: FramePool[] = [];
  for (const leaf of leaves) if (leaf.leaf.shared !== undefined) addPool(pools, leaf, leaf.leaf.shared);
  return pools;
}

/** Returns whether a leaf's values at these steps are copied directly into a batch; scratch memory then contains only their addresses. */
export function isDirect(found: PlacedLeaf, steps: readonly number[]): boolean {
  const { kind } = found;
  if (!canBeDirect(found)) return false;
  // The values of a window are adjacent, unless other writers appended steps in between.
  const areNeighbours = kind === WIDE && steps.length > 1 && steps.every((step, i) => i === 0 || step === (steps[i - 1] as number) + 1);
  return (areNeighbours ? steps.length : 1) * arrayFrameBytes(found) >= DIRECT_BYTES;
}

/** Returns the number of bytes of one frame in an array of a batch. */
export function arrayFrameBytes({ arrayBytes, leaf }: MeasuredLeaf): number {
  return arrayBytes / (leaf.stack ?? 1);
}

/** Returns whether values of a leaf can be copied directly at some steps. */
export function canBeDirect(found: PlacedLeaf): boolean {
  const { kind, leaf } = found;
  return (kind === WIDE || (kind === SHARED && arrayFrameBytes(found) >= DIRECT_BYTES)) && leaf.dtype !== "string";
}

/** Returns the number of bytes of a stored frame, including its heads. @param ratio the packing ratio; 1 for a frame that does not compress */
export function storedFrameBytes({ frameBytes, packed }: FramePool, ratio = 1): number {
  if (packed === undefined) return HEAD_BYTES + alignUp(frameBytes, 8);
  return 2 * HEAD_BYTES + alignUp(ENTRY_HEAD_BYTES + frameBytes / ratio, 4);
}

export function alignUp(n: number, multiple: number): number {
  return Math.ceil(n / multiple) * multiple;
}

/**
 * Returns the offset of an array of `rows` values for each leaf, followed by the end of the last array. These are the `offsets` that were passed, except for
 * half floats. Their arrays have larger elements and get separate places from `from` on, since the bytes at their offsets must not change.
 */
export function arrayOffsets(leaves: readonly MeasuredLeaf[], offsets: readonly number[], rows: number, from: number): number[] {
  let end = from;
  const arrays = leaves.map(({ bytes, arrayBytes }, i) => {
    if (arrayBytes === bytes) return offsets[i] as number;
    const at = alignUp(end, 16);
    end = at + arrayBytes * rows;
    return at;
  });
  return [...arrays, alignUp(end, 16)];
}

/** Adds a leaf to the pool of its name. All leaves of a pool must have frames of the same size and packing. */
function addPool(pools: FramePool[], { leaf, frameBytes, path }: MeasuredLeaf, name: string): void {
  const pool = pools.find((other) => other.name === name);
  if (pool === undefined) {
    pools.push({ name, frameBytes, packed: leaf.packed === undefined ? undefined : { ratio: leaf.packed, ...imageOf(leaf) } });
    return;
  }
  const others = `as for the other leaves shared as ${show(name)}`;
  if (pool.frameBytes !== frameBytes) throw mustBe("SPEC_MISMATCH", `the frame size of ${path} in bytes`, `${pool.frameBytes}, ${others}`, frameBytes);
  const { ratio } = pool.packed ?? {};
  if (ratio !== leaf.packed)
    throw mustBe(
      "SPEC_MISMATCH",
      `${path}`,
      `${ratio === undefined ? "not packed" : `packed with ratio ${ratio}`}, ${others}`,
      described(leaf.packed === undefined ? "not packed" : `ratio ${leaf.packed}`),
    );
}

/** The maximum number of channels of a pixel, if channels are the last dimension. */
const MAX_CHANNELS = 4;

/**
 * Returns the form of a frame as an image: the bytes of a row and of a pixel. The last dimension counts as channels if it is short and at least two other
 * dimensions exist.
 */
function imageOf(leaf: RowLeaf): Pick<PackedFrames, "row" | "element"> {
  const { shape } = leaf;
  const bytes = elementBytes(leaf);
  const last = shape.at(-1) ?? 1;
  const hasChannels = shape.length > 2 && last <= MAX_CHANNELS;
  return hasChannels ? { row: last * bytes * (shape.at(-2) as number), element: last * bytes } : { row: last * bytes, element: bytes };
}
