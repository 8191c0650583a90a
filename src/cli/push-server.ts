/** `reprise push --server`: trajectories into the tables of a Reverb server. */

import { createTrajectoryDataSpec, type RldsDataset } from "../datasets/rlds/index.ts";
import { ReplayError, type Spec } from "../index.ts";
import type { StepClient } from "../tf-agents/index.ts";
import type { Host } from "./answer.ts";
import { UsageError } from "./failure.ts";
import { counted } from "./text.ts";
import { pushTrajectories, type TrajectoryOptions } from "./trajectories.ts";

const ANSWER_SECONDS = 10;

export interface ServerOptions extends TrajectoryOptions {
  readonly maxTextBytes?: number;
}

/** Of a table on the server. */
export interface Sent {
  readonly name: string;
  /** Items that this push has made. */
  readonly inserted: number;
  readonly size: number;
}

/** @param of steps of the data, if it is known @throws ReplayError NOT_FOUND, IO, SPEC_MISMATCH */
export async function pushToServer(
  server: string,
  data: RldsDataset,
  options: ServerOptions,
  host: Host,
  of: number | undefined,
): Promise<{ readonly pushed: number; readonly tables: readonly Sent[] }> {
  const { table, maxTextBytes } = options;
  const spec: Spec = await createTrajectoryDataSpec(data, undefined, { ...(maxTextBytes !== undefined && { maxTextBytes }) });
  // Who pushes into journals has no need of it.
  const { ReverbClient } = await import("../reverb/index.ts");
  const client = clientOf(() => new ReverbClient<Spec>(server, { spec }));
  let made: ReadonlyMap<string, number> = new Map();
  // The observer keeps its writer to itself.
  const counting: StepClient = {
    spec,
    knows: (name) => client.knows(name),
    signature: (name) => client.signature(name),
    writer: (given) => {
      const writer = client.writer(given);
      made = writer.itemsMade;
      return writer;
    },
  };
  try {
    const there = await client.serverInfo({ timeout: ANSWER_SECONDS });
    const missing = table.find((name) => there[name] === undefined);
    if (missing !== undefined)
      throw new ReplayError("NOT_FOUND", `the Reverb server at ${server} has no table ${missing}, but ${Object.keys(there).sort().join(", ")}`);
    const interrupted = (pushed: number) =>
      `${counted(pushed, "trajectory", "trajectories")} of whole episodes were sent to ${server}; of the last ones some items may be missing there`;
    const pushed = await pushTrajectories(counting, data, options, host, of, interrupted);
    const now = await client.serverInfo({ timeout: ANSWER_SECONDS });
    return { pushed, tables: table.map((name) => ({ name, inserted: made.get(name) ?? 0, size: now[name]?.currentSize ?? 0 })) };
  } finally {
    client.close();
  }
}

function clientOf<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--server: ${error.message}`, { cause: error });
    throw error;
  }
}
