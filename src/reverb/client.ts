/** Implements the client of one or more Reverb servers. Its counterpart for tables of this process is `LocalClient`. */

import { finite, integer, mustBe, onlyKeys, ReplayError } from "../base/error.ts";
import { MAX_ITEMS, MAX_TIMEOUT_MS } from "../base/limits.ts";
import { hideFrames } from "../base/stack-trace.ts";
import { type Logger, loggerOf, toConsole } from "../base/warnings.ts";
import type { AcceptOptions } from "../remote/accept.ts";
import type { AcceptedWriter } from "../remote/accepted-writer.ts";
import { Arrival } from "../remote/channels/arrival.ts";
import type { Socket } from "../remote/channels/channel.ts";
import type { PortLike } from "../remote/channels/port.ts";
import { leaves, map, pack, valueAt } from "../schema/nest.ts";
import { copySpec, leavesOf, type Spec } from "../schema/spec.ts";
import type { LengthRule } from "../tables/rules.ts";
import { type LeafSignature, type Signature, signatureOf } from "../tf-agents/signature.ts";
import type { Client } from "../tf-agents/writers/client.ts";
import { ClientCalls } from "../tf-agents/writers/client-calls.ts";
import { Fields } from "../tf-agents/writers/fields.ts";
import type { LegacyWriter } from "../tf-agents/writers/legacy-writer.ts";
import { mustBeTableName, type StepWriterOptions } from "../tf-agents/writers/step-client.ts";
import type { StructuredWriter } from "../tf-agents/writers/structured-writer.ts";
import type { TrajectoryWriter } from "../tf-agents/writers/trajectory-writer.ts";
import { Channel, KEEP_ALIVE_MS, KEEP_ALIVE_TIMEOUT_MS } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import { ServerHost } from "./server-host.ts";
import { ServerTables } from "./server-tables.ts";
import { Servers } from "./servers.ts";
import { placeLeaves } from "./step-values.ts";
import { checkRules, StreamSteps } from "./stream-steps.ts";
import { emptyRequest } from "./wire/requests.ts";
import { readCheckpointResponse } from "./wire/responses.ts";

const SERVICE = "deepmind.reverb.ReverbService";

export interface ReverbClientOptions<S extends Spec = Spec> {
  /** The spec of one step. Required only for writing steps. */
  readonly spec?: S;
  /** The options of `tls.connect` for a server with TLS, such as `{ca}`, or `{}`. Default: no encryption, as in Reverb. */
  readonly credentials?: object;
  /**
   * The time in milliseconds for which writers, `insert`, samplers and `serverInfo` try to connect or reconnect before they throw. Buffers and datasets use
   * these calls. Other calls do not reconnect. Default: 30,000.
   */
  readonly reconnectTimeoutMs?: number;
  /** The time limit for connecting, in milliseconds, until the server's first frame. Default: 10,000. */
  readonly connectTimeoutMs?: number;
  /**
   * The time in milliseconds without an answer after which the server is probed, while calls are in progress. It is also the interval between probes. The first
   * probe is a ping. Later probes are calls to ServerInfo, since gRPC servers end connections after too many pings. Default: 30,000.
   */
  readonly keepAliveMs?: number;
  /** The time limit for the answer to a probe, in milliseconds. After this time, the connection counts as lost. Default: 20,000. */
  readonly keepAliveTimeoutMs?: number;
  /** The maximum number of unconfirmed items in flight per writer. The chunks of these items are also limited, to about 256 MiB. Default: 1,000. */
  readonly maxInFlightItems?: number;
  /**
   * The maximum size of one answer or one sample, in bytes, from 1 to 2^32 - 1. For a sample, the limit also applies to its chunks and columns after
   * decompression. Default: 1 GiB.
   */
  readonly maxMessageBytes?: number;
  /**
   * Receives a message when one of several servers is gone, and another message when that server is back. Pass null to silence the messages. Default:
   * `console.warn`.
   */
  readonly logger?: Logger | null;
}

/** A legacy writer to a server. Its calls return promises. */
export type LegacyStreamWriter<S extends Spec = Spec> = LegacyWriter<S, "server">;
export type StreamWriter<S extends Spec = Spec> = TrajectoryWriter<S, "server">;
export type StructuredStreamWriter<S extends Spec = Spec> = StructuredWriter<S, "server">;

/** The options of a gateway's writers. They are the options of `replay.acceptWriter` that a server's tables support. */
export interface GatewayOptions
  extends Pick<AcceptOptions, "maxInFlight" | "sessionTtlMs" | "limits" | "keepAliveMs" | "keepAliveTimeoutMs" | "signal" | "timeoutMs"> {
  /** The rules that create items from incoming steps. */
  readonly items?: readonly (Pick<LengthRule, "table" | "length" | "stride"> & { readonly priority?: number })[];
  /** The maximum number of steps in an item. Default: the length of the longest rule, or 32 if that is larger. */
  readonly keep?: number;
}

