/** Decodes videos to pixels on access, for target formats into which videos cannot be copied. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import { isLeaf } from "../../../schema/leaf.ts";
import { setPart } from "../../../schema/nest.ts";
import { type Camera, type Films, filmReferences } from "../../formats/film-references.ts";
import type { RldsDataset, StepSpec } from "../../model/dataset.ts";
import { LazyColumn } from "../../model/lazy-column.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { type ColumnDataset, mapColumns } from "./map-columns.ts";

/** The frames to decode from one video. */
export interface FilmFrames {
  /** The path of the video in the dataset, as in the steps. */
  readonly path: string;
  /** The times of the frames, in seconds from the beginning of the video. */
  readonly times: readonly number[];
  /** The frame rate of the video, in frames per second. */
  readonly fps: number;
  readonly height: number;
  readonly width: number;
}

export interface FilmPixelOptions {
  /** The videos to which steps refer. Pass the `films` of a reader. */
  readonly films: Films;
  /** The paths of the leaves that refer to videos. Default: all such leaves. */
  readonly paths?: readonly string[];
  /** Returns the pixels of the frames, height × width × 3 bytes each. */
  readonly decode: (frames: FilmFrames) => Uint8Array;
}

/**
 * Returns the same steps, with references to videos replaced by pixels. Pixels are u8 of shape [height, width, 3], which `writeLeRobot` can encode with
 * `videos`. When pixels are read, `decode` is called for one piece of an episode at a time. Works lazily, and keeps only the frames of that piece in memory.
 * @throws TypeError if an option is invalid
 * @throws RldsError UNSUPPORTED if the frame rate or the size of a video is unknown
 */
export function withFilmPixels(rlds: RldsDataset<unknown>, options: FilmPixelOptions): ColumnDataset {
  const { films, paths = [...(options.films?.cameras.keys() ?? [])], decode } = onlyKeys("options", options, "films, paths, decode");
  if (typeof decode !== "function") throw mustBe(TypeError, "decode", "a function of frames", decode);
  const pictures = new Map(paths.map((path) => [path, pictureOf(path, films?.cameras.get(path))]));
  const fps = films?.fps;
  if (typeof fps !== "number")
    throw new RldsError(
      "UNSUPPORTED",
      'the number of frames per second of the films is unknown, so Reprise cannot locate a frame. Pass without: ["PATH"] to leave a film out',
    );
  return mapColumns(rlds, {
    stepSpec: (spec) => pixelSpec(spec, pictures),
    begin(spec) {
      const places = new Map(leavesOf(spec).map(({ path }, index) => [path, index]));
      const changed = pixelSpec(spec, pictures);
      const leaves = leavesOf(changed).map(({ path }) => path);
      return (episode) => {
        const { steps } = episode;
        const columns = leaves.map((path): ColumnData => {
          const picture = pictures.get(path);
          if (picture === undefined) return steps.parts[places.get(path) as number] as ColumnData;
          const [files, times] = [`${path}/path`, `${path}/timestamp`].map((name) => steps.data[places.get(name) as number]) as [
            readonly string[],
            Float64Array,
          ];
          return pixelsOf(files, times, (part) => decode({ ...part, ...picture, fps }), picture);
        });
        return { ...episode, steps: new StepColumns(changed, columns, steps.length) };
      };
    },
  });
}

interface Picture {
  readonly height: number;
  readonly width: number;
}

function pixelsOf(
  files: readonly string[],
  times: Float64Array,
  decode: (part: Pick<FilmFrames, "path" | "times">) => Uint8Array,
  { height, width }: Picture,
): ColumnData {
  const size = height * width * 3;
  const read = (first: number, last: number) => {
    const pixels = new Uint8Array(size * (last - first));
    for (let at = first; at < last; ) {
      let end = at + 1;
      while (end < last && files[end] === files[at]) end++;
      const part = decode({ path: files[at] as string, times: Array.from(times.subarray(at, end)) });
      if (part.length !== size * (end - at)) throw mustBe(RangeError, "the result of decode", `${size * (end - at)} bytes long`, part.length);
      pixels.set(part, size * (at - first));
      at = end;
    }
    return pixels;
  };
  return LazyColumn.of({ rows: files.length, size, check() {}, read });
}

/** Returns the spec with a leaf of pixels in place of each reference to a video. */
function pixelSpec(spec: StepSpec, pictures: ReadonlyMap<string, Picture>): StepSpec {
  const films = new Set(filmReferences(spec).map((keys) => keys.join("/")));
  const visit = (node: StepSpec, path: string): StepSpec => {
    const picture = films.has(path) ? pictures.get(path) : undefined;
    if (picture !== undefined) return { dtype: "u8", shape: [picture.height, picture.width, 3] };
    if (isLeaf(node)) return node;
    const part = (name: string) => visit((node as { readonly [name: string]: StepSpec })[name] as StepSpec, path === "" ? name : `${path}/${name}`);
    if (Array.isArray(node)) return Object.keys(node).map(part);
    const changed = {};
    for (const name of Object.keys(node)) setPart(changed, name, part(name));
    return changed;
  };
  return visit(spec, "");
}

/** Returns the size of a camera's images. @throws RldsError UNSUPPORTED if the dataset does not declare a valid size */
function pictureOf(path: string, camera: Camera | undefined): Picture {
  const { shape, names } = (camera?.feature ?? {}) as { readonly shape?: readonly number[]; readonly names?: unknown };
  const isChannelsFirst = Array.isArray(names) && String(names[0]).startsWith("channel");
  const [height, width] = isChannelsFirst ? (shape ?? []).slice(1) : (shape ?? []);
  const isSize = (value: unknown) => Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= 16_384;
  if (shape?.length !== 3 || !isSize(height) || !isSize(width))
    throw new RldsError("UNSUPPORTED", `${path} must have the shape [height, width, 3] in meta/info.json, got ${JSON.stringify(shape)}`);
  return { height: height as number, width: width as number };
}
