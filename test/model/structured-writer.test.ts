/** Structured writers and pattern datasets beside a naive one that was written from the documents: random configs and steps, every item compared after each call. */
import { expect, test } from "vitest";
import { type Config, LocalClient, PatternDataset, type StructuredWriter } from "../../src/agents/index.ts";
import { type Column, fifo, type Spec } from "../../src/index.ts";
import { nestedColumn } from "../conformance/nested.ts";
import { ourSpec } from "../conformance/step-spec.ts";
import { configOf } from "../conformance/structured/configs.ts";
import { leavesOfCase } from "../conformance/structured/departures.ts";
import { TestRandom } from "../support/random.ts";
import { some } from "../support/size.ts";
import { reachOf, StructuredTwin, type TwinCondition, type TwinConfig, type TwinItem, type TwinNode } from "../support/structured-twin.ts";

const SEEDS = Array.from({ length: 100 }, (_, seed) => seed);
const OPERATIONS = 60;
const TABLES = ["t", "u"];

const SPEC = {
  a: { dtype: "int32", shape: [] },
  b: { dtype: "float32", shape: [] },
  flag: { dtype: "bool", shape: [] },
  deep: { pair: { dtype: "float64", shape: [2] }, long: { dtype: "int64", shape: [] }, one: { dtype: "uint8", shape: [1] } },
};
const FIELDS = ["a", "b", "flag", ["deep", "pair"], ["deep", "long"], ["deep", "one"]];
/** Those that may be compared. */
const SCALARS = ["a", "b", "flag", ["deep", "long"], ["deep", "one"]];
const OPS = ["==", "!=", "<", "<=", ">", ">="] as const;

function node(random: TestRandom): TwinNode {
  const field = random.pick(FIELDS);
  const start = -1 - random.below(5);
  if (random.below(3) === 0) return { field, at: start };
  const stop = random.below(2) === 0 ? null : random.below(-start) + start + 1;
  return { field, slice: [start, stop, random.pick([null, 1, 2, 3])] };
}

function condition(random: TestRandom): TwinCondition {
  const of = random.pick(["step_index", "steps_since_applied", "data", "data"] as const);
  const isSingle = random.below(3) > 0;
  const mod = isSingle ? undefined : 1 + random.below(4);
  const [op, value] = [random.pick(OPS), random.below(5)];
  return { of, ...(of === "data" ? { field: random.pick(SCALARS) } : {}), ...(mod === undefined ? {} : { mod }), op, value };
}

function config(random: TestRandom, pattern: unknown): TwinConfig {
  const conditions: TwinCondition[] = Array.from({ length: random.below(3) }, () => condition(random));
  if (random.below(4) === 0) conditions.push({ of: "is_end_episode" });
  const priority = random.pick([undefined, 2.5, 0, { td_error: 0.75, field: random.pick(["a", "b", ["deep", "long"]]) }]);
  return { pattern, table: random.pick(TABLES), conditions, ...(priority === undefined ? {} : { priority }) };
}

function pattern(random: TestRandom): unknown {
  const made = [random.below(5) === 0 ? [node(random), node(random)] : node(random), { y: node(random) }];
  const shape = random.below(6);
  return shape === 0 ? made[0] : { z: made[0], x: made[1] };
}

type Step = Map<string, unknown>;

function step(random: TestRandom, chance: number): Step {
  const values: [string, unknown][] = [
    ["a", random.below(9) - 4],
    ["b", random.below(9) / 4 - 1],
    ["flag", random.below(2) === 1],
    ["deep.pair", [random.next(), random.next()]],
    ["deep.long", random.below(6)],
    ["deep.one", [random.below(4)]],
  ];
  return new Map(values.filter(() => random.next() < chance));
}

/** As it is appended, null where it has no value. */
function given(values: Step): unknown {
  const at = (path: string) => values.get(path) ?? null;
  return { a: at("a"), b: at("b"), flag: at("flag"), deep: { pair: at("deep.pair"), long: at("deep.long"), one: at("deep.one") } };
}

const plain = (value: unknown): unknown => (Array.isArray(value) ? value.map(plain) : Math.fround(Number(value)));
const comparable = ({ table, priority, columns }: TwinItem) => ({ table, priority: Math.fround(priority), columns: columns.map(plain) });

