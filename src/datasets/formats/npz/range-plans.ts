/** Plans how to read archives of Stable-Baselines and imitation. They mark the beginnings of episodes with flags or indices, and do not contain RLDS steps. */
import { isText } from "../../../schema/leaf.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import type { Column, ColumnTree } from "../columns/column.ts";
import { columnsOf } from "../columns/column.ts";
import { type EpisodeRange, rangeSteps, type TransitionTree, transitionSpecOf } from "../columns/episode-ranges.ts";
import { rowsOf } from "../columns/flat.ts";
import { type EndedSteps, stepSpecOf } from "../columns/transitions.ts";
import type { MemoryBudget } from "../memory-budget.ts";

/** The plan for an archive, which depends on its arrays. It has the spec of the steps, and iterates over the episodes. */
export interface Plan {
  readonly stepSpec: ReturnType<typeof stepSpecOf>;
  readonly episodes?: number;
  readonly steps?: number;
  lengths(): Promise<readonly number[]>;
  /** Yields the episodes from number `episode` on. */
  run(episode: number): AsyncIterable<EndedSteps>;
}

interface PlanOptions {
  readonly file: string;
  readonly maxBytes: number;
}

export function planOfRanges(tree: TransitionTree, ranges: readonly EpisodeRange[], { file, maxBytes }: PlanOptions): Plan {
  const lengthOf = ({ from, to, finalStep }: EpisodeRange) => to - from + Number(finalStep);
  return {
    stepSpec: stepSpecOf(transitionSpecOf(tree)),
    episodes: ranges.length,
    steps: ranges.reduce((sum, range) => sum + lengthOf(range), 0),
    lengths: async () => ranges.map(lengthOf),
    async *run(episode) {
      for (let i = episode; i < ranges.length; i++) yield await rangeSteps(tree, ranges[i] as EpisodeRange, { file, episode: i, maxBytes });
    },
  };
}

/**
 * Returns the ranges of the episodes in an archive of Stable-Baselines, which has a flag at each row that begins an episode. Without `isTerminal`, the reason
 * for the end of an episode is unknown, and every episode counts as truncated.
 */
export function rangesByStarts(starts: Uint8Array, isTerminal: Uint8Array | undefined, budget: MemoryBudget): EpisodeRange[] {
  budget.reserve(64 * starts.reduce((sum, start) => sum + start, 1), "episode_starts");
  const ranges: EpisodeRange[] = [];
  for (let from = 0, to = 0; from < starts.length; from = to) {
    to = starts.indexOf(1, from + 1);
    if (to < 0) to = starts.length;
    ranges.push({ from, to, observedFrom: from, finalStep: false, ending: isTerminal?.[to - 1] === 1 ? "terminated" : "truncated" });
  }
  return ranges;
}

/**
 * Returns the ranges of the episodes in an archive of imitation. `indices` contains the rows of actions with which all episodes except the first begin, and
 * `terminal` has one flag per episode. Each episode has one more observation than actions.
 * @throws RldsError CORRUPT if the numbers of actions, observations, `indices` and flags do not match
 */
export async function rangesByIndices(
  tree: TransitionTree,
  indices: Column,
  terminal: Uint8Array,
  { file, budget }: { readonly file: string; readonly budget: MemoryBudget },
): Promise<EpisodeRange[]> {
  const { observation, ...others } = tree as { readonly [name: string]: ColumnTree };
  const rows = rowsOf(columnsOf(others), file);
  const observations = rowsOf(columnsOf(observation as ColumnTree), file);
  const episodes = terminal.length;
  if (episodes === 0 && rows > 0) throw corruptFile({ file }, `terminal has no flags, but the archive has ${rows} actions`);
  if (indices.leaf.shape.length > 0 || isText(indices.leaf) || indices.rows !== Math.max(0, episodes - 1))
    throw corruptFile({ file }, `indices must have ${Math.max(0, episodes - 1)} numbers, one per episode except the first, got ${indices.rows ?? "none"}`);
  if (observations !== rows + episodes)
    throw corruptFile(
      { file },
      `each of the ${episodes} episodes must have one more observation than actions, got ${observations} observations and ${rows} actions`,
    );
  budget.reserve(80 * episodes, "indices");
  const starts = Array.from((await indices.read(0, Math.max(0, episodes - 1))) as ArrayLike<number | bigint>, Number);
  let from = 0;
  return Array.from({ length: episodes }, (_, episode): EpisodeRange => {
    const to = starts[episode] ?? rows;
    if (!Number.isInteger(to) || to < from || to > rows)
      throw corruptFile({ file, episode }, `indices must increase from 0 to ${rows}, got ${to} after ${from}`);
    const range: EpisodeRange = { from, to, observedFrom: from + episode, finalStep: true, ending: terminal[episode] === 1 ? "terminated" : "truncated" };
    from = to;
    return range;
  });
}
