/** Appends the blocks of an actor as the rate limiters permit, and records the progress within a block. */
import { ENDS, TERMINATES, TRUNCATES } from "../base/abi.ts";
import { codeOf, type ReplayError } from "../base/error.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { packer } from "../schema/nest.ts";
import type { ColumnsOf, Spec } from "../schema/spec.ts";
import type { BlockOptions } from "../tables/episode-ends.ts";
import type { Host, HostWriter } from "./host.ts";
import { fieldsOf, isBuffer, isCount, isNumber, isObject, listOf, malformed } from "./validators.ts";
import { type BlockLayout, blockLayout, CALL, columnAt, columnsOf, DISCARD, END, endsWithFinal, FLAGS, ITEM, LARGEST_PRIORITY } from "./wire/block.ts";
import type { BlockMessage, ColumnsMessage } from "./wire/messages.ts";

/** A task that yields a promise when it has to wait. */
export type Task = Generator<Promise<unknown>, void, unknown>;

/** The part of a block that is in memory: the number of calls and slots. For columns, `slots` is the number of steps. */
export interface Progress {
  readonly calls: number;
  readonly slots: number;
}

const NONE: Progress = { calls: 0, slots: 0 };

/** Steps to append. Each part is read only when it is appended. */
interface Steps {
  readonly steps: number;
  readonly columns: (from: number, steps: number) => unknown[];
  /** The ends of episodes as placeEnds writes them, one byte per row. */
  readonly ends?: Uint8Array | undefined;
  readonly finals?: ((from: number, count: number) => unknown[]) | undefined;
  readonly priorities?: { readonly [table: string]: Float64Array };
  /** The number of steps that are already in memory. */
  readonly done?: number;
  /** Returns the progress after `steps` of these steps. */
  readonly progress: (steps: number) => Progress;
}

const isBlock = fieldsOf({
  number: isCount,
  buffer: isBuffer,
  base: isCount,
  slots: isCount,
  used: isCount,
  calls: listOf(isNumber),
  columns: listOf(isObject),
});
const isColumnsMessage = fieldsOf({
  number: isCount,
  buffer: isBuffer,
  rows: isCount,
  columns: listOf(isCount),
  ends: isCount,
  finals: isCount,
  finalColumns: listOf(isCount),
  priorities: listOf(isCount),
});

/** Checks the form of a block or of columns. @throws ReplayError CORRUPT if a field is missing or has another type */
export function checkSteps(message: BlockMessage | ColumnsMessage): void {
  if (!(message.kind === "block" ? isBlock(message) : isColumnsMessage(message))) throw foreignMessage();
}

/** Returns the number of steps of a block or of columns, in all lanes; final steps do not count. */
export function stepsIn(message: BlockMessage | ColumnsMessage, lanes: number): number {
  if (message.kind === "columns") return message.rows;
  const { used, calls } = message;
  let finals = 0;
  for (let k = 0; k < calls.length; k += CALL) finals += finalSlots(calls[k + 1], calls[k + 2], calls[k + 3], calls[k + 4]);
  return Math.max(0, used - finals) * lanes;
}

/** Returns the number of slots that a call uses for final steps. */
function finalSlots(kind: unknown, a: unknown, b: unknown, c: unknown): number {
  // The slot exists even if only `terminated` was passed.
  return Number((kind === END && (c === 1 || b === 2)) || (kind === FLAGS && a !== 0));
}

/** Parses a message. An offset outside the message's buffer makes the message malformed. */
function readMessage<T>(from: () => T): T {
  try {
    return from();
  } catch (cause) {
    throw foreignMessage(cause);
  }
}

export function foreignMessage(cause?: unknown): ReplayError {
  return malformed("a message", "remoteWriter", cause);
}

export class Appender {
  readonly #host: Host;
  readonly #writer: HostWriter;
  readonly #leaves: readonly PlacedLeaf[];
  readonly #pack: (values: readonly unknown[]) => unknown;
  /** The tables of the writer's rules. */
  readonly #ruleTables: readonly string[];
  readonly #signal: AbortSignal;
  /** Runs when the progress has changed. */
  readonly #onProgress: () => void;
  #layout: BlockLayout | undefined;
  #steps = 0;
  #progress: Progress;
  /** The number of the last block that is completely in memory. */
  number: number;

