/** Reads a table's records (assembly/persistence/slot.ts, table.ts), and converts them to another capacity, sampler, remover or rate limiter. */
import { dataView } from "../../base/bytes.ts";
import { mustBe, ReplayError } from "../../base/error.ts";
import { DRAWN, SLOTS, TABLE } from "../../base/kinds.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { COUNT_BYTES, LINK_BYTES, SECTION_MAX, type Section } from "../../memory/state.ts";
import type { ResolvedTableOptions } from "../../schema/table-options.ts";
import { evictionsOf } from "./evictions.ts";
import { KeyLayout } from "./key-layout.ts";
import type { RowEpisodes } from "./row-episodes.ts";
import type { SavedItem } from "./saved-item.ts";
import { type PlacedOrder, SlotForm, TABLE_BYTES } from "./slot-form.ts";
import { AT, eachRecord, freeRecord, isLive, isPending, isUsed, NUMBERS_BYTES } from "./slot-record.ts";

/** The offsets in a TABLE record. */
const NEWEST = 0;
const STEPS = 4;
const STAMP = 12;
const DELETED_EPISODES = 20;
const COUNT = 36;
const PENDING_COUNT = 40;
const PENDING_FIRST = 44;
const PENDING_LAST = 48;
const INSERTS = 68;
const HIGH = 76;
const FREE_FIRST = 80;
const FREE_LAST = 84;
const RETIRED = 88;
/** The offsets in a DRAWN record: the random state, followed by the samples. */
const RANDOM_AT = 8;
const SAMPLES = 40;

/** A slot in the new table. */
interface Place {
  readonly slot: number;
  readonly generation: number;
}

export interface TableChange {
  readonly sections: readonly Section[];
  /** The number of removed items. */
  readonly removed: number;
  /** Whether the items have new keys, because the new capacity has no room for the old keys. */
  readonly hasNewKeys: boolean;
}

export class SavedTable {
  readonly #memory: SectionMemory;
  readonly #name: string;
  readonly #options: ResolvedTableOptions;
  readonly #number: number;
  readonly #tables: number;
  readonly #form: SlotForm;
  readonly #keys: KeyLayout;
  /** The newest record of each slot. */
  readonly #slots = new Map<number, Uint8Array>();
  #table: Uint8Array | undefined;
  #draws: Uint8Array | undefined;

  /** @param number the table's index in the Replay */
  constructor(name: string, options: ResolvedTableOptions, number: number, tables: number, memory: SectionMemory) {
    this.#memory = memory;
    this.#name = name;
    this.#options = options;
    this.#number = number;
    this.#tables = tables;
    this.#form = new SlotForm(options, memory);
    this.#keys = new KeyLayout(options, number, tables);
  }

  /** Reads SLOT records. Returns false if they are inconsistent. */
  takeSlots(payload: Uint8Array): boolean {
    const { bytes } = this.#form;
    return eachRecord(payload, bytes, (from) => {
      const record = payload.slice(from, from + bytes);
      this.#slots.set(dataView(record).getUint32(0, true), record);
    });
  }

  /** Reads COUNT records of a journal. Returns false if they are inconsistent. */
  takeCounts(payload: Uint8Array): boolean {
    const view = dataView(payload);
    return eachRecord(payload, LINK_BYTES, (from) => {
      const record = this.#slots.get(view.getUint32(from, true));
      // A released slot has a newer record, which includes the count.
      if (record !== undefined && isLive(dataView(record))) dataView(record).setUint32(AT.timesSampled, view.getUint32(from + 4, true), true);
    });
  }

  takeTable(payload: Uint8Array): void {
    this.#table = payload.slice();
  }

  takeDrawn(payload: Uint8Array): void {
    this.#draws = payload.slice();
  }

