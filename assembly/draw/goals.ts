/**
 * Draws hindsight goals (Andrychowicz et al., 2017): transitions of a draw get a goal that was achieved later in their episode, with returns from the rewards
 * of that goal.
 *
 * A goal is the value of a leaf at a step of the transition's episode. The step must be held by a live item of the table, or by an item that this draw removed.
 * Removed items hold their rows until the draw is closed. The final step of an episode that terminated may be zeros if its observation was omitted or has not
 * arrived. A goal is never taken from such a step, and a transition that reaches it keeps its own goal.
 */
import { copyBytes } from "../memory/bytes";
import { Prefetch } from "../memory/prefetch";
import { random_below } from "../memory/random";
import { WIDE } from "../rows/leaf";
import { Pool } from "../rows/pool";
import { Head, LINK_ENDS } from "../rows/row";
import { HeldEpisode, HeldSteps, Node } from "../tables/held-steps";
import { Table } from "../tables/table";
import { DISCOUNT, Draw, draw_bytes, draw_init, GOAL, GOAL_PLACE, PIECE, RELABELLED, RETURN, STEPS, TERMINATED, TRUNCATED } from "./draw";
import { gather } from "./gather";
import { NONE, Returns } from "./n-step";
import { Output } from "./output";

/** The strategies: the goal is taken from any later step of the episode (0), from its last step (1), or from any step but the first (2). */
const FUTURE: u32 = 0;
const FINAL: u32 = 1;

/**
 * Chooses `ask` of the entries at random, or all entries that can get a goal if there are fewer, and a goal for each. Fills RELABELLED and GOAL. Each entry
 * that can get a goal uses one random number for the choice, unless the choice is already determined. Each chosen entry uses another one for its goal, unless
 * the strategy is FINAL.
 * O(count × log steps)
 */
export function draw_goals(draw: usize, table: usize, ask: u32, strategy: u32): void {
  const d = changetype<Draw>(draw);
  const t = changetype<Table>(table);
  const p = t.rows();
  const held = changetype<HeldSteps>(<usize>t.slots().heldSteps);
  const random = t.random();
  const relabelled = d.column(RELABELLED);
  const goals = d.column(GOAL);
  const nodes = d.column(GOAL_PLACE);
  prefetchEpisodes(d, p, held, nodes);
  let left = able(d, p);
  ask = min(ask, left);
  for (let i: u32 = 0; i < d.count; i++) {
    const isAble = load<u8>(relabelled + <usize>i) != 0;
    // This is selection sampling (Knuth, volume 2, algorithm 3.4.2S).
    const chosen = isAble && ask != 0 && (ask == left || random_below(random, left) < ask);
    left -= u32(isAble);
    store<u8>(relabelled + <usize>i, u8(chosen));
    let row: u32 = 0;
    if (chosen) {
      ask -= 1;
      const node = Node.of(load<u32>(nodes + ((<usize>i) << 2)));
      const episode = HeldEpisode.of(node.episode);
      const last = episode.size() - 1 - u32(isUnknown(p, episode.lastRow()));
      let place = last;
      if (strategy != FINAL) {
        // The step after the first one of a transition can be its goal.
        const first = strategy == FUTURE ? episode.place(node) + 1 : 1;
        if (!ASC_NO_ASSERT) assert(first <= last, "a transition has a later step");
        place = first + random_below(random, last + 1 - first);
      }
      row = episode.rowAt(p, place, node);
    }
    store<u32>(goals + ((<usize>i) << 2), row);
  }
}

/** Marks in RELABELLED the entries that can get another goal because the goals achieved at their ends are known. Returns the number of marked entries. */
function able(d: Draw, p: Pool): u32 {
  const relabelled = d.column(RELABELLED);
  const terminals = d.column(TERMINATED);
  let count: u32 = 0;
  for (let i: u32 = 0; i < d.count; i++) {
    const row = <usize>d.rows + ((<usize>(i * d.width + load<u32>(d.u32At(STEPS, i)))) << 2);
    const isAble = u8(load<u8>(terminals + <usize>i) == 0 || !isUnknown(p, load<u32>(row)));
    store<u8>(relabelled + <usize>i, isAble);
    count += isAble;
  }
  return count;
}

