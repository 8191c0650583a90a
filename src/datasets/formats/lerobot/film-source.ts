/** Reads the videos of an open LeRobot dataset. */
import type { Camera, CameraStatistics, FilmSpan, Films } from "../film-references.ts";
import { lazy } from "../lazy.ts";
import { findColumn } from "../parquet/table.ts";
import { checkInside, type SourceFolder } from "../sources/source.ts";
import { type EpisodeEntry, episodeTables } from "./episode-list.ts";
import { wholeLeaf } from "./episode-metadata.ts";
import { INFO, type LeRobotInfo } from "./info.ts";
import { STATISTICS } from "./statistics.ts";

/** Returns the videos of a dataset, or undefined if the dataset has no videos. @param entries the list of episodes */
export function filmsOf(folder: SourceFolder, info: LeRobotInfo, entries: readonly EpisodeEntry[], maxBytes: number): Films | undefined {
  const cameras = new Map<string, Camera>();
  /** The names of the cameras in the files, by their names for the caller. The two differ if the caller renamed a camera. */
  const names = new Map<string, string>();
  for (const [name, { dtype, raw, keys, isRenamed = false }] of info.features) {
    if (dtype !== "video") continue;
    const ownName = isRenamed ? keys.join(".") : name;
    names.set(ownName, name);
    cameras.set(keys.join("/"), { name: ownName, feature: raw });
  }
  if (cameras.size === 0) return undefined;
  let spans: ReadonlyMap<string, readonly FilmSpan[]> | undefined;
  const statistics = new Map<string, () => Promise<readonly CameraStatistics[]>>();
  return {
    fps: typeof info.about.fps === "number" ? info.about.fps : undefined,
    cameras,
    open: (path) => folder.open(checkInside(path, INFO)),
    spans(path) {
      spans ??= spansOf(entries);
      return spans.get(path);
    },
    async statistics(camera, episode) {
      if (info.version === 2) return undefined;
      const find = statistics.get(camera) ?? lazy(() => cameraStatistics(folder, names.get(camera) ?? camera, maxBytes));
      statistics.set(camera, find);
      const found = (await find())[episode];
      const sizes = new Set(Object.values(found?.values ?? {}).map((values) => values.length));
      return found !== undefined && Number.isSafeInteger(found.count) && sizes.size === 1 ? found : undefined;
    },
  };
}

/** Returns the spans of the episodes in each video, by path and in chronological order. */
function spansOf(entries: readonly EpisodeEntry[]): Map<string, FilmSpan[]> {
  const spans = new Map<string, FilmSpan[]>();
  for (const { videos, length } of entries)
    for (const { path, from } of videos.values()) {
      const all = spans.get(path) ?? [];
      all.push({ from, frames: length });
      spans.set(path, all);
    }
  for (const all of spans.values()) all.sort((a, b) => a.from - b.from);
  return spans;
}

/** Returns the statistics of a camera for all episodes, or an empty list if the tables do not have them. */
async function cameraStatistics(folder: SourceFolder, camera: string, maxBytes: number): Promise<CameraStatistics[]> {
  const all: CameraStatistics[] = [];
  for await (const table of episodeTables(folder, maxBytes)) {
    const columns = new Map<string, { readonly values: ArrayLike<unknown>; readonly size: number }>();
    for (const statistic of ["count", ...STATISTICS]) {
      const column = findColumn(table, `stats/${camera}/${statistic}`);
      if (column?.dtype === undefined || column.dtype === "string" || column.dtype === "bytes") continue;
      const { values } = await wholeLeaf(table, column);
      columns.set(statistic, { values, size: values.length / Math.max(table.rows, 1) });
    }
    for (let i = 0; i < table.rows; i++) {
      const at = (statistic: string) => {
        const { values, size } = columns.get(statistic) ?? { values: [], size: 0 };
        return Array.from({ length: size }, (_, k) => Number(values[i * size + k]));
      };
      const values = Object.fromEntries(STATISTICS.filter((statistic) => columns.has(statistic)).map((statistic) => [statistic, at(statistic)]));
      all.push({ count: at("count")[0] ?? 0, values });
    }
  }
  return all;
}
