/** Tests a folder of the file system as a directory, and which process owns it. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Log, node } from "../../../src/storage/index.ts";
import { root } from "../../support/core.ts";
import { groupsOf, MANUAL, reopened, shown, writeGroup } from "../../support/log.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled, whole } from "../../support/size.ts";

let folder = "";
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-storage-"));
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  rmSync(folder, { recursive: true });
});

/** Starts a process that opens the folder, reports it, and keeps running. */
async function other(path: string): Promise<{ child: ChildProcess; said: string }> {
  const program = `
    import { Log, node } from "./dist/storage.js";
    try {
      const log = Log.open(node(process.argv[1]), { about: {}, durability: "always" });
      for (const _ of log.replay(() => {}));
      log.write(32, 1, new Uint8Array(3));
      log.commit();
      console.log("open");
      setInterval(() => {}, 1000);
    } catch (error) {
      console.log(error.code);
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, path], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [said] = await once(child.stdout as NodeJS.ReadableStream, "data");
  return { child, said: String(said).trim() };
}

describe("a folder", () => {
  it("stores a log, and removes a file left from a dropped segment", () => {
    const path = join(folder, "a/b");
    const random = new TestRandom(4);
    const groups: string[][] = [];
    const log = Log.open(node(path), { ...MANUAL, segmentBytes: 3000 });
    for (let group = 0; group < 60; group++) {
      groups.push(writeGroup(log, group, random));
      log.commit();
    }
    log.drop(1);
    log.close();
    expect(existsSync(join(path, "00000001.rpr"))).toBe(false);
    expect(existsSync(join(path, "00000002.rpr"))).toBe(true);
    const all = groups.flat();
    const seen = reopened(node(path));
    expect(seen).toEqual(all.slice(all.length - seen.length));
    expect(seen.length).toBeGreaterThan(all.length / 2);
    writeFileSync(join(path, "00000001.rpr"), "it was given back");
    expect(reopened(node(path))).toEqual(seen);
    expect(existsSync(join(path, "00000001.rpr"))).toBe(false);
  });

  it("throws IO with the path and the reason if it cannot be opened", () => {
    writeFileSync(join(folder, "file"), "");
    expectError(
      errorOf(() => Log.open(node(join(folder, "none")), { ...MANUAL, readOnly: true })),
      "IO",
      /none/,
      /no such file/,
      /ENOENT/,
    );
    for (const readOnly of [false, true]) {
      const open = (path: string) => errorOf(() => Log.open(node(join(folder, path)), { ...MANUAL, readOnly }));
      const error = open("file/below");
      expectError(error, "IO", /(opening|listing) .*below failed: a part of the path is a file, not a folder \(ENOTDIR\)$/);
      expect((error.cause as NodeJS.ErrnoException).code).toBe("ENOTDIR");
      expectError(open("file"), "IO", /(opening|listing) .*file failed: .* is a file, not a folder \((EEXIST|ENOTDIR)\)$/);
    }
    expectError(
      errorOf(() => node("")),
      TypeError,
      /folder/,
    );
  });

  it("throws IO after it was renamed or replaced, and starts no second log", () => {
    const [path, away] = [join(folder, "run"), join(folder, "away")];
    const log = Log.open(node(path), { ...MANUAL, segmentBytes: 300 });
    const add = () => {
      log.write(32, 1, new Uint8Array(200));
      log.commit();
      log.flush();
    };
    add();
    renameSync(path, away);
    const before = readdirSync(away);
    for (const replaced of [false, true]) {
      if (replaced) mkdirSync(path);
      for (let k = 0; k < 3; k++) expectError(errorOf(add), "IO", /it has changed since it was opened \(ESTALE\)/);
      if (replaced) expect(readdirSync(path)).toEqual([]);
      else expect(existsSync(path)).toBe(false);
      expect(readdirSync(away)).toEqual(before);
    }
    rmSync(path, { recursive: true });
    renameSync(away, path);
    add();
    log.close();
    expect(reopened(node(path)).length).toBe(8);
  });

  it("keeps its location if the working directory changes after opening", async () => {
    const program = `
      import { mkdirSync, readdirSync } from "node:fs";
      import { Log, node } from "${join(root, "dist/storage.js")}";
      mkdirSync("elsewhere");
      const log = Log.open(node("run"), { about: {}, durability: "manual", segmentBytes: 300 });
      process.chdir("elsewhere");
      for (let k = 0; k < 10; k++) { log.write(32, 1, new Uint8Array(200)); log.commit(); log.flush(); }
      log.close();
      console.log(readdirSync(".").length);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    const [said] = await once(child.stdout as NodeJS.ReadableStream, "data");
    expect(Number(said)).toBe(0);
    expect(reopened(node(join(folder, "run"))).length).toBe(10);
  });

  it("throws IO on opening if Node's permission model disables fsync", async () => {
    const program = `
      import { Log, node } from "${join(root, "dist/storage.js")}";
      try { Log.open(node("run"), { about: {} }); } catch (error) { console.log(error.code, error.message); }`;
    const flag = Number(process.versions.node.split(".")[0]) < 23 ? "--experimental-permission" : "--permission";
    const args = ["--no-warnings", flag, "--allow-fs-read=*", "--allow-fs-write=*", "--input-type=module", "-e", program];
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    const [said] = await once(child.stdout as NodeJS.ReadableStream, "data");
    expect(String(said)).toMatch(/^IO locking run failed: Node's permission model disables fsync.*Run Node without --permission/);
  });

  // The root user could write even without permission.
  it("opens with readOnly if it has no write permission", () => {
    Log.open(node(folder), MANUAL).close();
    chmodSync(join(folder, "00000001.rpr"), 0o444);
    chmodSync(folder, 0o555);
    expect(reopened(node(folder), { readOnly: true })).toEqual([]);
    chmodSync(folder, 0o755);
  });
});

