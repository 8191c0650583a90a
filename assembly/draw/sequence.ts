/**
 * Computes per-step columns for sequence learners: masks, beginnings and ends of episodes, and an n-step return that stays inside the window.
 *
 * The arrays have `items` × width elements each and follow each other. Each begins at a multiple of 16:
 * returns float │ discounts float │ bootstraps u32 │ mask u8 │ learningMask u8 │ isFirst u8 │ isLast u8 │ isTerminal u8
 *   float: f32, or f64 with the flag WIDE
 * The rest of a shorter entry is zeros. If rewards have several numbers, each step has as many returns.
 *
 * A step counts if the window has a step to bootstrap from, or if nothing after the step has value. The step to bootstrap from is the next one, which may be
 * the final step of the episode. Nothing has value after a step if the episode ended plainly with that step and a leaf marks the step as terminated. The return
 * of a step sums the rewards of n steps that count, or fewer if a step that does not count comes first, and bootstraps from the step after the summed ones. The
 * return of a step that does not count is 0 and bootstraps from the step itself.
 */
import { fillWith } from "../memory/bytes";
import { align16 } from "../memory/layout";
import { dtypeBytes, F32, readNumber } from "../rows/leaf";
import { Pool } from "../rows/pool";
import { Head, LINK_ENDS, LINK_FINAL, PLACE } from "../rows/row";
import { Items } from "../selectors/items";
import { beginsEpisode, burnInOf, Item } from "../tables/slots";
import { Table } from "../tables/table";
import { Draw, LENGTH } from "./draw";
import { NONE, Returns } from "./n-step";

/** A flag: floats are f64. */
const WIDE: u32 = 1;

/** The flags of a step: COUNTS, the step counts; STOPS, a return that reaches the step ends with it. */
const COUNTS: u8 = 1;
const STOPS: u8 = 2;

/**
 * SEQUENCE_WORK, 64 bytes, then f64 × width each: rewards │ factors, γ times the discount of a step │ powers of γ; then flags of the steps, u8 × width:
 *    0 │ rewards u32   │ factors u32    │
 *    8 │ powers u32    │ states u32     │
 *   16 │ returns u32   │ discounts u32  │  of the current entry, like the addresses below
 *   24 │ bootstraps u32│ mask u32       │
 *   32 │ stride u32    │ wide u32       │  from the mask to the next array of u8, and so on
 *   40 │ n u32         │ burnIn u32     │
 *   48 │ isFirst u32   │ length u32     │
 *   56 │ components u32│ … u32          │  of a reward
 */
@unmanaged
class SequenceWork {
  rewards: u32;
  factors: u32;
  powers: u32;
  states: u32;
  returns: u32;
  discounts: u32;
  bootstraps: u32;
  mask: u32;
  stride: u32;
  wide: u32;
  n: u32;
  burnIn: u32;
  isFirst: u32;
  length: u32;
  components: u32;
  unused: u32;

  /** Returns the address of the k-th array of u8, from the mask on. */
  @inline
  bytes(k: u32): usize {
    return <usize>(this.mask + k * this.stride);
  }

  @inline
  putDiscount(j: u32, factor: f64): void {
    if (this.wide != 0) store<f64>(<usize>this.discounts + ((<usize>j) << 3), factor);
    else store<f32>(<usize>this.discounts + ((<usize>j) << 2), <f32>factor);
  }

  /** Writes the discount of step j, and the return at index `number`. */
  @inline
  put(j: u32, number: u32, ret: f64, factor: f64): void {
    if (this.wide != 0) {
      store<f64>(<usize>this.returns + ((<usize>number) << 3), ret);
      store<f64>(<usize>this.discounts + ((<usize>j) << 3), factor);
    } else {
      store<f32>(<usize>this.returns + ((<usize>number) << 2), <f32>ret);
      store<f32>(<usize>this.discounts + ((<usize>j) << 2), <f32>factor);
    }
  }

  /** Fills the discounts and the u8 arrays with the values that most steps of an entry of one episode have. All other values are written one by one. */
  expect(cells: u32, width: u32): void {
    const full = load<f64>(<usize>this.powers + ((<usize>min(this.n, width - 1)) << 3));
    if (this.wide != 0) fillWith<f64>(<usize>this.discounts, cells, full);
    else fillWith<f32>(<usize>this.discounts, cells, <f32>full);
    fillWith<u8>(this.bytes(0), cells, 1);
    memory.fill(this.bytes(1), 0, <usize>(4 * this.stride));
  }

