/** Tests the list of episodes: its columns, orders, and visible rows. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EpisodeSummary, EpisodeTable, SKETCH } from "../../../page/look/model/episode-table.ts";
import { listWindow, MAX_HEIGHT, scrollTo } from "../../../page/look/model/list-window.ts";
import { spreadOrder } from "../../../page/look/model/spread-order.ts";

function summary(index: number, more: Partial<EpisodeSummary> = {}): EpisodeSummary {
  return { index, length: 10 + index, sum: -index, ending: "truncated", sketch: new Uint8Array(SKETCH).fill(index % 255), faults: 0, ...more };
}

describe("episode table", () => {
  it("returns added episodes, and NaN for values that were not read", () => {
    const table = new EpisodeTable();
    table.expect(3, [5, 6, 7]);
    table.add(summary(1, { length: 6, sum: 2.5, ending: "terminated", faults: 2 }));
    table.add(summary(200));
    expect([table.count, table.read]).toEqual([201, 2]);
    expect([0, 1, 2, 3].map((i) => table.lengthOf(i))).toEqual([5, 6, 7, Number.NaN]);
    expect([table.returnOf(0), table.returnOf(1), table.endingOf(1), table.faultsOf(1)]).toEqual([Number.NaN, 2.5, "terminated", 2]);
    expect(Array.from(table.sketchOf(200))).toEqual(new Array(SKETCH).fill(200));
    expect(Array.from(table.values("length"))).toEqual([6, 210]);
  });

  it("keeps and counts flags while it grows", () => {
    const table = new EpisodeTable();
    table.add(summary(0));
    table.flag(0, true);
    table.flag(0, true);
    table.flag(5, true);
    for (let i = 1; i < 500; i++) table.add(summary(i));
    table.flag(300, true);
    expect([table.flagged, table.flaggedOnes]).toEqual([2, [0, 300]]);
    table.add(summary(300));
    table.flag(0, false);
    expect([table.flagged, table.flaggedOnes]).toEqual([1, [300]]);
  });

  it("orders like a plain sort, with unknown values last", () => {
    const value = fc.record({ sum: fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constant(Number.NaN)), length: fc.nat(5), flagged: fc.boolean() });
    fc.assert(
      fc.property(fc.array(fc.option(value), { maxLength: 80 }), fc.boolean(), fc.constantFrom("length", "return"), (all, descending, by) => {
        const table = new EpisodeTable();
        table.expect(all.length);
        all.forEach((one, i) => {
          if (one !== null) table.add(summary(i, one));
          if (one?.flagged) table.flag(i, true);
        });
        const key = (i: number) => (by === "length" ? all[i]?.length : all[i]?.sum) ?? Number.NaN;
        const numbers = all.map((_, i) => i);
        const known = numbers.filter((i) => !Number.isNaN(key(i))).sort((a, b) => (descending ? key(b) - key(a) : key(a) - key(b)) || a - b);
        const unknown = numbers.filter((i) => Number.isNaN(key(i)));
        expect(Array.from(table.order(by, descending, "all"))).toEqual([...known, ...unknown]);
        expect(Array.from(table.order("index", descending, "flagged"))).toEqual(
          (descending ? numbers.reverse() : numbers).filter((i) => all[i]?.flagged === true),
        );
      }),
    );
  });
});

describe("list window", () => {
  const view = fc.record({
    rows: fc.integer({ min: 1, max: 3_000_000 }),
    rowHeight: fc.constant(34),
    viewHeight: fc.integer({ min: 34, max: 1200 }),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
  });

  it("covers the visible area with few rows, from the first to the last", () => {
    fc.assert(
      fc.property(view, ({ at, ...of }) => {
        const height = Math.min(of.rows * of.rowHeight, MAX_HEIGHT);
        const scrollTop = at * Math.max(0, height - of.viewHeight);
        const window = listWindow({ ...of, scrollTop });
        expect(window.height).toBe(height);
        expect(window.to - window.from).toBeLessThanOrEqual(of.viewHeight / of.rowHeight + 10);
        // The rows fill the visible area, unless the list is shorter than its box.
        expect(window.top).toBeLessThanOrEqual(scrollTop + 1e-6);
        const end = window.top + (window.to - window.from) * of.rowHeight;
        expect(end).toBeGreaterThanOrEqual(Math.min(scrollTop + of.viewHeight, height) - 1e-3);
        if (at === 0) expect(window.from).toBe(0);
        if (at === 1) expect(window.to).toBe(of.rows);
      }),
    );
  });

  it("scrolls to any row, and does not scroll to a visible one", () => {
    fc.assert(
      fc.property(view, fc.double({ min: 0, max: 1, noNaN: true }), ({ at, ...of }, share) => {
        const height = Math.min(of.rows * of.rowHeight, MAX_HEIGHT);
        const row = Math.min(of.rows - 1, Math.floor(share * of.rows));
        const before = { ...of, scrollTop: at * Math.max(0, height - of.viewHeight) };
        const scrollTop = scrollTo(row, before);
        const { from, to, top } = listWindow({ ...of, scrollTop });
        expect(row >= from && row < to).toBe(true);
        const place = top + (row - from) * of.rowHeight - scrollTop;
        expect(place).toBeGreaterThanOrEqual(-1e-2);
        expect(place + of.rowHeight).toBeLessThanOrEqual(Math.max(of.viewHeight, of.rowHeight) + 1e-2);
        expect(scrollTo(row, { ...of, scrollTop })).toBeCloseTo(scrollTop, 2);
      }),
    );
  });
});

it("the first rows of a list above the height limit stay where they were scrolled to", () => {
  const of = { rows: 3_000_000, rowHeight: 34, viewHeight: 68 };
  for (let row = 0; row < 20; row++) {
    const scrollTop = scrollTo(row, { ...of, scrollTop: 0 });
    const { from, top } = listWindow({ ...of, scrollTop });
    const place = top + (row - from) * of.rowHeight - scrollTop;
    expect(place).toBeCloseTo(row === 0 ? 0 : 34, 2);
  }
});

describe("spread order", () => {
  it("contains each number once, with the first ones far apart", () => {
    for (const count of [1, 2, 3, 7, 8, 100, 1000]) {
      const order = [...spreadOrder(count)];
      expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
      expect(order[0]).toBe(0);
    }
    expect([...spreadOrder(8)]).toEqual([0, 4, 2, 6, 1, 5, 3, 7]);
  });
});