const GATEWAY_OPTIONS = "items, keep, maxInFlight, sessionTtlMs, limits, keepAliveMs, keepAliveTimeoutMs, signal, timeoutMs";
const OPTIONS = "spec, credentials, reconnectTimeoutMs, connectTimeoutMs, keepAliveMs, keepAliveTimeoutMs, maxInFlightItems, maxMessageBytes, logger";

export class ReverbClient<const S extends Spec = Spec> extends ClientCalls<S, string, "server"> implements Client<S> {
  /** The address, `HOST:PORT`. Several addresses are separated by commas. */
  readonly address: string;
  /** Receives the warnings of the client. null silences the warnings. */
  readonly logger: Logger | null;
  /** The dtype of item keys, which are bigints. */
  readonly keyDtype = "u64";
  readonly #servers: Servers;
  readonly #tables: ServerTables<S>;
  /** The host of the writers that the client accepts. */
  #host: ServerHost | undefined;

  /**
   * Creates a client. Nothing is sent before the first call.
   *
   * Several servers share the load, like Reverb servers behind a load balancer. They have the same tables, and do not communicate with each other. Writers and
   * inserts use the servers in turn, and each item is on one server. Samples also come from the servers in turn. `mutatePriorities`, `reset`, `checkpoint` and
   * `serverInfo` go to all servers.
   *
   * If a server is gone, the `logger` receives a warning, and the other servers take over its unconfirmed items. When the server is back, the client uses the
   * server again.
   * @param address `HOST:PORT`, or `[HOST]:PORT` for an IPv6 address; a list of addresses for several servers
   * @throws TypeError, RangeError if an argument is invalid
   */
  constructor(address: string | readonly string[], options: ReverbClientOptions<S> = {}) {
    hideFrames(new.target);
    const addresses = addressesOf(address);
    onlyKeys("options", options, OPTIONS);
    const { reconnectTimeoutMs = 30_000, connectTimeoutMs = 10_000, keepAliveMs = KEEP_ALIVE_MS, keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS } = options;
    const { spec, credentials, maxInFlightItems = 1000, maxMessageBytes = 2 ** 30, logger = toConsole } = options;
    if (credentials !== undefined && (typeof credentials !== "object" || credentials === null))
      throw mustBe(TypeError, "credentials", "an object of TLS options, or {} for the defaults", credentials);
    const reconnectMs = finite("reconnectTimeoutMs", reconnectTimeoutMs, 0, MAX_TIMEOUT_MS);
    const maxInFlight = integer("maxInFlightItems", maxInFlightItems, 1, MAX_ITEMS);
    const channel = {
      credentials,
      connectTimeoutMs: finite("connectTimeoutMs", connectTimeoutMs, 1, MAX_TIMEOUT_MS),
      keepAliveMs: finite("keepAliveMs", keepAliveMs, 1, MAX_TIMEOUT_MS),
      keepAliveTimeoutMs: finite("keepAliveTimeoutMs", keepAliveTimeoutMs, 1, MAX_TIMEOUT_MS),
      maxMessageBytes: integer("maxMessageBytes", maxMessageBytes, 1, 2 ** 32 - 1),
    };
    const channels = addresses.map((hostAndPort) => new Channel(hostAndPort, SERVICE, channel));
    const servers = new Servers(channels, loggerOf(logger));
    const tables = new ServerTables<S>(servers, spec === undefined ? undefined : fieldsOf(spec), maxInFlight, reconnectMs);
    super(tables);
    this.logger = logger;
    this.address = servers.address;
    this.#servers = servers;
    this.#tables = tables;
  }

  /** The spec of one step. @throws ReplayError SPEC_MISMATCH if the client was created without a spec */
  get spec(): S {
    return this.#tables.fields.spec as S;
  }

  /** The addresses of the servers that did not answer the last call. Always empty for a single server, because its calls throw. */
  get goneServers(): readonly string[] {
    return this.#servers.unreachable;
  }

