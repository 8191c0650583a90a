/** Tests changing the tables of a saved memory: the remaining items are compared with a list of plain objects. */
import { describe, expect, test } from "vitest";
import { SLOTS } from "../../../src/base/kinds.ts";
import { fifo, i32, lifo, maxHeap, minHeap, minSize, prioritized, Replay, recency, type Selector, type TableOptions, uniform } from "../../../src/index.ts";
import { migrateSnapshot } from "../../../src/storage/index.ts";
import { TestRandom } from "../../support/random.ts";
import { bytesOf, errorOf, expectError } from "../../support/refused.ts";
import { type AnyReplay, SCENES, type Scene, sceneNames } from "../../support/scenes.ts";
import { scaled } from "../../support/size.ts";
import { seen } from "./seen.ts";

interface Fact {
  readonly key: number;
  readonly state: string;
  readonly length: number;
  readonly priority: number;
  readonly timesSampled: number;
  readonly steps: string;
}

/** Returns the keys of a table's items from the bytes of a snapshot: generation × scale + base + slot. */
function keysIn(replay: AnyReplay, number: number): number[] {
  const bytes = seen(replay);
  const tables = Object.values(replay.options.tables);
  const { maxSize, maxPending } = tables[number] as { maxSize: number; maxPending: number };
  const bits = Math.floor(Math.log2(maxSize + 1 + maxPending)) + 1;
  const tableBits = tables.length === 1 ? 0 : Math.ceil(Math.log2(tables.length));
  const keys: number[] = [];
  for (let at = 0; at < bytes.length; at += 16 + bytes.readUInt32LE(at + 8)) {
    if (bytes.readUInt32LE(at) !== SLOTS || bytes.readUInt32LE(at + 4) !== number) continue;
    const count = bytes.readUInt32LE(at + 16);
    const each = (bytes.readUInt32LE(at + 8) - 4) / count;
    for (let k = 0; k < count; k++) {
      const record = at + 20 + k * each;
      if (bytes.readDoubleLE(record + 24) < Number.POSITIVE_INFINITY)
        keys.push(bytes.readUInt32LE(record + 12) * 2 ** (bits + tableBits) + number * 2 ** bits + bytes.readUInt32LE(record));
    }
  }
  return keys;
}

function factsOf(replay: AnyReplay, number: number): Fact[] {
  const table = Object.values(replay.tables)[number] as AnyReplay["tables"][string];
  return keysIn(replay, number).map((key) => {
    const { state, length, priority, timesSampled } = table.explain(key) as Required<ReturnType<typeof table.explain>>;
    expect(state).not.toBe("gone");
    const steps =
      state === "live"
        ? JSON.stringify(table.get([key]).steps, (_, value) => (ArrayBuffer.isView(value) ? [...(value as Uint8Array)].map(String) : value))
        : "";
    return { key, state, length, priority, timesSampled, steps };
  });
}

const byKey = (facts: readonly Fact[]) => [...facts].sort((a, b) => a.key - b.key);
/** Returns items without their keys, to compare items that got new keys. */
const withoutKeys = (facts: readonly Fact[]) => facts.map(({ key, ...fact }) => JSON.stringify(fact)).sort();

/** Runs random calls, and returns the order in which items were inserted. */
function played(scene: Scene, random: TestRandom, acts: number): { readonly replay: AnyReplay; readonly order: Map<number, number>[] } {
  const replay = scene.make();
  const order = Object.keys(replay.tables).map(() => new Map<number, number>());
  for (let act = 0; act < acts; act++) {
    scene.act(replay, random);
    for (const [number, ages] of order.entries()) for (const key of keysIn(replay, number)) if (!ages.has(key)) ages.set(key, ages.size);
  }
  return { replay, order };
}

const SAMPLERS: readonly (() => Selector)[] = [fifo, lifo, uniform, () => prioritized(0.7), minHeap, maxHeap, () => recency({ exponent: 2 })];
const removers = SAMPLERS.slice(0, -1);

function changeOf(random: TestRandom, saved: Required<TableOptions>, size: number): Partial<TableOptions> {
  const maxSize = random.pick([saved.maxSize, Math.max(1, size >> 1), 1, 2 * saved.maxSize, 3000]);
  return {
    maxSize,
    ...(random.below(2) === 0 && { sampler: random.pick(SAMPLERS)() }),
    ...(random.below(2) === 0 && { remover: random.pick(removers)() }),
    ...(random.below(4) === 0 && { rateLimiter: minSize(1 + random.below(3)) }),
    ...(random.below(3) === 0 && { maxPending: random.pick([20, 5000]) }),
    ...(random.below(5) === 0 && { maxSteps: 1 + random.below(60) }),
    ...(random.below(6) === 0 && { maxTimesSampled: 1 + random.below(4) }),
  };
}

