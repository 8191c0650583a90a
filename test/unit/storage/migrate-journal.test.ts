/** Tests migrating a journal for the next version of its program: the journal must be either rewritten or unchanged, wherever the program is killed. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type MemoryDirectory, memory, type Operation } from "../../../src/files/memory.ts";
import { i32, lifo, minSize, type OpenOptions, prioritized, Replay, type Spec } from "../../../src/index.ts";
import { Log, node } from "../../../src/storage/index.ts";
import { TestRandom } from "../../support/random.ts";
import { expectError } from "../../support/refused.ts";
import { type AnyReplay, SCENES, type Scene, sceneNames } from "../../support/scenes.ts";
import { each, scaled, stride } from "../../support/size.ts";
import { sqliteWithFaults } from "../../support/sqlite-storage.ts";
import { again, type Opened, opened } from "./opened.ts";
import { optionsOf, seen } from "./seen.ts";

const QUIET = { durability: "manual", logger: null } as const;

/** Writes a journal of a scene in several segments, and returns its state. */
async function written(scene: Scene, dir: MemoryDirectory, acts: number, options: Partial<OpenOptions> = {}): Promise<Buffer> {
  const replay = await opened(scene, dir, { ...QUIET, segmentBytes: 4096, ...options });
  const random = new TestRandom(acts);
  for (let act = 0; act < acts; act++) {
    scene.act(replay, random);
    if (act % 20 === 0) await replay.flush();
  }
  await replay.flush();
  const state = seen(replay);
  replay.dispose();
  return state;
}

/** Returns options that add a leaf to the spec of a scene. Options that remove the leaf again follow. */
const wider = (spec: Spec) => ({ spec: { ...(spec as object), mood: i32() }, migrate: (step: object) => ({ ...step, mood: 7 }) });
const back = (spec: Spec) => ({ spec, migrate: ({ mood, ...step }: { mood: number }) => step });

const refusal = async (call: Promise<unknown>): Promise<Error> =>
  call.then(
    () => new Error("nothing was refused"),
    (error: Error) => error,
  );

describe.each(sceneNames(2))("%s", (name) => {
  test("adding and removing a leaf restores the same state and draws, and the journal continues", async () => {
    const scene = SCENES[name] as Scene;
    const dir = memory();
    const state = await written(scene, dir, 60);
    const model = scene.make();
    const options = { ...optionsOf(model), ...QUIET };
    const { spec } = model.options;
    const next = await again(dir, { ...options, onMismatch: "migrate", ...wider(spec) } as never);
    expect(next.options.spec).toEqual({ ...(spec as object), mood: i32() });
    next.dispose();
    // If the spec is equal, no step is migrated.
    const fail = () => {
      throw new Error("migrate was called");
    };
    (await again(dir, { ...options, spec: wider(spec).spec, onMismatch: "migrate", migrate: fail } as never)).dispose();
    const old = await again(dir, { ...options, onMismatch: "migrate", ...back(spec) } as never);
    expect(seen(old).equals(state)).toBe(true);
    const random = new TestRandom(5);
    for (let act = 0; act < 60; act++) scene.act(old, random);
    await old.flush();
    const later = seen(old);
    old.dispose();
    const last = await again(dir, options);
    expect(seen(last).equals(later)).toBe(true);
    last.dispose();
  });
});

