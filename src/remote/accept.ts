/** The memory's end of a remote writer: takes its blocks in order, holds back where a rate limiter does, and gives their buffers back. */
import { ENDS, TERMINATES, TRUNCATES } from "../base/abi.ts";
import { codeOf, integer, onlyKeys, ReplayError } from "../base/error.ts";
import { customInspect } from "../base/inspect.ts";
import type { WaitOptions } from "../base/wait.ts";
import { disposed, type Engine } from "../memory/engine.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { packer } from "../schema/nest.ts";
import type { ColumnsOf, Spec } from "../schema/spec.ts";
import { type BlockOptions, endRulesOf } from "../tables/episode-ends.ts";
import { finiteReward, type ResolvedWriterOptions, type WriterOptions } from "../tables/rules.ts";
import type { AnyTable } from "../tables/table.ts";
import type { Writer } from "../tables/writer.ts";
import { type BlockLayout, blockLayout, CALL, columnAt, columnsOf, END, ITEM } from "./block.ts";
import { acceptConnection, type Connection, portClosed } from "./handshake.ts";
import type { BlockMessage, ClosedMessage, ColumnsMessage, FlushedMessage, FlushMessage, TakenMessage, ToMemory } from "./messages.ts";
import { type Channel, encodeError, type PortLike } from "./port.ts";
import { fieldsOf, isBuffer, isCount, isNumber, kindOfMessage, listOf, malformed } from "./validators.ts";

/** The writer's own options but for its lanes, which the actor says. */
export interface AcceptOptions<TableName extends string = string, Columns = object> extends Omit<WriterOptions<TableName, Columns>, "lanes">, WaitOptions {
  /** Steps that may be on their way from the actor, and items of each table; then it has to wait. Default: 1024. */
  readonly maxInFlight?: number;
}

/** How an accepted writer ended: by the actor's `close`, because the actor is gone, by `close` here, or by an error, which the actor is told. */
export interface Goodbye {
  readonly how: "left" | "gone" | "closed" | "failed";
  readonly error?: unknown;
}

/** What a Replay lends to the writers that it accepts. */
export interface Host {
  readonly engine: Engine;
  readonly tables: ReadonlyMap<string, AnyTable>;
  resolve(options: WriterOptions): ResolvedWriterOptions;
  /** @throws ReplayError OUT_OF_TURN for the name of a writer that is open in this run */
  mustBeFree(name: string | undefined): void;
  writer(options: WriterOptions): Writer<Spec, string, boolean>;
}

const OPTIONS = "name, keep, items, across, autoreset, maxInFlight, signal, timeoutMs";
const MAX_IN_FLIGHT = 1024;
const NO_ROOM = "one call brings more items than the rate limiters let in at once, and maxPending leaves them no place to wait: raise maxPending";

export async function accept(port: PortLike, host: Host, options: AcceptOptions): Promise<AcceptedWriter> {
  const { maxInFlight = MAX_IN_FLIGHT, signal, timeoutMs, ...writerOptions } = onlyKeys("acceptWriter", options, OPTIONS);
  integer("maxInFlight", maxInFlight, 1);
  host.resolve(writerOptions);
  const { engine, tables } = host;
  const { leaves } = engine.layout;
  const reply = (lanes: number) => {
    const resolved = host.resolve({ ...writerOptions, lanes });
    host.mustBeFree(resolved.name);
    const { keep, across, items } = resolved;
    const rules = items.map(({ table }) => table);
    return {
      kind: "welcome" as const,
      keep,
      across,
      ends: endRulesOf(resolved, engine.roles),
      reward: finiteReward(engine, items),
      tables: [...tables.keys()],
      rules,
      maxInFlight,
    };
  };
  // Ends the wait with the caller's signal, or with the Replay.
  const aborter = new AbortController();
  const stop = () => aborter.abort(signal?.reason);
  const closer = { close: () => aborter.abort(disposed()) };
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  engine.closers.add(closer);
  try {
    const wait = { signal: aborter.signal, timeoutMs };
    return await acceptConnection(
      port,
      leaves,
      reply,
      wait,
      (connection, lanes) => new AcceptedWriter(connection, host, host.writer({ ...writerOptions, lanes }), leaves),
    );
  } finally {
    signal?.removeEventListener("abort", stop);
    engine.closers.delete(closer);
  }
}

/** Steps to append; each part is read when it is. */
interface Steps {
  readonly steps: number;
  readonly columns: (from: number, steps: number) => unknown[];
  /** As placeEnds has them, a byte a row. */
  readonly ends?: Uint8Array | undefined;
  readonly finals?: ((from: number, count: number) => unknown[]) | undefined;
  readonly priorities?: { readonly [table: string]: Float64Array };
}

