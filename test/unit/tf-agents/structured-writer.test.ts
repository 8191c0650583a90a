import { expect, test } from "vitest";
import { type Column, f32, fifo, i32, prioritized, queueLimiter, text, u8 } from "../../../src/index.ts";
import { engineOf, Replay } from "../../../src/replay/replay.ts";
import { Condition, type Config, constantPriorityFn, createConfig, LocalClient, patternFromTransform, tdError } from "../../../src/tf-agents/index.ts";

const spec = { a: i32(), b: f32() } as const;
const code = (error: string) => expect.objectContaining({ code: error });
const QUEUE = { name: "t", maxSize: 100, sampler: fifo(), maxTimesSampled: 1 };
const last2 = patternFromTransform(spec, (step) => ({ x: step.a.slice(-2) }));
const newest = patternFromTransform(spec, (step) => ({ x: step.a.at(-1) }));

function made(configs: readonly Config[], table: object = {}, signature?: object) {
  const client = LocalClient.of({
    spec,
    tables: [{ ...QUEUE, ...table, ...(signature === undefined ? {} : { signature: signature as never }) }],
    logger: null,
  });
  return { client, table: client.table("t"), writer: client.structuredWriter(configs) };
}

function drawn(client: LocalClient<typeof spec>): number[][] {
  const table = client.table("t");
  return Array.from({ length: table.size }, () => {
    const { steps } = table.sample(1, { cross: true });
    return Array.from((steps as unknown as { x: Column<"i32"> }).x.data);
  });
}

test("invalid configs are rejected, and no writer is created", () => {
  const { client } = made([createConfig(newest, "t")]);
  const before = client.replay.writers.length;
  const of = (configs: unknown) => () => client.structuredWriter(configs as never);
  expect(of([])).toThrow(/configs must .*got an array of 0/);
  expect(of([{ pattern: newest }])).toThrow(/^configs\[0\] .*createConfig/);
  expect(of([createConfig(newest, "u")])).toThrow('the table of configs[0] must be one of "t", got "u"');
  const other = createConfig(
    patternFromTransform({ a: f32() }, (step) => ({ x: step.a.at(-1) })),
    "t",
  );
  expect(of([createConfig(newest, "t"), other])).toThrow(/^a of configs\[1\] must be i32 .*got f32/);
  expect(client.replay.writers.length).toBe(before);
});

test("a writer is rejected if its items do not fit the table's signature", () => {
  const signature = { x: { dtype: "i32", shape: [3] } };
  expect(() => made([createConfig(last2, "t")], {}, signature)).toThrow(/column 0 of an item of table t must .*i32.*\[3\]/);
  expect(() =>
    made(
      [
        createConfig(
          patternFromTransform(spec, (step) => ({ y: step.a.slice(-3) })),
          "t",
        ),
      ],
      {},
      signature,
    ),
  ).not.toThrow();
});

test("a priority that the table does not accept is rejected with its config", () => {
  const config = createConfig(newest, "t", { priority: tdError(1, spec, (step) => step.b) });
  const huge = createConfig(newest, "t", { priority: constantPriorityFn(1e300) });
  const client = LocalClient.of({ spec, tables: [{ ...QUEUE, sampler: prioritized(4) }], logger: null });
  expect(() => client.structuredWriter([config])).not.toThrow();
  expect(() => client.structuredWriter([config, huge])).toThrow(/the priority of configs\[1\] must .*"t", got 1e\+300/);
  expect(client.replay.writers.length).toBe(0);
});

test("an append creates one item per pattern that applies", () => {
  const configs = [createConfig(last2, "t"), createConfig(newest, "t", { conditions: [Condition.data(spec).b.gt(0.5)] })];
  const { client, table, writer } = made(configs);
  writer.append({ a: 0, b: 1 });
  expect(table.stats().inserts).toBe(1);
  writer.append({ a: 1, b: 0.5 });
  expect(table.stats().inserts).toBe(2);
  writer.append({ a: 2, b: 0.75 });
  expect(table.stats().inserts).toBe(4);
  expect(drawn(client)).toEqual([[0], [0, 1], [1, 2], [2]]);
  // There is one layout per pattern, whatever the number of items.
  expect(engineOf(client.replay as unknown as Replay).columnLayouts.size).toBe(2);
});

