/** Reads the camera frames of ALOHA. A frame consists of pixels, or is a JPEG that is padded to the length of the other frames. */
import { corruptFile } from "../../model/rlds-error.ts";
import { Column, type ColumnTree } from "../columns/column.ts";
import { imageHead } from "../images/image-head.ts";
import { imageDecoder } from "../images/images.ts";
import type { Hdf5File } from "./hdf5-file.ts";

const CHANNELS = 3;

/**
 * Returns the columns with JPEG frames decoded to pixels. All frames of a camera must have the size of its first frame. @throws RldsError CORRUPT if the first
 * frame of a camera is damaged or needs more than maxBytes. The columns throw the same error for later frames
 */
export async function alohaImages(hdf5: Hdf5File, tree: ColumnTree): Promise<ColumnTree> {
  if (tree instanceof Column || Array.isArray(tree)) return tree;
  const { images, ...others } = tree as { readonly [name: string]: ColumnTree };
  if (images === undefined || images instanceof Column || Array.isArray(images)) return tree;
  const cameras: [string, ColumnTree][] = [];
  for (const [name, column] of Object.entries(images)) cameras.push([name, column instanceof Column ? await withPixels(column, hdf5) : column]);
  return { ...others, images: Object.fromEntries(cameras) };
}

async function withPixels(column: Column, { name: file, maxBytes }: Hdf5File): Promise<Column> {
  const { leaf, rows = 0, path } = column;
  if (leaf.dtype !== "u8" || leaf.shape.length !== 1 || rows === 0) return column;
  const length = leaf.shape[0] as number;
  const first = (await column.read(0, 1)) as Uint8Array;
  // A column that does not begin with a JPEG is a vector, not an image.
  if (first[0] !== 0xff || first[1] !== 0xd8) return column;
  const imageError = (i: number, cause: unknown) => corruptFile({ file }, `image ${i} of ${path} cannot be read: ${(cause as Error).message}`, cause);
  let shape: [number, number, number];
  try {
    const { height, width } = imageHead(first);
    shape = [height, width, CHANNELS];
  } catch (cause) {
    throw imageError(0, cause);
  }
  const size = shape[0] * shape[1] * CHANNELS;
  if (!(size > 0 && 4 * size <= maxBytes))
    throw corruptFile({ file }, `decoding an image of ${path} needs ${4 * size} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
  return new Column({
    ...column,
    leaf: { dtype: "u8", shape },
    rowBytes: size,
    async read(from, to) {
      if ((to - from) * size > maxBytes)
        throw corruptFile({ file }, `${path} needs ${(to - from) * size} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
      const [data, decode] = [(await column.read(from, to)) as Uint8Array, await imageDecoder()];
      const all = new Uint8Array((to - from) * size);
      for (let i = 0; i < to - from; i++) {
        try {
          const pixels = decode(data.subarray(i * length, (i + 1) * length), { type: "u8", channels: CHANNELS }, maxBytes);
          if (pixels.length !== size) throw new Error(`the image has ${pixels.length} bytes of pixels, but the first image has ${size}`);
          all.set(pixels, i * size);
        } catch (cause) {
          throw imageError(from + i, cause);
        }
      }
      return all;
    },
  });
}
