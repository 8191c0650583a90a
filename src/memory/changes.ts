/** What changed of a Replay's state since it was asked last, for a journal; and which of its segments hold records that still count. */

import { CHANGES, COUNTS_WAIT, KEEPING, TRACKING } from "../base/abi.ts";
import { COUNTS, ENTRIES, LINKS, ROWS, SLOTS } from "../base/kinds.ts";
import type { Engine } from "./engine.ts";
import { bufferBytes } from "./journal-bytes.ts";
import { COUNT_BYTES, LINK_BYTES, type Section, State, type StateParts } from "./state.ts";

export class Changes extends State {
  /** Where payloads are made, or come in: a call may have results in scratch when its changes are written. */
  readonly #buffer: number;
  readonly #bufferBytes: number;
  /** Bytes that count, a u32 for each place of a segment. */
  readonly #live: number;
  readonly #places: number;
  /** Passes over the pools: frames of rows that waited go with them, and are looked at once more. */
  #passes: number;

  /** @param places segments that can be told apart, a power of two of at most 65,536 */
  constructor(engine: Engine, parts: StateParts, places: number) {
    super(engine, parts);
    this.#bufferBytes = bufferBytes(Math.max(...this.rowBytes, ...this.slotBytes));
    this.#buffer = this.core.alloc(this.#bufferBytes);
    this.#live = this.core.alloc(4 * places);
    this.#places = places;
    this.#passes = this.pools.length;
  }

  /** From now on every row is written, also one that a single call both took and freed: what is freed waits for `write`. To be said before anything is freed. */
  keep(): void {
    this.core.u32[TRACKING] = KEEPING;
    // Entries go with frames, which go with steps.
    this.#passes = this.entryPools === 0 ? 2 * this.pools.length - 1 : 3 * this.pools.length - 2;
  }

  /** How many rows and slots were noted since `forget`. */
  get marks(): number {
    return this.core.u32[CHANGES] as number;
  }

  forget(): void {
    this.core.u32[CHANGES] = 0;
  }

  /** Whether items were drawn whose counts no record has yet. */
  get hasCounts(): boolean {
    return this.tables.some((table) => this.core.u8[table + COUNTS_WAIT] !== 0);
  }

  /**
   * Rows and slots that were taken or changed since the last time, to stand in a segment: a payload is there until `write` returns.
   * @param counts whether how often items were drawn is written too; without it only for tables with `maxTimesSampled`
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

  /** Entries of packed frames that were made since the last time. */
  #writeEntries(write: (...section: Section) => void, id: number, place: number): void {
    for (let more = 1; more !== 0; ) {
      more = this.core.x.record_changed_entries(this.pools[id] as number, place, this.#live, this.entriesRoom(id), this.#buffer);
      if (this.core.u32[this.#buffer / 4] !== 0) write(ENTRIES, id, this.entriesPayload(this.#buffer));
    }
  }

  /**
   * Notes records as changed that stand in a segment, so that they are written again: of pool or table k, about `bytes` of them from a row or slot on.
   * @returns where to go on; 0 where no more do
   */
  collect(segment: number, k: number, from: number, bytes: number): number {
    const { x } = this.core;
    const place = this.#place(segment);
    const rows = k < this.pools.length;
    const handle = (rows ? this.pools[k] : this.tables[k - this.pools.length]) as number;
    // So that a sixteenth is the least, however many there are.
    const high = rows ? this.#rowsUsed(handle) : x.table_high(handle);
    const max = Math.max(Math.floor(bytes / (this.rowBytes[k] ?? 64)), Math.ceil(high / 16), 1);
    if (k < this.entryPools) return x.record_collect_entries(handle, place, from, max);
    return rows ? x.record_collect_rows(handle, place, from, max) : x.record_collect_slots(handle, place, from, max);
  }

  /** Bytes of records in a segment that still count. */
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

  /** The place of a segment among those that are told apart; never 0. */
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
