/** The flags of a dataset as a file, which `npx reprise edit --flags` takes. */
import type { EpisodeTable } from "./episode-table.ts";

/** @param name of the dataset, which tells a reader of the file what the flags are of */
export function flagsFile(name: string, { flaggedOnes }: Pick<EpisodeTable, "flaggedOnes">): string {
  return `${JSON.stringify({ dataset: name, flagged: flaggedOnes })}\n`;
}
