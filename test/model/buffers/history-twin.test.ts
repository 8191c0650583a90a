/** Compares a TrajectoryWriter with a twin that keeps every step in a plain array, under random operations. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { f64, fifo, i32 } from "../../../src/index.ts";
import { type HistoryColumn, LocalClient, type TrajectoryColumn } from "../../../src/tf-agents/index.ts";
import { scaled } from "../../support/size.ts";

const NAMES = ["a", "b", "c"] as const;
type Name = (typeof NAMES)[number];
type Step = { [K in Name]?: number };
/** A column of the twin: its values, or null if it must be rejected, and whether it is a single step. */
type Want = { readonly values: readonly number[] | null; readonly squeezed: boolean };

// Bounds are usually near the end, where steps are still stored.
const bound = fc.option(fc.oneof({ weight: 4, arbitrary: fc.integer({ min: -3, max: 3 }) }, { weight: 1, arbitrary: fc.integer({ min: -9, max: 9 }) }));
const index = fc.oneof(
  fc.integer({ min: -4, max: 3 }),
  fc.tuple(bound, bound, fc.option(fc.constantFrom(-2, -1, 1, 2, 3))),
  fc.array(fc.integer({ min: -4, max: 2 }), { minLength: 1, maxLength: 4 }).map((list) => ({ list })),
);
type Index = typeof index extends fc.Arbitrary<infer T> ? T : never;
const column = fc.tuple(fc.constantFrom(...NAMES), index);
const op = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("append" as const), names: fc.subarray([...NAMES], { minLength: 1 }), partial: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("append" as const), names: fc.constant([...NAMES]), partial: fc.constant(false) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("item" as const), columns: fc.array(column, { minLength: 1, maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("end" as const), clear: fc.boolean() }) },
);

/** Implements the rules of a history on a list of steps. */
class Twin {
  readonly steps: Step[] = [];
  readonly keeps: { readonly [K in Name]: number };
  start = 0;
  open = false;
  seen = new Set<Name>();

  constructor(keeps: { readonly [K in Name]: number }) {
    this.keeps = keeps;
  }

  append(step: Step, partial: boolean): boolean {
    if (this.open && Object.keys(step).some((name) => name in (this.steps.at(-1) as Step))) return false;
    if (!this.open) this.steps.push({});
    Object.assign(this.steps.at(-1) as Step, step);
    for (const name in step) this.seen.add(name as Name);
    this.open = partial;
    return true;
  }

  pick(name: Name, how: Index): Want {
    const here = this.steps.slice(this.start);
    const n = here.length;
    const squeezed = typeof how === "number";
    const indices = squeezed ? [how] : "list" in how ? how.list : sliced(how, n);
    if (indices === null || indices.length === 0 || indices.some((i) => i < -n || i >= n)) return { values: null, squeezed };
    const numbers = indices.map((i) => (i < 0 ? i + n : i));
    const values = numbers.map((i) => (i >= n - this.keeps[name] ? here[i]?.[name] : undefined));
    return { values: values.includes(undefined) ? null : (values as number[]), squeezed };
  }
}

/** Returns a Python slice, step by step, or null for a slice that begins before the first step. */
function sliced([start, stop, step]: readonly [number | null, number | null, number | null], n: number): number[] | null {
  if (start !== null && start < -n) return null;
  const by = step ?? 1;
  const all = Array.from({ length: n }, (_, i) => i);
  const place = (at: number) => (at < 0 ? at + n : at);
  const from = start === null ? (by > 0 ? 0 : n - 1) : place(start);
  const to = stop === null ? (by > 0 ? n : -1) : Math.max(place(stop), -1);
  // Takes the steps between the ends, in the direction of the step, and then every |step|-th of these steps.
  const between = by > 0 ? all.filter((i) => i >= from && i < to) : all.filter((i) => i <= from && i > to).reverse();
  return between.filter((_, k) => k % Math.abs(by) === 0);
}

