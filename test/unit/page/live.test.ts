/** Tests calculations of the room Live: a curve of limited size, and the pace of steps. */
import { describe, expect, it } from "vitest";
import { Curve } from "../../../page/live/curve.ts";
import { Pace } from "../../../page/live/pace.ts";

describe("Curve", () => {
  it("keeps each point unchanged while there are few", () => {
    const curve = new Curve();
    for (let i = 1; i < 1000; i++) curve.add({ step: 3 * i, value: i });
    expect(curve.steps).toEqual(Array.from({ length: 999 }, (_, i) => 3 * (i + 1)));
    expect(curve.values).toEqual(Array.from({ length: 999 }, (_, i) => i + 1));
  });

  it("stays small, and keeps means of neighbouring points in order", () => {
    const curve = new Curve();
    const values = Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 501);
    for (const [i, value] of values.entries()) curve.add({ step: i + 1, value });
    expect(curve.steps.length).toBeLessThan(1000);
    expect(curve.steps.length).toBeGreaterThan(400);
    const each = (curve.steps[1] as number) - (curve.steps[0] as number);
    for (const [i, step] of curve.steps.entries()) {
      expect(step).toBe(each * (i + 1));
      const all = values.slice(each * i, each * (i + 1));
      expect(curve.values[i]).toBeCloseTo(all.reduce((sum, value) => sum + value, 0) / each, 9);
    }
  });
});

describe("Pace", () => {
  it("allows the set number of steps per second", () => {
    const pace = new Pace();
    pace.set(50, 0);
    let taken = 0;
    for (let now = 7; now <= 10_000; now += 7) {
      const due = pace.due(now);
      pace.took(due);
      taken += due;
    }
    expect(taken).toBeGreaterThanOrEqual(499);
    expect(taken).toBeLessThanOrEqual(500);
  });

  it("returns the wait until the next step, and does not make up for long waits", () => {
    const pace = new Pace();
    expect(pace.wait).toBe(Infinity);
    pace.set(50, 1000);
    expect(pace.due(1000)).toBe(0);
    expect(pace.wait).toBe(20);
    expect(pace.due(1015)).toBe(0);
    expect(pace.wait).toBeCloseTo(5, 9);
    expect(pace.due(61_000)).toBe(5);
    pace.took(5);
    expect(pace.due(61_000)).toBe(0);
  });

  it("has no limit at full speed", () => {
    const pace = new Pace();
    pace.set(Infinity, 0);
    pace.took(1000);
    expect([pace.due(0), pace.wait]).toEqual([Infinity, 0]);
  });
});
