/** Tests migrating a snapshot for the next version of its program: only the steps may change. */
import { describe, expect, test } from "vitest";
import { bf16, bool, f16, f32, f64, i32, i64, prioritized, Replay, type Spec, shared, text, u8, uniform } from "../../../src/index.ts";
import { migrateSnapshot, type SnapshotMigration } from "../../../src/storage/index.ts";
import { TestRandom } from "../../support/random.ts";
import { bytesOf, errorOf, expectError } from "../../support/refused.ts";
import { SCENES, type Scene } from "../../support/scenes.ts";
import { some } from "../../support/size.ts";

const SPEC = {
  observation: { pixels: u8(20, 20), state: f32(3), half: f16(2), brain: bf16() },
  action: i32(),
  big: i64(),
  done: bool(),
  said: text({ maxBytes: 8 }, 2, 2),
  reward: f64(),
};
const TABLES = {
  prioritized: { maxSize: 150, sampler: prioritized(0.7) },
  uniform: { maxSize: 40, sampler: uniform(), maxTimesSampled: 50 },
} as const;

type Any = Replay<Spec, string>;

interface Sampled {
  readonly info: { readonly keys: Float64Array; readonly probabilities: Float64Array };
  readonly steps: { readonly v: { readonly data: Int32Array } };
}

/** Creates two tables with evictions, priorities and draws, and two unfinished episodes. */
function world(seed: number): Any {
  const random = new TestRandom(seed);
  const replay = new Replay<Spec, string>({ spec: SPEC, tables: TABLES, seed } as never);
  const writers = ["a", "b"].map((name) =>
    replay.writer({
      name,
      items: [
        { table: "prioritized", length: 2 },
        { table: "uniform", nStep: 3 },
      ],
    }),
  );
  for (let t = 0; t < 200; t++) {
    const state = [random.below(100), t, 0.5];
    const step = {
      observation: { pixels: new Uint8Array(400).fill(t), state, half: [t, 1 / 3], brain: t / 7 },
      action: t,
      big: 2n ** 60n + BigInt(t),
      done: t % 2 === 0,
      said: [
        ["ä", "b"],
        ["", `n${t}`],
      ],
      reward: t / 3,
    };
    for (const writer of writers) {
      writer.append(step);
      if (random.below(9) === 0) writer.endEpisode({ terminated: true, final: step });
    }
    if (t > 20 && t % 10 === 0) {
      const { keys } = replay.table("prioritized").sample(8).info;
      replay.table("prioritized").updatePriorities(keys, Float64Array.from(keys, () => random.below(50) + 1) as never);
    }
  }
  return replay;
}

const migrated = (source: Uint8Array | Iterable<Uint8Array>, options: SnapshotMigration) => Buffer.concat([...migrateSnapshot(source, options as never)]);
const keysOf = (replay: Any) => Object.values(replay.tables).map((table) => [...table.sample(200).info.keys]);
const { action, ...withoutAction } = SPEC;

