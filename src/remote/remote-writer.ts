/** Makes writers for actors: `remoteWriter`. */
import { integer, oneOf, onlyKeys } from "../base/error.ts";
import type { WaitOptions } from "../base/wait.ts";
import { blockOffsets } from "../memory/block.ts";
import { alignUp, measureLeaves, NARROW, type PlacedLeaf } from "../schema/layout.ts";
import { type FoundLeaf, leavesOf, type Spec } from "../schema/spec.ts";
import type { HasLanes, OneLane } from "../tables/writer.ts";
import { connect, type WriterTarget } from "./channels/connect.ts";
import { Outbox } from "./outbox.ts";
import { MAX_LANES, type WelcomeMessage } from "./wire/messages.ts";
import { RemoteWriter } from "./writer.ts";

export interface RemoteWriterOptions<S extends Spec = Spec, L extends number = number> extends WaitOptions {
  /** The form of a step, as the Replay at the other end has it. */
  readonly spec: S;
  /** Number of environments in lock-step. With more than one, every value has a leading dimension of that length. Default: 1. */
  readonly lanes?: L;
  /** What calls do while a URL or a `connect` has no connection: "wait" until there is one and `maxInFlight` steps at most, or "fail" with IO. Default: "wait". */
  readonly whileOffline?: "wait" | "fail";
  /**
   * How long a writer to a URL or a `connect` is without a connection before it fails with CLOSED, tries that are under way included; 0 for one try, which has 10 seconds.
   * Default: 60,000.
   */
  readonly reconnectTimeoutMs?: number;
}

/**
 * A writer whose Replay is at the other end of a port or a socket, where `replay.acceptWriter` takes its steps. Either end may come first.
 * @param port a MessagePort, or inside a worker what leads out of it: `parentPort`, or the global scope. Or a WebSocket, or any other `ByteChannel`; or its URL, or a
 * function that makes one: then the writer connects again where the connection breaks, and sends again what was not confirmed
 * @throws ReplayError SPEC_MISMATCH where the specs differ, which both ends are told · OUT_OF_TURN where the port, or the name at the other end, has a writer already ·
 * UNSUPPORTED for another version of Reprise at the other end · CLOSED, TIMEOUT, or the signal's reason
 */
export async function remoteWriter<const S extends Spec, const L extends number = 0>(
  port: WriterTarget,
  options: RemoteWriterOptions<S, L>,
): Promise<RemoteWriter<S, HasLanes<L>> & OneLane<S, L, Promise<void> | undefined>> {
  const all = onlyKeys("remoteWriter", options, "spec, lanes, signal, timeoutMs, whileOffline, reconnectTimeoutMs");
  const { spec, lanes: lanesOption, whileOffline = "wait" } = all;
  const lanes = lanesOption ?? 1;
  integer("lanes", lanes, 1, MAX_LANES);
  const failsOffline = oneOf("whileOffline", WHILE_OFFLINE, whileOffline);
  const leaves = placeLeaves(leavesOf(spec));
  const addresses = blockOffsets(leaves, 0, lanes);
  const record = new ArrayBuffer(alignUp(addresses.pop() as number, 16));
  const makeOutbox = (welcome: WelcomeMessage, onDone: () => void) => {
    const { tables, rules } = welcome;
    return new Outbox({ leaves, lanes, tables: tables.length, rules: rules.length, record, addresses, failsOffline, onDone }, welcome);
  };
  return connect(
    port,
    { leaves, lanes, makeOutbox },
    all,
    (conversation) => new RemoteWriter(spec, leaves, lanesOption, conversation, record, addresses) as never,
  );
}

const WHILE_OFFLINE = { wait: false, fail: true } as const;

/** The leaves of a step in a record that no core reads: each in a block of one row. */
function placeLeaves(found: readonly FoundLeaf[]): PlacedLeaf[] {
  const leaves = measureLeaves(found);
  const offsets = blockOffsets(leaves, 0, 1);
  return leaves.map((leaf, i) => ({ ...leaf, kind: NARROW, offset: 0, staged: offsets[i] as number }));
}
