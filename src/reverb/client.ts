/** Speaks to a server of Reverb's, or to several: what `LocalClient` is for tables of this process. */

import { pointAtCallersOf } from "../base/caller.ts";
import { finite, flag, integer, mustBe, onlyKeys, ReplayError } from "../base/error.ts";
import { MAX_ITEMS, MAX_LENGTH, MAX_TIMEOUT_MS } from "../base/limits.ts";
import { checkSignal, type WaitOptions } from "../base/wait.ts";
import { type Logger, loggerOf, toConsole } from "../base/warnings.ts";
import { measured, type PlacedLeaf } from "../schema/layout.ts";
import { leaves, map, pack, valueAt } from "../schema/nest.ts";
import { leavesOf, ownSpec, type Spec, type StepOf } from "../schema/spec.ts";
import type { Config } from "../tf-agents/patterns/config.ts";
import { type DrawnItem, nestColumns, type ReplaySample, stepColumns, stepsOf, wholeColumns } from "../tf-agents/sampling/sample.ts";
import type { Sampler, SamplerOptions } from "../tf-agents/sampling/sampler-options.ts";
import type { TableInfo } from "../tf-agents/sampling/table-info.ts";
import { type LeafSignature, type Signature, signatureOf } from "../tf-agents/signature.ts";
import type { Client, PriorityChanges, SampleCallOptions, SampleOf, ServerInfoOptions } from "../tf-agents/writers/client.ts";
import { Fields, type PartOf } from "../tf-agents/writers/fields.ts";
import { keyChangesOf } from "../tf-agents/writers/key-changes.ts";
import { checkLegacy, type LegacyWriterOptions } from "../tf-agents/writers/legacy-options.ts";
import { LegacyWriter } from "../tf-agents/writers/legacy-writer.ts";
import { mustBeTableName, type StepWriterOptions } from "../tf-agents/writers/step-client.ts";
import { StructuredWriter } from "../tf-agents/writers/structured-writer.ts";
import { checkTrajectory, TrajectoryWriter, type TrajectoryWriterOptions } from "../tf-agents/writers/trajectory-writer.ts";
import { Channel, KEEP_ALIVE_MS, KEEP_ALIVE_TIMEOUT_MS } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import { InsertRound } from "./insert-round.ts";
import { InsertStream } from "./insert-stream.ts";
import { randomKey } from "./keys.ts";
import { inOrder, KnownTables } from "./known-tables.ts";
import { ServerSink, type ServerSinkOptions } from "./server-sink.ts";
import { type Route, Servers } from "./servers.ts";
import { ShardedSampler } from "./sharded-sampler.ts";
import { chunkOf, stepValue } from "./step-values.ts";
import { type SignatureOf, StreamSampler } from "./stream-sampler.ts";
import { checkRules, StreamSteps } from "./stream-steps.ts";
import type { ColumnMessage } from "./wire/item.ts";
import { emptyRequest, mutateRequest, resetRequest } from "./wire/requests.ts";
import { readCheckpointResponse, readEmpty } from "./wire/responses.ts";

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

const OPTIONS = "spec, credentials, reconnectTimeoutMs, connectTimeoutMs, keepAliveMs, keepAliveTimeoutMs, maxInFlightItems, maxMessageBytes, logger";

