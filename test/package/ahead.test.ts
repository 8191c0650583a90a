/** A host that compiles ahead of time gives the core as a module: then nothing may be compiled, since such hosts forbid it. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, expect, test } from "vitest";
import * as source from "../../src/index.ts";
import { moduleOf, root } from "../support/core.ts";

const { Module } = WebAssembly;

const bundle = (await import(pathToFileURL(join(root, "dist/index.js")).href)) as typeof source;

afterEach(() => {
  WebAssembly.Module = Module;
});

// The bundle calls the core by other names than the sources do.
test.each([
  ["the sources", source],
  ["the bundle", bundle],
])("a module that is given is all that %s need", (_, { i32, Replay }) => {
  const modules = (["release", "scalar", "debug"] as const).map(moduleOf);
  WebAssembly.Module = function forbidden() {
    throw new Error("compiling is forbidden");
  } as unknown as typeof Module;
  for (const module of modules) {
    const options = { spec: { x: i32() }, tables: { t: { maxSize: 4 } }, module };
    expect(Replay.plan(options).steps).toBe(4);
    const replay = new Replay(options);
    replay.writer({ items: [{ table: "t", length: 1 }] }).appendColumns({ x: [1, 2, 3, 4, 5] });
    expect([...replay.table("t").sample(4, { replacement: false }).steps.x.data].sort()).toEqual([2, 3, 4, 5]);
  }
});
