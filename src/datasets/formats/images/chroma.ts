/**
 * Converts the colors of a JPEG in the same way as libjpeg. Subsampled chrominance is interpolated ("fancy upsampling"), then converted to red, green and blue.
 */

/** The sampling factors of a component, horizontally and vertically, relative to the other components. */
export interface Component {
  readonly h: number;
  readonly v: number;
}

interface Samples {
  readonly width: number;
  readonly height: number;
  readonly components: readonly Component[];
  /** Whether the components are luminance and chrominance instead of colors. */
  readonly isYcc: boolean;
}

/** The minimum width of a plane that libjpeg interpolates horizontally. */
const MIN_WIDTH = 3;

/**
 * Converts components to colors in place, and returns the same array. @param data three components per pixel, with each sample repeated for all of its pixels
 */
export function colours(data: Uint8Array, { width, height, components, isYcc }: Samples): Uint8Array {
  const maxH = Math.max(...components.map(({ h }) => h));
  const maxV = Math.max(...components.map(({ v }) => v));
  for (const [i, { h, v }] of components.entries()) {
    const [x, y] = [maxH / h, maxV / v];
    const plane = { width: Math.ceil(width / x), height: Math.ceil(height / y) };
    const isWide = x === 1 || plane.width >= MIN_WIDTH;
    // At all other ratios, libjpeg repeats the samples, as in the given data.
    if ((x === 2 || y === 2) && x <= 2 && y <= 2 && isWide && Number.isInteger(x) && Number.isInteger(y)) interpolate(data, i, { width, height, x, y });
  }
  if (isYcc) toRgb(data);
  return data;
}

interface Ratio {
  readonly width: number;
  readonly height: number;
  /** The number of pixels per sample, 1 or 2 in each direction. */
  readonly x: number;
  readonly y: number;
}

/** Applies a triangle filter. In each direction, a pixel is three parts of its own sample and one part of the other sample that is nearest to it. */
function interpolate(data: Uint8Array, component: number, { width, height, x, y }: Ratio): void {
  const [columns, rows] = [Math.ceil(width / x), Math.ceil(height / y)];
  const plane = new Uint8Array(columns * rows);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) plane[row * columns + column] = data[3 * (row * y * width + column * x) + component] as number;
  // If the samples are also interpolated vertically, these are the weighted sums of a row and its neighbor, whose weights add up to 4. Otherwise, they are the
  // samples of the row.
  const sums = new Int32Array(columns);
  for (let pixelRow = 0; pixelRow < height; pixelRow++) {
    const row = y === 2 ? pixelRow >> 1 : pixelRow;
    const isUpper = (pixelRow & 1) === 0;
    const near = row * columns;
    const other = y === 2 ? Math.min(Math.max(isUpper ? row - 1 : row + 1, 0), rows - 1) * columns : near;
    for (let i = 0; i < columns; i++) sums[i] = y === 2 ? 3 * (plane[near + i] as number) + (plane[other + i] as number) : (plane[near + i] as number);
    const at = 3 * pixelRow * width + component;
    if (x === 1) {
      const bias = isUpper ? 1 : 2;
      for (let i = 0; i < width; i++) data[at + 3 * i] = ((sums[i] as number) + bias) >> 2;
      continue;
    }
    // Rounding alternates to avoid bias.
    const [shift, even, odd] = y === 2 ? [4, 8, 7] : [2, 1, 2];
    const edge = y === 2 ? 4 : 1;
    for (let i = 0; i < width; i++) {
      const column = i >> 1;
      const sum = sums[column] as number;
      const isEven = (i & 1) === 0;
      const next = isEven ? column - 1 : column + 1;
      const isEdge = next < 0 || next === columns;
      if (isEdge) data[at + 3 * i] = y === 2 ? (edge * sum + (isEven ? even : odd)) >> shift : sum;
      else data[at + 3 * i] = (3 * sum + (sums[next] as number) + (isEven ? even : odd)) >> shift;
    }
  }
}

/** The factors of the color conversion, as fixed-point numbers with 16 fractional bits, as in libjpeg. */
const RED = 91881;
const GREEN = [22554, 46802] as const;
const BLUE = 116130;
const HALF = 32768;

function toRgb(data: Uint8Array): void {
  for (let i = 0; i < data.length; i += 3) {
    const y = data[i] as number;
    const cb = (data[i + 1] as number) - 128;
    const cr = (data[i + 2] as number) - 128;
    data[i] = clamp(y + ((RED * cr + HALF) >> 16));
    data[i + 1] = clamp(y + ((-GREEN[0] * cb - GREEN[1] * cr + HALF) >> 16));
    data[i + 2] = clamp(y + ((BLUE * cb + HALF) >> 16));
  }
}

function clamp(value: number): number {
  return value < 0 ? 0 : value > 255 ? 255 : value;
}
