// Checks that the real tensorflow_datasets and pyarrow read the files that Reprise writes bit by bit, and that Reprise reads their files as they do. Creates a
// Python environment in build/python, unless REPRISE_PYTHON names a Python that has the packages in .ci/requirements.txt.
import { deepEqual, equal, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checks } from "./checks.mjs";
import { tensorflowPython } from "./pythons.mjs";
import { dump, leavesOf, metadataSpec, stepSpec, synthetic } from "./synthetic.mjs";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "reprise-round-trip-"));
const REAL = ["half_cheetah", "cartpole", "cartpole_pixels"];

function run(command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(error?.message ?? `${command} ${args.join(" ")}: exit ${status}\n${stdout.slice(-2000)}${stderr.slice(-4000)}`);
  return stdout;
}

/** Adds a case for Python: the written files and the expected data. */
function expectation(name, kind, path, data, more = {}) {
  const steps = data.flatMap((episode) => episode.steps);
  const lengths = data.map((episode) => episode.steps.length);
  return {
    name,
    kind,
    path,
    lengths,
    steps: dump(folder, `${name}-step`, stepSpec, steps),
    metadata: dump(folder, `${name}-metadata`, metadataSpec, data),
    ...more,
  };
}

/** The table of CRC-32, as in zlib. */
const CRC = Int32Array.from({ length: 256 }, (_, i) => [0, 1, 2, 3, 4, 5, 6, 7].reduce((crc) => (crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1), i));
const crc32 = (bytes, before = 0) => ~bytes.reduce((crc, byte) => (crc >>> 8) ^ CRC[(crc ^ byte) & 255], ~before) >>> 0;

const results = new Map();
let rlds;
let interpreter;

function found(name) {
  const result = results.get(name);
  ok(result !== undefined, `Python said nothing of ${name}`);
  ok(result.ok, result.message);
}

