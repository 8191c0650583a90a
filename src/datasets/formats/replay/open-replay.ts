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
 * changes and locks nothing, and the owner may continue to write. The result shows the state at one moment at or after the call. From a journal with `retain:
 * "all"`, every step on disk is read, including steps that no item contains or ever contained.
 *
 * Steps have the Replay's leaves. Leaves with a role in transitions have RLDS names. If no leaf is the observation, all leaves without a role form the
 * observation. The final step that `endEpisode` received is the last step, and has `is_terminal` set if the episode terminated. Without a final step, the last
 * step keeps its action and reward, as in LeRobot. A missing reward is 0. A missing discount is 1, or 0 in the terminal step. Leaves `is_first`, `is_last` and
 * `is_terminal`, and `stepType` of TF-Agents, take precedence.
 *
 * An episode without some of its middle steps, because they were evicted or never belonged to an item, is read as several episodes with the same `episode_id`.
 * Its metadata are:
 * - `beginning`: "there" (complete), "evicted", or "unknown" (the tables have evicted items, possibly of this episode);
 * - `end`: "terminated", "truncated", "ended" (not specified), "open" (a writer continues it) or "evicted";
 * - `final_step`: "observation" if the last step was passed as the final one, "transition" if not, "unknown" if `is_last` is a leaf.
 *
 * In an episode that is open or evicted, no step has `is_last` set. `importRlds` can repair it. All data is in memory, as in the program itself. The steps of a
 * journal with `retain: "all"` are instead read from its files, one episode at a time, with 20 bytes per step in memory. Opening costs O(steps of all items),
 * or O(bytes of the files) with `retain: "all"`.
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
  // Loads WebAssembly, which no other format needs.
  const { replayReader } = await import("./replay-reader.ts");
  const reader = await replayReader<S>(from, selection, { ...rest, maxBytes, losses });
  return addAbsentFields({ ...reader, ...withDamage(losses) });
}
