/** What is left of a film if episodes of it are left out. */
import type { Camera, FilmSpan } from "../film-references.ts";

/** Frames by their numbers in the film: `from` … `to - 1`. */
export interface FrameRange {
  readonly from: number;
  readonly to: number;
}

/** A film that is written with a part of its frames. */
export interface FilmCut {
  /** The path of the film, as steps have it. */
  readonly path: string;
  /** The frames to keep, in order. */
  readonly ranges: readonly FrameRange[];
  /** Frames a second, of the film and of the new one. */
  readonly fps: number;
  /** As LeRobot calls it: "h264", "av1", … Undefined if the source does not state it. */
  readonly codec: string | undefined;
  /** As ffmpeg calls it: "yuv420p", … Undefined if the source does not state it. */
  readonly pixelFormat: string | undefined;
  /** Takes the bytes of an mp4 file, in order. They may change once the promise is fulfilled. */
  write(bytes: Uint8Array): Promise<void>;
}

/** All bytes were written when it is fulfilled. */
export type CutFilm = (cut: FilmCut) => Promise<void>;

/** With what meta/info.json says of the camera's films. */
export function filmCut({ feature }: Camera, cut: Omit<FilmCut, "codec" | "pixelFormat">): FilmCut {
  const info = (feature.info ?? feature.video_info ?? {}) as { readonly [key: string]: unknown };
  const textOf = (key: string) => (typeof info[key] === "string" ? info[key] : undefined);
  return { ...cut, codec: textOf("video.codec"), pixelFormat: textOf("video.pix_fmt") };
}

/** All frames but those of episodes that are not written. @param written places of episodes among the spans @param count frames of the film, if they are known */
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
