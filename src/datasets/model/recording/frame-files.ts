/** Defines the names of frame files, which are stored next to the segments. */
import type { ImageFormat } from "./about.ts";
import type { FrameLeaf } from "./row-layout.ts";

const NAME = /^(\d{6,})-(\d{6,})\.[\w.-]+\.(raw|png)$/;
const LONGEST = 60;

/**
 * The names of frame files, such as `000012-000345.observation.image.png`, which consist of the episode, the step and the camera. Episodes and steps are
 * numbered from 0.
 */
export class FrameNames {
  readonly #cameras: readonly string[];
  readonly #format: ImageFormat;

  constructor(frames: readonly FrameLeaf[], format: ImageFormat) {
    const safeNames = frames.map(({ keys }) => keys.join(".").replace(/[^\w.-]/g, "_"));
    // Safe names may be too long for a file name, or may collide, for example on file systems that ignore case.
    const lower = safeNames.map((name) => name.toLowerCase());
    this.#cameras = safeNames.map((name, i) => (name.length <= LONGEST && lower.indexOf(lower[i] as string) === i ? name : `camera-${i}`));
    this.#format = format;
  }

  of(episode: number, step: number, camera: number): string {
    return `${padNumber(episode)}-${padNumber(step)}.${this.#cameras[camera]}.${this.#format}`;
  }
}

/** Returns the episode and step of a frame file, or undefined for any other file. */
export function frameOf(name: string): { readonly episode: number; readonly step: number } | undefined {
  const [, episode, step] = NAME.exec(name) ?? [];
  return episode === undefined ? undefined : { episode: Number(episode), step: Number(step) };
}

function padNumber(number: number): string {
  return String(number).padStart(6, "0");
}
