/** Tests persistent buffers on a full disk. */
import { expect, test, vi } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { PersistentReplayBuffer } from "../../../src/pfrl/index.ts";

const transition = (n: number) => ({ state: Float32Array.of(n), action: n, reward: n, nextState: Float32Array.of(n + 1) });

test("an append that throws IO stores nothing, and accepted steps survive the full disk", async () => {
  let full = false;
  const warned: string[] = [];
  const dir = memory({ fault: ({ kind }) => (full && kind === "write" ? { code: "ENOSPC" } : undefined) });
  const buffer = new PersistentReplayBuffer(dir, 1000, { durability: "always", logger: (message) => warned.push(message) });
  buffer.append(transition(0));
  full = true;
  let [appended, refused] = [1, 0];
  for (let n = 1; n < 40; n++) {
    try {
      buffer.append(transition(n));
      appended++;
    } catch (error) {
      expect((error as { code?: string }).code).toBe("IO");
      refused++;
    }
    expect(buffer.length).toBe(appended);
  }
  expect([appended, refused]).toEqual([21, 19]);
  // One warning is logged as long as the disk is full.
  expect(warned).toEqual([expect.stringMatching(/no space is left \(ENOSPC\)\. The changes are kept in memory$/)]);
  full = false;
  await buffer.flush();
  buffer.append(transition(-1));
  full = true;
  buffer.append(transition(-2));
  expect(warned.length).toBe(2);
  full = false;
  await buffer.flush();
  appended += 2;
  const left = new PersistentReplayBuffer(dir.crash(), 1000, { logger: null });
  expect(left.length).toBe(appended);
});

test.each([
  ["a timer", async () => vi.advanceTimersByTime(20)],
  ["flush", (buffer: PersistentReplayBuffer) => expect(buffer.flush()).rejects.toThrow(/ENOSPC/)],
])("steps that %s could not write are written when there is space, without another call", async (what, tries) => {
  vi.useFakeTimers();
  try {
    let full = false;
    const warned: string[] = [];
    const dir = memory({ fault: ({ kind }) => (full && kind === "write" ? { code: "ENOSPC" } : undefined) });
    const buffer = new PersistentReplayBuffer(dir, 1000, { durability: { everyMs: 20 }, logger: (message) => warned.push(message) });
    await buffer.flush();
    full = true;
    buffer.append(transition(0));
    await tries(buffer);
    let [appended, refused] = [1, 0];
    for (let n = 1; n < 100; n++) {
      vi.advanceTimersByTime(20);
      try {
        buffer.append(transition(n));
        appended++;
      } catch (error) {
        expect((error as { code?: string }).code).toBe("IO");
        refused++;
      }
    }
    // Each failed attempt is reported to the next call, and the first one also to the logger. Attempts are at most 100 ms apart.
    expect(refused).toBeGreaterThan(10);
    expect(refused).toBeLessThanOrEqual(21);
    expect(warned).toEqual([expect.stringMatching(/no space is left \(ENOSPC\)\. The changes are kept in memory$/)]);
    // From here on, no calls trigger an attempt.
    vi.advanceTimersByTime(1000);
    full = false;
    vi.advanceTimersByTime(1000);
    const left = new PersistentReplayBuffer(dir.crash(), 1000, { logger: null, durability: "manual" });
    expect(left.length, what).toBe(appended);
    buffer.close();
    left.close();
  } finally {
    vi.useRealTimers();
  }
});
