/**
 * Compares structured writers and pattern datasets with a naive implementation based on the documents. Configs and steps are random, and all items are compared
 * after each call.
 */
import { expect, test } from "vitest";
import { type Column, fifo, type Spec } from "../../src/index.ts";
import { type Config, LocalClient, PatternDataset, type StructuredWriter } from "../../src/tf-agents/index.ts";
import { nestedColumn } from "../conformance/nested.ts";
import { ourSpec } from "../conformance/step-spec.ts";
import { configOf } from "../conformance/structured/configs.ts";
import { leavesOfCase } from "../conformance/structured/departures.ts";
import { TestRandom } from "../support/random.ts";
import { some } from "../support/size.ts";
import { config, given, node, pattern, randomStep, SPEC, TABLES } from "../support/structured-random.ts";
import { reachOf, StructuredTwin, type TwinItem, type TwinNode } from "../support/structured-twin.ts";

const SEEDS = Array.from({ length: 100 }, (_, seed) => seed);
const OPERATIONS = 60;
const plain = (value: unknown): unknown => (Array.isArray(value) ? value.map(plain) : Math.fround(Number(value)));
const comparable = ({ table, priority, columns }: TwinItem) => ({ table, priority: Math.fround(priority), columns: columns.map(plain) });

/** Draws all items of the tables, whose limits allow one draw per item. */
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

test.each(some(SEEDS).map((seed) => [seed] as const))("a structured writer matches a twin based on the documents, seed %i", (seed) => {
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
      const values = randomStep(random, partialStep || twin.stepIsOpen ? 0.4 : chance);
      expected = twin.append(values, partialStep);
      const append = () => writer.append(given(values) as never, { partialStep });
      if (expected === undefined) expect(append).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH" }));
      else append();
    }
    expect({ i, items: drained(client), isOpen: writer.stepIsOpen }).toEqual({ i, items: byTable(expected ?? []), isOpen: twin.stepIsOpen });
  }
  client.replay.dispose();
});

test.each(some(SEEDS).map((seed) => [seed] as const))("a pattern dataset matches a twin based on the documents, seed %i", async (seed) => {
  const random = new TestRandom(5000 + seed);
  const nodes = [node(random), node(random)].map(({ field, at, slice }) => ({ field, ...(at === undefined ? { slice } : { at }) })) as [TwinNode, TwinNode];
  // Only the lengths of slices vary.
  const varied = nodes.map((one) => (one.slice === undefined ? one : { ...one, slice: [-1 - random.below(5), null, null] }));
  const theirs = [nodes, varied, nodes].slice(0, 1 + random.below(3)).map(([x, y]) => ({ ...config(random, { x, y }), table: "t" }));
  const spec = ourSpec(SPEC);
  const steps = Array.from({ length: OPERATIONS }, () => randomStep(random, random.pick([1, 1, 0.7])));
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