  /**
   * Opens a writer for observers. The writer appends whole steps, and creates items of the last steps. `nStep` rules, rules with `columns`, and the priority
   * "max" work only with tables of this process.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError UNSUPPORTED if a rule does not work with a server
   * @throws ReplayError SPEC_MISMATCH if the client has no spec
   */
  writer(options: StepWriterOptions): StreamSteps<S> {
    const { keep, rules } = checkRules(options);
    const { fields } = this.#tables;
    return new StreamSteps<S>(fields, this.#tables.sink({ maker: "trajectoryWriter", keep }), keep, rules);
  }

  /**
   * Lets an actor at the other end of a port or a socket write into the server's tables, as `replay.acceptWriter` does for the tables of a Replay. This process
   * is the gateway of the actor. A block is confirmed when the server has confirmed the block's items. Until then, the actor keeps the block. Rules have
   * `length`, `stride` and a number as `priority`; anything else that a server does not support throws `UNSUPPORTED`. The items are those that a Replay's
   * writer would create, including final steps.
   * @param target a port, a WebSocket, or a channel of messages
   * @returns a promise that resolves when the actor has connected
   * @throws ReplayError NOT_FOUND if the server has no table of a rule
   * @throws ReplayError UNSUPPORTED if a server does not support an option
   * @throws ReplayError IO if no server can be reached
   * @throws ReplayError SPEC_MISMATCH if the actor has another spec, or if the client has no spec
   * @throws ReplayError CLOSED if the client, the port or the socket is closed
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws the signal's reason if the signal aborts
   */
  async acceptWriter(target: PortLike | Socket, options: GatewayOptions = {}): Promise<AcceptedWriter> {
    onlyKeys("acceptWriter", options, GATEWAY_OPTIONS);
    const { fields } = this.#tables;
    this.#host ??= new ServerHost(fields as never, (keep) => this.#tables.sink({ maker: "trajectoryWriter", keep }));
    const host = this.#host;
    const { items } = host.resolve(options.items === undefined ? {} : { items: options.items });
    // Messages that arrive while modules load and the server answers must not be lost.
    const arrival = new Arrival(target);
    try {
      const { accept } = await import("../remote/accept.ts");
      return await accept(arrival, host, options as AcceptOptions, async (wait) => {
        // The tables are queried first, so that the actor learns immediately that a table does not exist.
        const tables = await this.#tables.known.queryAll(wait);
        for (const { table } of items) await this.#tables.known.get(table);
        host.learn(tables.keys());
      });
    } finally {
      arrival.release();
    }
  }

  /** Returns true if a server has already reported the table, otherwise undefined. */
  knows(table: string): boolean | undefined {
    return this.#tables.known.cached(table) === undefined ? undefined : true;
  }

  /**
   * Returns the signature of a table's items. This is the signature on the server. It is nested like the spec if both have the same number of leaves, even if
   * their names differ. If the server has no signature, the result is the spec of the steps with a time dimension before each leaf's shape.
   * @throws ReplayError NOT_FOUND if the table does not exist
   * @throws ReplayError IO if the server cannot be reached
   * @throws ReplayError SPEC_MISMATCH if a spec is needed and the client has no spec
   */
  async signature(table: string): Promise<Signature> {
    const { spec } = this;
    mustBeTableName(table);
    const { info } = await this.#tables.known.get(table);
    if (info.signature === undefined) return signatureOf(spec);
    const signatureLeaves = leaves<LeafSignature>(info.signature).map(({ leaf }) => leaf);
    if (signatureLeaves.length !== leavesOf(spec).length) return info.signature;
    const packed = pack(spec, signatureLeaves);
    return map(spec, (_, keys) => valueAt(packed, keys) as LeafSignature);
  }

  /**
   * Saves all tables on the server's disk.
   * @returns the path on the server; with several servers, a line `HOST:PORT PATH` for each reachable server
   * @throws ReplayError INVALID_DATA if the server has no checkpointer
   * @throws ReplayError IO if no server can be reached
   */
  async checkpoint(): Promise<string> {
    const paths = await this.#servers.all("Checkpoint", emptyRequest(HEAD), readCheckpointResponse);
    return this.#servers.channels.length === 1 ? (paths[0]?.value as string) : paths.map(({ address, value }) => `${address} ${value}`).join("\n");
  }

  /**
   * Closes the client and ends all calls. Unconfirmed items may or may not be in their tables. To be sure, first call `flush` on the writers, or await
   * `[Symbol.asyncDispose]` instead.
   */
  close(): void {
    const reason = new ReplayError("CLOSED", "this client was closed. Create a new ReverbClient");
    this.#host?.close();
    this.#tables.close(reason);
    this.#servers.close();
  }

  /** Waits until the items of all writers are confirmed or have failed, then closes the client. @throws the error of a writer whose items failed */
  async [Symbol.asyncDispose](): Promise<void> {
    const results = await this.#tables.whenConfirmed();
    this.close();
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
}

function fieldsOf<S extends Spec>(priorityEntries: S): Fields<S> {
  const spec = copySpec(priorityEntries);
  return new Fields<S>({ spec, layout: { leaves: placeLeaves(leavesOf(spec)) } });
}

const MAX_PORT = 65535;

function addressesOf(toSample: unknown): readonly string[] {
  const addresses: readonly unknown[] = Array.isArray(toSample) ? toSample : [toSample];
  if (addresses.length === 0) throw mustBe(RangeError, "address", "HOST:PORT, or a list of at least one address", toSample);
  addresses.forEach((hostAndPort, i) => {
    const name = Array.isArray(toSample) ? `address[${i}]` : "address";
    if (typeof hostAndPort !== "string") throw mustBe(TypeError, name, "a string such as localhost:8000", hostAndPort);
    if (!/^(\[[\da-fA-F:.]+\]|[^\s/:@[\]]+):\d{1,5}$/.test(hostAndPort)) throw mustBe(RangeError, name, "HOST:PORT, such as localhost:8000", hostAndPort);
    const port = Number(hostAndPort.slice(hostAndPort.lastIndexOf(":") + 1));
    if (port < 1 || port > MAX_PORT) throw mustBe(RangeError, `the port in ${name}`, `in 1 … ${MAX_PORT}`, port);
    if (addresses.indexOf(hostAndPort) < i) throw mustBe(RangeError, name, "different from the addresses before it", hostAndPort);
  });
  return addresses as readonly string[];
}
