/** Translates Reverb's structured_writer_test.py to our writer. */
import { expect, test } from "vitest";
import { bool, f32, f64, i8, i32, i64, type Spec } from "../../src/index.ts";
import {
  Condition,
  createConfig,
  createReferenceStep,
  inferSignature,
  LocalClient,
  type Pattern,
  patternFromTransform,
  Table,
  tdError,
  unpackPattern,
} from "../../src/tf-agents/index.ts";
import { code, contents, samples } from "./support.ts";

const TABLES = [0, 1, 2, 3, 4].map((i) => `queue_${i}`);
const [TABLE = ""] = TABLES;
const SPEC = { a: f32(), b: { c: i32(2, 2), d: [i64(3), i64(6)] } } as const;
const REF = createReferenceStep(SPEC);
/** The pattern for the newest step of a spec that is a single number. */
const LAST = patternFromTransform(i64(), (step) => step.at(-1));

function clientOf<const S extends Spec>(spec: S): LocalClient<S> {
  return LocalClient.of({ spec, tables: TABLES.map((name) => Table.queue(name, 100)) });
}
const filled = (shape: readonly number[], x: number | bigint): unknown =>
  shape.length === 0 ? x : Array.from({ length: shape[0] as number }, () => filled(shape.slice(1), x));
const stepOf = (x: number) => ({
  a: x,
  b: { c: new Int32Array(4).fill(x), d: [new BigInt64Array(3).fill(BigInt(x)), new BigInt64Array(6).fill(BigInt(x))] as const },
});
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

test.each([
  { name: "stepIndex <= 2", condition: Condition.stepIndex().le(2), steps: 10, wanted: [0, 1, 2] },
  { name: "stepIndex >= 5", condition: Condition.stepIndex().ge(5), steps: 10, wanted: [5, 6, 7, 8, 9] },
  { name: "stepIndex == 3", condition: Condition.stepIndex().eq(3), steps: 10, wanted: [3] },
  { name: "stepIndex != 3", condition: Condition.stepIndex().ne(3), steps: 10, wanted: [0, 1, 2, 4, 5, 6, 7, 8, 9] },
  { name: "stepIndex % 3 == 0", condition: Condition.stepIndex().mod(3).eq(0), steps: 10, wanted: [0, 3, 6, 9] },
  { name: "stepIndex % 3 != 0", condition: Condition.stepIndex().mod(3).ne(0), steps: 10, wanted: [1, 2, 4, 5, 7, 8] },
  { name: "stepsSinceApplied >= 4", condition: Condition.stepsSinceApplied().ge(4), steps: 10, wanted: [3, 7] },
  { name: "stepsSinceApplied >= 3", condition: Condition.stepsSinceApplied().ge(3), steps: 10, wanted: [2, 5, 8] },
  { name: "isEndEpisode", condition: Condition.isEndEpisode(), steps: 5, wanted: [4] },
])("a single condition decides which steps become items: $name", async ({ condition, steps, wanted }) => {
  const client = clientOf(i64());
  const writer = client.structuredWriter([createConfig(LAST, TABLE, { conditions: [condition] })]);
  for (let i = 0; i < steps; i++) writer.append(BigInt(i));
  writer.endEpisode();
  expect(await contents(client, TABLE)).toEqual(wanted.map((step) => [BigInt(step)]));
});

test.each([
  {
    name: "single steps and a slice of other fields",
    pattern: { x: REF.a.at(-3), y: REF.b.c.slice(-2), z: REF.b.d[0].at(-1) },
    steps: 5,
    wanted: range(0, 3).map((i) => [i, [filled([2, 2], i + 1), filled([2, 2], i + 2)], filled([3], BigInt(i + 2))]),
  },
  {
    name: "older steps beside the newest",
    pattern: { last_a: REF.a.at(-1), older: REF.a.slice(-3, -1) },
    steps: 5,
    wanted: range(0, 3).map((i) => [i + 2, [i, i + 1]]),
  },
  {
    name: "every second step",
    pattern: { every_second_a: REF.a.slice(-5, null, 2) },
    steps: 10,
    wanted: range(0, 6).map((i) => [[i, i + 2, i + 4]]),
  },
] as { name: string; pattern: Pattern; steps: number; wanted: unknown[] }[])(
  "a pattern creates an item per step once it has enough steps: $name",
  async ({ pattern, steps, wanted }) => {
    const client = clientOf(SPEC);
    const writer = client.structuredWriter([createConfig(pattern, TABLE)]);
    for (let i = 0; i < steps; i++) writer.append(stepOf(i));
    writer.endEpisode();
    expect(await contents(client, TABLE)).toEqual(wanted);
  },
);

test("conditions on remainders distribute the steps to the tables in turn", async () => {
  const client = clientOf(i64());
  const configs = TABLES.map((table, i) => createConfig(LAST, table, { conditions: [Condition.stepIndex().mod(TABLES.length).eq(i)] }));
  const writer = client.structuredWriter(configs);
  for (let i = 0; i < 2 * TABLES.length; i++) writer.append(BigInt(i));
  writer.endEpisode();
  for (const [i, table] of TABLES.entries()) expect(await contents(client, table)).toEqual([[BigInt(i)], [BigInt(i + 5)]]);
});