describe("the lock of a folder", () => {
  it("excludes a second process, and is free after the first one is killed", async () => {
    const first = await other(folder);
    expect(first.said).toBe("open");
    expect((await other(folder)).said).toBe("LOCKED");
    expectError(
      errorOf(() => Log.open(node(folder), MANUAL)),
      "LOCKED",
      new RegExp(`process ${first.child.pid} \\(lock\\.1, since 2\\d{3}-.*\\)\\. Close it there, or end that process`),
    );
    expect(reopened(node(folder), { readOnly: true }).length).toBe(1);
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    const log = Log.open(node(folder), MANUAL);
    expect(shown(log).length).toBe(1);
    expect((await other(folder)).said).toBe("LOCKED");
    log.close();
    expect((await other(folder)).said).toBe("open");
    expect(readdirSync(folder).filter((name) => name.startsWith("lock")).length).toBe(1);
  });

  const OTHERS = scaled(6, 3);
  it.runIf(whole)("is taken by exactly one of several processes that open the folder together", async () => {
    const first = await other(folder);
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    const said = (await Promise.all(Array.from({ length: OTHERS }, () => other(folder)))).map((one) => one.said);
    expect(said.sort()).toEqual([...Array(OTHERS - 1).fill("LOCKED"), "open"]);
  });

  it("is taken over within a process, even if the path is spelled differently", () => {
    const older = Log.open(node(folder), MANUAL);
    older.write(32, 1, Uint8Array.of(1));
    older.commit();
    const newer = Log.open(node(`${folder}/../${folder.split("/").at(-1)}/`), MANUAL);
    expect(older.closed).toBe(true);
    expect(groupsOf(shown(newer), [["32 1 \u0001"]])).toBe(1);
    newer.close();
  });

  it.each([
    ["of a machine that was started anew", { pid: process.pid, start: "1", host: hostname(), boot: "another" }, "gone"],
    ["of a process whose number came again", { pid: process.pid, start: "1" }, process.platform === "linux" ? "gone" : "unknown"],
    ["of another machine", { pid: 1, host: "elsewhere", boot: "another", since: "1970-01-01T00:00:00.000Z" }, "unknown"],
    ["of a process in another container", { pid: 999_999_999, space: "pid:[1]" }, process.platform === "linux" ? "unknown" : "gone"],
    ["of a thread that has ended", { pid: process.pid, thread: "999999999" }, process.platform === "linux" ? "gone" : "unknown"],
    ["that says nothing", {}, "gone"],
  ])("%s", (_, holder, fate) => {
    Log.open(node(folder), MANUAL).close();
    const log = Log.open(node(folder), MANUAL);
    const self = JSON.parse(String(readLock()));
    log.close();
    writeFileSync(join(folder, "lock.9"), JSON.stringify("pid" in holder ? { ...self, ...holder } : {}));
    if (fate === "unknown") {
      expectError(
        errorOf(() => Log.open(node(folder), MANUAL)),
        "LOCKED",
        /lock\.9.*pass takeOver: true/,
      );
      // With this option, the check is skipped.
      Log.open(node(folder), { ...MANUAL, takeOver: true }).close();
    }
    Log.open(node(folder), MANUAL).close();
  });

  it("of a running process is kept, and a lost lock throws LOCKED before a write", async () => {
    const first = await other(folder);
    expectError(
      errorOf(() => Log.open(node(folder), { ...MANUAL, takeOver: true })),
      "LOCKED",
      new RegExp(`process ${first.child.pid}`),
    );
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    const older = Log.open(node(folder), MANUAL);
    shown(older);
    older.flush();
    // The lock looks as if another container had created it.
    const lock = readdirSync(folder).find((one) => one.startsWith("lock")) as string;
    const self = JSON.parse(readFileSync(join(folder, lock), "utf8"));
    writeFileSync(join(folder, "lock.99"), JSON.stringify({ ...self, space: "pid:[1]", pid: 7 }));
    rmSync(join(folder, lock));
    const before = readFileSync(join(folder, "00000001.rpr"));
    older.write(32, 1, Uint8Array.of(1));
    older.commit();
    expectError(
      errorOf(() => older.flush()),
      "LOCKED",
      /was taken over by process 7 of another PID namespace/,
    );
    expectError(
      errorOf(() => older.close()),
      "LOCKED",
    );
    expect(readFileSync(join(folder, "00000001.rpr"))).toEqual(before);
    expect(readdirSync(folder)).toContain("lock.99");
  });

  it("excludes another thread, and on Linux is free after that thread ends", async () => {
    const program = `
      import("${join(root, "dist/storage.js")}").then(({ Log, node }) => {
        const { parentPort, workerData } = require("node:worker_threads");
        Log.open(node(workerData), { about: {}, durability: "manual" });
        parentPort.postMessage("open");
        setInterval(() => {}, 1000);
      });`;
    const worker = new Worker(program, { eval: true, workerData: folder });
    await once(worker, "message");
    expectError(
      errorOf(() => Log.open(node(folder), MANUAL)),
      "LOCKED",
      /another thread of this process/,
    );
    await worker.terminate();
    const log = () => Log.open(node(folder), MANUAL);
    if (process.platform === "linux") log().close();
    else expectError(errorOf(log), "LOCKED", /takeOver/);
  });

  it.runIf(whole)("is taken by exactly one of two threads that open together, in every round", { timeout: 60_000 }, async () => {
    const program = `
      import("${join(root, "dist/storage.js")}").then(({ Log, node }) => {
        const { parentPort, workerData: { folder, shared, rounds } } = require("node:worker_threads");
        const arrived = new Int32Array(shared);
        const both = (k) => {
          const last = Atomics.add(arrived, 0, 1) + 1;
          if (last === 2 * k) Atomics.notify(arrived, 0);
          for (let seen = last; seen < 2 * k; seen = Atomics.load(arrived, 0)) Atomics.wait(arrived, 0, seen);
        };
        const said = [];
        for (let k = 0; k < rounds; k++) {
          both(2 * k + 1);
          let log;
          try {
            log = Log.open(node(folder), { about: {}, durability: "manual" });
            said.push("open");
          } catch (error) {
            said.push(error.code === "LOCKED" ? "LOCKED" : String(error));
          }
          both(2 * k + 2);
          // If another process has taken the lock, closing the log must write nothing.
          for (const _ of log?.replay(() => {}) ?? []);
          log?.write(32, 1, new Uint8Array(3));
          log?.commit();
          log?.close();
        }
        parentPort.postMessage(said);
      });`;
    const shared = new SharedArrayBuffer(4);
    const path = join(folder, "run");
    const rounds = scaled(500, 30);
    const workers = [0, 1].map(() => new Worker(program, { eval: true, workerData: { folder: path, shared, rounds } }));
    const [one, two] = await Promise.all(workers.map(async (worker) => (await once(worker, "message"))[0] as string[]));
    const odd = Array.from({ length: rounds }, (_, k) => [one?.[k], two?.[k]].sort().join()).filter((said) => said !== "LOCKED,open");
    expect(odd.slice(0, 3)).toEqual([]);
    expect(reopened(node(path), { readOnly: true }).length).toBe(rounds);
    expect(readdirSync(path).filter((name) => name.startsWith("lock")).length).toBe(1);
  });

  it.runIf(process.platform !== "win32")("throws IO without blocking if the lock or a segment is a pipe", async () => {
    const program = `
      import { Log, node } from "${join(root, "dist/storage.js")}";
      try { Log.open(node(process.argv[1]), { about: {} }); } catch (error) { console.log(error.code, error.message); }`;
    for (const name of ["lock.3", "00000001.rpr"]) {
      const path = mkdtempSync(join(folder, "pipe-"));
      execFileSync("mkfifo", [join(path, name)]);
      const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program, path], { encoding: "utf8", timeout: 20_000 });
      expect(stdout).toMatch(/^IO (locking|opening) .* failed: it is a pipe or a device, not a file \(ESPIPE\)$/m);
    }
  });

  it("removes old drafts that a crash left, and keeps recent drafts", () => {
    for (const name of ["lock.of-1", "lock.of-2"]) writeFileSync(join(folder, name), "{}");
    utimesSync(join(folder, "lock.of-1"), 1, 1);
    const log = Log.open(node(folder), MANUAL);
    expect(readdirSync(folder).sort()).toEqual(["00000001.rpr", "lock.1", "lock.of-2"]);
    log.close();
  });

  it("is released in place, and its file keeps its length", () => {
    const log = Log.open(node(folder), MANUAL);
    const { length } = readLock();
    log.close();
    expect(readLock().length).toBe(length);
    expect(JSON.parse(String(readLock()))).toEqual({});
  });

  const readLock = () => {
    const [name] = readdirSync(folder).filter((one) => one.startsWith("lock"));
    return readFileSync(join(folder, name as string));
  };
});
