/** Opens journals and snapshots of a Replay as datasets. */
import { integer, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { RldsStep } from "../../model/dataset.ts";
import { damageOf, withDamage } from "../damage.ts";
import { READ_OPTIONS, type RldsReader } from "../reader.ts";
import { addAbsentFields } from "../reader-steps.ts";
import { Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import type { ReplayOpenOptions } from "./stored-replay.ts";

/**
 * Opens the content of a Replay as a dataset. The source is the folder of a journal (`Replay.open`) or the bytes of a snapshot (`replay.snapshot()`). The call
 * neither changes nor locks anything, and the owner may continue to write. The result shows the state at one moment during or after the call. From a journal
 * with `retain: "all"`, every step on disk is read, including steps that no item contains or ever contained.
 *
 * Steps have the leaves of the Replay. A leaf that has a role in transitions gets the RLDS name. If no leaf is the observation, all leaves without a role form
 * the observation. The final step that `endEpisode` received is the last step, and has `is_terminal` set if the episode terminated. Without a final step, the
 * last step keeps its action and reward, as in LeRobot. A missing reward is 0. A missing discount is 1, or 0 in the terminal step. If the Replay has leaves
 * `is_first`, `is_last` or `is_terminal`, or `stepType` as in TF-Agents, these leaves take precedence.
 *
 * If some middle steps of an episode are missing, because they were evicted or never belonged to an item, the episode is read as several episodes with the same
 * `episode_id`. The metadata of an episode are:
 * - `beginning`: "there" (complete), "evicted", or "unknown" (the tables have evicted items, possibly of this episode);
 * - `end`: "terminated", "truncated", "ended" (not specified), "open" (a writer continues it) or "evicted";
 * - `final_step`: "observation" if the last step was passed as the final step, "transition" if not, "unknown" if `is_last` is a leaf.
 *
 * In an episode whose end is "open" or "evicted", no step has `is_last` set. `importRlds` can repair such an episode. All data is in memory, as in the program
 * that owns the Replay. A journal with `retain: "all"` is an exception. Its steps are read from its files, one episode at a time, and take 20 bytes each in
 * memory. Opening costs O(steps of all items), or O(bytes of the files) with `retain: "all"`.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RldsError NOT_FOUND if the file or folder does not exist
 * @throws RldsError CORRUPT if a file is damaged
 * @throws RldsError UNSUPPORTED if another version wrote the files, or if files that are copied into memory exceed maxBytes
 * @throws RldsError IO if a file cannot be read
 * @throws RldsError LOCKED if the owner constantly creates and removes files
 */
export async function openReplay<S = RldsStep>(from: Source, options: ReplayOpenOptions = {}): Promise<RldsReader<S>> {
  const { maxBytes = MAX_SOURCE_BYTES, ...rest } = onlyKeys("options", options, `transition, module, fetch, ${READ_OPTIONS}`);
  const selection = new Selection(options);
  const losses = damageOf(options.salvage);
  integer("maxBytes", maxBytes, 1);
  // This module loads WebAssembly, which no other format needs.
  const { replayReader } = await import("./replay-reader.ts");
  const reader = await replayReader<S>(from, selection, { ...rest, maxBytes, losses });
  return addAbsentFields({ ...reader, ...withDamage(losses) });
}
