/** Tests ways to inspect contents: columns one by one, batches as plain values, and objects in a console. */
import { inspect } from "node:util";
import { describe, expect, expectTypeOf, test } from "vitest";
import { bool, type Column, f32, fifo, i32, i64, prioritized, Replay, text, uniform } from "../../src/index.ts";
import { remoteWriter } from "../../src/remote/index.ts";
import { errorOf } from "../support/refused.ts";

const SPEC = {
  observation: { image: f32(2, 2), speed: f32() },
  action: [i64(), f32(3)],
  crashed: bool(),
  word: text({ maxBytes: 4 }),
  words: text({ maxBytes: 4 }, 2),
} as const;

/** Creates three items of two steps. */
function filled() {
  const replay = new Replay({ spec: SPEC, tables: { t: { maxSize: 10, sampler: fifo(), remover: fifo() } } });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  for (let t = 0; t < 4; t++) {
    const image = [
      [t, t + 0.5],
      [-t, 1],
    ];
    writer.append({ observation: { image, speed: t }, action: [BigInt(t), [t, 0, 1]], crashed: t === 3, word: `w${t}`, words: ["a", `${t}`] });
  }
  return { replay, writer, table: replay.tables.t };
}

/** Returns a batch that contains each item once. */
function all(length = 2) {
  const { writer, table } = filled();
  writer.createItem("t", { length: 1 });
  return table.sample(4, { replacement: false, length });
}

describe("a column", () => {
  test("at(i) returns a view of an item, then of a step, and finally a number", () => {
    const { steps } = all();
    const { image } = steps.observation;
    const item = image.at(1);
    expect(item.shape).toEqual([2, 2, 2]);
    expect(item.data.buffer).toBe(image.data.buffer);
    const step = item.at(0);
    expect(step).toMatchObject({ shape: [2, 2], data: new Float32Array([1, 1.5, -1, 1]) });
    expect(step.at(0).at(-1)).toBe(1.5);
    step.data[0] = 7;
    expect(image.data[8]).toBe(7);
    expect(steps.action[0].at(-2).at(1)).toBe(3n);
    expectTypeOf(image.at(0)).toEqualTypeOf<Column<"f32", [number, 2, 2]>>();
    expectTypeOf(step.at(0).at(0)).toEqualTypeOf<number>();
    expectTypeOf(steps.action[0].at(0).at(0)).toEqualTypeOf<bigint>();
  });

  test("at(i) returns text for text leaves", () => {
    const { word, words } = all().steps;
    expect(word.at(1).at(0)).toBe("w1");
    expect(words.at(2).at(1)).toMatchObject({ shape: [2], data: ["a", "3"] });
    expectTypeOf(word.at(0).at(0)).toEqualTypeOf<string>();
  });

  test("iterates over the values that at returns", () => {
    const { steps } = all();
    expect([...steps.observation.speed].map((item) => [...item])).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 0],
    ]);
    let sum = 0;
    for (const item of steps.observation.speed) for (const value of item) sum += value;
    expect(sum).toBe(12);
  });

  test("toArray copies it to nested arrays", () => {
    const { observation, words } = all().steps;
    expect(observation.speed.toArray()).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 0],
    ]);
    expect(observation.image.at(1).at(0).toArray()).toEqual([
      [1, 1.5],
      [-1, 1],
    ]);
    expect(words.at(0).toArray()).toEqual([
      ["a", "0"],
      ["a", "1"],
    ]);
    expectTypeOf(observation.image.toArray()).toEqualTypeOf<number[][][][]>();
  });

  test.each([4, -5, 0.5, "0"])("rejects at(%o)", (i) => {
    const { speed } = all().steps.observation;
    expect(errorOf(() => speed.at(i as number)).message).toMatch(/^i must be an integer in -4 … 3, got/);
  });

  test("is empty if the batch has no items", () => {
    const { speed } = filled().table.sample(1, { replacement: false, among: 1, length: 1 }).steps.observation;
    expect([...speed]).toHaveLength(1);
    const empty = new Replay({ spec: f32(), tables: { t: { maxSize: 1 } } }).tables.t.sample(3).steps;
    expect([...empty]).toEqual([]);
    expect(empty.toArray()).toEqual([]);
    expect(errorOf(() => empty.at(0)).name).toBe("RangeError");
  });
});