describe("tables", () => {
  const SPEC = { x: i32() };
  const options = (memorySize: number, more: object = {}) => ({
    spec: SPEC,
    tables: { memory: { maxSize: memorySize, ...more }, other: { maxSize: 5 } },
    ...QUIET,
  });

  test("can change, and names, priorities and kept values are preserved", async () => {
    const dir = memory();
    const first = await again(dir, options(100, { sampler: prioritized(0.6) }) as never);
    const writer = first.writer({ name: "game" });
    for (let x = 0; x < 40; x++) {
      writer.append({ x });
      writer.createItem("memory", { length: 1, priority: x });
    }
    first.journal.keep({ weights: [1, 2] });
    first.dispose();
    const told: string[] = [];
    const logger = { warn: () => {}, info: (message: string) => told.push(message) };
    const next = await again(dir, { ...options(10, { rateLimiter: minSize(2) }), logger, onMismatch: "migrate" } as never);
    expect(told.join("\n")).toMatch(/has 40 steps of the new spec, 30 items of "memory" left/);
    expect(next.table("memory").size).toBe(10);
    expect(next.journal.kept).toEqual({ weights: [1, 2] });
    expect(next.writers.map((one) => one.options.name)).toEqual(["game"]);
    const draw = { replacement: false } as object;
    const { x } = (next.table("memory").sample(10, draw as never) as unknown as { steps: { x: { data: Int32Array } } }).steps;
    expect([...x.data].sort((a, b) => a - b)).toEqual([30, 31, 32, 33, 34, 35, 36, 37, 38, 39]);
    next.dispose();
    const again2 = await again(dir, options(10, { rateLimiter: minSize(2) }) as never);
    expect(again2.table("memory").size).toBe(10);
    again2.dispose();
  });

  test("count evicted episodes as deleted", async () => {
    const dir = memory();
    const first = await again(dir, options(100, { remover: lifo() }) as never);
    const writer = first.writer({ name: "game", across: true });
    for (let x = 0; x < 41; x++) {
      writer.append({ x });
      if (x > 0) writer.createItem("memory", { length: 2 });
      // The flush stores the link to the next step in a separate record.
      await first.flush();
      if (x % 10 === 9) writer.endEpisode();
    }
    await first.flush();
    expect(first.table("memory").stats()).toMatchObject({ size: 40, episodes: 5, deletedEpisodes: 0 });
    first.dispose();
    for (const [size, counts] of [
      // The newest items are evicted. The last of 40 items, and that of 30, ends with the first step of an episode.
      [39, { episodes: 4, deletedEpisodes: 1 }],
      [30, { episodes: 4, deletedEpisodes: 1 }],
      [29, { episodes: 3, deletedEpisodes: 2 }],
      [9, { episodes: 1, deletedEpisodes: 4 }],
    ] as const) {
      const next = await again(dir, { ...options(size, { remover: lifo() }), onMismatch: "migrate" } as never);
      expect(next.table("memory").stats()).toMatchObject({ size, ...counts });
      next.dispose();
    }
  });

  test("may change their order, and other names throw SPEC_MISMATCH", async () => {
    const dir = memory();
    (await again(dir, options(10) as never)).dispose();
    const swapped = { spec: { x: i32(), y: i32() }, tables: { other: { maxSize: 5 }, memory: { maxSize: 20 } }, ...QUIET, onMismatch: "migrate" };
    (await again(dir, { ...swapped, migrate: (step: object) => ({ ...step, y: 0 }) } as never)).dispose();
    expectError(
      await refusal(again(dir, { ...swapped, tables: { memory: { maxSize: 20 } } } as never)),
      "SPEC_MISMATCH",
      /options\.tables must be "memory", "other"/,
    );
    expectError(await refusal(again(dir, { ...swapped, seed: 4 } as never)), "SPEC_MISMATCH", /seed must be "0"/);
  });
});

test("rename changes the name of a leaf, including in rules", async () => {
  const dir = memory();
  const tables = { t: { maxSize: 10 } };
  const first = await again(dir, { spec: { a: i32(), b: i32() }, tables, ...QUIET } as never);
  first.writer({ name: "w", items: [{ table: "t", length: 1, priority: { leaf: "b" } }] } as never).append({ a: 1, b: 2 } as never);
  first.dispose();
  const spec = { a: i32(), c: i32() };
  expectError(
    await refusal(again(dir, { spec, tables, ...QUIET, onMismatch: "migrate", migrate: ({ a, b }: { a: number; b: number }) => ({ a, c: b }) } as never)),
    "NOT_FOUND",
    /spec must have b, which a writer uses\. .* pass rename/,
  );
  const next = await again(dir, { spec, tables, ...QUIET, onMismatch: "migrate", rename: { b: "c" } } as never);
  expect(next.writers[0]?.options.items[0]).toMatchObject({ priority: { leaf: "c" } });
  expect(next.table("t").sample(1).steps).toMatchObject({ c: { data: Int32Array.of(2) } });
  next.dispose();
});

