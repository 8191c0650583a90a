/** Decides how a leaf is shown: as plots of numbers, as a film of pixels, as a video to which steps refer, or as texts. */
import type { LeafColumn, LeafForm } from "./columns.ts";

export type LeafKind = "numbers" | "film" | "encoded" | "text";

/** The layout of one step's pixels. */
export interface FilmForm {
  readonly width: number;
  readonly height: number;
  readonly channels: 1 | 3 | 4;
  /** Whether all values of one channel are stored before those of the next channel, instead of pixel by pixel. */
  readonly planar: boolean;
}

/** Arrays with a height or width below this are shown as numbers instead of images. */
const SHORTEST = 8;

/** Returns the image layout of a leaf, or undefined if the leaf is not an image. */
export function filmForm({ dtype, shape }: LeafForm): FilmForm | undefined {
  if (!["u8", "f32", "f16", "bf16"].includes(dtype)) return undefined;
  const [a = 0, b = 0, c = 0] = shape;
  const isImage = (height: number, width: number) => height >= SHORTEST && width >= SHORTEST;
  if (shape.length === 2 && dtype === "u8" && isImage(a, b)) return { height: a, width: b, channels: 1, planar: false };
  if (shape.length !== 3) return undefined;
  if (isImage(a, b) && (c === 1 || c === 3 || c === 4)) return { height: a, width: b, channels: c, planar: false };
  if (isImage(b, c) && (a === 1 || a === 3 || a === 4)) return { height: b, width: c, channels: a, planar: true };
  return undefined;
}

/** Whether the leaf can be stored as a LeRobot film. */
export function isFilm(leaf: LeafForm): boolean {
  const form = filmForm(leaf);
  return leaf.dtype === "u8" && form?.channels === 3 && !form.planar;
}

export function kindOf(leaf: LeafForm): LeafKind {
  if (leaf.dtype === "string") return "text";
  if (leaf.dtype === "bytes") return "encoded";
  return filmForm(leaf) === undefined ? "numbers" : "film";
}

/** A video to which steps refer. The video's file and the time in the video are separate leaves. */
export interface VideoLeaves {
  /** The keys that lead to the video, joined with slashes: `observation/images/top`. */
  readonly path: string;
  readonly files: readonly string[];
  readonly times: Float64Array;
}

/** Returns the references of LeRobot: a leaf `…/path` with a leaf `…/timestamp` next to it. */
export function videosOf(columns: readonly LeafColumn[]): VideoLeaves[] {
  const by = new Map(columns.map((column) => [column.path, column]));
  return columns.flatMap(({ path, dtype, size, data }) => {
    if (!path.endsWith("/path") || dtype !== "string" || size !== 1) return [];
    const video = path.slice(0, -"/path".length);
    const times = by.get(`${video}/timestamp`);
    if (times?.dtype !== "f64" || times.size !== 1) return [];
    return [{ path: video, files: data as readonly string[], times: times.data as Float64Array }];
  });
}

/** Writes one step's pixels in the format of a canvas. Floats are 0 … 1, or 0 … 255 if a value is above 1. @param into an array of width × height × 4 bytes */
export function fillPixels({ width, height, channels, planar }: FilmForm, data: ArrayLike<number>, step: number, into: Uint8ClampedArray): void {
  const pixels = width * height;
  const size = pixels * channels;
  const from = step * size;
  const scale = data instanceof Float32Array && !exceeds(data, from, from + size, 1) ? 255 : 1;
  const next = planar ? 1 : channels;
  const plane = planar ? pixels : 1;
  for (let i = 0; i < pixels; i++) {
    const at = from + i * next;
    const red = (data[at] as number) * scale;
    into[4 * i] = red;
    into[4 * i + 1] = channels === 1 ? red : (data[at + plane] as number) * scale;
    into[4 * i + 2] = channels === 1 ? red : (data[at + 2 * plane] as number) * scale;
    into[4 * i + 3] = channels === 4 ? (data[at + 3 * plane] as number) * scale : 255;
  }
}

function exceeds(data: Float32Array, from: number, to: number, limit: number): boolean {
  for (let i = from; i < to; i++) if ((data[i] as number) > limit) return true;
  return false;
}
