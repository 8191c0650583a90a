/** Tests damaged directories of persistent buffers: they are rejected, or salvaged permanently. */
import { describe, expect, test } from "vitest";
import { PersistentEpisodicReplayBuffer, PersistentReplayBuffer } from "../../../src/pfrl/index.ts";
import { type Directory, memory } from "../../../src/storage/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const OPTIONS = { durability: "manual", segmentBytes: 1500, logger: null } as const;
const step = (i: number) => ({ state: i, action: i, reward: 0, nextState: i + 1, isStateTerminal: i % 3 === 2 });
const actions = (buffer: { items(): Iterable<unknown> }) => [...buffer.items()].flat().map((one) => (one as { action: number }).action);
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

type Files = Map<string, Uint8Array>;
const DAMAGE: { readonly [what: string]: (bytes: Uint8Array) => Uint8Array } = {
  "a flipped bit in the middle": (bytes) => bytes.map((byte, i) => (i === bytes.length >> 1 ? byte ^ 4 : byte)),
  "a cut": (bytes) => bytes.slice(0, bytes.length >> 1),
};

describe.each([
  ["transitions", (dir: Directory, more: object = {}) => new PersistentReplayBuffer(dir, 1000, { ...OPTIONS, ...more })],
  ["episodes", (dir: Directory, more: object = {}) => new PersistentEpisodicReplayBuffer(dir, 1000, { ...OPTIONS, ...more })],
] as const)("%s", (_, open) => {
  function damaged(how: (bytes: Uint8Array) => Uint8Array): { files: Files; all: number } {
    const dir = memory();
    const buffer = open(dir);
    for (let i = 0; i < 60; i++) buffer.append(step(i));
    buffer.close();
    const files = dir.files();
    const name = [...files.keys()].sort()[2] as string;
    files.set(name, how(files.get(name) as Uint8Array<ArrayBuffer>) as Uint8Array<ArrayBuffer>);
    return { files, all: 60 };
  }

  test.each(Object.entries(DAMAGE))("%s: salvage keeps the first items without a gap, and later opens need no salvage", (_, how) => {
    const { files, all } = damaged(how);
    const dir = memory({ files });
    expectError(
      errorOf(() => open(dir)),
      "CORRUPT",
      /00000003\.rpr/,
    );
    expect(dir.files()).toEqual(files);
    const salvaged = open(dir, { salvage: true });
    const kept = actions(salvaged);
    expect(kept).toEqual(range(0, kept.length));
    expect(kept.length > 10 && kept.length < all).toBe(true);
    // The process is killed before its next write.
    const killed = open(dir.crash());
    expect(actions(killed)).toEqual(kept);
    killed.close();
    for (let i = 60; i < 90; i++) salvaged.append(step(i));
    salvaged.close();
    const again = open(dir);
    expect(actions(again)).toEqual([...kept, ...range(60, 90)]);
    again.close();
  });

  test("a byte after a sealed segment does no harm", () => {
    const { files, all } = damaged((bytes) => Uint8Array.of(...bytes, 7));
    const dir = memory({ files });
    for (const salvage of [false, true, false]) {
      const buffer = open(dir, { salvage });
      expect(actions(buffer)).toEqual(range(0, all));
      buffer.close();
    }
  });

  test("a salvage that cannot be written throws IO, and can be repeated later", () => {
    const { files } = damaged((bytes) => bytes.slice(0, 100));
    let full = true;
    const dir = memory({ files, fault: ({ kind }) => (full && kind === "write" ? { code: "ENOSPC" } : undefined) });
    for (let k = 0; k < 2; k++)
      expectError(
        errorOf(() => open(dir, { salvage: true })),
        "IO",
        /ENOSPC/,
      );
    full = false;
    const salvaged = open(dir, { salvage: true });
    expect(actions(salvaged).length).toBeGreaterThan(10);
    salvaged.close();
  });
});
