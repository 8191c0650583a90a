/**
 * What a journal of a Replay writes beside the log's own sections. All of one group are one moment between two calls.
 *
 *   WRITERS  JSON {shapes, writers}: columns of items, options of the writers that are open
 *   POOLS    of each pool (those of frames first): rows ever used, last episode (u32 each)
 *   ROWS     id: pool  │ count u32, then records (assembly/record/changed-rows.ts)
 *   LINKS    id: pool  │ count u32, then (number u32, link u32): rows whose successor or end came later
 *   SLOTS    id: table │ count u32, then records (assembly/record/changed-items.ts)
 *   TABLE    id: table │ its numbers: counts, random state, limiter, ends of queues and orders
 *   STREAMS  of each lane of each writer: six u32 (assembly/record/changed-streams.ts)
 *   KEPT     a value of the program's own (tagged.ts)
 *
 * A later record of the same thing takes the place of an earlier one.
 */
import type { Exports } from "../../core/abi.ts";
import type { Core } from "../../core/core.ts";
import type { Engine } from "../../core/engine.ts";
import { internals, type Replay } from "../../index.ts";

export const WRITERS = 32;
export const POOLS = 33;
export const ROWS = 34;
export const LINKS = 35;
export const SLOTS = 36;
export const TABLE = 37;
export const STREAMS = 38;
export const KEPT = 39;

export const LINK_BYTES = 8;
export const STREAM_BYTES = 24;

/** Bytes of a section of records, at most, unless one record has more. */
const SECTION = 64 * 1024;
/** What `journal_rows` and `journal_slots` write before their records. */
const HEAD = 16;

/** Memory of a Replay's core that its journal needs, and the sizes of what it writes. */
export class Records {
  readonly replay: Replay;
  readonly engine: Engine;
  readonly core: Core;
  readonly x: Exports;
  /** Pools, those of frames first; bytes of a row's record in each. */
  readonly pools: readonly number[];
  readonly rowBytes: readonly number[];
  readonly tables: readonly number[];
  readonly slotBytes: readonly number[];
  readonly tableBytes: number;
  /** Where sections are made, or come in: so many bytes. */
  readonly buffer: number;
  readonly bufferBytes: number;
  /** Bytes that count, a u32 for each place of a segment. */
  readonly live: number;
  readonly #places: number;

  /** @param places segments that can be told apart, a power of two of at most 65,536 */
  constructor(replay: Replay, places: number) {
    const { engine } = internals.of(replay);
    const { core } = engine;
    this.replay = replay;
    this.engine = engine;
    this.core = core;
    this.x = core.x;
    this.pools = [...engine.framePools, engine.pool];
    this.rowBytes = this.pools.map((pool) => this.x.journal_row_bytes(pool));
    this.tables = replay.tables.map((table) => table.handle);
    this.slotBytes = this.tables.map((table) => this.x.journal_slot_bytes(table));
    this.tableBytes = this.x.journal_table_bytes();
    this.bufferBytes = 2 * HEAD + Math.max(SECTION, ...this.rowBytes) + SECTION;
    this.buffer = core.alloc(this.bufferBytes);
    this.live = core.alloc(4 * places);
    this.#places = places;
  }

  /** The place of a segment among those that are told apart; never 0. */
  place(segment: number): number {
    return 1 + ((segment - 1) % (this.#places - 1));
  }

  /** Bytes of records in a segment that still count. */
  liveIn(segment: number): number {
    return this.core.u32[this.live / 4 + this.place(segment)] as number;
  }

  /** Records that one section may hold. */
  most(bytes: number): number {
    return Math.max(1, Math.floor(SECTION / Math.max(bytes, LINK_BYTES)));
  }

  /** A view on the buffer. */
  bytes(from: number, length: number): Uint8Array {
    const at = this.buffer + from;
    return this.core.u8.subarray(at, at + length);
  }

  /** A word at the buffer's beginning. */
  word(i: number): number {
    return this.core.u32[this.buffer / 4 + i] as number;
  }

  /** Copies a payload into the buffer; its address. */
  take(payload: Uint8Array): number {
    this.core.u8.set(payload, this.buffer);
    return this.buffer;
  }

  /** Rows that were taken or changed since the last group, as sections. */
  rows(segment: number, write: (kind: number, id: number, payload: Uint8Array) => void): void {
    const place = this.place(segment);
    this.pools.forEach((pool, id) => {
      const bytes = this.rowBytes[id] as number;
      const most = this.most(bytes);
      const links = HEAD + most * bytes;
      let left: number;
      do {
        this.x.journal_rows(pool, place, this.live, most, this.buffer, this.buffer + links + 4);
        const records = this.word(0);
        const linked = this.word(1);
        left = this.word(2);
        this.#section(write, ROWS, id, HEAD - 4, records, bytes);
        this.#section(write, LINKS, id, links, linked, LINK_BYTES);
      } while (left !== 0);
    });
  }

  /** Slots that changed since the last group, as sections. */
  slots(segment: number, write: (kind: number, id: number, payload: Uint8Array) => void): void {
    const place = this.place(segment);
    this.tables.forEach((table, id) => {
      const bytes = this.slotBytes[id] as number;
      let left: number;
      do {
        this.x.journal_slots(table, place, this.live, this.most(bytes), this.buffer);
        left = this.word(1);
        this.#section(write, SLOTS, id, HEAD - 4, this.word(0), bytes);
      } while (left !== 0);
    });
  }

  /** `count` records behind a word at `from`, which becomes their count. */
  #section(write: (kind: number, id: number, payload: Uint8Array) => void, kind: number, id: number, from: number, count: number, bytes: number): void {
    if (count === 0) return;
    const payload = this.bytes(from, 4 + count * bytes);
    new DataView(payload.buffer, payload.byteOffset).setUint32(0, count, true);
    write(kind, id, payload);
  }

  /** What is open and numbered, of which there is one each: (kind, id, bytes). */
  *rest(): Generator<readonly [kind: number, id: number, payload: Uint8Array], void> {
    const { replay, engine, core, x, pools, tables, tableBytes, buffer } = this;
    const writers = replay.writers;
    const text = { shapes: engine.shapes.map((shape) => JSON.parse(shape.columns)), writers: writers.map((writer) => writer.options) };
    yield [WRITERS, 0, new TextEncoder().encode(JSON.stringify(text))];
    for (const [i, pool] of pools.entries()) x.pool_numbers(pool, buffer + 8 * i);
    yield [POOLS, 0, core.u8.slice(buffer, buffer + 8 * pools.length)];
    for (const [id, table] of tables.entries()) {
      x.journal_table(table, buffer, 1);
      yield [TABLE, id, core.u8.slice(buffer, buffer + tableBytes)];
    }
    const streams = writers.flatMap((writer) => writer.streams);
    const all = new Uint8Array(STREAM_BYTES * streams.length);
    streams.forEach((stream, i) => {
      x.journal_stream(stream, buffer);
      all.set(this.bytes(0, STREAM_BYTES), STREAM_BYTES * i);
    });
    yield [STREAMS, 0, all];
  }
}
