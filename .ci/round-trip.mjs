// What Reprise writes, the real tensorflow_datasets and pyarrow read, equal bit by bit; and what they wrote, Reprise reads as they do. It makes a Python of its own in build/python,
// unless REPRISE_PYTHON names one that has all of .ci/requirements.txt.
import { deepEqual, equal, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { venv } from "../build/venv.mjs";
import { checks } from "./checks.mjs";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "reprise-round-trip-"));
const REAL = ["half_cheetah", "cartpole", "cartpole_pixels"];
const ARRAYS = {
  ...{ bool: Uint8Array, i8: Int8Array, u8: Uint8Array, i16: Int16Array, u16: Uint16Array, i32: Int32Array, u32: Uint32Array },
  ...{ i64: BigInt64Array, u64: BigUint64Array, f32: Float32Array, f64: Float64Array },
};

function run(command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(error?.message ?? `${command} ${args.join(" ")}: exit ${status}\n${stdout.slice(-2000)}${stderr.slice(-4000)}`);
  return stdout;
}

/** tensorflow 2.15 is for Python 3.9 to 3.11. */
function python() {
  if (process.env.REPRISE_PYTHON) return process.env.REPRISE_PYTHON;
  const { program, missing } = venv(join(root, "build/python"), join(root, ".ci/requirements.txt"), ["3.11", "3.10", "3.9"]);
  if (program === undefined) throw new Error(`${missing}: REPRISE_PYTHON names one that has .ci/requirements.txt`);
  return program;
}

/** Leaves with their paths, in order. */
function leavesOf(spec, keys = []) {
  if (typeof spec.dtype === "string") return [{ path: keys.join("/"), keys, ...spec }];
  return Object.keys(spec).flatMap((name) => leavesOf(spec[name], [...keys, name]));
}

/** Values as files of columns, by code that shares nothing with the writers: what Python must find. */
function dump(name, spec, values) {
  return leavesOf(spec).map(({ path, keys, dtype, shape }, k) => {
    const flat = [];
    const spread = (part) => {
      if (Array.isArray(part) || (ArrayBuffer.isView(part) && dtype !== "bytes")) for (const one of part) spread(one);
      else flat.push(part);
    };
    for (const value of values) spread(keys.reduce((at, key) => at[key], value));
    const file = join(folder, `${name}-${k}.bin`);
    if (dtype === "string") return { path, dtype, shape, texts: flat };
    if (dtype === "bytes") return { path, dtype, shape, texts: flat.map((bytes) => Buffer.from(bytes).toString("base64")) };
    writeFileSync(
      file,
      new Uint8Array(ARRAYS[dtype].from(flat, (one) => (dtype === "bool" ? Number(one) : dtype.endsWith("64") && dtype[0] !== "f" ? BigInt(one) : one)).buffer),
    );
    return { path, dtype, shape, file };
  });
}

const leaf = (dtype, shape = []) => ({ dtype, shape });
const stepSpec = {
  observation: {
    image: leaf("u8", [6, 5, 3]),
    gray: leaf("u8", [4, 4, 1]),
    state: leaf("f32", [7]),
    none: leaf("f32", [0]),
    wide: leaf("f64", [2, 3]),
    deep: { a: leaf("i8"), b: leaf("u16", [3]) },
  },
  action: leaf("i64", [2]),
  reward: leaf("f64"),
  discount: leaf("f32"),
  ...{ is_first: leaf("bool"), is_last: leaf("bool"), is_terminal: leaf("bool") },
  language_instruction: leaf("string"),
  raw: leaf("bytes"),
  words: leaf("string", [2]),
  ...{ u64: leaf("u64"), u32: leaf("u32", [2]), i16: leaf("i16"), i32: leaf("i32"), flags: leaf("bool", [3]), u8: leaf("u8", [4]) },
};
const metadataSpec = { episode_id: leaf("i64"), operator: leaf("string"), score: leaf("f64"), vector: leaf("f32", [3]), inner: { success: leaf("bool") } };

/** Everything a step can have, with the values at which things break. */
function synthetic(lengths) {
  let state = 12345;
  const next = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  const odd = [0, -0, 1e-45, -1e-310, 3.4028234663852886e38, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0.1, Math.PI];
  const floats = (length, round = (x) => x) => Array.from({ length }, () => (next(3) === 0 ? round(odd[next(odd.length)]) : round(next(2 ** 24) / 977 - 5000)));
  const bytes = (length) => Uint8Array.from({ length }, () => next(256));
  const texts = ["", "plain", "ünïcödé", "日本語のテキスト", "\u{1f916} \u{1f4a5}", "a\u0000b", 'quote " and \\', "x".repeat(300)];
  const wide = [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n];
  return lengths.map((length, k) => ({
    steps: Array.from({ length }, (_, i) => ({
      observation: {
        image: bytes(90),
        gray: bytes(16),
        state: Float32Array.from(floats(7)),
        none: [],
        wide: [floats(3), floats(3)],
        deep: { a: next(256) - 128, b: [0, 65535, next(65536)] },
      },
      action: [wide[next(5)], BigInt(next(1000))],
      reward: floats(1)[0],
      discount: Math.fround(floats(1)[0]),
      ...{ is_first: i === 0, is_last: i === length - 1, is_terminal: i === length - 1 && k % 2 === 0 },
      language_instruction: texts[next(texts.length)],
      raw: bytes(next(20)),
      words: [texts[next(texts.length)], `step ${i}`],
      ...{
        u64: i % 2 === 0 ? 2n ** 63n - 1n : BigInt(next(9)),
        u32: [4294967295, next(100)],
        i16: next(65536) - 32768,
        i32: i % 2 === 0 ? -(2 ** 31) : 2 ** 31 - 1,
      },
      ...{ flags: [next(2) === 1, true, false], u8: bytes(4) },
    })),
    episode_id: BigInt(k) - 2n ** 62n,
    operator: texts[k % texts.length],
    score: k / 7,
    vector: [k, k / 3, -k],
    inner: { success: k % 3 === 0 },
  }));
}

/** A case for Python: what was written, and what must be found. */
function expectation(name, kind, path, data, more = {}) {
  const steps = data.flatMap((episode) => episode.steps);
  const lengths = data.map((episode) => episode.steps.length);
  return { name, kind, path, lengths, steps: dump(`${name}-step`, stepSpec, steps), metadata: dump(`${name}-metadata`, metadataSpec, data), ...more };
}

/** CRC-32, as zlib has it. */
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
      interpreter = python();
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