const NUMBERS = { a: i32(), b: i64() };
const FLAGS = { a: i64(), b: bool() };
test.each([
  {
    name: "one that the pattern does not take",
    spec: NUMBERS,
    pattern: patternFromTransform(NUMBERS, (step) => ({ old_a: step.a.at(-2) })),
    condition: Condition.data(NUMBERS).b.gt(10),
    steps: [11, 10, 11, 9, 12].map((b, i) => ({ a: i + 1, b: BigInt(b) })),
    wanted: [[2], [4]],
  },
  {
    name: "i32, equal",
    spec: NUMBERS,
    pattern: patternFromTransform(NUMBERS, (step) => ({ last_two_a: step.a.slice(-2) })),
    condition: Condition.data(NUMBERS).a.eq(3),
    steps: [0, 2, 3, 4, 5].map((a) => ({ a })),
    wanted: [[[2, 3]]],
  },
  {
    name: "i64, not equal",
    spec: FLAGS,
    pattern: patternFromTransform(FLAGS, (step) => ({ last_two_a: step.a.slice(-2) })),
    condition: Condition.data(FLAGS).a.ne(4),
    steps: [1n, 2n, 3n, 4n, 5n].map((a) => ({ a })),
    wanted: [[[1n, 2n]], [[2n, 3n]], [[4n, 5n]]],
  },
  {
    name: "a flag",
    spec: FLAGS,
    pattern: patternFromTransform(FLAGS, (step) => ({ last_a: step.a.at(-1) })),
    condition: Condition.data(FLAGS).b.eq(1),
    steps: [true, false, false, true, false].map((b, i) => ({ a: BigInt(i + 1), b })),
    wanted: [[1n], [4n]],
  },
] as { name: string; spec: Spec; pattern: Pattern; condition: Condition; steps: object[]; wanted: unknown[] }[])(
  "a condition reads a field of the newest step: $name",
  async ({ spec, pattern, condition, steps, wanted }) => {
    const client = clientOf(spec);
    const config = createConfig(pattern, TABLE, { conditions: [condition] });
    const writer = client.structuredWriter([config]);
    for (const step of steps) writer.append(step as never);
    await writer.flush();
    expect(unpackPattern(config)).toBe(pattern);
    expect(await contents(client, TABLE)).toEqual(wanted);
  },
);

test("stepIsOpen is true from the first part of a step to its last", () => {
  const spec = [i64(), i64(), i64()] as const;
  const [x, y, z] = createReferenceStep(spec);
  const writer = clientOf(spec).structuredWriter([createConfig([x.at(-1), y.at(-1), z.at(-1)], TABLE)]);
  expect(writer.stepIsOpen).toBe(false);
  writer.append([1n, 1n, 1n]);
  expect(writer.stepIsOpen).toBe(false);
  writer.append([null, 2n, null], { partialStep: true });
  expect(writer.stepIsOpen).toBe(true);
  writer.append([null, null, 2n], { partialStep: true });
  expect(writer.stepIsOpen).toBe(true);
  writer.append([2n, null, null]);
  expect(writer.stepIsOpen).toBe(false);
  writer.append([null, 3n, null], { partialStep: true });
  expect(writer.stepIsOpen).toBe(true);
  writer.endEpisode();
  expect(writer.stepIsOpen).toBe(false);
});

test("append throws SPEC_MISMATCH for a value of another dtype", async () => {
  const spec = { a: i64(), c: f64() };
  const client = clientOf(spec);
  const writer = client.structuredWriter([createConfig(createReferenceStep(spec).c.at(-1), TABLE)]);
  writer.append({ a: 1n, c: 1 });
  expect(() => writer.append({ a: 2n, c: 2n as never })).toThrow(code("SPEC_MISMATCH"));
  expect(await contents(client, TABLE)).toEqual([[1]]);
});

test("append throws SPEC_MISMATCH for a value of another shape", async () => {
  const spec = { a: i64(), b: { c: f64(), d: [i64(), i64()] as const } };
  const client = clientOf(spec);
  const writer = client.structuredWriter([createConfig(createReferenceStep(spec).b.d[1].at(-1), TABLE)]);
  writer.append({ a: 1n, b: { c: 1, d: [1n, 1n] } });
  expect(() => writer.append({ a: 2n, b: { c: 2, d: [2n, [2n, 2n, 2n, 2n] as never] } })).toThrow(code("SPEC_MISMATCH"));
  expect(await contents(client, TABLE)).toEqual([[1n]]);
});

test("append throws SPEC_MISMATCH for a step with other fields", async () => {
  const spec = { a: i64(), b: { c: i64(), d: [i64(), i64()] as const } };
  const client = clientOf(spec);
  const writer = client.structuredWriter([createConfig(createReferenceStep(spec).b.c.at(-1), TABLE)]);
  writer.append({ a: 1n, b: { c: 1n } });
  expect(() => writer.append({ a: 2n, b: { c: 2n, d: [2n, 2n] } })).toThrow(code("SPEC_MISMATCH"));
  expect(() => writer.append({ a: 2n, b: { c: 2n }, e: 2n } as never)).toThrow(code("SPEC_MISMATCH"));
  expect(await contents(client, TABLE)).toEqual([[1n]]);
});