describe.each(some([1, 2, 3], 1))("a migrated snapshot of world %i", (seed) => {
  const bytes = bytesOf(world(seed));

  test("a migration without changes returns the same bytes, whatever the chunks", () => {
    expect(migrated(bytes, { spec: SPEC }).equals(bytes)).toBe(true);
    const pieces = Array.from({ length: Math.ceil(bytes.length / 997) }, (_, i) => new Uint8Array(bytes.subarray(997 * i, 997 * (i + 1))));
    expect(migrated(pieces, { spec: SPEC }).equals(bytes)).toBe(true);
  });

  test("renaming a leaf and back, or adding and removing one, returns the same bytes", () => {
    const renamed = migrated(bytes, { spec: { ...withoutAction, move: action }, migrate: ({ action, ...step }) => ({ ...step, move: action }) });
    expect(renamed.equals(bytes)).toBe(false);
    expect(migrated(renamed, { spec: SPEC, migrate: ({ move, ...step }) => ({ ...step, action: move }) }).equals(bytes)).toBe(true);
    const added = migrated(bytes, { spec: { ...SPEC, mood: f32(100) }, migrate: (step) => ({ ...step, mood: new Float32Array(100) }) });
    expect(added.length).toBeGreaterThan(bytes.length);
    expect(migrated(added, { spec: SPEC, migrate: ({ mood, ...step }) => step }).equals(bytes)).toBe(true);
  });

  test("tables, keys, priorities, counts and draws are preserved, and the steps are replaced", () => {
    const spec = { ...SPEC, observation: { ...SPEC.observation, state: f64(3) }, mood: i32() };
    const old = Replay.restore(bytes) as Any;
    const next = Replay.restore(migrated(bytes, { spec, migrate: (step) => ({ ...step, mood: step.action + 1 }) }), { spec }) as unknown as Any;
    expect(next.stats().tables).toEqual(old.stats().tables);
    expect(next.writers.map(({ options }) => options)).toEqual(old.writers.map(({ options }) => options));
    const columns = (leaf: string) => ({ columns: { v: { leaf, at: 0 } } }) as never;
    const before = old.table("prioritized").sample(300, columns("action")) as unknown as Sampled;
    const after = next.table("prioritized").sample(300, columns("mood")) as unknown as Sampled;
    expect([...after.info.keys]).toEqual([...before.info.keys]);
    expect(after.info.probabilities).toEqual(before.info.probabilities);
    expect([...after.steps.v.data]).toEqual(Array.from(before.steps.v.data, (n) => n + 1));
    expect(keysOf(next)).toEqual(keysOf(old));
  });

  test("open episodes continue", () => {
    const spec = { reward: f64(), action: i32() };
    const next = Replay.restore(migrated(bytes, { spec, migrate: ({ reward, action }) => ({ reward, action }) }), { spec }) as unknown as Any;
    const [writer, old] = [next.writers[0], (Replay.restore(bytes) as Any).writers[0]];
    expect(writer?.options.name).toBe("a");
    expect(writer?.episodeSteps).toBe(old?.episodeSteps);
    writer?.append({ reward: 1, action: 7 });
    writer?.endEpisode({ terminated: true, final: { reward: 0, action: 0 } });
    expect(bytesOf(Replay.restore(bytesOf(next)) as Any).equals(bytesOf(next))).toBe(true);
  });
});

describe("content that cannot be migrated throws with its name", () => {
  const bytes = bytesOf(world(4));
  const small = (spec: Spec, more = {}) => new Replay<Spec, string>({ spec, tables: { t: { maxSize: 4 } }, ...more } as never);
  const refused = (source: Uint8Array, options: object) => errorOf(() => migrated(source, options as never));
  test("missing, unexpected and unsuitable values", () => {
    expectError(refused(bytes, { spec: { ...SPEC, mood: i32() } }), "SPEC_MISMATCH", /mood/);
    expectError(refused(bytes, { spec: withoutAction }), "SPEC_MISMATCH", /action/);
    expectError(refused(bytes, { spec: { ...SPEC, reward: u8() } }), "INVALID_DATA", /reward/);
    expectError(
      refused(bytes, { spec: { ...SPEC, reward: f16() }, migrate: (step: object) => ({ ...step, reward: 1e6 }) }),
      "INVALID_DATA",
      /reward must be finite as f16/,
    );
    expectError(refused(bytes, { spec: { ...SPEC, said: text({ maxBytes: 1 }, 2, 2) } }), "INVALID_DATA", /said must .*at most 1 bytes/);
  });
  test("changes of sharing or packing, and storedBytes that are too small", () => {
    const frames = bytesOf(small({ x: shared("f", u8(4)), y: i32() }));
    expectError(refused(frames, { spec: { x: u8(4), y: i32() } }), "UNSUPPORTED", /x must be shared/);
    expectError(
      refused(bytesOf(small({ x: u8(4) })), { spec: { x: shared("f", u8(4)) } }),
      "UNSUPPORTED",
      /spec has x, which is shared\. A migration cannot add or change/,
    );
    expectError(refused(frames, { spec: { x: shared("f", u8(2), 2), y: i32() } }), "UNSUPPORTED", /x, which is shared\. A migration cannot add or change/);
    expectError(refused(frames, { spec: { x: shared("f", u8(4)), z: shared("f", u8(4)) } }), "UNSUPPORTED", /z, which is shared/);
    const stored = bytesOf(small({ x: i32() }, { storedBytes: { max: 200, evictFrom: "t" } }));
    expect(Replay.restore(migrated(stored, { spec: { x: f64() } })).options.storedBytes).toEqual({ max: 200, evictFrom: "t" });
    expectError(
      refused(stored, { spec: { x: f32(100) }, migrate: () => ({ x: new Float32Array(100) }) }),
      RangeError,
      /storedBytes.max of the snapshot must be at least 4\d\d/,
    );
  });
  test("removed leaves that transition, a writer or an item uses", () => {
    const spec = { a: f32(), r: f32() };
    const roles = small(spec, { transition: { reward: "r" } });
    const rule = small(spec);
    rule.writer({ items: [{ table: "t", length: 1, priority: { leaf: "r" } }] } as never);
    const item = small(spec);
    const writer = item.writer();
    writer.append({ a: 1, r: 2 });
    writer.createItem("t", { length: 1, columns: { x: { leaf: "r", at: 0 } } } as never);
    writer.close();
    for (const [replay, user] of [
      [roles, "transition uses.*pass transition with the new names"],
      [rule, "a writer uses.*close that writer"],
      [item, "the columns of an item uses.*delete the items with these columns"],
    ] as const)
      expectError(
        refused(bytesOf(replay), { spec: { a: f32() }, migrate: ({ a }: { a: number }) => ({ a }) }),
        "NOT_FOUND",
        new RegExp(`spec must have r, which ${user}`),
      );
  });
  test("invalid options, and sources that are not snapshots", () => {
    expectError(refused(bytes, { spec: SPEC, seed: 1 }), TypeError, /migrateSnapshot has no option "seed"/);
    expectError(refused(bytes, { spec: SPEC, migrate: 1 }), TypeError, /migrate must be a function/);
    expectError(refused(bytes, { spec: SPEC, maxBytes: 0 }), RangeError, /maxBytes must be/);
    expectError(refused(new Uint8Array(20), { spec: SPEC }), "CORRUPT", /not a snapshot/);
    expectError(refused(bytes.subarray(0, bytes.length - 1), { spec: SPEC }), "CORRUPT", /the end is missing/);
    const flipped = new Uint8Array(bytes);
    const middle = bytes.length >> 1;
    flipped[middle] = 255 - (bytes[middle] as number);
    expectError(refused(flipped, { spec: SPEC }), "CORRUPT", /truncated or altered at byte/);
  });
});

