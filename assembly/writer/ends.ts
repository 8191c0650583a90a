/** Ends episodes: makes the items that end with them, and releases the recent steps. */
import { E_NO_EPISODE, E_OUT_OF_MEMORY, fail } from "../memory/error";
import { countLanes } from "../rows/packed-frame";
import { LINK_FINAL } from "../rows/row";
import { ONE_MORE, Stream, stream_end } from "../rows/stream";
import { canStore, keepStored } from "../tables/stored-bytes";
import { Dues, OWN } from "./dues";
import { canTake, makeItem } from "./item";
import { Rule } from "./rule";
import { Sequences } from "./sequence";
import { Writer } from "./writer";

/** The episode continues after a row of a block. */
export const GOES_ON: u8 = 0;
/** The episode ends with a row of a block, without a final step. */
export const ENDS: u8 = 1;
/** The episode is truncated after a row of a block, and a final step follows. */
export const TRUNCATES: u8 = 2;
/** The episode terminates after a row of a block, and a final step follows. */
export const TERMINATES: u8 = 3;

/** Returns how the episode of a row's lane ends with row r. */
export function endOf(ends: usize, r: u32): u8 {
  return ends == 0 ? GOES_ON : load<u8>(ends + <usize>r);
}

/**
 * Ends a lane's episode with its final step in a staging record; `how`: LINK_FINAL, or LINK_ENDS if the episode terminated. Returns the number of waiting
 * items, or a code if nothing changed. O(row + items)
 */
export function writer_finish(writer: usize, lane: u32, staged: usize, how: u32): i32 {
  const w = changetype<Writer>(writer);
  const s = w.stream(lane);
  return s.awaits == ONE_MORE ? finishWith(w, s, staged, how) : fail(E_NO_EPISODE, lane, <f64>s.awaitsFinal());
}

export function finishWith(w: Writer, s: Stream, staged: usize, how: u32): i32 {
  for (let k: u32 = 0; k < w.rules; k++) {
    const code = canTake(w.rule(k).to(), w.makingLast(k, s), w.spans(w.rule(k)) ? w.rule(k).length : 1);
    if (code != 0) return code;
  }
  const stored = canStore(s.rows());
  if (stored != 0) return stored;
  if (s.append(staged) == 0) return E_OUT_OF_MEMORY;
  const waiting = finishLane(w, s, how);
  keepStored(s.rows());
  return waiting;
}

/** Ends a lane's episode with the newest step, and releases the recent steps, unless they outlive the episode. */
export function writer_end(writer: usize, lane: u32): void {
  const w = changetype<Writer>(writer);
  endLane(w, w.stream(lane));
}

/**
 * Ends open episodes, and releases the recent steps and due priorities. With rules of transitions or sequences, the newest step becomes the final one,
 * truncated. The items that end there are made if all items of the lane can be inserted or wait.
 */
export function writer_close(writer: usize): void {
  const w = changetype<Writer>(writer);
  for (let lane: u32 = 0; lane < w.lanes; lane++) {
    const s = w.stream(lane);
    if (s.last != 0 && w.covers()) {
      const whole = closes(w, s);
      for (let k: u32 = 0; whole && k < w.rules; k++) makeClosing(w, s, w.rule(k));
      if (s.isOpen()) s.finish(LINK_FINAL, 0);
    }
    stream_end(changetype<usize>(s), 0);
  }
  countLanes(w.stream(0).rows(), 0 - w.lanes);
  Dues.close(w);
}

/** Whether all items that closing makes from a lane can be inserted or wait. */
function closes(w: Writer, s: Stream): bool {
  for (let k: u32 = 0; k < w.rules; k++) {
    let items: u32 = 0;
    let episodes: u32 = 1;
    for (let j: u32 = 0; j <= k; j++) {
      const rule = w.rule(j);
      if (rule.table != w.rule(k).table) continue;
      if (rule.tails() && s.isOpen()) items += min(rule.length - 1, s.episodeStep) - 1;
      if (!rule.isSequence()) continue;
      const length = Sequences.closing(w, s, rule);
      items += u32(length != 0);
      if (w.spans(rule)) episodes += length;
    }
    if (items != 0 && canTake(w.rule(k).to(), items, episodes) != 0) return false;
  }
  return true;
}

/** Makes the items of a rule when a lane is closed. */
function makeClosing(w: Writer, s: Stream, rule: Rule): void {
  if (rule.tails() && s.isOpen()) makeTails(w, s, rule, min(rule.length - 1, s.episodeStep));
  const length = rule.isSequence() ? Sequences.closing(w, s, rule) : 0;
  if (length != 0) Sequences.make(w, s, rule, length, OWN);
}

export function endLane(w: Writer, s: Stream): void {
  w.noteEnd(s, false);
  stream_end(changetype<usize>(s), w.across);
  Dues.clear(w, s);
}

/** Makes the items that end with the newest step, the final one of its episode. Returns the number of waiting items. */
export function finishLane(w: Writer, s: Stream, how: u32): u32 {
  let waiting: u32 = 0;
  for (let k: u32 = 0; k < w.rules; k++) waiting += makeLast(w, s, w.rule(k), OWN);
  w.noteEnd(s, true);
  s.finish(how, w.across);
  Dues.clear(w, s);
  return waiting;
}

/**
 * Makes the items of a rule that end with the newest step, the final one of an episode. `priority`: of an item that is not a transition, or OWN. Returns the
 * number of waiting items.
 */
export function makeLast(w: Writer, s: Stream, rule: Rule, priority: f64): u32 {
  const step = s.episodeStep;
  if (rule.tails()) return makeTails(w, s, rule, min(rule.length, step));
  if (rule.isSequence()) return makeLastSequence(w, s, rule, priority);
  if (w.spans(rule) ? rule.length == 1 || !rule.reaches(s, 0) : rule.makesLast(step) == 0) return 0;
  if (priority < 0) priority = rule.gives(s, rule.length);
  return u32(makeItem(s, s.episode, rule.to(), s.firstOf(rule.length), rule.length, rule.layout, priority) == 0);
}

/**
 * Makes the sequence that ends with the final step of an episode; in a writer that is across, only if one of the lane's sequences ends there. Returns the
 * number of waiting items.
 */
function makeLastSequence(w: Writer, s: Stream, rule: Rule, priority: f64): u32 {
  if (w.spans(rule)) return rule.reaches(s, 0) ? Sequences.make(w, s, rule, rule.length, priority) : 0;
  return s.episodeStep < 2 ? 0 : Sequences.make(w, s, rule, rule.lastLength(s.episodeStep), priority);
}

/** Makes transitions of the last `length` steps, and of each smaller number of last steps down to 2. Returns the number of waiting items. */
function makeTails(w: Writer, s: Stream, rule: Rule, length: u32): u32 {
  let waiting: u32 = 0;
  for (; length > 1; length--) {
    const priority = Dues.take(w, s, rule, s.episodeStep + 1 - length);
    waiting += u32(makeItem(s, s.episode, rule.to(), s.firstOf(length), length, rule.layout, priority) == 0);
  }
  return waiting;
}
