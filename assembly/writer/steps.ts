/** The transitions of episodes that ended, one by one and oldest first: an ENV (envs.ts) that no step is appended to, and that holds rows of other episodes. */
import { Draw, KEY, LENGTH, PROBABILITY } from "../draw/draw";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { random_below } from "../memory/random";
import { Ring } from "../memory/ring";
import { Stream } from "../rows/stream";
import { Writer } from "./writer";

/** Holds the steps of a running episode as well, as the youngest. 0; OUT_OF_MEMORY where no room was made (`env_reserve`), and then nothing changed. O(steps) */
export function memory_pour(memory: usize, env: usize): i32 {
  const from = streamOf(env).window();
  const to = streamOf(memory);
  if (to.window().capacity - to.window().count < from.count) return E_OUT_OF_MEMORY;
  for (let i: u32 = 0; i < from.count; i++) {
    const row = from.get(i);
    to.rows().retain(row);
    to.window().push(row);
  }
  return 0;
}

/** Lets the n oldest go. O(n) */
export function memory_drop(memory: usize, n: u32): void {
  const s = streamOf(memory);
  for (; n > 0; n--) s.rows().release(s.window().shift());
}

/** n different rows of the memory into a draw of single rows, all alike and in random order. O(n) */
export function memory_pick(memory: usize, random: usize, draw: usize, n: u32): void {
  const ring = streamOf(memory).window();
  const d = changetype<Draw>(draw);
  // Fisher and Yates, on the ring itself, undone afterwards; LENGTH keeps what was swapped.
  for (let i: u32 = 0; i < n; i++) {
    const j = i + random_below(random, ring.count - i);
    store<u32>(d.u32At(LENGTH, i), j);
    swap(ring, i, j);
    store<u32>(<usize>d.rows + ((<usize>i) << 2), ring.get(i));
  }
  for (let i: u32 = n; i > 0; i--) swap(ring, i - 1, load<u32>(d.u32At(LENGTH, i - 1)));
  memory_named(memory, draw, n);
}

/** A draw of n single rows of the memory, which are named in it. */
export function memory_named(memory: usize, draw: usize, n: u32): void {
  const d = changetype<Draw>(draw);
  const count = streamOf(memory).window().count;
  d.count = n;
  d.width = 1;
  for (let i: u32 = 0; i < n; i++) {
    store<u32>(d.u32At(LENGTH, i), 1);
    store<f64>(d.f64At(KEY, i), 0);
    store<f64>(d.f64At(PROBABILITY, i), 1 / <f64>count);
  }
}

function streamOf(env: usize): Stream {
  return changetype<Writer>(env).stream(0);
}

function swap(ring: Ring, i: u32, j: u32): void {
  const a = <usize>ring.entries + ((<usize>ring.index(i)) << 2);
  const b = <usize>ring.entries + ((<usize>ring.index(j)) << 2);
  const row = load<u32>(a);
  store<u32>(a, load<u32>(b));
  store<u32>(b, row);
}
