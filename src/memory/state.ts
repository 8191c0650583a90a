/**
 * Saves and loads the state of a Replay as sections of records. Snapshots and journals use the same records. A snapshot contains all records in order, and a
 * journal contains the changed records (changes.ts). step-codec.ts handles single steps. No other file calls the core's exports for records.
 */
import { COUNTS, DRAWN, ENTRIES, FREE, LINKS, POOLS, ROWS, SLOTS, STREAMS, TABLE } from "../base/kinds.ts";
import type { ColumnLayouts } from "./column-layouts.ts";
import type { Core } from "./core.ts";
import type { Engine } from "./engine.ts";

export type Section = readonly [kind: number, id: number, payload: Uint8Array];

/** The maximum number of bytes of a section of records, unless a single record is larger. */
export const SECTION_MAX = 64 * 1024;
/** The size, in bytes, of the count of records that precedes the records of a section. */
export const COUNT_BYTES = 4;
/** The number of bytes of a LINK record, and of a COUNT record. */
export const LINK_BYTES = 8;
const RUN_BYTES = 8;
/** The number of bytes of a pool's record, and of a stream's record. */
const POOL_BYTES = 8;
const STREAM_BYTES = 24;
/** The number of bytes before a payload, for the head of its section. */
const HEAD_BYTES = 16;

/** The parts of a Replay that have state, in addition to the engine. */
export interface StateParts {
  readonly tables: readonly { readonly handle: number }[];
  /** The open writers, in creation order. */
  readonly writers: readonly { readonly streams: readonly number[] }[];
}

export class State {
  readonly core: Core;
  /** The pools of entries, then of frames, then of steps: rows of steps refer to rows of frames, and packed frames refer to entries. */
  readonly pools: readonly number[];
  /** The number of pools of entries. */
  readonly entryPools: number;
  readonly tables: readonly number[];
  /** The bytes of a record, per pool and per table. */
  readonly rowBytes: readonly number[];
  readonly slotBytes: readonly number[];
  readonly #tableBytes: number;
  readonly #drawnBytes: number;
  readonly #parts: StateParts;
  /** The newest loaded payload of each section that `numbers` yields. */
  readonly #newest = new Map<string, Uint8Array>();
  readonly #columnLayouts: ColumnLayouts;

  constructor(engine: Engine, parts: StateParts) {
    this.#parts = parts;
    this.core = engine.core;
    this.#columnLayouts = engine.columnLayouts;
    const { x } = this.core;
    this.pools = [...engine.entryPools, ...engine.framePools, engine.pool];
    this.entryPools = engine.entryPools.length;
    this.tables = parts.tables.map(({ handle }) => handle);
    this.rowBytes = this.pools.map((pool) => x.record_row_bytes(pool) >>> 0);
    this.slotBytes = this.tables.map((table) => x.record_slot_bytes(table));
    this.#tableBytes = x.record_table_bytes();
    this.#drawnBytes = x.record_drawn_bytes();
  }

  /** Reserves the memory that `all` needs, since the memory may be unavailable later. @throws ReplayError OUT_OF_MEMORY */
  reserve(): void {
    this.allocate(Math.max(SECTION_MAX, COUNT_BYTES + Math.max(...this.rowBytes, ...this.slotBytes)));
  }

  /**
   * Grows the memory once for the rows that a POOLS section counts, because V8 marks its heap more often if the memory grows while rows are loaded. Does nothing
   * if the memory cannot grow, or for entries, whose sizes are unknown.
   */
  growFor(pools: Uint8Array): void {
    const { byteOffset, buffer, length } = pools;
    if (length !== POOL_BYTES * this.pools.length) return;
    const view = new DataView(buffer, byteOffset, length);
    let bytes = 0;
    for (let id = this.entryPools; id < this.pools.length; id++)
      bytes += this.core.poolRoom(this.rowBytes[id] as number, view.getUint32(POOL_BYTES * id, true));
    this.core.growFor(bytes);
  }

  /** Yields all sections. A payload is valid until the next section is requested. Changes nothing, not even the changes recorded for a journal. */
  *all(): Generator<Section, void> {
    const { x } = this.core;
    for (const [id, pool] of this.pools.entries()) {
      if (id < this.entryPools) yield* this.#entries(id, pool);
      else yield* this.#records(ROWS, id, this.rowBytes[id] as number, 1, (from, max, out) => x.record_rows(pool, from, max, out));
      yield* this.#records(FREE, id, RUN_BYTES, 0, (from, max, out) => x.record_free_rows(pool, from, max, out));
    }
    for (const [id, table] of this.tables.entries())
      yield* this.#records(SLOTS, id, this.slotBytes[id] as number, 1, (from, max, out) => x.record_slots(table, from, max, out));
    yield* this.numbers();
  }

