/**
 * Implements the rules of a writer.
 *
 * RULE, 32 bytes: makes an item of the last `length` steps whenever an episode has `length`, `length + stride`, … steps. In a writer that is across, the steps
 * of the lane count instead.
 *    0 │ table u32     │ length u32      │
 *    8 │ stride u32    │ layout u32      │  for a sequence rule, the number of burn-in steps
 *   16 │ priority f64                    │
 *   24 │ flags u32     │ dues u32        │  (dues.ts) · TAILS: with the final step, also shorter items, so that an item begins with each step before the final one · LARGEST: with the table's maxPriority
 *                                       SEQUENCE: with the final step one more item of the remaining steps, usually shorter (sequence.ts)
 *   flags, from bit 8 on: 0, or the number + 1 of the leaf whose value in an item's first step is the item's priority
 */
import { readNumber } from "../rows/leaf";
import { Stream } from "../rows/stream";
import { Table } from "../tables/table";

export const RULE_BYTES: u32 = 32;
export const TAILS: u32 = 1;
export const LARGEST: u32 = 2;
export const SEQUENCE: u32 = 4;
export const PRIORITY_LEAF_BITS: u32 = 8;

/** The mask of the flags, without the bits of the leaf. */
const MASK: u32 = (1 << PRIORITY_LEAF_BITS) - 1;

@unmanaged
export class Rule {
  table: u32;
  length: u32;
  stride: u32;
  layout: u32;
  priority: f64;
  flags: u32;
  dues: u32;

  @inline
  to(): Table {
    return changetype<Table>(<usize>this.table);
  }

  /** Whether an item ends with step number `step` of an episode. */
  @inline
  makes(step: u32): bool {
    if (step < this.length) return false;
    return this.stride == 1 || (step - this.length) % this.stride == 0;
  }

  /** Returns the number of items that end with the final step of an episode, its `step`-th one. No item begins with that step. */
  makesLast(step: u32): u32 {
    if (this.tails()) return min(this.length, step) - 1;
    if (this.isSequence()) return u32(step > 1);
    return u32(this.length > 1 && this.makes(step));
  }

  /** Returns the length of the sequence that ends an episode, or a lane, of `steps` steps. It begins a stride after the last whole sequence, if one exists. */
  lastLength(steps: u32): u32 {
    if (steps < this.length) return steps;
    const more = (steps - this.length) % this.stride;
    return more == 0 ? this.length : this.length - this.stride + more;
  }

  /**
   * Whether the rule, in a writer that is across, makes an item of the last `length` steps that a lane will have `ahead` steps from now. No item begins with a
   * final step: such a sequence begins a step later, if that leaves two steps. In such a writer, recent steps are only released if the stream holds more than
   * the longest rule needs.
   */
  reaches(s: Stream, ahead: u32): bool {
    const have = s.recent().count;
    const length = this.length;
    if (have + ahead < length) return false;
    if (this.stride != 1 && (s.before + s.episodeStep + ahead - length) % this.stride != 0) return false;
    return length <= ahead || !s.rows().isFinal(s.recent().get(have + ahead - length)) || (this.isSequence() && length > 2);
  }

  /** Returns the priority that the rule defines for an item of a lane's last `length` steps. */
  @inline
  gives(s: Stream, length: u32): f64 {
    if (this.flags > MASK) return this.valueOf(s, length);
    return (this.flags & LARGEST) != 0 ? this.to().maxPriority : this.priority;
  }

  /** Returns the number + 1 of the leaf from which the rule reads priorities; 0 = none. */
  @inline
  leaf(): u32 {
    return this.flags >> PRIORITY_LEAF_BITS;
  }

  private valueOf(s: Stream, length: u32): f64 {
    const p = s.rows();
    const leaf = p.leaf(this.leaf() - 1);
    const value = readNumber(p.value(s.firstOf(length), leaf), leaf.dtype);
    // The value was valid when it was appended. A value written since (draw/scatter.ts) may be invalid, and counts as 0. A valid zero may have a sign.
    return this.to().takes(value) ? Math.abs(value) : 0;
  }

  @inline
  tails(): bool {
    return (this.flags & TAILS) != 0;
  }

  @inline
  isSequence(): bool {
    return (this.flags & SEQUENCE) != 0;
  }
}
if (offsetof<Rule>() != RULE_BYTES) ERROR("RULE is 32 bytes");
