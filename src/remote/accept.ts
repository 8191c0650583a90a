/** The memory's end of a remote writer: takes its blocks in order, holds back where a rate limiter does, and gives their buffers back. */
import { ENDS, TERMINATES, TRUNCATES } from "../base/abi.ts";
import { codeOf, integer, onlyKeys, ReplayError } from "../base/error.ts";
import { printsAs } from "../base/prints.ts";
import type { WaitOptions } from "../base/wait.ts";
import { disposed, type Engine } from "../memory/engine.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { packer } from "../schema/nest.ts";
import type { ColumnsOf, Spec } from "../schema/spec.ts";
import { type BlockOptions, endRulesOf } from "../tables/ends.ts";
import { finiteReward, type ResolvedWriterOptions, type WriterOptions } from "../tables/rules.ts";
import type { AnyTable } from "../tables/table.ts";
import type { Writer } from "../tables/writer.ts";
import { type BlockForm, blockForm, CALL, columnAt, columnsOf, END, ITEM } from "./block.ts";
import { fieldsOf, isBuffer, isCount, isNumber, kindIn, listOf, malformed } from "./form.ts";
import { admit, gone, type Met } from "./handshake.ts";
import type { BlockMessage, ClosedMessage, ColumnsMessage, FlushedMessage, FlushMessage, TakenMessage, ToMemory } from "./messages.ts";
import { type Channel, type PortLike, sent } from "./port.ts";

/** The writer's own options but for its lanes, which the actor says. */
export interface AcceptOptions<TableName extends string = string, Columns = object> extends Omit<WriterOptions<TableName, Columns>, "lanes">, WaitOptions {
  /** Steps that may be on their way from the actor, and items of each table; then it has to wait. Default: 1024. */
  readonly maxInFlight?: number;
}