  /** Moves to the arrays of the next entry. */
  advance(width: u32): void {
    const bytes = this.wide != 0 ? width << 3 : width << 2;
    this.returns += bytes * this.components;
    this.discounts += bytes;
    this.bootstraps += width << 2;
    this.mask += width;
  }

  /** Writes zeros after the steps of an entry. */
  empty(width: u32): void {
    const rest = width - this.length;
    const shift: u32 = this.wide != 0 ? 3 : 2;
    memory.fill(<usize>(this.returns + ((this.length * this.components) << shift)), 0, <usize>((rest * this.components) << shift));
    memory.fill(<usize>(this.discounts + (this.length << shift)), 0, <usize>(rest << shift));
    memory.fill(<usize>(this.bootstraps + (this.length << 2)), 0, <usize>(rest << 2));
    for (let k: u32 = 0; k < 5; k++) memory.fill(this.bytes(k) + <usize>this.length, 0, <usize>rest);
  }
}
const HEAD_BYTES: usize = 64;
if (offsetof<SequenceWork>() != HEAD_BYTES) ERROR("SEQUENCE_WORK is 64 bytes");

/**
 * Fills the arrays above, from `out` on, for items of a table. `work`: SEQUENCE_WORK. `reward`, `discount`, `terminatedLeaf`: numbers of leaves; `discount` and
 * `terminatedLeaf` may be NONE. `components`: numbers per reward. `rewards`: the address of rewards already gathered, f32 × width per entry, or 0 to read them
 * from rows. Returns how many steps end an episode plainly and have a reward or a terminated flag although another step follows. Such a reward or flag never
 * counts in a return. O(count × width × n)
 */
export function draw_sequences(
  draw: usize,
  table: usize,
  reward: u32,
  components: u32,
  discount: u32,
  terminatedLeaf: u32,
  n: u32,
  gamma: f64,
  flags: u32,
  items: u32,
  out: u32,
  work: u32,
  rewards: usize,
): u32 {
  const d = changetype<Draw>(draw);
  const t = changetype<Table>(table);
  const p = t.rows();
  const w = changetype<SequenceWork>(<usize>work);
  const width = d.width;
  w.components = components;
  layOut(w, work, out, items, width, flags & WIDE);
  w.n = n;
  const isPlain = discount == NONE && terminatedLeaf == NONE && components == 1;
  if (isPlain) {
    let power: f64 = 1;
    for (let k: u32 = 0; k < width; k++, power *= gamma) store<f64>(<usize>w.powers + ((<usize>k) << 3), power);
    w.expect(d.count * width, width);
  }
  const slots = t.slots();
  let rows = <usize>d.rows;
  let lost: u32 = 0;
  for (let i: u32 = 0; i < d.count; i++, rows += (<usize>width) << 2) {
    const slot = d.slot(i);
    const item = changetype<Item>(Items.at(<usize>slots.items, slot));
    const layout = slots.layout(slot);
    w.burnIn = burnInOf(layout);
    w.isFirst = u32(beginsEpisode(layout));
    w.length = load<u32>(d.u32At(LENGTH, i));
    if (isPlain && item.single()) lost += ofOneEpisode(w, p, item, rows, reward, rewards == 0 ? 0 : rewards + ((<usize>(i * width)) << 2));
    else {
      lost += look(w, p, changetype<usize>(item), rows, reward, discount, terminatedLeaf, gamma);
      for (let c: u32 = 0; c < components; c++) {
        readRewards(w, p, rows, reward, c, w.length);
        sum(w, c);
      }
    }
    if (w.length < width) w.empty(width);
    w.advance(width);
  }
  return lost;
}

function layOut(w: SequenceWork, work: u32, out: u32, items: u32, width: u32, wide: u32): void {
  w.rewards = work + <u32>HEAD_BYTES;
  w.factors = w.rewards + (width << 3);
  w.powers = w.factors + (width << 3);
  w.states = w.powers + (width << 3);
  const cells = items * width;
  const floats = align16(cells << (wide != 0 ? 3 : 2));
  w.returns = out;
  w.discounts = out + align16((cells * w.components) << (wide != 0 ? 3 : 2));
  w.bootstraps = w.discounts + floats;
  w.mask = w.bootstraps + align16(cells << 2);
  w.stride = align16(cells);
  w.wide = wide;
}

