/** Tests persistent buffers on a disk whose sync fails: the contents of the disk are unknown, so no more steps are accepted. */
import { describe, expect, test } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { PersistentEpisodicReplayBuffer, PersistentReplayBuffer, ReplayBuffer } from "../../../src/pfrl/index.ts";

const transition = (n: number) => ({ state: n, action: n, reward: n, nextState: n + 1 });

function disk() {
  const fails = { sync: false };
  return { fails, dir: memory({ fault: ({ kind }) => (fails.sync && kind === "sync" ? { code: "EIO" } : undefined) }) };
}

describe.each(["always", "manual"] as const)("a failed sync (%j)", (durability) => {
  const LAST = /The state of the disk is unknown/;

  test("ends the log: later calls throw, and stored items can still be drawn and saved", async () => {
    const { fails, dir } = disk();
    const warned: string[] = [];
    const buffer = new PersistentReplayBuffer(dir, 100, { durability, logger: (message) => warned.push(message) });
    buffer.append({ ...transition(0), envId: "a" });
    fails.sync = true;
    buffer.append(transition(1));
    if (durability === "manual") await expect(buffer.flush()).rejects.toMatchObject({ code: "IO" });
    fails.sync = false;
    for (let k = 0; k < 4; k++) {
      expect(() => buffer.append(transition(2))).toThrow(expect.objectContaining({ code: "IO" }));
      expect(() => buffer.stopCurrentEpisode("a")).toThrow(expect.objectContaining({ code: "IO" }));
      expect([buffer.length, buffer.running().size]).toEqual([2, 2]);
    }
    expect(() => buffer.append(transition(2))).toThrow(LAST);
    expect(warned.length).toBe(durability === "always" ? 1 : 0);
    expect(buffer.sample(2).count).toBe(2);
    const files = memory();
    buffer.save({ directory: files, file: "f" });
    expect(() => buffer.load({ directory: files, file: "f" })).toThrow(LAST);
    const saved = new ReplayBuffer();
    saved.load({ directory: files, file: "f" });
    expect(saved.length).toBe(2);
    await expect(buffer.flush()).rejects.toThrow(LAST);
    expect(() => buffer.close()).toThrow(LAST);
    expect(() => buffer.append(transition(3))).toThrow(expect.objectContaining({ code: "CLOSED" }));
  });

  test("ends the log of an episodic buffer, and later calls change nothing", async () => {
    const { fails, dir } = disk();
    const buffer = new PersistentEpisodicReplayBuffer(dir, 100, { durability, logger: null });
    fails.sync = true;
    buffer.append({ ...transition(0), isStateTerminal: true });
    if (durability === "manual") await expect(buffer.flush()).rejects.toMatchObject({ code: "IO" });
    fails.sync = false;
    buffer.append({ ...transition(1), envId: 1 });
    for (let k = 0; k < 3; k++) {
      expect(() => buffer.append({ ...transition(2), isStateTerminal: true, envId: 1 })).toThrow(expect.objectContaining({ code: "IO" }));
      expect(() => buffer.stopCurrentEpisode(1)).toThrow(expect.objectContaining({ code: "IO" }));
      expect([buffer.length, buffer.running().get(1)?.length]).toEqual([1, 1]);
    }
    expect(() => buffer.close()).toThrow(LAST);
  });
});