test("maxBytes can change", () => {
  const bytes = bytesOf(world(5));
  expect(Replay.restore(migrated(bytes, { spec: SPEC, maxBytes: 1 << 27 })).options.maxBytes).toBe(1 << 27);
});

describe("rename", () => {
  const PATHS = { action: "act", "observation.state": "obs.position", reward: "gain" };
  const renamedSpec = {
    observation: { pixels: u8(20, 20), half: f16(2), brain: bf16() },
    obs: { position: f32(3) },
    act: i32(),
    big: i64(),
    done: bool(),
    said: text({ maxBytes: 8 }, 2, 2),
    gain: f64(),
  };
  const back = Object.fromEntries(Object.entries(PATHS).map(([from, to]) => [to, from]));

  test("and the reverse rename return the same bytes, and the transition roles use the new names", () => {
    const bytes = bytesOf(world(6));
    const there = migrated(bytes, { spec: renamedSpec, rename: PATHS });
    const replay = Replay.restore(there) as Any;
    expect(replay.options.transition).toEqual({ action: "act", reward: "gain" });
    const before = (Replay.restore(bytes) as Any).table("uniform").sample(20);
    const after = replay.table("uniform").sample(20);
    expect([...after.info.keys]).toEqual([...before.info.keys]);
    replay.writers[0]?.append({
      ...{ observation: { pixels: new Uint8Array(400), half: [0, 0], brain: 0 }, obs: { position: [1, 2, 3] }, act: 1, big: 0n, done: false, gain: 0 },
      said: [
        ["", ""],
        ["", ""],
      ],
    });
    const again = Replay.restore(migrated(there, { spec: SPEC, rename: back, transition: {} })) as Any;
    expect(bytesOf(again).equals(bytesOf(Replay.restore(migrated(bytes, { transition: {} })) as Any))).toBe(true);
  });

  test("changes priorities and columns, and can swap two names", () => {
    const spec = { a: f32(), b: f32() };
    const replay = new Replay<Spec, string>({ spec, tables: { t: { maxSize: 4 } } });
    replay
      .writer({ name: "w", items: [{ table: "t", length: 1, priority: { leaf: "a" }, columns: { x: { leaf: "a", at: 0 } } }] } as never)
      .append({ a: 1, b: 2 });
    const next = Replay.restore(migrated(bytesOf(replay), { spec, rename: { a: "b", b: "a" } })) as Any;
    expect(next.writers[0]?.options.items[0]).toMatchObject({ priority: { leaf: "b" } });
    expect(next.table("t").sample(1).steps).toMatchObject({ x: { data: Float32Array.of(1) } });
    expect(migrated(migrated(bytesOf(replay), { spec, rename: { a: "b", b: "a" } }), { spec, rename: { a: "b", b: "a" } }).equals(bytesOf(replay))).toBe(true);
    expectError(
      errorOf(() => migrated(bytesOf(replay), { rename: { c: "a" } })),
      "NOT_FOUND",
      /each key of rename must .*"a", "b", got "c"/,
    );
    expectError(
      errorOf(() => migrated(bytesOf(replay), { rename: { a: "c" } })),
      "NOT_FOUND",
      /rename\.a must/,
    );
  });
});

