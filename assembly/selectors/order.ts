/**
 * Keeps items in the order of insertion: fifo picks the oldest item, and lifo picks the youngest.
 *
 * ORDER, 8 bytes:
 *    0 │ oldest u32 │ items u32 │  0 = empty · the table's items
 * The links are in the items, prev u32 and next u32, and form a circle: the youngest slot comes before the oldest. Slots outside the circle keep their links.
 */
import { Items } from "./items";

export const ORDER_BYTES: u32 = 8;

@unmanaged
export class Order {
  oldest: u32;
  items: u32;

  @inline
  linksOf(slot: u32): usize {
    return Items.links(<usize>this.items, slot);
  }

  @inline
  prev(slot: u32): u32 {
    return load<u32>(this.linksOf(slot));
  }

  @inline
  next(slot: u32): u32 {
    return load<u32>(this.linksOf(slot), 4);
  }

  /** Returns the youngest slot; 0 = empty. */
  @inline
  youngest(): u32 {
    return this.oldest == 0 ? 0 : this.prev(this.oldest);
  }

  /** Returns the youngest or the oldest slot. */
  @inline
  end(youngest: bool): u32 {
    return youngest ? this.youngest() : this.oldest;
  }

  /** Returns the next slot of a walk from the youngest slot to older ones (`youngest`), or from the oldest slot to younger ones. */
  @inline
  neighbour(slot: u32, youngest: bool): u32 {
    return youngest ? this.prev(slot) : this.next(slot);
  }

  /** Returns the slot after the i oldest of `count` slots. O(min(i, count - i)) */
  at(i: u32, count: u32): u32 {
    const fromYoung = i > count >> 1;
    let slot = this.end(fromYoung);
    for (let steps = fromYoung ? count - 1 - i : i; steps > 0; steps--) slot = this.neighbour(slot, fromYoung);
    return slot;
  }

  /** Adds a slot at the young end. O(1) */
  @inline
  insert(slot: u32): void {
    const oldest = this.oldest;
    if (oldest == 0) {
      this.oldest = slot;
      this.link(slot, slot);
    } else {
      this.link(this.prev(oldest), slot);
      this.link(slot, oldest);
    }
  }

  /** Removes a slot at any place. O(1) */
  @inline
  remove(slot: u32): void {
    const next = this.next(slot);
    if (slot == this.oldest) this.oldest = next == slot ? 0 : next;
    this.link(this.prev(slot), next);
  }

  /** Makes the oldest slot the youngest. O(1) */
  @inline
  renew(): void {
    this.oldest = this.next(this.oldest);
  }

  /** Returns 0, or the number of the broken invariant. */
  check(count: u32, slots: u32): i32 {
    if (count == 0) return this.oldest == 0 ? 0 : 1;
    let slot = this.oldest;
    for (let i: u32 = 0; i < count; i++) {
      if (slot == 0 || slot > slots) return 2;
      const next = this.next(slot);
      if (next > slots || this.prev(next) != slot) return 3;
      slot = next;
      if (slot == this.oldest && i + 1 < count) return 4;
    }
    return slot == this.oldest ? 0 : 5;
  }

  @inline
  private link(before: u32, after: u32): void {
    store<u32>(this.linksOf(before), after, 4);
    store<u32>(this.linksOf(after), before);
  }
}
if (offsetof<Order>() != ORDER_BYTES) ERROR("ORDER is 8 bytes");
