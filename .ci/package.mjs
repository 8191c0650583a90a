// Checks both packages as npm would publish them: they contain only the files that a user needs, and work without anything else installed.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { INNER } from "../build/bundle.mjs";
import { manifestIn } from "../build/manifest.mjs";
import { PAGE_PACKAGE } from "../build/page.mjs";
import { report } from "../build/sizes.mjs";
import { printed, root } from "../build/step.mjs";
import { checks } from "./checks.mjs";

const manifest = manifestIn();
const folder = realpathSync(mkdtempSync(join(tmpdir(), "reprise-package-")));
const user = join(folder, "user");
mkdirSync(user);

const PROGRAM = `import { f32, prioritized, Replay } from "reprise";
import { ReverbAddTrajectoryObserver, trajectorySpec } from "reprise/agents";
import { Log, memory } from "reprise/storage";
const replay = new Replay({ spec: { reward: f32() }, tables: { per: { maxSize: 8, sampler: prioritized(0.6) } }, seed: 1 });
replay.writer({ items: [{ table: "per", length: 1 }] }).appendColumns({ reward: new Float32Array([1, 2, 3]) });
const bytes = Uint8Array.from([...replay.snapshot()].flatMap((chunk) => [...chunk]));
console.log(replay.table("per").sample(2).count, Replay.restore(bytes).table("per").size);
const steps = new Replay({ spec: trajectorySpec({ observation: f32(), action: f32() }), tables: { t: { maxSize: 8 } } });
const observer = new ReverbAddTrajectoryObserver(steps, { tableName: "t", sequenceLength: 1 });
observer({ stepType: 0, observation: 1, action: 2, policyInfo: [], nextStepType: 1, reward: 3, discount: 1 });
console.log(steps.table("t").sample(1).steps.reward.data[0]);
const log = Log.open(memory(), { about: {}, durability: "manual" });
log.write(32, 1, bytes);
log.commit();
log.close();
console.log(log.closed);
`;

/** Returns all files that "exports" refers to. */
function targets(value) {
  return typeof value === "string" ? [value.replace("./", "")] : Object.values(value).flatMap(targets);
}