/** Returns the items in the order in which a remover would pick them; undefined if the order is random or unknown. */
function picks(facts: readonly Fact[], ages: ReadonlyMap<number, number>, kind: string, knowsAge: boolean): readonly Fact[] | undefined {
  const age = ({ key }: Fact) => ages.get(key) as number;
  if (kind === "fifo" && knowsAge) return [...facts].sort((a, b) => age(a) - age(b));
  if (kind === "lifo" && knowsAge) return [...facts].sort((a, b) => age(b) - age(a));
  return undefined;
}

describe.each(sceneNames(1))("%s", (name) => {
  const scene = SCENES[name] as Scene;

  test("a migration without changes returns the same bytes", () => {
    const { replay } = played(scene, new TestRandom(1), 100);
    const bytes = bytesOf(replay);
    expect(Buffer.concat([...migrateSnapshot(bytes, {})]).equals(bytes)).toBe(true);
    const tables = Object.fromEntries(Object.entries(replay.options.tables).map(([table, options]) => [table, { ...options }]));
    expect(Buffer.concat([...migrateSnapshot(bytes, { tables })]).equals(bytes)).toBe(true);
  });

  test("remaining items are unchanged, and the table continues", () => {
    for (let seed = 1; seed <= scaled(2); seed++) {
      const random = new TestRandom(seed);
      const { replay, order } = played(scene, random, 40 + random.below(100));
      const facts = order.map((_, number) => factsOf(replay, number));
      const names = Object.keys(replay.tables);
      const tables: { [name: string]: Partial<TableOptions> } = {};
      for (const [number, table] of names.entries())
        tables[table] = changeOf(random, replay.options.tables[table] as Required<TableOptions>, (facts[number] as Fact[]).length);
      const migrated = migrateSnapshot(bytesOf(replay), { tables });
      // Restoring rejects an inconsistent state.
      const next = Replay.restore(Buffer.concat([...migrated])) as unknown as AnyReplay;
      const message = `seed ${seed}: ${JSON.stringify(tables)}`;
      expect(next.stats().steps, message).toBeLessThanOrEqual(replay.stats().steps);
      expect(next.writers.map(({ options }) => options)).toEqual(replay.writers.map(({ options }) => options));
      for (const [number, table] of names.entries()) {
        const [before, after] = [facts[number] as Fact[], factsOf(next, number)];
        const options = next.options.tables[table] as Required<TableOptions>;
        const old = replay.options.tables[table] as Required<TableOptions>;
        expect(options, message).toMatchObject(tables[table] as object);
        const live = after.filter(({ state }) => state === "live");
        expect(live.length, message).toBeLessThanOrEqual(options.maxSize);
        expect(
          live.reduce((sum, { length }) => sum + length, 0),
          message,
        ).toBeLessThanOrEqual(options.maxSteps);
        expect(before.length - after.length, message).toBe(migrated.report.removed[table] ?? 0);
        // Every episode is either stored or counted as deleted.
        const episodesOf = (from: AnyReplay) => (from.tables[table] as AnyReplay["tables"][string]).stats();
        const [were, are] = [episodesOf(replay), episodesOf(next)];
        const isAdmitted = were.pending !== are.pending;
        if (!isAdmitted) expect(are.episodes + are.deletedEpisodes, message).toBe(were.episodes + were.deletedEpisodes);
        const hasNewKeys = migrated.report.newKeys.includes(table);
        // A changed limiter may admit waiting items.
        const isLet = JSON.stringify(options.rateLimiter) !== JSON.stringify(old.rateLimiter);
        if (!isLet && hasNewKeys) for (const fact of withoutKeys(after)) expect(withoutKeys(before), message).toContain(fact);
        if (!isLet && !hasNewKeys) expect(byKey(after), message).toEqual(byKey(before.filter(({ key }) => after.some((fact) => fact.key === key))));
        // The remover determines which items were removed.
        const knowsAge = ["fifo", "lifo", "recency"].some((kind) => [old.sampler.kind, old.remover.kind].includes(kind as never));
        const usable = before.filter(({ state, timesSampled }) => state === "live" && timesSampled < options.maxTimesSampled);
        const picked = isLet ? undefined : picks(usable, order[number] as Map<number, number>, options.remover.kind, knowsAge);
        if (picked !== undefined) expect(withoutKeys(live), message).toEqual(withoutKeys(picked.slice(picked.length - live.length)));
        // New keys were never used before.
        const known = order[number] as Map<number, number>;
        if (hasNewKeys) for (const { key } of after) expect(known.has(key), message).toBe(false);
        for (const { key } of after) known.set(key, -1);
      }
      for (let act = 0; act < 50; act++) {
        const had = names.map((_, number) => new Set(keysIn(next, number)));
        actUnless(scene, next, random);
        for (const [number] of names.entries())
          for (const key of keysIn(next, number)) {
            if ((had[number] as Set<number>).has(key)) continue;
            expect((order[number] as Map<number, number>).has(key), `${message}, key ${key}`).toBe(false);
            (order[number] as Map<number, number>).set(key, -1);
          }
      }
      expect(bytesOf(Replay.restore(bytesOf(next)) as unknown as AnyReplay).equals(bytesOf(next)), message).toBe(true);
    }
  });
});

