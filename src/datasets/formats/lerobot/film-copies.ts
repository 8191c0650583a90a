/** Films of another LeRobot dataset, on their way into a new one: copied as they are, each once. */
import { mp4Frames } from "../../model/mp4-frames.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import type { Camera, Films } from "../film-references.ts";
import type { StagedFile } from "../sinks/staging.ts";
import type { SourceFile } from "../sources/source.ts";
import type { Layout } from "./layout.ts";
import { type FeatureStatistics, STATISTICS } from "./statistics.ts";
import type { VideoSpan } from "./video.ts";

/** Bytes at a time. */
const PIECE = 1 << 20;
/** LeRobot compares times of frames with such a tolerance, in seconds. */
const TOLERANCE = 1e-4;

/** What an episode says of its frames in one film. */
export interface FilmedFrames {
  readonly episode: number;
  /** A path and a time in that file for each frame. */
  readonly paths: readonly string[];
  readonly times: ArrayLike<number>;
  /** The frames' times in the episode. */
  readonly frameTimes: ArrayLike<number>;
  readonly fps: number;
}

/** The films of one camera. */
export class FilmCopies {
  readonly camera: Camera;
  readonly #films: Films;
  readonly #create: (path: string) => Promise<StagedFile>;
  readonly #layout: Layout;
  /** Numbers of the new files, by the paths of the old ones. */
  readonly #files = new Map<string, number>();

  constructor(camera: Camera, films: Films, create: (path: string) => Promise<StagedFile>, layout: Layout) {
    this.camera = camera;
    this.#films = films;
    this.#create = create;
    this.#layout = layout;
  }

  /** Copies the film of an episode, unless it is there. @throws RldsError UNSUPPORTED for frames that are not one behind the other in one film */
  async add({ episode, paths, times, frameTimes, fps }: FilmedFrames): Promise<VideoSpan> {
    const [path] = paths as readonly [string];
    const from = Math.max((times[0] as number) - (frameTimes[0] as number), 0);
    const isApart = (i: number) => paths[i] !== path || Math.abs((times[i] as number) - from - (frameTimes[i] as number)) > TOLERANCE;
    const at = paths.findIndex((_, i) => isApart(i));
    if (at >= 0)
      throw unsupportedFile({ episode, step: at }, `${this.camera.name} must have its frames one behind the other in one film, to be copied as they are`);
    if (this.#layout.isPerEpisode && (this.#files.has(path) || from > TOLERANCE)) throw this.#cutError(path, episode);
    if (!this.#files.has(path)) await this.#copy(path, paths.length, episode);
    return { file: this.#files.get(path) as number, from, to: from + paths.length / fps };
  }

  /** Of an episode of the source. @throws RldsError */
  async statistics(episode: number): Promise<FeatureStatistics | undefined> {
    const found = await this.#films.statistics(this.camera.name, episode);
    if (found === undefined || !STATISTICS.every((statistic) => found.values[statistic] !== undefined)) return undefined;
    return { count: found.count, values: STATISTICS.map((statistic) => Float64Array.from(found.values[statistic] as readonly number[])) };
  }

  #cutError(path: string, episode: number): RldsError {
    const reason = "version 2.1 has a film per episode, and films are not cut";
    return unsupportedFile({ file: path, episode }, `${this.camera.name}: the film has several episodes, ${reason}. Write version 3.0`);
  }

  async #copy(path: string, frames: number, episode: number): Promise<void> {
    const number = this.#files.size;
    const source = await this.#films.open(path);
    try {
      if (this.#layout.isPerEpisode && (await countFrames(source)) > frames) throw this.#cutError(path, episode);
      const file = await this.#create(this.#layout.filmPath(this.camera.name, number));
      for (let at = 0; at < source.size; at += PIECE) await file.write((await source.read(at, Math.min(PIECE, source.size - at))).slice());
      await file.close();
    } finally {
      await source.close();
    }
    this.#files.set(path, number);
  }
}

/** Frames of a film; 0 if it does not say them. */
async function countFrames(source: SourceFile): Promise<number> {
  return mp4Frames(source).catch((error) => {
    if (error instanceof RldsError) throw error;
    return 0;
  });
}

/** @throws RldsError UNSUPPORTED, as films are copied with their frames where they are */
export function checkFilmRate({ fps }: Films, wanted: number): void {
  if (fps !== undefined && fps !== wanted)
    throw new RldsError("UNSUPPORTED", `the films have ${fps} frames a second, got fps ${wanted}. Leave fps as it is, or the films out`);
}
