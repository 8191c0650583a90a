// Bundles the JavaScript of the package: readable modules with source maps, and chunks with the code that entries share.
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { companions, sourcesIn, together } from "./chunks.mjs";
import { PEERS, subpaths } from "./manifest.mjs";
import { report } from "./sizes.mjs";
import { files, root, step } from "./step.mjs";
import { textOf } from "./wasm-bytes.mjs";

const SUBPATHS = subpaths();

/** The sources of the entries that a program imports, by entry name. */
const ENTRIES = Object.fromEntries(SUBPATHS.map(({ entry, source }) => [entry, source]));

/** Entries that only our other entries and the command line import. */
export const INNER = {
  "set-module": "src/replay/set-module.ts",
  "open-journal": "src/datasets/formats/replay/open-journal.ts",
  "program-parts": "src/cli/program-parts.ts",
};

/** The targets of `#builtins` in package.json. Each is bundled separately, without shared chunks. */
const BUILTINS = { "builtins/node": "src/files/builtins/node.ts", "builtins/none": "src/files/builtins/none.ts" };

export const COMMON = {
  bundle: true,
  format: "esm",
  platform: "neutral",
  target: "es2022",
  // Engines decode and parse a file faster if it has only ASCII characters.
  charset: "ascii",
  logLevel: "warning",
  // papaparse requires Node's streams in a function that is never called.
  external: [...PEERS, "#builtins", "stream"],
};

/** The options for the package. Nothing is minified, because users minify their whole app. */
const PACKAGED = { ...COMMON, outdir: "dist", sourcemap: "linked", sourcesContent: true, legalComments: "none", metafile: true };

/**
 * The code before the code of the command line. It defines `require`, which bundled CommonJS packages use to load Node's modules. `createRequire` is renamed,
 * because sources may import it themselves.
 */
const PROGRAM = `#!/usr/bin/env node
import { createRequire as createRequireOfPackages } from "node:module";
const require = createRequireOfPackages(import.meta.url);`;

/** The module that `require` finds in versions of Node that cannot require an ES module. */
const REQUIRED = `"use strict";
throw new Error('reprise is an ES module: load it by await import("reprise") or an import statement, or take Node 22.12, where require works too');
`;

/** Returns an entry for a host that cannot compile WebAssembly, but can import it. */
const WORKERD = (name) => `import core from "../core.wasm";
import { setModule } from "../set-module.js";
export * from "../${name}.js";
setModule(core);
`;

/** Bundles the entries of the package. */
export async function bundle() {
  const sources = [
    ...files("src"),
    "dist/core-bytes.js",
    "build/bundle.mjs",
    "build/chunks.mjs",
    "build/manifest.mjs",
    "build/sizes.mjs",
    "build/strip-docs.mjs",
    "build/wasm-bytes.mjs",
    "package.json",
  ];
  await step("bundle", "dist/.stamp-bundle", sources, async () => {
    const { build } = await import("esbuild");
    const { stripDocs } = await import("./strip-docs.mjs");
    removeOld();
    // All entries are built together, so that a class that two entries need is in one shared chunk.
    const split = { splitting: true, chunkNames: "chunks/[name]-[hash]", mainFields: ["module", "main"] };
    // Companions are imported only to put them into a shared chunk, not for their side effects.
    const options = { ...PACKAGED, ...split, entryPoints: { ...ENTRIES, ...INNER }, logOverride: { "ignored-bare-import": "silent" } };
    const { metafile } = await build({ ...options, write: false, plugins: [bytes, unmapped] });
    const entries = await build({ ...options, plugins: [together(companions(metafile)), bytes, unmapped] });
    const ofNode = { platform: "node", target: "node20" };
    await build({ ...PACKAGED, ...ofNode, entryPoints: BUILTINS });
    writeFileSync("dist/require.cjs", REQUIRED);
    mkdirSync("dist/workerd", { recursive: true });
    for (const { entry, workerd } of SUBPATHS) if (workerd) writeFileSync(`dist/workerd/${entry}.js`, WORKERD(entry));
    // The command line is a program that imports these entries and runs only in Node.
    const program = await build({ ...PACKAGED, ...ofNode, banner: { js: PROGRAM }, entryPoints: { cli: "src/cli/index.ts" }, plugins: [beside] });
    for (const { metafile } of [entries, program]) for (const file of Object.keys(metafile.outputs)) if (file.endsWith(".js")) stripDocs(file);
    chmodSync("dist/cli.js", 0o755);
    console.error(await report());
    const head = "The readers and writers of files (in chunks/) and the command line (cli.js) hold code of these packages.";
    writeFileSync(
      "dist/third-party.txt",
      noticesOf(
        [entries, program].flatMap(({ metafile }) => sourcesIn(metafile)),
        head,
      ),
    );
  });
}

