/** Single steps: one at a time, from a staging record. */
import { E_OUT_OF_MEMORY, E_REWARD, fail } from "../memory/error";
import { readNumber } from "../rows/leaf";
import { reserveFrames } from "../rows/pool";
import { LINK_FINAL } from "../rows/row";
import { ONE_MORE, Stream } from "../rows/stream";
import { canStore, keepStored } from "../tables/stored-bytes";
import { Dues } from "./dues";
import { finishWith } from "./ends";
import { canTake, makeItem } from "./item";
import { Writer } from "./writer";

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
    if (s.awaits >= LINK_FINAL) return appendLast(w, s, staged);
  }
  if (w.reward != 0) {
    const value = staged + <usize>s.rows().leaf(w.reward - 1).staged;
    if (!w.takesReward(value, s.rows())) return fail(E_REWARD, 0, readNumber(value, s.rows().leaf(w.reward - 1).dtype));
  }
  const asks = isFirst || across;
  for (let k: u32 = 0; k < rules; k++) {
    const rule = w.rule(k);
    // An item of the episode that came last, and of no other, needs nothing that could be refused.
    if (asks || rule.to().evictsInPlace == 0 || !rule.to().episodes().joins(s.episode)) {
      const code = w.makes(rule, s) ? canTake(rule.to(), w.making(k, s), rule.length) : 0;
      if (code != 0) return code;
    }
  }
  const limited = s.rows().limit != 0;
  if (limited) {
    const stored = canStore(s.rows());
    if (stored != 0) return stored;
  }
  if (s.append(staged) == 0) return E_OUT_OF_MEMORY;
  let waiting: u32 = 0;
  for (let k: u32 = 0; k < rules; k++) {
    const rule = w.rule(k);
    if (across && w.spans(rule) ? !rule.reaches(s, 0) : !rule.makes(step)) continue;
    const priority = rule.dues == 0 ? rule.gives() : Dues.take(w, s, rule, step + 1 - rule.length);
    if (makeItem(s.episode, rule.to(), s.firstOf(rule.length), rule.length, rule.layout, priority) == 0) waiting += 1;
  }
  if (limited) keepStored(s.rows());
  return waiting;
}

/** The final step of an episode; where that terminated the step is there, and this is its value. */
function appendLast(w: Writer, s: Stream, staged: usize): i32 {
  if (s.awaits == LINK_FINAL) return finishWith(w, s, staged, LINK_FINAL);
  if (!reserveFrames(s.rows(), 1)) return E_OUT_OF_MEMORY;
  s.fill(staged, 0, 0, w.across);
  return 0;
}
