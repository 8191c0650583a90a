/** Chooses how the values of a leaf are shown: as images, as text, or as numbers or lines. */
import { numberText } from "./format.ts";
import type { LeafValues } from "./protocol.ts";

/** The arrangement of pixels in a value. */
export interface ImageLayout {
  readonly height: number;
  readonly width: number;
  /** The number of channels: 1 for gray, 3 or 4 for color. */
  readonly channels: number;
  /** Whether channels are the first dimension. */
  readonly isPlanar: boolean;
  /** The number of images in a value: a stack of frames. */
  readonly frames: number;
}

/** The minimum length of an image's sides in pixels, and the maximum ratio of the sides. */
const MIN_SIDE = 8;
const MAX_RATIO = 8;

/** Returns the image layout of a leaf's values; undefined if they are not images. */
export function imageLayout({ dtype, shape }: Pick<LeafValues, "dtype" | "shape">): ImageLayout | undefined {
  if (dtype === "string" || dtype === "i64" || dtype === "u64" || shape.length < 2 || shape.length > 4) return undefined;
  const isSide = (height: number, width: number) => Math.min(height, width) >= MIN_SIDE && Math.max(height, width) <= MAX_RATIO * Math.min(height, width);
  const isColor = (channels: number) => channels === 1 || channels === 3 || channels === 4;
  const [a = 1, b = 1, c = 1] = shape.slice(-3);
  const leading = shape.slice(0, -3).reduce((product, n) => product * n, 1);
  if (shape.length === 2)
    return isSide(b, c) || isSide(a, b) ? { height: shape[0] as number, width: shape[1] as number, channels: 1, isPlanar: false, frames: 1 } : undefined;
  if (isColor(c) && isSide(a, b)) return { height: a, width: b, channels: c, isPlanar: false, frames: leading };
  if (!isSide(b, c)) return undefined;
  return a === 3
    ? { height: b, width: c, channels: 3, isPlanar: true, frames: leading }
    : { height: b, width: c, channels: 1, isPlanar: false, frames: leading * a };
}

/** Returns the RGBA pixels of the image that begins at `from`. Bytes are unchanged. Other numbers are scaled: `low` becomes black, and `high` becomes white. */
export function pixelsOf(data: ArrayLike<number>, from: number, layout: ImageLayout, low: number, high: number): Uint8ClampedArray<ArrayBuffer> {
  const { height, width, channels, isPlanar } = layout;
  const size = height * width;
  const scale = high > low ? 255 / (high - low) : 0;
  const pixels = new Uint8ClampedArray(4 * size);
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < 4; k++) {
      const channel = channels === 1 ? 0 : k;
      const hasChannel = k < 3 || channels === 4;
      const at = isPlanar ? channel * size + i : channels * i + channel;
      pixels[4 * i + k] = hasChannel ? ((data[from + at] as number) - low) * scale : 255;
    }
  }
  return pixels;
}

/** Returns the numbers that represent black and white in an image of this dtype. */
export function rangeOf(dtype: string, data: ArrayLike<number>): readonly [low: number, high: number] {
  if (dtype === "u8") return [0, 255];
  if (dtype === "bool") return [0, 1];
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < data.length; i++) {
    const value = data[i] as number;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  // Pixels between 0 and 1, as networks use them, keep their brightness.
  return low >= 0 && high <= 1 ? [0, 1] : [low, high];
}

/** The values of an item's leaf as lines over its steps, or over the elements of a value if there are few steps or many elements. */
export interface Lines {
  readonly over: "steps" | "elements";
  readonly x: readonly number[];
  readonly ys: readonly (readonly number[])[];
  readonly series: readonly string[];
}

/** The maximum number of lines in a plot, the number of steps up to which the lines run over elements instead of steps, and the maximum points per line. */
const MAX_LINES = 8;
const MIN_STEPS = 4;
const MAX_POINTS = 2048;

/** Returns the lines of a leaf; undefined if its values were not read, or are so few that text is easier to read. */
export function linesOf({ data, shape, steps }: LeafValues): Lines | undefined {
  const size = shape.reduce((product, n) => product * n, 1);
  if (data === undefined || size * steps <= MAX_LINES * MIN_STEPS) return undefined;
  const at = (step: number, element: number) => Number((data as ArrayLike<number>)[step * size + element]);
  const count = (n: number) => Array.from({ length: Math.min(n, MAX_POINTS) }, (_, i) => i);
  if (steps > MIN_STEPS && size <= MAX_LINES) {
    const x = count(steps);
    const series = Array.from({ length: size }, (_, i) => (size === 1 ? "value" : `[${i}]`));
    return { over: "steps", x, series, ys: series.map((_, element) => x.map((step) => at(step, element))) };
  }
  const x = count(size);
  const series = Array.from({ length: Math.min(steps, MAX_LINES) }, (_, step) => `step ${step}`);
  return { over: "elements", x, series, ys: series.map((_, step) => x.map((element) => at(step, element))) };
}

/** Returns one row of text per step: the index of the step, then its values. */
export function rowsOf({ data, shape, steps }: LeafValues): string[][] {
  const size = shape.reduce((product, n) => product * n, 1);
  const text = (value: unknown) => (typeof value === "number" ? numberText(value) : String(value));
  return Array.from({ length: steps }, (_, step) => [
    String(step),
    Array.from({ length: size }, (_, i) => text((data as ArrayLike<unknown>)[step * size + i])).join("  "),
  ]);
}