test("a step is rejected as a whole if there is no room for its items", async () => {
  const { client, table, writer } = made([createConfig(newest, "t"), createConfig(last2, "t")], { rateLimiter: queueLimiter(1), maxPending: 1 });
  writer.append({ a: 0, b: 0 });
  const refused = () => writer.append({ a: 1, b: 0 });
  expect(refused).toThrow(code("RATE_LIMITED"));
  expect(refused).toThrow(/^maxPending .*"t"/);
  expect([table.size, table.stats().pending]).toEqual([1, 0]);
  expect(drawn(client)).toEqual([[0]]);
  writer.append({ a: 1, b: 0 });
  const flushed = writer.flush();
  expect(flushed).toBeInstanceOf(Promise);
  expect(drawn(client)).toEqual([[1]]);
  await flushed;
  expect(drawn(client)).toEqual([[0, 1]]);
  expect(writer.flush()).toBe(undefined);
});

test("endEpisode ends nothing if it times out, and rejects steps while it waits", async () => {
  const { client, writer } = made([createConfig(last2, "t"), createConfig(newest, "t", { conditions: [Condition.stepIndex().eq(0)] })], {
    rateLimiter: queueLimiter(1),
  });
  writer.append({ a: 0, b: 0 });
  writer.append({ a: 1, b: 0 });
  const ending = writer.endEpisode({ timeoutMs: 5 });
  expect(() => writer.append({ a: 2, b: 0 })).toThrow(/episode .*endEpisode/);
  expect(() => writer.endEpisode()).toThrow(code("OUT_OF_TURN"));
  await expect(ending).rejects.toThrow(code("TIMEOUT"));
  writer.append({ a: 2, b: 0 });
  expect([...drawn(client), ...drawn(client), ...drawn(client)]).toEqual([[0], [0, 1], [1, 2]]);
  // Without a time limit, the episode has ended immediately.
  writer.append({ a: 3, b: 0 });
  const ended = writer.endEpisode();
  expect(ended).toBe(undefined);
  writer.append({ a: 4, b: 0 });
  expect([...drawn(client), ...drawn(client)]).toEqual([[2, 3], [4]]);
});