/** Whether a row is the final step of a terminated episode and has zeros in every leaf. */
function isUnknown(p: Pool, row: u32): bool {
  if ((Head.of(row).next & LINK_ENDS) != LINK_ENDS) return false;
  if (!isZeros(p.bytes(row), p.rowBytes)) return false;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == WIDE && !isZeros(p.value(row, leaf), leaf.bytes)) return false;
  }
  return true;
}

function isZeros(at: usize, bytes: u32): bool {
  for (const end = at + <usize>bytes; at < end; at++) if (load<u8>(at) != 0) return false;
  return true;
}

/** Writes the address of the node of each entry's first step, and reads the nodes and their episodes, so that the cache misses of all entries overlap. */
function prefetchEpisodes(d: Draw, p: Pool, held: HeldSteps, nodes: usize): void {
  const end = nodes + ((<usize>d.count) << 2);
  const width = (<usize>d.width) << 2;
  let row = <usize>d.rows;
  for (let at = nodes; at < end; at += 4, row += width) store<u32>(at, held.node(p, load<u32>(row)).at);
  let sum: u32 = 0;
  for (let at = nodes; at < end; at += 4) sum ^= Node.of(load<u32>(at)).items;
  for (let at = nodes; at < end; at += 4) {
    const episode = HeldEpisode.of(Node.of(load<u32>(at)).episode);
    sum ^= Head.of(episode.lastRow()).next;
  }
  Prefetch.keep(sum);
}

/** Returns the scratch bytes that `draw_goal_values` needs: an OUTPUT, its list, and a draw of single rows, piece by piece. */
export function draw_goal_bytes(): u32 {
  return PIECE_AT + draw_bytes(PIECE) + 12 * PIECE;
}

const LIST_AT: usize = 24;
const PIECE_AT: u32 = 32;

/**
 * Gathers a leaf to `to`, for each step of the return of each entry that has another goal, entry by entry. `which`: 0 the goal, 1 the goal achieved with the
 * step, 2 the goal once per entry. `room`: `draw_goal_bytes` of scratch. For goals, also writes their places to GOAL_PLACE. Returns the number of values.
 * O(bytes)
 */
export function draw_goal_values(draw: usize, pool: usize, leaf: u32, which: u32, room: usize, to: usize): u32 {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const output = changetype<Output>(room);
  output.leaf = leaf;
  output.steps = <u32>(room + LIST_AT);
  output.count = 1;
  output.each = 0;
  output.to = <u32>to;
  store<i32>(room + LIST_AT, 0);
  const piece = room + <usize>PIECE_AT;
  const rows = changetype<Draw>(piece);
  draw_init(piece, PIECE, PIECE);
  rows.single = 1;
  rows.width = 1;
  const bytes = p.leaf(leaf).valueBytes() << p.leaf(leaf).half();
  let count: u32 = 0;
  for (let i: u32 = 0; i < d.count; i++) {
    if (load<u8>(d.column(RELABELLED) + <usize>i) == 0) continue;
    const window = <usize>d.rows + ((<usize>(i * d.width)) << 2);
    const steps: u32 = which == ONCE ? 1 : load<u32>(d.u32At(STEPS, i));
    if (which != ACHIEVED) store<u32>(d.u32At(GOAL_PLACE, i), count);
    for (let k: u32 = 1; k <= steps; k++) {
      const row = which == ACHIEVED ? load<u32>(window + ((<usize>k) << 2)) : load<u32>(d.u32At(GOAL, i));
      store<u32>(<usize>rows.rows + ((<usize>rows.count) << 2), row);
      rows.count += 1;
      count += 1;
      if (rows.count == PIECE) flush(rows, pool, output, bytes);
    }
  }
  flush(rows, pool, output, bytes);
  return count;
}

/** The values of `which` in `draw_goal_values`, except 0. */
const ACHIEVED: u32 = 1;
const ONCE: u32 = 2;

