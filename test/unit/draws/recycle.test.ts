/** Tests recycled batches: the effects of `release`, `using`, and the next iteration of a loop. */
import { describe, expect, test } from "vitest";
import { type Batch, f32, fifo, i32, Replay, text } from "../../../src/index.ts";
import { errorOf, expectError, expectRefused } from "../../support/refused.ts";

const spec = { x: i32(), image: f32(300), name: text({ maxBytes: 4 }) };

function filled(n = 12) {
  const replay = new Replay({ spec, tables: { t: { maxSize: 20, sampler: fifo(), maxTimesSampled: 1000 } }, seed: 3 });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let x = 0; x < n; x++) writer.append({ x, image: new Float32Array(300).fill(x), name: String(x) });
  return { replay, writer, table: replay.tables.t };
}

function moved() {
  const replay = new Replay({ spec: { observation: f32(2), action: i32(), reward: f32() }, tables: { t: { maxSize: 50 } }, seed: 4 });
  const writer = replay.writer({ items: [{ table: "t", nStep: 2 }] });
  for (let t = 0; t < 20; t++) writer.append({ observation: [t, -t], action: t, reward: t });
  return replay.tables.t.transitions({ gamma: 0.5 });
}

/** Returns the buffer that a batch uses. */
const memoryOf = (batch: { readonly info: Batch["info"] }) => batch.info.keys.buffer;

test("a released batch is reused, and equals a new batch", () => {
  const [{ table }, twin] = [filled(), filled().table];
  const first = table.sample(4, { recycle: true, mask: true, beta: 1 });
  const { data } = first.steps.x;
  expect(first).toEqual(twin.sample(4, { mask: true, beta: 1 }));
  first.release();
  const second = table.sample(4, { recycle: true, mask: true, beta: 1 });
  expect(second).not.toBe(first);
  expect(second.steps.x.data).toBe(data);
  expect(second).toEqual(twin.sample(4, { mask: true, beta: 1 }));
});

test("an unreleased batch keeps its memory, next to batches of other shapes", () => {
  const { table } = filled();
  const kept = table.sample(3, { recycle: true });
  const before = kept.detached();
  table.sample(5, { recycle: true }).release();
  const [other, narrow] = [table.sample(3, { recycle: true }), table.sample(3, { recycle: true, columns: { x: { leaf: "x", at: 0 } } })];
  expect([memoryOf(other), memoryOf(narrow)]).not.toContain(memoryOf(kept));
  expect(kept.detached()).toEqual(before);
});

test("a batch is reused once, and only if it was drawn with `recycle`", () => {
  const { table } = filled();
  const once = table.sample(3, { recycle: true });
  once.release();
  once.release();
  const [a, b] = [table.sample(3, { recycle: true }), table.sample(3, { recycle: true })];
  expect(memoryOf(a)).toBe(memoryOf(once));
  expect(memoryOf(b)).not.toBe(memoryOf(once));
  const plain = table.sample(3);
  plain.release();
  const before = plain.detached();
  expect(memoryOf(table.sample(3, { recycle: true }))).not.toBe(memoryOf(plain));
  expect(plain.detached()).toEqual(before);
});

test("a batch shorter than requested is reused at its real size", () => {
  const { table } = filled(4);
  const options = { recycle: true, replacement: false } as const;
  const short = table.sample(9, options);
  expect([short.count, short.info.keys.length, short.blocked?.by]).toEqual([4, 4, "items"]);
  short.release();
  expect(memoryOf(table.sample(4, options))).toBe(memoryOf(short));
});

test.each([false, true])("batches of changing widths and counts do not mix their data: recycle %s", (recycle) => {
  const make = () => {
    const replay = new Replay({ spec: { x: i32(), y: f32(2) }, tables: { t: { maxSize: 40, sampler: fifo(), maxTimesSampled: 1 } } });
    const writer = replay.writer();
    return { table: replay.tables.t, append: (x: number) => writer.append({ x, y: [x, -x] }), create: (length: number) => writer.createItem("t", { length }) };
  };
  const [one, twin] = [make(), make()];
  for (let x = 0; x < 300; x++) {
    for (const { append, create } of [one, twin]) {
      append(x);
      create(Math.min(1 + ((x * 7) % 5), x + 1));
    }
    const n = 1 + (x % 3);
    if (x % 2 === 0) continue;
    const batch = one.table.sample(n, { recycle, mask: true });
    const plain = twin.table.sample(n, { length: 6, mask: true });
    expect([batch.count, ...batch.lengths, ...batch.info.keys]).toEqual([plain.count, ...plain.lengths, ...plain.info.keys]);
    expect(batch.toArray()).toEqual(plain.toArray());
    if (x % 4 === 1) batch.release();
  }
});

