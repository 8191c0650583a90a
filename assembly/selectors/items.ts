/**
 * Reads the part of a table's items (ITEM, assembly/tables/slots.ts) that selectors use: the priority of a slot, and its place in the order of insertion. These
 * values are in the item, so a draw touches only one cache line.
 */

export const ITEM_BYTES: u32 = 32;
/** The offset of the links in an item: prev u32, next u32. */
export const LINKS: usize = 24;
const INFINITY_BITS: u64 = 0x7ff0000000000000;

@unmanaged
export class Items {
  @inline
  static at(items: usize, slot: u32): usize {
    return items + ((<usize>slot) << 5);
  }

  @inline
  static priority(items: usize, slot: u32): f64 {
    return load<f64>(Items.at(items, slot));
  }

  /** Whether the priority of a slot shows that its item is live, which means that the slot is neither free nor pending (assembly/tables/slots.ts). */
  @inline
  static isLive(priority: f64): bool {
    return reinterpret<u64>(priority) < INFINITY_BITS;
  }

  @inline
  static links(items: usize, slot: u32): usize {
    return Items.at(items, slot) + LINKS;
  }
}