/** How an accepted writer ended: by the actor's `close`, because the actor is gone, by `close` here, or by an error, which the actor is told. */
export interface Farewell {
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
  const { maxInFlight = MAX_IN_FLIGHT, signal, timeoutMs, ...own } = onlyKeys("acceptWriter", options, OPTIONS);
  integer("maxInFlight", maxInFlight, 1);
  host.resolve(own);
  const { engine, tables } = host;
  const { leaves } = engine.layout;
  const welcome = (lanes: number) => {
    const resolved = host.resolve({ ...own, lanes });
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
  const over = new AbortController();
  const stop = () => over.abort(signal?.reason);
  const closer = { close: () => over.abort(disposed()) };
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  engine.closers.add(closer);
  try {
    const wait = { signal: over.signal, timeoutMs };
    return await admit(port, leaves, welcome, wait, (met, lanes) => new AcceptedWriter(met, host, host.writer({ ...own, lanes }), leaves));
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

/** What the form of a message says wrongly is no place in its buffer. */
function read<T>(from: () => T): T {
  try {
    return from();
  } catch (cause) {
    throw notOurs(cause);
  }
}

function notOurs(cause?: unknown): ReplayError {
  return malformed("a message", "remoteWriter", cause);
}

/** What has to wait on the way yields a promise. */
type Work = Generator<Promise<unknown>, void, unknown>;

export class AcceptedWriter {
  /** Resolves when the actor has gone and all that came from it is in the memory, and with what ended it. It never rejects. */
  readonly closed: Promise<Farewell>;
  readonly #met: Met;
  readonly #channel: Channel;
  readonly #engine: Engine;
  readonly #writer: Writer<Spec, string, boolean>;
  readonly #leaves: readonly PlacedLeaf[];
  readonly #pack: (values: readonly unknown[]) => unknown;
  readonly #names: readonly string[];
  readonly #byName: ReadonlyMap<string, AnyTable>;
  /** The tables of its rules. */
  readonly #ruled: readonly AnyTable[];
  /** What came and is not taken yet. */
  readonly #queue: ToMemory[] = [];
  /** Ends what waits. */
  readonly #over = new AbortController();
  #form: BlockForm | undefined;
  #steps = 0;
  #isWorking = false;
  #isGone = false;
  #farewell!: (how: Farewell) => void;

  static {
    printsAs<AcceptedWriter>(this, "AcceptedWriter", (writer) => writer.#shown());
  }

  /** `replay.acceptWriter` makes them. */
  constructor(met: Met, host: Host, writer: Writer<Spec, string, boolean>, leaves: readonly PlacedLeaf[]) {
    this.#met = met;
    this.#channel = met.channel;
    this.#engine = host.engine;
    this.#writer = writer;
    this.#leaves = leaves;
    this.#pack = packer(host.engine.spec);
    this.#names = [...host.tables.keys()];
    this.#byName = host.tables;
    this.#ruled = [...new Set(writer.options.items.map(({ table }) => host.tables.get(table) as AnyTable))];
    this.closed = new Promise((resolve) => {
      this.#farewell = resolve;
    });
    met.channel.heard = (message: ToMemory) => {
      this.#queue.push(message);
      this.#run();
    };
    met.channel.ended = () => this.#depart();
    // What was sent before may still be on its way over the channel.
    met.lost = () => setTimeout(() => this.#depart(), 0);
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

  #shown(): object {
    const { lanes, items } = this.#writer.options;
    return { lanes, items, steps: this.#steps, ...(this.#over.signal.aborted && { closed: true }) };
  }

  /** Takes what came, up to where it has to wait. */
  #run(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#goOn(this.#work());
  }

  #goOn(work: Work): void {
    try {
      const { done, value } = work.next();
      if (!done) {
        value.then(
          () => this.#goOn(work),
          (error) => this.#fail(error),
        );
        return;
      }
      this.#isWorking = false;
      if (this.#isGone) this.#end({ how: "gone" });
    } catch (error) {
      this.#fail(error);
    }
  }

  *#work(): Work {
    for (let message = this.#queue.shift(); message !== undefined; message = this.#queue.shift()) {
      const kind = kindIn(message);
      if (kind === "bye") return this.#end({ how: "left" });
      if (kind === "flush") this.#flush(message as FlushMessage);
      else if (kind === "columns" && isColumnsMessage(message)) yield* this.#takeColumns(message as ColumnsMessage);
      else if (kind === "block" && isBlock(message)) yield* this.#take(message as BlockMessage);
      else throw notOurs();
    }
  }

  *#take({ buffer, slots, used, calls, columns, counts }: BlockMessage): Work {
    if (this.#form?.slots !== slots) this.#form = blockForm(this.#leaves, this.#writer.options.lanes, slots);
    const form = this.#form;
    const writer = this.#writer;
    if (form.bytes > buffer.byteLength || used > slots) throw notOurs();
    let from = 0;
    for (let k = 0; k < calls.length; k += CALL) {
      const [slot, kind, a, b, c, d, e] = calls.slice(k, k + CALL) as [number, number, number, number, number, number, number];
      if (!isCount(slot) || slot < from || slot > used) throw notOurs();
      yield* this.#appendSlots(form, buffer, from, slot);
      from = slot;
      if (kind === ITEM) {
        const options = { length: b, priority: c, lane: d, columns: columns[e - 1] as never };
        const table = this.#names[a];
        if (table === undefined) throw notOurs();
        yield* this.#limited([this.#byName.get(table) as AnyTable], () => writer.createItem(table, options));
      } else if (kind === END) {
        const options = {
          lane: a === 0 ? undefined : a - 1,
          terminated: b === 0 ? undefined : b === 2,
          final: c === 1 ? this.#finalStep(form, buffer, slot) : undefined,
        };
        yield* this.#limited(this.#ruled, () => writer.endEpisode(options));
        // Also where nothing was given but `terminated`, the slot is there.
        if (c === 1 || b === 2) from++;
      } else {
        const { lanes, flags } = form;
        const ends = read(() => new Uint8Array(buffer, flags + slot * lanes, lanes));
        const finals = a === 0 ? undefined : (n: number, rows: number) => (n === 0 ? read(() => columnsOf(form, buffer, slot + 1, rows)) : []);
        yield* this.#append({ steps: 1, columns: () => read(() => columnsOf(form, buffer, slot, lanes)), ends, finals });
        from += a === 0 ? 1 : 2;
      }
    }
    yield* this.#appendSlots(form, buffer, from, used);
    this.#channel.post({ kind: "taken", counts, buffer } satisfies TakenMessage, [buffer]);
  }

  #appendSlots(form: BlockForm, buffer: ArrayBuffer, from: number, to: number): Work {
    return this.#append({ steps: to - from, columns: (step, steps) => read(() => columnsOf(form, buffer, from + step, steps * form.lanes)) });
  }

  #finalStep(form: BlockForm, buffer: ArrayBuffer, slot: number): unknown {
    const values = read(() => columnsOf(form, buffer, slot, 1));
    return this.#pack(values.map((value, i) => (Array.isArray(value) && this.#leaves[i]?.shape.length === 0 ? value[0] : value)));
  }

  *#takeColumns({ buffer, rows, ends, finals, counts }: ColumnsMessage): Work {
    const leaves = this.#leaves;
    const { lanes, items } = this.#writer.options;
    if (rows % lanes !== 0) throw notOurs();
    const addresses = read(() => new Uint32Array(buffer, 0, leaves.length + items.length));
    const columns = (from: number, steps: number) =>
      read(() => leaves.map((leaf, i) => columnAt(leaf, buffer, (addresses[i] as number) + from * lanes * leaf.bytes, steps * lanes)));
    const last = finals === 0 ? undefined : read(() => new Uint32Array(buffer, finals, leaves.length));
    const lastOf = (from: number, n: number) => read(() => leaves.map((leaf, i) => columnAt(leaf, buffer, (last?.[i] as number) + from * leaf.bytes, n)));
    const priorities: { [table: string]: Float64Array } = {};
    items.forEach(({ table }, k) => {
      const at = addresses[leaves.length + k] as number;
      if (at !== 0) priorities[table] = read(() => new Float64Array(buffer, at, rows));
    });
    yield* this.#append({
      steps: rows / lanes,
      columns,
      ends: ends === 0 ? undefined : read(() => new Uint8Array(buffer, ends, rows)),
      finals: last === undefined ? undefined : lastOf,
      priorities,
    });
    this.#channel.post({ kind: "taken", counts, buffer } satisfies TakenMessage, [buffer]);
  }

  /** Appends steps: as many at once as the rate limiters take. */
  *#append({ steps, columns, ends, finals, priorities = {} }: Steps): Work {
    const { lanes } = this.#writer.options;
    let many = steps;
    let seen = 0;
    for (let at = 0; at < steps; ) {
      const n = Math.min(many, steps - at);
      const [from, to] = [at * lanes, (at + n) * lanes];
      const own = ends?.subarray(from, to);
      const ended = own === undefined ? 0 : own.reduce((sum, how) => sum + Number(how > ENDS), 0);
      const final = finals === undefined || ended === 0 ? undefined : this.#pack(finals(seen, ended));
      const of = Object.fromEntries(Object.entries(priorities).map(([table, all]) => [table, all.subarray(from, to)]));
      try {
        this.#steps += this.#writer.appendColumns(this.#pack(columns(at, n)) as ColumnsOf<Spec>, { ...endsOf(own), final: final as never, priorities: of });
        at += n;
        seen += ended;
      } catch (error) {
        if (!isLimited(error)) throw error;
        if (many === 1) yield this.#room(this.#ruled);
        else many >>= 1;
      }
    }
  }

  /** A call that is made again when the rate limiters of these tables may have room for it. */
  *#limited(tables: readonly AnyTable[], call: () => unknown): Work {
    for (;;) {
      try {
        call();
        return;
      } catch (error) {
        if (!isLimited(error)) throw error;
      }
      yield this.#room(tables);
    }
  }

  /** Waits until something has changed, and half of the items that wait for one of the limiters are in: each try costs an error. */
  #room(tables: readonly AnyTable[]): Promise<unknown> {
    const engine = this.#engine;
    const { changes } = engine;
    // Any of these may be the one that has no room.
    const limiting = tables.filter(({ options }) => options.rateLimiter.maxDiff < Number.MAX_VALUE);
    const isEmpty = ({ size, pending }: { readonly size: number; readonly pending: number }) => size === 0 && pending === 0;
    // Where nothing can be drawn, nothing will ever make room.
    if (limiting.every((table) => isEmpty(table.stats()))) throw new ReplayError("RATE_LIMITED", NO_ROOM);
    const few = limiting.map((table) => table.stats().pending >> 1);
    const isRoom = () => limiting.some((table, i) => table.stats().pending <= (few[i] as number));
    return Promise.resolve(
      engine.waiters.until(
        () => (engine.changes !== changes && isRoom() ? true : undefined),
        () => "",
        { signal: this.#over.signal },
      ),
    );
  }

  #flush({ id }: FlushMessage): void {
    const { signal } = this.#over;
    Promise.resolve(this.#writer.flush({ signal })).then(
      () => signal.aborted || this.#channel.post({ kind: "flushed", id } satisfies FlushedMessage),
      () => {},
    );
  }

  /** The actor is gone: what came from it is taken, then that is the end. */
  #depart(): void {
    this.#isGone = true;
    if (!this.#isWorking) this.#end({ how: "gone" });
  }

  #fail(error: unknown): void {
    this.#end({ how: "failed", error }, error);
  }

  #end(farewell: Farewell, error?: unknown): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort(error ?? gone());
    this.#queue.length = 0;
    this.#engine.closers.delete(this);
    let [ended, reason] = [farewell, error];
    try {
      if (!this.#engine.closed) {
        this.#writer.close();
        // A call of its own: it is told of what could not be written before.
        this.#engine.begin();
      }
    } catch (broken) {
      // The writer is closed, but a journal could not write that down.
      if (reason === undefined) [ended, reason] = [{ how: "failed", error: broken }, broken];
    }
    const message: ClosedMessage = { kind: "closed", error: reason === undefined ? undefined : sent(reason) };
    this.#channel.post(message);
    this.#channel.close();
    this.#met.leave();
    this.#farewell(ended);
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
