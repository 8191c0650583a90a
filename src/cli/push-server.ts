/** `reprise push --server`: pushes trajectories into the tables of a Reverb server. */

import { didYouMean } from "../base/error.ts";
import { createTrajectoryDataSpec, type RldsDataset } from "../datasets/rlds/index.ts";
import { ReplayError, type Spec } from "../index.ts";
import type { StepClient } from "../tf-agents/index.ts";
import { UsageError } from "./exit.ts";
import type { Host } from "./result.ts";
import { countText } from "./text.ts";
import { pushTrajectories, type TrajectoryOptions } from "./trajectories.ts";

/** The time in seconds that a server has to describe its tables. */
const RESPONSE_SECONDS = 10;

export interface ServerOptions extends TrajectoryOptions {
  readonly maxTextBytes?: number;
}

/** The counts of a table on the server. */
export interface TableCounts {
  readonly name: string;
  /** The number of items that this push created for the table. */
  readonly inserted: number;
  readonly size: number;
}

/**
 * Pushes trajectories into existing tables of a server.
 * @param of the number of steps in the data, if it is known
 * @throws UsageError if the address of the server is invalid
 * @throws ReplayError NOT_FOUND if the server does not have one of the tables
 * @throws ReplayError IO if the server cannot be reached
 * @throws ReplayError TIMEOUT if the server does not answer in time
 * @throws ReplayError SPEC_MISMATCH if a table has another signature than the data
 * @throws Interrupted if Ctrl-C ends the push
 */
export async function pushToServer(
  server: string,
  data: RldsDataset,
  options: ServerOptions,
  host: Host,
  of: number | undefined,
): Promise<{ readonly pushed: number; readonly tables: readonly TableCounts[] }> {
  const { table, maxTextBytes } = options;
  const spec: Spec = await createTrajectoryDataSpec(data, undefined, { ...(maxTextBytes !== undefined && { maxTextBytes }) });
  // The module of the client is loaded only here, because a push into a journal does not need it.
  const { ReverbClient } = await import("../reverb/index.ts");
  const client = clientOf(() => new ReverbClient<Spec>(server, { spec }));
  let itemCounts: ReadonlyMap<string, number> = new Map();
  // The observer does not expose its writer, so this wrapper of the client keeps the counts of the items that the writer creates.
  const countingClient: StepClient = {
    spec,
    knows: (name) => client.knows(name),
    signature: (name) => client.signature(name),
    writer: (writerOptions) => {
      const writer = client.writer(writerOptions);
      itemCounts = writer.itemsMade;
      return writer;
    },
  };
  try {
    const tables = await client.serverInfo({ timeout: RESPONSE_SECONDS });
    const missing = table.find((name) => tables[name] === undefined);
    if (missing !== undefined) {
      const names = Object.keys(tables).sort();
      throw new ReplayError("NOT_FOUND", `the Reverb server at ${server} has no table ${missing}.${didYouMean(missing, names)} Tables: ${names.join(", ")}`);
    }
    const interruptMessage = (pushed: number) =>
      `${countText(pushed, "trajectory", "trajectories")} of whole episodes were sent to ${server}; some items of the last ones may be missing there`;
    const pushed = await pushTrajectories(countingClient, data, options, host, of, interruptMessage);
    const tablesAfter = await client.serverInfo({ timeout: RESPONSE_SECONDS });
    return { pushed, tables: table.map((name) => ({ name, inserted: itemCounts.get(name) ?? 0, size: tablesAfter[name]?.currentSize ?? 0 })) };
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
