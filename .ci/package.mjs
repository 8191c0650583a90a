// What npm would publish: nothing but what a user needs, and it works where nothing else is.
import { deepEqual, equal, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { INNER } from "../build/bundle.mjs";
import { manifestIn } from "../build/manifest.mjs";
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

/** Everything that "exports" names. */
function targets(value) {
  return typeof value === "string" ? [value.replace("./", "")] : Object.values(value).flatMap(targets);
}

let packed = [];

try {
  await checks({
    async "npm pack lists the entries, their types and the documents, nothing else"() {
      const [{ files, filename, size, unpackedSize }] = JSON.parse(printed(root, "npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]));
      console.log(`${await report()}\nnpm pack: ${size} bytes, ${unpackedSize} unpacked, ${files.length} files`);
      packed = files.map(({ path }) => path);
      writeFileSync(join(folder, "name"), filename);
      const inner = [...targets(manifest.imports), ...Object.keys(INNER).flatMap((name) => [`dist/${name}.js`, `dist/${name}.js.map`]), "dist/third-party.txt"];
      const wanted = new Set([...targets(manifest.exports), ...Object.values(manifest.bin), ...inner]);
      const strangers = packed.filter(
        (path) =>
          !wanted.has(path) &&
          !/^dist\/(page\/.+|types\/.+\.d\.ts|(builtins\/)?\w+\.js\.map|chunks\/[\w-]+\.js(\.map)?)$/.test(path) &&
          !/^(README|CHANGELOG)\.md$|^LICENSE$/.test(path),
      );
      deepEqual(strangers, []);
    },
    "npm pack leaves out no entry"() {
      deepEqual(
        [...targets(manifest.exports), ...targets(manifest.imports), ...Object.values(manifest.bin), "dist/page/index.html"].filter(
          (path) => !packed.includes(path),
        ),
        [],
      );
    },
    "the package depends on nothing"() {
      equal(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).length, 0);
    },
    "installed in an empty folder, it works"() {
      writeFileSync(join(user, "package.json"), '{ "type": "module", "private": true }\n');
      printed(user, "npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, readFileSync(join(folder, "name"), "utf8"))]);
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
      for (const [file, name] of [
        ["d4rl/half_cheetah.hdf5", "h5wasm"],
        ["plain.parquet", "hyparquet"],
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
