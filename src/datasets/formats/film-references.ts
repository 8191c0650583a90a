/** Films beside the steps of a dataset: leaves `{path, timestamp}` refer to their frames. */
import { isLeaf } from "../../schema/leaf.ts";
import type { StepLeaf, StepSpec } from "../model/dataset.ts";
import type { Losses } from "./sinks/losses.ts";
import type { SourceFile } from "./sources/source.ts";

/** The films of one camera. */
export interface Camera {
  /** As LeRobot calls the feature, or the option `rename` does: `observation.images.top` */
  readonly name: string;
  /** What meta/info.json says of it: dtype, shape, names, info. */
  readonly feature: { readonly [key: string]: unknown };
}

/** The films of a dataset that is open: what a writer of LeRobot copies. */
export interface Films {
  /** Frames a second. */
  readonly fps: number | undefined;
  /** By the path of the leaf that refers to it: `observation/images/top` */
  readonly cameras: ReadonlyMap<string, Camera>;
  /** @param path as steps have it @throws RldsError NOT_FOUND */
  open(path: string): Promise<SourceFile>;
  /** The frames of all episodes of the source in a film, in order. Undefined if the source does not list them. */
  spans?(path: string): readonly FilmSpan[] | undefined;
  /** Of an episode of the source, by its number, as meta/episodes has it: a list a statistic, an element a channel. Undefined if it has none */
  statistics(camera: string, episode: number): Promise<CameraStatistics | undefined>;
}

/** The frames of an episode in a film. */
export interface FilmSpan {
  /** The time of the first one, in seconds of the film. */
  readonly from: number;
  readonly frames: number;
}

export interface CameraStatistics {
  readonly count: number;
  readonly values: { readonly [statistic: string]: readonly number[] };
}

/** The keys of leaves that refer to frames of a film. */
export function filmReferences(spec: StepSpec, keys: readonly string[] = []): string[][] {
  if (isLeaf(spec) || Array.isArray(spec)) return [];
  const { path, timestamp } = spec as { readonly [name: string]: StepSpec };
  if (Object.keys(spec).length === 2 && isSingle(path, "string") && isSingle(timestamp, "f64")) return [[...keys]];
  return Object.entries(spec).flatMap(([name, part]) => filmReferences(part as StepSpec, [...keys, name]));
}

function isSingle(node: StepSpec | undefined, dtype: StepLeaf["dtype"]): boolean {
  return isLeaf(node) && node.dtype === dtype && node.shape.length === 0;
}

/** Of a format that has references alone. */
export function addFilmLosses(losses: Losses, stepSpec: StepSpec): void {
  for (const keys of filmReferences(stepSpec)) losses.add(keys.join("/"), "films are not copied, and steps refer to them by their paths in the source");
}