test("a leaf can be removed if only closed writers and deleted items used it", async () => {
  const dir = memory();
  const tables = { t: { maxSize: 10 }, u: { maxSize: 10 } };
  const spec = { a: i32(), b: i32() };
  const of = (leaf: string) => ({ x: { leaf, at: 0 } });
  const first = await again(dir, { spec, tables, ...QUIET } as never);
  const writer = first.writer({ name: "w", items: [{ table: "t", length: 1, priority: { leaf: "b" }, columns: of("b") }] } as never);
  const other = first.writer({ name: "v" });
  for (let b = 0; b < 5; b++) writer.append({ a: 1, b } as never);
  for (let a = 0; a < 8; a++) {
    other.append({ a, b: 2 } as never);
    other.createItem("t", { length: 1, columns: of("a") } as never);
    other.createItem("u", { length: 1, columns: of(a < 2 ? "b" : "a") } as never);
  }
  // All records are in a single segment.
  await first.flush();
  const next = (more: object = {}) =>
    again(dir, { spec: { a: i32() }, tables: { ...tables, ...more }, ...QUIET, onMismatch: "migrate", migrate: ({ a }: { a: number }) => ({ a }) } as never);
  first.dispose();
  expectError(await refusal(next()), "NOT_FOUND", /spec must have b, which a writer uses.*close that writer with the old spec first/);
  const second = await again(dir, QUIET as never);
  (second.writers.find(({ options }) => options.name === "w") as { close(): void }).close();
  await second.flush();
  second.dispose();
  expectError(await refusal(next()), "NOT_FOUND", /spec must have b, which the columns of an item uses.*delete the items with these columns/);
  const third = await again(dir, QUIET as never);
  expect(third.table("t").size).toBe(10);
  // Two more items replace the last items of the first writer.
  for (let n = 0; n < 2; n++) third.writers[0]?.createItem("t", { length: 1, columns: of("a") } as never);
  await third.flush();
  third.dispose();
  // The smaller size evicts these items of the other table.
  const last = await next({ u: { maxSize: 6 } });
  expect([last.table("t").size, last.table("u").size]).toEqual([10, 6]);
  const values = (table: string) => [...new Set((last.table(table).sample(64) as unknown as { steps: { x: { data: Int32Array } } }).steps.x.data)].sort();
  expect(values("u")).toEqual([2, 3, 4, 5, 6, 7]);
  expect(values("t").every((a) => a < 8)).toBe(true);
  last.writers[0]?.append({ a: 9 } as never);
  last.writers[0]?.createItem("u", { length: 1, columns: of("a") } as never);
  await last.flush();
  const state = seen(last);
  last.dispose();
  const reopened = await again(dir, QUIET as never);
  expect(seen(reopened).equals(state)).toBe(true);
  reopened.dispose();
});

test("changes of the seed or table names throw without advice to migrate", async () => {
  const dir = memory();
  const base = { spec: { x: i32() }, tables: { t: { maxSize: 4 } }, seed: 1, ...QUIET };
  (await again(dir, base as never)).dispose();
  const files = dir.files();
  const next = { ...base, spec: { x: i32(), y: i32() }, onMismatch: "migrate", migrate: (step: object) => ({ ...step, y: 0 }) };
  for (const [changes, subject] of [
    [{ seed: 2 }, "seed"],
    [{ tables: { t: { maxSize: 4 }, u: { maxSize: 4 } } }, "tables"],
    [{ tables: { u: { maxSize: 4 } } }, "tables"],
  ] as const) {
    const error = await refusal(again(dir, { ...next, ...changes } as never));
    expectError(error, "SPEC_MISMATCH", new RegExp(`${subject} must be .*A migration cannot change it\\. Use another directory`));
    expect((error as Error).message).not.toContain("pass onMismatch");
    expect(dir.files()).toEqual(files);
  }
});

test("contradictory options throw with their names", async () => {
  const dir = memory();
  const base = { spec: { x: i32() }, tables: { t: { maxSize: 4 } } };
  const refused = (options: object) => refusal(again(dir, options as never));
  expectError(await refused({ ...base, migrate: (step: object) => step }), RangeError, /onMismatch must be "migrate" if migrate is passed/);
  expectError(await refused({ ...base, rename: { a: "b" } }), RangeError, /onMismatch must be "migrate" if rename is passed/);
  expectError(await refused({ ...base, onMismatch: "ignore" }), RangeError, /onMismatch must be one of "error", "migrate"/);
  expectError(await refused({ onMismatch: "migrate" }), TypeError, /spec (must be given|is required) with onMismatch/);
  expectError(await refused({ ...base, onMismatch: "migrate", salvage: true }), RangeError, /salvage must be omitted/);
  (await again(dir, { ...base, ...QUIET } as never)).dispose();
  expectError(await refused({ ...base, spec: { y: i32() }, onMismatch: "migrate", migrate: 1 }), TypeError, /migrate must be a function/);
  expectError(await refused({ ...base, spec: { x: i32(), y: i32() } }), "SPEC_MISMATCH", /onMismatch/);
});

test("a migration that throws leaves the files unchanged", async () => {
  const dir = memory();
  await written(SCENES.transitions as Scene, dir, 80);
  const files = dir.files();
  const { options } = (SCENES.transitions as Scene).make();
  let calls = 0;
  const migrate = (step: object) => {
    if (++calls === 20) throw new Error("no");
    return { ...step, mood: 1 };
  };
  const call = again(dir, { tables: options.tables, seed: 11, ...QUIET, onMismatch: "migrate", spec: wider(options.spec).spec, migrate } as never);
  expect((await refusal(call)).message).toBe("no");
  expect(dir.files()).toEqual(files);
});