describe("batch.toArray", () => {
  test("returns an object per item, without padding", () => {
    const items = all(3).toArray();
    expect(items).toHaveLength(4);
    expect(items[1]).toEqual({
      observation: {
        image: [
          [
            [1, 1.5],
            [-1, 1],
          ],
          [
            [2, 2.5],
            [-2, 1],
          ],
        ],
        speed: [1, 2],
      },
      action: [
        [1n, 2n],
        [
          [1, 0, 1],
          [2, 0, 1],
        ],
      ],
      crashed: [0, 0],
      word: ["w1", "w2"],
      words: [
        ["a", "1"],
        ["a", "2"],
      ],
    });
    expect(items[3]).toMatchObject({ observation: { speed: [3] }, crashed: [1], word: ["w3"] });
    expectTypeOf(items[0]?.observation.image).toEqualTypeOf<number[][][] | undefined>();
    expectTypeOf(items[0]?.action[0]).toEqualTypeOf<bigint[] | undefined>();
  });

  test("returns columns by name: single steps, runs without padding, and lists as requested", () => {
    const { writer, table } = filled();
    writer.createItem("t", { length: 1 });
    const columns = {
      last: { leaf: "observation.speed", at: -1 },
      run: { leaf: "observation.speed", from: 0 },
      history: { leaf: "observation.speed", steps: [-3, -2, -1] },
    } as const;
    expect(table.sample(4, { replacement: false, columns }).toArray()).toEqual([
      { last: 1, run: [0, 1], history: [0, 0, 1] },
      { last: 2, run: [1, 2], history: [0, 1, 2] },
      { last: 3, run: [2, 3], history: [0, 2, 3] },
      { last: 3, run: [3], history: [0, 0, 3] },
    ]);
  });

  test("returns as many items as the batch holds, even after a refill", () => {
    const replay = new Replay({ spec: f32(), tables: { t: { maxSize: 10, sampler: uniform(), maxTimesSampled: 1 } } });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    const into = replay.tables.t.batch(4, { length: 1 });
    writer.append(1);
    writer.append(1);
    expect(into.toArray()).toEqual([]);
    expect(replay.tables.t.sample(4, { into }).toArray()).toEqual([[1], [1]]);
  });
});

/** Returns two one-step transitions; the second one terminates. */
function transitions() {
  const spec = { observation: { image: f32(2, 2), name: text({ maxBytes: 4 }) }, action: i64(), reward: f32(), mask: bool(3) };
  const replay = new Replay({ spec, tables: { t: { maxSize: 10, sampler: fifo(), maxTimesSampled: 2 } } });
  const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
  const observation = (t: number) => ({ image: [t, 0, 0, 1], name: `s${t}` });
  for (let t = 0; t < 2; t++) writer.append({ observation: observation(t), action: BigInt(t), reward: t, mask: [1, 1, t] });
  writer.endEpisode({ final: { observation: observation(2), mask: [0, 0, 0] }, terminated: true });
  return replay.tables.t.transitions({ gamma: 0.5, n: 1, next: ["mask"] });
}

