/** Implements a client's access to the tables of one or more servers: the client's calls, and the sinks of its writers. */
import { ReplayError } from "../base/error.ts";
import { MAX_LENGTH, MAX_TIMEOUT_MS } from "../base/limits.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import type { FoundLeaf, Spec } from "../schema/spec.ts";
import type { DrawnItem } from "../tf-agents/sampling/sample.ts";
import { ItemSampler } from "../tf-agents/sampling/sampler.ts";
import type { Sampler, SamplerOptions } from "../tf-agents/sampling/sampler-options.ts";
import type { TableInfo } from "../tf-agents/sampling/table-info.ts";
import type { Signature } from "../tf-agents/signature.ts";
import type { ClientTables, InsertedStep, SinkRequest } from "../tf-agents/writers/client-calls.ts";
import type { Fields } from "../tf-agents/writers/fields.ts";
import type { KeyChanges } from "../tf-agents/writers/key-changes.ts";
import { mustBeTableName } from "../tf-agents/writers/step-client.ts";
import type { Channel } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import { InsertRound } from "./insert-round.ts";
import { InsertStream } from "./insert-stream.ts";
import { randomKey } from "./keys.ts";
import { ServerSink } from "./server-sink.ts";
import type { Route, Servers } from "./servers.ts";
import { ShardedSource } from "./sharded-sampler.ts";
import { chunkOf, placeLeaves, stepValue } from "./step-values.ts";
import { type SignatureOf, StreamSource } from "./stream-sampler.ts";
import { orderColumns, TableCache } from "./table-cache.ts";
import type { ColumnMessage } from "./wire/item.ts";
import { mutateRequest, resetRequest } from "./wire/requests.ts";
import { readEmpty } from "./wire/responses.ts";

export class ServerTables<S extends Spec> implements ClientTables<S> {
  readonly maxTimeout = MAX_TIMEOUT_MS / 1000;
  readonly known: TableCache;
  readonly #servers: Servers;
  readonly #fields: Fields<S> | undefined;
  readonly #maxInFlight: number;
  readonly #reconnectMs: number;
  readonly #inserts: InsertRound;
  /** The sinks that are open, or have items in flight. */
  readonly #sinks = new Map<ServerSink, InsertStream>();

  /** @param fields undefined for a client that writes no steps @param maxInFlight the maximum number of unconfirmed items per writer */
  constructor(servers: Servers, fields: Fields<S> | undefined, maxInFlight: number, reconnectMs: number) {
    this.#servers = servers;
    this.#fields = fields;
    this.#maxInFlight = maxInFlight;
    this.#reconnectMs = reconnectMs;
    this.known = new TableCache(servers, reconnectMs);
    this.#inserts = new InsertRound(servers, (route) => this.#stream(undefined, undefined, route));
  }

