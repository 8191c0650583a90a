/** Tests warnings: each kind of probable mistake is logged once and counted, and definite mistakes throw. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { bool, type ColumnSet, f32, fifo, i32, lifo, maxHeap, minHeap, prioritized, Replay, type ReplayOptions, uniform } from "../../src/index.ts";
import { LocalClient, ReverbReplayBuffer } from "../../src/tf-agents/index.ts";
import { errorOf } from "../support/refused.ts";
import { some } from "../support/size.ts";

const SPEC = { observation: f32(2), action: i32(), reward: f32() };
const STEP = { observation: [1, 2], action: 1, reward: 1 };
type Columns = ColumnSet<typeof SPEC>;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Creates a Replay with one table, and records the messages to its logger. */
function told(options: Partial<ReplayOptions> = {}) {
  const said: string[] = [];
  const replay = new Replay({ spec: SPEC, tables: { t: { maxSize: 100, ...options.tables?.t } }, logger: (message) => void said.push(message) });
  return { replay, table: replay.tables.t, said };
}

function steps(writer: { append(step: typeof STEP): void }, n: number): void {
  for (let i = 0; i < n; i++) writer.append(STEP);
}

/** Samples an empty table, the simplest way to cause a warning. */
function warns(replay: Replay<typeof SPEC, "t">): void {
  steps(replay.writer(), 10);
  for (let i = 0; i < 3; i++) replay.tables.t.sample(4);
}

test("logger is console.warn by default, a function, an object with warn, or null", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const options = { spec: SPEC, tables: { t: { maxSize: 10 } } };
  warns(new Replay(options));
  expect(warn).toHaveBeenCalledTimes(1);
  const said: string[] = [];
  warns(new Replay({ ...options, logger: (message) => void said.push(message) }));
  warns(new Replay({ ...options, logger: { warn: (message: string) => void said.push(message) } }));
  warns(new Replay({ ...options, logger: null }));
  expect(said).toHaveLength(2);
  expect(warn).toHaveBeenCalledTimes(1);
  expect(said[0]).toBe(warn.mock.calls[0]?.[0]);
  warns(new Replay({ ...options, logger: console }));
  expect(warn).toHaveBeenCalledTimes(2);
  expect(errorOf(() => new Replay({ ...options, logger: {} as never }))).toMatchObject({
    name: "TypeError",
    message: expect.stringMatching(/^logger must .*got an object without keys/),
  });
});

test("a repeated warning is logged once per Replay, and counted every time", () => {
  const { replay, said } = told();
  const none = {
    emptyTable: 0,
    barrenEpisodes: 0,
    shortReturns: 0,
    lostRewards: 0,
    unseenEnds: 0,
    nanValues: 0,
    defaultPriority: 0,
    ignoredPriorities: 0,
    unusedPrefetch: 0,
    leftWriters: 0,
  };
  expect(replay.stats().warnings).toEqual(none);
  warns(replay as never);
  expect(said).toHaveLength(1);
  expect(replay.stats().warnings).toEqual({ ...none, emptyTable: 3 });
});

test("a restored Replay has its own logger and counters", () => {
  const { replay, said } = told();
  warns(replay as never);
  const again: string[] = [];
  const restored = Replay.restore<typeof SPEC, "t">([...replay.snapshot()], { logger: (message) => void again.push(message) });
  warns(restored);
  expect([said.length, again.length]).toEqual([1, 1]);
  expect(restored.options).toEqual(replay.options);
  expect(errorOf(() => Replay.restore([...replay.snapshot()], { log: null } as never)).message).toMatch(/has no option "log"\..* Options: module, logger/);
});

test("append(undefined) throws, and does not append the staged step", () => {
  const { replay } = told();
  const writer = replay.writer();
  const message = expect.stringMatching(/^step .*writer\.staged/);
  expect(errorOf(() => writer.append(undefined as never))).toMatchObject({ name: "TypeError", message });
  expect(replay.stats().steps).toBe(0);
  writer.staged.reward = 1;
  writer.append();
  expect(replay.stats().steps).toBe(1);
});

