/** Implements `remoteWriter`, which makes writers for actors. */
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
  /** The spec of a step, which must equal the spec of the Replay at the other end. */
  readonly spec: S;
  /** The number of environments in lock-step. With more than one environment, every value has a leading dimension of that length. Default: 1. */
  readonly lanes?: L;
  /**
   * The behaviour of calls while a writer to a URL, or to a function that makes a socket, has no connection. "wait" waits for a connection, with at most
   * `maxInFlight` steps. "fail" throws IO. Default: "wait".
   */
  readonly whileOffline?: "wait" | "fail";
  /**
   * The time in milliseconds without a connection after which a writer to a URL, or to a function that makes a socket, fails with CLOSED. The time spent in
   * connection attempts counts. 0 allows a single attempt of 10 seconds. Default: 60,000.
   */
  readonly reconnectTimeoutMs?: number;
}

/**
 * Returns a writer whose Replay is at the other end of a port or a socket, where `replay.acceptWriter` accepts its steps. Either end may come first. With a URL
 * or a function that makes a socket, the writer reconnects if the connection breaks, and sends unconfirmed steps again.
 * @param port a MessagePort, a Worker, or inside a worker `parentPort` or the global scope; a WebSocket or any other `ByteChannel`; or a URL or a function that
 * makes a socket
 * @throws ReplayError SPEC_MISMATCH if the specs differ. Both ends report this
 * @throws ReplayError OUT_OF_TURN if the port, or the name at the other end, already has a writer
 * @throws ReplayError UNSUPPORTED if the other end has another version of Reprise
 * @throws ReplayError CLOSED if the connection is closed
 * @throws ReplayError TIMEOUT if the time limit ends the wait
 * @throws the signal's reason if the signal aborts
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

/** Returns the leaves of a step in a record that the core does not read. The record is a block of one row. */
function placeLeaves(found: readonly FoundLeaf[]): PlacedLeaf[] {
  const leaves = measureLeaves(found);
  const offsets = blockOffsets(leaves, 0, 1);
  return leaves.map((leaf, i) => ({ ...leaf, kind: NARROW, offset: 0, staged: offsets[i] as number }));
}