describe("toArray of a batch of transitions", () => {
  test("returns an object per transition, with the names of the columns", () => {
    const view = transitions();
    const items = view.sample(2, { replacement: false }).toArray();
    expect(items).toEqual([
      {
        ...{
          observation: {
            image: [
              [0, 0],
              [0, 1],
            ],
            name: "s0",
          },
          action: 0n,
          mask: [1, 1, 0],
        },
        ...{
          nextObservation: {
            image: [
              [1, 0],
              [0, 1],
            ],
            name: "s1",
          },
          nextMask: [1, 1, 1],
        },
        ...{ returns: 0, discounts: 0.5, steps: 1, terminated: 0, truncated: 0, keys: expect.any(Number) },
      },
      {
        ...{
          observation: {
            image: [
              [1, 0],
              [0, 1],
            ],
            name: "s1",
          },
          action: 1n,
          mask: [1, 1, 1],
        },
        ...{
          nextObservation: {
            image: [
              [2, 0],
              [0, 1],
            ],
            name: "s2",
          },
          nextMask: [0, 0, 0],
        },
        ...{ returns: 1, discounts: 0, steps: 1, terminated: 1, truncated: 0, keys: expect.any(Number) },
      },
    ]);
    expectTypeOf(items[0]?.observation.image).toEqualTypeOf<number[][] | undefined>();
    expectTypeOf(items[0]?.nextMask).toEqualTypeOf<number[] | undefined>();
    expectTypeOf(items[0]?.returns).toEqualTypeOf<number | undefined>();
    expectTypeOf(items[0]?.keys).toEqualTypeOf<number | undefined>();
    const [into, weighted] = [view.batch(4), view.batch(2, { beta: 1 })];
    expect(into.toArray()).toEqual([]);
    expect(view.sample(2, { into: weighted, beta: 1 }).toArray()[0]).toMatchObject({ weights: expect.any(Number) });
    expect(Object.keys(weighted)).not.toContain("toArray");
  });

  test("a leaf named toArray is rejected", () => {
    const spec = { observation: f32(), action: f32(), reward: f32(), toArray: f32() };
    const { t } = new Replay({ spec, tables: { t: { maxSize: 1 } } }).tables;
    expect(errorOf(() => t.transitions({ gamma: 1 })).message).toMatch(/^the leaf "toArray" has the same name as a column/);
  });
});

/** Calls the inspection method as Deno's console does. */
const inDeno = (value: object) => (value as { [symbol: symbol]: (how: unknown, options: object) => string })[Symbol.for("Deno.customInspect")]?.(inspect, {});

