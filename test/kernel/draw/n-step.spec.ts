import { DISCOUNT as DISCOUNTS, Draw, draw_narrow, RETURN, SLOT, STEPS, TERMINATED, TRUNCATED } from "../../../assembly/draw/draw";
import { draw_n_step } from "../../../assembly/draw/n-step";
import { draw_rows, OF_ITEMS } from "../../../assembly/draw/row-matrix";
import { Head, LINK_ENDS, LINK_FINAL } from "../../../assembly/rows/row";
import { Run } from "../../../assembly/rows/run";
import { stream_end } from "../../../assembly/rows/stream";
import { FIFO } from "../../../assembly/selectors/kinds";
import { insertItem } from "../../../assembly/tables/table";
import { openArena } from "../support/memory";
import { append, DISCOUNT, newDraw, newPool, newStream, newTable, REWARD } from "../support/world";

const OWN: u32 = 1;
const ENDS_BEHIND: u32 = 2;
/** A flag that only this spec uses: the discounts are flags that mark termination. */
const TERMINAL: u32 = 4;
const NONE: u32 = 0xffff;

/**
 * Returns the n-step columns of one item whose steps have these rewards and discounts. `ends`: whether its episode ends with the last step, `mark`: how the
 * episode ends.
 */
function nStep(rewards: f64[], discounts: f64[], ends: bool, leaf: u32, n: u32, flags: u32, mark: u32 = 0, whole: bool = false): Draw {
  openArena(1 << 20);
  const p = newPool();
  const s = newStream(p, 16);
  const t = newTable(p, 4, 0, FIFO, FIFO);
  for (let i = 0; i < rewards.length; i++) append(s, i, rewards[i], discounts[i]);
  const first = s.firstOf(rewards.length);
  insertItem(t, first, rewards.length, Run.retain(t.rows(), first, rewards.length), 0, 1);
  if (ends) stream_end(changetype<usize>(s), 1);
  const last = s.firstOf(1);
  Head.of(last).next |= mark;
  const d = newDraw(1, 16);
  d.count = 1;
  store<u32>(d.u32At(SLOT, 0), 1);
  draw_rows(changetype<usize>(d), OF_ITEMS, changetype<usize>(t), 1, rewards.length, 0);
  const terminal = (flags & TERMINAL) != 0;
  draw_n_step(
    changetype<usize>(d),
    changetype<usize>(p),
    whole ? changetype<usize>(t) : 0,
    REWARD,
    terminal ? NONE : leaf,
    terminal ? leaf : NONE,
    n,
    0.5,
    flags & ~TERMINAL,
  );
  return d;
}

function is(d: Draw, ret: f64, discount: f64, steps: u32, terminated: bool, truncated: bool): void {
  expect<f64>(load<f64>(d.f64At(RETURN, 0))).toBe(ret, "return");
  expect<f64>(load<f64>(d.f64At(DISCOUNTS, 0))).toBe(discount, "discount");
  expect<u32>(load<u32>(d.u32At(STEPS, 0))).toBe(steps, "steps");
  expect<u8>(load<u8>(d.column(TERMINATED))).toBe(terminated ? 1 : 0, "terminated");
  expect<u8>(load<u8>(d.column(TRUNCATED))).toBe(truncated ? 1 : 0, "truncated");
}

