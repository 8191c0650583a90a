/** Defines the videos of a dataset. Steps refer to frames with leaves `{path, timestamp}`. */
import { isLeaf } from "../../schema/leaf.ts";
import type { StepLeaf, StepSpec } from "../model/dataset.ts";
import type { Losses } from "./sinks/losses.ts";
import type { SourceFile } from "./sources/source.ts";

/** The videos of one camera. */
export interface Camera {
  /** The name of the LeRobot feature, or the name that is set with `rename`, such as `observation.images.top`. */
  readonly name: string;
  /** The entry of the feature in meta/info.json, which contains its dtype, shape, names and info. */
  readonly feature: { readonly [key: string]: unknown };
}

/** The videos of an open dataset. The LeRobot writer copies them. */
export interface Films {
  /** The frame rate, in frames per second. */
  readonly fps: number | undefined;
  /** The cameras, by the path of the leaf that refers to them, such as `observation/images/top`. */
  readonly cameras: ReadonlyMap<string, Camera>;
  /**
   * Opens a video.
   * @param path the path of the video, as in the steps
   * @throws RldsError NOT_FOUND if the video does not exist
   */
  open(path: string): Promise<SourceFile>;
  /** Returns the frames of all source episodes in a video, in order. Returns undefined if the source does not list them. */
  spans?(path: string): readonly FilmSpan[] | undefined;
  /**
   * Returns the statistics of a camera in a source episode, as in meta/episodes. Each statistic is a list with one element per channel. Returns undefined if
   * the source has no statistics.
   */
  statistics(camera: string, episode: number): Promise<CameraStatistics | undefined>;
}

/** The frames of an episode in a video. */
export interface FilmSpan {
  /** The time of the first frame, in seconds from the beginning of the video. */
  readonly from: number;
  readonly frames: number;
}

/** The statistics of one camera in an episode. */
export interface CameraStatistics {
  readonly count: number;
  readonly values: { readonly [statistic: string]: readonly number[] };
}

/** Returns the keys of each group `{path, timestamp}` that refers to a frame of a video. */
export function filmReferences(spec: StepSpec, keys: readonly string[] = []): string[][] {
  if (isLeaf(spec) || Array.isArray(spec)) return [];
  const { path, timestamp } = spec as { readonly [name: string]: StepSpec };
  if (Object.keys(spec).length === 2 && isSingle(path, "string") && isSingle(timestamp, "f64")) return [[...keys]];
  return Object.entries(spec).flatMap(([name, part]) => filmReferences(part as StepSpec, [...keys, name]));
}

function isSingle(node: StepSpec | undefined, dtype: StepLeaf["dtype"]): boolean {
  return isLeaf(node) && node.dtype === dtype && node.shape.length === 0;
}

/** Records a loss for each reference to a video, for formats that store the references but not the videos. */
export function addFilmLosses(losses: Losses, stepSpec: StepSpec): void {
  for (const keys of filmReferences(stepSpec)) losses.add(keys.join("/"), "films are not copied, and steps refer to them by their paths in the source");
}