  /** Yields the sections that exist once per pool, table or list of streams: counters, random states, and the streams of open writers. Payloads are copies. */
  *numbers(): Generator<Section, void> {
    const { core, pools, tables } = this;
    const { x } = core;
    yield [POOLS, 0, this.#copyOut(POOL_BYTES, pools, x.record_pool)];
    for (const [id, table] of tables.entries()) yield [TABLE, id, this.#copyOut(this.#tableBytes, [table], x.record_table)];
    for (const [id, table] of tables.entries()) yield [DRAWN, id, this.#copyOut(this.#drawnBytes, [table], x.record_drawn)];
    const streams = this.#streams();
    const max = Math.floor(SECTION_MAX / STREAM_BYTES);
    for (let id = 0; id === 0 || id < streams.length; id += max) yield [STREAMS, id, this.#copyOut(STREAM_BYTES, streams.slice(id, id + max), x.record_stream)];
  }

  /**
   * Loads a section; call `finish` after the last one. Rows are loaded to their original places, in any order.
   * @param segment the section's place among a journal's segments @param live the address at which live bytes are counted per segment; 0 without a journal
   * @returns false if the section does not belong to a state, or contradicts itself
   * @throws ReplayError OUT_OF_MEMORY
   */
  load(kind: number, id: number, payload: Uint8Array, segment = 0, live = 0): boolean {
    if (kind === POOLS || kind === TABLE || kind === DRAWN || kind === STREAMS) {
      this.#newest.set(`${kind}.${id}`, payload.slice());
      return true;
    }
    const { core } = this;
    const { x } = core;
    if (kind === ENTRIES) return this.#loadEntries(id, payload, segment, live);
    const handle = (kind === SLOTS || kind === COUNTS ? this.tables : this.pools)[id];
    const bytes = kind === LINKS || kind === COUNTS ? LINK_BYTES : kind === FREE ? RUN_BYTES : (kind === SLOTS ? this.slotBytes : this.rowBytes)[id];
    if (handle === undefined || bytes === undefined || payload.length < COUNT_BYTES) return false;
    const at = this.#copyIn(payload);
    const count = core.u32[at / 4] as number;
    if (payload.length !== COUNT_BYTES + count * bytes) return false;
    const from = at + COUNT_BYTES;
    if (kind === ROWS) return id >= this.entryPools && this.#ok(x.record_load_rows(handle, count, from, segment, live));
    if (kind === LINKS) return this.#ok(x.record_load_links(handle, count, from, segment, live));
    if (kind === SLOTS) return this.#ok(x.record_load_slots(handle, count, from, segment, live));
    if (kind === COUNTS) return this.#ok(x.record_load_counts(handle, count, from, segment, live));
    return kind === FREE && this.#ok(x.record_load_free(handle, count, from));
  }

  /** Whether a section that `numbers` yields was loaded, and `finish` was not called yet. */
  get hasLoaded(): boolean {
    return this.#newest.size !== 0;
  }

  /**
   * Completes the loaded state of a new Replay, after its writers exist.
   * @returns false if the state contradicts itself @throws ReplayError OUT_OF_MEMORY
   */
  finish(live = 0): boolean {
    const { pools, tables } = this;
    const { x } = this.core;
    const streams = this.#streams();
    const ok =
      this.#loadEach(POOLS, 0, POOL_BYTES, pools, x.record_name_rows) &&
      this.#loadStreams(streams) &&
      tables.every((table, id) => this.#loadEach(DRAWN, id, this.#drawnBytes, [table], x.record_load_drawn)) &&
      tables.every((table, id) => this.#loadEach(TABLE, id, this.#tableBytes, [table], x.record_load_table)) &&
      // Steps refer to frames, so the frames are completed after the steps.
      [...pools].reverse().every((pool) => this.#ok(x.record_hold_frames(pool, live))) &&
      this.#columnLayouts.complete();
    this.#newest.clear();
    return ok;
  }

  /** Returns the broken invariants, each with the name of its subject. O(state) */
  brokenInvariants(): readonly (readonly [what: string, invariant: number])[] {
    const { x } = this.core;
    const found = [
      ...this.pools.map((pool) => ["rows", x.pool_check(pool)] as const),
      ...this.tables.map((table, i) => [`table ${i}`, x.table_check(table)] as const),
      ...this.#streams().map((stream, i) => [`stream ${i}`, x.stream_check(stream)] as const),
    ];
    return found.filter(([, invariant]) => invariant !== 0);
  }

  /** Returns the number of records of `bytes` bytes that fit into a section, at least 1. */
  max(bytes: number): number {
    return Math.max(1, Math.floor((SECTION_MAX - COUNT_BYTES) / Math.max(bytes, LINK_BYTES)));
  }

  /** Returns memory for a payload, with room for a head before the payload. The memory is valid until the next use of scratch. */
  protected allocate(bytes: number): number {
    return this.core.scratch(HEAD_BYTES + bytes) + HEAD_BYTES;
  }

  /** Returns the number of bytes of a payload with room for at least one entry. */
  protected entriesRoom(id: number): number {
    return Math.max(SECTION_MAX, COUNT_BYTES + (this.rowBytes[id] as number));
  }

  /** Returns a view of a payload of entries. */
  protected entriesPayload(at: number): Uint8Array {
    return this.core.u8.subarray(at, at + COUNT_BYTES + (this.core.u32[at / 4] as number));
  }

  /** Returns a view of a payload of records. */
  protected payload(at: number, bytes: number): Uint8Array {
    const count = this.core.u32[at / 4] as number;
    return this.core.u8.subarray(at, at + COUNT_BYTES + count * bytes);
  }

  /** Yields sections of the records that `save` writes from a cursor on, until it returns 0. */
  *#records(kind: number, id: number, bytes: number, first: number, save: (from: number, max: number, out: number) => number): Generator<Section, void> {
    const max = this.max(bytes);
    for (let cursor = first; ; ) {
      const at = this.allocate(COUNT_BYTES + max * bytes);
      cursor = save(cursor, max, at) >>> 0;
      if (this.core.u32[at / 4] !== 0) yield [kind, id, this.payload(at, bytes)];
      if (cursor === 0) return;
    }
  }

  /** Yields sections of the entries of packed frames, which vary in size. */
  *#entries(id: number, pool: number): Generator<Section, void> {
    const room = this.entriesRoom(id);
    for (let number = 1; number !== 0; ) {
      const at = this.allocate(room);
      number = this.core.x.record_entries(pool, number, room, at) >>> 0;
      if (this.core.u32[at / 4] !== 0) yield [ENTRIES, id, this.entriesPayload(at)];
    }
  }

  #loadEntries(id: number, payload: Uint8Array, segment: number, live: number): boolean {
    const handle = this.pools[id];
    if (handle === undefined || id >= this.entryPools || payload.length < COUNT_BYTES) return false;
    const at = this.#copyIn(payload);
    const bytes = this.core.u32[at / 4] as number;
    if (payload.length !== COUNT_BYTES + bytes) return false;
    return this.#ok(this.core.x.record_load_entries(handle, bytes, at + COUNT_BYTES, segment, live));
  }

  #streams(): readonly number[] {
    return this.#parts.writers.flatMap((writer) => writer.streams);
  }

  /** Returns the bytes that `save` writes for the handles, with `bytes` bytes per handle. */
  #copyOut(bytes: number, handles: readonly number[], save: (handle: number, out: number) => void): Uint8Array {
    const at = this.allocate(bytes * handles.length);
    for (const [i, handle] of handles.entries()) save(handle, at + bytes * i);
    return this.core.u8.slice(at, at + bytes * handles.length);
  }

  /** Loads each handle's bytes from the newest payload of a section. */
  #loadEach(kind: number, id: number, bytes: number, handles: readonly number[], load: (handle: number, from: number) => number): boolean {
    const payload = this.#newest.get(`${kind}.${id}`);
    if (payload?.length !== bytes * handles.length) return false;
    const at = this.#copyIn(payload);
    return handles.every((handle, i) => this.#ok(load(handle, at + bytes * i)));
  }

  #loadStreams(streams: readonly number[]): boolean {
    const max = Math.floor(SECTION_MAX / STREAM_BYTES);
    for (let id = 0; id === 0 || id < streams.length; id += max)
      if (!this.#loadEach(STREAMS, id, STREAM_BYTES, streams.slice(id, id + max), this.core.x.record_load_stream)) return false;
    return true;
  }

  /** Copies a payload into memory. Returns the address of the copy. */
  #copyIn(payload: Uint8Array): number {
    const at = this.allocate(payload.length);
    this.core.u8.set(payload, at);
    return at;
  }

  #ok(code: number): boolean {
    if (this.core.u8.length === 0) this.core.refresh();
    if (code === -1) throw this.core.errorFor(code);
    return code === 0;
  }
}
