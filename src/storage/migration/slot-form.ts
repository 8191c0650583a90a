/** Where a table's records have what (assembly/persistence/slot.ts, table.ts), for its sampler and remover. */
import type { SectionMemory } from "../../memory/section-memory.ts";
import { kindsOf } from "../../memory/table.ts";
import type { SelectorName } from "../../schema/selector.ts";
import type { ResolvedTableOptions } from "../../schema/table-options.ts";

/** Added to a remover's kind if the sampler's structure serves it too (assembly/selectors/kinds.ts). */
const TOGETHER = 32;
/** Words of a slot's place in an order that is state. */
const PLACE_WORDS: { readonly [K in SelectorName]: number } = { fifo: 2, lifo: 2, recency: 2, uniform: 1, prioritized: 0, minHeap: 0, maxHeap: 0 };
const SLOT_BYTES = 32;
const STAMP_BYTES = 8;
/** Of a TABLE record: where its orders end, and their words. */
const ENDS_AT = 92;
const END_BYTES = 12;
export const TABLE_BYTES = ENDS_AT + 2 * END_BYTES;

/** A role whose order is state: where its words are in a SLOT, and its ends in a TABLE. */
export interface PlacedOrder {
  readonly place: number;
  readonly ends: number;
}

export class SlotForm {
  /** Bytes of a SLOT. */
  readonly bytes: number;
  /** Where a SLOT has the stamp; undefined if there are none. */
  readonly stampAt: number | undefined;
  /** The order of insertion that fifo, lifo and recency have: a table has one at most. */
  readonly links: PlacedOrder | undefined;
  /** The rings of uniform roles. */
  readonly rings: readonly PlacedOrder[];
  /** Items that a ring has room for. */
  readonly ringCapacity: number;
  /** Where a TABLE has the least generation of items to come. */
  readonly sinceAt: number;

  constructor({ sampler, remover, maxSize }: ResolvedTableOptions, { x }: SectionMemory) {
    const isSeparate = (kindsOf(x, sampler, remover).remover & TOGETHER) === 0;
    const isStamped = [sampler, remover].some(({ kind }) => kind === "minHeap" || kind === "maxHeap");
    this.stampAt = isStamped ? SLOT_BYTES : undefined;
    let place = SLOT_BYTES + (isStamped ? STAMP_BYTES : 0);
    const rings: PlacedOrder[] = [];
    for (const [i, { kind }] of (isSeparate ? [sampler, remover] : [sampler]).entries()) {
      const order = { place, ends: ENDS_AT + i * END_BYTES };
      if (PLACE_WORDS[kind] === 2) this.links = order;
      if (PLACE_WORDS[kind] === 1) rings.push(order);
      place += 4 * PLACE_WORDS[kind];
    }
    this.rings = rings;
    this.bytes = place;
    // A fifo makes room first, any other remover after.
    this.ringCapacity = remover.kind === "fifo" ? maxSize : maxSize + 1;
    this.sinceAt = ENDS_AT + (isSeparate && remover.kind === "uniform" ? END_BYTES : 2 * END_BYTES) - 4;
  }
}
