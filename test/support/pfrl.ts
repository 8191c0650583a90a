/** Reads the state of PFRL buffers, which tests compare. */
import { inspect } from "node:util";
import type { ReplayBuffer } from "../../src/pfrl/index.ts";
import { EpisodeStore } from "../../src/pfrl/store/episodes.ts";
import type { Stored } from "../../src/pfrl/store/stored.ts";
import { Transitions } from "../../src/pfrl/store/transitions.ts";
import { memory } from "../../src/storage/index.ts";

/** A buffer of any class. */
type AnyBuffer = Pick<ReplayBuffer, "save" | "running"> & { readonly beta?: number; readonly waitingKeys?: Float64Array };

/** The store whose size was last read. */
let lastRead: Stored;
for (const { prototype } of [Transitions, EpisodeStore]) {
  const { get } = Object.getOwnPropertyDescriptor(prototype, "size") as { get(): number };
  Object.defineProperty(prototype, "size", {
    get(this: Stored) {
      lastRead = this;
      return get.call(this);
    },
  });
}

/** Returns the private store of a buffer. Reading the length of the buffer reads the size of its store, which records the store in `lastRead`. */
export function storeOf(buffer: object): Stored {
  void (buffer as { readonly length: number }).length;
  return lastRead;
}

/** Returns the whole state of a buffer: its file, running episodes, and values that are not in the file. */
export function savedBytes(buffer: AnyBuffer): Buffer {
  const directory = memory();
  buffer.save({ directory, file: "x" });
  const { beta, waitingKeys } = buffer;
  const rest = inspect([...buffer.running().values(), beta, waitingKeys], { depth: 20, maxArrayLength: null, maxStringLength: null });
  return Buffer.concat([...directory.files().values(), Buffer.from(rest)]);
}

/** Returns the broken invariants of the core in a buffer, by name and number. */
export function brokenBuffer(buffer: object): string[] {
  const { contents: made } = storeOf(buffer);
  if (made === undefined) return [];
  const { engine, envs } = made.steps;
  const { x } = engine.core;
  const checks: [string, number][] = [
    ["arena", x.arena_check()],
    ["pool", x.pool_check(engine.pool)],
    ["items", x.table_check(made.items.handle)],
    ...Array.from(envs.values(), ({ stream }): [string, number] => ["stream", x.stream_check(stream.handle)]),
  ];
  return checks.filter(([, code]) => code !== 0).map(([what, code]) => `${what}: ${code}`);
}
