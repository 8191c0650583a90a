/** Reads episodes as ranges of rows, from columns that contain the transitions of all episodes. */
import type { StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { type Column, type ColumnTree, columnsOf, rowSpec } from "./column.ts";
import { type EndedSteps, type Ending, episodeSteps, type TransitionSpec } from "./transitions.ts";

/** The rows of an episode in the columns of a file. */
export interface EpisodeRange {
  /** The rows of the actions are `from` to `to` - 1. */
  readonly from: number;
  readonly to: number;
  /** The row of the first observation. */
  readonly observedFrom: number;
  /** Whether the episode has a final observation, in the row after the observations that belong to the actions. */
  readonly finalStep: boolean;
  readonly ending: Ending;
}

/** The columns of the observation, the action, the reward and metadata. */
export interface TransitionTree {
  readonly observation: ColumnTree;
  readonly action: ColumnTree;
  readonly reward: ColumnTree;
  readonly [metadata: string]: ColumnTree;
}

/** Returns the spec of a transition. */
export function transitionSpecOf(tree: TransitionTree): TransitionSpec {
  return rowSpec(tree as { readonly [name: string]: ColumnTree }) as unknown as TransitionSpec;
}

/** Reads the steps of one episode. @throws RldsError CORRUPT if the episode takes more than maxBytes */
export async function rangeSteps(
  tree: TransitionTree,
  { from, to, observedFrom, finalStep, ending }: EpisodeRange,
  { file, episode, maxBytes }: { readonly file: string; readonly episode: number; readonly maxBytes: number },
): Promise<EndedSteps> {
  const transition = transitionSpecOf(tree);
  const columns = columnsOf(tree as { readonly [name: string]: ColumnTree });
  const length = to - from;
  const bytes = columns.reduce((sum, { rowBytes }) => sum + rowBytes * (length + 1), 0);
  if (bytes > maxBytes)
    throw corruptFile({ file, episode }, `an episode takes ${bytes} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
  const data: ColumnData[] = [];
  for (const [i, { keys }] of leavesOf(transition as unknown as StepSpec).entries()) {
    const column = columns[i] as Column;
    // A metadata column may also have a row for the final observation.
    const isLonger = finalStep && column.rows === to + 1;
    if (keys[0] === "observation") data.push(await column.read(observedFrom, observedFrom + length + Number(finalStep)));
    else data.push(await column.read(from, isLonger ? to + 1 : to));
  }
  return episodeSteps(transition, { data, length, finalStep, ending });
}
