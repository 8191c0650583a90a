/** Tests writers across a restart: named writers continue, and a script must not accumulate writers with each start. */
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { f32, i32, minSize, Replay, type WriterOptions } from "../../../src/index.ts";
import { broken } from "../../support/health.ts";
import { bytesOf, errorOf, expectError, expectRefused } from "../../support/refused.ts";
import { stride } from "../../support/size.ts";

const spec = { observation: f32(2), action: i32(), reward: f32() };
const tables = { memory: { maxSize: 1000 }, windows: { maxSize: 1000 } };
const rules = { items: [{ table: "memory", nStep: 3 }] } as const;
const step = (t: number) => ({ observation: [t, -t], action: t % 3, reward: t });
const quiet = { logger: null } as const;

/** Opens a directory, and records the messages to the logger. */
async function opened(dir: ReturnType<typeof memory>, more: object = {}) {
  const said: string[] = [];
  const replay = await Replay.open({ dir, spec, tables, logger: (message: string) => said.push(message), durability: "manual", ...more });
  return { replay, said };
}

const writersOf = (replay: Replay) => replay.writers.map(({ options, episodeSteps }) => [options.name, episodeSteps]);

describe("a script that starts five times", () => {
  async function script(dir: ReturnType<typeof memory>, more: object, options: WriterOptions) {
    const { replay, said } = await opened(dir, more);
    const writer = replay.writer(options as never);
    for (let t = 0; t < 4; t++) writer.append(step(t) as never);
    await replay.flush();
    return { replay, said };
  }

  test("keeps one open writer that continues its episode if the writer has a name", async () => {
    let dir = memory();
    const whole = new Replay({ spec, tables });
    const twin = whole.writer(rules);
    for (let run = 1; run <= 5; run++) {
      for (let t = 0; t < 4; t++) twin.append(step(t));
      const { replay, said } = await script(dir, {}, { ...rules, name: "environment" });
      expect(writersOf(replay)).toEqual([["environment", 4 * run]]);
      expect(replay.tables.memory.size).toBe(whole.tables.memory.size);
      expect([replay.stats().steps, said]).toEqual([whole.stats().steps, []]);
      expect(broken(replay)).toEqual([]);
      dir = dir.crash();
    }
  });

  test.each(["environment", undefined])('keeps one writer with writers: "close", which makes the items of every run: %s', async (name) => {
    let dir = memory();
    for (let run = 1; run <= 5; run++) {
      const { replay, said } = await script(dir, { writers: "close" }, { ...rules, ...(name && { name }) });
      expect(writersOf(replay)).toEqual([[name, 4]]);
      // Each earlier run left three transitions, the last of which is cut off; the current run has one so far.
      expect(replay.tables.memory.size).toBe(3 * (run - 1) + 1);
      expect(said).toEqual([]);
      dir = dir.crash();
    }
  });

  test("causes one warning per run if the writer has no name", async () => {
    let dir = memory();
    for (let run = 1; run <= 5; run++) {
      const { replay, said } = await script(dir, {}, rules);
      replay.writer(rules);
      expect(said.length).toBe(run === 1 ? 0 : 1);
      if (run > 1) expect(said[0]).toMatch(/^reprise: (1 writer|\d+ writers) of an earlier run .* unnamed.*replay\.writer\(\{ name \}\).*writers: "close"/);
      expect(replay.stats().warnings.leftWriters).toBe(run === 1 ? 0 : 2);
      dir = dir.crash();
    }
  });
});

