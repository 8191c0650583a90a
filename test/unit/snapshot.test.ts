import { describe, expect, test } from "vitest";
import { f32, Replay, type Spec, u8 } from "../../src/index.ts";
import { moduleOf } from "../support/core.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf, errorOf, expectError } from "../support/refused.ts";
import { type AnyReplay, SCENES, sceneNames } from "../support/scenes.ts";
import { scaled, some, whole } from "../support/size.ts";

const DRAWS = 10_000;
const CALLS = scaled(250, 100);

/** Returns the next draws of every table as bytes: keys, probabilities and steps. Draws from some tables use items up. */
function draws(replay: AnyReplay): Buffer {
  const leaf = "x" in (replay.options.spec as object) ? "x" : "r";
  const parts = Object.values(replay.tables).flatMap((table) =>
    [100, DRAWS / 2 - 100, DRAWS / 2].flatMap((n) => {
      const { info, steps } = table.sample(n, { columns: { v: { leaf, at: 0 } } }) as { info: object; steps: { v: { data: Int32Array } } };
      return [...Object.values(info), steps.v.data].map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength));
    }),
  );
  return Buffer.concat(parts);
}

test.each(sceneNames(4))("a restored Replay continues exactly like the original: %s", (name) => {
  const { make, act } = SCENES[name] as (typeof SCENES)[string];
  const original = make();
  const past = new TestRandom(name.length);
  for (let i = 0; i < CALLS; i++) act(original, past);
  const bytes = bytesOf(original);
  const restored = Replay.restore(bytes) as AnyReplay;
  expect(bytesOf(restored).equals(bytes)).toBe(true);
  expect(restored.stats().tables).toEqual(original.stats().tables);
  expect(restored.options).toEqual(original.options);
  expect(restored.writers.map(({ options }) => options)).toEqual(original.writers.map(({ options }) => options));
  for (const [i, writer] of original.writers.entries()) {
    for (const table of Object.values(original.tables)) expect(restored.writers[i]?.lastKey(table.name)).toBe(writer.lastKey(table));
  }
  // The same calls are also made on another core.
  const other = Replay.restore(bytes, { module: moduleOf("scalar") }) as AnyReplay;
  const futures = [original, restored, other].map((replay) => {
    const random = new TestRandom(5);
    for (let i = 0; i < CALLS; i++) act(replay, random);
    return bytesOf(replay);
  });
  expect(futures[1]?.equals(futures[0] as Buffer)).toBe(true);
  expect(futures[2]?.equals(futures[0] as Buffer)).toBe(true);
  expect(draws(restored).equals(draws(original))).toBe(true);
});

test("the same calls produce the same snapshot, and taking a snapshot changes nothing", () => {
  const { make, act } = SCENES["several writers and lanes"] as (typeof SCENES)[string];
  const [a, b] = [make(), make(moduleOf("scalar"))] as const;
  const [ra, rb] = [new TestRandom(1), new TestRandom(1)];
  for (let i = 0; i < 200; i++) {
    act(a, ra);
    act(b, rb);
    if (i % 20 === 0) expect(bytesOf(a).equals(bytesOf(b))).toBe(true);
    // Only one of the two Replays is inspected between the calls.
    if (i % 3 === 0) bytesOf(a);
  }
  expect(bytesOf(a).equals(bytesOf(b))).toBe(true);
});