/**
 * A fast path for the usual entry: no episode ends before its last row, rewards are single numbers, and no leaf has discounts or terminated flags. Returns 1 if
 * the reward of the last row is lost, else 0.
 */
function ofOneEpisode(w: SequenceWork, p: Pool, item: Item, rows: usize, reward: u32, rewards: usize): u32 {
  const length = w.length;
  const last = length - 1;
  const isDirect = rewards != 0 && w.n == 1 && w.wide == 0;
  if (rewards == 0) readRewards(w, p, rows, reward, 0, last);
  else if (!isDirect) widen(rewards, <usize>w.rewards, last);
  const ends = Returns.ends(changetype<usize>(item), last, load<u32>(rows + ((<usize>last) << 2)));
  const isTerminal = ends == LINK_ENDS;
  const n = min(w.n, max(last, 1));
  const bootstraps = <usize>w.bootstraps;
  // The steps whose return is whole come first, then the steps that bootstrap from the last one.
  const whole = last - min(n, last);
  if (isDirect) copyRewards(rewards, <usize>w.returns, last);
  else sumAll(w, last, n);
  fillNumbers(bootstraps, n, whole);
  for (let j = whole; j < last; j++) {
    w.putDiscount(j, isTerminal ? 0 : load<f64>(<usize>w.powers + ((<usize>(last - j)) << 3)));
    store<u32>(bootstraps + ((<usize>j) << 2), last);
  }
  w.put(last, last, 0, isTerminal ? 0 : 1);
  store<u32>(bootstraps + ((<usize>last) << 2), last);
  const burnIn = min(w.burnIn, last);
  fillWith<u8>(w.bytes(1) + <usize>burnIn, last - burnIn, 1);
  store<u8>(w.bytes(2), <u8>w.isFirst);
  store<u8>(w.bytes(3) + <usize>last, u8(ends != 0));
  store<u8>(w.bytes(4) + <usize>last, u8(isTerminal));
  const isPlainEnd = ends != 0 && (ends & LINK_FINAL) == 0;
  return isPlainEnd ? Returns.says(p, load<u32>(rows + ((<usize>last) << 2)), reward, NONE) : 0;
}

