import { expect, test } from "vitest";
import { bool, f32, i32, text } from "../../../src/index.ts";
import { Condition, type Config, createConfig, PatternDataset, patternDatasetWithInfo, patternFromTransform } from "../../../src/tf-agents/index.ts";

const spec = { a: i32(), deep: { pair: f32(2), name: text({ maxBytes: 5 }) }, end: bool() } as const;
const pattern = patternFromTransform(spec, (step) => ({ as: step.a.slice(-2), deep: [step.deep.pair.at(-2), step.deep.name.slice(-2)] as const }));
const config = createConfig(pattern, "t");
const step = (a: number, end = false) => ({ a, deep: { pair: [a, a / 2], name: `n${a}` }, end });
type Step = ReturnType<typeof step>;
const options = { respectEpisodeBoundaries: true, isEndOfEpisode: ({ end }: Step) => end };
const STEPS = [step(0), step(1, true), step(2), step(3), step(4, true)];
const lists = (items: Iterable<{ as: { data: ArrayLike<unknown> } }>) => Array.from(items, ({ as }) => Array.from(as.data));

async function* slowly(steps: readonly Step[], seen: string[] = []) {
  try {
    for (const one of steps) {
      seen.push(`${one.a}`);
      yield one;
    }
  } finally {
    seen.push("left");
  }
}

test("items are nested like the pattern, and have separate memory", () => {
  const [first, second] = [...new PatternDataset(STEPS, [config], options)];
  expect(first?.as).toMatchObject({ data: Int32Array.of(0, 1), shape: [2] });
  expect(second?.deep[0]).toMatchObject({ data: Float32Array.of(2, 1), shape: [2] });
  expect(second?.deep[1]).toMatchObject({ data: ["n2", "n3"], shape: [2] });
  expect(new PatternDataset(STEPS, [config], options).elementSpec).toEqual({
    as: { dtype: "i32", shape: [2] },
    deep: [
      { dtype: "f32", shape: [2] },
      { dtype: "string", shape: [2] },
    ],
  });
});

test("each iteration restarts with the steps", async () => {
  const dataset = new PatternDataset(STEPS, [config], options);
  const expected = [
    [0, 1],
    [2, 3],
    [3, 4],
  ];
  expect([lists(dataset), lists(dataset)]).toEqual([expected, expected]);
  const later: unknown[] = [];
  for await (const { as } of new PatternDataset(slowly(STEPS), [config], options)) later.push(...lists([{ as }]));
  expect(later).toEqual(expected);
  expect(lists(new PatternDataset(STEPS, [config], { ...options, respectEpisodeBoundaries: false }))).toEqual([
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 4],
  ]);
});

test("a stream creates items on demand, reads streams, and releases its source", async () => {
  const seen: string[] = [];
  const stream = new PatternDataset(slowly(STEPS, seen), [config], options).stream();
  expect(seen).toEqual([]);
  const reader = stream.getReader();
  expect(lists([(await reader.read()).value as never])).toEqual([[0, 1]]);
  expect(seen).toEqual(["0", "1"]);
  await reader.cancel();
  expect(seen).toEqual(["0", "1", "left"]);

  let cancelled = false;
  const source = new ReadableStream<Step>({
    start: (controller) => {
      for (const one of STEPS) controller.enqueue(one);
    },
    cancel: () => {
      cancelled = true;
    },
  });
  // Some browsers have streams that are not iterable.
  Object.defineProperty(source, Symbol.asyncIterator, { value: undefined });
  const bare = { getReader: () => source.getReader() } as never as ReadableStream<Step>;
  for await (const { as } of new PatternDataset(bare, [config], options)) {
    expect(lists([{ as }])).toEqual([[0, 1]]);
    break;
  }
  expect(cancelled).toBe(true);
});

test("patternDatasetWithInfo adds an info of zeros to each item", async () => {
  const made = patternDatasetWithInfo(STEPS, [config], options);
  const [first] = [...made];
  expect(first?.info).toEqual({ key: 0, probability: 0, tableSize: 0, priority: 0, timesSampled: 0 });
  expect(lists([...made].map(({ data }) => data))).toHaveLength(3);
  expect(made.elementSpec.data).toEqual(new PatternDataset(STEPS, [config], options).elementSpec);
  expect((await made.stream().getReader().read()).value?.info).toBe(first?.info);
});

test("conditions and episode ends work as in a writer", () => {
  const ends = createConfig(pattern, "t", { conditions: [Condition.isEndEpisode()] });
  expect(lists(new PatternDataset(STEPS, [ends], options))).toEqual([
    [0, 1],
    [3, 4],
  ]);
  const second = createConfig(pattern, "t", { conditions: [Condition.stepIndex().eq(1)] });
  expect(lists(new PatternDataset(STEPS, [second], options))).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

test("invalid arguments are rejected immediately, and invalid steps when they are read", async () => {
  const make = (steps: unknown, configs: readonly Config[], given: object = options) => new PatternDataset(steps as Step[], configs, given as never);
  expect(() => make(3, [config])).toThrow(/^steps .*got 3$/);
  expect(() => make(STEPS, [])).toThrow(/configs must/);
  expect(() => make(STEPS, [config], { respectEpisodeBoundaries: true })).toThrow("isEndOfEpisode is required: a function");
  expect(() => make(STEPS, [config], { isEndOfEpisode: () => true })).toThrow("respectEpisodeBoundaries is required: a boolean");
  const other = createConfig(
    patternFromTransform({ b: i32() }, (one) => ({ as: one.b.at(-1) })),
    "t",
  );
  expect(() => make(STEPS, [config, other])).toThrow(/^the spec of the steps has no field b \(.*\), which configs\[1\] uses/);
  expect(() => [...make(slowly(STEPS), [config])]).toThrow(/^steps must be .*for await/);
  expect(() => [...make(STEPS, [config], { ...options, isEndOfEpisode: () => 1 })]).toThrow(/the result of isEndOfEpisode must .*got 1/);
  expect(() => [...make([{ ...step(0), a: 1.5 }], [config])]).toThrow(/a must .*i32.*-2147483648 … 2147483647, got 1\.5/);
  expect(() => [...make([{ ...step(0), z: 1 }], [config])]).toThrow(/z is not one of them/);
  await expect(make([3], [config]).stream().getReader().read()).rejects.toThrow(/^step must .*a, deep, end, got 3$/);
});

test("a step may omit fields, and items that need them are skipped", () => {
  const gaps = [step(0), { ...step(1), a: null }, step(2), step(3), { a: 4, end: true }];
  const made = new PatternDataset(gaps as never as Step[], [config], options);
  expect(lists(made)).toEqual([[2, 3]]);
});
