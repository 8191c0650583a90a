/** Converts error codes of the core to errors of a writer's calls. */
import { E_FINAL, E_LENGTH, E_NO_EPISODE, E_PRIORITY, E_PRIORITY_LEAF, E_RATE_LIMITED, E_REWARD } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { CoreWriter } from "../memory/writer.ts";
import { priorityError } from "../schema/copy-numbers.ts";
import { beginsWithFinal, beyondWindow, endsAlready, noEpisode, notFinite } from "./episode-ends.ts";
import { noPriority, type ResolvedRule } from "./rules.ts";

/**
 * Returns the error for an error code of a writer's call. @param subject the rejected argument: `priority`, or an argument with values of several rows or lanes
 */
export function coreError(engine: Engine, writer: CoreWriter, rules: readonly ResolvedRule[], code: number, subject = "priority", lane = 0): Error {
  const { core, roles } = engine;
  core.refreshIfMoved();
  if (code === E_RATE_LIMITED)
    return new ReplayError("RATE_LIMITED", "maxPending items are already waiting for the rate limiter. Sample from the table, or await flush()");
  if (code === E_PRIORITY) return priorityError(subject === "priority" ? subject : `${subject}[${core.errorArgument}]`, core.errorValue);
  if (code === E_PRIORITY_LEAF) return noPriority(rules[core.errorArgument] as ResolvedRule, core.errorValue);
  if (code === E_REWARD) return notFinite(roles.path("reward"), core.errorValue);
  if (code === E_NO_EPISODE) {
    const failedLane = core.errorArgument;
    return subject === "terminated" || subject === "priorities" ? endsAlready(failedLane) : noEpisode(failedLane, core.errorValue > 0);
  }
  if (code === E_FINAL) return beginsWithFinal(core.errorValue);
  if (code !== E_LENGTH) return core.errorFor(code);
  return beyondWindow(writer.length(lane), core.errorValue);
}
