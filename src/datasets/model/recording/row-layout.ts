/**
 * What a recorded step is as bytes. The leaves, but for camera frames, are one row:
 *
 *   numbers, each leaf at a multiple of its element's size, in the order of the spec │ texts, of each its bytes u32 and UTF-8
 *
 * Little endian. A frame is a section of its own, before the row.
 */
import { DTYPES, type Dtype } from "../../../schema/dtype.ts";
import type { BoundedText, Leaf, RowLeaf } from "../../../schema/leaf.ts";
import { map } from "../../../schema/nest.ts";
import { leavesOf, type Spec } from "../../../schema/spec.ts";

interface LeafLocation {
  /** `observation/image` */
  readonly path: string;
  readonly keys: readonly string[];
  /** Its place among all leaves. */
  readonly index: number;
  /** Elements of a value. */
  readonly size: number;
}

export interface NumberLeaf extends LeafLocation {
  readonly leaf: Leaf;
  readonly bytes: number;
  /** In the row. */
  readonly offset: number;
}

export interface TextLeafOf extends LeafLocation {
  readonly leaf: BoundedText;
}

export interface FrameLeaf extends LeafLocation {
  readonly leaf: Leaf;
  /** Number of the camera. */
  readonly camera: number;
}

/** A camera's frame: u8 of [height, width, channels], with 1, 3 or 4 channels. */
export function isFrame({ dtype, shape }: RowLeaf): boolean {
  return dtype === "u8" && shape.length === 3 && [1, 3, 4].includes(shape[2] as number);
}

/** A spec without what only a Replay's memory is about: leaves that share, stacks. */
export function toRecordingSpec(spec: Spec): Spec {
  // It is looked at first: errors name the leaf as it was given.
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
  /** Bytes of the numbers: texts stand behind. */
  readonly numberBytes: number;

  /** @throws TypeError, RangeError for what is no spec */
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
