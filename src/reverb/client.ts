/** Speaks to a server of Reverb's, or to several: what `LocalClient` is for tables of this process. */

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
  /** What one step is. Only what writes steps needs it. */
  readonly spec?: S;
  /** For a server behind TLS: options of `tls.connect`, such as `{ca}`, or `{}`. Default: no encryption, as Reverb's own servers. */
  readonly credentials?: object;
  /**
   * Milliseconds without a connection, also before the first one, for which writers, `insert`, samplers and `serverInfo` try it again before its error is theirs: and so for
   * which buffers and datasets do. Other calls do not try again. Default: 30,000.
   */
  readonly reconnectTimeoutMs?: number;
  /** Milliseconds that a connection may take, until the server has said its first word. Default: 10,000. */
  readonly connectTimeoutMs?: number;
  /**
   * Milliseconds without a word from the server, while calls are in progress, after which it is asked whether it is there, and asked again after as many. Default: 30,000. The
   * first question is a ping; while it has nothing else to say the next ones are calls of ServerInfo, since gRPC's servers end connections with more pings.
   */
  readonly keepAliveMs?: number;
  /** Milliseconds that the answer to such a question may take, before the connection counts as lost. Default: 20,000. */
  readonly keepAliveTimeoutMs?: number;
  /** Items that may be on their way without a confirmation, as long as their chunks have less than 256 MiB. Default: 1,000. */
  readonly maxInFlightItems?: number;
  /** Bytes that one answer, or one sample, may have; of a sample also its chunks and its columns, unpacked. Default: 1 GiB. */
  readonly maxMessageBytes?: number;
  /** What is told, of several servers, which one is gone, and that it is back. Default: `console.warn`; null for nothing. */
  readonly logger?: Logger | null;
}

/** Writers to a server: what they return besides items is a promise. */
export type LegacyStreamWriter<S extends Spec = Spec> = LegacyWriter<S, "server">;
export type StreamWriter<S extends Spec = Spec> = TrajectoryWriter<S, "server">;
export type StructuredStreamWriter<S extends Spec = Spec> = StructuredWriter<S, "server">;

/** Options of a gateway's writers: those of `replay.acceptWriter` that a server's tables can keep to. */
export interface GatewayOptions
  extends Pick<AcceptOptions, "maxInFlight" | "sessionTtlMs" | "limits" | "keepAliveMs" | "keepAliveTimeoutMs" | "signal" | "timeoutMs"> {
  /** Rules that make items of the steps that come. */
  readonly items?: readonly (Pick<LengthRule, "table" | "length" | "stride"> & { readonly priority?: number })[];
  /** Steps that an item may have. Default: the longest rule, but at least 32. */
  readonly keep?: number;
}

const GATEWAY_OPTIONS = "items, keep, maxInFlight, sessionTtlMs, limits, keepAliveMs, keepAliveTimeoutMs, signal, timeoutMs";
const OPTIONS = "spec, credentials, reconnectTimeoutMs, connectTimeoutMs, keepAliveMs, keepAliveTimeoutMs, maxInFlightItems, maxMessageBytes, logger";

export class ReverbClient<const S extends Spec = Spec> extends ClientCalls<S, string, "server"> implements Client<S> {
  /** `HOST:PORT`; of several servers with commas between. */
  readonly address: string;
  /** What its warnings go to; null for nothing. */
  readonly logger: Logger | null;
  /** Keys of its items are bigints. */
  readonly keyDtype = "u64";
  readonly #servers: Servers;
  readonly #tables: ServerTables<S>;
  /** Of the writers that it accepts. */
  #host: ServerHost | undefined;

