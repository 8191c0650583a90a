/** Copies the videos of another LeRobot dataset into a new dataset. Each video is copied once, or cut if some of its episodes are left out. */
import { mp4Frames } from "../../model/mp4-frames.ts";
import { corruptFile, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import type { Camera, FilmSpan, Films } from "../film-references.ts";
import type { StagedFile } from "../sinks/staging.ts";
import type { SourceFile } from "../sources/source.ts";
import { type CutFilm, type FrameRange, filmCut, keptFrames } from "./film-cut.ts";
import type { Layout } from "./layout.ts";
import { type FeatureStatistics, STATISTICS } from "./statistics.ts";
import type { VideoSpan } from "./video.ts";

/** The number of bytes that are read and written in one piece when a video is copied. */
const PIECE = 1 << 20;
/** The tolerance with which LeRobot compares frame times, in seconds. */
const TOLERANCE = 1e-4;

/** The frames of an episode in one video. */
export interface FilmedFrames {
  readonly episode: number;
  /** The path of the video, per frame. */
  readonly paths: readonly string[];
  /** The time of each frame in the video, in seconds. */
  readonly times: ArrayLike<number>;
  /** The time of each frame in the episode, in seconds. */
  readonly frameTimes: ArrayLike<number>;
}

/** The parameters of FilmCopies. */
export interface FilmCopyPlan {
  readonly films: Films;
  readonly create: (path: string) => Promise<StagedFile>;
  readonly layout: Layout;
  /** The frame rate, in frames per second. */
  readonly fps: number;
  /** The function that cuts videos. Undefined if videos are copied whole. */
  readonly cutFilm: CutFilm | undefined;
}

/** A video whose episodes are being written. */
interface CurrentFilm {
  readonly path: string;
  readonly file: number;
  /** The spans of the source's episodes in the video, in chronological order. Undefined if the source does not list them. */
  readonly spans: readonly FilmSpan[] | undefined;
  /** The indices in `spans` of the episodes that were added. */
  readonly written: Set<number>;
  /** The index in `spans` at which the search for the next added episode begins. */
  next: number;
  /** The number of frames before that index that are cut out of the video. */
  cutFrames: number;
}

/**
 * Copies the videos of one camera. In version 3.0, a video is copied or cut when episodes of the next video follow, or at the end. In version 2.1, each episode
 * has its own video, which is copied or cut immediately.
 */
export class FilmCopies {
  readonly camera: Camera;
  readonly #plan: FilmCopyPlan;
  /** The numbers of the new files, by the paths of the old files. */
  readonly #files = new Map<string, number>();
  #count = 0;
  #current: CurrentFilm | undefined;

  constructor(camera: Camera, plan: FilmCopyPlan) {
    this.camera = camera;
    this.#plan = plan;
  }

  /** Adds the frames of an episode. Returns their place in the new videos. @throws RldsError UNSUPPORTED if the frames are not consecutive in one video */
  async add({ episode, paths, times, frameTimes }: FilmedFrames): Promise<VideoSpan> {
    const { layout, fps } = this.#plan;
    const [path] = paths as readonly [string];
    const from = Math.max((times[0] as number) - (frameTimes[0] as number), 0);
    const isApart = (i: number) => paths[i] !== path || Math.abs((times[i] as number) - from - (frameTimes[i] as number)) > TOLERANCE;
    const at = paths.findIndex((_, i) => isApart(i));
    if (at >= 0)
      throw unsupportedFile({ episode, step: at }, `the frames of ${this.camera.name} must be consecutive in one film, so that Reprise can copy them`);
    if (layout.isPerEpisode) return this.#addAlone(path, { from, frames: paths.length }, episode);
    const film = await this.#filmAt(path);
    const start = from - this.#cutBefore(film, { from, frames: paths.length }, episode) / fps;
    return { file: film.file, from: start, to: start + paths.length / fps };
  }

  /** Copies or cuts the current video, if there is one. */
  async finish(): Promise<void> {
    const film = this.#current;
    this.#current = undefined;
    if (film === undefined) return;
    const { path, spans = [], written } = film;
    if (this.#plan.cutFilm === undefined || written.size === spans.length) return this.#copy(path, film.file);
    await this.#withSource(path, async (source) => {
      const count = (await countFrames(source)) || undefined;
      await this.#cut(path, film.file, keptFrames(spans, written, this.#plan.fps, count), count);
    });
  }

  /** Returns the statistics of an episode of the source, or undefined if the source does not have all of them. @throws RldsError */
  async statistics(episode: number): Promise<FeatureStatistics | undefined> {
    const found = await this.#plan.films.statistics(this.camera.name, episode);
    if (found === undefined || !STATISTICS.every((statistic) => found.values[statistic] !== undefined)) return undefined;
    return { count: found.count, values: STATISTICS.map((statistic) => Float64Array.from(found.values[statistic] as readonly number[])) };
  }

  /** Adds an episode that has its own video. */
  async #addAlone(path: string, { from, frames }: FilmSpan, episode: number): Promise<VideoSpan> {
    const { films, cutFilm, fps } = this.#plan;
    const file = this.#count++;
    await this.#withSource(path, async (source) => {
      const isFirst = from <= TOLERANCE && !this.#files.has(path);
      this.#files.set(path, file);
      const count = await countFrames(source);
      const isAlone = isFirst && (count <= frames || (cutFilm !== undefined && films.spans?.(path)?.length === 1));
      if (isAlone) return this.#copy(path, file);
      if (cutFilm === undefined) throw this.#cutError(path, episode);
      const first = Math.round(from * fps);
      await this.#cut(path, file, [{ from: first, to: first + frames }], count || undefined);
    });
    return { file, from: 0, to: frames / fps };
  }

  async #filmAt(path: string): Promise<CurrentFilm> {
    if (this.#current?.path === path) return this.#current;
    await this.finish();
    const { films, cutFilm } = this.#plan;
    const known = this.#files.get(path);
    // The first copy of this video may have been cut, so its episodes must be consecutive.
    if (known !== undefined && cutFilm !== undefined)
      throw unsupportedFile({ file: path }, `the episodes in a film of ${this.camera.name} must be consecutive`);
    const file = known ?? this.#count++;
    this.#files.set(path, file);
    const film = { path, file, spans: films.spans?.(path), written: new Set<number>(), next: 0, cutFrames: 0 };
    if (known === undefined) this.#current = film;
    return film;
  }

  /**
   * Marks an episode of a video as written. Returns the number of frames before the episode that are cut out of the video, which is 0 if videos are copied
   * whole. @throws RldsError UNSUPPORTED if the source does not list the frames of the episode in this order
   */
  #cutBefore(film: CurrentFilm, { from, frames }: FilmSpan, episode: number): number {
    const { path, spans, written } = film;
    const { cutFilm, fps } = this.#plan;
    if (cutFilm === undefined || spans === undefined) return 0;
    for (const span of spans.slice(film.next)) {
      const at = film.next++;
      if (Math.abs(span.from - from) < 0.5 / fps && span.frames >= frames) {
        written.add(at);
        return film.cutFrames;
      }
      film.cutFrames += span.frames;
    }
    throw unsupportedFile(
      { file: path, episode },
      `the episodes must be in the same order as in the film of ${this.camera.name}, and each must have the frames that the source lists for it`,
    );
  }

  #cutError(path: string, episode: number): RldsError {
    const reason = "but version 2.1 requires one film per episode";
    const remedy = "Write version 3.0, or cut the film with the option cutFilm or with reprise edit, which uses ffmpeg";
    return unsupportedFile({ file: path, episode }, `the film of ${this.camera.name} has several episodes, ${reason}. ${remedy}`);
  }

  async #copy(path: string, number: number): Promise<void> {
    await this.#withSource(path, async (source) => {
      const file = await this.#create(number);
      for (let at = 0; at < source.size; at += PIECE) await file.write((await source.read(at, Math.min(PIECE, source.size - at))).slice());
      await file.close();
    });
  }

  /** @param count the number of frames in the video, if known */
  async #cut(path: string, number: number, ranges: readonly FrameRange[], count: number | undefined): Promise<void> {
    const { cutFilm, fps } = this.#plan;
    const needed = ranges.at(-1)?.to ?? 0;
    if (count !== undefined && count < needed) throw corruptFile({ file: path }, `the film has ${count} frames, but the steps need ${needed}`);
    const file = await this.#create(number);
    await (cutFilm as CutFilm)(filmCut(this.camera, { path, fps, ranges, write: (bytes) => file.write(bytes) }));
    await file.close();
  }

  #create(number: number): Promise<StagedFile> {
    const { layout, create } = this.#plan;
    return create(layout.filmPath(this.camera.name, number));
  }

  async #withSource(path: string, use: (source: SourceFile) => Promise<void>): Promise<void> {
    const source = await this.#plan.films.open(path);
    try {
      await use(source);
    } finally {
      await source.close();
    }
  }
}

/** Returns the number of frames in a video, or 0 if the file does not state this number. */
async function countFrames(source: SourceFile): Promise<number> {
  return mp4Frames(source).catch((error) => {
    if (error instanceof RldsError) throw error;
    return 0;
  });
}

/** Checks the frame rate of copied videos. @throws RldsError UNSUPPORTED if it differs, because copying does not change the times of frames */
export function checkFilmRate({ fps }: Films, wanted: number): void {
  if (fps !== undefined && fps !== wanted)
    throw new RldsError("UNSUPPORTED", `fps must be ${fps}, as in the films, got ${wanted}. Keep the fps of the films, or omit the option films`);
}