test("tdError reads the priority from its field", async () => {
  const spec = { a: i64(), b: i64(), c: i64() };
  const client = clientOf(spec);
  const pattern = patternFromTransform(spec, (step) => ({ last_a: step.a.at(-1), last_c: step.c.at(-1) }));
  const writer = client.structuredWriter([createConfig(pattern, TABLE, { priority: tdError(0.5, spec, (step) => step.c) })]);
  for (let i = 0; i < 5; i++) writer.append({ a: BigInt(i), b: BigInt(i + 1), c: BigInt(i + 2) });
  await writer.flush();
  expect(client.serverInfo()[TABLE]?.currentSize).toBe(5);
  expect((await samples(client, TABLE)).map(({ info }) => info.priority)).toEqual([2, 3, 4, 5, 6]);
});

const MATRICES = { a: f32(3, 3) };
const MORE = { a: f32(3, 3), b: { c: i32(), d: i8(5) } };
const SMALL = { a: f32(3, 3), b: { c: i8(2, 2) } };
const [ONE, TWO, THREE] = [createReferenceStep(MATRICES), createReferenceStep(MORE), createReferenceStep(SMALL)];
test.each([
  {
    name: "a slice and a single step",
    patterns: [{ older: ONE.a.slice(-3, -1), last_a: ONE.a.at(-1) }],
    spec: MATRICES,
    wanted: { older: { dtype: "f32", shape: [2, 3, 3] }, last_a: { dtype: "f32", shape: [3, 3] } },
  },
  {
    name: "a stride, and a nested one",
    patterns: [{ a_with_step: TWO.a.slice(-6, null, 2), a_slice: TWO.a.slice(-4), x: { y: TWO.b.c.at(-2) } }],
    spec: MORE,
    wanted: { a_with_step: { dtype: "f32", shape: [3, 3, 3] }, a_slice: { dtype: "f32", shape: [4, 3, 3] }, x: { y: { dtype: "i32", shape: [] } } },
  },
  {
    name: "two of the same lengths",
    patterns: [
      { x: THREE.a.slice(-3, -1), y: THREE.a.at(-1), z: THREE.b.c.slice(-4) },
      { x: THREE.a.slice(-2), y: THREE.a.at(-2), z: THREE.b.c.slice(-8, null, 2) },
    ],
    spec: SMALL,
    wanted: { x: { dtype: "f32", shape: [2, 3, 3] }, y: { dtype: "f32", shape: [3, 3] }, z: { dtype: "i8", shape: [4, 2, 2] } },
  },
  {
    name: "three, one of another length",
    patterns: [{ x: ONE.a.slice(-3, -1) }, { x: ONE.a.slice(-2) }, { x: ONE.a.slice(-3) }],
    spec: MATRICES,
    wanted: { x: { dtype: "f32", shape: [null, 3, 3] } },
  },
] as { name: string; patterns: Pattern[]; spec: Spec; wanted: object }[])(
  "the signature of configs contains the lengths of their slices: $name",
  ({ patterns, spec, wanted }) => {
    const configs = patterns.map((pattern) => createConfig(pattern, "table"));
    expect(inferSignature(configs, spec)).toMatchObject(wanted);
  },
);

test("inferSignature rejects configs of several tables", () => {
  const configs = ["a", "b", "c"].map((table) => createConfig({ x: REF.a.slice(-3) }, table));
  expect(() => inferSignature(configs, SPEC)).toThrow(RangeError);
});

test("inferSignature rejects configs with different structures", () => {
  const configs = [createConfig({ x: REF.a.at(-1) }, "a"), createConfig({ y: REF.a.at(-1) }, "a")];
  expect(() => inferSignature(configs, SPEC)).toThrow(RangeError);
});

test("inferSignature rejects an empty list of configs", () => {
  expect(() => inferSignature([], SPEC)).toThrow(RangeError);
});

/** Returns a function that infers the signature of two configs of one table. Their column x comes from different fields, a and b. */
function ofTwoFields(spec: { a: ReturnType<typeof f32>; b: unknown }) {
  const { a, b } = createReferenceStep(spec as never) as { a: typeof REF.a; b: typeof REF.a };
  return () => inferSignature([createConfig({ x: a.at(-1) }, "a"), createConfig({ x: b.at(-1) }, "a")], spec as never);
}

test("inferSignature rejects configs with different dtypes", () => {
  expect(ofTwoFields({ a: f32(), b: f64() })).toThrow(RangeError);
});

test("inferSignature rejects configs with different ranks", () => {
  expect(ofTwoFields({ a: f32(), b: f32(1) })).toThrow(RangeError);
});

test("inferSignature rejects configs with different shapes", () => {
  expect(ofTwoFields({ a: f32(1, 2) as never, b: f32(1, 3) })).toThrow(RangeError);
});
