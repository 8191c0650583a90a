/**
 * RULE, 32 bytes: an item of the last `length` steps whenever an episode has `length`, `length + stride`, … of them; of a writer that is across, whenever the lane has.
 *    0 │ table u32     │ length u32      │
 *    8 │ stride u32    │ layout u32      │
 *   16 │ priority f64                    │
 *   24 │ flags u32     │ dues u32        │  (dues.ts) · TAILS: with the final step, also shorter items, so that each step before it begins one · LARGEST: with the table's maxPriority
 */
import { Stream } from "../rows/stream";
import { Table } from "../tables/table";

export const RULE_BYTES: u32 = 32;
export const TAILS: u32 = 1;
export const LARGEST: u32 = 2;

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

  /** Items that end with the final step of an episode, its `step`-th; none begins there. */
  makesLast(step: u32): u32 {
    if (this.tails()) return min(this.length, step) - 1;
    return u32(this.length > 1 && this.makes(step));
  }

  /**
   * Of a writer that is across: whether an item of the last `length` steps of a lane, `ahead` steps from now, is one of the rule's. None begins with a final step. The steps
   * at hand are never let go there but where there are more than the longest rule needs.
   */
  reaches(s: Stream, ahead: u32): bool {
    const have = s.recent().count;
    const length = this.length;
    if (have + ahead < length) return false;
    if (this.stride != 1 && (s.before + s.episodeStep + ahead - length) % this.stride != 0) return false;
    return length <= ahead || !s.rows().isFinal(s.recent().get(have + ahead - length));
  }

  /** The priority that an item is given now. */
  @inline
  gives(): f64 {
    return (this.flags & LARGEST) != 0 ? this.to().maxPriority : this.priority;
  }

  @inline
  tails(): bool {
    return (this.flags & TAILS) != 0;
  }
}
if (offsetof<Rule>() != RULE_BYTES) ERROR("RULE is 32 bytes");
