/**
 * Installs the tarball in a project, and compiles the files in consumer/ and every program of the documents against its declarations, with library checks. It
 * uses every supported TypeScript version, every way to resolve modules, and hosts with and without the types of pages and of Node.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as typescript from "typescript";
import { afterAll, beforeAll, expect, test } from "vitest";
import { declarations } from "../../build/steps.mjs";
import { root } from "../support/core.ts";
import { sparse, whole } from "../support/size.ts";
import { programs, recipes } from "./programs.ts";

const ALL_VERSIONS = ["5.7", "5.9", "6.0"] as const;
/** The versions to test: all, or only the oldest and the newest one in a sparse run. */
const VERSIONS = ALL_VERSIONS.filter((_, i, { length }) => sparse === 1 || i === 0 || i === length - 1);
const RESOLUTIONS = ["bundler", "node16", "nodenext"] as const;
const HOSTS = {
  none: [["lib.es2022.d.ts"], []],
  page: [["lib.es2022.d.ts", "lib.dom.d.ts"], []],
  worker: [["lib.es2022.d.ts", "lib.webworker.d.ts"], []],
  node: [["lib.es2022.d.ts"], ["node"]],
} as const;
/** The options that projects set in addition to `strict`. They also apply to declarations of other packages. */
const STRICTER = {
  ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noPropertyAccessFromIndexSignature: true, noImplicitOverride: true },
  ...{ noImplicitReturns: true, noFallthroughCasesInSwitch: true, verbatimModuleSyntax: true, isolatedModules: true },
} satisfies typescript.CompilerOptions;
type Version = (typeof ALL_VERSIONS)[number];
type Resolution = (typeof RESOLUTIONS)[number];
type Host = keyof typeof HOSTS;