test("a draw warns about an empty table without a rule or createItem calls", () => {
  const { replay, table, said } = told();
  const writer = replay.writer();
  steps(writer, 4);
  table.sample(4);
  expect(said).toEqual([]);
  steps(writer, 1);
  expect(table.sample(4)).toMatchObject({ count: 0, blocked: { by: "minSize" } });
  expect(said).toEqual([expect.stringMatching(/^reprise: table "t" is empty, because no writer has a rule for it .*items: \[\{ table: "t"/)]);
});

test("a draw warns about an empty table whose rules are longer than all episodes", () => {
  const { replay, table, said } = told();
  const writer = replay.writer({ items: [{ table: "t", length: 5 }] });
  // Episodes without items cause a separate warning.
  const ofTable = () => said.filter((message) => message.includes("table"));
  steps(writer, 3);
  writer.endEpisode();
  table.sample(1);
  steps(writer, 2);
  table.sample(1);
  expect(ofTable()).toEqual([]);
  steps(writer, 1);
  writer.endEpisode();
  table.sample(1);
  expect(ofTable()).toEqual([expect.stringMatching(/^reprise: table "t" is empty, because .* 5 steps .*length, or call createItem/)]);
});

test("there is no warning about a table whose items were drawn or cleared", () => {
  const { replay, table, said } = told({ tables: { t: { maxSize: 10, maxTimesSampled: 1 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  steps(writer, 10);
  table.sample(10);
  expect(table.sample(10).count).toBe(0);
  steps(writer, 10);
  table.clear();
  expect(table.sample(10).count).toBe(0);
  expect(said).toEqual([]);
});

const N_STEP = { n: 3, gamma: 0.9, reward: "reward" } as const;

test("a view rejects n-step returns of items of one step", () => {
  const { replay, table } = told();
  steps(replay.writer({ items: [{ table: "t", length: 1 }] }), 5);
  expect(errorOf(() => table.sample(2, { nStep: N_STEP }))).toMatchObject({
    name: "RangeError",
    message: expect.stringMatching(
      /^the length of the longest item of table "t" must be at least 2 for nStep, .*, got 1\. .*length: 4 or nStep: 3.*nextState: "own"/,
    ),
  });
  expect(table.stats().samples).toBe(0);
  expect(table.sample(2, { nStep: { ...N_STEP, n: 1, nextState: "own" } }).nStep.returns[0]).toBe(1);
});

test("a view rejects n-step returns of windows of one step", () => {
  const { replay, table } = told();
  steps(replay.writer({ items: [{ table: "t", length: 4 }] }), 5);
  expect(errorOf(() => table.sample(2, { nStep: N_STEP, length: 1 })).message).toMatch(
    /^length must be at least 2 for nStep, .*, got 1\. To make items of 4 steps/,
  );
});

test("a draw warns about n-step returns if no item is long enough", () => {
  const { replay, table, said } = told();
  steps(replay.writer({ items: [{ table: "t", length: 3 }] }), 5);
  for (let i = 0; i < 3; i++) expect(table.sample(2, { nStep: N_STEP }).nStep.steps).toEqual(new Uint32Array([2, 2]));
  expect(said).toEqual([expect.stringMatching(/^reprise: nStep with n 3 .* at most 2 steps, .* table "t" is 3\. .*length: 4 or nStep: 3 in their rule$/)]);
  expect(replay.stats().warnings.shortReturns).toBe(3);
});

test("there is no warning about n-step returns if some item is long enough", () => {
  const { replay, table, said } = told();
  const writer = replay.writer({ items: [{ table: "t", length: 4 }] });
  steps(writer, 2);
  writer.createItem("t", { length: 2 });
  table.sample(2, { nStep: N_STEP });
  steps(writer, 2);
  table.sample(2, { nStep: N_STEP });
  expect(said).toEqual([]);
});

describe("rules of two steps and a plain endEpisode", () => {
  const spec = { ...SPEC, done: bool() };
  const tables = { t: { maxSize: 100, sampler: fifo() } };
  const message = expect.stringMatching(
    /^reprise: the last step of an episode in table "t" has a reward or a terminal flag .*endEpisode\(\{ final, terminated \}\)/,
  );
  /** Plays three episodes of four steps; the last step of each has the given values. */
  function lived(last: object, end: object = {}) {
    const said: string[] = [];
    const replay = new Replay({ spec, tables, transition: { terminated: "done" }, logger: (text) => void said.push(text) });
    const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
    for (let t = 0; t < 12; t++) {
      writer.append({ ...STEP, reward: 0, done: false, ...(t % 4 === 3 && last) });
      if (t % 4 === 3) writer.endEpisode(end);
    }
    return { replay, table: replay.tables.t, said };
  }

  test.each([{ reward: 1 }, { done: true }])("cause a warning if no return counts the last step: %o", (last) => {
    const { replay, table, said } = lived(last);
    for (let i = 0; i < 3; i++) table.sample(9, { replacement: false, nStep: { n: 1, gamma: 0.9, reward: "reward", terminal: "done" } });
    expect(said).toEqual([message]);
    expect(replay.stats().warnings.lostRewards).toBe(3);
  });

  test("cause a warning in views of transitions", () => {
    const { table, said } = lived({ reward: 1 });
    table.transitions({ gamma: 0.9 }).sample(9, { replacement: false });
    expect(said).toEqual([message]);
  });

  test("cause no warning without a last reward, with a final step, or with their own next state", () => {
    for (const each of [lived({}), lived({ reward: 1 }, { final: { observation: [3, 4] }, terminated: true })]) {
      each.table.sample(9, { replacement: false, nStep: { n: 1, gamma: 0.9, reward: "reward", terminal: "done" } });
      each.table.transitions({ gamma: 0.9 }).sample(9, { replacement: false });
      expect(each.said).toEqual([]);
    }
    const own = lived({ reward: 1 });
    own.table.sample(9, { replacement: false, nStep: { n: 2, gamma: 0.9, reward: "reward", nextState: "own" } });
    expect(own.said).toEqual([]);
  });
});

test('a view warns if nextState: "own" ignores that episodes terminated', () => {
  const spec = { ...SPEC, done: bool() };
  const own = { n: 1, gamma: 0.9, reward: "reward", nextState: "own" } as const;
  const lived = (length: number, terminated: boolean) => {
    const said: string[] = [];
    const replay = new Replay({ spec, tables: { t: { maxSize: 9, sampler: fifo() } }, logger: (message) => void said.push(message) });
    const writer = replay.writer({ items: [{ table: "t", length }] });
    for (const done of [false, false, terminated]) writer.append({ ...STEP, done });
    writer.endEpisode({ terminated, final: {} });
    return { replay, table: replay.tables.t, said };
  };
  const { replay, table, said } = lived(1, true);
  for (let i = 0; i < 2; i++) table.sample(3, { nStep: own });
  expect(said).toEqual([
    expect.stringMatching(/^reprise: nStep .* episodes of table "t" terminated: .*nStep.terminal or nStep.discount, or make items of 2 steps$/),
  ]);
  expect(replay.stats().warnings.unseenEnds).toBe(2);
  table.sample(3, { nStep: { ...own, terminal: "done" } });
  expect(replay.stats().warnings.unseenEnds).toBe(2);
  const [longer, cut] = [lived(2, true), lived(1, false)];
  expect(longer.table.sample(3, { replacement: false, nStep: own }).nStep.terminated).toEqual(new Uint8Array([0, 0, 1]));
  cut.table.sample(3, { nStep: own });
  expect([longer.said, cut.said]).toEqual([[], []]);
});

test.each<[Columns, string]>([
  [{ x: { leaf: "reward", at: 3 } }, "x.at must be in -2 … 1, because {} got 3"],
  [{ x: { leaf: "reward", at: -3 } }, "x.at must be in -2 … 1, because {} got -3"],
  [{ x: { leaf: "reward", at: 0 }, y: { leaf: "reward", steps: [0, 3] } }, "y.steps must be in -2 … 1, because {} got 3"],
])("rules, createItem and sample reject a column of a step outside the item: %o", (columns, message) => {
  const { replay, table } = told();
  const because = (why: string) => message.replace("{}", `${why},`);
  const rule = errorOf(() => replay.writer({ items: [{ table: "t", length: 2, columns }] }));
  expect(rule).toMatchObject({ name: "RangeError", message: `items[0].columns.${because("the rule makes items of 2 steps")}` });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  steps(writer, 5);
  const item = errorOf(() => writer.createItem("t", { length: 2, columns }));
  expect(item).toMatchObject({ name: "RangeError", message: `columns.${because("the item has 2 steps")}` });
  const sample = errorOf(() => table.sample(2, { columns }));
  expect(sample).toMatchObject({ name: "RangeError", message: `columns.${because('the length of the longest item of table "t" is 2')}` });
  const batch = errorOf(() => table.batch(2, { columns, length: 2 }));
  expect(batch).toMatchObject({ name: "RangeError", message: `columns.${because("length is 2")}` });
  expect(table.stats()).toMatchObject({ size: 4, samples: 0 });
  // The longer item contains the requested step, and shorter items are padded to its length.
  writer.createItem("t", { length: 4 });
  expect(table.sample(2, { columns }).count).toBe(2);
});

test("a column may list steps before its item, and is padded with zeros", () => {
  const { replay, table } = told({ tables: { t: { maxSize: 10, sampler: fifo() } } });
  const writer = replay.writer();
  steps(writer, 2);
  writer.createItem("t", { length: 2, columns: { history: { leaf: "reward", steps: [-4, -3, -2, -1] } } });
  expect((table.sample(1).steps as unknown as { history: { data: unknown } }).history.data).toEqual(new Float32Array([0, 0, 1, 1]));
});

test("updatePriorities warns about priorities above 1 if a rule gives new items priority 1", () => {
  const { replay, table, said } = told({ tables: { t: { maxSize: 100, sampler: prioritized(1) } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  steps(writer, 4);
  const { keys } = table.sample(4).info;
  table.updatePriorities(keys, [0.5, 0.2, 1, 0.1]);
  expect(said).toEqual([]);
  for (let i = 0; i < 3; i++) table.updatePriorities(keys, [0.5, 50, 1, 70]);
  expect(said).toEqual([expect.stringMatching(/^reprise: a rule for table "t" .*priority 1 by default, .*\(50\).*"max"/)]);
  expect(replay.stats().warnings.defaultPriority).toBe(3);
  writer.close();
  table.updatePriorities(keys, [9, 9, 9, 9]);
  expect(replay.stats().warnings.defaultPriority).toBe(3);
});

test("there is no warning about rules with nStep or with priority set to max", () => {
  for (const rule of [{ nStep: 1 }, { length: 2, priority: "max" as const }]) {
    const { replay, table, said } = told({ tables: { t: { maxSize: 100, sampler: prioritized(1) } } });
    steps(replay.writer({ items: [{ table: "t", ...rule }] }), 4);
    table.updatePriorities(table.sample(4).info.keys, [9, 9, 9, 9]);
    expect([said, replay.stats().warnings.defaultPriority]).toEqual([[], 0]);
  }
});

test.each([{ sampler: prioritized(1), priority: 1 }, { sampler: fifo() }])(
  "does not warn about priorities above 1 with an explicit priority or without prioritized: %o",
  (of) => {
    const { sampler, ...rule } = of as { sampler: ReturnType<typeof fifo>; priority?: number };
    const { replay, table, said } = told({ tables: { t: { maxSize: 100, sampler } } });
    steps(replay.writer({ items: [{ table: "t", length: 1, ...rule }] }), 4);
    table.updatePriorities(table.sample(4).info.keys, [50, 50, 50, 50]);
    expect(replay.stats().warnings.defaultPriority).toBe(0);
    // A fifo sampler causes one additional warning.
    expect(said).toHaveLength(Number(sampler.kind === "fifo"));
  },
);

describe("ignoredPriorities", () => {
  const SELECTORS = { fifo: fifo(), lifo: lifo(), uniform: uniform(), prioritized: prioritized(), minHeap: minHeap(), maxHeap: maxHeap() };
  type Name = keyof typeof SELECTORS;
  const IGNORING: readonly Name[] = ["fifo", "lifo", "uniform"];

  /** Creates two tables with the given roles and five items each, and records the messages to the logger. */
  function weighed(sampler: Name, remover: Name) {
    const said: string[] = [];
    const table = { maxSize: 100, sampler: SELECTORS[sampler], remover: SELECTORS[remover] };
    const replay = new Replay({ spec: SPEC, tables: { t: table, other: table }, logger: (message) => void said.push(message) });
    const writer = replay.writer({ items: ["t", "other"].map((table) => ({ table: table as "t" | "other", length: 2 })) });
    steps(writer, 6);
    return { replay, ...replay.tables, key: writer.lastKey("t"), said };
  }

  const CALLS: { readonly [call: string]: (of: ReturnType<typeof weighed>) => unknown } = {
    "sample with beta": ({ t }) => t.sample(2, { beta: 0.4 }),
    "sample with beta, into": ({ t }) => t.sample(2, { beta: 0.4, into: t.batch(2, { length: 2, beta: 1 }) }),
    sampleWhenReady: ({ t }) => t.sampleWhenReady(2, { beta: 0.4 }),
    dataset: ({ t }) => t.dataset({ batchSize: 2, beta: 0.4 })[Symbol.iterator]().next(),
    transitions: ({ t }) => t.transitions({ gamma: 1 }).sample(2, { beta: 0.4 }),
    "transitions.dataset": ({ t }) => t.transitions({ gamma: 1 }).dataset({ batchSize: 2, beta: 0.4 })[Symbol.iterator]().next(),
    updatePriorities: ({ t, key }) => t.updatePriorities([key], [3]),
    "updatePriorities of a buffer": ({ replay, key }) => new ReverbReplayBuffer(SPEC, { client: replay, tableName: "t" }).updatePriorities([key], [3]),
  };

  test.each(some(Object.keys(CALLS), 2))("%s warns once per table if neither sampler nor remover uses priorities", async (name) => {
    const call = CALLS[name] as (typeof CALLS)[string];
    for (const sampler of Object.keys(SELECTORS) as Name[]) {
      for (const remover of Object.keys(SELECTORS) as Name[]) {
        const of = weighed(sampler, remover);
        for (let i = 0; i < 3; i++) await call(of);
        const isIgnored = IGNORING.includes(sampler) && IGNORING.includes(remover);
        expect([sampler, remover, of.said.length]).toEqual([sampler, remover, Number(isIgnored)]);
        expect(of.replay.stats().warnings.ignoredPriorities).toBe(isIgnored ? 3 : 0);
        if (!isIgnored) continue;
        expect(of.said[0]).toMatch(/^reprise: (beta|updatePriorities) has no effect on table "t": .*prioritized/);
        of.other.sample(2, { beta: 1 });
        of.other.updatePriorities([of.other.sample(1).info.keys[0] as number], [2]);
        expect(of.said).toHaveLength(2);
        expect(of.said[1]).toContain('"other"');
      }
    }
  });

  test("does not warn about calls without priorities, or about mutatePriorities", () => {
    const of = weighed("uniform", "fifo");
    of.t.sample(2);
    of.t.transitions({ gamma: 1 }).sample(2);
    of.t.updatePriorities([], []);
    of.t.batch(2, { length: 2, beta: 1 });
    const client = new LocalClient(of.replay);
    client.mutatePriorities("t", { deletes: [of.key] });
    const [key = 0] = of.t.sample(1).info.keys;
    client.mutatePriorities("t", { updates: [[key, 7]] });
    expect(of.t.explain(key).priority).toBe(7);
    expect(of.said).toEqual([]);
  });
});