/** Computes returns of n rewards for `steps` steps; the returns of the last steps have fewer rewards, and the zeros that follow add nothing. */
function sumAll(w: SequenceWork, steps: u32, n: u32): void {
  // The zeros are too few for memory.fill, which V8 compiles to a function call.
  fillWith<f64>(<usize>w.rewards + ((<usize>steps) << 3), n - 1, 0);
  if (w.wide != 0) {
    for (let j: u32 = 0; j < steps; j++) store<f64>(<usize>w.returns + ((<usize>j) << 3), returnOf(w, j, n));
    return;
  }
  const powers = <usize>w.powers;
  const bytes = (<usize>n) << 3;
  const lastPower = powers + bytes;
  let to = <usize>w.returns;
  const end = to + ((<usize>steps) << 2);
  let rewards = <usize>w.rewards;
  // The loop sums eight steps at a time, then two. The additions of each step keep their order.
  if (ASC_FEATURE_SIMD) {
    for (; to + 32 <= end; to += 32, rewards += 64) {
      const zero = v128.splat<f64>(0);
      // The first power is 1, and adding 0 turns -0 into 0. The other rewards follow two at a time.
      let a = v128.add<f64>(zero, v128.load(rewards));
      let b = v128.add<f64>(zero, v128.load(rewards, 16));
      let c = v128.add<f64>(zero, v128.load(rewards, 32));
      let d = v128.add<f64>(zero, v128.load(rewards, 48));
      let from = rewards + 8;
      let power = powers + 8;
      for (; power + 16 <= lastPower; power += 16, from += 16) {
        const p = v128.load_splat<u64>(power);
        const q = v128.load_splat<u64>(power, 8);
        a = v128.add<f64>(v128.add<f64>(a, v128.mul<f64>(p, v128.load(from))), v128.mul<f64>(q, v128.load(from, 8)));
        b = v128.add<f64>(v128.add<f64>(b, v128.mul<f64>(p, v128.load(from, 16))), v128.mul<f64>(q, v128.load(from, 24)));
        c = v128.add<f64>(v128.add<f64>(c, v128.mul<f64>(p, v128.load(from, 32))), v128.mul<f64>(q, v128.load(from, 40)));
        d = v128.add<f64>(v128.add<f64>(d, v128.mul<f64>(p, v128.load(from, 48))), v128.mul<f64>(q, v128.load(from, 56)));
      }
      if (power < lastPower) {
        const p = v128.load_splat<u64>(power);
        a = v128.add<f64>(a, v128.mul<f64>(p, v128.load(from)));
        b = v128.add<f64>(b, v128.mul<f64>(p, v128.load(from, 16)));
        c = v128.add<f64>(c, v128.mul<f64>(p, v128.load(from, 32)));
        d = v128.add<f64>(d, v128.mul<f64>(p, v128.load(from, 48)));
      }
      v128.store_lane<u64>(to, f32x4.demote_f64x2_zero(a), 0);
      v128.store_lane<u64>(to, f32x4.demote_f64x2_zero(b), 0, 8);
      v128.store_lane<u64>(to, f32x4.demote_f64x2_zero(c), 0, 16);
      v128.store_lane<u64>(to, f32x4.demote_f64x2_zero(d), 0, 24);
    }
    for (; to + 8 <= end; to += 8, rewards += 16) {
      let sums = v128.splat<f64>(0);
      for (let k: usize = 0; k < bytes; k += 8) sums = v128.add<f64>(sums, v128.mul<f64>(v128.load_splat<u64>(powers + k), v128.load(rewards + k)));
      v128.store_lane<u64>(to, f32x4.demote_f64x2_zero(sums), 0);
    }
  }
  for (; to < end; to += 4, rewards += 8) {
    let ret: f64 = 0;
    for (let k: usize = 0; k < bytes; k += 8) ret += load<f64>(powers + k) * load<f64>(rewards + k);
    store<f32>(to, <f32>ret);
  }
}

/** Writes `count` consecutive numbers from n on, u32 each. */
function fillNumbers(at: usize, n: u32, count: u32): void {
  const end = at + ((<usize>count) << 2);
  if (ASC_FEATURE_SIMD) {
    let numbers = v128.add<u32>(v128.splat<u32>(n), i32x4(0, 1, 2, 3));
    for (const four = v128.splat<u32>(4); at + 16 <= end; at += 16, n += 4) {
      v128.store(at, numbers);
      numbers = v128.add<u32>(numbers, four);
    }
  }
  for (; at < end; at += 4, n++) store<u32>(at, n);
}

/** Returns the sum of n rewards from the j-th on, each with its power of γ. */
function returnOf(w: SequenceWork, j: u32, n: u32): f64 {
  let ret: f64 = 0;
  const rewards = <usize>w.rewards + ((<usize>j) << 3);
  const powers = <usize>w.powers;
  for (let k: usize = 0; k < (<usize>n) << 3; k += 8) ret += load<f64>(powers + k) * load<f64>(rewards + k);
  return ret;
}

/** Widens n numbers from f32 to f64. */
function widen(from: usize, to: usize, n: u32): void {
  const end = from + ((<usize>n) << 2);
  if (ASC_FEATURE_SIMD) for (; from + 8 <= end; from += 8, to += 16) v128.store(to, f64x2.promote_low_f32x4(v128.load64_zero(from)));
  for (; from < end; from += 4, to += 8) store<f64>(to, <f64>load<f32>(from));
}

/** Copies returns of one reward each, as sums that begin with 0, so that -0 becomes 0. */
function copyRewards(from: usize, to: usize, n: u32): void {
  const end = from + ((<usize>n) << 2);
  if (ASC_FEATURE_SIMD) for (const zero = v128.splat<f32>(0); from + 16 <= end; from += 16, to += 16) v128.store(to, v128.add<f32>(zero, v128.load(from)));
  for (; from < end; from += 4, to += 4) store<f32>(to, 0 + load<f32>(from));
}

