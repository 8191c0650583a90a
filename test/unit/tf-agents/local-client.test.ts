import { expect, test } from "vitest";
import { f32, fifo, i32, queueLimiter, Replay } from "../../../src/index.ts";
import { LocalClient } from "../../../src/tf-agents/index.ts";

const spec = { a: i32(), b: f32(2) } as const;
const code = (error: string) => expect.objectContaining({ code: error });
const client = () =>
  LocalClient.of({
    spec,
    tables: [
      { name: "t", maxSize: 9, sampler: fifo() },
      { name: "u", maxSize: 9 },
    ],
  });

test("LocalClient.of accepts a list of tables with unique names", () => {
  const made = LocalClient.of({
    spec,
    tables: [
      { name: "t", maxSize: 3, signature: { a: { dtype: "i32", shape: [null] } } },
      { name: "u", maxSize: 4 },
    ],
    seed: 3,
  });
  expect(Object.values(made.replay.tables).map(({ name, options }) => [name, options.maxSize])).toEqual([
    ["t", 3],
    ["u", 4],
  ]);
  expect(made.signature("t")).toEqual({ a: { dtype: "i32", shape: [null] } });
  expect(made.signature("u")).toEqual({ a: { dtype: "i32", shape: [null] }, b: { dtype: "f32", shape: [null, 2] } });
  expect(() =>
    LocalClient.of({
      spec,
      tables: [
        { name: "t", maxSize: 1 },
        { name: "t", maxSize: 1 },
      ],
    }),
  ).toThrow(/^tables\[1\]\.name must .*got "t"$/);
  expect(() => LocalClient.of({ spec, tables: [] })).toThrow(RangeError);
  expect(() => LocalClient.of({ spec, tables: [{ maxSize: 1 } as never] })).toThrow(/is required/);
});

test("LocalClient.of passes other options to the Replay", () => {
  const said: string[] = [];
  const made = LocalClient.of({
    spec: { seen: f32(2), act: i32(), reward: f32() },
    tables: [{ name: "t", maxSize: 3 }],
    maxBytes: 2 ** 24,
    transition: { observation: "seen", action: "act" },
    logger: (text) => said.push(text),
  });
  expect(made.replay.options).toMatchObject({ maxBytes: 2 ** 24, transition: { observation: "seen", action: "act" } });
  const writer = made.replay.writer({ items: [{ table: "t", length: 2 }] });
  writer.append({ seen: [0, 0], act: 1, reward: 1 });
  writer.endEpisode();
  expect(said).toEqual([expect.stringContaining("an episode ended without an item")]);
});

test("insert creates an episode and an item in each table, or nothing", () => {
  const made = client();
  expect(made.insert({ a: 1, b: [2, 3] }, { t: 1, u: 2 })).toBe(undefined);
  made.insert({ a: 4, b: [5, 6] }, { t: 1, u: 0.5 });
  expect(made.table("u").stats()).toMatchObject({ size: 2, episodes: 2 });
  const { steps } = made.table("t").sample(1);
  expect([steps.a.shape, [...steps.a.data], [...steps.b.data]]).toEqual([[1, 1], [1], [2, 3]]);
  for (const [call, error] of [
    [() => made.insert({ a: 1, b: [1, 1] }, {}), RangeError],
    [() => made.insert({ a: 1, b: [1, 1] }, { t: 1, v: 1 } as never), code("NOT_FOUND")],
    [() => made.insert({ a: 1, b: [1, 1] }, { t: 1, u: Number.NaN }), RangeError],
    [() => made.insert({ a: 1, b: [1, 1, 1] }, { t: 1 }), code("SPEC_MISMATCH")],
    [() => made.insert({ a: 0.5, b: [1, 1] }, { t: 1 }), code("INVALID_DATA")],
    [() => made.insert({}, { t: 1 }), code("SPEC_MISMATCH")],
  ] as const)
    expect(call).toThrow(error as never);
  expect([made.table("t").size, made.table("u").size]).toEqual([2, 2]);
});

