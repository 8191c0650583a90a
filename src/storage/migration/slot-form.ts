/** Computes the layout of a table's records (assembly/persistence/slot.ts, table.ts) for its sampler and remover. */
import type { SectionMemory } from "../../memory/section-memory.ts";
import { kindsOf } from "../../memory/table.ts";
import type { SelectorName } from "../../schema/selector.ts";
import type { ResolvedTableOptions } from "../../schema/table-options.ts";

/** The number added to a remover's kind if the remover shares the sampler's structure (assembly/selectors/kinds.ts). */
const TOGETHER = 32;
/** The number of u32 words in a SLOT that store its place in an order, by the kind of sampler or remover. */
const PLACE_WORDS: { readonly [K in SelectorName]: number } = { fifo: 2, lifo: 2, recency: 2, uniform: 1, prioritized: 0, minHeap: 0, maxHeap: 0 };
const SLOT_BYTES = 32;
const STAMP_BYTES = 8;
/** The offset in a TABLE record of the ends of its orders, and the number of bytes of these ends. */
const ENDS_AT = 92;
const END_BYTES = 12;
export const TABLE_BYTES = ENDS_AT + 2 * END_BYTES;

/** A stored order of a sampler or remover: the offset of the order's words in a SLOT, and the offset of its ends in a TABLE. */
export interface PlacedOrder {
  readonly place: number;
  readonly ends: number;
}

export class SlotForm {
  /** The number of bytes of a SLOT. */
  readonly bytes: number;
  /** The offset of the stamp in a SLOT; undefined if slots have no stamps. */
  readonly stampAt: number | undefined;
  /** The order of insertion for fifo, lifo and recency. A table has at most one such order. */
  readonly links: PlacedOrder | undefined;
  /** The rings of uniform samplers and removers. */
  readonly rings: readonly PlacedOrder[];
  /** The maximum number of items of a ring. */
  readonly ringCapacity: number;
  /** The offset in a TABLE of the smallest generation of future items. */
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
    // A fifo remover evicts before an insert, and any other remover evicts after an insert.
    this.ringCapacity = remover.kind === "fifo" ? maxSize : maxSize + 1;
    this.sinceAt = ENDS_AT + (isSeparate && remover.kind === "uniform" ? END_BYTES : 2 * END_BYTES) - 4;
  }
}