/** The recorded cases included in dist/suite.mjs. */
const CASES = "test/conformance/tfagents";

/** The files whose bytes are included in dist/suite.mjs. */
const EMBEDDED = ["test/data/extra/plain.parquet", "test/data/extra/d4rl/tail.hdf5", "dist/embed.wasm", "dist/embed/operations.bin"];

/**
 * Bundles the programs that tests run outside of the test runner: the digest with the bundles of the package, the conformance cases and the soak with the
 * sources.
 */
export async function programs() {
  const sources = [
    ...files("src"),
    ...["runtime", "everywhere", "conformance", "soak", "model", "support"].flatMap((folder) => files(`test/${folder}`, ".ts")),
    "dist/core-bytes.js",
    "dist/core.scalar.wasm",
    ...files("test/embed", ".mjs"),
    ...files(CASES, ".json"),
    ...EMBEDDED,
    "build/bundle.mjs",
    "build/manifest.mjs",
    "package.json",
  ];
  await step("programs", "dist/.stamp-programs", sources, async () => {
    const { build } = await import("esbuild");
    await build({ ...COMMON, entryPoints: ["test/runtime/program.ts"], outfile: "dist/digest.mjs", loader: { ".wasm": "binary" }, plugins: [beside] });
    const byName = entriesBy(ENTRIES, (asked) => SUBPATHS.find(({ entry }) => entry === asked).name);
    const loader = { ".json": "text", ".parquet": "binary", ".hdf5": "binary", ".wasm": "binary", ".bin": "binary" };
    const embedded = { external: [...COMMON.external, "reprise"], loader };
    await build({ ...COMMON, ...embedded, entryPoints: ["test/everywhere/suite.ts"], outfile: "dist/suite.mjs", plugins: [byName, everySubpath, recorded] });
    await build({ ...COMMON, entryPoints: ["test/conformance/run.ts"], outfile: "dist/conformance.mjs", platform: "node" });
    await build({ ...COMMON, entryPoints: ["test/soak/worlds.ts"], outfile: "dist/soak.mjs", platform: "node" });
  });
}

/** Removes the output of an earlier build, because the names of chunks change with their content. */
function removeOld() {
  for (const folder of ["chunks", "builtins", "workerd"]) rmSync(`dist/${folder}`, { recursive: true, force: true });
  for (const file of readdirSync("dist")) if (/\.js(\.map)?$/.test(file) && !file.endsWith("-bytes.js")) rmSync(`dist/${file}`);
}

/** An empty source map keeps the bytes of the core out of a bundle's source map, where they would be duplicated. */
const NO_MAP =
  '//# sourceMappingURL=data:application/json,{"version":3,"sources":["../src/memory/core.wasm"],"sourcesContent":["WebAssembly"],"mappings":"AAAA"}';

/** Loads the bytes of the core as text without a source map. */
const bytes = {
  name: "WebAssembly as text",
  setup(build) {
    build.onLoad({ filter: /-bytes\.js$/ }, ({ path }) => {
      const contents = `export default ${JSON.stringify(textOf(path.replace("-bytes.js", ".wasm")))};\n${NO_MAP}\n`;
      return { contents, loader: "js" };
    });
  },
};

/** Removes the reference to the source map from a prebundled package, because the sources of the map are not available here. */
const unmapped = {
  name: "bundles without their maps",
  setup(build) {
    build.onLoad({ filter: /@foxglove[\\/]rosmsg[\\/]dist[\\/]index\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/^\/\/# sourceMappingURL=.*$/gm, ""),
      loader: "js",
    }));
  },
};

