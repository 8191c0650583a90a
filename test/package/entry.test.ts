import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { loadedWith } from "../../build/sizes.mjs";
import { root } from "../support/core.ts";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const dist = join(root, "dist");
const code = (file: string) => readFileSync(join(dist, file), "utf8");
const files = (folder: string) => readdirSync(join(root, folder)).map((file) => join(root, folder, file));

/** Returns the paths in an entry of the package's `exports`, under all conditions. */
function targetsOf(entry: unknown): string[] {
  return typeof entry === "string" ? [entry] : Object.values(entry as object).flatMap(targetsOf);
}

test("every export of the package exists after a build", () => {
  const targets = Object.values(manifest.exports).flatMap(targetsOf);
  expect(targets).toContain("./dist/index.js");
  expect(manifest.exports["."].types).toBe("./dist/types/index.d.ts");
  for (const target of targets) expect([target, existsSync(join(root, target))]).toEqual([target, true]);
});

test("types are the first condition of each export, as TypeScript requires", () => {
  for (const entry of Object.values(manifest.exports)) if (typeof entry === "object") expect(Object.keys(entry as object)[0]).toBe("types");
});

/** The entry files, which programs import. */
const ENTRIES = ["index.js", "agents.js", "inspector.js", "pfrl.js", "remote.js", "reverb.js", "rlds.js", "storage.js", "jax.js", "tfjs.js"];

test("classes keep their names in the bundle, because browser consoles show these names", () => {
  const chunks = readdirSync(join(dist, "chunks")).filter((file) => file.endsWith(".js"));
  const text = chunks.map((file) => code(`chunks/${file}`)).join("\n");
  for (const name of ["Replay", "Table", "Writer", "Column", "Transitions", "RemoteWriter", "AcceptedWriter"]) {
    expect(text).toMatch(new RegExp(`(class ${name}|var ${name} = class) `));
    expect(text).not.toMatch(new RegExp(`class _${name} `));
  }
});

test("the package has no runtime dependency", () => {
  for (const kind of ["dependencies", "optionalDependencies", "bundleDependencies"]) expect(manifest[kind]).toBe(undefined);
});

test.each(ENTRIES)("%s loads only chunks, and no packages or modules of a runtime", (entry) => {
  const [, ...chunks] = loadedWith(dist, entry);
  expect(chunks.filter((file) => !/^chunks\/chunk-\w+\.js$/.test(file))).toEqual([]);
  for (const file of [entry, ...chunks]) expect(code(file).match(/\brequire\(|^(import|export)\b[^;"]*"[^."][^"]*";$/m)?.[0]).toBe(undefined);
});

test("the main entry loads exactly three chunks", () => {
  expect(loadedWith(dist, "index.js").length).toBe(1 + 3);
});

test("the main entry loads files only for Replay.open, and ports only for acceptWriter", () => {
  const later = loadedWith(dist, "index.js").flatMap((file) => [...code(file).matchAll(/\bimport\("([^"]+)"\)/g)].map(([, name]) => name as string));
  expect(later.sort()).toEqual(["accept", "open"].map((name) => expect.stringMatching(`^\\./(chunks/)?${name}-\\w+\\.js$`)));
});

test("the recorder loads no reader before openRecording is called", () => {
  const sources = loadedWith(dist, "record.js").flatMap((file) => [...code(file).matchAll(/^\/\/ src\/(datasets\/formats\/\S+)/gm)].map(([, name]) => name));
  expect(sources).toEqual(["datasets/formats/recording/open-recording.ts"]);
});

/** Compares the exports of each entry with the counts that the suite for every runtime expects. `npm run everywhere` also checks this, but takes minutes. */
test.each(["lines.txt", "lines-with-packages.txt"])("test/everywhere/%s states the number of names of each entry", async (file) => {
  const lines = readFileSync(join(root, "test/everywhere", file), "utf8").matchAll(/^reprise\/?(\S*) (\d+) names$/gm);
  for (const [line, subpath] of lines) {
    const entry = manifest.exports[subpath === "" ? "." : `./${subpath}`];
    const names = Object.keys(await import(pathToFileURL(join(root, entry.default)).href));
    expect(line).toBe(`reprise${subpath === "" ? "" : `/${subpath}`} ${names.length} names`);
  }
});

test("reprise/remote loads neither WebAssembly nor the classes of a Replay", () => {
  for (const file of loadedWith(dist, "remote.js"))
    expect([file, code(file).match(/WebAssembly\.|AGFzbQ|\b(Engine|Table) = class/)?.[0]]).toEqual([file, undefined]);
});

test.each(ENTRIES)("%s never creates code from text, because pages forbid it", (entry) => {
  for (const file of loadedWith(dist, entry)) expect([file, code(file).match(/new Function|\beval\s*\(|\bFunction\s*\(/)?.[0]]).toEqual([file, undefined]);
});

test("a class that entries share is bundled only once", () => {
  const files = [...ENTRIES, ...readdirSync(join(root, "dist/chunks")).map((file) => `chunks/${file}`)].filter((file) => file.endsWith(".js"));
  for (const name of ["Core", "Log", "Replay", "ReplayError", "RldsError", "CoreTable"]) {
    expect([name, files.filter((file) => new RegExp(`^var ${name}\\d* = class`, "m").test(code(file))).length]).toEqual([name, 1]);
  }
});

test("source maps contain their sources, and no folder of the build machine", () => {
  const maps = [...files("dist"), ...files("dist/chunks")].filter((file) => file.endsWith(".js.map"));
  expect(maps.length).toBeGreaterThan(ENTRIES.length);
  for (const file of maps) {
    const { sources, sourcesContent } = JSON.parse(readFileSync(file, "utf8"));
    expect(sources.filter((source: string) => !/^(\.\.\/)+(src|node_modules)\//.test(source))).toEqual([]);
    expect([file, sourcesContent.length, sourcesContent.includes(null)]).toEqual([file, sources.length, false]);
  }
});

test("a bundler for pages bundles the entries as plain scripts without warnings", async () => {
  const entryPoints = ENTRIES.filter((file) => file !== "rlds.js").map((file) => join(root, "dist", file));
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

test("the command line is a Node program that shares the package's entries", () => {
  const [file] = Object.values(manifest.bin) as [string];
  expect(file).toBe("dist/cli.js");
  const imports = [...code("cli.js").matchAll(/^import\b[^;"]*"([^"]+)";$/gm)].map((match) => match[1] as string);
  expect([...new Set(imports)].filter((name) => !name.startsWith("node:")).sort()).toEqual([
    "./agents.js",
    "./index.js",
    "./open-journal.js",
    "./program-parts.js",
    "./rlds.js",
  ]);
  expect(code("cli.js").match(/WebAssembly\.|AGFzbQ|^var (Core|CoreTable|Engine|Log|Replay|RldsError|Table)\d* = class/m)?.[0]).toBe(undefined);
  expect(code("cli.js").match(/new Function|\beval\s*\(/)?.[0]).toBe(undefined);
});

test.each([
  ["plain Node", ""],
  ["a host without Buffer, such as a page", "delete globalThis.Buffer;"],
])("the entry works in %s", (_, before) => {
  const script = `
    ${before}
    const { f32, Replay } = await import("./dist/index.js");
    const replay = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 4 } }, seed: 1 });
    const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
    for (let x = 0; x < 3; x++) writer.append({ x });
    console.log(JSON.stringify([...replay.table("t").sample(1, { among: 1 }).steps.x.data]));`;
  expect(execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: root, encoding: "utf8" }).trim()).toBe("[0,1]");
});
