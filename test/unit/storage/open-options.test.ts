/** Tests `Replay.open`: options, errors and reports. */
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { f32, i32, type OpenOptions, prioritized, Replay, u8, uniform } from "../../../src/index.ts";
import { PersistentReplayBuffer } from "../../../src/pfrl/index.ts";
import { scaled, some, whole } from "../../support/size.ts";

const { open } = Replay;
const SPEC = { x: i32(), y: f32(2) };
const TABLES = { t: { maxSize: 100 } };
const step = (x: number) => ({ x, y: [x, -x] });

test("Replay.open makes a Replay that writes, flushes and closes", async () => {
  const dir = memory();
  const replay = await Replay.open({ dir, spec: SPEC, tables: TABLES });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  writer.append(step(1));
  await replay.flush();
  expect(replay.table("t").sample(1).steps.x.data[0]).toBe(1);
  replay.dispose();
  expect(() => replay.table("t")).toThrow(expect.objectContaining({ code: "CLOSED" }));
  await expect(replay.flush()).rejects.toThrow(expect.objectContaining({ code: "CLOSED" }));
  replay.dispose();
});

test("opening a missing folder without a spec rejects with NOT_FOUND, and creates no folder", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "reprise-nowhere-")), "run");
  const message = `there is no Replay in ${folder}. Pass spec and tables to create one`;
  await expect(open({ dir: folder })).rejects.toThrow(expect.objectContaining({ code: "NOT_FOUND", message }));
  expect(existsSync(folder)).toBe(false);
});

test("an existing Replay opens without options, and rejects different options by name", async () => {
  const dir = memory({ name: "runs/a" });
  (await open({ dir, spec: SPEC, tables: TABLES, seed: 3 })).dispose();
  const again = await open({ dir });
  expect(again.options).toMatchObject({ spec: SPEC, seed: "3" });
  again.dispose();
  const others: [Partial<OpenOptions>, RegExp][] = [
    [{ tables: TABLES, seed: 4 }, /^options\.seed must be "3", as in runs\/a, got "4"\. /],
    [{ spec: undefined, seed: 4 } as never, /^options\.seed must be "3", as in/],
    [{ tables: { t: { maxSize: 99 } }, seed: 3 }, /^options\.tables\.t\.maxSize must be 100, as in runs\/a/],
    [{ tables: { u: { maxSize: 100 } }, seed: 3 }, /^options\.tables must be "t", as in runs\/a, got "u"\. Omit spec and tables, /],
    [{ tables: { ...TABLES, u: { maxSize: 5 } }, seed: 3 }, /^options\.tables must be "t", as in runs\/a, got "t", "u"\. /],
    [{ tables: TABLES, seed: 3, retain: "all" }, /^retain must be "capacity", as in runs\/a/],
    [{ spec: { x: i32() }, tables: TABLES, seed: 3 }, /^options\.spec\.y must be .*, as in runs\/a, got nothing\. .*\(see docs\/migrate\/saved-memory\.md\)$/],
    [{ spec: { ...SPEC, mood: i32() }, tables: TABLES, seed: 3 }, /^options\.spec\.mood must be omitted, as in runs\/a, got i32 of shape \[\]\. /],
  ];
  for (const [options, message] of others) {
    await expect(open({ dir, spec: SPEC, ...options } as OpenOptions)).rejects.toThrow(
      expect.objectContaining({ code: "SPEC_MISMATCH", message: expect.stringMatching(message) }),
    );
  }
  (await open({ dir, spec: SPEC, tables: TABLES, seed: 3, maxBytes: 1 << 24 })).dispose();
});

test("omitting a stored table is rejected with the names of all tables", async () => {
  const dir = memory({ name: "runs/a" });
  const [train, evaluation] = [{ maxSize: 100 }, { maxSize: 10 }];
  (await open({ dir, spec: SPEC, tables: { train, evaluation } })).dispose();
  const message = /^options\.tables must .*"train", "evaluation".* got "train"\. .*onMismatch: "migrate"/;
  await expect(open({ dir, spec: SPEC, tables: { train } })).rejects.toThrow(
    expect.objectContaining({ code: "SPEC_MISMATCH", message: expect.stringMatching(message) }),
  );
});