/** Returns a plugin for a program that imports entries of the package without bundling them. `nameOf` returns their new names. */
const entriesBy = (taken, nameOf) => ({
  name: "entries from outside the program",
  setup(build) {
    const entries = new Map(Object.entries(taken).map(([name, page]) => [join(root, page), nameOf(name)]));
    build.onResolve({ filter: /\.ts$/ }, ({ path, resolveDir, kind }) => {
      const entry = kind === "entry-point" ? undefined : entries.get(join(resolveDir, path));
      return entry === undefined ? undefined : { path: entry, external: true };
    });
  },
});

/** A plugin for the command line, which imports the entries of the package from its own folder. */
const beside = entriesBy({ ...ENTRIES, ...INNER }, (name) => `./${name}.js`);

/** Returns a plugin for a virtual module: an object with the results of several imports, by name. */
const gathered = (path, clause, imports) => ({
  name: path,
  setup(build) {
    build.onResolve({ filter: new RegExp(`^${path}$`) }, () => ({ path, namespace: path }));
    const lines = imports.map(([, from], i) => `import ${clause}m${i} from ${JSON.stringify(from)};`);
    const contents = `${lines.join("\n")}\nexport const ${path} = { ${imports.map(([name], i) => `${JSON.stringify(name)}: m${i}`).join(", ")} };`;
    build.onLoad({ filter: /./, namespace: path }, () => ({ contents, resolveDir: root }));
  },
});

/** A plugin for the virtual module `subpaths`, which exports each subpath of the package under the name that users import. */
const everySubpath = gathered(
  "subpaths",
  "* as ",
  SUBPATHS.map(({ name }) => [name, name]),
);

/** A plugin for the virtual module `recorded`, which exports the contents of each file in CASES under its name without `.json`. */
const recorded = gathered(
  "recorded",
  "",
  files(CASES, ".json").map((file) => [basename(file, ".json"), join(root, file)]),
);

const LINE = "-".repeat(80);

/** The packages that bundle other packages, each with the names of these packages. */
const INNER_PACKAGES = [["@foxglove/rosmsg", ["@foxglove/message-definition", "md5-typescript", "moo", "nearley"]]];

/** Returns the names and licenses of the packages that contain these sources, which must accompany their code. @param head a sentence above them */
export function noticesOf(sources, head) {
  const folderOf = (file) => file.match(/^.*node_modules\/(@[^/]+\/)?[^/]+/)?.[0];
  const folders = new Set(sources.map(folderOf).filter((folder) => folder !== undefined));
  for (const folder of [...folders])
    for (const [name, inner] of INNER_PACKAGES) if (folder.endsWith(name)) for (const each of inner) folders.add(folder.replace(name, each));
  const notices = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const files = readdirSync(folder).filter((each) => /^(licen[cs]e|notice)/i.test(each));
    // A file may name a different copyright holder from its package.
    const heads = new Set(sources.filter((file) => folderOf(file) === folder).flatMap(copyrightsOf));
    const texts = [...files.map((file) => readFileSync(join(folder, file), "utf8").trim()), ...heads];
    if (texts.length === 0) throw new Error(`${name} has no text of its licence`);
    return `${name} ${version} (${license.replace(/^\((.*)\)$/, "$1")})\n\n${texts.join("\n\n")}\n`;
  });
  if (notices.some((notice) => notice.includes("www.apache.org/licenses/LICENSE-2.0")))
    notices.push(`The Apache License, Version 2.0, of those that name it\n\n${readFileSync("LICENSE", "utf8").trim()}\n`);
  return `${head}\n\n${notices.join(`\n${LINE}\n\n`)}`;
}

/** Returns the copyright comments at the head of a source. */
function copyrightsOf(file) {
  const found = [];
  for (let text = readFileSync(file, "utf8").trimStart(); ; ) {
    const comment = /^(?:\/\/[^\n]*\n?)+|^\/\*[\s\S]*?\*\//.exec(text)?.[0];
    if (comment === undefined) return found;
    if (/copyright/i.test(comment)) found.push(comment.replaceAll(/^ *(\/\/|\/?\*+\/?) ?/gm, "").trim());
    text = text.slice(comment.length).trimStart();
  }
}