/** Reads a component of the rewards of the first n rows of an entry. */
function readRewards(w: SequenceWork, p: Pool, rows: usize, reward: u32, component: u32, n: u32): void {
  const leaf = p.leaf(reward);
  const dtype = leaf.dtype;
  const at = <usize>(leaf.at + component * dtypeBytes(dtype));
  const step = leaf.step;
  const end = rows + ((<usize>n) << 2);
  let to = <usize>w.rewards;
  if (dtype == F32) {
    for (; rows < end; rows += 4, to += 8) {
      const row = load<u32>(rows);
      store<f64>(to, <f64>load<f32>(Head.block(row) + at + <usize>((row & PLACE) * step)));
    }
    return;
  }
  for (; rows < end; rows += 4, to += 8) {
    const row = load<u32>(rows);
    store<f64>(to, readNumber(Head.block(row) + at + <usize>((row & PLACE) * step), dtype));
  }
}

/** Fills all columns of an entry except returns, which `sum` computes. Returns the number of lost rewards. */
function look(w: SequenceWork, p: Pool, item: usize, rows: usize, reward: u32, discount: u32, terminatedLeaf: u32, gamma: f64): u32 {
  const length = w.length;
  const factors = <usize>w.factors;
  const states = <usize>w.states;
  let isFirst = <u8>w.isFirst;
  // At the beginning of each pass, `alive` refers to the previous step.
  let alive: f64 = 1;
  let lost: u32 = 0;
  for (let j: u32 = 0; j < length; j++, rows += 4) {
    const row = load<u32>(rows);
    const values = p.bytes(row);
    const before = alive;
    const ends = Returns.ends(item, j, row);
    alive = 1;
    if (discount != NONE) alive = Returns.number(p, values, discount);
    if (terminatedLeaf != NONE && Returns.number(p, values, terminatedLeaf) != 0) alive = 0;
    const counts = (ends & LINK_FINAL) == 0 && (ends == 0 ? j + 1 < length : alive == 0);
    if (!counts && ends != 0 && (ends & LINK_FINAL) == 0) lost += Returns.says(p, row, reward, terminatedLeaf);
    store<f64>(factors + ((<usize>j) << 3), gamma * alive);
    store<u8>(states + <usize>j, (counts ? COUNTS : 0) | (alive == 0 || ends != 0 ? STOPS : 0));
    store<u8>(w.bytes(0) + <usize>j, 1);
    store<u8>(w.bytes(1) + <usize>j, u8(counts && j >= w.burnIn));
    store<u8>(w.bytes(2) + <usize>j, isFirst);
    store<u8>(w.bytes(3) + <usize>j, u8(ends != 0));
    // The flag is set in a final step or in the step before it; a plain end sets the flag itself.
    store<u8>(w.bytes(4) + <usize>j, u8(ends == LINK_ENDS || (ends == LINK_FINAL ? before == 0 : ends != 0 && alive == 0)));
    isFirst = u8(ends != 0);
  }
  return lost;
}

/** Computes the return of each row of an entry, for one component of its rewards. */
function sum(w: SequenceWork, component: u32): void {
  const length = w.length;
  const states = <usize>w.states;
  for (let j: u32 = 0; j < length; j++) {
    let ret: f64 = 0;
    let factor: f64 = 1;
    let k = j;
    const limit = length - j > w.n ? j + w.n : length;
    let state = load<u8>(states + <usize>k);
    while ((state & COUNTS) != 0) {
      ret += factor * load<f64>(<usize>w.rewards + ((<usize>k) << 3));
      factor *= load<f64>(<usize>w.factors + ((<usize>k) << 3));
      k += 1;
      if ((state & STOPS) != 0 || k >= limit) break;
      state = load<u8>(states + <usize>k);
    }
    // After a plain end, the episode has no further step: the terminated flag is at that end.
    if (k != j && load<u8>(w.bytes(3) + <usize>(k - 1)) != 0) k -= 1;
    else if ((load<u8>(w.bytes(3) + <usize>k) & load<u8>(w.bytes(4) + <usize>k)) != 0) factor = 0;
    w.put(j, w.components * j + component, ret, factor);
    store<u32>(<usize>w.bootstraps + ((<usize>j) << 2), k);
  }
}