describe.each([
  ["a disk", memory],
  ["the storage of a Durable Object", sqliteWithFaults],
] as const)("%s that fails or is killed", (_, makeDirectory) => {
  const scene = SCENES["shared and wide leaves"] as Scene;
  const { options } = scene.make();
  const open = (dir: MemoryDirectory) =>
    again(dir, { tables: options.tables, seed: 11, ...QUIET, segmentBytes: 4096, onMismatch: "migrate", ...wider(options.spec) } as never);

  test("leaves the complete old or new journal after a fault at any operation", async () => {
    const source = memory();
    const old = await written(scene, source, 60);
    const files = source.files();
    let total = 0;
    const probe = makeDirectory({
      files,
      fault: ({ kind }) => {
        if (kind !== "read") total++;
        return undefined;
      },
    });
    const whole = await open(probe as MemoryDirectory);
    const migrated = seen(whole);
    whole.dispose();
    expect(total).toBeGreaterThan(15);
    const found = { old: 0, migrated: 0 };
    const step = stride(Math.max(1, Math.floor(total / 24)), Math.floor(total / 6));
    for (let at = 0; at < total; at += step) {
      // The writes may be partial: nothing, the head of the new log, or also a part of its group.
      for (const bytes of each(3, [0, 13, 5000], at / step)) {
        let count = 0;
        // Reads are not counted, because a failing read changes nothing.
        const isHit = ({ kind }: Operation) => kind !== "read" && count++ >= at;
        const dir = makeDirectory({ files, fault: (operation) => (isHit(operation) ? { code: "EIO", bytes } : undefined) }) as MemoryDirectory;
        let replay: Opened | undefined;
        try {
          replay = await open(dir);
        } catch (error) {
          expectError(error as Error, "IO");
        }
        for (const left of [dir.crash(), dir.crash(13), dir.crash(5000), dir.crash(Number.POSITIVE_INFINITY)]) {
          const about = aboutOf(left);
          const isOld = !("mood" in about.options.spec);
          const state = await again(left, { ...QUIET } as never);
          expect(seen(state).equals(isOld ? old : migrated), `at ${at}`).toBe(true);
          found[isOld ? "old" : "migrated"]++;
          // Remaining files of the new log cause no errors.
          if (isOld) scene.act(state as AnyReplay, new TestRandom(3));
          else state.journal.keep(1);
          await state.flush();
          state.dispose();
          const next = await open(left);
          expect(next.options.spec).toHaveProperty("mood");
          next.dispose();
        }
        try {
          replay?.dispose();
        } catch (error) {
          expectError(error as Error, "IO");
        }
      }
    }
    expect(found.old).toBeGreaterThan(scaled(20, 5));
    expect(found.migrated).toBeGreaterThan(scaled(10, 1));
  });

  function aboutOf(dir: MemoryDirectory): { options: { spec: object } } {
    const log = Log.open(dir, { about: {}, readOnly: true });
    log.close();
    return log.about as { options: { spec: object } };
  }
});

test("damage in a new journal throws CORRUPT, even if the old files still exist", async () => {
  const source = memory();
  await written(SCENES.transitions as Scene, source, 60);
  const { options } = (SCENES.transitions as Scene).make();
  const before = source.files();
  const next = await again(source, { tables: options.tables, seed: 11, ...QUIET, onMismatch: "migrate", ...wider(options.spec) } as never);
  next.dispose();
  const after = source.files();
  const [name] = [...after.keys()].filter((file) => !before.has(file)) as [string];
  const bytes = (after.get(name) as Uint8Array).slice();
  bytes[bytes.length >> 1] = 255 - (bytes[bytes.length >> 1] as number);
  const damaged = memory({ files: [...before, [name, bytes]] });
  expectError(await refusal(again(damaged, { ...QUIET } as never)), "CORRUPT", new RegExp(name));
});

test("a journal in a folder on disk can be migrated", async () => {
  const folder = mkdtempSync(join(tmpdir(), "migrate-"));
  try {
    const spec = { x: i32() };
    const tables = { t: { maxSize: 50 } };
    const first = await Replay.open({ dir: folder, spec, tables });
    const writer = first.writer({ items: [{ table: "t", length: 1 }] });
    for (let x = 0; x < 30; x++) writer.append({ x });
    first.dispose();
    const next = await Replay.open({
      dir: folder,
      spec: { x: i32(), mood: i32() },
      tables,
      onMismatch: "migrate",
      migrate: (step) => ({ ...step, mood: step.x }),
    });
    expect(next.table("t").size).toBe(30);
    next.dispose();
    expect(
      node(folder)
        .list()
        .filter((name) => name.endsWith(".rpr")).length,
    ).toBe(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
