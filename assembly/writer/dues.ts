/**
 * Stores the priorities that were set with the first step of a transition until the transition is created.
 *
 * DUES of a rule, allocated for its first such priority: f64 × n × lanes; n is the number of steps of its transitions. Step number k of a lane's open episode
 * has index (k - 1) mod n; -1 means the rule's own priority. A transition of n steps is created when the step after its last one arrives, and that step takes
 * its index. Shorter transitions are created at the end of the episode.
 */
import { arena_alloc, arena_free } from "../memory/arena";
import { E_CORRUPT, E_OUT_OF_MEMORY, fail } from "../memory/error";
import { MAX_BYTES } from "../memory/layout";
import { Stream } from "../rows/stream";
import { Rule } from "./rule";
import { Writer } from "./writer";

/** The number that denotes the rule's own priority. */
export const OWN: f64 = -1;

export class Dues {
  /** Makes room for the due priorities of a rule; false if there is no memory. */
  static open(w: Writer, rule: Rule): bool {
    if (rule.dues != 0) return true;
    const bytes = <f64>countOf(w, rule) * 8;
    rule.dues = bytes > <f64>MAX_BYTES ? 0 : arena_alloc(<u32>bytes);
    for (let i: u32 = 0; rule.dues != 0 && i < countOf(w, rule); i++) store<f64>(placeOf(rule, i), OWN);
    return rule.dues != 0;
  }

  /** Frees the memory of the due priorities of all rules. */
  static close(w: Writer): void {
    for (let k: u32 = 0; k < w.rules; k++) {
      const rule = w.rule(k);
      if (rule.dues != 0) arena_free(rule.dues, countOf(w, rule) << 3);
      rule.dues = 0;
    }
  }

  /**
   * Takes the priority of the transition that begins with step number `step` of the open episode and ends with the newest step. The priority is then no longer
   * due.
   */
  static take(w: Writer, s: Stream, rule: Rule, step: u32): f64 {
    const length = s.episodeStep + 1 - step;
    if (rule.dues == 0) return rule.gives(s, length);
    const at = dueAt(w, s, rule, step);
    const priority = load<f64>(at);
    store<f64>(at, OWN);
    return priority < 0 ? rule.gives(s, length) : priority;
  }

  /** Notes the priority that came with step number `step` of the open episode. */
  static put(w: Writer, s: Stream, rule: Rule, step: u32, priority: f64): void {
    store<f64>(dueAt(w, s, rule, step), Math.abs(priority));
  }

  /** Clears all due priorities of a lane. */
  static clear(w: Writer, s: Stream): void {
    for (let k: u32 = 0; k < w.rules; k++) {
      const rule = w.rule(k);
      for (let step: u32 = 1; rule.dues != 0 && step < rule.length; step++) store<f64>(dueAt(w, s, rule, step), OWN);
    }
  }
}

/** Returns the maximum number of priorities due to a rule, in all lanes. */
function countOf(w: Writer, rule: Rule): u32 {
  return rule.tails() ? w.lanes * (rule.length - 1) : 0;
}

function placeOf(rule: Rule, i: u32): usize {
  return <usize>rule.dues + ((<usize>i) << 3);
}

function dueAt(w: Writer, s: Stream, rule: Rule, step: u32): usize {
  const n = rule.length - 1;
  const lane = (<u32>changetype<usize>(s) - w.streamsAt) / w.streamBytes;
  return placeOf(rule, lane * n + ((step - 1) % n));
}

/** Returns how many numbers `writer_number` has for state outside streams and options; 0 if all numbers are as in a new writer. */
export function writer_numbers(writer: usize): u32 {
  const w = changetype<Writer>(writer);
  let numbers = w.lanes;
  let some = false;
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    some = some || (w.across != 0 && !rule.tails() && (rule.stride > 1 || rule.isSequence()));
    for (let i: u32 = 0; rule.dues != 0 && !some && i < countOf(w, rule); i++) some = load<f64>(placeOf(rule, i)) >= 0;
    numbers += countOf(w, rule);
  }
  return some ? numbers : 0;
}

/** Returns the i-th number of a writer's extra state: for each lane the steps of its earlier episodes, then the due priorities of each rule. */
export function writer_number(writer: usize, i: u32): f64 {
  const w = changetype<Writer>(writer);
  if (i < w.lanes) return <f64>w.stream(i).before;
  i -= w.lanes;
  let k: u32 = 0;
  for (; i >= countOf(w, w.rule(k)); k++) i -= countOf(w, w.rule(k));
  return w.rule(k).dues == 0 ? OWN : load<f64>(placeOf(w.rule(k), i));
}

/** Restores the i-th number of the extra state in a new writer. Returns 0, CORRUPT, or OUT_OF_MEMORY. */
export function writer_set_number(writer: usize, i: u32, value: f64): i32 {
  const w = changetype<Writer>(writer);
  if (i < w.lanes) {
    if (<f64>(<u32>value) != value) return fail(E_CORRUPT, 1, value);
    w.stream(i).before = <u32>value;
    return 0;
  }
  i -= w.lanes;
  let k: u32 = 0;
  for (; k < w.rules && i >= countOf(w, w.rule(k)); k++) i -= countOf(w, w.rule(k));
  if (k == w.rules) return fail(E_CORRUPT, 1, i);
  const rule = w.rule(k);
  if (value == OWN) return 0;
  if (!rule.to().takes(value)) return fail(E_CORRUPT, 1, value);
  if (!Dues.open(w, rule)) return E_OUT_OF_MEMORY;
  store<f64>(placeOf(rule, i), Math.abs(value));
  return 0;
}