/** Makes a random call; a draw may fail because the table has too few items. */
function actUnless(scene: Scene, replay: AnyReplay, random: TestRandom): void {
  try {
    scene.act(replay, random);
  } catch (error) {
    if (!["EMPTY", "TOO_FEW", "RATE_LIMITED", "INVALID_DATA"].includes((error as { code?: string }).code as string)) throw error;
  }
}

describe("a smaller table", () => {
  const SPEC = { x: i32() };
  function filled(options: TableOptions): AnyReplay {
    const replay = new Replay({ spec: SPEC, tables: { t: options } }) as unknown as AnyReplay;
    const writer = replay.writer();
    for (let x = 0; x < 10; x++) {
      writer.append({ x });
      writer.createItem("t", { length: 1, priority: (7 * x) % 10 });
    }
    return replay;
  }
  const left = (options: TableOptions, change: Partial<TableOptions>) => {
    const next = Replay.restore(Buffer.concat([...migrateSnapshot(bytesOf(filled(options)), { tables: { t: change } })])) as unknown as AnyReplay;
    return Array.from((next.table("t").get(keysIn(next, 0)).steps as unknown as { x: { data: Int32Array } }).x.data);
  };

  test.each([
    ["fifo", fifo(), [6, 7, 8, 9]],
    ["lifo", lifo(), [0, 1, 2, 3]],
    ["minHeap", minHeap(), [1, 2, 4, 7]],
    ["maxHeap", maxHeap(), []],
  ] as const)("keeps the items that %s does not evict", (_, remover, kept) => {
    const items = left({ maxSize: 10 }, { maxSize: 4, remover });
    const priorities = (xs: readonly number[]) => xs.map((x) => (7 * x) % 10).sort((a, b) => a - b);
    if (remover.kind === "fifo" || remover.kind === "lifo") expect(items.sort((a, b) => a - b)).toEqual(kept);
    else expect(priorities(items)).toEqual(remover.kind === "minHeap" ? [6, 7, 8, 9] : [0, 1, 2, 3]);
  });

  test("draws of a prioritized table keep the same keys if only its limits change", () => {
    const saved = bytesOf(filled({ maxSize: 10, sampler: prioritized(0.6) }));
    const keys = (bytes: Uint8Array) => [...(Replay.restore(bytes) as unknown as AnyReplay).table("t").sample(500).info.keys];
    expect(keys(Buffer.concat([...migrateSnapshot(saved, { tables: { t: { maxSize: 20, rateLimiter: minSize(5) } } })]))).toEqual(keys(saved));
  });

  test("rejects invalid tables with their names", () => {
    const saved = bytesOf(filled({ maxSize: 10 }));
    const refused = (tables: object) => errorOf(() => [...migrateSnapshot(saved, { tables } as never)]);
    expectError(refused({ u: { maxSize: 1 } }), "NOT_FOUND", /each name in tables must be one of "t", got "u"/);
    expectError(refused({ t: { maxSize: 0 } }), RangeError, /tables\.t\.maxSize/);
    expectError(refused({ t: { size: 1 } }), TypeError, /tables\.t has no option "size"/);
    expectError(refused({ t: { remover: recency() } }), RangeError, /tables\.t\.remover/);
    expectError(refused([]), TypeError, /tables must be an object/);
  });
});

test("a table of very many items can be halved", () => {
  const count = scaled(300_000, 30_000);
  const replay = new Replay({ spec: { x: i32() }, tables: { t: { maxSize: count } } }) as unknown as AnyReplay;
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let from = 0; from < count; from += 1000) writer.appendColumns({ x: Int32Array.from({ length: 1000 }, (_, i) => from + i) } as never);
  const migrated = migrateSnapshot(bytesOf(replay), { tables: { t: { maxSize: count / 2 } } });
  const next = Replay.restore(Buffer.concat([...migrated])) as unknown as AnyReplay;
  expect(migrated.report).toMatchObject({ removed: { t: count / 2 } });
  expect(next.table("t").size).toBe(count / 2);
});