describe.each(["shared and wide leaves", "packed leaves"])("%s", (name) => {
  const scene = SCENES[name] as Scene;
  const replay = scene.make() as unknown as Any;
  const random = new TestRandom(7);
  for (let act = 0; act < 300; act++) scene.act(replay as never, random);
  const bytes = bytesOf(replay);
  const old = replay.options.spec as { readonly [leaf: string]: Spec };
  const { wide, ...others } = old;
  const columns = { columns: { s: { leaf: "s", at: 0 }, n: { leaf: "n", at: -1 } } } as never;
  const frames = (from: Any) => Object.keys(from.tables).map((table) => (from.table(table).sample(200, columns) as unknown as Sampled).steps);

  test("shared frames and draws are preserved", () => {
    const spec = { ...old, mood: i32() };
    const next = Replay.restore(migrated(bytes, { spec, migrate: (step) => ({ ...step, mood: 1 }) })) as Any;
    expect(frames(next)).toEqual(frames(Replay.restore(bytes) as Any));
    expect(
      migrated(bytesOf(Replay.restore(migrated(bytes, { spec, migrate: (step) => ({ ...step, mood: 1 }) })) as Any), {
        spec: old,
        migrate: ({ mood, ...step }) => step,
      }).equals(bytes),
    ).toBe(true);
    for (let act = 0; act < 20; act++) next.writers[0]?.append({ ...stepOf(name), mood: 2 } as never);
    Replay.restore(bytesOf(next));
  });

  test("leaves can be removed or renamed, even a leaf with shared frames", () => {
    const gone = Replay.restore(migrated(bytes, { spec: others, migrate: ({ wide: _, ...step }) => step })) as Any;
    expect(frames(gone)).toEqual(frames(Replay.restore(bytes) as Any));
    const { n, ...rest } = old;
    const renamed = migrated(bytes, { spec: { ...rest, another: n as Spec }, rename: { n: "another" } });
    expect(migrated(renamed, { spec: old, rename: { another: "n" } }).equals(bytes)).toBe(true);
    const without = Replay.restore(migrated(bytes, { spec: rest })) as Any;
    expect(without.stats().steps).toBe(replay.stats().steps);
  });

  function stepOf(scene: string): object {
    return scene.startsWith("packed")
      ? { s: new Uint8Array(544), n: new Uint8Array(272), wide: new Float32Array(300), r: 1 }
      : { s: new Uint8Array(80), n: new Uint8Array(40), wide: new Uint8Array(1500), r: 1 };
  }
});

test("chunks can be read once, and the report is complete afterwards", () => {
  const bytes = bytesOf(world(8));
  const chunks = migrateSnapshot(bytes, { tables: { uniform: { maxSize: 10 } } });
  expect(chunks.report).toEqual({ steps: 0, removed: {}, newKeys: [] });
  const whole = Buffer.concat([...chunks]);
  expect([...chunks]).toEqual([]);
  const before = (Replay.restore(bytes) as Any).table("uniform").size;
  expect(chunks.report.removed).toEqual({ uniform: before - 10 });
  expect(chunks.report.steps).toBeGreaterThan(100);
  expect((Replay.restore(whole) as Any).table("uniform").size).toBe(10);
});

describe("a migrate function that returns no step of the new spec", () => {
  const saved = () => {
    const replay = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 4 } } });
    const writer = replay.writer();
    writer.append({ x: 1 });
    writer.createItem("t", { length: 1 });
    return bytesOf(replay as unknown as Any);
  };
  const spec = { x: f32(), mood: f32() };
  const refused = (options: object) => errorOf(() => [...migrateSnapshot(saved(), { spec, ...options } as never)]);

  test("is suggested in the error if it is missing", () => {
    expectError(refused({}), "SPEC_MISMATCH", /step\.mood is missing.*Pass migrate.*docs\/migrate\/saved-memory\.md/);
  });

  test("is not suggested in the error if it was passed", () => {
    const error = refused({ migrate: (step: object) => step });
    expectError(error, "SPEC_MISMATCH", /step\.mood is missing/);
    expect((error as Error).message).not.toMatch(/pass migrate/i);
  });

  test("is rejected if it returns a promise, even a rejected one", () => {
    expectError(refused({ migrate: async (step: object) => ({ ...step, mood: 0 }) }), TypeError, /migrate must .*got a promise/);
    expectError(refused({ migrate: async () => Promise.reject(new Error("later")) }), TypeError, /got a promise/);
  });
});
