/** `reprise push`: pushes trajectories to a journal or a server, using an observer. */

import { pushRldsToReverb, type RldsDataset } from "../datasets/rlds/index.ts";
import { Replay, type Spec } from "../index.ts";
import { ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver, type StepClient } from "../tf-agents/index.ts";
import { Interrupted } from "./exit.ts";
import { PUSHING } from "./journal.ts";
import type { Host } from "./result.ts";

export interface TrajectoryOptions {
  readonly table: readonly string[];
  readonly sequenceLength?: number;
  readonly stride?: number;
  readonly episodes?: true;
  readonly maxLength?: number;
  readonly priority?: number;
}

const MAX_EPISODE_LENGTH = 10_000;

/**
 * Pushes trajectories and closes the observer, so that no writer with an open episode remains in the journal.
 * @param of the number of steps in the data, if it is known
 * @param describeInterrupt returns the message after Ctrl-C, given the number of trajectories from whole episodes that were pushed before
 * @returns the number of trajectories. The promise resolves when all items of these trajectories are in their tables
 * @throws Interrupted if Ctrl-C ends the push
 */
export async function pushTrajectories(
  client: Replay<Spec, string> | StepClient,
  data: RldsDataset,
  options: TrajectoryOptions,
  { signal, progress }: Host,
  of: number | undefined,
  describeInterrupt: (pushed: number) => string,
): Promise<number> {
  const { table: tableName, episodes, maxLength = MAX_EPISODE_LENGTH, sequenceLength = 2, stride = 1, priority = 1 } = options;
  const name = client instanceof Replay ? { name: PUSHING } : {};
  const observer = episodes
    ? new ReverbAddEpisodeObserver(client, { tableName, maxSequenceLength: maxLength, priority, ...name })
    : new ReverbAddTrajectoryObserver(client, { tableName, sequenceLength, strideLength: stride, priority, ...name });
  const bar = progress("pushing");
  let pushed = 0;
  const onProgress = (count: number) => {
    pushed = count;
    bar.at(count, of);
  };
  const pushAll = async () => {
    const count = await pushRldsToReverb(data, observer, undefined, { signal, onProgress });
    await observer.flush({ signal });
    return count;
  };
  try {
    // A full table may never accept new items, so Ctrl-C must end the wait.
    return await Promise.race([pushAll(), rejectOnAbort(signal)]);
  } catch (error) {
    if (signal.aborted) throw new Interrupted(describeInterrupt(pushed));
    throw error;
  } finally {
    bar.end();
    observer.close();
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}
