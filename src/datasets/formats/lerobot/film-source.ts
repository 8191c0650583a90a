/** The films of a LeRobot dataset that is open. */
import type { Camera, CameraStatistics, Films } from "../film-references.ts";
import { lazy } from "../lazy.ts";
import { findColumn } from "../parquet/table.ts";
import { checkInside, type SourceFolder } from "../sources/source.ts";
import { episodeTables } from "./episode-list.ts";
import { wholeLeaf } from "./episode-metadata.ts";
import { INFO, type LeRobotInfo } from "./info.ts";
import { STATISTICS } from "./statistics.ts";

/** Undefined if the dataset has none. */
export function filmsOf(folder: SourceFolder, info: LeRobotInfo, maxBytes: number): Films | undefined {
  const cameras = new Map<string, Camera>();
  /** The features of the files, which may have other names. */
  const features = new Map<string, string>();
  for (const [name, { dtype, raw, keys }] of info.features) {
    if (dtype !== "video") continue;
    const camera = keys.join(".");
    cameras.set(keys.join("/"), { name: camera, feature: raw });
    features.set(camera, name);
  }
  if (cameras.size === 0) return undefined;
  const statistics = new Map<string, () => Promise<readonly CameraStatistics[]>>();
  return {
    fps: typeof info.about.fps === "number" ? info.about.fps : undefined,
    cameras,
    open: (path) => folder.open(checkInside(path, INFO)),
    async statistics(camera, episode) {
      if (info.version === 2) return undefined;
      const find = statistics.get(camera) ?? lazy(() => cameraStatistics(folder, features.get(camera) ?? camera, maxBytes));
      statistics.set(camera, find);
      const found = (await find())[episode];
      const sizes = new Set(Object.values(found?.values ?? {}).map((values) => values.length));
      return found !== undefined && Number.isSafeInteger(found.count) && sizes.size === 1 ? found : undefined;
    },
  };
}

/** Of all episodes; none if the tables have no columns for them. */
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
