/** Walks the steps that a block brings to one lane, one by one, before any step is stored, to count the items that the rules will make of these steps. */
import { LINK_ENDS, LINK_FINAL } from "../rows/row";
import { DROPPED, Stream } from "../rows/stream";
import { ENDS, endOf, TERMINATES } from "./ends";
import { Rule } from "./rule";
import { Writer } from "./writer";

/**
 * WALK, 24 bytes: │ at u32 │ adds u32 │ fills u32 │ last u32 │ ended u32 │ … u32 │
 *   at: the next row · adds: a final step comes before that row · fills: the row is not stored, but holds the value of the final step, or is dropped · last: the row is the final step
 *   ended: the last step ended its episode
 */
@unmanaged
class Walk {
  at: u32;
  adds: u32;
  fills: u32;
  last: u32;
  ended: u32;
  unused: u32;

  static begin(at: usize, s: Stream, lane: u32): Walk {
    const walk = changetype<Walk>(at);
    walk.at = lane;
    walk.adds = 0;
    walk.fills = u32(s.awaits == LINK_ENDS || s.awaits == DROPPED);
    walk.last = u32(s.awaits == LINK_FINAL);
    return walk;
  }

  /** Moves to the next step. Returns 1 if the step is a final one, 0 if it is not, and -1 if no step is left. */
  next(w: Writer, rows: u32, ends: usize): i32 {
    this.ended = 1;
    if (this.adds != 0) {
      this.adds = 0;
      return 1;
    }
    if (this.fills != 0) this.at += w.lanes;
    this.fills = 0;
    if (this.at >= rows) return -1;
    const how = endOf(ends, this.at);
    const isLast = this.last;
    this.at += w.lanes;
    this.last = u32(how > ENDS && w.awaits != 0 && how != TERMINATES);
    this.fills = u32(how == TERMINATES && w.awaits != 0);
    this.adds = u32(how > ENDS && this.last == 0);
    this.ended = u32(how == ENDS) | isLast;
    return isLast;
  }
}
const WALK_BYTES: usize = 24;
if (offsetof<Walk>() != WALK_BYTES) ERROR("WALK is 24 bytes");
const WALKS_AT: usize = memory.data(48, 8);

/** Counts the items that the rules up to the k-th make of a block for the table of the k-th rule. */
export function itemsOf(w: Writer, k: u32, rows: u32, ends: usize): u32 {
  let items: u32 = 0;
  for (let j: u32 = 0; j <= k; j++) {
    const rule = w.rule(j);
    for (let lane: u32 = 0; lane < w.lanes && rule.table == w.rule(k).table; lane++) {
      items += w.spans(rule) ? spanning(w, rule, lane, rows, ends) : within(w, rule, lane, rows, ends);
    }
  }
  return items;
}

/** Counts the items that a block adds to a lane, for a rule whose items do not span episodes. */
function within(w: Writer, rule: Rule, lane: u32, rows: u32, ends: usize): u32 {
  const s = w.stream(lane);
  const walk = Walk.begin(WALKS_AT, s, lane);
  let items: u32 = 0;
  let step = s.episodeStep;
  for (let last = walk.next(w, rows, ends); last >= 0; last = walk.next(w, rows, ends)) {
    step += 1;
    items += last != 0 ? rule.makesLast(step) : u32(rule.makes(step));
    if (walk.ended != 0) step = 0;
  }
  return items;
}

/** Counts the items that a block adds to a lane, for a rule whose items span episodes. A second walk finds the steps with which they begin. */
function spanning(w: Writer, rule: Rule, lane: u32, rows: u32, ends: usize): u32 {
  const s = w.stream(lane);
  const recent = s.recent();
  const walk = Walk.begin(WALKS_AT, s, lane);
  const starts = Walk.begin(WALKS_AT + WALK_BYTES, s, lane);
  const seen = s.before + s.episodeStep;
  let items: u32 = 0;
  let made: u32 = 0;
  for (let last = walk.next(w, rows, ends); last >= 0; last = walk.next(w, rows, ends)) {
    made += 1;
    let begins = false;
    if (made >= rule.length) begins = starts.next(w, rows, ends) == 0;
    else if (recent.count + made >= rule.length) begins = !s.rows().isFinal(recent.get(recent.count + made - rule.length));
    // A sequence that would begin with a final step begins with the next one.
    if (!begins && recent.count + made >= rule.length) begins = rule.isSequence() && rule.length > 2;
    items += u32(begins && (rule.stride == 1 || (seen + made - rule.length) % rule.stride == 0));
  }
  return items;
}
