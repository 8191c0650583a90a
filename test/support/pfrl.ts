/** The state of PFRL buffers that tests compare. */
import { inspect } from "node:util";
import { storedOf } from "../../src/pfrl/buffers/stored-buffer.ts";
import type { ReplayBuffer } from "../../src/pfrl/index.ts";
import { memory } from "../../src/storage/index.ts";

/** A buffer of any class. */
type AnyBuffer = Pick<ReplayBuffer, "save" | "running"> & { readonly beta?: number; readonly waitingKeys?: Float64Array };

/** Returns the whole state of a buffer: its file, running episodes, and values missing in the file. */
export function savedBytes(buffer: AnyBuffer): Buffer {
  const directory = memory();
  buffer.save({ directory, file: "x" });
  const { beta, waitingKeys } = buffer;
  const rest = inspect([...buffer.running().values(), beta, waitingKeys], { depth: 20, maxArrayLength: null, maxStringLength: null });
  return Buffer.concat([...directory.files().values(), Buffer.from(rest)]);
}

/** Returns the broken invariants of a buffer's core, by name and number. */
export function brokenBuffer(buffer: object): string[] {
  const { contents: made } = storedOf(buffer);
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