  /**
   * Returns the table with other options. @param rows the episodes of all rows
   * @throws ReplayError CORRUPT if the records are missing or inconsistent, KEYS_EXHAUSTED if the new options leave no unused keys
   * @throws RangeError if more items are pending than the new `maxPending` allows
   */
  change(next: ResolvedTableOptions, rows: RowEpisodes): TableChange {
    if (this.#table?.length !== TABLE_BYTES || this.#draws === undefined) throw this.#corrupt();
    const table = this.#table.slice();
    const view = dataView(table);
    const live = this.#live(view);
    const pending = this.#pending(view);
    const admitted = isSame(next.rateLimiter, this.#options.rateLimiter) ? 0 : this.#admit(view, live, pending, next);
    if (pending.length > next.maxPending)
      throw mustBe(RangeError, `tables.${this.#name}.maxPending`, `at least ${pending.length}, because that many items are waiting`, next.maxPending);
    const evicted = new Set(evictionsOf(live, next, seedOf(this.#draws)));
    const kept = live.filter((item) => !evicted.has(item));
    view.setFloat64(DELETED_EPISODES, view.getFloat64(DELETED_EPISODES, true) + rows.countGone(evicted, kept), true);
    const hasOtherForm = this.#hasOtherForm(next);
    // No item moves, so the orders and therefore the draws stay the same.
    if (!hasOtherForm && evicted.size === 0 && admitted === 0)
      return { sections: [...this.#slotSections([...this.#slots.values()], this.#form.bytes), ...this.#numbers(table)], removed: 0, hasNewKeys: false };
    const places = this.#places(view, [...kept, ...pending], new KeyLayout(next, this.#number, this.#tables));
    const form = new SlotForm(next, this.#memory);
    const records = [...kept, ...pending].map((item) => this.#record(item, places.of.get(item) as Place, form));
    const byItem = new Map([...kept, ...pending].map((item, i) => [item, records[i] as DataView]));
    table.fill(0, view.byteLength - 24);
    this.#link(view, kept, { byItem, places, form, hasAllItems: evicted.size === 0 });
    this.#queue(view, pending, byItem, places);
    view.setUint32(form.sinceAt, places.since, true);
    view.setFloat64(
      STEPS,
      sum(kept, ({ length }) => length),
      true,
    );
    view.setUint32(COUNT, kept.length, true);
    const newest = live.find(({ slot }) => slot === view.getUint32(NEWEST, true)) ?? pending.find(({ slot }) => slot === view.getUint32(NEWEST, true));
    const youngest = (newest && places.of.get(newest)) ?? places.of.get(pending.at(-1) ?? (kept.at(-1) as SavedItem));
    view.setUint32(NEWEST, youngest?.slot ?? 0, true);
    const free = places.free.map(({ slot, generation }, i) => freeRecord(slot, generation, places.queued[i + 1] ?? 0, form.bytes));
    const retired = places.retired.map(({ slot, generation }) => freeRecord(slot, generation, 0, form.bytes));
    const slots = [...records, ...free, ...retired].map(({ buffer }) => new Uint8Array(buffer as ArrayBuffer));
    return { sections: [...this.#slotSections(slots, form.bytes), ...this.#numbers(table)], removed: evicted.size, hasNewKeys: places.areNew };
  }

  /** Returns the live items, oldest first as far as the table records their age: in the order of insertion, of a ring, of stamps, or of keys. */
  #live(table: DataView): SavedItem[] {
    const { links, rings, stampAt } = this.#form;
    const slots: number[] = [];
    const count = table.getUint32(COUNT, true);
    if (links !== undefined) {
      let slot = table.getUint32(links.ends, true);
      for (let i = 0; i < count; i++) {
        slots.push(slot);
        slot = this.#view(slot).getUint32(links.place + 4, true);
      }
    } else {
      for (const [slot, record] of this.#slots) if (isLive(dataView(record))) slots.push(slot);
      const [ring] = rings;
      if (ring !== undefined) this.#sortByRing(slots, ring, table);
      else if (stampAt !== undefined) slots.sort((a, b) => this.#view(a).getFloat64(stampAt, true) - this.#view(b).getFloat64(stampAt, true));
      else slots.sort((a, b) => this.#generation(a) - this.#generation(b) || a - b);
    }
    if (slots.length !== count || new Set(slots).size !== count || !slots.every((slot) => isLive(this.#view(slot)))) throw this.#corrupt();
    return slots.map((slot, i) => this.#item(slot, i + 1));
  }

  #sortByRing(slots: number[], { place, ends }: PlacedOrder, table: DataView): void {
    const head = table.getUint32(ends + 4, true);
    const capacity = this.#form.ringCapacity;
    const index = (slot: number) => (this.#view(slot).getUint32(place, true) + capacity - head) % capacity;
    slots.sort((a, b) => index(a) - index(b));
  }

  /** Returns the pending items in order of arrival. */
  #pending(table: DataView): SavedItem[] {
    const items: SavedItem[] = [];
    let slot = table.getUint32(PENDING_FIRST, true);
    for (let left = table.getUint32(PENDING_COUNT, true); left > 0; left--) {
      if (!isPending(this.#view(slot))) throw this.#corrupt();
      items.push(this.#item(slot, 0));
      slot = this.#view(slot).getUint32(AT.timesSampled, true);
    }
    return items;
  }

  /** Admits pending items that the new rate limiter permits, as the newest items. Returns the number of admitted items. */
  #admit(table: DataView, live: SavedItem[], pending: SavedItem[], { rateLimiter }: ResolvedTableOptions): number {
    const { samplesPerInsert, minSize, maxDiff } = rateLimiter;
    const samples = Number(dataView(this.#draws as Uint8Array).getBigUint64(SAMPLES, true));
    let inserts = Number(table.getBigUint64(INSERTS, true));
    let stamp = table.getFloat64(STAMP, true);
    let admitted = 0;
    while (pending.length > 0 && (live.length + 1 <= minSize || (inserts + 1) * samplesPerInsert - samples <= maxDiff)) {
      stamp++;
      live.push({ ...(pending.shift() as SavedItem), timesSampled: 0, stamp: this.#form.stampAt === undefined ? live.length + 1 : stamp });
      inserts++;
      admitted++;
    }
    table.setBigUint64(INSERTS, BigInt(inserts), true);
    table.setFloat64(STAMP, stamp, true);
    return admitted;
  }

  #hasOtherForm(next: ResolvedTableOptions): boolean {
    const { maxSize, maxPending, sampler, remover } = this.#options;
    return (
      next.maxSize !== maxSize ||
      next.maxPending !== maxPending ||
      next.sampler.kind !== sampler.kind ||
      next.remover.kind !== remover.kind ||
      this.#together(next)
    );
  }

  /**
   * Returns whether the sampler and the remover share a structure in only one of the two tables. They share a structure if they have the same kind and equal
   * exponents.
   */
  #together(next: ResolvedTableOptions): boolean {
    return new SlotForm(next, this.#memory).bytes !== this.#form.bytes;
  }

  /** Returns the places of items in the new table. A key is kept if it fits the new capacity. */
  #places(table: DataView, items: readonly SavedItem[], next: KeyLayout): Places {
    const high = table.getUint32(HIGH, true);
    if (next.equals(this.#keys) && items.every(({ slot }) => slot <= next.capacity)) return this.#samePlaces(table, items, Math.min(high, next.capacity));
    const old = this.#keys;
    let generation = 0;
    for (const record of this.#slots.values()) generation = Math.max(generation, dataView(record).getUint32(AT.generation, true));
    // All earlier keys are below the keys of this generation.
    const fresh = Math.floor(old.key(high, generation) / next.scale) + 1;
    if (fresh > next.lastGeneration)
      throw new ReplayError(
        "KEYS_EXHAUSTED",
        `tables.${this.#name} would have no keys left with the new options. Keep its maxSize, its maxPending and the number of tables, or move its episodes into a new Replay`,
      );
    const places = items.map((item) => next.placeOf(old.key(item.slot, item.generation)));
    const found = places.filter((place) => place !== undefined);
    const areNew = found.length !== items.length || new Set(found.map(({ slot }) => slot)).size !== items.length;
    const of = new Map(items.map((item, i) => [item, areNew ? { slot: i + 1, generation: fresh } : (places[i] as Place)]));
    const used = new Set([...of.values()].map(({ slot }) => slot));
    let highest = 0;
    for (const slot of used) highest = Math.max(highest, slot);
    const free: Place[] = [];
    for (let slot = 1; slot <= highest; slot++) if (!used.has(slot)) free.push({ slot, generation: Math.max(1, fresh - 1) });
    return placesOf({ of, free, retired: [], since: fresh, areNew, high: highest });
  }

  #samePlaces(table: DataView, items: readonly SavedItem[], high: number): Places {
    const of = new Map<SavedItem, Place>(items.map((item) => [item, item]));
    const used = new Set(items.map(({ slot }) => slot));
    const freeSlots = new Set<number>();
    for (let slot = table.getUint32(FREE_FIRST, true); slot !== 0 && !freeSlots.has(slot); slot = this.#view(slot).getUint32(AT.first, true))
      freeSlots.add(slot);
    const wasRetired = (slot: number) => !isUsed(this.#view(slot)) && !freeSlots.has(slot);
    const others = Array.from({ length: high }, (_, i) => i + 1).filter((slot) => !used.has(slot) && !freeSlots.has(slot));
    const isRetired = (slot: number) => wasRetired(slot) || this.#generation(slot) >= this.#keys.lastGeneration;
    const place = (slot: number): Place => ({ slot, generation: this.#generation(slot) });
    const free = [...[...freeSlots].filter((slot) => slot <= high), ...others.filter((slot) => !isRetired(slot))].map(place);
    return placesOf({ of, free, retired: others.filter(isRetired).map(place), since: table.getUint32(this.#form.sinceAt, true), areNew: false, high });
  }

  /** Returns the record of an item, without the item's place in an order. */
  #record({ slot, priority, stamp }: SavedItem, place: Place, form: SlotForm): DataView {
    const record = new Uint8Array(form.bytes);
    record.set((this.#slots.get(slot) as Uint8Array).subarray(0, NUMBERS_BYTES));
    const view = dataView(record);
    view.setUint32(0, place.slot, true);
    view.setUint32(AT.generation, place.generation, true);
    view.setFloat64(AT.priority, isPending(this.#view(slot)) ? -priority : priority, true);
    if (form.stampAt !== undefined) view.setFloat64(form.stampAt, stamp, true);
    return view;
  }

  /** Links the live items into the orders of the new table. @param items oldest first */
  #link(table: DataView, items: readonly SavedItem[], { byItem, places, form, hasAllItems }: Links): void {
    const slotOf = (item: SavedItem | undefined) => (item === undefined ? 0 : (places.of.get(item) as Place).slot);
    for (const item of items) {
      const record = byItem.get(item) as DataView;
      record.setFloat64(AT.priority, item.priority, true);
      record.setUint32(AT.timesSampled, item.timesSampled, true);
    }
    if (form.stampAt === undefined) table.setFloat64(STAMP, 0, true);
    else if (this.#form.stampAt === undefined) table.setFloat64(STAMP, Math.max(0, items.at(-1)?.stamp ?? 0), true);
    if (form.links !== undefined) {
      table.setUint32(form.links.ends, slotOf(items[0]), true);
      for (const [i, item] of items.entries()) {
        const record = byItem.get(item) as DataView;
        record.setUint32(form.links.place, slotOf(items.at(i - 1)), true);
        record.setUint32(form.links.place + 4, slotOf(items[(i + 1) % items.length]), true);
      }
    }
    for (const { place, ends } of form.rings) {
      const [old] = this.#form.rings;
      // The order of a ring determines which items are drawn, so it is kept if no item was removed.
      const isOld = old !== undefined && hasAllItems;
      const ring = isOld ? this.#inRing(items, old) : items;
      for (const [i, item] of ring.entries()) (byItem.get(item) as DataView).setUint32(place, i, true);
      table.setUint32(ends, isOld ? dataView(this.#table as Uint8Array).getUint32(old.ends, true) : 0, true);
      table.setUint32(ends + 4, 0, true);
      table.setUint32(ends + 8, ring.length, true);
    }
  }

  /** Returns the items in the order of the old ring, with formerly pending items last. */
  #inRing(items: readonly SavedItem[], ring: PlacedOrder): readonly SavedItem[] {
    const slots = items.map(({ slot }) => slot).filter((slot) => !isPending(this.#view(slot)));
    this.#sortByRing(slots, ring, dataView(this.#table as Uint8Array));
    const place = new Map(slots.map((slot, i) => [slot, i]));
    const placeOf = ({ slot }: SavedItem) => place.get(slot) ?? items.length;
    return [...items].sort((a, b) => placeOf(a) - placeOf(b));
  }

  /** Links the pending slots into a chain, and records the ends of this chain and of the chain of free slots. */
  #queue(table: DataView, pending: readonly SavedItem[], byItem: ReadonlyMap<SavedItem, DataView>, places: Places): void {
    const slots = pending.map((item) => (places.of.get(item) as Place).slot);
    for (const [i, item] of pending.entries()) (byItem.get(item) as DataView).setUint32(AT.timesSampled, slots[i + 1] ?? 0, true);
    table.setUint32(PENDING_COUNT, pending.length, true);
    table.setUint32(PENDING_FIRST, slots[0] ?? 0, true);
    table.setUint32(PENDING_LAST, slots.at(-1) ?? 0, true);
    table.setUint32(HIGH, places.high, true);
    table.setUint32(FREE_FIRST, places.queued[0] ?? 0, true);
    table.setUint32(FREE_LAST, places.queued.at(-1) ?? 0, true);
    table.setUint32(RETIRED, places.retired.length, true);
  }

  *#slotSections(records: readonly Uint8Array[], bytes: number): Generator<Section, void> {
    const max = Math.max(1, Math.floor((SECTION_MAX - COUNT_BYTES) / bytes));
    for (let from = 0; from < records.length; from += max) {
      const part = records.slice(from, from + max);
      const payload = new Uint8Array(COUNT_BYTES + bytes * part.length);
      dataView(payload).setUint32(0, part.length, true);
      for (const [i, record] of part.entries()) payload.set(record, COUNT_BYTES + bytes * i);
      yield [SLOTS, this.#number, payload];
    }
  }

  #numbers(table: Uint8Array): readonly Section[] {
    return [
      [TABLE, this.#number, table],
      [DRAWN, this.#number, this.#draws as Uint8Array],
    ];
  }

  #item(slot: number, place: number): SavedItem {
    const view = this.#view(slot);
    return {
      slot,
      first: view.getUint32(AT.first, true),
      generation: view.getUint32(AT.generation, true),
      length: view.getUint32(AT.length, true),
      timesSampled: view.getUint32(AT.timesSampled, true),
      priority: Math.abs(view.getFloat64(AT.priority, true)),
      stamp: this.#form.stampAt === undefined ? place : view.getFloat64(this.#form.stampAt, true),
    };
  }

  #generation(slot: number): number {
    return this.#view(slot).getUint32(AT.generation, true);
  }

  #view(slot: number): DataView {
    const record = this.#slots.get(slot);
    if (record === undefined) throw this.#corrupt();
    return dataView(record);
  }

  #corrupt(): ReplayError {
    return new ReplayError("CORRUPT", `the saved state of tables.${this.#name} is inconsistent`);
  }
}

interface Links {
  readonly byItem: ReadonlyMap<SavedItem, DataView>;
  readonly places: Places;
  readonly form: SlotForm;
  /** Whether no item was removed. */
  readonly hasAllItems: boolean;
}

interface Places {
  readonly of: ReadonlyMap<SavedItem, Place>;
  /** The free places in the order of reuse. */
  readonly free: readonly Place[];
  /** The slots of the free places, in the same order. */
  readonly queued: readonly number[];
  readonly retired: readonly Place[];
  /** The smallest generation of future items. */
  readonly since: number;
  readonly areNew: boolean;
  /** The highest slot ever used. */
  readonly high: number;
}

function placesOf(places: Omit<Places, "queued">): Places {
  return { ...places, queued: places.free.map(({ slot }) => slot) };
}

/** Returns a seed computed from a table's random state. */
function seedOf(draws: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of draws.subarray(RANDOM_AT, SAMPLES)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

function isSame(a: object, b: object): boolean {
  return JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());
}

function sum(items: readonly SavedItem[], of: (item: SavedItem) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
