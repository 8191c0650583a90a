/**
 * A writer: one stream a lane, and rules by which their steps become items. It joins streams and tables, which do not know each other.
 *
 * WRITER, 32 bytes, then RULE × rules, then STREAM × lanes:
 *    0 │ lanes u32     │ rules u32       │
 *    8 │ streamsAt u32 │ streamBytes u32 │
 *   16 │ across u32    │ awaits u32      │  1: steps at hand live on over the ends of episodes · 1: the final step of an episode comes as the next one of its lane
 *   24 │ reward u32    │ barren u32      │  the leaf whose values must be finite, + 1; 0 for none · episodes that ended before a rule made an item of them
 *
 * RULE, 32 bytes: an item of the last `length` steps whenever an episode has `length`, `length + stride`, … of them; of a writer that is across, whenever the lane has.
 *    0 │ table u32     │ length u32      │
 *    8 │ stride u32    │ layout u32      │
 *   16 │ priority f64                    │
 *   24 │ flags u32     │ dues u32        │  (dues.ts) · TAILS: with the final step, also shorter items, so that each step before it begins one · LARGEST: with the table's maxPriority
 */
import { E_FINAL, E_LENGTH, E_NO_EPISODE, E_OUT_OF_MEMORY, E_PRIORITY, E_RATE_LIMITED, E_REWARD, fail } from "../memory/error";
import { readNumber } from "../rows/leaf";
import { Pool, reserveFrames } from "../rows/pool";
import { Head, LINK_ENDS, LINK_FINAL } from "../rows/row";
import { Run, SINGLE } from "../rows/run";
import { ONE_MORE, Stream, stream_bytes, stream_end, stream_init } from "../rows/stream";
import { EvictInPlace } from "../tables/evict-in-place";
import { insertItem, Table } from "../tables/table";
import { Dues } from "./dues";

const RULES_AT: usize = 32;
const RULE_BYTES: u32 = 32;
export const TAILS: u32 = 1;
export const LARGEST: u32 = 2;

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

  @inline
  stream(lane: u32): Stream {
    return changetype<Stream>(<usize>this.streamsAt + <usize>(lane * this.streamBytes));
  }

  @inline
  rule(k: u32): Rule {
    return changetype<Rule>(changetype<usize>(this) + RULES_AT + <usize>(k * RULE_BYTES));
  }

  /** Items that the rules up to the k-th make of a lane's next step for the table of the k-th. */
  making(k: u32, s: Stream): u32 {
    let items: u32 = 0;
    for (let j: u32 = 0; j <= k; j++) items += u32(this.rule(j).table == this.rule(k).table && this.makes(this.rule(j), s));
    return items;
  }

  /** The same where the next step is the final one of its episode. */
  makingLast(k: u32, s: Stream): u32 {
    let items: u32 = 0;
    for (let j: u32 = 0; j <= k; j++) {
      const rule = this.rule(j);
      if (rule.table == this.rule(k).table) items += this.spans(rule) ? u32(rule.length > 1 && rule.reaches(s, 1)) : rule.makesLast(s.nextStep());
    }
    return items;
  }

  /** Whether a rule makes an item that ends with a lane's next step, which is not a final one. */
  @inline
  makes(rule: Rule, s: Stream): bool {
    return this.spans(rule) ? rule.reaches(s, 1) : rule.makes(s.nextStep());
  }

  /** Whether the items of a rule may span episodes: transitions never do. */
  @inline
  spans(rule: Rule): bool {
    return this.across != 0 && !rule.tails();
  }

  /** Whether some rule makes an item of each step. */
  tails(): bool {
    for (let k: u32 = 0; k < this.rules; k++) if (this.rule(k).tails()) return true;
    return false;
  }

  /** Whether all items that closing makes of an episode of so many steps may come in, or wait. */
  closes(steps: u32): bool {
    for (let k: u32 = 0; k < this.rules; k++) {
      let items: u32 = 0;
      for (let j: u32 = 0; j <= k; j++) {
        const rule = this.rule(j);
        if (rule.table == this.rule(k).table && rule.tails()) items += min(rule.length - 1, steps) - 1;
      }
      if (items != 0 && canTake(this.rule(k).to(), items, 1) != 0) return false;
    }
    return true;
  }

  /** Before an episode ends, with a final step or without: notes one of which the rules have made nothing. */
  noteEnd(s: Stream, last: bool): void {
    // Steps of a writer that is across stay for items to come.
    if (!s.isOpen() || (this.across != 0 && !this.tails())) return;
    const steps = s.episodeStep;
    for (let k: u32 = 0; k < this.rules; k++) if (this.rule(k).length <= steps || (last && this.rule(k).makesLast(steps) != 0)) return;
    this.barren += 1;
  }

  /** Whether the reward of a step, whose leaves stand at `staged`, is one that rules can sum. */
  @inline
  takesReward(value: usize, pool: Pool): bool {
    return Number.isFinite(readNumber(value, pool.leaf(this.reward - 1).dtype));
  }
}
if (offsetof<Writer>() != RULES_AT) ERROR("WRITER: the rules follow at byte 32");

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

