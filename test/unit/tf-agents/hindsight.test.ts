/** Tests items whose columns show the same leaves at different steps, as in hindsight replay: any number of such items can be drawn together. */
import { describe, expect, test } from "vitest";
import { bool, f32, fifo, i32, prioritized, Replay, type Table, text, uniform } from "../../../src/index.ts";
import { engineOf } from "../../../src/replay/replay.ts";
import { LocalClient } from "../../../src/tf-agents/index.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { bytesOf } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

const spec = { x: i32(), seen: f32(2), image: f32(300), done: bool(), said: text({ maxBytes: 9 }) } as const;
const step = (x: number) => ({ x, seen: [x, -x], image: new Float32Array(300).fill(x), done: x % 5 === 0, said: `s${x % 1000}` });

type Shown = { readonly [name: string]: { readonly data: ArrayLike<unknown>; readonly shape: readonly number[] } };

test("each of many hindsight items is drawn with the steps of its columns", () => {
  const random = new TestRandom(17);
  const maxSize = 500;
  const replay = new Replay({ spec, tables: { t: { maxSize, sampler: uniform() } }, seed: 3 });
  const writer = new LocalClient(replay).trajectoryWriter({ numKeepAliveRefs: 50 });
  const items = scaled(100_000, 4000);
  let made = 0;
  const check = () => {
    const { steps, count } = replay.table("t").sample(64);
    const shown = steps as never as Shown;
    expect([count, shown.now?.shape, shown.reached?.shape, shown.said?.shape]).toEqual([64, [64], [64, 2], [64]]);
    for (let i = 0; i < count; i++) {
      const at = (name: string) => shown[name]?.data[i] as number;
      const [now, goal] = [at("now"), at("goal")];
      expect(at("next")).toBe(now + 1);
      expect(goal >= now && goal < 50 * Math.ceil((now + 1) / 50)).toBe(true);
      const whole = [shown.reached?.data[2 * i], shown.reached?.data[2 * i + 1], shown.image?.data[300 * i + 299], at("done"), shown.said?.data[i]];
      expect(whole).toEqual([goal, -goal, goal, Number(now % 5 === 0), `s${goal % 1000}`]);
    }
  };
  for (let total = 0; made < items; total++) {
    if (total % 50 === 0 && total > 0) {
      const { history } = writer;
      for (let t = 0; t < 49; t++) {
        // One item has a later achievement as its goal, and the other item has the current one.
        for (const goal of [t + random.below(50 - t), t]) {
          const names = { now: history.x.at(t), next: history.x.at(t + 1), goal: history.x.at(goal), reached: history.seen.at(goal) };
          const more = { image: history.image.at(goal), done: history.done.at(t), said: history.said.at(goal) };
          writer.createItem("t", 1, made % 2 === 0 ? { ...names, ...more } : { ...more, ...names });
          made++;
        }
      }
      writer.endEpisode();
      if (made % 5 === 0) check();
    }
    writer.append(step(total));
  }
  expect(replay.table("t").size).toBe(maxSize);
  expect(engineOf(replay as never).columnLayouts.size).toBeLessThan(3000);
  expect(broken(replay)).toEqual([]);
  const again = Replay.restore(bytesOf(replay)) as unknown as Replay<typeof spec, "t">;
  const goals = (each: { table(name: "t"): { sample(n: number): { steps: unknown } } }) => (each.table("t").sample(40).steps as Shown).goal;
  expect(goals(again)).toEqual(goals(replay));
}, 120_000);

describe("items with compatible columns", () => {
  function made(tables: object = { t: { maxSize: 20, sampler: fifo() } }) {
    const replay = new Replay({ spec: { x: i32(), y: f32() }, tables: tables as { t: { maxSize: number } } });
    const writer = replay.writer({ keep: 20 });
    for (let x = 0; x < 10; x++) writer.append({ x, y: x / 2 });
    return { replay, writer, table: replay.table("t") as Table };
  }
  const aOf = (steps: unknown) => (steps as { readonly a: { readonly data: Int32Array; readonly shape: readonly number[] } }).a;
  const shownOf = (steps: unknown) => Object.fromEntries(Object.entries(steps as Shown).map(([name, { data, shape }]) => [name, [Array.from(data), shape]]));

  test("have the same names and leaves, in any order and at any steps", () => {
    const { writer, table } = made();
    writer.createItem("t", { length: 4, columns: { a: { leaf: "x", at: 0 }, b: { leaf: "y", at: -1 } } });
    writer.createItem("t", { length: 4, columns: { b: { leaf: "y", at: 1 }, a: { leaf: "x", at: 2 } } });
    expect(shownOf(table.sample(2, { replacement: false }).steps)).toEqual({
      a: [[6, 8], [2]],
      b: [[4.5, 3.5], [2]],
    });
  });

  test("pad lists and ranges of different lengths with zeros", () => {
    const { writer, table } = made();
    writer.createItem("t", { length: 6, columns: { a: { leaf: "x", steps: [0, -1] } } });
    writer.createItem("t", { length: 5, columns: { a: { leaf: "x", from: 1 } } });
    writer.createItem("t", { length: 3, columns: { a: { leaf: "x", to: 1 } } });
    const batch = table.sample(3, { replacement: false });
    expect([...batch.lengths]).toEqual([6, 5, 3]);
    expect(aOf(batch.steps).shape).toEqual([3, 5]);
    expect(aOf(batch.steps).data).toEqual(Int32Array.of(4, 9, 0, 0, 0, 6, 7, 8, 9, 0, 7, 0, 0, 0, 0));
    // The items are also drawn into the same batch, and one by one.
    expect(aOf(table.sample(3, { replacement: false, into: batch }).steps).data).toEqual(Int32Array.of(4, 9, 0, 0, 0, 6, 7, 8, 9, 0, 7, 0, 0, 0, 0));
    expect(aOf(table.sample(1).steps).data).toEqual(Int32Array.of(4, 9));
  });

  test("are required for one batch, and a failed draw changes nothing", () => {
    const { replay, writer, table } = made();
    writer.createItem("t", { length: 4, columns: { a: { leaf: "x", at: 0 } } });
    writer.createItem("t", { length: 4, columns: { a: { leaf: "y", at: 0 } } });
    const before = bytesOf(replay);
    expect(() => table.sample(2, { replacement: false })).toThrow(/different columns/);
    expect(bytesOf(replay).equals(before)).toBe(true);
  });

  test("are drawn together with priorities and maxTimesSampled", () => {
    const tables = { t: { maxSize: 20, sampler: prioritized(), maxTimesSampled: 1 } };
    const { writer, table } = made(tables);
    for (let k = 0; k < 8; k++) writer.createItem("t", { length: 8, columns: { a: { leaf: "x", at: k } } });
    const { steps, count } = table.sample(8);
    expect([count, [...aOf(steps).data].sort()]).toEqual([8, [2, 3, 4, 5, 6, 7, 8, 9]]);
    expect(table.size).toBe(0);
  });
});
