/** Persistent buffers on a disk without room. */
import { expect, test } from "vitest";
import { PersistentReplayBuffer } from "../../../src/pfrl/index.ts";
import { memory } from "../../../src/store/directory/memory.ts";

const transition = (n: number) => ({ state: Float32Array.of(n), action: n, reward: n, nextState: Float32Array.of(n + 1) });

test("an append that throws IO has appended nothing; what was appended is there once there is room", async () => {
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
  expect(warned.length).toBeGreaterThan(0);
  full = false;
  await buffer.flush();
  const left = new PersistentReplayBuffer(dir.crash(), 1000, { logger: null });
  expect(left.length).toBe(appended);
});