  get fields(): Fields<S> {
    if (this.#fields === undefined) throw new ReplayError("SPEC_MISMATCH", "this client has no spec. Create it with new ReverbClient(address, { spec })");
    return this.#fields;
  }

  async answer<T>(call: () => T | Promise<T>): Promise<T> {
    return await call();
  }

  mustBeTable(name: unknown): void {
    mustBeTableName(name);
  }

  /** Does nothing, since only the server knows the tables. */
  mustKnow(): void {}

  sink({ keep, validates, legacy }: SinkRequest): ServerSink {
    let stream: InsertStream | undefined;
    const open = (kept: () => Iterable<bigint>) => {
      stream = this.#stream(kept, legacy?.maxInFlightItems);
      return stream;
    };
    // An item waits until its chunk is full, so its steps must stay available for up to this many steps.
    const maxChunk = legacy && Math.min(legacy.chunkLength, MAX_LENGTH + 1 - keep);
    const chunks = maxChunk && { maxChunk, sendsAfter: maxChunk, deltaEncoded: legacy.deltaEncoded };
    const options = { keep: keep + (maxChunk ?? 1) - 1, validates, ...chunks };
    const sink: ServerSink = new ServerSink(
      this.fields.leaves,
      options,
      this.known,
      open,
      () => this.#sinks.delete(sink),
      (reason) => this.#servers.warnLoss(reason),
    );
    this.#sinks.set(sink, stream as unknown as InsertStream);
    return sink;
  }

  leavesFor(_table: string, leaves: readonly FoundLeaf[]): readonly PlacedLeaf[] {
    return placeLeaves(leaves);
  }

  async insert({ values, leaves, shapes, stepShapes, priorities }: InsertedStep, options: WaitOptions): Promise<void> {
    const columns = leaves.map((leaf) => ({ leaf, values: [stepValue(leaf, values[leaf.index])] }));
    const chunk = chunkOf(randomKey(), randomKey(), 0, columns);
    const plain = columns.map((_, index): ColumnMessage => ({ slices: [{ chunkKey: chunk.key, offset: 0, length: 1, index }], squeeze: false }));
    const items = await Promise.all(
      priorities.map(async ([table, priority]) => {
        const known = await this.known.get(table, options);
        return { key: randomKey(), table, priority, timesSampled: 0, columns: orderColumns(table, known, plain, shapes, stepShapes) };
      }),
    );
    options.signal?.throwIfAborted();
    const stream = this.#inserts.next();
    try {
      for (const item of items) stream.insert(item, [chunk]);
      const keys = items.map(({ key }) => key);
      await stream.waitForItems(keys, options);
    } finally {
      this.#inserts.done(stream);
    }
  }

  async *samples(
    table: string,
    count: number,
    signal: AbortSignal | undefined,
    read: (own: Signature | undefined) => (item: DrawnItem) => unknown,
  ): AsyncGenerator<unknown> {
    if (count === 0) return;
    const { info } = await this.known.get(table, signal === undefined ? {} : { signal });
    const toSample = read(info.signature);
    const sampler = this.sampler(table, { maxSamples: count });
    try {
      for (let item = await sampler.next({ signal }); item !== undefined; item = await sampler.next({ signal })) yield toSample(item);
    } finally {
      sampler.close();
    }
  }

  sampler(table: string, options: SamplerOptions): Sampler {
    mustBeTableName(table);
    const signature: SignatureOf = async (wait, closing) => (await this.known.get(table, wait, closing)).signature;
    const [channel, ...others] = this.#servers.channels;
    const streams = (from: Channel, own: SamplerOptions, reconnectMs: number) => new StreamSource(from, table, own, reconnectMs, signature);
    if (others.length === 0) return new ItemSampler<"server">(streams(channel as Channel, options, this.#reconnectMs));
    const make = (from: Channel, own: SamplerOptions) => new ItemSampler<"server">(streams(from, own, 0));
    return new ItemSampler<"server">(new ShardedSource(this.#servers, table, options, this.#reconnectMs, signature, make));
  }

  async info(options: WaitOptions): Promise<{ readonly [table: string]: TableInfo }> {
    const tables = await this.known.queryAll(options);
    return Object.fromEntries([...tables].map(([name, { info }]) => [name, info]));
  }

  async mutate(table: string, { keys, priorities, deletes: deleted }: KeyChanges): Promise<void> {
    const updates = keys.map((key, i) => [BigInt(key), priorities[i] as number] as const);
    const request = { table, updates, deletes: deleted.map(BigInt) };
    await this.#servers.all("MutatePriorities", mutateRequest(request, HEAD), (bytes) => readEmpty(bytes, "MutatePrioritiesResponse"));
  }

  async reset(table: string): Promise<void> {
    await this.#servers.all("Reset", resetRequest(table, HEAD), (bytes) => readEmpty(bytes, "ResetResponse"));
  }

  /** Ends all streams. */
  close(reason: unknown): void {
    for (const stream of this.#sinks.values()) stream.close(reason);
    this.#inserts.close(reason);
  }

  /** Waits until every writer's items are confirmed, or can no longer be confirmed. */
  whenConfirmed(): Promise<PromiseSettledResult<void>[]> {
    return Promise.allSettled([...this.#sinks.keys()].map((sink) => sink.whenConfirmed()));
  }

  #stream(kept: (() => Iterable<bigint>) | undefined, maxInFlight = this.#maxInFlight, route: Route = this.#servers.route()): InsertStream {
    return new InsertStream(route, maxInFlight, this.#reconnectMs, kept);
  }
}