  /** @param signal ends waits @param from the last block in memory, and the progress in the next block */
  constructor(
    host: Host,
    writer: HostWriter,
    signal: AbortSignal,
    from: {
      readonly number: number;
      readonly steps?: number | undefined;
      readonly progress?: Progress | undefined;
      readonly onProgress?: (() => void) | undefined;
    },
  ) {
    this.#host = host;
    this.#writer = writer;
    this.#leaves = host.engine.layout.leaves;
    this.#pack = packer(host.engine.spec);
    this.#ruleTables = [...new Set(writer.options.items.map(({ table }) => table))];
    this.#signal = signal;
    this.number = from.number;
    this.#steps = from.steps ?? 0;
    this.#progress = from.progress ?? NONE;
    this.#onProgress = from.onProgress ?? (() => {});
  }

  /** The number of steps in memory. */
  get steps(): number {
    return this.#steps;
  }

  get progress(): Progress {
    return this.#progress;
  }

  *take(message: BlockMessage | ColumnsMessage): Task {
    if (message.kind === "block") yield* this.#takeBlock(message);
    else yield* this.#takeColumns(message);
    this.number = message.number;
    this.#setProgress(NONE);
  }

  #setProgress(progress: Progress): void {
    this.#progress = progress;
    this.#onProgress();
  }

  /** Calls the engine. The progress is set first, because a journal may write a group before the call returns; if the call fails, the progress is restored. */
  #call<T>(progress: Progress, call: () => T): T {
    const before = this.#progress;
    this.#setProgress(progress);
    try {
      return call();
    } catch (error) {
      this.#setProgress(before);
      throw error;
    }
  }

  *#takeBlock({ buffer, base, slots, used, calls, columns }: BlockMessage): Task {
    if (this.#layout?.slots !== slots) this.#layout = blockLayout(this.#leaves, this.#writer.options.lanes, slots);
    const layout = this.#layout;
    const writer = this.#writer;
    if (base + layout.flags + slots * layout.lanes > buffer.byteLength || used > slots || calls.length % CALL !== 0) throw foreignMessage();
    let from = this.#progress.slots;
    let done = this.#progress.calls;
    for (let k = done * CALL; k < calls.length; k += CALL) {
      const [slot, kind, a, b, c, d, e] = calls.slice(k, k + CALL) as [number, number, number, number, number, number, number];
      if (!isCount(slot) || slot < from || slot > used) throw foreignMessage();
      yield* this.#appendSlots(layout, buffer, base, from, slot, done);
      from = slot;
      done++;
      const ownSlots = kind === ITEM || kind === DISCARD ? 0 : kind === END ? finalSlots(kind, a, b, c) : 1 + finalSlots(kind, a, b, c);
      const progress = { calls: done, slots: slot + ownSlots };
      if (progress.slots > used) throw foreignMessage();
      if (kind === ITEM) {
        const options = { length: b, priority: c === LARGEST_PRIORITY ? ("max" as const) : c, lane: d, columns: columns[e - 1] as never };
        const table = this.#host.tables[a];
        if (table === undefined) throw foreignMessage();
        yield* this.#retry([table], progress, () => writer.createItem(table, options));
      } else if (kind === DISCARD) {
        yield* this.#retry([], progress, () => writer.discardEpisode(a === 0 ? {} : { lane: a - 1 }));
      } else if (kind === END) {
        const options = {
          lane: a === 0 ? undefined : a - 1,
          terminated: b === 0 ? undefined : b === 2,
          final: c === 1 ? this.#finalStep(layout, buffer, base, slot) : undefined,
        };
        yield* this.#retry(this.#ruleTables, progress, () => writer.endEpisode(options));
      } else if (kind === FLAGS) {
        const { lanes, flags } = layout;
        const ends = readMessage(() => new Uint8Array(buffer, base + flags + slot * lanes, lanes));
        const finals = a === 0 ? undefined : (n: number, rows: number) => (n === 0 ? readMessage(() => columnsOf(layout, buffer, base, slot + 1, rows)) : []);
        yield* this.#append({
          steps: 1,
          columns: () => readMessage(() => columnsOf(layout, buffer, base, slot, lanes)),
          ends,
          finals,
          progress: () => progress,
        });
      } else throw foreignMessage();
      from = progress.slots;
    }
    yield* this.#appendSlots(layout, buffer, base, from, used, done);
  }

  #appendSlots(layout: BlockLayout, buffer: ArrayBuffer, base: number, from: number, to: number, calls: number): Task {
    return this.#append({
      steps: to - from,
      columns: (step, steps) => readMessage(() => columnsOf(layout, buffer, base, from + step, steps * layout.lanes)),
      progress: (steps) => ({ calls, slots: from + steps }),
    });
  }

  #finalStep(layout: BlockLayout, buffer: ArrayBuffer, base: number, slot: number): unknown {
    const values = readMessage(() => columnsOf(layout, buffer, base, slot, 1));
    return this.#pack(values.map((value, i) => (Array.isArray(value) && this.#leaves[i]?.shape.length === 0 ? value[0] : value)));
  }

  *#takeColumns({ buffer, rows, columns, ends, finals, finalColumns, priorities: places }: ColumnsMessage): Task {
    const leaves = this.#leaves;
    const { lanes, items } = this.#writer.options;
    const isWhole = columns.length === leaves.length && places.length === items.length && (finals === 0 || finalColumns.length === leaves.length);
    if (rows % lanes !== 0 || !isWhole) throw foreignMessage();
    const read = (of: readonly number[], from: number, count: number) =>
      readMessage(() => leaves.map((leaf, i) => columnAt(leaf, buffer, (of[i] as number) + from * leaf.arrayBytes, count)));
    const priorities: { [table: string]: Float64Array } = {};
    items.forEach(({ table }, k) => {
      const at = places[k] as number;
      if (at !== 0) priorities[table] = readMessage(() => new Float64Array(buffer, at, rows));
    });
    yield* this.#append({
      steps: rows / lanes,
      columns: (from, steps) => read(columns, from * lanes, steps * lanes),
      ends: ends === 0 ? undefined : readMessage(() => new Uint8Array(buffer, ends, rows)),
      finals: finals === 0 ? undefined : (from, count) => (from + count > finals ? raise(foreignMessage()) : read(finalColumns, from, count)),
      priorities,
      done: this.#progress.slots,
      progress: (steps) => ({ calls: 0, slots: steps }),
    });
  }

  /** Appends steps, as many per call as the rate limiters permit. */
  *#append({ steps, columns, ends, finals, priorities = {}, done = 0, progress }: Steps): Task {
    const { lanes } = this.#writer.options;
    const countFinals = (of: Uint8Array) => of.reduce((sum, how) => sum + Number(endsWithFinal(how)), 0);
    let chunk = steps;
    let finalsRead = ends === undefined ? 0 : countFinals(ends.subarray(0, done * lanes));
    for (let at = done; at < steps; ) {
      const n = Math.min(chunk, steps - at);
      const [from, to] = [at * lanes, (at + n) * lanes];
      const endBytes = ends?.subarray(from, to);
      const endedCount = endBytes === undefined ? 0 : countFinals(endBytes);
      const final = finals === undefined || endedCount === 0 ? undefined : this.#pack(finals(finalsRead, endedCount));
      const chunkPriorities = Object.fromEntries(Object.entries(priorities).map(([table, values]) => [table, values.subarray(from, to)]));
      const values = this.#pack(columns(at, n)) as ColumnsOf<Spec>;
      const options = { ...endsOf(endBytes), final: final as never, priorities: chunkPriorities };
      try {
        this.#steps += this.#call(progress(at + n), () => this.#writer.appendColumns(values, options));
        at += n;
        finalsRead += endedCount;
      } catch (error) {
        if (!isLimited(error)) throw error;
        if (chunk === 1) yield this.#host.waitForRoom(this.#ruleTables, this.#signal);
        else chunk >>= 1;
      }
    }
  }

  /** Makes a call, and repeats it when the rate limiters of these tables may have room for it. */
  *#retry(tables: readonly string[], progress: Progress, call: () => unknown): Task {
    for (;;) {
      try {
        this.#call(progress, call);
        return;
      } catch (error) {
        if (!isLimited(error)) throw error;
      }
      yield this.#host.waitForRoom(tables, this.#signal);
    }
  }
}

/** Converts the bytes of placeEnds to options of `appendColumns`. */
function endsOf(bytes: Uint8Array | undefined): Omit<BlockOptions, "final" | "priorities"> {
  if (bytes === undefined) return {};
  const flags = { terminated: bytes.map((how) => Number(how === TERMINATES)), truncated: bytes.map((how) => Number(how === TRUNCATES)) };
  return bytes.includes(ENDS) ? { ...flags, ends: bytes.map((how) => Number(how === ENDS)) } : flags;
}

function isLimited(error: unknown): boolean {
  return codeOf(error) === "RATE_LIMITED";
}

function raise(error: Error): never {
  throw error;
}
