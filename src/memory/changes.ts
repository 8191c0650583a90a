/** Tracks, for a journal, how a Replay's state has changed since the last `write`, and how many bytes of each segment are still in use. */

import { CHANGES, COUNTS_WAIT, KEEPING, TRACKING } from "../base/abi.ts";
import { COUNTS, ENTRIES, LINKS, ROWS, SLOTS } from "../base/kinds.ts";
import type { Engine } from "./engine.ts";
import { bufferBytes } from "./journal-bytes.ts";
import { COUNT_BYTES, LINK_BYTES, type Section, State, type StateParts } from "./state.ts";

export class Changes extends State {
  /**
   * The address of the buffer for payloads that are written or loaded. It is not in scratch, because scratch may contain the results of the call whose changes
   * are written.
   */
  readonly #buffer: number;
  readonly #bufferBytes: number;
  /** The address of the live byte counts: for each place of a segment, the number of bytes (u32) that are still in use. */
  readonly #live: number;
  readonly #places: number;
  /** The number of passes over the pools. Writing frees the waiting rows and their frames, and these frames need another pass. */
  #passes: number;

  /** @param places the number of segments that can be distinguished: a power of two, at most 65,536 */
  constructor(engine: Engine, parts: StateParts, places: number) {
    super(engine, parts);
    this.#bufferBytes = bufferBytes(Math.max(...this.rowBytes, ...this.slotBytes));
    this.#buffer = this.core.alloc(this.#bufferBytes);
    this.#live = this.core.alloc(4 * places);
    this.#places = places;
    this.#passes = this.pools.length;
  }

  /**
   * Keeps every row for writing from now on, including rows that one call both took and freed: freed rows wait for `write`. Must be called before any row is
   * freed.
   */
  keep(): void {
    this.core.u32[TRACKING] = KEEPING;
    // Freeing steps frees frames, and freeing frames frees entries. Each of these needs another pass.
    this.#passes = this.entryPools === 0 ? 2 * this.pools.length - 1 : 3 * this.pools.length - 2;
  }

  /** The number of rows and slots recorded as changed since `forget`. */
  get marks(): number {
    return this.core.u32[CHANGES] as number;
  }

  forget(): void {
    this.core.u32[CHANGES] = 0;
  }

  /** Whether any draw counts of items are newer than their records. */
  get hasCounts(): boolean {
    return this.tables.some((table) => this.core.u8[table + COUNTS_WAIT] !== 0);
  }

  /**
   * Writes the rows and slots that were taken or changed since the last call into a segment. The callback `write` receives each section, and must not keep its
   * payload.
   * @param counts whether to write draw counts of all tables; otherwise only of tables with `maxTimesSampled`
   */
  write(segment: number, write: (...section: Section) => void, counts: boolean): void {
    const { x } = this.core;
    const place = this.#place(segment);
    const at = this.#buffer;
    for (let pass = 0; pass < this.#passes; pass++) {
      const id = pass % this.pools.length;
      if (id < this.entryPools) {
        this.#writeEntries(write, id, place);
        continue;
      }
      const bytes = this.rowBytes[id] as number;
      const max = this.max(bytes);
      const links = at + COUNT_BYTES + ((max * bytes + 3) & ~3);
      for (let more = 1; more !== 0; ) {
        more = x.record_changed_rows(this.pools[id] as number, place, this.#live, max, at, links);
        this.#section(write, ROWS, id, at, bytes);
        this.#section(write, LINKS, id, links, LINK_BYTES);
      }
    }
    for (let id = 0; id < this.tables.length; id++) {
      const bytes = this.slotBytes[id] as number;
      for (let more = 1; more !== 0; ) {
        more = x.record_changed_slots(this.tables[id] as number, place, this.#live, this.max(bytes), at);
        this.#section(write, SLOTS, id, at, bytes);
      }
      for (let slot = 1; slot !== 0; ) {
        slot = x.record_changed_counts(this.tables[id] as number, place, this.#live, Number(counts), slot, this.max(LINK_BYTES), at) >>> 0;
        this.#section(write, COUNTS, id, at, LINK_BYTES);
      }
    }
  }

  /** Writes the entries of packed frames that were made since the last call. */
  #writeEntries(write: (...section: Section) => void, id: number, place: number): void {
    for (let more = 1; more !== 0; ) {
      more = this.core.x.record_changed_entries(this.pools[id] as number, place, this.#live, this.entriesRoom(id), this.#buffer);
      if (this.core.u32[this.#buffer / 4] !== 0) write(ENTRIES, id, this.entriesPayload(this.#buffer));
    }
  }

  /**
   * Marks records in a segment as changed, so that they are written again: about `bytes` bytes of the records of pool or table k, starting at a row or slot.
   * @returns the row or slot to continue from; 0 at the end
   */
  collect(segment: number, k: number, from: number, bytes: number): number {
    const { x } = this.core;
    const place = this.#place(segment);
    const rows = k < this.pools.length;
    const handle = (rows ? this.pools[k] : this.tables[k - this.pools.length]) as number;
    // Each call covers at least a sixteenth of the rows or slots.
    const high = rows ? this.#rowsUsed(handle) : x.table_high(handle);
    const max = Math.max(Math.floor(bytes / (this.rowBytes[k] ?? 64)), Math.ceil(high / 16), 1);
    if (k < this.entryPools) return x.record_collect_entries(handle, place, from, max);
    return rows ? x.record_collect_rows(handle, place, from, max) : x.record_collect_slots(handle, place, from, max);
  }

  /** Returns the number of bytes of a segment's records that are still in use. */
  liveIn(segment: number): number {
    return this.core.u32[this.#live / 4 + this.#place(segment)] as number;
  }

  override load(kind: number, id: number, payload: Uint8Array, segment: number): boolean {
    return payload.length <= this.#bufferBytes && super.load(kind, id, payload, this.#place(segment), this.#live);
  }

  override finish(): boolean {
    return super.finish(this.#live);
  }

  protected override allocate(bytes: number): number {
    return bytes <= this.#bufferBytes ? this.#buffer : super.allocate(bytes);
  }

  /** Returns the place at which the live bytes of a segment are counted; never 0. Segments whose numbers differ by `places` - 1 share a place. */
  #place(segment: number): number {
    return 1 + ((segment - 1) % (this.#places - 1));
  }

  #rowsUsed(pool: number): number {
    this.core.x.record_pool(pool, this.#buffer);
    return this.core.u32[this.#buffer / 4] as number;
  }

  #section(write: (...section: Section) => void, kind: number, id: number, at: number, bytes: number): void {
    if (this.core.u32[at / 4] !== 0) write(kind, id, this.payload(at, bytes));
  }
}