describe("n-step", () => {
  it("sums discounted rewards, and the last row of the window is the bootstrap", () => {
    is(nStep([1, 2, 4, 8], [1, 1, 1, 1], false, DISCOUNT, 3, 0), 1 + 2 / 2.0 + 4 / 4.0, 0.125, 3, false, false);
    is(nStep([1, 2, 4, 8], [1, 1, 1, 1], false, DISCOUNT, 2, 0), 2, 0.25, 2, false, false);
    is(nStep([1, 2, 4, 8], [1, 1, 1, 1], false, DISCOUNT, 1, 0), 1, 0.5, 1, false, false);
  });

  it("sums the available steps if the window is shorter than n", () => {
    is(nStep([1, 2], [1, 1], false, DISCOUNT, 5, 0), 1, 0.5, 1, false, false);
    is(nStep([1, 2], [1, 1], false, DISCOUNT, 5, OWN), 2, 0.25, 2, false, false);
    is(nStep([1], [1], false, DISCOUNT, 5, 0), 0, 1, 0, false, false);
    is(nStep([1], [1], false, DISCOUNT, 5, OWN), 1, 0.5, 1, false, false);
  });

  it("multiplies by the steps' own discounts, and stops at 0", () => {
    is(nStep([1, 2, 4, 8], [0.5, 0.5, 0.5, 1], false, DISCOUNT, 3, 0), 1 + 2 / 4.0 + 4 / 16.0, 1 / 64.0, 3, false, false);
    is(nStep([1, 2, 4, 8], [1, 0, 1, 1], false, DISCOUNT, 3, 0), 2, 0, 2, true, false);
    is(nStep([1, 2, 4], [0, 1, 1], true, DISCOUNT, 2, 0), 1, 0, 1, true, false);
  });

  it("reads terminal flags instead of discounts if their leaf is set", () => {
    is(nStep([1, 2, 4, 8], [0, 1, 0, 0], false, DISCOUNT, 3, TERMINAL), 2, 0, 2, true, false);
    is(nStep([1, 2, 4, 8], [0, 0, 0, 0], false, DISCOUNT, 3, TERMINAL), 3, 0.125, 3, false, false);
  });

  it("sets truncated if the episode ends with a discount above 0", () => {
    is(nStep([1, 2, 4], [1, 1, 1], true, DISCOUNT, 5, OWN), 3, 0.125, 3, false, true);
    is(nStep([1, 2, 4], [1, 1, 0], true, DISCOUNT, 5, OWN), 3, 0, 3, true, false);
    // The last row is only the bootstrap. Reading reaches it, so the end of the episode is noticed.
    is(nStep([1, 2, 4], [1, 1, 1], true, DISCOUNT, 5, 0), 2, 0.25, 2, false, true);
    is(nStep([1, 2, 4], [1, 1, 1], true, DISCOUNT, 1, 0), 1, 0.5, 1, false, false);
  });

  it("uses a final step only for the bootstrap, and sets terminated or truncated from its mark", () => {
    for (let own: u32 = 0; own < 2; own++) {
      for (let n: u32 = 2; n < 9; n++) {
        is(nStep([1, 2, 4], [1, 1, 1], false, DISCOUNT, n, own, LINK_ENDS), 2, 0, 2, true, false);
        is(nStep([1, 2, 4], [1, 1, 1], false, NONE, n, own, LINK_FINAL), 2, 0.25, 2, false, true);
        is(nStep([1, 2, 4], [1, 1, 1], false, NONE, n, own, LINK_FINAL, true), 2, 0.25, 2, false, true);
        is(nStep([1, 2, 4], [1, 1, 1], false, NONE, n, own, LINK_ENDS, true), 2, 0, 2, true, false);
      }
      is(nStep([1, 2, 4], [1, 1, 1], false, NONE, 1, own, LINK_ENDS), 1, 0.5, 1, false, false);
      // If a leaf marks an earlier end, that end takes precedence.
      is(nStep([1, 2, 4], [1, 0, 1], false, DISCOUNT, 5, own, LINK_FINAL), 2, 0, 2, true, false);
      is(nStep([1, 2, 4], [0, 1, 1], false, DISCOUNT, 5, own, LINK_ENDS), 1, 0, 1, true, false);
    }
  });

  it("looks for a plain end after a complete return with ENDS_BEHIND", () => {
    is(nStep([1, 2, 4], [1, 1, 1], true, NONE, 2, ENDS_BEHIND), 2, 0.25, 2, false, true);
    is(nStep([1, 2, 4], [1, 1, 1], true, NONE, 1, ENDS_BEHIND), 1, 0.5, 1, false, false);
    is(nStep([1, 2, 4], [1, 1, 1], true, NONE, 2, 0), 2, 0.25, 2, false, false);
  });

  it("converts returns to f32 in place", () => {
    const d = newDraw(5, 5);
    d.count = 5;
    for (let i: u32 = 0; i < 5; i++) store<f64>(d.f64At(RETURN, i), <f64>i + 0.1);
    draw_narrow(changetype<usize>(d), RETURN);
    for (let i: u32 = 0; i < 5; i++) expect<f32>(load<f32>(d.column(RETURN) + ((<usize>i) << 2))).toBe(<f32>(<f64>i + 0.1));
  });

  it("ends only with the episode if there is no leaf of discounts", () => {
    is(nStep([1, 2, 4], [0, 0, 0], false, NONE, 2, OWN), 2, 0.25, 2, false, false);
    is(nStep([1, 2, 4], [0, 0, 0], true, NONE, 9, OWN), 3, 0.125, 3, false, true);
  });
});