test("`using` releases a batch", () => {
  const { table } = filled();
  let before: unknown;
  {
    using batch = table.sample(2, { recycle: true });
    before = memoryOf(batch);
  }
  expect(memoryOf(table.sample(2, { recycle: true }))).toBe(before);
});

test("a loop over a dataset releases each batch on its next turn", async () => {
  const { table } = filled();
  const seen = new Set<unknown>();
  let turns = 0;
  for (const batch of table.dataset({ batchSize: 4, recycle: true })) {
    seen.add(memoryOf(batch));
    if (++turns === 10) break;
  }
  for await (const batch of table.dataset({ batchSize: 4, recycle: true })) {
    seen.add(memoryOf(batch));
    if (++turns === 20) break;
  }
  expect(seen.size).toBe(1);
  for await (const batch of table.dataset({ batchSize: 4, recycle: true, prefetch: 2 })) {
    const x = [...batch.steps.x.data];
    await new Promise((resolve) => setTimeout(resolve));
    expect([...batch.steps.x.data]).toEqual(x);
    seen.add(memoryOf(batch));
    if (++turns === 40) break;
  }
  expect(seen.size).toBeLessThanOrEqual(4);
  const kept = new Set<Batch>();
  for (const batch of table.dataset({ batchSize: 4 })) if (kept.add(batch).size === 5) break;
  expect(kept.size).toBe(5);
});

test("batches of transitions are reused", () => {
  const [view, twin] = [moved(), moved()];
  const first = view.sample(4, { recycle: true });
  const { data } = first.observation;
  expect(first).toEqual(twin.sample(4));
  first.release();
  const second = view.sample(4, { recycle: true });
  expect(second).not.toBe(first);
  expect(second.observation.data).toBe(data);
  expect(second).toEqual(twin.sample(4));
  const seen = new Set<unknown>();
  let turns = 0;
  for (const batch of view.dataset({ batchSize: 4, recycle: true })) {
    seen.add(batch.observation.data.buffer);
    if (++turns === 10) break;
  }
  expect(seen.size).toBe(1);
});

test('"detach" empties the arrays on release', () => {
  const { table } = filled();
  const batch = table.sample(3, { recycle: "detach" });
  const { data } = batch.steps.x;
  expect(data.length).toBe(3);
  batch.release();
  expect([data.length, batch.steps.image.data.length]).toEqual([0, 0]);
  expect(table.sample(3, { recycle: "detach" }).steps.x.data.length).toBe(3);
  const transitions = moved().sample(2, { recycle: "detach" });
  transitions.release();
  expect(transitions.observation.data.length).toBe(0);
});

test("a loop releases only its own batches, not the batch in `into`", () => {
  const { table } = filled();
  const lent = table.sample(4, { recycle: true });
  let turns = 0;
  for (const batch of table.dataset({ batchSize: 4, into: lent })) {
    expect(batch).toBe(lent);
    if (++turns === 3) break;
  }
  expect(memoryOf(table.sample(4, { recycle: true }))).not.toBe(memoryOf(lent));
  lent.release();
  expect(memoryOf(table.sample(4, { recycle: true }))).toBe(memoryOf(lent));
});

test.each<[string, (batch: Batch) => void]>([
  ["its memory was transferred", (batch) => structuredClone(null, { transfer: [batch.steps.x.data.buffer] })],
  ["it is frozen", (batch) => Object.freeze(batch)],
  ["its texts are frozen", (batch) => Object.freeze(batch.steps.name.data)],
])("a batch that cannot be refilled is not reused: %s", (_, spoil) => {
  const [{ table }, twin] = [filled(), filled().table];
  for (const recycle of [true, "detach"] as const) {
    const spoilt = table.sample(3, { recycle });
    spoil(spoilt);
    spoilt.release();
    twin.sample(3);
    expect(table.sample(3, { recycle })).toEqual(twin.sample(3));
  }
});

test("transitions with transferred memory are not reused", () => {
  const [view, twin] = [moved(), moved()];
  for (const recycle of [true, "detach"] as const) {
    const sent = view.sample(3, { recycle });
    structuredClone(null, { transfer: [sent.observation.data.buffer] });
    sent.release();
    twin.sample(3);
    expect(view.sample(3, { recycle })).toEqual(twin.sample(3));
  }
});

test('a leaf of transitions can have any name, even "constructor"', () => {
  const replay = new Replay({ spec: { observation: f32(), action: i32(), reward: f32(), constructor: i32() }, tables: { t: { maxSize: 9 } }, seed: 4 });
  const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
  for (let t = 0; t < 3; t++) writer.append({ observation: t, action: t, reward: t, constructor: 7 });
  const batch = replay.tables.t.transitions({ gamma: 1 }).sample(2) as unknown as { readonly constructor: { readonly data: Int32Array } };
  expect([...batch.constructor.data]).toEqual([7, 7]);
});

