/** Tests a full disk: which calls report it, which changes are kept, and that everything continues when there is space again. */
import { expect, test, vi } from "vitest";
import { type Fault, type MemoryDirectory, memory } from "../../../src/files/memory.ts";
import { fifo, i32, type OpenOptions, Replay, type ReplayError } from "../../../src/index.ts";

const OPTIONS = { spec: { n: i32() }, tables: { t: { maxSize: 1000, maxTimesSampled: 1, sampler: fifo() } } };

/** Opens a Replay on a disk that can be filled, and records the messages to its logger. */
async function opened(options: Partial<OpenOptions>) {
  const warned: string[] = [];
  const disk: { full: boolean; code: Fault["code"]; dir: MemoryDirectory } = { full: false, code: "ENOSPC", dir: undefined as never };
  disk.dir = memory({ fault: ({ kind }) => (disk.full && kind !== "read" ? { code: disk.code as "ENOSPC" } : undefined) });
  const replay = await Replay.open({ dir: disk.dir, ...OPTIONS, logger: (message) => warned.push(message), ...options });
  const [writer = replay.writer({ items: [{ table: "t", length: 1 }] })] = replay.writers;
  await replay.flush();
  return { replay, writer, disk, warned };
}

/** Returns the result of a call, or its error code. A rejected call must change nothing. */
function tried<T>(replay: Replay, call: () => T): T | string {
  const before = JSON.stringify(replay.stats().tables);
  try {
    return call();
  } catch (error) {
    expect(JSON.stringify(replay.stats().tables)).toBe(before);
    return (error as ReplayError).code;
  }
}

const left = async (dir: MemoryDirectory) => {
  const replay = await Replay.open({ dir: dir.crash() });
  const { size } = replay.table("t");
  replay.dispose();
  return size;
};

test("a timer warns about a full disk, the next call throws, and saving continues with free space", async () => {
  vi.useFakeTimers();
  try {
    const { replay, writer, disk, warned } = await opened({ durability: { everyMs: 20 } });
    disk.full = true;
    writer.append({ n: 0 });
    expect(warned).toEqual([]);
    vi.advanceTimersByTime(20);
    expect(warned).toEqual([expect.stringMatching(/no space is left \(ENOSPC\)\. The changes are kept in memory$/)]);
    expect(() => writer.append({ n: 1 })).toThrow(
      expect.objectContaining({ code: "IO", message: expect.stringMatching(/ENOSPC.*this call had no effect.*Repeat this call/) }),
    );
    expect(replay.table("t").size).toBe(1);
    // The error is repeated while the disk is full.
    let refused = 0;
    for (let n = 1; n < 100; n++) {
      if (tried(replay, () => writer.append({ n })) === "IO") n--;
      else vi.advanceTimersByTime(20);
      refused++;
    }
    expect(refused - 99).toBeGreaterThan(10);
    expect(warned.length).toBe(1);
    expect(await left(disk.dir)).toBe(0);
    disk.full = false;
    // Saving continues without a call.
    vi.advanceTimersByTime(1000);
    expect(await left(disk.dir)).toBe(100);
    writer.append({ n: 100 });
    await replay.flush();
    expect(await left(disk.dir)).toBe(101);
  } finally {
    vi.useRealTimers();
  }
});

test("a draw on a full disk succeeds, and the next call throws without removing items", async () => {
  const { replay, writer, disk, warned } = await opened({ durability: "always" });
  for (let n = 0; n < 40; n++) writer.append({ n });
  disk.full = true;
  const drawn: number[] = [];
  let refused = 0;
  for (let k = 0; k < 40; k++) {
    const batch = tried(replay, () => replay.table("t").sample(1));
    if (typeof batch === "string") refused++;
    else drawn.push(...(batch.steps as unknown as { n: { data: Int32Array } }).n.data);
  }
  // Although some calls failed, no used-up item was lost.
  expect(drawn).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect([refused, replay.table("t").size, warned.length]).toEqual([20, 20, 1]);
  disk.full = false;
  while (tried(replay, () => replay.table("t").sample(1)) === "IO");
  expect(await left(disk.dir)).toBe(19);
  expect(replay.table("t").size).toBe(19);
});

test("a waiting batch keeps its items on a full disk, and is completed with free space", async () => {
  const { replay, writer, disk } = await opened({ durability: "always" });
  const waiting = replay.table("t").sampleWhenReady(3);
  writer.append({ n: 1 });
  disk.full = true;
  expect(tried(replay, () => writer.append({ n: 2 }))).toBe(undefined);
  expect(tried(replay, () => writer.append({ n: 3 }))).toBe("IO");
  disk.full = false;
  while (tried(replay, () => writer.append({ n: 3 })) === "IO");
  expect([...((await waiting).steps as unknown as { n: { data: Int32Array } }).n.data]).toEqual([1, 2, 3]);
  expect(await left(disk.dir)).toBe(0);
});

test.each(["always", "manual"] as const)("a rejected step is not appended (%j)", async (durability) => {
  // With `retain: "all"`, each call is a separate group.
  const { replay, writer, disk } = await opened({ durability, retain: "all", segmentBytes: 4096 });
  disk.full = true;
  let [appended, refused] = [0, 0];
  for (let k = 0; k < 3000; k++) {
    if (tried(replay, () => writer.append({ n: k })) === "IO") refused++;
    else appended++;
    expect(replay.table("t").stats().inserts).toBe(appended);
    if (durability === "always" && k > 50) break;
  }
  expect(refused).toBeGreaterThan(0);
  await expect(replay.flush()).rejects.toThrow(expect.objectContaining({ code: "IO" }));
  disk.full = false;
  await replay.flush();
  expect(await left(disk.dir)).toBe(Math.min(1000, appended));
  writer.append({ n: -1 });
  replay.dispose();
});

test("a failed sync ends the journal, later calls throw, and memory can still be saved", async () => {
  const warned: string[] = [];
  let failing = false;
  const dir = memory({ fault: ({ kind }) => (failing && kind === "sync" ? { code: "EIO" } : undefined) });
  const replay = await Replay.open({ dir, ...OPTIONS, durability: "always", logger: (message) => warned.push(message) });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  writer.append({ n: 1 });
  failing = true;
  writer.append({ n: 2 });
  failing = false;
  for (let k = 0; k < 3; k++) expect(tried(replay, () => writer.append({ n: 3 }))).toBe("IO");
  expect(warned.length).toBe(1);
  const saved = Replay.restore(replay.snapshot());
  expect(saved.table("t").size).toBe(2);
  await expect(replay.flush()).rejects.toThrow(/The state of the disk is unknown/);
  expect(() => replay.dispose()).toThrow(expect.objectContaining({ code: "IO" }));
});
