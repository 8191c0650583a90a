/** Computes the frames that are kept when episodes are left out of a video. */
import type { Camera, FilmSpan } from "../film-references.ts";

/** The frames `from` … `to - 1` of the video. */
export interface FrameRange {
  readonly from: number;
  readonly to: number;
}

/** A video, and its frames that are kept. */
export interface FilmCut {
  /** The path of the video, as in the steps. */
  readonly path: string;
  /** The frames that are kept, in order. */
  readonly ranges: readonly FrameRange[];
  /** The frame rate of the video before and after the cut, in frames per second. */
  readonly fps: number;
  /** The codec, by its name in LeRobot, such as "h264" or "av1". Undefined if the source does not state it. */
  readonly codec: string | undefined;
  /** The pixel format, by its name in ffmpeg, such as "yuv420p". Undefined if the source does not state it. */
  readonly pixelFormat: string | undefined;
  /** Writes the next bytes of the mp4 file. The array may be reused when the promise is fulfilled. */
  write(bytes: Uint8Array): Promise<void>;
}

/** A function that cuts a video. The promise is fulfilled when all bytes are written. */
export type CutFilm = (cut: FilmCut) => Promise<void>;

/** Adds the codec and the pixel format that meta/info.json declares for the camera's videos. */
export function filmCut({ feature }: Camera, cut: Omit<FilmCut, "codec" | "pixelFormat">): FilmCut {
  const info = (feature.info ?? feature.video_info ?? {}) as { readonly [key: string]: unknown };
  const textOf = (key: string) => (typeof info[key] === "string" ? info[key] : undefined);
  return { ...cut, codec: textOf("video.codec"), pixelFormat: textOf("video.pix_fmt") };
}

/**
 * Returns all frames except the frames of episodes that are not written. @param written the indices of the written episodes among the spans @param count the
 * number of frames in the video, if it is known
 */
export function keptFrames(spans: readonly FilmSpan[], written: ReadonlySet<number>, fps: number, count: number | undefined): FrameRange[] {
  const ranges: FrameRange[] = [];
  let from = 0;
  let end = 0;
  for (const [k, span] of spans.entries()) {
    const first = Math.round(span.from * fps);
    end = Math.max(end, first + span.frames);
    if (written.has(k)) continue;
    if (first > from) ranges.push({ from, to: first });
    from = first + span.frames;
  }
  const to = Math.max(count ?? end, end);
  if (to > from) ranges.push({ from, to });
  return ranges;
}
