/** Appends single steps from a staging record. */
import { E_OUT_OF_MEMORY } from "../memory/error";
import { reserveFrames } from "../rows/pool";
import { LINK_FINAL } from "../rows/row";
import { DROPPED, FIRST, Stream } from "../rows/stream";
import { canStore, keepStored } from "../tables/stored-bytes";
import { writer_append_block } from "./block";
import { Dues, OWN } from "./dues";
import { finishWith } from "./ends";
import { canTake, makeItem } from "./item";
import { Rule } from "./rule";
import { Sequences } from "./sequence";
import { Writer } from "./writer";

/**
 * Appends the step of a staging record, with one row per lane, and creates the items that the rules make from it. Returns the number of items that wait, or an
 * error code if nothing changed. O(row + items)
 */
export function writer_append(writer: usize, staged: usize): i32 {
  const w = changetype<Writer>(writer);
  const s = w.stream(0);
  // This function handles only the usual step, inside an episode. If it also handled the other cases, V8 would keep local variables in memory instead of
  // registers.
  if ((s.awaits | w.across | s.rows().limit | (w.lanes - 1)) != 0) return appendOther(w, s, staged);
  if (w.checks != 0) {
    const code = checkValues(w, s, staged);
    if (code != 0) return code;
  }
  const step = s.episodeStep + 1;
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    // If the table evicts in place, and the new item joins the episode of the table's previous item, creating the item cannot fail.
    if (rule.to().evictsInPlace == 0 || !rule.to().episodes().joins(s.episode)) {
      const code = rule.makes(step) ? canTake(rule.to(), w.making(k, s), rule.length) : 0;
      if (code != 0) return code;
    }
  }
  if (s.append(staged) == 0) return E_OUT_OF_MEMORY;
  let waiting: u32 = 0;
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    if (rule.makes(step)) waiting += makeItemOf(w, s, rule, step);
  }
  return waiting;
}

/**
 * Does the work of `writer_append` in all other cases: the step begins or ends an episode, the writer is `across` or has several lanes, or storage is limited.
 */
function appendOther(w: Writer, s: Stream, staged: usize): i32 {
  if (w.lanes > 1) return writer_append_block(changetype<usize>(w), staged, w.lanes, 0, 0);
  if (s.awaitsFinal()) return appendLast(w, s, staged);
  const refused = w.checks == 0 ? 0 : checkValues(w, s, staged);
  if (refused != 0) return refused;
  const step = s.nextStep();
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    const code = w.makes(rule, s) ? canTake(rule.to(), w.making(k, s), rule.length) : 0;
    if (code != 0) return code;
  }
  const limited = s.rows().limit != 0;
  if (limited) {
    const stored = canStore(s.rows());
    if (stored != 0) return stored;
  }
  if (appendRow(s, staged) == 0) return E_OUT_OF_MEMORY;
  let waiting: u32 = 0;
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    if (w.spans(rule) ? rule.reaches(s, 0) : rule.makes(step)) waiting += makeItemOf(w, s, rule, step);
  }
  if (limited) keepStored(s.rows());
  return waiting;
}

/** Checks whether the rules can use the values of a step. Returns 0, or an error code. */
function checkValues(w: Writer, s: Stream, staged: usize): i32 {
  const p = s.rows();
  const code = w.reward == 0 ? 0 : w.checkReward(p, staged + <usize>p.leaf(w.reward - 1).staged, 0);
  for (let k: u32 = 0; code == 0 && k < w.rules; k++) {
    const number = w.rule(k).leaf();
    const refused = number == 0 ? 0 : w.checkPriority(k, p, staged + <usize>p.leaf(number - 1).staged);
    if (refused != 0) return refused;
  }
  return code;
}

/** Wraps `append`, which is inlined, so that its code is compiled only once in this file. */
function appendRow(s: Stream, staged: usize): u32 {
  return s.append(staged);
}

/** Creates the item of a rule that ends with the newest step, which is the `step`-th step of its episode. Returns the number of items that wait. */
function makeItemOf(w: Writer, s: Stream, rule: Rule, step: u32): u32 {
  if (rule.isSequence()) return Sequences.make(w, s, rule, rule.length, OWN);
  const priority = rule.dues == 0 ? rule.gives(s, rule.length) : Dues.take(w, s, rule, step + 1 - rule.length);
  return u32(makeItem(s, s.episode, rule.to(), s.firstOf(rule.length), rule.length, rule.layout, priority) == 0);
}

/**
 * Appends the final step of an episode. If the episode terminated, the step already exists, and this call fills in its values. The final step of a discarded
 * episode is not stored.
 */
function appendLast(w: Writer, s: Stream, staged: usize): i32 {
  if (s.awaits == DROPPED) {
    s.awaits = FIRST;
    return 0;
  }
  if (s.awaits == LINK_FINAL) return finishWith(w, s, staged, LINK_FINAL);
  if (!reserveFrames(s.rows(), 1)) return E_OUT_OF_MEMORY;
  s.fill(staged, 0, 0, w.across);
  return 0;
}