test("endEpisode with a time limit ends the episode when there is room", async () => {
  const { client, writer } = made([createConfig(last2, "t")], { rateLimiter: queueLimiter(1) });
  for (let a = 0; a < 3; a++) writer.append({ a, b: 0 });
  const ending = writer.endEpisode({ timeoutMs: 10_000 });
  expect(drawn(client)).toEqual([[0, 1]]);
  await ending;
  writer.append({ a: 3, b: 0 });
  writer.append({ a: 4, b: 0 });
  expect([...drawn(client), ...drawn(client)]).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

test("all steps must have the fields of the first step, possibly without a value", () => {
  const { client, writer } = made([createConfig(newest, "t")]);
  writer.append({ a: 1, b: null });
  expect(() => writer.append({ a: 2 })).toThrow(/^step must have b/);
  expect(() => writer.append({ a: 2, c: 1 } as never)).toThrow(code("SPEC_MISMATCH"));
  expect(() => writer.append({ a: 2.5, b: 1 })).toThrow(code("INVALID_DATA"));
  writer.append({ a: 3, b: undefined });
  expect(drawn(client)).toEqual([[1], [3]]);
  const lean = client.structuredWriter([createConfig(newest, "t")]);
  lean.append({ a: 1 });
  expect(() => lean.append({ a: 2, b: 2 })).toThrow(/step must not .*\bb\b/);
});

test("a rejected step leaves counts, the open step and items unchanged", () => {
  const { client, writer } = made([createConfig(newest, "t", { conditions: [Condition.stepsSinceApplied().ge(2), Condition.data(spec).a.ne(9)] })]);
  writer.append({ a: 0, b: 0 });
  for (let k = 0; k < 3; k++) expect(() => writer.append({ a: 1, b: "x" } as never)).toThrow(code("SPEC_MISMATCH"));
  expect(drawn(client)).toEqual([]);
  writer.append({ a: 1, b: null }, { partialStep: true });
  expect(drawn(client)).toEqual([[1]]);
  expect(() => writer.append({ a: 5, b: 1 })).toThrow(code("SPEC_MISMATCH"));
  expect(writer.stepIsOpen).toBe(true);
  writer.append({ a: null, b: 1 });
  expect(() => writer.append({ a: 1, b: 1 }, { partial: true } as never)).toThrow('options has no option "partial"');
});

test("an item may use an open step, and later fields of that step create no item", () => {
  const both = patternFromTransform(spec, (step) => ({ x: step.a.slice(-2), y: step.b.at(-2) }));
  const { client, writer } = made([createConfig(both, "t")]);
  for (let k = 0; k < 3; k++) {
    writer.append({ a: k, b: null }, { partialStep: true });
    writer.append({ a: null, b: k / 2 });
  }
  const table = client.table("t");
  const shown = Array.from({ length: table.size }, () => table.sample(1, { cross: true }).steps as unknown as { x: Column<"i32">; y: Column<"f32"> });
  expect(shown.map(({ x, y }) => [Array.from(x.data), Array.from(y.data)])).toEqual([
    [[0, 1], [0]],
    [[1, 2], [0.5]],
  ]);
});

test("tdError rejects a value that is not finite if its column contains the value", () => {
  const { client, writer } = made([createConfig(last2, "t", { priority: tdError(0.5, spec, (step) => step.b) })]);
  const absent = createConfig(newest, "t", { priority: tdError(0.5, spec, (step) => step.b) });
  writer.append({ a: 0, b: 1 });
  // No column of the config contains the value, so it does not become a priority.
  expect(() => writer.append({ a: 1, b: Number.NaN })).not.toThrow();
  const pairs = patternFromTransform(spec, (step) => ({ x: step.a.at(-1), errors: step.b.slice(-2) }));
  const strict = client.structuredWriter([createConfig(pairs, "t", { priority: tdError(0.5, spec, (step) => step.b) }), absent]);
  strict.append({ a: 0, b: -3 });
  expect(() => strict.append({ a: 1, b: Number.NaN })).toThrow(/^b must be a finite number.*got NaN$/);
  strict.append({ a: 1, b: 1 });
  const { info } = client.table("t").sample(3, { cross: true, columns: { x: { leaf: "a" } } });
  expect(Array.from(info.priorities)).toEqual([0, 0, 2.5]);
});

test("wide fields, text and one-element arrays work in items and conditions", () => {
  const wide = { image: u8(40, 40), name: text({ maxBytes: 8 }), one: i32(1) } as const;
  const client = LocalClient.of({ spec: wide, tables: [QUEUE], logger: null });
  const pattern = patternFromTransform(wide, (step) => ({ images: step.image.slice(-3, null, 2), names: step.name.slice(-2) }));
  const writer = client.structuredWriter([createConfig(pattern, "t", { conditions: [Condition.data(wide).one.mod(2).eq(0)] })]);
  for (let k = 0; k < 5; k++) writer.append({ image: new Uint8Array(1600).fill(k), name: `n${k}`, one: [k] });
  const { steps } = client.table("t").sample(2, { cross: true });
  const { images, names } = steps as unknown as { images: Column; names: Column<"string"> };
  expect([images.shape, [0, 1600, 3200, 4800].map((at) => images.data[at])]).toEqual([
    [2, 2, 40, 40],
    [0, 2, 2, 4],
  ]);
  expect(names.data).toEqual(["n1", "n2", "n3", "n4"]);
});

test("a layout is kept while a writer uses it, and released after close", () => {
  const { client, writer } = made([createConfig(last2, "t")], { maxSize: 2, sampler: fifo() });
  const { columnLayouts } = engineOf(client.replay as unknown as Replay);
  writer.append({ a: 0, b: 0 });
  columnLayouts.sweep();
  writer.append({ a: 1, b: 0 });
  expect(drawn(client)).toEqual([[0, 1]]);
  writer.close();
  columnLayouts.sweep();
  expect(columnLayouts.size).toBe(0);
  expect(() => writer.append({ a: 1, b: 1 })).toThrow(/closed.*structuredWriter/);
  expect(() => writer.flush()).toThrow(code("CLOSED"));
  writer.close();
});

test("a snapshot contains the items of a structured writer", () => {
  const { client, writer } = made([createConfig(last2, "t")]);
  for (let a = 0; a < 4; a++) writer.append({ a, b: a });
  const back = new LocalClient(Replay.restore([...client.replay.snapshot()], { logger: null })) as unknown as LocalClient<typeof spec>;
  expect(drawn(back)).toEqual([
    [0, 1],
    [1, 2],
    [2, 3],
  ]);
});