test("an inserted step may omit fields, and its items then omit them", () => {
  const made = client();
  made.insert({ b: Float32Array.of(1, 2) }, { t: 1 });
  const { steps } = made.table("t").sample(1);
  expect(Object.keys(steps)).toEqual(["b"]);
  // All code with access to the Replay can close the client's writer.
  for (const writer of made.replay.writers) writer.close();
  made.insert({ b: [3, 4] }, { t: 1 });
  expect(made.table("t").size).toBe(2);
});

test("insert returns a promise if it waits for the rate limiter", async () => {
  const made = new LocalClient(new Replay({ spec: i32(), tables: { t: { maxSize: 9, maxTimesSampled: 1, rateLimiter: queueLimiter(1) } } }));
  expect(made.insert(1, { t: 1 })).toBe(undefined);
  const waits = made.insert(2, { t: 1 });
  await expect(made.insert(3, { t: 1 }, { timeoutMs: 5 })).rejects.toThrow(code("TIMEOUT"));
  made.table("t").sample(1);
  made.table("t").sample(1);
  await waits;
  expect(made.table("t").size).toBe(1);
});

test("legacyWriter creates items of its last steps", () => {
  const made = client();
  const writer = made.legacyWriter({ maxSequenceLength: 3 });
  writer.append({ a: 1, b: [1, 1] });
  writer.appendSequence({ a: [2, 3], b: [2, 2, 3, 3] });
  writer.appendSequence({ a: Int32Array.of(4), b: [[4, 4]] });
  writer.createItem("t", 3, 1);
  writer.createItem("t", 1, 2);
  const { steps } = made.table("t").sample(2);
  expect([...steps.a.data]).toEqual([2, 3, 4, 2, 3, 4]);
  for (const n of [0, 4]) expect(() => writer.createItem("t", n, 1)).toThrow(RangeError);
  expect(() => writer.createItem("v", 1, 1)).toThrow(code("NOT_FOUND"));
  expect(() => writer.createItem("t", 1, -1)).toThrow(RangeError);
  expect(() => writer.append({ a: 1 })).toThrow(code("SPEC_MISMATCH"));
  for (const wrong of [1, { a: 1, b: [[1, 1]] }, { a: "no", b: [[1, 1]] }]) expect(() => writer.appendSequence(wrong as never)).toThrow(code("SPEC_MISMATCH"));
  expect(() => writer.appendSequence({ a: [1, 2], b: [1, 1] })).toThrow(code("SPEC_MISMATCH"));
  expect(made.table("t").size).toBe(2);
  expect(writer.flush()).toBe(undefined);
  writer.close();
  expect(() => writer.append({ a: 1, b: [1, 1] })).toThrow(code("CLOSED"));
});

test("legacyWriter rejects invalid arguments", () => {
  const made = client();
  for (const bad of [
    { maxSequenceLength: 0 },
    { maxSequenceLength: 2, chunkLength: 3 },
    { maxSequenceLength: 2, chunkLength: 0 },
    { maxSequenceLength: 2, maxInFlightItems: 0 },
  ])
    expect(() => made.legacyWriter(bad)).toThrow(RangeError);
  expect(() => made.legacyWriter({ maxSequenceLength: "2" as never })).toThrow(/^maxSequenceLength must be/);
  expect(() => made.legacyWriter({ maxSequenceLength: 2, deltaEncoded: 1 as never })).toThrow(/^deltaEncoded must be/);
  expect(made.replay.stats().writers).toBe(0);
  made.legacyWriter({ maxSequenceLength: 2, chunkLength: 2, deltaEncoded: true, maxInFlightItems: null }).close();
});

test("an insert with rejected options inserts nothing", () => {
  const made = client();
  const insert = (options: object) => () => made.insert({ a: 1, b: [1, 1] }, { t: 1 }, options);
  expect(insert({ timeoutMs: -1 })).toThrow(/^timeoutMs must be/);
  expect(insert({ signal: AbortSignal.abort(new Error("enough")) })).toThrow("enough");
  expect(insert({ timeout: 1 })).toThrow(/has no option "timeout"/);
  expect(made.table("t").size).toBe(0);
});
