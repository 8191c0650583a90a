/** Swaps the red and blue channels of images. */
import { mustBe } from "../../../base/error.ts";
import type { AnyArray, NumberArray } from "../../../schema/dtype.ts";
import { isText } from "../../../schema/leaf.ts";
import { filmReferences } from "../../formats/film-references.ts";
import type { RldsDataset, StepSpec } from "../../model/dataset.ts";
import { isLazy } from "../../model/lazy-column.ts";
import { unsupportedFile } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { leavesAt, slashed } from "./leaf-paths.ts";
import { type ColumnDataset, mapColumns } from "./map-columns.ts";

/**
 * Returns the same steps with the first and the third channel of images swapped, so BGR becomes RGB, and RGB becomes BGR. Example: `swapChannels(data,
 * ["observation/image"])`. An image has the shape [height, width, 3] or [height, width, 4]. The path of a group selects all images below it. Works lazily, and
 * does not copy other columns. Costs O(elements of the images).
 * @throws TypeError if a path is invalid
 * @throws RangeError during iteration if a path does not select an image
 * @throws RldsError UNSUPPORTED during iteration if a leaf is a video, which would have to be encoded again
 */
export function swapChannels(rlds: RldsDataset<unknown>, paths: readonly string[]): ColumnDataset {
  if (!Array.isArray(paths) || paths.some((path) => typeof path !== "string")) throw mustBe(TypeError, "paths", "an array of paths of images", paths);
  return mapColumns(rlds, {
    stepSpec: (spec) => {
      channelsOf(spec, paths);
      return spec;
    },
    begin(spec) {
      const channels = channelsOf(spec, paths);
      return (episode) => {
        const { steps } = episode;
        const data = steps.parts.map((column, k) => {
          const count = channels.get(k);
          return count === undefined ? column : swapColumn(column, count);
        });
        return { ...episode, steps: new StepColumns(steps.spec, data, steps.length) };
      };
    },
  });
}

/** Returns the number of channels of each selected image, by leaf index. @throws RangeError if a path selects no image · RldsError UNSUPPORTED for a video */
function channelsOf(spec: StepSpec, paths: readonly string[]): Map<number, number> {
  const channels = new Map<number, number>();
  for (const path of paths) {
    const film = filmReferences(spec).find((keys) => keys.join("/") === slashed(path));
    if (film !== undefined)
      throw unsupportedFile({}, `${film.join("/")} is a film, and Reprise cannot swap the channels of a film without encoding it again. Omit this path`);
    const images = leavesAt(spec, "swapChannels", path).filter(
      ({ leaf }) => !isText(leaf) && leaf.shape.length === 3 && [3, 4].includes(leaf.shape[2] as number),
    );
    if (images.length === 0) throw mustBe(RangeError, "a path in swapChannels", "an image of shape [height, width, 3 or 4]", path);
    for (const { index, leaf } of images) channels.set(index, leaf.shape[2] as number);
  }
  return channels;
}

function swapColumn(column: ColumnData, channels: number): ColumnData {
  return isLazy(column) ? (column.map((values) => exchange(values, channels)) as unknown as ColumnData) : exchange(column as AnyArray, channels);
}

function exchange(values: AnyArray, channels: number): AnyArray {
  const copy = (values as NumberArray).slice();
  for (let i = 0; i < copy.length; i += channels) {
    copy[i] = values[i + 2] as number;
    copy[i + 2] = values[i] as number;
  }
  return copy as unknown as AnyArray;
}