/** `keep`: steps that each lane holds. May be more than there is memory. */
export function writer_bytes(lanes: u32, rules: u32, keep: u32): f64 {
  return <f64>(<u32>RULES_AT + rules * RULE_BYTES) + <f64>lanes * <f64>stream_bytes(keep);
}

/** `across`, `awaits`, `reward`: as in WRITER. Rules are set one by one. */
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
  for (let lane: u32 = 0; lane < lanes; lane++) stream_init(changetype<usize>(w.stream(lane)), pool, keep, keep);
}

/** The stream of a lane. */
export function writer_stream(writer: usize, lane: u32): u32 {
  return <u32>changetype<usize>(changetype<Writer>(writer).stream(lane));
}

/** `flags`: as in RULE. 0, E_PRIORITY for a priority that the table does not take, or OUT_OF_MEMORY where its slots find no room for a column layout. */
export function writer_rule(writer: usize, k: u32, table: u32, length: u32, stride: u32, layout: u32, priority: f64, flags: u32): i32 {
  const rule = changetype<Writer>(writer).rule(k);
  rule.table = table;
  rule.length = length;
  rule.stride = stride;
  rule.layout = layout;
  rule.priority = priority;
  rule.flags = flags;
  if (!rule.to().takes(priority)) return fail(E_PRIORITY, 6, priority);
  return layout == 0 || rule.to().slots().reserveLayouts() ? 0 : E_OUT_OF_MEMORY;
}

/** Episodes that ended before a rule made an item of them. */
export function writer_barren(writer: usize): u32 {
  return changetype<Writer>(writer).barren;
}

/** O(length + log n): an item of a stream's last `length` steps. 1 it is in, 0 it waits for the limiter, or what is refused. */
export function table_insert(table: usize, stream: usize, length: u32, layout: u32, priority: f64): i32 {
  return table_insert_earlier(table, stream, length, 0, layout, priority);
}

/** The same of the `length` steps that end so many before the newest. */
export function table_insert_earlier(table: usize, stream: usize, length: u32, behind: u32, layout: u32, priority: f64): i32 {
  const s = changetype<Stream>(stream);
  const first = length == 0 ? 0 : s.firstOf(length + behind);
  if (first == 0) return fail(E_LENGTH, 3, <f64>length);
  if (s.rows().isFinal(first)) return fail(E_FINAL, 3, <f64>length);
  const t = changetype<Table>(table);
  if (!t.takes(priority)) return fail(E_PRIORITY, 5, priority);
  if (layout != 0 && !t.slots().reserveLayouts()) return E_OUT_OF_MEMORY;
  return makeItem(Head.of(first).episode, t, first, length, layout, priority);
}

/** O(row + items): appends the step of a staging record, and the items that the rules make of it. Items that wait, or what is refused, and then nothing changed. */
export function writer_append(writer: usize, staged: usize): i32 {
  const w = changetype<Writer>(writer);
  const s = w.stream(0);
  const rules = w.rules;
  const step = s.nextStep();
  const across = w.across != 0;
  const isFirst = s.awaits != ONE_MORE;
  // Nested, since V8 keeps the value of each && as a number.
  if (isFirst) {
    if (s.awaits == LINK_ENDS) return fillWith(w, s, staged);
    if (s.awaits == LINK_FINAL) return finishWith(w, s, staged, LINK_FINAL);
  }
  if (w.reward != 0) {
    const value = staged + <usize>s.rows().leaf(w.reward - 1).staged;
    if (!w.takesReward(value, s.rows())) return fail(E_REWARD, 0, readNumber(value, s.rows().leaf(w.reward - 1).dtype));
  }
  for (let k: u32 = 0; k < rules; k++) {
    const rule = w.rule(k);
    // An item of the episode that came last, and of no other, needs nothing that could be refused.
    if (rule.to().evictsInPlace == 0 || isFirst || across || !rule.to().episodes().joins(s.episode)) {
      const code = w.makes(rule, s) ? canTake(rule.to(), w.making(k, s), rule.length) : 0;
      if (code != 0) return code;
    }
  }
  if (s.append(staged) == 0) return E_OUT_OF_MEMORY;
  let waiting: u32 = 0;
  for (let k: u32 = 0; k < rules; k++) {
    const rule = w.rule(k);
    if (across && w.spans(rule) ? !rule.reaches(s, 0) : !rule.makes(step)) continue;
    const priority = rule.dues == 0 ? rule.gives() : Dues.take(w, s, rule, step + 1 - rule.length);
    if (makeItem(s.episode, rule.to(), s.firstOf(rule.length), rule.length, rule.layout, priority) == 0) waiting += 1;
  }
  return waiting;
}

