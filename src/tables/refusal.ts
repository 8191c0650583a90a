/** Why the core refused a writer's call, as an error. */
import { E_FINAL, E_LENGTH, E_NO_EPISODE, E_PRIORITY, E_RATE_LIMITED, E_REWARD } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { CoreWriter } from "../memory/writer.ts";
import { priorityError } from "../schema/numbers.ts";
import { beginsWithFinal, beyondWindow, endsAlready, noEpisode, notFinite } from "./ends.ts";

/** @param subject the argument that has what was refused: `priority`, or one that has values of several rows or lanes */
export function refusalOf(engine: Engine, writer: CoreWriter, code: number, subject = "priority", lane = 0): Error {
  const { core, roles } = engine;
  core.look();
  if (code === E_RATE_LIMITED)
    return new ReplayError("RATE_LIMITED", "maxPending items already wait for the rate limiter: sample from the table, or await flush()");
  if (code === E_PRIORITY) return priorityError(subject === "priority" ? subject : `${subject}[${core.refusedArgument}]`, core.refusedValue);
  if (code === E_REWARD) return notFinite(roles.path("reward"), core.refusedValue);
  if (code === E_NO_EPISODE) {
    const of = core.refusedArgument;
    return subject === "terminated" || subject === "priorities" ? endsAlready(of) : noEpisode(of, core.refusedValue > 0);
  }
  if (code === E_FINAL) return beginsWithFinal(core.refusedValue);
  if (code !== E_LENGTH) return core.failure(code);
  return beyondWindow(writer.length(lane), core.refusedValue);
}
