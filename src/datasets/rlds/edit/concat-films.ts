/** Merges the videos of several datasets. In the result, the path of a video begins with the number of its dataset. */
import { type Camera, type CameraStatistics, type Films, filmReferences } from "../../formats/film-references.ts";
import type { RldsReader } from "../../formats/reader.ts";
import type { RldsDataset } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { StepColumns } from "../../model/step-columns.ts";
import { type ColumnDataset, mapColumns } from "./map-columns.ts";

export interface FilmSource {
  /** The name of the dataset in messages. */
  readonly name: string;
  readonly reader: RldsReader;
}

const NUMBER = "episode_index";

/**
 * Returns the videos of all datasets. Returns undefined if the first dataset has no videos.
 * @throws RldsError UNSUPPORTED if the videos cannot be combined in one dataset
 */
export function concatFilms(sources: readonly FilmSource[]): Films | undefined {
  const [first] = sources as readonly [FilmSource];
  const { films } = first.reader;
  if (films === undefined) return undefined;
  for (const source of sources) checkFilms(first, source);
  const all = sources.map(({ reader }) => reader.films as Films);
  const offsets = episodeOffsets(sources);
  return {
    fps: films.fps,
    cameras: films.cameras,
    async open(path) {
      const [number = "", ...rest] = path.split("/");
      return (all[Number(number)] as Films).open(rest.join("/"));
    },
    spans(path) {
      const [number = "", ...rest] = path.split("/");
      return all[Number(number)]?.spans?.(rest.join("/"));
    },
    async statistics(camera, episode) {
      // If the statistics of any dataset are unknown, all statistics are reported to the writer as missing.
      const known = await Promise.all(all.map((one) => one.statistics(camera, 0)));
      if (offsets === undefined || known.includes(undefined)) return undefined;
      const k = offsets.filter((offset) => offset <= episode).length - 1;
      return (all[k] as Films).statistics(camera, episode - (offsets[k] as number)) as Promise<CameraStatistics | undefined>;
    },
  };
}

/** Returns the episodes of one dataset with references to the merged videos and with a consecutive `episode_index`. @param k the number of the dataset */
export function withFilmNumbers(rlds: RldsDataset<unknown>, sources: readonly FilmSource[], k: number): ColumnDataset {
  const offset = BigInt(episodeOffsets(sources)?.[k] ?? 0);
  return mapColumns(rlds, {
    begin(spec) {
      const paths = new Set(filmReferences(spec).map((keys) => [...keys, "path"].join("/")));
      const columns = new Set(leavesOf(spec).flatMap(({ path }, index) => (paths.has(path) ? [index] : [])));
      return ({ steps, ...metadata }) => {
        const data = steps.parts.map((column, i) => (columns.has(i) ? (column as readonly string[]).map((path) => `${k}/${path}`) : column));
        const number = metadata[NUMBER];
        return { ...metadata, ...(typeof number === "bigint" && { [NUMBER]: number + offset }), steps: new StepColumns(spec, data, steps.length) };
      };
    },
  });
}

/** Returns the number of episodes before each dataset, or undefined if the length of a dataset is unknown. */
function episodeOffsets(sources: readonly FilmSource[]): readonly number[] | undefined {
  let sum = 0;
  const offsets: number[] = [];
  for (const { reader } of sources) {
    if (reader.episodes === undefined) return undefined;
    offsets.push(sum);
    sum += reader.episodes;
  }
  return offsets;
}

function checkFilms(first: FilmSource, { name, reader }: FilmSource): void {
  const [wanted, films] = [first.reader.films as Films, reader.films];
  const error = (what: string) =>
    new RldsError("UNSUPPORTED", `${what}. Films must match, because Reprise copies them unchanged. Pass without: ["PATH"] to leave a film out`);
  if (films === undefined) throw error(`${name} has no films, unlike ${first.name}`);
  if (films.fps !== wanted.fps) throw error(`the films of ${name} have ${films.fps} frames per second, but those of ${first.name} have ${wanted.fps}`);
  for (const [path, camera] of wanted.cameras) {
    const other = films.cameras.get(path);
    if (other === undefined) throw error(`${name} has no film ${path}, unlike ${first.name}`);
    const difference = FILM_KEYS.find((key) => filmValue(camera, key) !== filmValue(other, key));
    if (difference !== undefined)
      throw error(`the ${difference} of ${path} is ${filmValue(other, difference)} in ${name}, but ${filmValue(camera, difference)} in ${first.name}`);
  }
}

/** The properties of a camera's videos that must be equal in all datasets, because meta/info.json declares them once for all files. */
const FILM_KEYS = ["shape", "video.codec", "video.pix_fmt"];

function filmValue({ feature }: Camera, key: string): string {
  const { info, video_info: older } = feature as {
    readonly info?: { readonly [key: string]: unknown } | null;
    readonly video_info?: { readonly [key: string]: unknown } | null;
  };
  return JSON.stringify(feature[key] ?? info?.[key] ?? older?.[key]) ?? "unknown";
}
