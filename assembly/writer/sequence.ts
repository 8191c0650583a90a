/** Makes items of sequence rules. An item's column layout contains its number of burn-in steps, and whether it begins an episode (tables/slots.ts). */
import { Head, LINK_ENDS } from "../rows/row";
import { Stream } from "../rows/stream";
import { sequenceLayout } from "../tables/slots";
import { makeItem } from "./item";
import { Rule } from "./rule";
import { Writer } from "./writer";

export class Sequences {
  /**
   * Makes an item of a lane's last `length` steps. `priority`: its priority, or OWN. The first item of an episode, or of the lane in a writer that is across,
   * has no burn-in. A sequence that would begin with a final step begins with the next step, and its burn-in is also a step shorter. Returns the number of
   * waiting items, 0 or 1.
   */
  static make(w: Writer, s: Stream, rule: Rule, length: u32, priority: f64): u32 {
    const burnIn = rule.layout;
    const first = s.firstOf(length);
    if (!w.spans(rule)) {
      const isFirst = s.episodeStep == length;
      return insert(s, rule, first, length, isFirst ? 0 : burnIn, isFirst, priority);
    }
    if (s.rows().isFinal(first)) return insert(s, rule, s.firstOf(length - 1), length - 1, max(burnIn, 1) - 1, true, priority);
    const before = s.firstOf(length + 1);
    if (before == 0) return insert(s, rule, first, length, 0, true, priority);
    return insert(s, rule, first, length, burnIn, (Head.of(before).next & LINK_ENDS) != 0, priority);
  }

  /** Returns the length of the item that closing the writer makes of the rest of a lane; 0 if it makes none. */
  static closing(w: Writer, s: Stream, rule: Rule): u32 {
    const spans = w.spans(rule);
    if (!spans && !s.isOpen()) return 0;
    const steps = s.episodeStep + (spans ? s.before : 0);
    // A whole sequence ends with the newest step, and exists already.
    if (steps >= rule.length && (steps - rule.length) % rule.stride == 0) return 0;
    const length = rule.lastLength(steps);
    const first = s.firstOf(length);
    return length < 2 || (length == 2 && s.rows().isFinal(first)) ? 0 : length;
  }
}

function insert(s: Stream, rule: Rule, first: u32, length: u32, burnIn: u32, isFirst: bool, priority: f64): u32 {
  if (priority < 0) priority = rule.gives(s, length);
  return u32(makeItem(s, s.episode, rule.to(), first, length, sequenceLayout(burnIn, isFirst), priority) == 0);
}
