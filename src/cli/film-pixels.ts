/** Films as pixels, which are decoded as they are asked for: what is needed where films cannot be copied as they are. */
import { join } from "node:path";
import { type Camera, filmReferences } from "../datasets/formats/film-references.ts";
import { checkInside } from "../datasets/formats/sources/source.ts";
import { LazyColumn } from "../datasets/model/lazy-column.ts";
import { leavesOf } from "../datasets/model/leaves.ts";
import { type RldsDataset, RldsError, type RldsReader, StepColumns, type StepSpec } from "../datasets/rlds/index.ts";
import { mapColumns } from "../datasets/rlds/transform/map-columns.ts";
import { isLeaf } from "../schema/leaf.ts";
import { setPart } from "../schema/nest.ts";
import { decodeFrames } from "./ffmpeg.ts";

export interface FilmPlace {
  /** Where the dataset is: a path or a URL. */
  readonly from: string;
  readonly reader: RldsReader;
}

interface Picture {
  readonly height: number;
  readonly width: number;
}

/** The same steps with pixels in the place of references to these films. @param paths of the leaves that refer to them */
export function withPixels(rlds: RldsDataset<unknown>, { from, reader }: FilmPlace, paths: readonly string[]): RldsDataset<unknown> {
  const pictures = new Map(paths.map((path) => [path, pictureOf(path, reader.films?.cameras.get(path))]));
  const fps = reader.films?.fps;
  if (typeof fps !== "number")
    throw new RldsError("UNSUPPORTED", `the films must have a number of frames a second, to find a frame: leave them out with --without`);
  return mapColumns(rlds, {
    stepSpec: (spec) => pixelSpec(spec, pictures),
    begin(spec) {
      const places = new Map(leavesOf(spec).map(({ path }, index) => [path, index]));
      const changed = pixelSpec(spec, pictures);
      const leaves = leavesOf(changed).map(({ path }) => path);
      return (episode) => {
        const { steps } = episode;
        const columns = leaves.map((path) => {
          const picture = pictures.get(path);
          if (picture === undefined) return steps.parts[places.get(path) as number] as never;
          const [files, times] = [`${path}/path`, `${path}/timestamp`].map((name) => steps.data[places.get(name) as number]) as [
            readonly string[],
            Float64Array,
          ];
          return pixelsOf(files, times, { ...picture, fps, from }) as never;
        });
        return { ...episode, steps: new StepColumns(changed, columns, steps.length) };
      };
    },
  });
}

function pixelsOf(files: readonly string[], times: Float64Array, { from, height, width, fps }: Picture & { readonly fps: number; readonly from: string }) {
  const size = height * width * 3;
  const placeOf = (path: string) => (/^[a-z][a-z0-9+.-]+:\/\//i.test(from) ? new URL(path, from.endsWith("/") ? from : `${from}/`).href : join(from, path));
  const read = (first: number, last: number) => {
    const pixels = new Uint8Array(size * (last - first));
    for (let at = first; at < last; ) {
      let end = at + 1;
      while (end < last && files[end] === files[at]) end++;
      const film = placeOf(checkInside(files[at] as string, "the path of a film"));
      pixels.set(decodeFrames({ film, times: Array.from(times.subarray(at, end)), fps, height, width }), size * (at - first));
      at = end;
    }
    return pixels;
  };
  return LazyColumn.of({ rows: files.length, size, check() {}, read });
}

/** The spec with a leaf of pixels for each film. */
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

/** @throws RldsError UNSUPPORTED */
function pictureOf(path: string, camera: Camera | undefined): Picture {
  const { shape, names } = (camera?.feature ?? {}) as { readonly shape?: readonly number[]; readonly names?: unknown };
  const isChannelsFirst = Array.isArray(names) && String(names[0]).startsWith("channel");
  const [height, width] = isChannelsFirst ? (shape ?? []).slice(1) : (shape ?? []);
  const isSize = (value: unknown) => Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= 16_384;
  if (shape?.length !== 3 || !isSize(height) || !isSize(width))
    throw new RldsError("UNSUPPORTED", `${path} must have a shape [height, width, 3] in meta/info.json, got ${JSON.stringify(shape)}`);
  return { height: height as number, width: width as number };
}
