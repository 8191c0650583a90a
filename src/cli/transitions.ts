/** `reprise push --n-step`: pushes the episodes of a dataset with an `nStep` rule. */

import { type FinalStepRule, type ImportReport, type PushedEpisodes, pushEpisodes, type RldsDataset } from "../datasets/rlds/index.ts";
import type { OpenReplay } from "../index.ts";
import { Interrupted } from "./exit.ts";
import { PUSHING } from "./journal.ts";
import type { Host } from "./result.ts";
import { countText, number } from "./text.ts";

export interface TransitionOptions {
  readonly dir: string;
  readonly table: readonly string[];
  readonly nStep: number;
  readonly finalStep?: FinalStepRule;
}

/**
 * Pushes episodes with an `nStep` rule and closes the writer, so that no writer with an open episode remains in the journal.
 * @param of the number of steps in the data, if it is known
 * @throws Interrupted if Ctrl-C ends the push
 */
export async function pushTransitions(
  replay: OpenReplay,
  data: RldsDataset,
  { dir, table, nStep, finalStep }: TransitionOptions,
  { signal, progress }: Host,
  of: number | undefined,
): Promise<PushedEpisodes> {
  const writer = replay.writer({ name: PUSHING, items: table.map((name) => ({ table: name, nStep })) });
  const bar = progress("pushing");
  let pushed = 0;
  const onProgress = ({ steps }: { readonly steps: number }) => {
    pushed = steps;
    bar.at(steps, of);
  };
  try {
    return await pushEpisodes(data, writer, { signal, onProgress, ...(finalStep !== undefined && { finalStep }) });
  } catch (error) {
    if (signal.aborted) throw new Interrupted(`${countText(pushed, "transition")} of whole episodes are in ${dir}`);
    throw error;
  } finally {
    bar.end();
    writer.close();
  }
}

/** Returns the summary of a push. Episodes of a single step have no transition, so they are counted as left out. */
export function transitionsText({ episodes, steps, terminated, truncated }: PushedEpisodes, { kept }: ImportReport): string {
  const of = `${countText(steps, "transition")} of ${countText(episodes, "episode")} with ${countText(kept.steps, "step")}`;
  const shortText = kept.episodes > episodes ? `, ${countText(kept.episodes - episodes, "episode")} of a single step left out` : "";
  return `${of} pushed (${number(terminated)} terminated, ${number(truncated)} truncated${shortText})`;
}
