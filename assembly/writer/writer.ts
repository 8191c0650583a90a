/**
 * Implements a writer: one stream per lane, and rules that turn their steps into items. A writer connects streams and tables, which are independent of each
 * other.
 *
 * WRITER, 40 bytes, then RULE (rule.ts) × rules, then STREAM × lanes:
 *    0 │ lanes u32     │ rules u32       │
 *    8 │ streamsAt u32 │ streamBytes u32 │
 *   16 │ across u32    │ awaits u32      │  1: recent steps outlive the ends of their episodes · 1: the final step of an episode is the next step of its lane
 *   24 │ reward u32    │ barren u32      │  the leaf whose values must be finite, + 1; 0 for none · episodes that ended before a rule made an item
 *   32 │ checks u32    │ … u32           │  whether values of steps must be checked: rewards, or values that are priorities
 */
import { E_OUT_OF_MEMORY, E_PRIORITY, E_PRIORITY_LEAF, E_REWARD, fail } from "../memory/error";
import { dtypeBytes, readNumber } from "../rows/leaf";
import { countLanes } from "../rows/packed-frame";
import { Pool } from "../rows/pool";
import { Stream, stream_bytes, stream_init } from "../rows/stream";
import { RULE_BYTES, Rule } from "./rule";

const RULES_AT: usize = 40;

@unmanaged
export class Writer {
  lanes: u32;
  rules: u32;
  streamsAt: u32;
  streamBytes: u32;
  across: u32;
  awaits: u32;
  reward: u32;
  barren: u32;
  checks: u32;
  unused: u32;

  @inline
  stream(lane: u32): Stream {
    return changetype<Stream>(<usize>this.streamsAt + <usize>(lane * this.streamBytes));
  }

  @inline
  rule(k: u32): Rule {
    return changetype<Rule>(changetype<usize>(this) + RULES_AT + <usize>(k * RULE_BYTES));
  }

  /** Counts the items that the rules up to the k-th make of a lane's next step for the table of the k-th rule. */
  making(k: u32, s: Stream): u32 {
    let items: u32 = 0;
    for (let j: u32 = 0; j <= k; j++) items += u32(this.rule(j).table == this.rule(k).table && this.makes(this.rule(j), s));
    return items;
  }

  /** Like `making`, if the next step is the final one of its episode. */
  makingLast(k: u32, s: Stream): u32 {
    let items: u32 = 0;
    for (let j: u32 = 0; j <= k; j++) {
      const rule = this.rule(j);
      if (rule.table == this.rule(k).table) items += this.spans(rule) ? u32(rule.length > 1 && rule.reaches(s, 1)) : rule.makesLast(s.nextStep());
    }
    return items;
  }

  /** Whether a rule makes an item that ends with a lane's next step, which is not a final step. */
  @inline
  makes(rule: Rule, s: Stream): bool {
    return this.spans(rule) ? rule.reaches(s, 1) : rule.makes(s.nextStep());
  }

  /** Whether the items of a rule may span episodes. Transitions never do. */
  @inline
  spans(rule: Rule): bool {
    return this.across != 0 && !rule.tails();
  }

  /** Whether some rule makes an item that begins with each step before the final one (TAILS). */
  tails(): bool {
    for (let k: u32 = 0; k < this.rules; k++) if (this.rule(k).tails()) return true;
    return false;
  }

  /** Whether some rule makes items of the last steps of every episode, which means transitions or sequences. */
  covers(): bool {
    for (let k: u32 = 0; k < this.rules; k++) if (this.rule(k).tails() || this.rule(k).isSequence()) return true;
    return false;
  }

  /** Counts an episode in `barren` if no rule has made an item of its steps. Runs before the episode ends. `last`: whether it has a final step. */
  noteEnd(s: Stream, last: bool): void {
    // In a writer that is across, the steps remain available for later items, unless the writer makes transitions.
    if (!s.isOpen() || (this.across != 0 && !this.tails())) return;
    const steps = s.episodeStep;
    for (let k: u32 = 0; k < this.rules; k++) if (this.rule(k).length <= steps || (last && this.rule(k).makesLast(steps) != 0)) return;
    this.barren += 1;
  }

  /** Returns 0, or REWARD if rules cannot sum the reward in a row of a block; `value` is its address. */
  checkReward(pool: Pool, value: usize, row: u32): i32 {
    const leaf = pool.leaf(this.reward - 1);
    const each = dtypeBytes(leaf.dtype);
    for (const end = value + <usize>leaf.bytes; value < end; value += <usize>each) {
      const number = readNumber(value, leaf.dtype);
      if (!Number.isFinite(number)) return fail(E_REWARD, row, number);
    }
    return 0;
  }

  /** Returns 0, or PRIORITY_LEAF if rule k, which reads priorities from a leaf, cannot use the value. */
  checkPriority(k: u32, pool: Pool, value: usize): i32 {
    const rule = this.rule(k);
    const number = readNumber(value, pool.leaf(rule.leaf() - 1).dtype);
    return rule.to().takes(number) ? 0 : fail(E_PRIORITY_LEAF, k, number);
  }
}
if (offsetof<Writer>() != RULES_AT) ERROR("WRITER: the rules follow at byte 40");

/** Returns the number of bytes of a writer, which may exceed the size of the memory. `keep`: the number of steps that each lane holds. */
export function writer_bytes(lanes: u32, rules: u32, keep: u32): f64 {
  return <f64>(<u32>RULES_AT + rules * RULE_BYTES) + <f64>lanes * <f64>stream_bytes(keep);
}

/** Initializes a writer. `across`, `awaits`, `reward`: as in WRITER. The caller sets each rule with `writer_rule`. */
export function writer_init(writer: usize, pool: u32, lanes: u32, rules: u32, keep: u32, across: u32, awaits: u32, reward: u32): void {
  const w = changetype<Writer>(writer);
  w.lanes = lanes;
  w.rules = rules;
  w.streamsAt = <u32>writer + <u32>writer_bytes(0, rules, 0);
  w.streamBytes = stream_bytes(keep);
  w.across = across;
  w.awaits = awaits;
  w.reward = reward;
  w.barren = 0;
  w.checks = reward;
  countLanes(changetype<Pool>(<usize>pool), lanes);
  for (let lane: u32 = 0; lane < lanes; lane++) stream_init(changetype<usize>(w.stream(lane)), pool, keep, keep);
}

/** Returns the stream of a lane. */
export function writer_stream(writer: usize, lane: u32): u32 {
  return <u32>changetype<usize>(changetype<Writer>(writer).stream(lane));
}

/**
 * Sets a rule; `flags`, `layout`: as in RULE. Returns 0, E_PRIORITY if the table does not accept the priority, or OUT_OF_MEMORY if the table has no room for
 * column layouts.
 */
export function writer_rule(writer: usize, k: u32, table: u32, length: u32, stride: u32, layout: u32, priority: f64, flags: u32): i32 {
  const rule = changetype<Writer>(writer).rule(k);
  rule.table = table;
  rule.length = length;
  rule.stride = stride;
  rule.layout = layout;
  rule.priority = priority;
  rule.flags = flags;
  if (rule.leaf() != 0) changetype<Writer>(writer).checks = 1;
  if (!rule.to().takes(priority)) return fail(E_PRIORITY, 6, priority);
  return (layout == 0 && !rule.isSequence()) || rule.to().slots().reserveLayouts() ? 0 : E_OUT_OF_MEMORY;
}

/** Returns how many episodes of a writer ended before any rule made an item of their steps. */
export function writer_barren(writer: usize): u32 {
  return changetype<Writer>(writer).barren;
}
