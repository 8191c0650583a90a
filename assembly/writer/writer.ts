/**
 * A writer: one stream a lane, and rules by which their steps become items. It joins streams and tables, which do not know each other.
 *
 * WRITER, 24 bytes, then RULE × rules, then STREAM × lanes:
 *    0 │ lanes u32     │ rules u32       │
 *    8 │ streamsAt u32 │ streamBytes u32 │
 *   16 │ across u32    │ … u32           │  1: steps at hand live on over the ends of episodes
 *
 * RULE, 24 bytes: an item of the last `length` steps whenever an episode has `length`, `length + stride`, … of them.
 *    0 │ table u32     │ length u32      │
 *    8 │ stride u32    │ layout u32      │
 *   16 │ priority f64                    │
 */
import { E_LENGTH, E_OUT_OF_MEMORY, E_PRIORITY, E_RATE_LIMITED, fail } from "../memory/error";
import { Run, SINGLE } from "../rows/run";
import { Stream, stream_bytes, stream_init } from "../rows/stream";
import { EvictInPlace } from "../tables/evict-in-place";
import { insertItem, Table } from "../tables/table";

const RULES_AT: usize = 24;
const RULE_BYTES: u32 = 24;

@unmanaged
export class Writer {
  lanes: u32;
  rules: u32;
  streamsAt: u32;
  streamBytes: u32;
  across: u32;
  unused: u32;

  @inline
  stream(lane: u32): Stream {
    return changetype<Stream>(<usize>this.streamsAt + <usize>(lane * this.streamBytes));
  }

  @inline
  rule(k: u32): Rule {
    return changetype<Rule>(changetype<usize>(this) + RULES_AT + <usize>(k * RULE_BYTES));
  }

  /** Items that the rules up to the k-th make of a step for the table of the k-th. */
  making(k: u32, step: u32): u32 {
    let items: u32 = 0;
    for (let j: u32 = 0; j <= k; j++) items += u32(this.rule(j).table == this.rule(k).table && this.rule(j).makes(step));
    return items;
  }
}
if (offsetof<Writer>() != RULES_AT) ERROR("WRITER: the rules follow at byte 24");

@unmanaged
export class Rule {
  table: u32;
  length: u32;
  stride: u32;
  layout: u32;
  priority: f64;

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
}
if (offsetof<Rule>() != RULE_BYTES) ERROR("RULE is 24 bytes");

/** `keep`: steps that each lane holds. May be more than there is memory. */
export function writer_bytes(lanes: u32, rules: u32, keep: u32): f64 {
  return <f64>(<u32>RULES_AT + rules * RULE_BYTES) + <f64>lanes * <f64>stream_bytes(keep);
}

/** `across`: 1 where steps at hand live on over the ends of episodes. Rules are set one by one. */
export function writer_init(writer: usize, pool: u32, lanes: u32, rules: u32, keep: u32, across: u32): void {
  const w = changetype<Writer>(writer);
  w.lanes = lanes;
  w.rules = rules;
  w.streamsAt = <u32>writer + <u32>writer_bytes(0, rules, 0);
  w.streamBytes = stream_bytes(keep);
  w.across = across;
  for (let lane: u32 = 0; lane < lanes; lane++) stream_init(changetype<usize>(w.stream(lane)), pool, keep, keep);
}

/** The stream of a lane. */
export function writer_stream(writer: usize, lane: u32): u32 {
  return <u32>changetype<usize>(changetype<Writer>(writer).stream(lane));
}

/** 0, E_PRIORITY for a priority that the table does not take, or OUT_OF_MEMORY where its slots find no room for a column layout. */
export function writer_rule(writer: usize, k: u32, table: u32, length: u32, stride: u32, layout: u32, priority: f64): i32 {
  const rule = changetype<Writer>(writer).rule(k);
  rule.table = table;
  rule.length = length;
  rule.stride = stride;
  rule.layout = layout;
  rule.priority = priority;
  if (!rule.to().takes(priority)) return fail(E_PRIORITY, 6, priority);
  return layout == 0 || rule.to().slots().reserveLayouts() ? 0 : E_OUT_OF_MEMORY;
}

/** O(length + log n): an item of a stream's last `length` steps. 1 it is in, 0 it waits for the limiter, or what is refused. */
export function table_insert(table: usize, stream: usize, length: u32, layout: u32, priority: f64): i32 {
  const s = changetype<Stream>(stream);
  const first = s.firstOf(length);
  if (first == 0) return fail(E_LENGTH, 3, <f64>length);
  const t = changetype<Table>(table);
  if (!t.takes(priority)) return fail(E_PRIORITY, 5, priority);
  if (layout != 0 && !t.slots().reserveLayouts()) return E_OUT_OF_MEMORY;
  return makeItem(s, t, first, length, layout, priority);
}

/** O(row + items): appends the step of a staging record, and the items that the rules make of it. Items that wait, or what is refused, and then nothing changed. */
export function writer_append(writer: usize, staged: usize): i32 {
  const w = changetype<Writer>(writer);
  const s = w.stream(0);
  const rules = w.rules;
  const step = (s.fresh != 0 ? 0 : s.episodeStep) + 1;
  for (let k: u32 = 0; k < rules; k++) {
    const rule = w.rule(k);
    // An item of the episode that came last, and of no other, needs nothing that could be refused.
    if (rule.to().evictsInPlace == 0 || s.fresh != 0 || !rule.to().episodes().joins(s.episode)) {
      const code = rule.makes(step) ? canTake(rule.to(), w.making(k, step), rule.length) : 0;
      if (code != 0) return code;
    }
  }
  if (s.append(staged) == 0) return E_OUT_OF_MEMORY;
  let waiting: u32 = 0;
  for (let k: u32 = 0; k < rules; k++) {
    const rule = w.rule(k);
    if (!rule.makes(step)) continue;
    if (makeItem(s, rule.to(), s.firstOf(rule.length), rule.length, rule.layout, rule.priority) == 0) waiting += 1;
  }
  return waiting;
}

/** An item of a run at hand: in the place of an old one where that can be, else inserted. */
export function makeItem(s: Stream, t: Table, first: u32, length: u32, layout: u32, priority: f64): i32 {
  const run = Run.retain(first, length);
  if ((run & SINGLE) != 0) {
    if (EvictInPlace.fits(t, s.episode)) {
      EvictInPlace.one(t, s.episode, first, length, run, layout, priority);
      return 1;
    }
  }
  return insertItem(t, first, length, run, layout, priority);
}

/** Whether n more items in some episodes pass or may wait; 0, or what is refused. */
export function canTake(t: Table, n: u32, episodes: u32): i32 {
  let passing: u32 = t.pending != 0 ? 0 : n;
  while (passing != 0 && !t.limiter().canInsert(passing, t.count)) passing--;
  if (t.pending + n - passing > t.maxPending) return fail(E_RATE_LIMITED, 0, <f64>t.pending);
  // What waits keeps a place of its own for its episode.
  return t.episodes().reserve(episodes + (n - passing)) ? 0 : E_OUT_OF_MEMORY;
}