/** The value of the final step of an episode that terminated. */
function fillWith(w: Writer, s: Stream, staged: usize): i32 {
  if (!reserveFrames(s.rows(), 1)) return E_OUT_OF_MEMORY;
  s.fill(staged, 0, 0, w.across);
  return 0;
}

/**
 * O(row + items): ends a lane's episode with its final step, which a staging record has; `how`: LINK_FINAL, or LINK_ENDS where it terminated.
 * Items that wait, or what is refused, and then nothing changed.
 */
export function writer_finish(writer: usize, lane: u32, staged: usize, how: u32): i32 {
  const w = changetype<Writer>(writer);
  const s = w.stream(lane);
  return s.awaits == ONE_MORE ? finishWith(w, s, staged, how) : fail(E_NO_EPISODE, lane, <f64>(s.awaits >= LINK_FINAL));
}

function finishWith(w: Writer, s: Stream, staged: usize, how: u32): i32 {
  for (let k: u32 = 0; k < w.rules; k++) {
    const code = canTake(w.rule(k).to(), w.makingLast(k, s), w.spans(w.rule(k)) ? w.rule(k).length : 1);
    if (code != 0) return code;
  }
  if (s.append(staged) == 0) return E_OUT_OF_MEMORY;
  return finishLane(w, s, how);
}

/** Ends a lane's episode with the newest step, and lets the steps at hand go, unless they live on. */
export function writer_end(writer: usize, lane: u32): void {
  const w = changetype<Writer>(writer);
  endLane(w, w.stream(lane));
}

/**
 * Lets the steps at hand go. An open episode ends. With rules of transitions its newest step is taken for the final one, truncated, and makes the items that end there, if the
 * limiters let all of them in.
 */
export function writer_close(writer: usize): void {
  const w = changetype<Writer>(writer);
  for (let lane: u32 = 0; lane < w.lanes; lane++) {
    const s = w.stream(lane);
    if (s.isOpen() && s.last != 0 && w.tails()) {
      const closes = w.closes(s.episodeStep);
      for (let k: u32 = 0; closes && k < w.rules; k++) if (w.rule(k).tails()) makeTails(w, s, w.rule(k), min(w.rule(k).length - 1, s.episodeStep));
      s.finish(LINK_FINAL, 0);
    }
    stream_end(changetype<usize>(s), 0);
  }
  Dues.close(w);
}

export function endLane(w: Writer, s: Stream): void {
  w.noteEnd(s, false);
  stream_end(changetype<usize>(s), w.across);
  Dues.clear(w, s);
}

/** The newest step is the final one of its episode: the items that end with it. Items that wait. */
export function finishLane(w: Writer, s: Stream, how: u32): u32 {
  let waiting: u32 = 0;
  for (let k: u32 = 0; k < w.rules; k++) waiting += makeLast(w, s, w.rule(k), w.rule(k).gives());
  w.noteEnd(s, true);
  s.finish(how, w.across);
  Dues.clear(w, s);
  return waiting;
}

/** The items of a rule that end with the final step of an episode, the newest; `priority` of one that is no transition. Items that wait. */
export function makeLast(w: Writer, s: Stream, rule: Rule, priority: f64): u32 {
  const step = s.episodeStep;
  if (rule.tails()) return makeTails(w, s, rule, min(rule.length, step));
  if (w.spans(rule) ? rule.length == 1 || !rule.reaches(s, 0) : rule.makesLast(step) == 0) return 0;
  return u32(makeItem(s.episode, rule.to(), s.firstOf(rule.length), rule.length, rule.layout, priority) == 0);
}

/** Transitions of the last `length` steps, and of fewer, down to 2. Items that wait. */
function makeTails(w: Writer, s: Stream, rule: Rule, length: u32): u32 {
  let waiting: u32 = 0;
  for (; length > 1; length--) {
    const priority = Dues.take(w, s, rule, s.episodeStep + 1 - length);
    waiting += u32(makeItem(s.episode, rule.to(), s.firstOf(length), length, rule.layout, priority) == 0);
  }
  return waiting;
}

/** An item of a run at hand, which begins in `episode`: in the place of an old one where that can be, else inserted. */
export function makeItem(episode: u32, t: Table, first: u32, length: u32, layout: u32, priority: f64): i32 {
  const run = Run.retain(t.rows(), first, length);
  if ((run & SINGLE) != 0) {
    if (EvictInPlace.fits(t, episode)) {
      EvictInPlace.one(t, episode, first, length, run, layout, priority);
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
