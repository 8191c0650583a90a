/** Maps the leaves of a step to the features of a LeRobot frame. */
import { described, mustBe } from "../../../base/error.ts";
import { isText } from "../../../schema/leaf.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { TASKS } from "../columns/task-names.ts";
import type { Camera } from "../film-references.ts";

/** A feature that stores a leaf. */
export interface OutputFeature {
  /** The name, for example `observation.images.top`. */
  readonly name: string;
  readonly leaf: StepLeaf;
  /** The number of elements per value. */
  readonly size: number;
  /** The index among the leaves of a step. */
  readonly column: number;
  readonly kind: "numbers" | "text" | "image" | "video";
}

/** A text leaf that may contain the task. `column` is its index among the leaves of a step or of the episode's metadata. */
export interface TaskLeaf {
  readonly column: number;
  readonly of: "step" | "episode";
}

/** The features of a frame, and the leaves with a special meaning. */
export interface FrameSchema {
  readonly features: readonly OutputFeature[];
  /** The leaves that may contain the task. The first nonempty text is used. */
  readonly tasks: readonly TaskLeaf[];
  /** The index of the leaf `is_last`, if it is a single bool. */
  readonly isLast?: number;
  /** The index of the leaf `is_terminal`, if it is a single bool. */
  readonly isTerminal?: number;
  /** Whether the steps contain `next.done`. If not, the writer computes it. */
  readonly hasDone: boolean;
  /** The index of the leaf `timestamp`, if it is a single float and no videos are encoded. */
  readonly timestamp?: number;
  /** The cameras whose videos are copied. */
  readonly films: readonly FilmFeature[];
}

/** A camera whose videos are copied. */
export interface FilmFeature {
  readonly camera: Camera;
  /** The index of the leaf with the path of the video. */
  readonly path: number;
  /** The index of the leaf with the time in the video. */
  readonly timestamp: number;
}

/** The options that select features. */
export interface FrameSchemaOptions {
  /** The paths of image leaves. Default: every u8 leaf of shape [height, width, 3] that is not a video. */
  readonly images?: readonly string[];
  readonly videos: readonly string[];
  /** The cameras whose videos are copied, by the path of the leaf that refers to the videos. */
  readonly cameras: ReadonlyMap<string, Camera>;
  /** The path of the task's text in a step or the episode's metadata. Default: all paths in TASKS that exist. */
  readonly taskLeaf?: string;
}

/** The leaves of a step that do not become features, because the writer generates their features or LeRobot has none. */
const INDEX_FEATURES = new Set(["frame_index", "episode_index", "index", "task_index", "is_first", "is_last", "timestamp"]);
const MAX_DIMENSIONS = 5;

/** Returns the features of a frame. @throws RangeError if an option refers to an unsuitable leaf · RldsError UNSUPPORTED if a leaf cannot be a feature */
export function createFrameSchema(stepSpec: StepSpec, metadataSpec: { readonly [name: string]: StepSpec }, options: FrameSchemaOptions): FrameSchema {
  const { images, videos, cameras } = options;
  const leaves = leavesOf(stepSpec);
  const at = (path: string) => {
    const index = leaves.findIndex((leaf) => leaf.path === path);
    return index < 0 ? undefined : index;
  };
  for (const [option, paths] of Object.entries({ images: images ?? [], videos }))
    for (const path of paths) {
      const leaf = leaves[at(path) ?? -1];
      if (leaf === undefined) {
        const known = leaves.map((candidate) => candidate.path);
        throw mustBe(RangeError, option, `paths of step leaves (${known.join(", ")})`, path, known);
      }
      const channels = option === "videos" ? [3] : [1, 3, 4];
      if (!isPicture(leaf.leaf, channels))
        throw mustBe(
          RangeError,
          `${option}: ${path}`,
          `u8 of shape [height, width, ${channels.join(" or ")}]`,
          described(`${leaf.leaf.dtype} [${leaf.leaf.shape.join(", ")}]`),
        );
    }
  const isImage = (path: string, leaf: StepLeaf) => (images === undefined ? isPicture(leaf, [3]) : images.includes(path));
  const tasks = tasksOf(stepSpec, metadataSpec, options.taskLeaf);
  const films = [...cameras].flatMap(([path, camera]): FilmFeature[] => {
    // The name becomes a folder of the new dataset.
    if (camera.name.split(".").includes("") || /[\\/\0]/.test(camera.name))
      throw new RldsError(
        "UNSUPPORTED",
        `the camera name ${JSON.stringify(camera.name)} must be a valid folder name, because Reprise copies the camera's films to that folder`,
      );
    const [file, timestamp] = [at(`${path}/path`), at(`${path}/timestamp`)];
    return file === undefined || timestamp === undefined ? [] : [{ camera, path: file, timestamp }];
  });
  const filmColumns = films.flatMap((film) => [film.path, film.timestamp]);
  const features: OutputFeature[] = [];
  leaves.forEach(({ path, keys, leaf, size }, column) => {
    if (keys.length === 1 && (INDEX_FEATURES.has(path) || (path === "task" && tasks.some((task) => task.of === "step" && task.column === column)))) return;
    if (filmColumns.includes(column)) return;
    const kind = videos.includes(path) ? "video" : isImage(path, leaf) ? "image" : isText(leaf) ? "text" : "numbers";
    checkFeature(path, leaf, size);
    features.push({ name: nameOf(keys, kind), leaf, size, column, kind });
  });
  // Frames of LeRobot also have `task`, which is not a feature.
  const featureNames = new Set<string>(["next.done", "task", ...INDEX_FEATURES]);
  const hasDone = features.some(({ name }) => name === "next.done");
  if (hasDone) featureNames.delete("next.done");
  for (const { name } of [...features, ...films.map(({ camera }) => camera)]) {
    if (featureNames.has(name)) throw new RldsError("UNSUPPORTED", `two features would be named ${name}. Rename a leaf with mapSteps`);
    featureNames.add(name);
  }
  const flag = (path: string) => {
    const column = at(path);
    return column !== undefined && leaves[column]?.leaf.dtype === "bool" && leaves[column].size === 1 ? column : undefined;
  };
  const time = leaves[at("timestamp") ?? -1];
  const isTime = time !== undefined && time.leaf.shape.length === 0 && time.leaf.dtype.startsWith("f");
  return {
    ...{ features, films, hasDone, tasks, isLast: flag("is_last"), isTerminal: flag("is_terminal") },
    timestamp: isTime && videos.length === 0 ? at("timestamp") : undefined,
  };
}