function flush(rows: Draw, pool: usize, output: Output, bytes: u32): void {
  if (rows.count != 0) gather(changetype<usize>(rows), pool, changetype<usize>(output), 1);
  output.to += rows.count * bytes;
  rows.count = 0;
}

/** Copies the goals at `goals` into a column with `bytes` bytes per entry, for entries that have another goal. O(bytes) */
export function draw_put_goals(draw: usize, goals: usize, bytes: u32, to: usize): void {
  const d = changetype<Draw>(draw);
  for (let i: u32 = 0; i < d.count; i++, to += bytes) {
    if (load<u8>(d.column(RELABELLED) + <usize>i) == 0) continue;
    copyBytes(to, goals + <usize>(load<u32>(d.u32At(GOAL_PLACE, i)) * bytes), bytes);
  }
}

/**
 * Computes the returns of entries that have another goal, from `rewards` (f64 × components each, which the sums overwrite) in the order of `draw_goal_values`.
 * `returns`: the address for returns of several components, as in `draw_vector_returns`, or 0 for RETURN. `terminals` (u8 each, or 0): whether the episode
 * would have terminated with the step, which replaces the stored flag and ends a return. `narrow` 1: RETURN and DISCOUNT are already f32. Returns how many
 * returns became shorter. O(steps)
 */
export function draw_goal_returns(
  draw: usize,
  pool: usize,
  components: u32,
  discount: u32,
  gamma: f64,
  rewards: usize,
  terminals: usize,
  narrow: u32,
  returns: usize,
): u32 {
  const d = changetype<Draw>(draw);
  const p = changetype<Pool>(pool);
  const bytes = (<usize>components) << 3;
  let shorter: u32 = 0;
  for (let i: u32 = 0; i < d.count; i++) {
    if (load<u8>(d.column(RELABELLED) + <usize>i) == 0) continue;
    const window = <usize>d.rows + ((<usize>(i * d.width)) << 2);
    const steps = load<u32>(d.u32At(STEPS, i));
    let factor: f64 = 1;
    let terminated: u8 = 0;
    let k: u32 = 0;
    // The sums replace the rewards of the first step.
    const end = rewards + bytes;
    while (k < steps && terminated == 0) {
      const add = <usize>k * bytes;
      for (let at = rewards; at < end; at += 8) store<f64>(at, (k == 0 ? 0 : load<f64>(at)) + factor * load<f64>(at + add));
      let alive: f64 = discount == NONE ? 1 : Returns.number(p, p.bytes(load<u32>(window + ((<usize>k) << 2))), discount);
      if (terminals != 0) {
        terminated = load<u8>(terminals + <usize>k);
        // A stored discount of 0 marks the end for the stored goal, which another goal replaces.
        if (alive == 0) alive = 1;
      }
      factor *= gamma * alive;
      k += 1;
    }
    if (returns == 0) put(d, RETURN, i, load<f64>(rewards), narrow);
    else for (let c: u32 = 0; c < components; c++) putAt(returns, i * components + c, load<f64>(rewards + ((<usize>c) << 3)), narrow);
    rewards += <usize>steps * bytes;
    if (terminals == 0) continue;
    terminals += <usize>steps;
    put(d, DISCOUNT, i, terminated != 0 ? 0 : factor, narrow);
    const flags = d.column(TERMINATED) + <usize>i;
    const cuts = d.column(TRUNCATED) + <usize>i;
    const ended = load<u8>(flags) | load<u8>(cuts);
    store<u8>(flags, terminated);
    store<u8>(cuts, ended & (terminated ^ 1));
    store<u32>(d.u32At(STEPS, i), k);
    shorter += u32(k < steps);
  }
  return shorter;
}

function put(d: Draw, column: u32, i: u32, value: f64, narrow: u32): void {
  putAt(d.column(column), i, value, narrow);
}

/** Writes the i-th number of an array of f64 or f32. */
function putAt(array: usize, i: u32, value: f64, narrow: u32): void {
  if (narrow != 0) store<f32>(array + ((<usize>i) << 2), <f32>value);
  else store<f64>(array + ((<usize>i) << 3), value);
}