/** Packs a package into the folder. */
function pack(from) {
  const [{ files, filename, size, unpackedSize }] = JSON.parse(printed(from, "npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]));
  console.log(`npm pack ${filename}: ${size} bytes, ${unpackedSize} unpacked, ${files.length} files`);
  return { filename, paths: files.map(({ path }) => path) };
}

/** Installs a tarball of the folder for the user. */
const install = (filename) => printed(user, "npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, filename)]);

const CLI = "node_modules/reprise/dist/cli.js";

/** Checks that `serve-page` fails with a message, as it does if it finds no page of its version. */
function refused(pattern) {
  const { status, stderr } = spawnSync(process.execPath, [CLI, "serve-page", "cartpole"], { cwd: user, encoding: "utf8" });
  equal(status, 2);
  match(stderr, pattern);
}

let main;

try {
  await checks({
    async "npm pack lists the entries, their types and the documents, nothing else"() {
      console.log(await report());
      main = pack(root);
      const inner = [...targets(manifest.imports), ...Object.keys(INNER).flatMap((name) => [`dist/${name}.js`, `dist/${name}.js.map`]), "dist/third-party.txt"];
      const wanted = new Set([...targets(manifest.exports), ...Object.values(manifest.bin), ...inner]);
      const strangers = main.paths.filter(
        (path) =>
          !wanted.has(path) &&
          !/^dist\/(types\/.+\.d\.ts|(builtins\/)?\w+\.js\.map|chunks\/[\w-]+\.js(\.map)?)$/.test(path) &&
          !/^(README|CHANGELOG)\.md$|^LICENSE$/.test(path),
      );
      deepEqual(strangers, []);
    },
    "npm pack leaves out no entry"() {
      deepEqual(
        [...targets(manifest.exports), ...targets(manifest.imports), ...Object.values(manifest.bin)].filter((path) => !main.paths.includes(path)),
        [],
      );
    },
    "the package depends on nothing"() {
      equal(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).length, 0);
    },
    "installed in an empty folder, it works"() {
      writeFileSync(join(user, "package.json"), '{ "type": "module", "private": true }\n');
      install(main.filename);
      writeFileSync(join(user, "program.mjs"), PROGRAM);
      equal(printed(user, process.execPath, ["program.mjs"]), "2 3\n3\ntrue\n");
    },
    "its command line runs by its name: a dataset into a journal, which a program opens"() {
      cpSync(join(root, "test/data/tfds/cartpole"), join(user, "cartpole"), { recursive: true });
      const push = printed(user, "npx", ["--offline", "reprise", "push", "cartpole", "--dir", "journal", "--table", "t", "--json"]);
      equal(JSON.parse(push).pushed, 3452);
      const program = `import { Replay } from "reprise"; const replay = await Replay.open({ dir: "journal" });
        console.log(replay.table("t").size); replay.dispose();`;
      writeFileSync(join(user, "journal.mjs"), program);
      equal(printed(user, process.execPath, ["journal.mjs"]), "3412\n");
    },
    "where a format's package is missing, the command line says what to install"() {
      cpSync(join(root, "test/data/d4rl"), join(user, "d4rl"), { recursive: true });
      cpSync(join(root, "test/data/extra/plain.parquet"), join(user, "plain.parquet"));
      cpSync(join(root, "test/data/zarr/v3.zarr.zip"), join(user, "v3.zarr.zip"));
      for (const [file, name] of [
        ["d4rl/half_cheetah.hdf5", "h5wasm"],
        ["plain.parquet", "hyparquet"],
        ["v3.zarr.zip", "zarrita"],
      ]) {
        const { status, stderr } = spawnSync("npx", ["--offline", "reprise", "inspect", file], {
          cwd: user,
          encoding: "utf8",
          shell: process.platform === "win32",
        });
        equal(status, 1);
        match(stderr, new RegExp(`^reprise: UNSUPPORTED: .*npm install ${name}`, "m"));
      }
    },
    "without the page, serve-page says what to install, and exits with 2"() {
      refused(/^reprise: USAGE: serve-page requires the package reprise-page, which is not installed\. Run npm install reprise-page@/);
    },
    async "the page is a package of its own: once it is installed, serve-page serves it, until Ctrl-C"() {
      const { filename, paths } = pack(join(root, PAGE_PACKAGE));
      deepEqual(
        paths.filter((path) => !/^page\/[\w/-]+\.(css|html|js|svg|txt|wasm)$|^(README\.md|LICENSE|package\.json)$/.test(path)),
        [],
      );
      install(filename);
      const server = spawn(process.execPath, [CLI, "serve-page", "cartpole"], { cwd: user, stdio: ["ignore", "pipe", "inherit"] });
      const ended = once(server, "close");
      try {
        const url = new URL(String(await once(server.stdout, "data")).split("\n")[0]);
        match(await (await fetch(url)).text(), /<title>Reprise/);
        equal((await fetch(new URL("main.js", url))).headers.get("content-type"), "text/javascript; charset=utf-8");
        const list = await (await fetch(new URL(`${url.hash.slice("#look?from=".length)}index.json`, url))).json();
        ok(list.length > 2);
      } finally {
        server.kill("SIGINT");
      }
      deepEqual(await ended, process.platform === "win32" ? [null, "SIGINT"] : [0, null]);
    },
    "a page of another version is refused: the message names both"() {
      const file = join(user, "node_modules/reprise-page/package.json");
      const text = readFileSync(file, "utf8");
      writeFileSync(file, JSON.stringify({ ...JSON.parse(text), version: "0.0.9" }));
      refused(
        new RegExp(`reprise-page must have the same version as reprise, ${manifest.version}, got 0\\.0\\.9 in .*npm install reprise-page@${manifest.version}`),
      );
      writeFileSync(file, text);
    },
    "its types are found, and hold for that program"() {
      writeFileSync(join(user, "program.ts"), PROGRAM);
      const options = { module: "nodenext", target: "es2022", strict: true, noEmit: true, types: [], lib: ["es2022", "esnext.disposable", "dom"] };
      writeFileSync(join(user, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["program.ts"] }));
      printed(user, process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.json"]);
    },
  });
} finally {
  rmSync(folder, { recursive: true });
}