  /**
   * Nothing is sent before the first call.
   *
   * Several servers share the load, as Reverb's do behind a load balancer: they have the same tables and do not know of each other. Writers and inserts take them in turn, an
   * item is on one of them; samples come from each in turn; `mutatePriorities`, `reset`, `checkpoint` and `serverInfo` go to all. A server that is gone is told to the
   * `logger`, the others go on, also with what a writer has sent to it without a confirmation; once it is back it takes its turns again.
   * @param address `HOST:PORT`, of an IPv6 address `[HOST]:PORT`; a list of them for several servers
   * @throws TypeError, RangeError
   */
  constructor(address: string | readonly string[], options: ReverbClientOptions<S> = {}) {
    hideFrames(new.target);
    const addresses = addressesOf(address);
    onlyKeys("options", options, OPTIONS);
    const { reconnectTimeoutMs = 30_000, connectTimeoutMs = 10_000, keepAliveMs = KEEP_ALIVE_MS, keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS } = options;
    const { spec, credentials, maxInFlightItems = 1000, maxMessageBytes = 2 ** 30, logger = toConsole } = options;
    if (credentials !== undefined && (typeof credentials !== "object" || credentials === null))
      throw mustBe(TypeError, "credentials", "an object of options for TLS, {} for none", credentials);
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

  /** What one step is. @throws ReplayError SPEC_MISMATCH where the client was made without */
  get spec(): S {
    return this.#tables.fields.spec as S;
  }

  /** Addresses of the servers that did not answer the last time. Of one server alone: none, its errors are those of the calls. */
  get goneServers(): readonly string[] {
    return this.#servers.unreachable;
  }

  /**
   * What observers write with: whole steps, and items of the last ones. Rules of `nStep`, rules with `columns` and a priority of "max" are for tables of this process alone.
   * @throws RangeError, TypeError · ReplayError UNSUPPORTED, SPEC_MISMATCH without a spec
   */
  writer(options: StepWriterOptions): StreamSteps<S> {
    const { keep, rules } = checkRules(options);
    const { fields } = this.#tables;
    return new StreamSteps<S>(fields, this.#tables.sink({ maker: "trajectoryWriter", keep }), keep, rules);
  }

  /**
   * Lets an actor at the other end of a port or a socket write into the server's tables, as `replay.acceptWriter` does for those of a Replay: this process is its gateway. A
   * block is confirmed once the server has confirmed the items that it brought; until then the actor keeps it. Rules have `length`, `stride` and a number as `priority`; an
   * `UNSUPPORTED` error says what else a server cannot do. Items are those that a Replay's writer would make, final steps included.
   * @param target a port, a WebSocket, or a channel of messages @returns once the actor has come
   * @throws ReplayError NOT_FOUND where the server has no table of a rule · UNSUPPORTED · IO where no server is there · SPEC_MISMATCH for another spec at the other end, or
   * without a spec · CLOSED, TIMEOUT, or the signal's reason
   */
  async acceptWriter(target: PortLike | Socket, options: GatewayOptions = {}): Promise<AcceptedWriter> {
    onlyKeys("acceptWriter", options, GATEWAY_OPTIONS);
    const { fields } = this.#tables;
    this.#host ??= new ServerHost(fields as never, (keep) => this.#tables.sink({ maker: "trajectoryWriter", keep }));
    const host = this.#host;
    const { items } = host.resolve(options.items === undefined ? {} : { items: options.items });
    // What comes while the rest is loaded, and the server is asked, must not be lost.
    const arrival = new Arrival(target);
    try {
      const { accept } = await import("../remote/accept.ts");
      return await accept(arrival, host, options as AcceptOptions, async (wait) => {
        // So that the actor learns at once of a table that is not there.
        const tables = await this.#tables.known.queryAll(wait);
        for (const { table } of items) await this.#tables.known.get(table);
        host.learn(tables.keys());
      });
    } finally {
      arrival.release();
    }
  }

  /** Whether there is such a table, where the server has told of it by now. */
  knows(table: string): boolean | undefined {
    return this.#tables.known.cached(table) === undefined ? undefined : true;
  }

  /**
   * What items of a table look like: the server's signature, nested as the spec where it has as many leaves, since names do not count; without one, the spec of the steps with
   * a dimension of time before each leaf's own.
   * @throws ReplayError NOT_FOUND, IO, SPEC_MISMATCH without a spec
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

  /** Saves all tables on the server's disk. @returns the path there; of several servers a line `HOST:PORT PATH` of each that is there @throws ReplayError INVALID_DATA where the server has no checkpointer · IO */
  async checkpoint(): Promise<string> {
    const paths = await this.#servers.all("Checkpoint", emptyRequest(HEAD), readCheckpointResponse);
    return this.#servers.channels.length === 1 ? (paths[0]?.value as string) : paths.map(({ address, value }) => `${address} ${value}`).join("\n");
  }

  /** Ends all calls. Items without a confirmation may or may not be in their tables: `flush` the writers first, or await `[Symbol.asyncDispose]`. */
  close(): void {
    const reason = new ReplayError("CLOSED", "this client was closed: make a new ReverbClient");
    this.#host?.close();
    this.#tables.close(reason);
    this.#servers.close();
  }

  /** Waits until every writer's items are confirmed, or cannot be, then closes. @throws what one of them met */
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
  if (addresses.length === 0) throw mustBe(RangeError, "address", "HOST:PORT, or a list of at least one", toSample);
  addresses.forEach((hostAndPort, i) => {
    const name = Array.isArray(toSample) ? `address[${i}]` : "address";
    if (typeof hostAndPort !== "string") throw mustBe(TypeError, name, "a string such as localhost:8000", hostAndPort);
    if (!/^(\[[\da-fA-F:.]+\]|[^\s/:@[\]]+):\d{1,5}$/.test(hostAndPort)) throw mustBe(RangeError, name, "HOST:PORT, such as localhost:8000", hostAndPort);
    const port = Number(hostAndPort.slice(hostAndPort.lastIndexOf(":") + 1));
    if (port < 1 || port > MAX_PORT) throw mustBe(RangeError, `the port in ${name}`, `in 1 … ${MAX_PORT}`, port);
    if (addresses.indexOf(hostAndPort) < i) throw mustBe(RangeError, name, "another server than those before", hostAndPort);
  });
  return addresses as readonly string[];
}
