/** Where the leaves of a step are, as the core places them (assembly/rows/layout.ts): in the row; wide ones in a column of their own; if shared, in another pool. */
import { mustBe, show } from "../base/error.ts";
import { isHalf } from "./half.ts";
import { elementBytes, type RowLeaf } from "./leaf.ts";
import type { FoundLeaf } from "./spec.ts";

/** Where the bytes of a leaf are (assembly/rows/leaf.ts). */
export const NARROW = 0;
export const WIDE = 1;
export const SHARED = 2;
/** The one leaf of a pool of packed frames, and of the pool of their entries. */
export const PACKED = 3;
export const ENTRY = 4;

/** From this size on, neighbours go straight into a batch: for less, a copy by the host costs more than a stop on the way. */
export const DIRECT_BYTES = 1024;
/** The size of a row's count, link and episode. */
export const HEAD_BYTES = 12;
/** What an entry of a packed frame has beside its bytes, in a pack. */
const ENTRY_HEAD_BYTES = 8;

/** What can be told of a leaf alone. */
export interface MeasuredLeaf extends FoundLeaf {
  readonly index: number;
  /** Bytes of one value in rows, including all frames of a stack. */
  readonly bytes: number;
  /** The same in an array of a column or a batch: twice as many for half floats. */
  readonly arrayBytes: number;
  /** Bytes of one frame in rows, or of the value if it is not a stack. */
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
  /** Those of frames that leaves share. */
  readonly pools: readonly FramePool[];
}

/** Frames that leaves of one name share. */
export interface FramePool {
  readonly name: string;
  readonly frameBytes: number;
  /** How they are packed, where they are. */
  readonly packed?: PackedFrames | undefined;
}

export interface PackedFrames {
  /** How many times smaller they are expected to be. */
  readonly ratio: number;
  /** Bytes of a row of the image, and of a pixel: what packs well stands so far apart. */
  readonly row: number;
  readonly element: number;
}

/** Where they stand says the core (src/memory/layout.ts). */
export function measureLeaves(found: readonly FoundLeaf[]): MeasuredLeaf[] {
  return found.map((leaf, index) => {
    const bytes = leaf.size * elementBytes(leaf.leaf);
    const arrayBytes = isHalf(leaf.leaf.dtype) ? 2 * bytes : bytes;
    return { ...leaf, index, bytes, arrayBytes, frameBytes: bytes / (leaf.leaf.stack ?? 1) };
  });
}

/** The pools of leaves that share frames, in the order of the leaves. @throws ReplayError SPEC_MISMATCH where their frames differ in size */
export function poolsOf(leaves: readonly MeasuredLeaf[]): Layout["pools"] {
  const pools: FramePool[] = [];
  for (const leaf of leaves) if (leaf.leaf.shared !== undefined) addPool(pools, leaf, leaf.leaf.shared);
  return pools;
}

/** Whether its values at these steps go into a batch without a stop in scratch memory, which has their addresses alone. */
export function isDirect(found: PlacedLeaf, steps: readonly number[]): boolean {
  const { kind } = found;
  if (!canBeDirect(found)) return false;
  // Of a window they stand side by side, as far as others did not append at the same time.
  const areNeighbours = kind === WIDE && steps.length > 1 && steps.every((step, i) => i === 0 || step === (steps[i - 1] as number) + 1);
  return (areNeighbours ? steps.length : 1) * arrayFrameBytes(found) >= DIRECT_BYTES;
}

/** Bytes of one frame in an array of a batch. */
export function arrayFrameBytes({ arrayBytes, leaf }: MeasuredLeaf): number {
  return arrayBytes / (leaf.stack ?? 1);
}

/** Whether its values do so at some steps. */
export function canBeDirect(found: PlacedLeaf): boolean {
  const { kind, leaf } = found;
  return (kind === WIDE || (kind === SHARED && arrayFrameBytes(found) >= DIRECT_BYTES)) && leaf.dtype !== "string";
}

/** Bytes that a frame takes with its heads. @param ratio how many times smaller a packed one becomes; 1 for one that does not pack */
export function storedFrameBytes({ frameBytes, packed }: FramePool, ratio = 1): number {
  if (packed === undefined) return HEAD_BYTES + alignUp(frameBytes, 8);
  return 2 * HEAD_BYTES + alignUp(ENTRY_HEAD_BYTES + frameBytes / ratio, 4);
}

export function alignUp(n: number, multiple: number): number {
  return Math.ceil(n / multiple) * multiple;
}

/** Where so many values of each leaf are as arrays, if what is at their own offsets is to be kept: those of half floats from an offset on; last, where these end. */
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

/** Leaves that share frames use the same pool and must have frames of the same size, packed alike. */
function addPool(pools: FramePool[], { leaf, frameBytes, path }: MeasuredLeaf, name: string): void {
  const pool = pools.find((other) => other.name === name);
  if (pool === undefined) {
    pools.push({ name, frameBytes, packed: leaf.packed === undefined ? undefined : { ratio: leaf.packed, ...imageOf(leaf) } });
    return;
  }
  const others = `like the other leaves shared as ${show(name)}`;
  if (pool.frameBytes !== frameBytes) throw mustBe("SPEC_MISMATCH", `a frame of ${path}`, `of ${pool.frameBytes} bytes, ${others}`, frameBytes);
  const { ratio } = pool.packed ?? {};
  if (ratio !== leaf.packed)
    throw mustBe("SPEC_MISMATCH", `${path}`, `${ratio === undefined ? "not packed" : `packed with ratio ${ratio}`}, ${others}`, leaf.packed ?? "not packed");
}

/** Channels of a pixel at most, where they are the last dimension. */
const MAX_CHANNELS = 4;

/** A frame as an image: bytes of a row and of a pixel. Its last dimension is that of channels, if it is that short and not the only one beside rows. */
function imageOf(leaf: RowLeaf): Pick<PackedFrames, "row" | "element"> {
  const { shape } = leaf;
  const bytes = elementBytes(leaf);
  const last = shape.at(-1) ?? 1;
  const hasChannels = shape.length > 2 && last <= MAX_CHANNELS;
  return hasChannels ? { row: last * bytes * (shape.at(-2) as number), element: last * bytes } : { row: last * bytes, element: bytes };
}