test("sample rejects an invalid `recycle`, and `recycle` together with `into`", () => {
  const { replay, table } = filled();
  expectRefused(replay, () => table.sample(2, { recycle: 1 as never }), TypeError, /^recycle must be a boolean, or "detach", got 1$/);
  expectRefused(replay, () => table.sample(2, { recycle: true, into: table.batch(2, { length: 1 }) }), TypeError, /^recycle must be omitted with into/);
});

test("JSON contains every column of a batch, as in a detached copy", () => {
  const { table } = filled();
  for (const batch of [table.sample(2, { beta: 0.4, mask: true }), table.sample(2, { recycle: true }), moved().sample(2)]) {
    const json = JSON.parse(JSON.stringify(batch));
    expect(json).toEqual(JSON.parse(JSON.stringify(batch.detached())));
    expect([json.count, "steps" in json, Object.keys(json).length > 3]).toEqual([2, true, true]);
  }
});

test("structuredClone accepts detached copies, and rejects the batch itself", () => {
  const { table } = filled();
  const batch = table.sample(2, { nStep: undefined });
  const copy = structuredClone(batch.detached());
  expect(copy.steps.x.data).toEqual(batch.steps.x.data);
  expect(copy.steps.x.data.buffer.byteLength).toBe(8);
  expect(() => structuredClone(batch)).toThrow(/could not be cloned/);
  expect(() => structuredClone(moved().sample(2))).toThrow(/could not be cloned/);
  expect(batch).not.toEqual(table.sample(2));
});

/** The calls that draw recycled batches, and the loops over such batches. */
const SOURCES = {
  table: () => {
    const { table } = filled();
    return {
      sample: () => table.sample(4, { recycle: true }),
      into: (batch: object) => table.sample(4, { into: batch as Batch }),
      loop: (prefetch: number) => table.dataset({ batchSize: 4, recycle: true, prefetch }),
      memory: (batch: object) => memoryOf(batch as Batch),
    };
  },
  view: () => {
    const view = moved();
    return {
      sample: () => view.sample(4, { recycle: true }),
      into: (batch: object) => view.sample(4, { into: batch }),
      loop: (prefetch: number) => view.dataset({ batchSize: 4, recycle: true, prefetch }),
      memory: (batch: object) => (batch as { readonly keys: Float64Array }).keys.buffer,
    };
  },
};

describe.each(["table", "view"] as const)("recycled batches of a %s do not share memory", (name) => {
  test.each([0, 2])("if the body of a loop releases and draws again (prefetch %i)", async (prefetch) => {
    const { sample, loop, memory } = SOURCES[name]();
    const held: object[] = [];
    let turns = 0;
    for (const batch of loop(0)) {
      batch.release();
      held.push(sample());
      if (++turns === 3) break;
    }
    for await (const batch of loop(prefetch)) {
      batch.release();
      held.push(sample());
      if (++turns === 6) break;
    }
    held.push(sample(), sample());
    expect(new Set(held.map(memory)).size).toBe(held.length);
  });

  test("after late and repeated releases", () => {
    const { sample, memory } = SOURCES[name]();
    const first = sample();
    first.release();
    const second = sample();
    expect(memory(second)).toBe(memory(first));
    first.release();
    first[Symbol.dispose]();
    const third = sample();
    expect(memory(third)).not.toBe(memory(second));
    second.release();
    second.release();
    first.release();
    const [fourth, fifth] = [sample(), sample()];
    expect(new Set([third, fourth, fifth].map(memory)).size).toBe(3);
  });

  test("if a `using` block ends after a release", () => {
    const { sample, memory } = SOURCES[name]();
    let other: object;
    {
      using batch = sample();
      batch.release();
      other = sample();
    }
    expect(memory(sample())).not.toBe(memory(other));
  });

  test("after an attempt to refill a released batch", () => {
    const { sample, into, memory } = SOURCES[name]();
    const first = sample();
    into(first);
    first.release();
    expectError(
      errorOf(() => into(first)),
      "SPEC_MISMATCH",
      /^into must .*released/,
    );
    const second = sample();
    expectError(
      errorOf(() => into(first)),
      "SPEC_MISMATCH",
      /released/,
    );
    into(second);
    expect(memory(sample())).not.toBe(memory(second));
  });
});

test("a loop with `into` rejects after its body releases the batch", async () => {
  const { table } = filled();
  const lent = table.sample(4, { recycle: true });
  const loop = async () => {
    for await (const batch of table.dataset({ batchSize: 4, into: lent })) batch.release();
  };
  await expect(loop()).rejects.toThrow(/^into must .*released/);
});
