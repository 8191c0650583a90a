/**
 * Defines the byte layout of a recorded step. All leaves except camera frames form one row:
 *
 * numbers, each leaf at a multiple of its element size, in the order of the spec │ texts, each as its length in bytes (u32) and UTF-8
 *
 * All numbers are little-endian. Each frame is a separate section before the row.
 */
import { DTYPES, type Dtype } from "../../../schema/dtype.ts";
import type { BoundedText, Leaf, RowLeaf } from "../../../schema/leaf.ts";
import { map } from "../../../schema/nest.ts";
import { leavesOf, type Spec } from "../../../schema/spec.ts";

interface LeafLocation {
  /** The path, for example `observation/image`. */
  readonly path: string;
  readonly keys: readonly string[];
  /** The index among all leaves. */
  readonly index: number;
  /** The number of elements per value. */
  readonly size: number;
}

export interface NumberLeaf extends LeafLocation {
  readonly leaf: Leaf;
  readonly bytes: number;
  /** The byte offset in the row. */
  readonly offset: number;
}

export interface TextLeafOf extends LeafLocation {
  readonly leaf: BoundedText;
}

export interface FrameLeaf extends LeafLocation {
  readonly leaf: Leaf;
  /** The index of the camera among the frame leaves. */
  readonly camera: number;
}

/** Returns whether a leaf is a camera frame, which is u8 of shape [height, width, channels] with 1, 3 or 4 channels. */
export function isFrame({ dtype, shape }: RowLeaf): boolean {
  return dtype === "u8" && shape.length === 3 && [1, 3, 4].includes(shape[2] as number);
}

/** Returns a spec without the options `shared` and `stack`, which only affect the memory of a Replay. A stack becomes the first dimension of its leaf. */
export function toRecordingSpec(spec: Spec): Spec {
  // The spec is checked first, so errors describe a leaf as it was passed.
  leavesOf(spec);
  return map(spec, ({ shape, stack, ...leaf }: RowLeaf) => {
    const fullShape = stack === undefined ? [...shape] : [stack, ...shape];
    return leaf.dtype === "string" ? { dtype: leaf.dtype, shape: fullShape, maxBytes: leaf.maxBytes } : { dtype: leaf.dtype, shape: fullShape };
  }) as Spec;
}

export class RowLayout {
  readonly numbers: readonly NumberLeaf[];
  readonly texts: readonly TextLeafOf[];
  readonly frames: readonly FrameLeaf[];
  /** The number of bytes that the numbers take. The texts follow them. */
  readonly numberBytes: number;

  /** @throws TypeError, RangeError if the spec is not valid */
  constructor(spec: Spec) {
    const numbers: NumberLeaf[] = [];
    const texts: TextLeafOf[] = [];
    const frames: FrameLeaf[] = [];
    let end = 0;
    leavesOf(spec).forEach(({ keys, leaf, size }, index) => {
      const location = { path: keys.join("/"), keys, index, size };
      if (leaf.dtype === "string") texts.push({ ...location, leaf });
      else if (isFrame(leaf)) frames.push({ ...location, leaf, camera: frames.length });
      else {
        const elementBytes = DTYPES[leaf.dtype as Dtype].bytes;
        const offset = Math.ceil(end / elementBytes) * elementBytes;
        end = offset + size * elementBytes;
        numbers.push({ ...location, leaf, bytes: size * elementBytes, offset });
      }
    });
    this.numbers = numbers;
    this.texts = texts;
    this.frames = frames;
    this.numberBytes = end;
  }
}
