/** Journals and snapshots of a Replay as datasets. */
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
 * Opens what a Replay holds: the folder of a journal (`Replay.open`) or the bytes of a snapshot (`replay.snapshot()`). Nothing of it is changed or locked: its owner may go on writing, and what
 * was there at one moment, at or after the call, is read. Of a journal with `retain: "all"` every step that was on the disk is read, also those that no item holds any more or ever held. Steps have the Replay's leaves; what has a part in transitions has RLDS's name, and where no leaf is the observation all that have no part are. A step that
 * `endEpisode` was given as the final one is the last step, and is_terminal if the episode terminated; else the last step keeps its action and reward, as in LeRobot. Rewards that are not there are 0.
 * A discount that is not there is 1, and 0 where the episode terminated. Leaves `is_first`, `is_last` and `is_terminal`, and TF-Agents' `stepType`, are believed.
 *
 * An episode of which steps in the middle were evicted, or never were in an item, is several, with one `episode_id`. `beginning` is "there" (nothing was given up before it), "evicted", or "unknown":
 * tables have given up items, and nobody knows whether of this episode. `end` is "terminated", "truncated", "ended" (nobody said how), "open" (a writer goes on with it) or "evicted". `final_step` is "observation" where
 * the last step was given as the final one, "transition" where it was not, "unknown" where `is_last` is a leaf. What was open or evicted has no last step: importRlds finds and mends that.
 *
 * All of it is in memory, as for its program; the steps of a journal with `retain: "all"` are read from its files, an episode at a time, and 20 bytes of each are in memory. O(steps of all items)
 * to open, O(bytes of the files) with `retain: "all"`.
 * @throws TypeError, RangeError for an option · RldsError NOT_FOUND · CORRUPT · UNSUPPORTED for another version's files, or where files that are copied into memory take more than maxBytes · IO ·
 * LOCKED where the owner makes and removes files all the time
 */
export async function openReplay<S = RldsStep>(from: Source, options: ReplayOpenOptions = {}): Promise<RldsReader<S>> {
  const { maxBytes = MAX_SOURCE_BYTES, ...rest } = onlyKeys("options", options, `transition, module, fetch, ${READ_OPTIONS}`);
  const selection = new Selection(options);
  const losses = damageOf(options.salvage);
  integer("maxBytes", maxBytes, 1);
  // It brings WebAssembly, which no other format needs.
  const { replayReader } = await import("./replay-reader.ts");
  const reader = await replayReader<S>(from, selection, { ...rest, maxBytes, losses });
  return addAbsentFields({ ...reader, ...withDamage(losses) });
}