const folder = realpathSync(mkdtempSync(join(tmpdir(), "reprise-consumer-")));
const pageOnly = ["page.ts", "ports.ts", "inspector.ts"];
const sources = readdirSync(join(import.meta.dirname, "consumer"));
const { exports, engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.keys(exports).filter((name) => typeof exports[name] === "object");

/** Matches files of other packages whose declarations need the types of pages. Errors in these files are ignored. */
const OTHERS = /node_modules\/(@(tensorflow|jax-js|webgpu)|mediabunny|@types\/dom-[a-z-]+)\//;

const require = createRequire(import.meta.url);
/** Returns the compiler of a TypeScript version. @param version the first two numbers of the version */
function compiler(version: Version): typeof typescript {
  const { version: own } = require("typescript");
  return require(own.startsWith(version) ? "typescript" : `typescript-${version}`);
}

const parsed = new Map<string, typescript.SourceFile | undefined>();

/** Compiles files of the project and returns the compiler's errors. */
function compile(version: Version, resolution: Resolution, host: Host, files: readonly string[], stricter: typescript.CompilerOptions = {}): string[] {
  const ts = compiler(version);
  const [lib, types] = HOSTS[host];
  const { module, moduleResolution } = {
    bundler: { module: ts.ModuleKind.Preserve, moduleResolution: ts.ModuleResolutionKind.Bundler },
    node16: { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 },
    nodenext: { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
  }[resolution];
  const options: typescript.CompilerOptions = {
    ...{ module, moduleResolution, lib: [...lib], types: [...types], target: ts.ScriptTarget.ES2022, noEmit: true },
    ...{ strict: true, allowJs: true, checkJs: true, skipLibCheck: false, moduleDetection: ts.ModuleDetectionKind.Force },
    ...stricter,
  };
  const compilerHost = ts.createCompilerHost(options);
  compilerHost.getCurrentDirectory = () => folder;
  const { getSourceFile } = compilerHost;
  // Many programs import the same files, so each file is parsed only once per version and module resolution.
  compilerHost.getSourceFile = (name, how, ...rest) => {
    const key = `${version} ${resolution} ${name}`;
    if (!parsed.has(key)) parsed.set(key, getSourceFile.call(compilerHost, name, how, ...rest));
    return parsed.get(key);
  };
  const program = ts.createProgram({ rootNames: files.map((file) => join(folder, file)), options, host: compilerHost });
  const found = ts.getPreEmitDiagnostics(program).filter(({ file }) => !file?.fileName.match(OTHERS));
  return found.map(({ file, start, messageText }) => {
    const at = file === undefined ? "" : `${file.fileName.replace(`${folder}/`, "")}:${file.getLineAndCharacterOfPosition(start ?? 0).line + 1}: `;
    return `${at}${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
}

let documents: string[] = [];
const MINUTES = 60_000;

beforeAll(async () => {
  if (!whole) return;
  await declarations();
  const [{ filename }] = JSON.parse(execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], { cwd: root, encoding: "utf8" }));
  mkdirSync(join(folder, "node_modules"));
  execFileSync("tar", ["-xzf", join(folder, filename), "-C", join(folder, "node_modules")]);
  cpSync(join(folder, "node_modules/package"), join(folder, "node_modules/reprise"), { recursive: true });
  mkdirSync(join(folder, "node_modules/@tensorflow/tfjs"), { recursive: true });
  for (const name of ["@types", "undici-types", "@tensorflow/tfjs-core", "@tensorflow/tfjs-backend-cpu", "@jax-js", "mediabunny"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name), "junction");
  // Provides TensorFlow.js under the name that projects install. The documents only use parts from its core.
  writeFileSync(join(folder, "node_modules/@tensorflow/tfjs/package.json"), '{ "name": "@tensorflow/tfjs", "types": "index.d.ts", "main": "index.js" }\n');
  writeFileSync(join(folder, "node_modules/@tensorflow/tfjs/index.d.ts"), 'export * from "@tensorflow/tfjs-core";\n');
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }\n');
  cpSync(join(import.meta.dirname, "consumer"), folder, { recursive: true });
  entries.forEach((name, i) => {
    writeFileSync(join(folder, `entry-${i}.ts`), `import * as all from "reprise${name.slice(1)}";\nexport { all };\n`);
  });
  const fenced = (["js", "ts"] as const).flatMap((language) =>
    programs(language).map(({ path, heading, code }, i) => [`${`${path} ${heading}`.replace(/\W+/g, "-")}-${i}.${language}`, code] as const),
  );
  const files = recipes.map(({ path, text }) => [path.replaceAll("/", "-"), text] as const);
  // The page for Stable-Baselines3 lets readers save the tutorial's program as TypeScript.
  const typed = files.flatMap(([name, text]) => (name === "docs-start-cartpole.js" ? [["cartpole.ts", text] as const] : []));
  const all = [...fenced, ...files, ...typed];
  for (const [name, code] of all) writeFileSync(join(folder, name), code);
  documents = all.map(([name]) => name);
}, 3 * MINUTES);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  parsed.clear();
});

/** The combinations to test. Module resolution does not depend on the types of the host, so without these types only one kind of resolution is tested. */
const cells = VERSIONS.flatMap((version) => [
  ...RESOLUTIONS.map((resolution) => [version, resolution, "page"] as const),
  [version, "nodenext", "none"] as const,
]);
// Packing and several compilers take long, so only `npm run test:all` runs them.
const compiled = test.runIf(whole);

compiled.each(cells)(
  "TypeScript %s, module resolution %s, types of %s",
  (version, resolution, host) => {
    const files = [...sources.filter((file) => host === "page" || !pageOnly.includes(file)), ...entries.map((_, i) => `entry-${i}.ts`)];
    expect(compile(version, resolution, host, files)).toEqual([]);
  },
  3 * MINUTES,
);

compiled.each(VERSIONS.flatMap((version) => (["none", "page", "worker"] as const).map((host) => [version, host] as const)))(
  "every entry's declarations are right under the strictest settings: TypeScript %s, types of %s",
  (version, host) => {
    const files = [...entries.map((_, i) => `entry-${i}.ts`), ...(host === "none" ? [] : ["ports.ts"]), ...(host === "page" ? ["inspector.ts"] : [])];
    expect(compile(version, "nodenext", host, files, STRICTER)).toEqual([]);
  },
  3 * MINUTES,
);

compiled.each(VERSIONS)(
  "every program of the documents compiles under strict: TypeScript %s",
  (version) => {
    expect(documents.length).toBeGreaterThan(30);
    expect(compile(version, "nodenext", "node", documents)).toEqual([]);
  },
  3 * MINUTES,
);

compiled.each(entries.map((name, i) => [name, i] as const))("%s alone needs no types of a host", (_, i) => {
  expect(compile("6.0", "nodenext", "none", [`entry-${i}.ts`])).toEqual([]);
});

test("README states the oldest supported TypeScript version", () => {
  expect(compiler("6.0").version).toMatch(/^6\./);
  expect(readFileSync(join(root, "README.md"), "utf8").replaceAll(/\s+/g, " ")).toContain(`TypeScript ${VERSIONS[0]} or later`);
  expect(engines.node).toBe(">=20");
});

/** Positions of the cursor in an empty object, and some of the names that an editor must offer there. */
const CURSORS: readonly (readonly [code: string, names: readonly string[]])[] = [
  ["new Replay({ | })", ["spec", "tables", "seed", "maxBytes", "transition"]],
  ["new Replay({ spec, transition: { | } })", ["observation", "action", "reward", "discount", "terminated"]],
  ["new Replay({ spec, tables: { t: { | } } })", ["maxSize", "sampler", "rateLimiter"]],
  ["Replay.open({ | })", ["dir", "spec", "tables", "durability"]],
  ["replay.writer({ | })", ["items", "keep", "lanes", "across"]],
  ["replay.writer({ items: [{ | }] })", ["table", "nStep", "length", "priority"]],
  ["replay.writer({ items: [{ table: '|' }] })", ["memory", "best"]],
  ["memory.sample(32, { | })", ["beta", "columns", "nStep", "into", "mask"]],
  ["memory.sample(32, { beta: 0.4, | })", ["columns", "nStep", "into", "mask"]],
  ["memory.sample(32, { nStep: { | } })", ["n", "gamma", "reward"]],
  ["memory.sample(32, { nStep: { n: 1, gamma: 1, reward: '|' } })", ["observation", "action", "reward"]],
  ["memory.sample(32, { columns: { now: { | } } })", ["leaf", "at", "from", "to"]],
  ["memory.sample(32, { columns: { now: { leaf: '|' } } })", ["observation", "action", "reward"]],
  ["memory.sampleWhenReady(32, { | })", ["beta", "signal", "timeoutMs"]],
  ["memory.dataset({ | })", ["batchSize", "beta", "prefetch"]],
  ["memory.batch(32, { | })", ["length", "beta", "columns"]],
  ["memory.transitions({ | })", ["gamma", "n", "next"]],
  ["memory.transitions({ gamma: 0.99 }).sample(32, { | })", ["beta", "into"]],
  ["any.sample(32, { | })", ["beta", "columns"]],
  ["replay.tables.|", ["memory", "best"]],
  ["writer.append({ | })", ["observation", "action", "reward"]],
  ["writer.createItem('|', { length: 1 })", ["memory", "best"]],
  ["writer.createItem('memory', { | })", ["length", "priority"]],
  ["writer.endEpisode({ | })", ["final", "terminated", "lane"]],
];

compiled("an editor offers the options where none is written yet, and names of tables and leaves", () => {
  const ts = compiler("6.0");
  const file = join(folder, "cursor.ts");
  const head = `import { f32, i32, Replay, type Table } from "reprise";
    const spec = { observation: f32(4), action: i32(), reward: f32() };
    const replay = new Replay({ spec, tables: { memory: { maxSize: 9 }, best: { maxSize: 9 } } });
    const { memory } = replay.tables;
    const writer = replay.writer();
    declare const any: Table;
    `;
  let text = head;
  let version = 0;
  const texts = new Map<string, typescript.IScriptSnapshot>();
  const snapshot = (name: string) => {
    const known = texts.get(name) ?? ts.ScriptSnapshot.fromString(readFileSync(name, "utf8"));
    texts.set(name, known);
    return known;
  };
  const service = ts.createLanguageService({
    getScriptFileNames: () => [file],
    getScriptVersion: (name) => (name === file ? String(version) : "0"),
    getScriptSnapshot: (name) => (name === file ? ts.ScriptSnapshot.fromString(text) : ts.sys.fileExists(name) ? snapshot(name) : undefined),
    getCurrentDirectory: () => folder,
    getCompilationSettings: () => ({ strict: true, module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, lib: ["lib.es2022.d.ts"], types: [] }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    ...(ts.sys.realpath && { realpath: ts.sys.realpath }),
  });
  const offered = CURSORS.map(([code, names]) => {
    text = head + code.replace("|", "");
    version++;
    const found = service.getCompletionsAtPosition(file, head.length + code.indexOf("|"), {});
    const all = found === undefined || found.isGlobalCompletion ? [] : found.entries.map(({ name }) => name);
    return [code, names.filter((name) => all.includes(name))];
  });
  expect(offered).toEqual(CURSORS);
});