describe("the warning", () => {
  test("is not logged for a writer of an earlier run that continues or was closed", async () => {
    const { replay } = await opened(memory());
    const [a, b] = [replay.writer(rules), replay.writer(rules)];
    for (const writer of [a, b]) writer.append(step(0));
    const said: string[] = [];
    const copy = Replay.restore<typeof spec>(bytesOf(replay), { logger: (message) => said.push(message) });
    copy.writers[0]?.append(step(1));
    copy.writers[1]?.close();
    copy.writer(rules as never);
    expect(said).toEqual([]);
  });

  test("is not logged for named writers, which may still be requested", async () => {
    const { replay } = await opened(memory());
    for (const name of ["a", "b"]) replay.writer({ ...rules, name }).append(step(0));
    const said: string[] = [];
    const copy = Replay.restore<typeof spec>(bytesOf(replay), { logger: (message) => said.push(message) });
    copy.writer({ ...rules, name: "c" } as never);
    copy.writer({ ...rules, name: "b" } as never);
    expect(said).toEqual([]);
  });

  test("covers writers without rules in a directory, but not in a copy", async () => {
    const dir = memory();
    const first = await opened(dir);
    first.replay.writer().append(step(0));
    await first.replay.flush();
    const said: string[] = [];
    Replay.restore(bytesOf(first.replay), { logger: (message) => said.push(message) }).writer();
    expect(said).toEqual([]);
    const next = await opened(dir.crash());
    next.replay.writer();
    expect(next.said.length).toBe(1);
  });

  test("is also logged if the new writer has a name", async () => {
    const { replay } = await opened(memory());
    replay.writer(rules).append(step(0));
    const said: string[] = [];
    const copy = Replay.restore<typeof spec>(bytesOf(replay), { logger: (message) => said.push(message) });
    copy.writer({ ...rules, name: "c" } as never);
    expect(said.length).toBe(1);
  });
});

