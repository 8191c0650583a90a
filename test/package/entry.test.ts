import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const code = (file = "index.js") => readFileSync(join(root, "dist", file), "utf8");

/** Every path that a subpath of the package leads to. */
function targetsOf(entry: unknown): string[] {
  return typeof entry === "string" ? [entry] : Object.values(entry as object).flatMap(targetsOf);
}

test("every export of the package is there after a build", () => {
  const targets = Object.values(manifest.exports).flatMap(targetsOf);
  expect(targets).toContain("./dist/index.js");
  expect(targets).toContain("./dist/types/index.d.ts");
  for (const target of targets) expect([target, existsSync(join(root, target))]).toEqual([target, true]);
});

test("types come first in each entry, as TypeScript asks for", () => {
  for (const entry of Object.values(manifest.exports)) if (typeof entry === "object") expect(Object.keys(entry as object)[0]).toBe("types");
});

test("there is no runtime dependency", () => {
  for (const kind of ["dependencies", "optionalDependencies", "bundleDependencies"]) expect(manifest[kind]).toBe(undefined);
  expect(code().match(/(^|[;}\n])import\s*[{*"'\w]|\brequire\(|\bimport\(/)?.[0]).toBe(undefined);
});

test.each(["index.js", "agents.js", "pfrl.js", "snapshot.js", "storage.js"])("%s makes no code out of text: pages forbid it", (file) => {
  expect(code(file).match(/new Function|\beval\s*\(|\bFunction\s*\(/)?.[0]).toBe(undefined);
});

test.each(["agents.js", "snapshot.js", "storage.js"])("%s shares the main entry, and imports nothing else", (file) => {
  expect([...new Set([...code(file).matchAll(/(?:^|[;}\n])import[^"]*"([^"]+)"/g)].map((match) => match[1]))]).toEqual(["./index.js"]);
});

test("a bundler for pages takes every entry as a plain script, files of the system or not", async () => {
  const entryPoints = ["index.js", "agents.js", "pfrl.js", "snapshot.js", "storage.js"].map((file) => join(root, "dist", file));
  const { warnings } = await build({
    entryPoints,
    bundle: true,
    write: false,
    outdir: root,
    format: "iife",
    platform: "browser",
    target: "es2022",
    logLevel: "silent",
  });
  expect(warnings).toEqual([]);
});

test("pfrl.js shares the main entry and storage, and imports nothing else", () => {
  expect([...new Set([...code("pfrl.js").matchAll(/(?:^|[;}\n])import[^"]*"([^"]+)"/g)].map((match) => match[1]))].sort()).toEqual([
    "./index.js",
    "./storage.js",
  ]);
});

test("the command line is a program for Node, and shares the package's entries", () => {
  const [file] = Object.values(manifest.bin) as [string];
  expect(file).toBe("dist/cli.js");
  expect(manifest.files).toContain(file);
  const imports = [...code("cli.js").matchAll(/(?:^|[;}\n])import(?:[^"'`(]*from)?\s*"([^"]+)"/g)].map((match) => match[1] as string);
  expect([...new Set(imports)].filter((name) => !name.startsWith("node:")).sort()).toEqual(["./agents.js", "./index.js", "./rlds.js", "./storage.js"]);
  expect(code("cli.js").match(/new Function|\beval\s*\(/)?.[0]).toBe(undefined);
});

test("the entry works in plain Node", () => {
  const script = `
    const { f32, Replay } = await import("./dist/index.js");
    const replay = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 4 } }, seed: 1 });
    const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
    for (let x = 0; x < 3; x++) writer.append({ x });
    console.log(JSON.stringify([...replay.table("t").sample(1, { among: 1 }).steps.x.data]));`;
  expect(execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: root, encoding: "utf8" }).trim()).toBe("[0,1]");
});