function picked(history: { readonly [K in Name]?: HistoryColumn }, name: Name, how: Index): TrajectoryColumn {
  const column = history[name] as HistoryColumn;
  if (typeof how === "number") return column.at(how);
  return "list" in how ? column.list(how.list) : column.slice(...how);
}

test("a TrajectoryWriter creates the items of a list of steps, and rejected calls change nothing", () => {
  let [made, refused] = [0, 0];
  fc.assert(
    fc.property(fc.array(op, { minLength: 5, maxLength: 40 }), fc.tuple(...NAMES.map(() => fc.integer({ min: 3, max: 7 }))), (ops, [a = 1, b = 1, c = 1]) => {
      const client = LocalClient.of({ spec: { a: i32(), b: f64(2), c: i32() }, tables: [{ name: "t", maxSize: 50, sampler: fifo(), maxTimesSampled: 1 }] });
      const writer = client.trajectoryWriter({ numKeepAliveRefs: 2 });
      const keeps = { a, b, c };
      for (const name of NAMES) writer.configure([name], { numKeepAliveRefs: keeps[name] });
      const twin = new Twin(keeps);
      const table = client.table("t");
      let value = 0;
      // A Replay supports a limited number of column layouts.
      for (const one of ops) {
        if (one.kind === "append") {
          const step: Step = Object.fromEntries(one.names.map((name) => [name, ++value]));
          const { b: pair, ...rest } = step;
          const given = pair === undefined ? rest : { ...rest, b: [pair, -pair] };
          if (twin.append(step, one.partial)) writer.append(given, { partialStep: one.partial });
          else expect(() => writer.append(given, { partialStep: one.partial })).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH" }));
        } else if (one.kind === "end") {
          writer.endEpisode({ clearBuffers: one.clear });
          twin.open = false;
          if (one.clear) twin.start = twin.steps.length;
        } else {
          if (one.columns.some(([name]) => !twin.seen.has(name))) continue;
          const wanted = one.columns.map(([name, how]) => ({ name, ...twin.pick(name, how) }));
          const history = writer.history as { readonly [K in Name]?: HistoryColumn };
          expect(history.a?.length ?? history.b?.length ?? history.c?.length).toBe(twin.steps.length - twin.start);
          const item = () => Object.fromEntries(one.columns.map(([name, how], i) => [`${i}`, picked(history, name, how)]));
          if (wanted.some(({ values }) => values === null)) {
            expect(() => writer.createItem("t", 1, item())).toThrow(RangeError);
            refused++;
          } else {
            const columns = item();
            wanted.forEach(({ name, values }, i) => {
              const { data } = (columns[i] as TrajectoryColumn).values();
              expect(Array.from(data, Number)).toEqual(both(name, values as number[]));
            });
            writer.createItem("t", 1, columns);
            made++;
            const { steps } = table.sample(1, { cross: true }) as unknown as { steps: { [name: string]: { data: ArrayLike<number>; shape: number[] } } };
            wanted.forEach(({ name, values, squeezed }, i) => {
              const { data, shape } = steps[i] as { data: ArrayLike<number>; shape: number[] };
              expect([...Array.from(data)]).toEqual(both(name, values as number[]));
              expect(shape).toEqual([1, ...(squeezed ? [] : [values?.length]), ...(name === "b" ? [2] : [])]);
            });
          }
        }
        expect(writer.episodeSteps).toBeLessThanOrEqual(twin.steps.length);
      }
      writer.close();
      expect(client.replay.stats()).toMatchObject({ steps: 0, writers: 0 });
    }),
    { numRuns: scaled(400), seed: 9 },
  );
  // A random item is usually rejected; this checks that both outcomes occur often enough.
  expect(made).toBeGreaterThan(scaled(300));
  expect(refused).toBeGreaterThan(scaled(300));
});

/** Returns the stored elements for values of the twin. A value of leaf b is stored as a pair. */
function both(name: Name, values: readonly number[]): number[] {
  return name === "b" ? values.flatMap((value) => [value, -value]) : [...values];
}