const isBlock = fieldsOf({ buffer: isBuffer, slots: isCount, used: isCount, calls: listOf(isNumber), columns: listOf(isColumns), counts: listOf(isCount) });
const isColumnsMessage = fieldsOf({ buffer: isBuffer, rows: isCount, ends: isCount, finals: isCount, counts: listOf(isCount) });

function isColumns(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Parses a message; a place outside of its buffer makes it a foreign message. */
function readMessage<T>(from: () => T): T {
  try {
    return from();
  } catch (cause) {
    throw foreignMessage(cause);
  }
}

function foreignMessage(cause?: unknown): ReplayError {
  return malformed("a message", "remoteWriter", cause);
}

/** What has to wait on the way yields a promise. */
type Task = Generator<Promise<unknown>, void, unknown>;

export class AcceptedWriter {
  /** Resolves when the actor has gone and all that came from it is in the memory, and with what ended it. It never rejects. */
  readonly closed: Promise<Goodbye>;
  readonly #connection: Connection;
  readonly #channel: Channel;
  readonly #engine: Engine;
  readonly #writer: Writer<Spec, string, boolean>;
  readonly #leaves: readonly PlacedLeaf[];
  readonly #pack: (values: readonly unknown[]) => unknown;
  readonly #names: readonly string[];
  readonly #byName: ReadonlyMap<string, AnyTable>;
  /** The tables of its rules. */
  readonly #ruleTables: readonly AnyTable[];
  /** What came and is not taken yet. */
  readonly #queue: ToMemory[] = [];
  /** Ends what waits. */
  readonly #aborter = new AbortController();
  #layout: BlockLayout | undefined;
  #steps = 0;
  #isWorking = false;
  #isDisconnected = false;
  #resolveClosed!: (how: Goodbye) => void;

  static {
    customInspect<AcceptedWriter>(this, "AcceptedWriter", (writer) => writer.#inspect());
  }

  /** `replay.acceptWriter` makes them. */
  constructor(connection: Connection, host: Host, writer: Writer<Spec, string, boolean>, leaves: readonly PlacedLeaf[]) {
    this.#connection = connection;
    this.#channel = connection.channel;
    this.#engine = host.engine;
    this.#writer = writer;
    this.#leaves = leaves;
    this.#pack = packer(host.engine.spec);
    this.#names = [...host.tables.keys()];
    this.#byName = host.tables;
    this.#ruleTables = [...new Set(writer.options.items.map(({ table }) => host.tables.get(table) as AnyTable))];
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    connection.channel.onMessage = (message: ToMemory) => {
      this.#queue.push(message);
      this.#run();
    };
    connection.channel.onEnd = () => this.#onDisconnect();
    // What was sent before may still be on its way over the channel.
    connection.onLost = () => setTimeout(() => this.#onDisconnect(), 0);
    host.engine.closers.add(this);
  }

  /** Steps that are in the memory. */
  get steps(): number {
    return this.#steps;
  }

  /**
   * Closes it at once: what came and still waits for a rate limiter is given up, the open episode is truncated, and the actor's next call throws CLOSED. For a
   * Worker that has died where the runtime does not tell: browsers.
   */
  close(): void {
    this.#end({ how: "closed" }, new ReplayError("CLOSED", "the writer was closed where the memory is"));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #inspect(): object {
    const { lanes, items } = this.#writer.options;
    return { lanes, items, steps: this.#steps, ...(this.#aborter.signal.aborted && { closed: true }) };
  }

  /** Processes received messages until it has to wait. */
  #run(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#advance(this.#processQueue());
  }

  #advance(task: Task): void {
    try {
      const { done, value } = task.next();
      if (!done) {
        value.then(
          () => this.#advance(task),
          (error) => this.#fail(error),
        );
        return;
      }
      this.#isWorking = false;
      if (this.#isDisconnected) this.#end({ how: "gone" });
    } catch (error) {
      this.#fail(error);
    }
  }

  *#processQueue(): Task {
    for (let message = this.#queue.shift(); message !== undefined; message = this.#queue.shift()) {
      const kind = kindOfMessage(message);
      if (kind === "bye") return this.#end({ how: "left" });
      if (kind === "flush") this.#flush(message as FlushMessage);
      else if (kind === "columns" && isColumnsMessage(message)) yield* this.#takeColumns(message as ColumnsMessage);
      else if (kind === "block" && isBlock(message)) yield* this.#takeBlock(message as BlockMessage);
      else throw foreignMessage();
    }
  }

  *#takeBlock({ buffer, slots, used, calls, columns, counts }: BlockMessage): Task {
    if (this.#layout?.slots !== slots) this.#layout = blockLayout(this.#leaves, this.#writer.options.lanes, slots);
    const layout = this.#layout;
    const writer = this.#writer;
    if (layout.bytes > buffer.byteLength || used > slots) throw foreignMessage();
    let from = 0;
    for (let k = 0; k < calls.length; k += CALL) {
      const [slot, kind, a, b, c, d, e] = calls.slice(k, k + CALL) as [number, number, number, number, number, number, number];
      if (!isCount(slot) || slot < from || slot > used) throw foreignMessage();
      yield* this.#appendSlots(layout, buffer, from, slot);
      from = slot;
      if (kind === ITEM) {
        const options = { length: b, priority: c, lane: d, columns: columns[e - 1] as never };
        const table = this.#names[a];
        if (table === undefined) throw foreignMessage();
        yield* this.#retry([this.#byName.get(table) as AnyTable], () => writer.createItem(table, options));
      } else if (kind === END) {
        const options = {
          lane: a === 0 ? undefined : a - 1,
          terminated: b === 0 ? undefined : b === 2,
          final: c === 1 ? this.#finalStep(layout, buffer, slot) : undefined,
        };
        yield* this.#retry(this.#ruleTables, () => writer.endEpisode(options));
        // Also where nothing was given but `terminated`, the slot is there.
        if (c === 1 || b === 2) from++;
      } else {
        const { lanes, flags } = layout;
        const ends = readMessage(() => new Uint8Array(buffer, flags + slot * lanes, lanes));
        const finals = a === 0 ? undefined : (n: number, rows: number) => (n === 0 ? readMessage(() => columnsOf(layout, buffer, slot + 1, rows)) : []);
        yield* this.#append({ steps: 1, columns: () => readMessage(() => columnsOf(layout, buffer, slot, lanes)), ends, finals });
        from += a === 0 ? 1 : 2;
      }
    }
    yield* this.#appendSlots(layout, buffer, from, used);
    this.#channel.post({ kind: "taken", counts, buffer } satisfies TakenMessage, [buffer]);
  }

  #appendSlots(layout: BlockLayout, buffer: ArrayBuffer, from: number, to: number): Task {
    return this.#append({ steps: to - from, columns: (step, steps) => readMessage(() => columnsOf(layout, buffer, from + step, steps * layout.lanes)) });
  }

  #finalStep(layout: BlockLayout, buffer: ArrayBuffer, slot: number): unknown {
    const values = readMessage(() => columnsOf(layout, buffer, slot, 1));
    return this.#pack(values.map((value, i) => (Array.isArray(value) && this.#leaves[i]?.shape.length === 0 ? value[0] : value)));
  }

  *#takeColumns({ buffer, rows, ends, finals, counts }: ColumnsMessage): Task {
    const leaves = this.#leaves;
    const { lanes, items } = this.#writer.options;
    if (rows % lanes !== 0) throw foreignMessage();
    const addresses = readMessage(() => new Uint32Array(buffer, 0, leaves.length + items.length));
    const columns = (from: number, steps: number) =>
      readMessage(() => leaves.map((leaf, i) => columnAt(leaf, buffer, (addresses[i] as number) + from * lanes * leaf.bytes, steps * lanes)));
    const finalAddresses = finals === 0 ? undefined : readMessage(() => new Uint32Array(buffer, finals, leaves.length));
    const readFinals = (from: number, n: number) =>
      readMessage(() => leaves.map((leaf, i) => columnAt(leaf, buffer, (finalAddresses?.[i] as number) + from * leaf.bytes, n)));
    const priorities: { [table: string]: Float64Array } = {};
    items.forEach(({ table }, k) => {
      const at = addresses[leaves.length + k] as number;
      if (at !== 0) priorities[table] = readMessage(() => new Float64Array(buffer, at, rows));
    });
    yield* this.#append({
      steps: rows / lanes,
      columns,
      ends: ends === 0 ? undefined : readMessage(() => new Uint8Array(buffer, ends, rows)),
      finals: finalAddresses === undefined ? undefined : readFinals,
      priorities,
    });
    this.#channel.post({ kind: "taken", counts, buffer } satisfies TakenMessage, [buffer]);
  }

  /** Appends steps: as many at once as the rate limiters take. */
  *#append({ steps, columns, ends, finals, priorities = {} }: Steps): Task {
    const { lanes } = this.#writer.options;
    let chunk = steps;
    let finalsRead = 0;
    for (let at = 0; at < steps; ) {
      const n = Math.min(chunk, steps - at);
      const [from, to] = [at * lanes, (at + n) * lanes];
      const endBytes = ends?.subarray(from, to);
      const endedCount = endBytes === undefined ? 0 : endBytes.reduce((sum, how) => sum + Number(how > ENDS), 0);
      const final = finals === undefined || endedCount === 0 ? undefined : this.#pack(finals(finalsRead, endedCount));
      const chunkPriorities = Object.fromEntries(Object.entries(priorities).map(([table, values]) => [table, values.subarray(from, to)]));
      try {
        this.#steps += this.#writer.appendColumns(this.#pack(columns(at, n)) as ColumnsOf<Spec>, {
          ...endsOf(endBytes),
          final: final as never,
          priorities: chunkPriorities,
        });
        at += n;
        finalsRead += endedCount;
      } catch (error) {
        if (!isLimited(error)) throw error;
        if (chunk === 1) yield this.#waitForRoom(this.#ruleTables);
        else chunk >>= 1;
      }
    }
  }

  /** A call that is made again when the rate limiters of these tables may have room for it. */
  *#retry(tables: readonly AnyTable[], call: () => unknown): Task {
    for (;;) {
      try {
        call();
        return;
      } catch (error) {
        if (!isLimited(error)) throw error;
      }
      yield this.#waitForRoom(tables);
    }
  }

  /** Waits until something has changed, and half of the items that wait for one of the limiters are in: each try costs an error. */
  #waitForRoom(tables: readonly AnyTable[]): Promise<unknown> {
    const engine = this.#engine;
    const { changes } = engine;
    // Any of these may be the one that has no room.
    const limiting = tables.filter(({ options }) => options.rateLimiter.maxDiff < Number.MAX_VALUE);
    const isEmpty = ({ size, pending }: { readonly size: number; readonly pending: number }) => size === 0 && pending === 0;
    // Where nothing can be drawn, nothing will ever make room.
    if (limiting.every((table) => isEmpty(table.stats()))) throw new ReplayError("RATE_LIMITED", NO_ROOM);
    const targets = limiting.map((table) => table.stats().pending >> 1);
    const isRoom = () => limiting.some((table, i) => table.stats().pending <= (targets[i] as number));
    const room = () => (engine.changes !== changes && isRoom() ? true : undefined);
    return Promise.resolve(engine.waiters.until(room, () => "", { signal: this.#aborter.signal }));
  }

  #flush({ id }: FlushMessage): void {
    const { signal } = this.#aborter;
    Promise.resolve(this.#writer.flush({ signal })).then(
      () => signal.aborted || this.#channel.post({ kind: "flushed", id } satisfies FlushedMessage),
      () => {},
    );
  }

  /** The actor is gone: takes the messages that came from it, then ends. */
  #onDisconnect(): void {
    this.#isDisconnected = true;
    if (!this.#isWorking) this.#end({ how: "gone" });
  }

  #fail(error: unknown): void {
    this.#end({ how: "failed", error }, error);
  }

  #end(goodbye: Goodbye, error?: unknown): void {
    if (this.#aborter.signal.aborted) return;
    this.#aborter.abort(error ?? portClosed());
    this.#queue.length = 0;
    this.#engine.closers.delete(this);
    let [outcome, reason] = [goodbye, error];
    try {
      if (!this.#engine.closed) {
        this.#writer.close();
        // A call of its own: it is told of what could not be written before.
        this.#engine.begin();
      }
    } catch (journalError) {
      // The writer is closed, but a journal could not write that down.
      if (reason === undefined) [outcome, reason] = [{ how: "failed", error: journalError }, journalError];
    }
    const message: ClosedMessage = { kind: "closed", error: reason === undefined ? undefined : encodeError(reason) };
    this.#channel.post(message);
    this.#channel.close();
    this.#connection.leave();
    this.#resolveClosed(outcome);
  }
}

/** What `appendColumns` takes, from the bytes of placeEnds. */
function endsOf(bytes: Uint8Array | undefined): Omit<BlockOptions, "final" | "priorities"> {
  if (bytes === undefined) return {};
  const flags = { terminated: bytes.map((how) => Number(how === TERMINATES)), truncated: bytes.map((how) => Number(how === TRUNCATES)) };
  return bytes.includes(ENDS) ? { ...flags, ends: bytes.map((how) => Number(how === ENDS)) } : flags;
}

function isLimited(error: unknown): boolean {
  return codeOf(error) === "RATE_LIMITED";
}