describe("a name", () => {
  const all = {
    name: "all",
    keep: 40,
    lanes: 2,
    across: true,
    autoreset: "sameStep",
    items: [
      { table: "memory", nStep: 3, priority: 2, finite: false },
      { table: "windows", length: 4, stride: 2, columns: { last: { leaf: "reward", at: -1 } } },
    ],
  } as const;

  function restored(options: object = all): Replay {
    const replay = new Replay({ spec, tables, ...quiet });
    const writer = replay.writer(options as never) as { append(step: unknown): void };
    const two = {
      observation: [
        [1, 2],
        [3, 4],
      ],
      action: [1, 2],
      reward: [1, 2],
    };
    for (let t = 0; t < 3; t++) writer.append("lanes" in options ? two : step(t));
    return Replay.restore(bytesOf(replay), quiet);
  }

  test("returns the restored writer with its episode", () => {
    const replay = restored();
    const [there] = replay.writers;
    const writer = replay.writer(all as never);
    expect(writer).toBe(there);
    expect([writer.options.name, writer.episodeSteps, replay.writers.length]).toEqual(["all", 3, 1]);
  });

  test("cannot be used again until its writer is closed", () => {
    const replay = restored();
    const writer = replay.writer(all as never);
    expectRefused(replay, () => replay.writer(all as never), "OUT_OF_TURN", /^name must .*got "all"/, /Close that writer/);
    expectRefused(replay, () => replay.writer({ name: "all" }), "OUT_OF_TURN", /got "all"/);
    writer.close();
    const next = replay.writer({ name: "all" });
    expect([next.options.keep, next.episodeSteps, replay.writers.length]).toEqual([32, 0, 1]);
  });

  test("cannot be used again while a writer of the same run has it", () => {
    const replay = new Replay({ spec, tables });
    replay.writer({ name: "a" });
    expectRefused(replay, () => replay.writer({ name: "a" }), "OUT_OF_TURN", /got "a"/);
    expect(replay.writer({ name: "b" }).options.name).toBe("b");
  });

  test("is free after the restored writer was closed", () => {
    const replay = restored();
    replay.writers[0]?.close();
    expect(replay.writer({ name: "all" }).options.lanes).toBe(1);
  });

  const [nStep, windows] = all.items;
  test.each([
    [{ keep: 41 }, "keep", 40, 41],
    [{ lanes: 3 }, "lanes", 2, 3],
    [{ across: false }, "across", true, false],
    [{ autoreset: "disabled" }, "autoreset", '"sameStep"', '"disabled"'],
    [{ items: [nStep] }, "items", "2 rules", 1],
    [{ items: [windows, nStep] }, "items\\[0\\]\\.table", '"memory"', '"windows"'],
    [{ items: [{ ...nStep, nStep: 2 }, windows] }, "items\\[0\\]\\.nStep", 3, 2],
    [{ items: [{ ...nStep, priority: 3 }, windows] }, "items\\[0\\]\\.priority", 2, 3],
    [{ items: [{ ...nStep, priority: "max" }, windows] }, "items\\[0\\]\\.priority", 2, '"max"'],
    [{ items: [{ ...nStep, finite: true }, windows] }, "items\\[0\\]\\.finite", false, true],
    [{ items: [nStep, { ...windows, length: 5 }] }, "items\\[1\\]\\.length", 4, 5],
    [{ items: [nStep, { ...windows, stride: 1 }] }, "items\\[1\\]\\.stride", 2, 1],
    [
      { items: [nStep, { ...windows, columns: { last: { leaf: "reward", at: -2 } } }] },
      "items\\[1\\]\\.columns",
      '\\{"last":\\{"leaf":"reward","at":-1\\}\\}',
      '\\{"last":\\{"leaf":"reward","at":-2\\}\\}',
    ],
    [{ items: [nStep, { table: "windows", length: 4, stride: 2 }] }, "items\\[1\\]\\.columns", ".*", "undefined"],
  ])("with other options throws SPEC_MISMATCH for the first difference: %j", (other, path, before, now) => {
    const replay = restored();
    const rule = new RegExp(`^${path} must be ${before}, as in the writer "all" of an earlier run, got ${now}\\. Close`);
    expectRefused(replay, () => replay.writer({ ...all, ...other } as never), "SPEC_MISMATCH", rule);
    // The writer can still be requested.
    expect(replay.writer(all as never).episodeSteps).toBe(3);
  });

  test("returns its writer if equal columns are written differently", () => {
    const columns = { last: { leaf: "reward", at: -1 }, run: { leaf: "action", from: 1 } } as const;
    const asked = (own: object) => ({ name: "one", items: [{ table: "windows", length: 4, columns: own }] });
    for (const own of [
      { last: { at: -1, leaf: "reward" }, run: columns.run },
      { run: { step: 1, from: 1, leaf: "action" }, last: columns.last },
    ])
      expect(restored(asked(columns)).writer(asked(own) as never).episodeSteps).toBe(3);
  });

  test("throws if it is empty or not a string", () => {
    const replay = new Replay({ spec, tables });
    for (const [name, kind] of [
      ["", RangeError],
      [1, TypeError],
      [null, TypeError],
      [{}, TypeError],
    ] as const)
      expectRefused(replay, () => replay.writer({ name: name as never }), kind, /^name must be a non-empty string, got /);
  });

  test("may be any non-empty string", () => {
    for (const name of ["__proto__", "é€𝄞", "a\nb", "\ud800", "x".repeat(10_000)]) {
      const replay = restored({ name });
      expect(replay.writer({ name }).episodeSteps).toBe(3);
    }
  });

  test("changes the bytes of a snapshot, and a restored snapshot has the same bytes", () => {
    const bytes = [undefined, "a", "b"].map((name) => {
      const replay = new Replay({ spec, tables, ...quiet });
      replay.writer({ ...rules, ...(name && { name }) }).append(step(0));
      const own = bytesOf(replay);
      expect(bytesOf(Replay.restore(own, quiet)).equals(own)).toBe(true);
      return own.toString("latin1");
    });
    expect(new Set(bytes).size).toBe(3);
  });

  test("appears when the writer is inspected", () => {
    const replay = new Replay({ spec, tables });
    expect(inspect(replay.writer({ name: "a" }))).toMatch(/^Writer \{\s+name: 'a',\s+lanes: 1/);
    expect(inspect(replay.writer())).toMatch(/^Writer \{\s+lanes: 1/);
  });
});

describe('writers: "close"', () => {
  test("closes all kinds of writers on restore, with the same result as close()", () => {
    const replay = new Replay({ spec, tables: { ...tables, held: { maxSize: 9, rateLimiter: minSize(1) } }, ...quiet });
    for (let w = 0; w < 3; w++) {
      const writer = replay.writer({
        items: [
          { table: "memory", nStep: 2 },
          { table: "windows", length: 2 },
        ],
        ...(w === 1 && { name: "one" }),
      });
      for (let t = 0; t <= w; t++) writer.append(step(t));
    }
    const [left, closed] = [Replay.restore(bytesOf(replay), quiet), Replay.restore(bytesOf(replay), { ...quiet, writers: "close" })];
    for (const writer of left.writers) writer.close();
    expect(closed.writers).toEqual([]);
    expect(bytesOf(closed).equals(bytesOf(left))).toBe(true);
    expect(broken(closed)).toEqual([]);
  });

  test.each(["always", "manual"] as const)("is journaled: %s", async (durability) => {
    const dir = memory();
    const first = await opened(dir);
    const writer = first.replay.writer({ ...rules, name: "a" });
    for (let t = 0; t < 5; t++) writer.append(step(t));
    await first.replay.flush();
    const left = dir.crash();
    const { replay } = await opened(left, { writers: "close", durability });
    expect([replay.writers.length, replay.tables.memory.size]).toEqual([0, 4]);
    const { replay: killed } = await opened(left.crash());
    expect(killed.writers.length).toBe(durability === "always" ? 0 : 1);
    await replay.flush();
    const { replay: flushed } = await opened(left.crash());
    expect([flushed.writers.length, flushed.tables.memory.size]).toEqual([0, 4]);
  });

  test("keeps the writers closed after the next start", async () => {
    const dir = memory();
    const first = await opened(dir);
    const writer = first.replay.writer(rules);
    for (let t = 0; t < 5; t++) writer.append(step(t));
    first.replay.dispose();
    (await opened(dir, { writers: "close" })).replay.dispose();
    const { replay } = await opened(dir);
    expect([replay.writers.length, replay.tables.memory.size, replay.stats().steps]).toEqual([0, 4, 5]);
  });

  test.each(["Close", true, null])("other values throw: %j", async (writers) => {
    const bytes = bytesOf(new Replay({ spec, tables }));
    const rule = /^writers must be one of "keep", "close", got /;
    expectError(
      errorOf(() => Replay.restore(bytes, { writers: writers as never })),
      RangeError,
      rule,
    );
    const dir = memory();
    await expect(Replay.open({ dir, spec, tables, writers: writers as never })).rejects.toThrow(rule);
    expect(dir.list()).toEqual([]);
  });

  test('"keep" is the default', () => {
    const replay = new Replay({ spec, tables, ...quiet });
    replay.writer(rules).append(step(0));
    const bytes = bytesOf(replay);
    for (const options of [{}, { writers: "keep" }] as const) expect(Replay.restore(bytes, { ...quiet, ...options }).writers.length).toBe(1);
  });
});

describe("torn journals", () => {
  test("a journal cut at any place restores named writers or creates new ones", async () => {
    const dir = memory();
    const { replay } = await opened(dir, { durability: "always" });
    const [a, b] = ["a", "b"].map((name) => replay.writer({ ...rules, name })) as [ReturnType<typeof replay.writer>, ReturnType<typeof replay.writer>];
    for (let t = 0; t < 12; t++) {
      a.append(step(t));
      if (t < 8 && t % 2 === 0) b.append(step(100 + t));
      if (t === 7) b.close();
    }
    const [[name, bytes]] = [...dir.files()] as [[string, Uint8Array]];
    const seen = new Set<string>();
    // The first bytes are the head of the file, without data of writers.
    for (let cut = 1200; cut <= bytes.length; cut += stride(41, 411)) {
      const torn = await opened(memory({ files: [[name, bytes.slice(0, cut)]] }), quiet).catch(() => undefined);
      if (torn === undefined) continue;
      const before = torn.replay.writers.length;
      const names = torn.replay.writers.map(({ options }) => options.name);
      const [x, y] = ["a", "b"].map((one) => torn.replay.writer({ ...rules, name: one }));
      seen.add(`${names.join()}`);
      expect(torn.replay.writers.length).toBe(2);
      if (before === 2) expect(torn.replay.writers).toEqual([x, y]);
      for (const one of [x, y]) one?.append(step(1));
      expect(broken(torn.replay)).toEqual([]);
      torn.replay.dispose();
    }
    expect([...seen].sort()).toEqual(["", "a", "a,b"]);
  });

  test("a named writer continues its episode after kills, and close() truncates it at a reset", async () => {
    const whole = new Replay({ spec, tables });
    const twin = whole.writer(rules);
    let dir = memory();
    for (let t = 0; t < 20; t++) {
      const { replay } = await opened(dir, { durability: "always" });
      const writer = replay.writer({ ...rules, name: "environment" });
      for (const one of [writer, twin]) one.append(step(t));
      expect(writer.episodeSteps).toBe(t + 1);
      dir = dir.crash();
    }
    const { replay } = await opened(dir);
    expect(replay.tables.memory.size).toBe(whole.tables.memory.size);
    // The environment was reset: the episode is cut off, and its last transitions are made.
    replay.writer({ ...rules, name: "environment" }).close();
    twin.close();
    const next = replay.writer({ ...rules, name: "environment" });
    next.append(step(0));
    const sums = [replay, whole].map(({ tables: { memory: table } }) => [table.size, table.stats().steps]);
    expect(sums[0]).toEqual(sums[1]);
    expect(next.episodeSteps).toBe(1);
  });
});