test("the directory of a PersistentReplayBuffer is rejected", async () => {
  const dir = memory({ name: "runs/b" });
  new PersistentReplayBuffer(dir, 10, { durability: "manual" }).close();
  for (const options of [{}, { spec: SPEC, tables: TABLES }])
    await expect(open({ dir, ...options } as OpenOptions)).rejects.toThrow(
      expect.objectContaining({ code: "SPEC_MISMATCH", message: expect.stringMatching(/^dir must .*got "runs\/b"$/) }),
    );
});

test("tables keep their items, keys and order if the options list them in another order", async () => {
  const dir = memory();
  const [first, second] = [{ maxSize: 100 }, { maxSize: 100 }];
  const made = await open({ dir, spec: SPEC, tables: { b: first, a: second, c: first } });
  made.writer({ items: [{ table: "a", length: 1 }] }).append(step(1));
  const { keys } = made.table("a").sample(1).info;
  made.dispose();
  for (const tables of [{ a: first, b: second, c: first }, { c: first, b: first, a: second }, { b: first, a: second, c: first }, undefined]) {
    const replay: Replay = await open({ dir, ...(tables && { spec: SPEC, tables }) });
    expect([...["a", "b", "c"].map((name) => replay.table(name).size), Object.keys(replay.tables).join()]).toEqual([1, 0, 0, "b,a,c"]);
    expect(replay.table("a").sample(1).info.keys).toEqual(keys);
    replay.dispose();
  }
});

test("opening an empty directory without a spec rejects with NOT_FOUND, and writes nothing", async () => {
  const dir = memory({ name: "nowhere" });
  await expect(open({ dir })).rejects.toThrow(expect.objectContaining({ code: "NOT_FOUND", message: expect.stringContaining("nowhere") }));
  expect(dir.list()).toEqual([]);
});

test.each([
  [{ durability: "sometimes" }, /durability must be "always", "manual" or/],
  [{ durability: { everyMs: 0 } }, /durability\.everyMs must be an integer/],
  [{ retain: "none" }, /retain must be "capacity" or "all", got "none"/],
  [{ segmentBytes: 10 }, /segmentBytes must be an integer >= 4096, got 10/],
  [{ salvage: 1 }, /salvage must be a boolean/],
  [{ logger: {} }, /logger must .*\(such as console\)/],
  [{ sync: true }, /Replay\.open has no option "sync"/],
])("%j is rejected before any file is created", async (options, message) => {
  const dir = memory();
  await expect(open({ dir, spec: SPEC, tables: TABLES, ...options } as never)).rejects.toThrow(message);
  expect(dir.list()).toEqual([]);
});

