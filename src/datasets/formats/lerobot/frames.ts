/** Converts the frames of an episode to steps, with decoded images, references to videos, the text of the task, and end flags. */
import type { StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import { columnRemedy, corruptFile } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import type { Damage } from "../damage.ts";
import { imageHead } from "../images/image-head.ts";
import type { ImageDecoder } from "../images/images.ts";
import type { EpisodeEntry } from "./episode-list.ts";
import type { ImageLeaf } from "./frame-schema.ts";

/** The options for converting frames to steps. */
export interface FramesOptions {
  readonly stepSpec: StepSpec;
  readonly tasks: ReadonlyMap<number, string>;
  readonly images: readonly ImageLeaf[];
  /** The keys of each video's leaf in a step, by feature name. */
  readonly videos: ReadonlyMap<string, readonly string[]>;
  readonly hasTask: boolean;
  readonly decode: ImageDecoder | undefined;
  /** The path of the column whose last value shows whether the last frame is terminal. If undefined, the last frame is not terminal. */
  readonly terminal: string | undefined;
  /** Whether the frames contain `is_terminal`. If so, `terminal` has no effect. */
  readonly keepsTerminal: boolean;
  /** Whether the frames contain `discount`. */
  readonly keepsDiscount: boolean;
  readonly maxBytes: number;
  /** Records missing tasks. If undefined, a missing task is an error. */
  readonly losses?: Damage | undefined;
}

/**
 * Returns the steps of an episode. @throws RldsError CORRUPT for a missing task if `losses` is not set, for images that exceed maxBytes, or for an image that
 * is damaged or has a different shape
 */
export function framesOf<S>(table: StepColumns<unknown>, entry: EpisodeEntry, options: FramesOptions): StepColumns<S> {
  const { stepSpec, tasks, videos, hasTask, losses, images, decode, terminal, keepsTerminal, keepsDiscount, maxBytes } = options;
  const { length } = table;
  const columns = new Map<string, ColumnData>(leavesOf(table.spec).map(({ path }, k) => [path, table.parts[k] as ColumnData]));
  const place = { file: entry.path, episode: entry.index };
  const terminalColumn = terminal === undefined ? undefined : columns.get(terminal);
  const isTerminal = terminalColumn !== undefined && Number(terminalColumn[length - 1]) !== 0;
  if (!keepsTerminal) columns.set("is_terminal", last(length, Number(isTerminal)));
  const terminals = columns.get("is_terminal");
  const discountAt = (_: unknown, i: number) => (terminals?.[i] === 1 ? 0 : 1);
  if (!keepsDiscount) columns.set("discount", Float32Array.from({ length }, discountAt));
  const times = columns.get("timestamp");
  for (const [name, { path, from }] of entry.videos) {
    const video = videos.get(name)?.join("/");
    if (video === undefined) continue;
    columns.set(`${video}/path`, new Array<string>(length).fill(path));
    columns.set(
      `${video}/timestamp`,
      Float64Array.from({ length }, (_, i) => from + Number(times?.[i] ?? 0)),
    );
  }
  const numbers = columns.get("task_index");
  if (numbers !== undefined && hasTask) {
    const texts = Array.from(numbers as ArrayLike<number | bigint>, (number, step) => {
      const text = tasks.get(Number(number));
      if (text !== undefined) return text;
      const error = corruptFile({ file: entry.path }, `frames have task_index ${number}, which is not a task of the dataset`);
      if (losses === undefined) throw corruptFile({ ...place, step }, `the frame has task_index ${number}, which is not a task of the dataset`);
      losses.add(error);
      return "";
    });
    columns.set("task", texts);
  }
  if (decode !== undefined) {
    for (const { path, shape, type } of images) {
      const size = shape[0] * shape[1] * shape[2];
      if (size * length * (type === "u16" ? 2 : 1) > maxBytes)
        throw corruptFile(place, `${path} takes more than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
      const pixels = type === "u16" ? new Uint16Array(size * length) : new Uint8Array(size * length);
      (columns.get(path) as readonly Uint8Array[]).forEach((bytes, step) => {
        try {
          const { height, width } = imageHead(bytes);
          if (height !== shape[0] || width !== shape[1]) throw new Error(`the image is ${height} × ${width} instead of the declared ${shape[0]} × ${shape[1]}`);
          pixels.set(decode(bytes, { type, channels: shape[2] }, maxBytes), step * size);
        } catch (cause) {
          throw corruptFile({ ...place, step }, `${path} cannot be decoded: ${(cause as Error).message}${columnRemedy([path])}`, cause);
        }
      });
      columns.set(path, pixels);
    }
  }
  const data = leavesOf(stepSpec).map(({ path }) => columns.get(path) as ColumnData);
  return new StepColumns<S>(stepSpec, data, length);
}

function last(length: number, value: number): Uint8Array {
  const flags = new Uint8Array(length);
  if (length > 0) flags[length - 1] = value;
  return flags;
}
