/** Compares the number of frames in each video with the steps that refer to the video. */

import type { Films } from "../../formats/index.ts";
import { mp4Frames } from "../../model/mp4-frames.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { RunningCheck } from "./check-report.ts";

/** The video to which a camera's current steps refer. */
interface CurrentFilm {
  readonly path: string;
  /** The number of steps that refer to the video. `lastTime` is the time of the last frame that they need. */
  steps: number;
  lastTime: number;
  /** The episode that needs the last frame. */
  episode: number;
}

/** Compares videos with their steps. The steps of a video are consecutive, so only one video per camera is tracked. */
export class FilmLengths {
  readonly #films: Films;
  readonly #report: RunningCheck;
  readonly #current = new Map<string, CurrentFilm>();
  /** The videos whose last step was added but that have not been compared yet. */
  readonly #finished: { readonly camera: string; readonly film: CurrentFilm }[] = [];

  constructor(films: Films, report: RunningCheck) {
    this.#films = films;
    this.#report = report;
  }

  /** Adds a step of an episode. */
  add(camera: string, path: string, time: number, episode: number): void {
    const film = this.#current.get(camera);
    if (film === undefined || film.path !== path) {
      if (film !== undefined) this.#finished.push({ camera, film });
      this.#current.set(camera, { path, steps: 1, lastTime: time, episode });
      return;
    }
    film.steps++;
    if (time > film.lastTime) [film.lastTime, film.episode] = [time, episode];
  }

  /** Compares the finished videos. @param isEnd whether the last step was added */
  async compare(isEnd: boolean): Promise<void> {
    if (isEnd) for (const [camera, film] of this.#current) this.#finished.push({ camera, film });
    for (const { camera, film } of this.#finished.splice(0)) await this.#compare(camera, film);
  }

  async #compare(camera: string, { path, steps, lastTime, episode }: CurrentFilm): Promise<void> {
    const place = { episode, path: camera, file: path };
    let frames: number;
    try {
      const file = await this.#films.open(path);
      try {
        frames = await mp4Frames(file);
      } finally {
        await file.close();
      }
    } catch (error) {
      // A full disk or a lost connection is not a fault of the data.
      if (error instanceof RldsError && error.code === "IO") throw error;
      this.#report.fault("missingFilms", { ...place, text: `${path} cannot be read: ${(error as Error).message}` });
      return;
    }
    const { fps } = this.#films;
    const needed = fps === undefined ? steps : Math.round(lastTime * fps) + 1;
    const counts = `${path} has ${frames} frames`;
    if (frames < needed) this.#report.fault("shortFilms", { ...place, value: frames, text: `${counts}, but the steps need ${needed}` });
    else if (frames > steps) this.#report.warn("longFilms", { ...place, value: frames, text: `${counts}, but only ${steps} steps refer to it` });
  }
}