test.runIf(whole)("opening reports its progress, and stops when its signal aborts", async () => {
  const dir = memory();
  const replay = await open({ dir, spec: { x: f32(4096) }, tables: TABLES, retain: "all", segmentBytes: 1 << 22, durability: "manual" });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let i = 0; i < scaled(4500, 2500); i++) writer.append({ x: new Float32Array(4096).fill(i) });
  replay.dispose();
  const seen: number[] = [];
  let of = 0;
  const again = await open({
    dir,
    onProgress: (progress) => {
      seen.push(progress.bytes);
      of = progress.of;
    },
  });
  expect(seen.length).toBeGreaterThan(10);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(seen.at(-1)).toBe(of);
  again.dispose();
  const controller = new AbortController();
  const stopped = open({ dir, signal: controller.signal, onProgress: ({ bytes }) => bytes > of / 8 && controller.abort(new Error("enough")) });
  await expect(stopped).rejects.toThrow("enough");
  await expect(open({ dir, signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
  // The failed calls have released the directory.
  const last = await open({ dir });
  expect(last.table("t").sample(1).steps).toHaveProperty("x");
  last.dispose();
});

test("durability with everyMs writes steps to the disk on a timer", async () => {
  const dir = memory();
  const replay = await open({ dir, spec: SPEC, tables: TABLES, durability: { everyMs: 5 } });
  replay.writer({ items: [{ table: "t", length: 1 }] }).append(step(7));
  await new Promise((resolve) => setTimeout(resolve, 60));
  const left = await open({ dir: dir.crash() });
  expect(left.table("t").size).toBe(1);
  left.dispose();
  replay.dispose();
});

test("journal.keep stores a value with the Replay, and rejects an unsupported value with its path", async () => {
  const dir = memory();
  const replay = await open({ dir, spec: SPEC, tables: TABLES, durability: "manual" });
  expect(replay.journal.kept).toBeUndefined();
  const value = { step: 3, weights: new Float32Array([1, 2]), seen: new Map([["a", 1n]]), when: new Date(5) };
  replay.journal.keep(value);
  expect(() => replay.journal.keep({ a: [() => 1] })).toThrow(/value\.a.*0/);
  await replay.flush();
  const left = await open({ dir: dir.crash() });
  expect(left.journal.kept).toEqual(value);
  left.dispose();
  replay.dispose();
});

const FORMS = [
  ["a number", f32(), 1],
  ["800 bytes", f32(200), new Float32Array(200).fill(1)],
  ["an image", u8(84, 84), new Uint8Array(84 * 84).fill(1)],
  ["more than a section", u8(100_000), new Uint8Array(100_000).fill(1)],
] as const;

test.each(some(FORMS, 1))("the openedBytes of a plan are enough for an opened Replay: steps of %s", async (_, spec, step) => {
  for (const [maxSize, segmentBytes] of [
    [1, undefined],
    [scaled(100, 20), undefined],
    [scaled(1023, 101), 1 << 16],
  ] as const) {
    for (const sampler of some([uniform(), prioritized(0.6)], 1)) {
      const options = { spec, tables: { t: { maxSize, sampler } } };
      const { bytes, openedBytes } = Replay.plan(options);
      expect(openedBytes).toBeGreaterThan(bytes);
      const small = open({ dir: memory(), ...options, maxBytes: bytes });
      await expect(small).rejects.toThrow(new RegExp(`^maxBytes must be at least \\d+ with a journal \\(${bytes} without\\)`));
      const most = segmentBytes === undefined ? openedBytes : openedBytes + 4 * 65_536;
      const dir = memory();
      for (let session = 0; session < 2; session++) {
        const replay = await open({ dir, ...options, maxBytes: most, segmentBytes, durability: "manual" });
        const [writer = replay.writer({ items: [{ table: "t", length: 1 }] })] = replay.writers;
        for (let i = 0; i < 1.5 * maxSize; i++) writer.append(step as never);
        expect([replay.table("t").size, replay.table("t").sample(4).count]).toEqual([maxSize, 4]);
        await replay.flush();
        expect(replay.stats().bytes.used).toBeLessThanOrEqual(most);
        replay.dispose();
      }
    }
  }
});

test.each(some(FORMS, 1))("with openedBytes and full memory, the journal still writes, compacts and opens: steps of %s", async (_, spec, step) => {
  const options = { spec, tables: { t: { maxSize: 20 }, long: { maxSize: 150 } } };
  const { openedBytes } = Replay.plan(options);
  const dir = memory();
  let before: object | undefined;
  for (let session = 0; session < 3; session++) {
    const replay = await open({ dir, ...options, maxBytes: openedBytes, segmentBytes: 1 << 17, durability: "manual" });
    if (before !== undefined) expect(replay.stats().tables).toEqual(before);
    const [writer = replay.writer({ keep: 100 })] = replay.writers;
    const [first] = dir.list().sort();
    for (let k = 0, full = 0; full < 3; k++) {
      try {
        writer.append(step as never);
        writer.createItem("t", { length: 1 });
        if (k % 90 === 89) writer.createItem("long", { length: 90 });
      } catch (error) {
        expect((error as { code?: string }).code).toBe("OUT_OF_MEMORY");
        await replay.flush();
        expect(Replay.restore(replay.snapshot()).stats().tables).toEqual(replay.stats().tables);
        // At the end of a session memory is full, so the next session starts without space for items.
        if (++full < 3) replay.table("long").clear();
      }
      if (k % 10 === 9) await replay.flush();
    }
    expect(dir.list().sort()[0]).not.toBe(first);
    before = replay.stats().tables;
    replay.dispose();
  }
});