describe("in a console", () => {
  test("a Replay shows its spec, tables, steps and memory", () => {
    const { replay } = filled();
    for (const shown of [inspect(replay), inspect(replay, { depth: 0 })]) {
      for (const part of [
        /^Replay \{/,
        /image: f32 \[2, 2\]/,
        /action: \[ i64 \[\], f32 \[3\] \]/,
        /tables: \{ t: 3 of 10 items \}/,
        /steps: 4/,
        /memory: 0\.\d of 4096 MiB/,
        /writers: 1/,
      ])
        expect(shown).toMatch(part);
    }
    expect(inspect({ of: { replay } }, { depth: 1 })).toMatch(/replay: \[Replay\]/);
    expect(inDeno(replay)).toMatch(/^Replay \{/);
    replay.dispose();
    expect(inspect(replay)).toMatch(/tables: closed/);
  });

  test("a table shows its limits, counters and selectors", () => {
    const replay = new Replay({ spec: f32(), tables: { per: { maxSize: 9, sampler: prioritized(0.6) } } });
    const { per } = replay.tables;
    expect(inspect(per)).toMatch(/^Table \{\s+name: 'per',\s+maxSize: 9,\s+size: 0/);
    expect(inspect(per)).toMatch(/sampler: prioritized\(0\.6\),\s+remover: fifo\(\)/);
    replay.dispose();
    expect(inspect(per)).toMatch(/size: closed/);
  });

  test("a writer shows its rules and its position in the episode", () => {
    const { writer } = filled();
    expect(inspect(writer)).toMatch(/^Writer \{\s+lanes: 1,\s+keep: 32,\s+items: \[\s+\{\s+table: 't',\s+length: 2/);
    expect(inspect(writer)).toMatch(/length: 4,\s+episodeSteps: 4/);
    writer.close();
    expect(inspect(writer)).toMatch(/length: closed/);
  });

  test("a batch shows the dtypes and shapes of its steps, and a column shows its data", () => {
    const batch = all();
    const shown = inspect(batch);
    for (const part of [/^Batch \{\s+count: 4/, /image: f32 \[4, 2, 2, 2\]/, /word: string \[4, 2\]/, /lengths: 1 … 2/, /info: keys, probabilities/])
      expect(shown).toMatch(part);
    expect(shown).not.toMatch(/Float32Array/);
    expect(inspect(batch.steps.observation.speed)).toMatch(/^Column \{\s+data: Float32Array\(8\)/);
    expect(inspect(filled().table.sample(20, { replacement: false }))).toMatch(/blocked: \{ by: 'items'/);
  });

  test("a batch of transitions shows the dtypes and shapes of its columns", () => {
    const replay = new Replay({
      spec: { observation: { x: f32(2) }, action: i32(), reward: f32(), word: text({ maxBytes: 4 }) },
      tables: { t: { maxSize: 9 } },
    });
    const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
    for (const id of [1, 2]) writer.append({ observation: { x: [id, id] }, action: id, reward: id, word: "w" });
    const batch = replay.tables.t.transitions({ gamma: 0.9 }).sample(4);
    const shown = inspect(batch, { depth: 4 });
    for (const part of [
      /^TransitionBatch \{\s+count: 4/,
      /nextObservation: \{ x: f32 \[4, 2\] \}/,
      /word: string \[4\]/,
      /steps: u32 \[4\]/,
      /keys: f64 \[4\]/,
    ])
      expect(shown).toMatch(part);
    expect(shown).not.toMatch(/Float32Array/);
  });

  test("a view of transitions shows its options and parts, and its batches show their columns", () => {
    const view = transitions();
    expect(inspect(view)).toMatch(
      /^Transitions \{\s+table: 't',\s+gamma: 0\.5,\s+n: 1,\s+parts: observation, action, mask, nextObservation, nextMask, returns,/,
    );
    const shown = inspect(view.sample(2, { beta: 1 }));
    for (const part of [/^TransitionBatch \{\s+count: 2/, /image: f32 \[2, 2, 2\]/, /nextMask: u8 \[2, 3\]/, /weights: f32 \[2\]/, /keys: f64 \[2\]/])
      expect(shown).toMatch(part);
    expect(shown).not.toMatch(/Float32Array/);
    expect(inDeno(view.batch(1))).toMatch(/^TransitionBatch \{\s+count: 0/);
  });

  test("remote and accepted writers show their configuration and state", async () => {
    const { replay } = filled();
    const { port1, port2 } = new MessageChannel();
    const [actor, accepted] = await Promise.all([remoteWriter(port1, { spec: SPEC }), replay.acceptWriter(port2, { items: [{ table: "t", length: 2 }] })]);
    expect(inspect(actor)).toMatch(
      /^RemoteWriter \{\s+spec: \{\s+observation: \{ image: f32 \[2, 2\][\s\S]*tables: \[ 't' \],\s+length: 0,\s+episodeSteps: 0,\s+inFlight: 0/,
    );
    expect(inspect(accepted)).toMatch(/^AcceptedWriter \{\s+lanes: 1,\s+items: \[\s+\{\s+table: 't'[\s\S]*steps: 0/);
    await actor.close();
    await accepted.closed;
    expect(inspect(accepted)).toMatch(/closed: true/);
    expect(inspect(actor)).toMatch(/^RemoteWriter/);
  });

  test("inspecting a prototype or a proxy does not throw", () => {
    expect(inspect(Replay.prototype)).toBe("{}");
    expect(inspect(new Proxy(filled().writer, {}))).toMatch(/Writer/);
  });
});
