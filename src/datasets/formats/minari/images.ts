/** Decodes the JPEG images of Minari, which the spaces in its metadata declare. */
import { corruptFile } from "../../model/rlds-error.ts";
import { Column, type ColumnTree } from "../columns/column.ts";
import { imageHead } from "../images/image-head.ts";
import { imageDecoder } from "../images/images.ts";
import { parseJson } from "../json.ts";

/** A Gymnasium space in the JSON form of Minari. */
export interface Space {
  readonly type?: unknown;
  readonly dtype?: unknown;
  readonly shape?: unknown;
  readonly subspaces?: { readonly [name: string]: Space };
}

/** Parses a space from JSON. Returns undefined if the value is not a string. @throws RldsError CORRUPT if the string is not JSON */
export function spaceOf(text: unknown, file: string): Space | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return (parseJson(text) ?? undefined) as Space | undefined;
  } catch (cause) {
    throw corruptFile({ file }, `an observation space or action space in the metadata is not valid JSON: ${(cause as Error).message}`, cause);
  }
}

/** Returns the columns with encoded images replaced by pixels, where a space declares an image. */
export function withPixels(tree: ColumnTree, space: Space | undefined, file: string, maxBytes: number): ColumnTree {
  if (space === undefined) return tree;
  if (tree instanceof Column) return pixels(tree, space, file, maxBytes);
  const below = (name: string, node: ColumnTree) => {
    const { subspaces } = space;
    const subspace = typeof subspaces === "object" && subspaces !== null && Object.hasOwn(subspaces, name) ? subspaces[name] : undefined;
    return withPixels(node, subspace, file, maxBytes);
  };
  if (Array.isArray(tree)) return tree.map((node, i) => below(String(i), node));
  return Object.fromEntries(Object.entries(tree).map(([name, node]) => [name, below(name, node)]));
}

function pixels(column: Column, { type, dtype, shape }: Space, file: string, maxBytes: number): Column {
  const { leaf } = column;
  const encoded = leaf.dtype === "bytes" ? leaf.shape.length === 0 : leaf.dtype === "u8" && leaf.shape.length === 1;
  const isImage = type === "Box" && dtype === "uint8" && Array.isArray(shape) && (shape.length === 2 || shape.length === 3);
  if (!encoded || !isImage || !shape.every((n) => Number.isInteger(n) && n > 0)) return column;
  const [rows, columns, channels = 1] = shape as [number, number, number?];
  const size = rows * columns * channels;
  return new Column({
    ...column,
    leaf: { dtype: "u8", shape },
    rowBytes: size,
    async read(from, to) {
      if ((to - from) * size > maxBytes)
        throw corruptFile({ file }, `${column.path} needs ${(to - from) * size} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
      const [data, decode] = [await column.read(from, to), await imageDecoder()];
      const all = new Uint8Array((to - from) * size);
      const length = leaf.shape[0] as number;
      for (let i = 0; i < to - from; i++) {
        const bytes = leaf.dtype === "bytes" ? (data[i] as unknown as Uint8Array) : (data as Uint8Array).subarray(i * length, (i + 1) * length);
        try {
          const { height, width } = imageHead(bytes);
          if (height !== rows || width !== columns) throw new Error(`the image has ${height} × ${width} pixels instead of ${rows} × ${columns}`);
          all.set(decode(bytes, { type: "u8", channels }, maxBytes), i * size);
        } catch (cause) {
          throw corruptFile({ file }, `image ${from + i} of ${column.path} cannot be read: ${(cause as Error).message}`, cause);
        }
      }
      return all;
    },
  });
}
