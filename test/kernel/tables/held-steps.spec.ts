import { arena_check } from "../../../assembly/memory/arena";
import { Pool } from "../../../assembly/rows/pool";
import { Stream, stream_end } from "../../../assembly/rows/stream";
import { checkTree, HeldEpisode, HeldSteps, newHeldSteps } from "../../../assembly/tables/held-steps";
import { Dice } from "../support/dice";
import { arena_left, openArena } from "../support/memory";
import { append, newPool, newStream } from "../support/world";

const KEEP: u32 = 400;

function newHeld(): HeldSteps {
  const at = newHeldSteps();
  assert(at != 0, "there is room");
  return changetype<HeldSteps>(<usize>at);
}

function join(h: HeldSteps, p: Pool, first: u32, length: u32): void {
  assert(h.reserve(p, length), "there is room");
  h.join(p, first, length);
}

/** Returns whether every query finds these rows, in this order, in the episode of a row. */
function has(h: HeldSteps, p: Pool, rows: u32[]): bool {
  const episode = HeldEpisode.of(h.node(p, rows[0]).episode);
  if (episode.size() != <u32>rows.length || checkTree(episode.root, 0) != 0) return false;
  for (let i = 0; i < rows.length; i++) {
    const node = h.node(p, rows[i]);
    if (node.items == 0 || HeldEpisode.of(node.episode) != episode || episode.place(node) != <u32>i) return false;
    const near = h.node(p, rows[(i * 7) % rows.length]);
    if (episode.rowAt(p, i, near) != rows[i]) return false;
  }
  return true;
}

describe("held steps", () => {
  it("contain the steps of items, and release their memory", () => {
    openArena(1 << 20);
    const p = newPool();
    const s = newStream(p, KEEP);
    const rows: u32[] = [];
    for (let i = 0; i < 6; i++) rows.push(append(s, i));
    const left = arena_left();
    const h = newHeld();
    join(h, p, rows[0], 2);
    join(h, p, rows[1], 2);
    expect<bool>(has(h, p, rows.slice(0, 3))).toBe(true);
    h.leave(p, rows[0], 2);
    expect<bool>(has(h, p, rows.slice(1, 3))).toBe(true);
    expect<u32>(h.node(p, rows[0]).items).toBe(0);
    // Nothing holds the fourth step, which leaves a gap.
    join(h, p, rows[4], 2);
    expect<bool>(has(h, p, [rows[1], rows[2], rows[4], rows[5]])).toBe(true);
    join(h, p, rows[2], 4);
    expect<bool>(has(h, p, rows.slice(1, 6))).toBe(true);
    h.leave(p, rows[2], 4);
    h.leave(p, rows[4], 2);
    h.leave(p, rows[1], 2);
    expect<u32>(h.episodes().count).toBe(0);
    h.close();
    expect<f64>(arena_left()).toBe(left);
    expect<i32>(arena_check()).toBe(0);
  });

  it("separate the episodes that an item spans", () => {
    openArena(1 << 20);
    const p = newPool();
    const s = newStream(p, KEEP);
    const rows: u32[] = [];
    for (let i = 0; i < 6; i++) {
      rows.push(append(s, i));
      if (i == 2) stream_end(changetype<usize>(s), 1);
    }
    const h = newHeld();
    join(h, p, rows[1], 4);
    expect<bool>(has(h, p, [rows[1], rows[2]]) && has(h, p, [rows[3], rows[4]])).toBe(true);
    h.leave(p, rows[1], 4);
    expect<u32>(h.episodes().count).toBe(0);
  });

  it("match lists in lockstep: lanes, gaps, and steps that return", () => {
    for (let seed: u32 = 0; seed < 30; seed++) {
      openArena(8 << 20);
      const dice = new Dice(seed);
      const p = newPool(seed % 2 == 0 ? 16 : 9000);
      const lanes: u32 = 1 + (seed % 3);
      const streams: Stream[] = [];
      const rows: u32[][] = [];
      const counts: u32[][] = [];
      for (let lane: u32 = 0; lane < lanes; lane++) {
        streams.push(newStream(p, KEEP));
        rows.push([]);
        counts.push([]);
      }
      const h = newHeld();
      // The lane, first step and length of each item.
      const items: u32[][] = [];
      for (let i = 0; i < 250; i++) {
        const lane = dice.below(lanes);
        rows[lane].push(append(streams[lane], i));
        counts[lane].push(0);
        const steps = <u32>rows[lane].length;
        if (dice.below(4) != 0) {
          const length: u32 = 1 + dice.below(min<u32>(steps, 9));
          join(h, p, rows[lane][steps - length], length);
          for (let k = steps - length; k < steps; k++) counts[lane][k] += 1;
          items.push([lane, steps - length, length]);
        }
        while (items.length != 0 && dice.below(3) == 0) {
          // Usually the oldest item is removed, as in a fifo.
          const which: i32 = dice.below(3) != 0 ? 0 : <i32>dice.below(items.length);
          const item = items[which];
          items.splice(which, 1);
          h.leave(p, rows[item[0]][item[1]], item[2]);
          for (let k = item[1]; k < item[1] + item[2]; k++) counts[item[0]][k] -= 1;
        }
        const held: u32[] = [];
        for (let k: u32 = 0; k < steps; k++) if (counts[lane][k] != 0) held.push(rows[lane][k]);
        if (held.length != 0) expect<bool>(has(h, p, held)).toBe(true);
      }
    }
  });
});
