/** Writes the flags of a dataset as a file for `npx reprise edit --flags`. */
import type { EpisodeTable } from "./episode-table.ts";

/** @param name the name of the dataset, which identifies the dataset in the file */
export function flagsFile(name: string, { flaggedOnes }: Pick<EpisodeTable, "flaggedOnes">): string {
  return `${JSON.stringify({ dataset: name, flagged: flaggedOnes })}\n`;
}