function isPicture({ dtype, shape }: StepLeaf, channels: readonly number[]): boolean {
  const [height = 0, width = 0, depth = 0] = shape;
  return dtype === "u8" && shape.length === 3 && height > 0 && width > 0 && channels.includes(depth);
}

/**
 * Returns the feature name that LeRobot uses, such as `next.reward`, or `observation.state` or `observation.image` for an observation that is a single leaf.
 */
function nameOf(keys: readonly string[], kind: OutputFeature["kind"]): string {
  if (keys.length === 0 || keys.some((key) => key === "" || key.includes("/")))
    throw new RldsError(
      "UNSUPPORTED",
      `each name in the path of a leaf must be non-empty and contain no slashes, as LeRobot requires, got ${JSON.stringify(keys)}. Rename the leaf with mapSteps`,
    );
  if (keys.length > 1) return keys.join(".");
  const [name] = keys as readonly [string];
  if (name === "observation") return kind === "image" || kind === "video" ? "observation.image" : "observation.state";
  return name === "reward" ? "next.reward" : name;
}

function checkFeature(path: string, leaf: StepLeaf, size: number): void {
  const description = `${leaf.dtype} of shape [${leaf.shape.join(", ")}]`;
  const unsupported = (reason: string) =>
    new RldsError("UNSUPPORTED", `${path} is ${description}, but LeRobot ${reason}. Leave it out with mapSteps, or convert it`);
  if (leaf.dtype === "bytes") throw unsupported("cannot store bytes");
  if (leaf.dtype === "string" && leaf.shape.length > 0) throw unsupported("stores only single strings");
  if (size === 0) throw unsupported("cannot store a value without elements");
  if (leaf.shape.length > MAX_DIMENSIONS) throw unsupported(`stores at most ${MAX_DIMENSIONS} dimensions`);
}

function tasksOf(stepSpec: StepSpec, metadataSpec: { readonly [name: string]: StepSpec }, path: string | undefined): readonly TaskLeaf[] {
  const isText = ({ leaf }: { readonly leaf: StepLeaf }) => leaf.dtype === "string" && leaf.shape.length === 0;
  const sides = [
    ["step", leavesOf(stepSpec)],
    ["episode", leavesOf(metadataSpec as StepSpec)],
  ] as const;
  const taskLeaves: TaskLeaf[] = [];
  for (const taskPath of path === undefined ? TASKS : [path])
    for (const [of, leaves] of sides) {
      const column = leaves.findIndex((leaf) => leaf.path === taskPath && isText(leaf));
      if (column >= 0) taskLeaves.push({ column, of });
    }
  if (path === undefined) return taskLeaves;
  // An explicit path selects a single leaf.
  if (taskLeaves.length > 0) return taskLeaves.slice(0, 1);
  const textPaths = sides.flatMap(([, leaves]) => leaves.filter(isText).map((leaf) => leaf.path));
  throw mustBe(RangeError, "taskLeaf", `the path of a string leaf (${textPaths.join(", ") || "none exist"})`, path, textPaths);
}
