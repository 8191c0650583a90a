/** Compares the exports of embed.wasm with their description in docs/embed/protocol.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ABI_VERSION } from "../../src/base/abi.ts";
import { root } from "../support/core.ts";
import { type Build, embedModule, embedOf } from "./host.ts";

const BUILDS: readonly Build[] = ["embed", "embed.scalar"];

/** The number of arguments of each call. */
const CALLS = {
  replay_input: 1,
  replay_create: 2,
  replay_append: 6,
  replay_end: 5,
  replay_item: 6,
  replay_writer: 2,
  replay_discard: 3,
  replay_truncate: 2,
  replay_epoch: 4,
  replay_sample: 4,
  replay_get: 4,
  replay_mixture: 2,
  replay_set_mixture: 3,
  replay_columns: 2,
  replay_stats: 2,
  replay_update: 5,
  replay_delete: 4,
  replay_write: 7,
  replay_save: 2,
  replay_load: 4,
  replay_error: 0,
  replay_free: 1,
};

const read = (file: string) => readFileSync(join(root, file), "utf8");
const page = read("docs/embed/protocol.md");

test.each(BUILDS)("%s imports nothing and exports the listed calls, its memory and its version", (build) => {
  const module = embedModule(build);
  expect(WebAssembly.Module.imports(module)).toEqual([]);
  const exports = embedOf(build) as unknown as { readonly [name: string]: unknown };
  const counts = Object.entries(exports).flatMap(([name, what]) => (typeof what === "function" ? [[name, what.length]] : []));
  expect(Object.fromEntries(counts)).toEqual(CALLS);
  expect(Object.keys(exports).sort()).toEqual(["ABI_VERSION", "memory", ...Object.keys(CALLS)].sort());
  expect((exports.ABI_VERSION as WebAssembly.Global).value).toBe(ABI_VERSION);
  // For hosts that cannot read globals, the first call to `replay_input` also stores the ABI version in memory.
  const { memory, replay_input } = embedOf(build);
  expect(replay_input(1)).toBeGreaterThan(0);
  expect(new DataView(memory.buffer).getUint32(4, true)).toBe(ABI_VERSION);
});

test("protocol.md documents each call with its arguments", () => {
  const told = [...page.matchAll(/^\| `(replay_\w+)\((.*?)\)` \|/gm)].map(([, name = "", given = ""]) => [name, given === "" ? 0 : given.split(", ").length]);
  expect(Object.fromEntries(told)).toEqual(CALLS);
});

test("protocol.md documents each error code with its number", () => {
  const told = Object.fromEntries([...page.matchAll(/(?<=\|) (-\d+) \| `([A-Z_]+)` (?=\|)/g)].map(([, code, name]) => [name, Number(code)]));
  const numbers = [...`${read("assembly/memory/error.ts")}${read("assembly/embed/refusal.ts")}`.matchAll(/^export const (\w+): i32 = (-\d+);/gm)];
  const numberOf = Object.fromEntries(numbers.map(([, name, code]) => [name, Number(code)]));
  const named = [...read("assembly/embed/refusal.ts").matchAll(/case (\w+):\n +return "([A-Z_]+)";/g)].map(([, code = "", name]) => [name, numberOf[code]]);
  expect(named.length).toBeGreaterThan(10);
  expect(told).toEqual({ ...Object.fromEntries(named), INVALID: numberOf.INVALID });
});