try {
  const cases = [];
  await checks({
    "there is a Python with tensorflow_datasets 4.9.4 and pyarrow"() {
      interpreter = tensorflowPython();
      run(process.execPath, ["build/run.mjs", "build"]);
    },
    async "Reprise writes the real data sets anew, and one with everything, as TFDS, Parquet and JSON lines"() {
      rlds = await import("../dist/rlds.js");
      const { openTfds, writeJsonl, writeParquet, writeTfds } = rlds;
      for (const name of REAL) {
        const source = await openTfds(join(root, "test/data/tfds", name));
        const images = name === "cartpole_pixels" ? ["observation/image"] : [];
        await writeTfds(source, join(folder, "again"), { name, shards: 3, images });
        await writeParquet(source, join(folder, `${name}.parquet`), { groupRows: 700 });
        cases.push({
          name: `tfds ${name}`,
          kind: "same-tfds",
          path: join(folder, "again", name, "1.0.0"),
          original: join(root, "test/data/tfds", name, "1.0.0"),
        });
        cases.push({
          name: `parquet ${name}`,
          kind: "parquet-of-tfds",
          path: join(folder, `${name}.parquet`),
          original: join(root, "test/data/tfds", name, "1.0.0"),
        });
      }
      const data = Object.assign(synthetic([4, 0, 1, 7, 3, 0, 20, 2]), { stepSpec, metadataSpec });
      const images = ["observation/image", "observation/gray"];
      await writeTfds(data, join(folder, "made"), { name: "everything", shards: 3, images, description: "all that there is" });
      cases.push(expectation("tfds everything", "tfds", join(folder, "made/everything/1.0.0"), data));
      const more = Object.assign(synthetic([2, 5]), { stepSpec, metadataSpec });
      await writeTfds(more, join(folder, "made"), { name: "everything", split: "more", images });
      cases.push(expectation("tfds another split", "tfds", join(folder, "made/everything/1.0.0"), more, { split: "more", shards: 1 }));
      await writeTfds(data, join(folder, "small"), { name: "small_shards", version: "0.2.1", split: "test", shardBytes: 1 });
      cases.push(expectation("tfds small shards", "tfds", join(folder, "small/small_shards/0.2.1"), data, { split: "test", shards: 8 }));
      await writeParquet(data, join(folder, "parts"), { fileBytes: 1, groupRows: 3 });
      cases.push(expectation("parquet everything", "parquet", join(folder, "parts"), data));
      await writeParquet(data, join(folder, "plain.parquet"), { compression: "none" });
      cases.push(expectation("parquet uncompressed", "parquet", join(folder, "plain.parquet"), data));
      await writeJsonl(data, join(folder, "steps.jsonl"));
      cases.push(expectation("jsonl everything", "jsonl", join(folder, "steps.jsonl"), data));
      writeFileSync(join(folder, "cases.json"), JSON.stringify(cases));
    },
    "Python reads all of it"() {
      const lines = run(interpreter, [".ci/round-trip.py", join(folder, "cases.json")]).split("\n");
      for (const line of lines) if (line.startsWith("{")) results.set(JSON.parse(line).name, JSON.parse(line));
      equal(results.size, cases.length + REAL.length);
    },
    ...Object.fromEntries(
      [...REAL.map((name) => `tfds ${name}`), "tfds everything", "tfds another split", "tfds small shards"].map((name) => [
        `tensorflow_datasets reads ${name} as it was`,
        () => found(name),
      ]),
    ),
    ...Object.fromEntries(
      [...REAL.map((name) => `parquet ${name}`), "parquet everything", "parquet uncompressed"].map((name) => [
        `pyarrow reads ${name} as it was`,
        () => found(name),
      ]),
    ),
    "Python's json reads jsonl everything as it was": () => found("jsonl everything"),
    ...Object.fromEntries(
      REAL.map((name) => [
        `${name}: Reprise reads what tensorflow_datasets reads`,
        async () => {
          const { columns, lengths } = results.get(`read ${name}`) ?? {};
          const sums = new Map();
          const own = [];
          for await (const { steps } of await rlds.openTfds(join(root, "test/data/tfds", name))) {
            own.push(steps.length);
            leavesOf(steps.spec)
              .sort((a, b) => (a.path < b.path ? -1 : 1))
              .forEach(({ path, dtype, keys }) => {
                const { data } = keys.reduce((at, key) => at[key], steps.columns);
                const bytes =
                  dtype === "string" ? Buffer.from(data.map((text) => `${text}\n`).join("")) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
                sums.set(path, crc32(bytes, sums.get(path)));
              });
          }
          deepEqual(own, lengths);
          deepEqual(Object.fromEntries(sums), columns);
        },
      ]),
    ),
    async "Reprise reads what pyarrow and pandas write, in LeRobot's layouts and in none"() {
      const extra = join(folder, "extra");
      mkdirSync(extra);
      run(interpreter, ["test/data/extra/make_parquet.py", extra]);
      const expected = JSON.parse(readFileSync(join(extra, "expected_parquet.json"), "utf8"));
      deepEqual(expected, JSON.parse(readFileSync(join(root, "test/data/extra/expected_parquet.json"), "utf8")));
      for (const name of ["lerobot_v2", "lerobot_v3"]) {
        const sums = {};
        for await (const { steps } of await rlds.openLeRobot(join(extra, name))) {
          for (const one of Object.keys(expected.columns).filter((key) => key !== "episode_index")) {
            const { data } = (one === "next.reward" ? "reward" : one).split(".").reduce((at, key) => at[key], steps.columns);
            sums[one] = crc32(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), sums[one]);
          }
        }
        for (const [one, sum] of Object.entries(sums)) equal(sum, expected.columns[one].crc32, `${name} ${one}`);
      }
      const states = [];
      for await (const { steps } of await rlds.openParquet(join(extra, "plain.parquet"))) for (const { observation } of steps) states.push([...observation]);
      deepEqual(states, expected.state);
    },
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