export class ReverbClient<const S extends Spec = Spec> implements Client<S> {
  /** `HOST:PORT`; of several servers with commas between. */
  readonly address: string;
  /** What its warnings go to; null for nothing. */
  readonly logger: Logger | null;
  /** Keys of its items are bigints. */
  readonly keyDtype = "u64";
  readonly #servers: Servers;
  readonly #tables: KnownTables;
  readonly #spec: S | undefined;
  readonly #fields: Fields<S> | undefined;
  readonly #maxInFlight: number;
  readonly #reconnectMs: number;
  readonly #inserts: InsertRound;
  /** Those that are open, or have items on their way. */
  readonly #sinks = new Map<ServerSink, InsertStream>();

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
    pointAtCallersOf(new.target);
    const addresses = addressesOf(address);
    const {
      spec,
      credentials,
      reconnectTimeoutMs = 30_000,
      connectTimeoutMs = 10_000,
      keepAliveMs = KEEP_ALIVE_MS,
      keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS,
      maxInFlightItems = 1000,
      maxMessageBytes = 2 ** 30,
      logger = toConsole,
    } = onlyKeys("options", options, OPTIONS);
    if (credentials !== undefined && (typeof credentials !== "object" || credentials === null))
      throw mustBe(TypeError, "credentials", "an object of options for TLS, {} for none", credentials);
    this.#reconnectMs = finite("reconnectTimeoutMs", reconnectTimeoutMs, 0, MAX_TIMEOUT_MS);
    this.#maxInFlight = integer("maxInFlightItems", maxInFlightItems, 1, MAX_ITEMS);
    const channel = {
      credentials,
      connectTimeoutMs: finite("connectTimeoutMs", connectTimeoutMs, 1, MAX_TIMEOUT_MS),
      keepAliveMs: finite("keepAliveMs", keepAliveMs, 1, MAX_TIMEOUT_MS),
      keepAliveTimeoutMs: finite("keepAliveTimeoutMs", keepAliveTimeoutMs, 1, MAX_TIMEOUT_MS),
      maxMessageBytes: integer("maxMessageBytes", maxMessageBytes, 1, 2 ** 32 - 1),
    };
    const channels = addresses.map((each) => new Channel(each, SERVICE, channel));
    this.logger = logger;
    this.#servers = new Servers(channels, loggerOf(logger));
    this.address = this.#servers.address;
    this.#tables = new KnownTables(this.#servers, reconnectTimeoutMs);
    this.#inserts = new InsertRound(this.#servers, (route) => this.#stream(undefined, undefined, route));
    if (spec === undefined) return;
    this.#spec = ownSpec(spec);
    const placed = measured(leavesOf(this.#spec)).map((leaf): PlacedLeaf => ({ ...leaf, kind: 0, offset: 0, staged: 0 }));
    this.#fields = new Fields<S>({ spec: this.#spec, layout: { leaves: placed } });
  }

  /** What one step is. @throws ReplayError SPEC_MISMATCH where the client was made without */
  get spec(): S {
    if (this.#spec === undefined) throw new ReplayError("SPEC_MISMATCH", "this client has no spec: make it with new ReverbClient(address, { spec })");
    return this.#spec;
  }

  /** Addresses of the servers that did not answer the last time. Of one server alone: none, its errors are those of the calls. */
  get goneServers(): readonly string[] {
    return this.#servers.gone;
  }

  /**
   * Every table by its name. Of several servers counts and sizes are sums over those that are there, all else is as on one of them. It waits for a server that is not there
   * yet: for `timeout`, or without one for `reconnectTimeoutMs`.
   * @throws ReplayError TIMEOUT, IO where no server answers · the signal's reason
   */
  async serverInfo(options: ServerInfoOptions = {}): Promise<{ readonly [table: string]: TableInfo }> {
    const { timeout, signal } = onlyKeys("options", options, "timeout, signal");
    if (timeout !== undefined && timeout !== null) finite("timeout", timeout, 0, MAX_TIMEOUT_MS / 1000);
    checkSignal(signal);
    const timeoutMs = timeout === undefined || timeout === null ? {} : { timeoutMs: 1000 * timeout };
    const tables = await this.#tables.ask({ ...timeoutMs, ...(signal !== undefined && { signal }) });
    return Object.fromEntries([...tables].map(([name, { info }]) => [name, info]));
  }

  /**
   * A writer of items whose columns name any steps at hand. It has a stream of its own: close it, or the client.
   * @throws RangeError, TypeError · ReplayError SPEC_MISMATCH without a spec
   */
  trajectoryWriter(options: TrajectoryWriterOptions): StreamWriter<S> {
    const fields = this.#needed();
    const { keep, validates } = checkTrajectory(options);
    return new TrajectoryWriter<S, "server">(fields, keep, this.#sink({ keep, validates }));
  }

  /** A writer that makes items of patterns by itself: Reverb's `structured_writer`. @throws RangeError, TypeError · ReplayError SPEC_MISMATCH */
  structuredWriter(configs: readonly Config[]): StructuredStreamWriter<S> {
    return new StructuredWriter<S, "server">(this.#needed(), configs, (keep) => this.#sink({ keep }));
  }

  /** A writer of items of the last steps: Reverb's `client.writer`. @throws RangeError, TypeError · ReplayError SPEC_MISMATCH without a spec */
  legacyWriter(options: LegacyWriterOptions): LegacyStreamWriter<S> {
    const { maxSequenceLength, chunkLength, deltaEncoded, maxInFlightItems } = checkLegacy(options);
    const fields = this.#needed();
    // For so long the steps of an item that waits for a chunk must be available.
    const maxChunk = Math.min(chunkLength, MAX_LENGTH + 1 - maxSequenceLength);
    const sink = this.#sink({ keep: maxSequenceLength + maxChunk - 1, maxChunk, sendsAfter: maxChunk, deltaEncoded }, maxInFlightItems);
    return new LegacyWriter<S, "server">(fields, maxSequenceLength, sink);
  }

  /**
   * What observers write with: whole steps, and items of the last ones. Rules of `nStep`, rules with `columns` and a priority of "max" are for tables of this process alone.
   * @throws RangeError, TypeError · ReplayError UNSUPPORTED, SPEC_MISMATCH without a spec
   */
  writer(options: StepWriterOptions): StreamSteps<S> {
    const { keep, rules } = checkRules(options);
    const fields = this.#needed();
    return new StreamSteps<S>(fields, this.#sink({ keep }), keep, rules);
  }

  /** Whether there is such a table, where the server has told of it by now. */
  knows(table: string): boolean | undefined {
    return this.#tables.now(table) === undefined ? undefined : true;
  }

  /**
   * What items of a table look like: the server's signature, nested as the spec where it has as many leaves, since names do not count; without one, the spec of the steps with
   * a dimension of time before each leaf's own.
   * @throws ReplayError NOT_FOUND, IO, SPEC_MISMATCH without a spec
   */
  async signature(table: string): Promise<Signature> {
    const { spec } = this;
    mustBeTableName(table);
    const { info } = await this.#tables.get(table);
    if (info.signature === undefined) return signatureOf(spec);
    const given = leaves<LeafSignature>(info.signature).map(({ leaf }) => leaf);
    if (given.length !== leavesOf(spec).length) return info.signature;
    const packed = pack(spec, given);
    return map(spec, (_, keys) => valueAt(packed, keys) as LeafSignature);
  }

  #sink(options: ServerSinkOptions, maxInFlight = this.#maxInFlight): ServerSink {
    let stream: InsertStream | undefined;
    const open = (kept: () => Iterable<bigint>) => {
      stream = this.#stream(kept, maxInFlight);
      return stream;
    };
    const sink: ServerSink = new ServerSink(this.#needed().leaves, options, this.#tables, open, () => this.#sinks.delete(sink));
    this.#sinks.set(sink, stream as unknown as InsertStream);
    return sink;
  }

  /** The fields of a step. @throws ReplayError SPEC_MISMATCH where the client was made without a spec */
  #needed(): Fields<S> {
    this.spec;
    return this.#fields as Fields<S>;
  }

  /**
   * Inserts one step, an episode of its own, as an item of each table. Fields that it leaves out are no part of the items.
   * @returns a promise: until the server has confirmed all of them
   * @throws RangeError for no table, a priority that is none · ReplayError NOT_FOUND, SPEC_MISMATCH, INVALID_DATA; nothing was sent then · TIMEOUT, IO, CLOSED, or the signal's reason
   */
  async insert(step: PartOf<StepOf<S>>, priorities: { readonly [table: string]: number }, options: WaitOptions = {}): Promise<void> {
    const { signal, timeoutMs } = onlyKeys("options", options, "signal, timeoutMs");
    checkSignal(signal);
    signal?.throwIfAborted();
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
    const fields = this.#needed();
    const given = Object.entries(priorities ?? {});
    if (given.length === 0) throw mustBe(RangeError, "priorities", "an object with at least one table", priorities);
    // One negative priority would end a table of the server's for good.
    for (const [table, priority] of given) finite(`priorities.${table}`, priority, 0);
    const values = fields.take(step);
    const columns = fields.leaves.filter((_, i) => values[i] !== undefined).map((leaf) => ({ leaf, values: [stepValue(leaf, values[leaf.index])] }));
    if (columns.length === 0) throw mustBe("SPEC_MISMATCH", "step", "an object with at least one field", step);
    const chunk = chunkOf(randomKey(), randomKey(), 0, columns);
    const steps = columns.map(({ leaf: { leaf, shape } }) => ({ dtype: leaf.dtype, shape }));
    const shapes = steps.map(({ dtype, shape }) => ({ dtype, shape: [1, ...shape] }));
    const plain = columns.map((_, index): ColumnMessage => ({ slices: [{ chunkKey: chunk.key, offset: 0, length: 1, index }], squeeze: false }));
    const items = await Promise.all(
      given.map(async ([table, priority]) => {
        const known = await this.#tables.get(table, options);
        return { key: randomKey(), table, priority, timesSampled: 0, columns: inOrder(table, known, plain, shapes, steps) };
      }),
    );
    signal?.throwIfAborted();
    const stream = this.#inserts.next();
    try {
      for (const item of items) stream.insert(item, [chunk]);
      await stream.confirmed(
        items.map(({ key }) => key),
        options,
      );
    } finally {
      this.#inserts.done(stream);
    }
  }

  /**
   * Items as the table gives them, each when the rate limiter lets it pass. What was drawn ahead when the loop is left counts as sampled.
   * @param numSamples how many; 1 where it is left out, none at all with -1
   * @throws RangeError, TypeError · in the iteration ReplayError NOT_FOUND, IO, CORRUPT; SPEC_MISMATCH for an item that is no sequence of steps, with `emitTimesteps`
   */
  sample<const O extends SampleCallOptions>(table: string, numSamples = 1, options?: O): AsyncIterable<SampleOf<O>> {
    const known: SampleCallOptions = onlyKeys("options", options ?? {}, "emitTimesteps, unpackAsTableSignature, signal");
    const { emitTimesteps = true, unpackAsTableSignature = false, signal } = known;
    if (numSamples !== -1) integer("numSamples", numSamples, 1);
    flag("emitTimesteps", emitTimesteps);
    flag("unpackAsTableSignature", unpackAsTableSignature);
    checkSignal(signal);
    mustBeTableName(table);
    return this.#samples(table, numSamples, emitTimesteps, unpackAsTableSignature, signal) as AsyncIterable<SampleOf<O>>;
  }

  async *#samples(table: string, numSamples: number, emitTimesteps: boolean, unpack: boolean, signal: AbortSignal | undefined): AsyncGenerator<unknown> {
    if (numSamples === -1) return;
    const { info } = await this.#tables.get(table, signal === undefined ? {} : { signal });
    const signature = unpack ? info.signature : undefined;
    const nest = (columns: ReturnType<typeof wholeColumns>) => (signature === undefined ? columns : nestColumns(table, signature, columns));
    const given = (item: DrawnItem): ReplaySample | readonly ReplaySample[] => {
      if (!emitTimesteps) return { info: item.info, data: nest(wholeColumns(item)) };
      return Array.from({ length: stepsOf(table, item, false) }, (_, t) => ({ info: item.info, data: nest(stepColumns(item, t)) }));
    };
    const sampler = this.sampler(table, { maxSamples: numSamples });
    try {
      for (let item = await sampler.next({ signal }); item !== undefined; item = await sampler.next({ signal })) yield given(item);
    } finally {
      sampler.close();
    }
  }

  /** Draws items of a table, over one stream or several. @throws RangeError, TypeError; NOT_FOUND comes with the first item */
  sampler(table: string, options: SamplerOptions = {}): Sampler {
    onlyKeys("options", options, "maxSamples, rateLimiterTimeoutMs, maxInFlightSamplesPerWorker, numWorkersPerIterator, maxSamplesPerStream");
    mustBeTableName(table);
    const signature: SignatureOf = async (wait, closing) => (await this.#tables.get(table, wait, closing)).signature;
    const [channel, ...others] = this.#servers.channels;
    if (others.length === 0) return new StreamSampler(channel as Channel, table, options, this.#reconnectMs, signature);
    return new ShardedSampler(this.#servers, table, options, this.#reconnectMs, signature, (each, own) => new StreamSampler(each, table, own, 0, signature));
  }

  /**
   * Deletes items, and sets the priorities of others. Keys whose items are gone are skipped.
   * @throws RangeError for a priority that is none, or a key; then nothing was sent · TypeError · ReplayError NOT_FOUND, IO
   */
  async mutatePriorities(table: string, changes: PriorityChanges): Promise<void> {
    mustBeTableName(table);
    const { keys, priorities, gone } = keyChangesOf(changes);
    const updates = keys.map((key, i) => [BigInt(key), priorities[i] as number] as const);
    const request = { table, updates, deletes: gone.map(BigInt) };
    await this.#servers.all("MutatePriorities", mutateRequest(request, HEAD), (bytes) => readEmpty(bytes, "MutatePrioritiesResponse"));
  }

  /** Drops every item of a table and sets its counts to 0. @throws ReplayError NOT_FOUND, IO */
  async reset(table: string): Promise<void> {
    mustBeTableName(table);
    await this.#servers.all("Reset", resetRequest(table, HEAD), (bytes) => readEmpty(bytes, "ResetResponse"));
  }

  /** Saves all tables on the server's disk. @returns the path there; of several servers a line `HOST:PORT PATH` of each that is there @throws ReplayError INVALID_DATA where the server has no checkpointer · IO */
  async checkpoint(): Promise<string> {
    const paths = await this.#servers.all("Checkpoint", emptyRequest(HEAD), readCheckpointResponse);
    return this.#servers.channels.length === 1 ? (paths[0]?.value as string) : paths.map(({ address, value }) => `${address} ${value}`).join("\n");
  }

  /** Ends all calls. Items without a confirmation may or may not be in their tables: `flush` the writers first, or await `[Symbol.asyncDispose]`. */
  close(): void {
    const reason = new ReplayError("CLOSED", "this client was closed: make a new ReverbClient");
    for (const stream of this.#sinks.values()) stream.close(reason);
    this.#inserts.close(reason);
    this.#servers.close();
  }

  /** Waits until every writer's items are confirmed, or cannot be, then closes. @throws what one of them met */
  async [Symbol.asyncDispose](): Promise<void> {
    const ended = await Promise.allSettled([...this.#sinks.keys()].map((sink) => sink.settled()));
    this.close();
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  }

  #stream(kept: (() => Iterable<bigint>) | undefined, maxInFlight = this.#maxInFlight, route: Route = this.#servers.route()): InsertStream {
    return new InsertStream(route, maxInFlight, this.#reconnectMs, kept);
  }
}

const MAX_PORT = 65535;

function addressesOf(given: unknown): readonly string[] {
  const addresses: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (addresses.length === 0) throw mustBe(RangeError, "address", "HOST:PORT, or a list of at least one", given);
  addresses.forEach((one, i) => {
    const name = Array.isArray(given) ? `address[${i}]` : "address";
    if (typeof one !== "string") throw mustBe(TypeError, name, "a string such as localhost:8000", one);
    if (!/^(\[[\da-fA-F:.]+\]|[^\s/:@[\]]+):\d{1,5}$/.test(one)) throw mustBe(RangeError, name, "HOST:PORT, such as localhost:8000", one);
    const port = Number(one.slice(one.lastIndexOf(":") + 1));
    if (port < 1 || port > MAX_PORT) throw mustBe(RangeError, `the port in ${name}`, `in 1 … ${MAX_PORT}`, port);
    if (addresses.indexOf(one) < i) throw mustBe(RangeError, name, "another server than those before", one);
  });
  return addresses as readonly string[];
}
