/** Tests a directory in the SQLite storage of a Durable Object. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { i32, Replay } from "../../../src/index.ts";
import { type Directory, Log, type LogOptions, memory, node, type SqliteStorage, sqlite } from "../../../src/storage/index.ts";
import { playDirectory } from "../../support/directory-twin.ts";
import { groupsOf, MANUAL, reopened, writeGroup } from "../../support/log.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { SCENES, type Scene, sceneNames } from "../../support/scenes.ts";
import { scaled, some, stride } from "../../support/size.ts";
import { TestSqlite } from "../../support/sqlite-storage.ts";
import { again, opened, Past } from "./opened.ts";

const SPEC = { spec: { n: i32() }, tables: { t: { maxSize: 1000 } } };

describe("a directory", () => {
  const made: { readonly [kind: string]: () => { directory: Directory; again?: () => Directory; end?: () => void } } = {
    memory: () => ({ directory: memory() }),
    node() {
      const folder = mkdtempSync(join(tmpdir(), "reprise-directory-"));
      return { directory: node(join(folder, "d")), again: () => node(join(folder, "d")), end: () => rmSync(folder, { recursive: true }) };
    },
    sqlite() {
      const storage = new TestSqlite();
      // A new directory object for the same storage finds the existing data.
      return {
        directory: sqlite(storage),
        again: () => sqlite({ sql: storage.sql, transactionSync: (call) => storage.transactionSync(call), sync: async () => {} }),
      };
    },
  };

  it.each(some(Object.keys(made), 1))("behaves like a map of names to bytes in random calls: %s", (kind) => {
    for (let seed = 1; seed <= scaled(60); seed++) {
      const { directory, again, end } = (made[kind] as () => ReturnType<(typeof made)[string]>)();
      // The first file creates the folder.
      directory.open("first", true).close();
      directory.remove("first");
      playDirectory(directory, seed, 150, again);
      end?.();
    }
  });
});

describe("a directory in the storage of a Durable Object", () => {
  it("writes one row per append, and at most 1 MiB per call", () => {
    const storage = new TestSqlite();
    const file = sqlite(storage).open("f", true);
    let at = 0;
    for (const length of [100, 100, 3000, 1000, 5000, 10]) {
      const before = storage.writes;
      expect(file.write(new Uint8Array(length).fill(length), at)).toBe(length);
      expect(storage.writes - before).toBe(1);
      at += length;
    }
    // Short appends share a page, and a longer one has a separate row.
    const rows = storage.sql.exec(
      "SELECT id, bytes FROM reprise_bytes WHERE id >= (SELECT max(id) FROM reprise_bytes WHERE id <= ?) AND id < ? ORDER BY id",
      2 ** 32,
      2 ** 33,
    );
    expect(rows.map(({ bytes }) => (bytes as ArrayBuffer).byteLength)).toEqual([3200, 1000, 5000, 10]);
    expect(file.write(new Uint8Array(5_000_000), at)).toBe(1 << 20);
    const into = new Uint8Array(300);
    expect(file.read(into, 3150)).toBe(300);
    expect([into[0], into[49], into[50], into[299]]).toEqual([3000 & 255, 3000 & 255, 1000 & 255, 1000 & 255]);
  });

  it("is the same object for the same name, and separate for another name", () => {
    const storage = new TestSqlite();
    const [one, other] = [sqlite(storage, { name: "one" }), sqlite(storage, { name: "other" })];
    expect(sqlite(storage, { name: "one" })).toBe(one);
    expect(sqlite(storage)).toBe(sqlite(storage, { name: "reprise" }));
    one.open("f", true).write(Uint8Array.of(1), 0);
    expect([one.list(), other.list()]).toEqual([["f"], []]);
    expect(() => other.open("f", false)).toThrow(expect.objectContaining({ code: "ENOENT" }));
    other.open("f", true).write(Uint8Array.of(2, 2), 0);
    other.remove("f");
    expect([one.open("f", false).size, other.list()]).toEqual([1, []]);
  });

  it("closes its earlier owner when it is opened again", () => {
    const storage = new TestSqlite();
    const older = Log.open(sqlite(storage), MANUAL);
    older.write(32, 1, Uint8Array.of(1));
    older.commit();
    const newer = Log.open(sqlite(storage), MANUAL);
    expect(older.closed).toBe(true);
    newer.leave();
    expect(reopened(sqlite(storage))).toEqual(["32 1 \u0001"]);
  });

  it.each<[unknown, object | undefined, RegExp]>([
    [undefined, undefined, /^storage is required, and must be ctx\.storage of a Durable Object/],
    [{ get() {}, put() {} }, undefined, /new_sqlite_classes, got an object with keys get, put$/],
    [new TestSqlite(), { name: "" }, /^name must be a non-empty string/],
    [new TestSqlite(), { nmae: "a" }, /^sqlite has no option "nmae"\. Did you mean "name"\? Options: name$/],
  ])("rejects invalid storage, names and options", (storage, options, says) => {
    expectError(
      errorOf(() => sqlite(storage as SqliteStorage, options)),
      TypeError,
      says,
    );
  });
});

describe("the storage after a crash", () => {
  it("has all confirmed groups and the first later ones, across segments and drops", () => {
    for (let seed = 1; seed <= scaled(60); seed++) {
      const random = new TestRandom(seed);
      const storage = new TestSqlite();
      const options: LogOptions = { ...MANUAL, segmentBytes: 2000 };
      const log = Log.open(sqlite(storage), options);
      const groups: string[][] = [];
      const [dropped, inSegment]: [number[], number[]] = [[], []];
      let confirmed = 0;
      for (let step = 0; step < 60; step++) {
        inSegment.push(log.segment);
        groups.push(writeGroup(log, groups.length, random, 300));
        log.commit();
        if (random.below(3) === 0) log.flush();
        if (random.below(8) === 0) {
          log.flush();
          storage.settle();
          confirmed = groups.length;
        }
        if (log.segments.length > 4 && random.below(4) === 0) {
          const { id } = log.segments[0] as { id: number };
          log.drop(id);
          dropped.push(id);
        }
        for (let transactions = 0; transactions <= storage.unconfirmed; transactions += stride(1, 5)) {
          const seen = reopened(sqlite(storage.crash(transactions)), options);
          const first = [0, ...dropped.map((id) => inSegment.lastIndexOf(id) + 1)].find((at) => groupsOf(seen, groups.slice(at)) >= 0);
          expect([seed, step, transactions, first === undefined]).toEqual([seed, step, transactions, false]);
          expect((first as number) + groupsOf(seen, groups.slice(first))).toBeGreaterThanOrEqual(confirmed);
        }
      }
      expect(log.segment).toBeGreaterThan(2);
      log.leave();
    }
  });

  const names = some(sceneNames(3), 1);
  it.each(names)("opens as the Replay after some call, with all calls that `flush` acknowledged: %s", async (name) => {
    const scene = SCENES[name] as Scene;
    for (const durability of ["manual", "always"] as const) {
      const random = new TestRandom(name.length);
      const storage = new TestSqlite();
      const replay = await opened(scene, sqlite(storage), { segmentBytes: 8192, durability });
      const past = new Past(durability === "manual");
      past.note(replay);
      await replay.flush();
      for (let k = 1; k <= scaled(200, 12); k++) {
        scene.act(replay, random);
        // A random act may make two calls; all writes of one turn of the event loop are committed together.
        if (durability === "always") storage.endTurn();
        past.note(replay);
        if (random.next() < 0.1) {
          await replay.flush();
          past.acknowledged = k;
          expect(storage.unconfirmed).toBe(0);
        }
        if (random.next() > 0.85) {
          const left = await again(sqlite(storage.crash(random.below(storage.unconfirmed + 1))));
          past.holds(left);
          left.dispose();
        }
      }
    }
  });
});

describe("storage errors", () => {
  /** Runs thirty groups, and returns the final contents. @param fault receives the number of the statement */
  function run(fault: (statement: number) => string | undefined) {
    const storage = new TestSqlite();
    const errors: Error[] = [];
    const groups: string[][] = [];
    const random = new TestRandom(1);
    const log = Log.open(sqlite(storage), { ...MANUAL, segmentBytes: 2000, logger: null });
    const first = storage.statements;
    storage.fault = () => fault(storage.statements - first);
    for (let step = 0; step < 30; step++) {
      groups.push(writeGroup(log, groups.length, random));
      for (const call of [() => log.commit(), () => log.flush()]) {
        try {
          call();
        } catch (error) {
          errors.push(error as Error);
        }
      }
      if (step === 20) log.drop(log.segments[0]?.id as number);
    }
    return { storage, log, groups, errors, statements: storage.statements - first };
  }

  it("at any one statement are reported as IO, and the next flush writes all data", () => {
    const { statements } = run(() => undefined);
    expect(statements).toBeGreaterThan(80);
    let told = 0;
    for (let index = 1; index <= statements; index += stride(1)) {
      const { storage, log, groups, errors } = run((at) => (at === index ? "database or disk is full: SQLITE_FULL" : undefined));
      for (const error of errors) expectError(error, "IO", /reprise\/\d+\.rpr failed: no space is left \(SQLITE_FULL\)$/);
      told += errors.length;
      log.close();
      const seen = reopened(sqlite(storage.crash(storage.unconfirmed)));
      const kept = groupsOf(seen, groups.slice(groups.findIndex(([section]) => section === seen[0])));
      expect(kept).toBeGreaterThan(20);
      expect(seen.slice(-(groups.at(-1)?.length as number))).toEqual(groups.at(-1));
    }
    expect(told).toBeGreaterThan(0);
  });

  it("after the program rolls back its transaction are IO, and leave no gap", async () => {
    const storage = new TestSqlite();
    const replay = await Replay.open({ dir: sqlite(storage), ...SPEC, durability: "always", logger: null });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    for (let n = 0; n < 5; n++) writer.append({ n });
    await replay.flush();
    expect(() =>
      storage.transactionSync(() => {
        writer.append({ n: 5 });
        throw new Error("the program's own");
      }),
    ).toThrow(/the program's own/);
    writer.append({ n: 6 });
    expectError(
      errorOf(() => writer.append({ n: 7 })),
      "IO",
      /writing reprise\/00000001\.rpr failed: it has changed since it was opened \(ESTALE\)/,
    );
    await expect(replay.flush()).rejects.toThrow(expect.objectContaining({ code: "IO" }));
    const left = await again(sqlite(storage.crash(storage.unconfirmed)));
    expect(left.table("t").size).toBe(5);
  });

  it("during a rename or a truncation change nothing", () => {
    for (const name of ["rename", "truncate"] as const) {
      for (let index = 0; ; index++) {
        const storage = new TestSqlite();
        const directory = sqlite(storage);
        for (const [file, length] of [
          ["a", 9000],
          ["b", 100],
        ] as const)
          directory.open(file, true).write(new Uint8Array(length).fill(length), 0);
        const file = directory.open("a", false);
        const first = storage.statements;
        storage.fault = () => (storage.statements - first === index + 1 ? "disk I/O error: SQLITE_IOERR" : undefined);
        const call = () => (name === "rename" ? directory.rename?.("a", "b") : file.truncate(8000));
        if (storage.statements === first && index > 20) throw new Error("it never ended");
        try {
          call();
          storage.fault = undefined;
          expect(directory.list().sort()).toEqual(name === "rename" ? ["b"] : ["a", "b"]);
          expect(directory.open(name === "rename" ? "b" : "a", false).size).toBe(name === "rename" ? 9000 : 8000);
          expect(index).toBeGreaterThan(2);
          break;
        } catch (error) {
          expect((error as { code?: string }).code).toBe("SQLITE_IOERR");
          storage.fault = undefined;
          expect(directory.list().sort()).toEqual(["a", "b"]);
          expect([file.size, directory.open("b", false).size]).toEqual([9000, 100]);
        }
      }
    }
  });
});

describe("flush", () => {
  it("resolves when the storage has confirmed the written data", async () => {
    const storage = new TestSqlite();
    const replay = await Replay.open({ dir: sqlite(storage), ...SPEC });
    replay.writer({ items: [{ table: "t", length: 1 }] }).append({ n: 1 });
    let confirm = () => {};
    storage.confirmed = new Promise<void>((resolve) => (confirm = resolve));
    let isDone = false;
    const flushing = replay.flush().then(() => (isDone = true));
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect([isDone, storage.unconfirmed > 0]).toEqual([false, true]);
    confirm();
    await flushing;
    expect((await again(sqlite(storage.crash()))).table("t").size).toBe(1);
  });

  it("rejects with IO if the storage fails to confirm", async () => {
    const storage = new TestSqlite();
    const replay = await Replay.open({ dir: sqlite(storage), ...SPEC });
    storage.confirmed = Promise.reject(new Error("the object was reset"));
    await expect(replay.flush()).rejects.toThrow(
      expect.objectContaining({ code: "IO", message: "confirming the data written to reprise failed: the object was reset" }),
    );
  });
});
