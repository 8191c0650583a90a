/** Computes an episode's entry in the list from its steps. */
import type { LeafColumn } from "./columns.ts";
import { type Ending, type EpisodeSummary, NO_POINT, SKETCH } from "./episode-table.ts";

/** @param hasFinal whether a last step that is_last is a final observation, whose action and reward have no meaning. O(steps) */
export function summaryOf(index: number, length: number, columns: readonly LeafColumn[], faults: number, hasFinal: boolean): EpisodeSummary {
  const single = (path: string) => columns.find((column) => column.path === path && column.size === 1 && column.dtype !== "string")?.data;
  const last = single("is_last") as ArrayLike<number> | undefined;
  const reward = single("reward");
  let sum = 0;
  for (let i = 0; i < length; i++) if (!(hasFinal && last?.[i])) sum += reward === undefined ? Number.NaN : Number(reward[i]);
  const terminal = single("is_terminal") as ArrayLike<number> | undefined;
  return { index, length, sum, ending: endingOf(length, last, terminal), sketch: sketchOf(hasFinal ? length - 1 : length, actionOf(columns)), faults };
}

function endingOf(length: number, last: ArrayLike<number> | undefined, terminal: ArrayLike<number> | undefined): Ending {
  if (length === 0) return "";
  if (terminal?.[length - 1]) return "terminated";
  return last?.[length - 1] ? "truncated" : "open";
}

/** Returns the leaf that is sketched: the first numeric leaf of the action. */
export function actionOf(columns: readonly LeafColumn[]): LeafColumn | undefined {
  return columns.find(({ path, dtype, size }) => /^action(\/|$)/.test(path) && dtype !== "string" && dtype !== "bytes" && size > 0);
}

/** Samples the first element of each step's action to SKETCH points. */
function sketchOf(count: number, action: LeafColumn | undefined): Uint8Array {
  const sketch = new Uint8Array(SKETCH).fill(NO_POINT);
  if (action === undefined || count <= 0) return sketch;
  const value = (i: number) => Number(action.data[i * action.size]);
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    const x = value(i);
    if (x < min) min = x;
    if (x > max) max = x;
  }
  for (let k = 0; k < SKETCH; k++) {
    const x = value(Math.min(count - 1, Math.floor((k * count) / SKETCH)));
    if (Number.isFinite(x) && Number.isFinite(max - min)) sketch[k] = max === min ? 127 : Math.round(((x - min) / (max - min)) * 254);
  }
  return sketch;
}