function small() {
  const replay = new Replay({ spec: u8(3000), tables: { t: { maxSize: 200 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let i = 0; i < 250; i++) writer.append(new Uint8Array(3000).fill(i));
  return { replay, writer };
}

test("restore accepts bytes, chunks of any size, and asynchronous chunks", async () => {
  const { replay } = small();
  const bytes = bytesOf(replay);
  const chunks = [...replay.snapshot()];
  expect(chunks.length).toBeGreaterThan(5);
  for (const chunk of chunks) expect(chunk.length).toBeLessThan(70_000);
  const random = new TestRandom(4);
  function* pieces(): Generator<Uint8Array> {
    for (let at = 0; at < bytes.length; ) {
      const size = random.next() < 0.5 ? random.below(20) : random.below(100_000);
      yield bytes.subarray(at, at + size);
      at += size;
    }
  }
  async function* later() {
    for (const piece of pieces()) {
      await Promise.resolve();
      yield piece;
    }
  }
  expect(bytesOf(Replay.restore(bytes)).equals(bytes)).toBe(true);
  expect(bytesOf(Replay.restore(chunks)).equals(bytes)).toBe(true);
  expect(bytesOf(Replay.restore(pieces())).equals(bytes)).toBe(true);
  expect(bytesOf(await Replay.restore(later())).equals(bytes)).toBe(true);
  expect(bytesOf(Replay.restore(replay.snapshot())).equals(bytes)).toBe(true);
});

test("restore rejects values that are not a source", async () => {
  for (const source of [undefined, null, 3, {}, new ArrayBuffer(8)]) {
    expectError(
      errorOf(() => Replay.restore(source as never)),
      TypeError,
      /^source must be a Uint8Array/,
    );
  }
  for (const source of [[1], ["REPRISE1"], [[1, 2]]]) {
    expectError(
      errorOf(() => Replay.restore(source as never)),
      TypeError,
      /^every chunk of source must be a Uint8Array/,
    );
  }
  async function* words() {
    yield "REPRISE1";
  }
  await expect(Replay.restore(words() as never)).rejects.toThrow(/^every chunk of source must be/);
});

test("a snapshot throws OUT_OF_TURN if its Replay changes while it is read", () => {
  const changes: ((replay: ReturnType<typeof small>) => unknown)[] = [
    ({ writer }) => writer.append(new Uint8Array(3000)),
    ({ writer }) => writer.endEpisode(),
    ({ writer }) => writer.createItem("t", { length: 1 }),
    ({ writer }) => writer.close(),
    ({ replay }) => replay.writer(),
    ({ replay }) => replay.table("t").sample(1),
    ({ replay }) => replay.table("t").clear(),
    ({ replay, writer }) => replay.table("t").updatePriorities([writer.lastKey("t")], [2]),
    ({ replay, writer }) => replay.table("t").delete([writer.lastKey("t")]),
  ];
  for (const change of changes) {
    const made = small();
    const chunks = made.replay.snapshot()[Symbol.iterator]();
    chunks.next();
    chunks.next();
    change(made);
    expectError(
      errorOf(() => {
        while (!chunks.next().done);
      }),
      "OUT_OF_TURN",
      /changed while its snapshot/,
    );
    expect(bytesOf(Replay.restore(bytesOf(made.replay))).equals(bytesOf(made.replay))).toBe(true);
  }
  // Inspecting must not change the state.
  const { replay } = small();
  const chunks = replay.snapshot()[Symbol.iterator]();
  chunks.next();
  replay.stats();
  replay.table("t").explain(1);
  while (!chunks.next().done);
});

test("a snapshot that is not read to its end keeps no memory", () => {
  const { replay } = small();
  bytesOf(replay);
  const { used } = replay.stats().bytes;
  for (let i = 0; i < 20; i++) {
    for (const _ of replay.snapshot()) break;
    const chunks = replay.snapshot()[Symbol.iterator]();
    chunks.next();
    chunks.return?.();
  }
  expect(replay.stats().bytes.used).toBe(used);
});

test("restore preserves an empty Replay, seeds of 64 bits, and all options", () => {
  const replay = new Replay({
    spec: [f32(), { a: u8() }] as const,
    tables: { z: { maxSize: 3 }, a: { maxSize: 1, maxTimesSampled: 7, maxSteps: 9, maxPending: 0 } },
    seed: 2n ** 64n - 1n,
    maxBytes: 1 << 20,
  });
  const restored = Replay.restore(bytesOf(replay));
  expect(restored.options).toEqual(replay.options);
  expect(Object.values(restored.tables).map(({ name }) => name)).toEqual(["z", "a"]);
  expect(bytesOf(restored).equals(bytesOf(replay))).toBe(true);
});

test("a Replay that fills the bytes from plan can be stored and restored", () => {
  const options = { spec: f32(200), tables: { t: { maxSize: 3000 } } };
  const replay = new Replay({ ...options, maxBytes: Replay.plan(options).bytes });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let i = 0; i < 4000; i++) writer.append(new Float32Array(200).fill(i));
  replay.table("t").sample(16);
  const bytes = bytesOf(replay);
  expect(bytesOf(Replay.restore(bytes)).equals(bytes)).toBe(true);
});

const leaves = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`leaf ${i}`, f32()]));
const values = (spec: object, i: number) => Object.fromEntries(Object.keys(spec).map((name) => [name, i]));
const [MANY, VERY_MANY] = [leaves(200), leaves(1000)];
const FORMS: readonly (readonly [string, Spec, (i: number) => unknown])[] = [
  ["a number", f32(), (i) => i],
  ["an image", u8(84, 84), (i) => new Uint8Array(84 * 84).fill(i)],
  ["more than a section", u8(100_000), (i) => new Uint8Array(100_000).fill(i)],
  ["many leaves", MANY, (i) => values(MANY, i)],
  ["more leaves than a section names", VERY_MANY, (i) => values(VERY_MANY, i)],
];

describe.each(some(FORMS, 3))("maxBytes leaves room for a snapshot: steps of %s", (_, spec, step) => {
  const filled = (maxSize: number, length: number, calls: number) => {
    const options = { spec, tables: { t: { maxSize } } };
    const { bytes } = Replay.plan(options);
    const replay = new Replay({ ...options, maxBytes: bytes });
    const writer = replay.writer({ items: [{ table: "t", length, stride: length }] });
    for (let i = 0; i < calls; i++) writer.append(step(i % 256) as never);
    expect(replay.stats().bytes.used).toBeLessThanOrEqual(bytes);
    return replay;
  };

  test.each(whole ? [1, 10, 300] : [1, 30])("with the bytes from plan and %i items", (maxSize) => {
    const bytes = bytesOf(filled(maxSize, 1, Math.ceil(1.5 * maxSize)) as never);
    expect(bytesOf(Replay.restore(bytes) as never).equals(bytes)).toBe(true);
  });

  test("after append has thrown OUT_OF_MEMORY", () => {
    const maxSize = 500;
    const replay = filled(maxSize, 1, 0);
    const writer = replay.writer({ items: [{ table: "t", length: 20, stride: 20 }] });
    const error = errorOf(() => {
      for (let i = 0; i < 20 * maxSize; i++) writer.append(step(i % 256) as never);
    });
    expectError(error, "OUT_OF_MEMORY", /maxBytes/);
    const bytes = bytesOf(replay as never);
    expect(bytesOf(Replay.restore(bytes) as never).equals(bytes)).toBe(true);
  });
});
