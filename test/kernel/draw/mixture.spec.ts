import { Mixture, mixture_seed, mixture_split } from "../../../assembly/draw/mixture";
import { arena_alloc } from "../../../assembly/memory/arena";
import { openArena } from "../support/memory";

/** Returns a mixture with these shares, seeded with 1. */
function mixtureOf(shares: f64[]): Mixture {
  openArena(1 << 20);
  const at = arena_alloc(Mixture.bytes(shares.length));
  const m = changetype<Mixture>(<usize>at);
  mixture_seed(at, 1, 0);
  for (let i = 0; i < shares.length; i++) {
    store<f64>(m.share(i), shares[i]);
    store<f64>(m.carry(i, shares.length), 0);
  }
  return m;
}

function split(m: Mixture, sources: u32, n: u32, exact: u32): u32[] {
  mixture_split(changetype<usize>(m), sources, n, exact);
  const rows: u32[] = [];
  for (let i: u32 = 0; i < sources; i++) rows.push(load<u32>(m.rows(i, sources)));
  return rows;
}

describe("a mixture", () => {
  test("of one source draws all rows from it", () => {
    expect(split(mixtureOf([0.25]), 1, 7, 1)).toStrictEqual([7]);
    expect(split(mixtureOf([0.25]), 1, 7, 0)).toStrictEqual([7]);
  });

  test("rounds to the largest remainders, and carries the rest over", () => {
    const m = mixtureOf([1, 1]);
    expect(split(m, 2, 5, 1)).toStrictEqual([3, 2]);
    expect(load<f64>(m.carry(0, 2))).toBe(-0.5);
    expect(load<f64>(m.carry(1, 2))).toBe(0.5);
    expect(split(m, 2, 5, 1)).toStrictEqual([2, 3]);
    expect(load<f64>(m.carry(0, 2))).toBe(0);
  });

  test("draws single rows from its sources in turn", () => {
    const m = mixtureOf([0.25, 0.5, 0.25]);
    const counts: u32[] = [0, 0, 0];
    for (let k = 0; k < 400; k++) {
      const rows = split(m, 3, 1, 1);
      for (let i = 0; i < 3; i++) counts[i] += rows[i];
    }
    expect(counts).toStrictEqual([100, 200, 100]);
  });

  test("draws fewer rows from other sources if one source has a negative quota", () => {
    const m = mixtureOf([1, 1, 1]);
    store<f64>(m.carry(0, 3), -3);
    store<f64>(m.carry(1, 3), 2);
    store<f64>(m.carry(2, 3), 1);
    expect(split(m, 3, 3, 1)).toStrictEqual([0, 2, 1]);
    store<f64>(m.share(1), 0);
    store<f64>(m.share(2), 0);
    expect(split(m, 3, 3, 1)).toStrictEqual([3, 0, 0]);
  });

  test("never draws from a source with share 0", () => {
    const m = mixtureOf([0, 3, 0, 1, 0]);
    let first: u32 = 0;
    for (let k = 0; k < 100; k++) {
      const rows = split(m, 5, 40, 0);
      expect(rows[0] + rows[2] + rows[4]).toBe(0);
      expect(rows[1] + rows[3]).toBe(40);
      first += rows[1];
    }
    expect(first > 2900 && first < 3100).toBe(true);
  });
});