/** All that the tables have, which gives it once. */
function drained(client: LocalClient): unknown[] {
  return TABLES.flatMap((table) => {
    const from = client.table(table);
    return Array.from({ length: from.size }, () => {
      const { steps, info } = from.sample(1, { cross: true });
      const columns = (Object.values(steps as object) as Column[]).map(({ data, shape }) => nestedColumn({ data, shape: shape.slice(1) } as Column));
      return comparable({ table, priority: info.priorities[0] as number, columns });
    });
  });
}

const byTable = (items: readonly TwinItem[]) => TABLES.flatMap((table) => items.filter((item) => item.table === table).map(comparable));

test.each(some(SEEDS).map((seed) => [seed] as const))("a structured writer does what the documents say, seed %i", (seed) => {
  const random = new TestRandom(1000 + seed);
  const theirs = Array.from({ length: 1 + random.below(4) }, () => config(random, pattern(random)));
  const spec = ourSpec(SPEC);
  const tables = TABLES.map((name) => ({ name, maxSize: 100, sampler: fifo(), maxTimesSampled: 1 }));
  const client = LocalClient.of<Spec>({ spec, tables, maxBytes: 2 ** 24, logger: null });
  const writer: StructuredWriter = client.structuredWriter(theirs.map((one) => configOf(one, spec)));
  const twin = new StructuredTwin(leavesOfCase(SPEC), theirs);
  const chance = random.pick([1, 0.95, 0.7]);
  for (let i = 0; i < OPERATIONS; i++) {
    let expected: TwinItem[] | undefined;
    if (random.below(8) === 0) {
      const clearBuffers = random.below(2) === 0;
      expected = twin.ending();
      twin.end(clearBuffers);
      expect(writer.endEpisode({ clearBuffers })).toBe(undefined);
    } else {
      const partialStep = random.below(3) === 0;
      const values = step(random, partialStep || twin.stepIsOpen ? 0.4 : chance);
      expected = twin.append(values, partialStep);
      const append = () => writer.append(given(values) as never, { partialStep });
      if (expected === undefined) expect(append).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH" }));
      else append();
    }
    expect({ i, items: drained(client), isOpen: writer.stepIsOpen }).toEqual({ i, items: byTable(expected ?? []), isOpen: twin.stepIsOpen });
  }
  client.replay.dispose();
});

test.each(some(SEEDS).map((seed) => [seed] as const))("a pattern dataset does what the documents say, seed %i", async (seed) => {
  const random = new TestRandom(5000 + seed);
  const nodes = [node(random), node(random)].map(({ field, at, slice }) => ({ field, ...(at === undefined ? { slice } : { at }) })) as [TwinNode, TwinNode];
  // One form: slices may have other lengths.
  const varied = nodes.map((one) => (one.slice === undefined ? one : { ...one, slice: [-1 - random.below(5), null, null] }));
  const theirs = [nodes, varied, nodes].slice(0, 1 + random.below(3)).map(([x, y]) => ({ ...config(random, { x, y }), table: "t" }));
  const spec = ourSpec(SPEC);
  const steps = Array.from({ length: OPERATIONS }, () => step(random, random.pick([1, 1, 0.7])));
  const ends = steps.map(() => random.below(9) === 0);
  const respectEpisodeBoundaries = random.below(2) === 0;
  const needs = theirs.map((_, k) => Math.max(...theirs.slice(0, k + 1).map(reachOf)));
  const twin = new StructuredTwin(leavesOfCase(SPEC), theirs, needs);
  const expected = steps.flatMap((values, i) => {
    const items = twin.append(values, false) as TwinItem[];
    if (ends[i]) {
      items.push(...twin.ending());
      twin.end(respectEpisodeBoundaries);
    }
    return items.map(({ columns }) => columns.map(plain));
  });
  const configs = theirs.map((one) => configOf(one, spec)) as Config<{ x: never; y: never }>[];
  const source = steps.map((values, i) => ({ step: given(values), end: ends[i] as boolean }));
  let n = 0;
  const dataset = new PatternDataset({ [Symbol.iterator]: () => source.map((one) => one.step)[Symbol.iterator]() }, configs, {
    respectEpisodeBoundaries,
    isEndOfEpisode: () => ends[n++ % ends.length] as boolean,
  });
  const shown = ({ x, y }: { x: Column; y: Column }) => [x, y].map((column) => nestedColumn(column)).map(plain);
  const atOnce = Array.from(dataset as Iterable<{ x: Column; y: Column }>, shown);
  expect(atOnce).toEqual(expected);
  const later: unknown[] = [];
  const reader = dataset.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    later.push(shown(value as never));
  }
  expect(later).toEqual(expected);
});
