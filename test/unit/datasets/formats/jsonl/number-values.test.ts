/** Tests that numbers in files keep their value, whatever types later lines or episodes contain. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openD4rl } from "../../../../../src/datasets/formats/hdf5/d4rl.ts";
import { parseExactJson } from "../../../../../src/datasets/formats/json.ts";
import { openJsonl } from "../../../../../src/datasets/formats/jsonl/open-jsonl.ts";
import { writeJsonl } from "../../../../../src/datasets/formats/jsonl/write.ts";
import { writeLeRobot } from "../../../../../src/datasets/formats/lerobot/write-lerobot.ts";
import { openMinari } from "../../../../../src/datasets/formats/minari/open-minari.ts";
import { writeMinari } from "../../../../../src/datasets/formats/minari/write-minari.ts";
import { isF32, NumberRange } from "../../../../../src/datasets/formats/number-range.ts";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import { writeParquet } from "../../../../../src/datasets/formats/parquet/write-parquet.ts";
import type { ReadEpisode } from "../../../../../src/datasets/formats/reader.ts";
import { memorySink } from "../../../../../src/datasets/formats/sinks/sink.ts";
import { writeTfds } from "../../../../../src/datasets/formats/tfds/write-tfds.ts";
import { all } from "../../../../support/columns.ts";
import { dataFolder } from "../../rlds/data.ts";

const lines = (...values: readonly (string | object)[]) =>
  new Blob([values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join("\n")]);
const wild = (name: string) => new Blob([new Uint8Array(readFileSync(`${dataFolder("wild")}/${name}`))]);
const step = (more: object) => ({ observation: [0], action: 0, reward: 0, done: false, ...more });
const scalar = (dtype: string) => ({ dtype, shape: [] });

describe("the dtype of numbers", () => {
  const dtypeOf = (values: readonly (number | bigint)[], isReal = false) => {
    const range = new NumberRange();
    for (const value of values) range.add(value);
    return range.dtype(isReal);
  };

  it("is f32 if each number is the shortest decimal of an f32", () => {
    for (const value of [0.1, 1.5, 0, -0, Number.NaN, Number.POSITIVE_INFINITY, 3.4028235e38, 1e-45, 16777216, Math.fround(0.1), 1e20]) {
      expect(isF32(value), String(value)).toBe(true);
    }
    for (const value of [1700000000.125, 16777217, 0.123456789, Math.PI, 1e39, 1e-50, 5e-324, 3.4028234999e38]) expect(isF32(value), String(value)).toBe(false);
    // The numbers are shortest decimals of f32 values, and their neighbours in f64.
    const view = new DataView(new ArrayBuffer(4));
    for (let i = 0, bits = 12345; i < 20_000; i++, bits = (Math.imul(bits, 1103515245) + 12345) >>> 0) {
      view.setUint32(0, bits);
      const value = view.getFloat32(0);
      if (!Number.isFinite(value)) continue;
      let digits = 1;
      while (Math.fround(Number(value.toPrecision(digits))) !== value) digits++;
      const decimal = Number(value.toPrecision(digits));
      expect(isF32(decimal)).toBe(true);
      const longer = Number(`${decimal.toPrecision(12).replace(/e.*/, "")}7${/e.*/.exec(decimal.toPrecision(12))?.[0] ?? ""}`);
      if (Math.fround(longer) === value && longer !== decimal && longer !== value) expect(isF32(longer)).toBe(false);
    }
  });

  it("is an integer if all numbers are whole, unless the field is real", () => {
    expect(dtypeOf([1, 2])).toBe("i32");
    expect(dtypeOf([1, 2], true)).toBe("f32");
    expect(dtypeOf([2 ** 31])).toBe("i64");
    expect(dtypeOf([2n ** 53n + 1n, -5])).toBe("i64");
    expect(dtypeOf([2n ** 53n + 1n], true)).toBe("i64");
    expect(dtypeOf([2n ** 64n - 1n, 0])).toBe("u64");
    expect(dtypeOf([2n ** 64n - 1n, -1])).toBe("string");
    expect(dtypeOf([1, 0.5])).toBe("f32");
    expect(dtypeOf([-0])).toBe("f32");
    expect(dtypeOf([16777217], true)).toBe("f64");
    expect(dtypeOf([1, Number.NaN])).toBe("f32");
  });
});

describe("JSON", () => {
  it("keeps integers that a number cannot represent", () => {
    expect(parseExactJson('{"a": 9007199254740993, "b": [-9223372036854775808, 18446744073709551615], "c": "9007199254740993"}')).toEqual({
      a: 9007199254740993n,
      b: [-(2n ** 63n), 2n ** 64n - 1n],
      c: "9007199254740993",
    });
    expect(parseExactJson("[NaN, 9007199254740993, 1234567890123456, 0.12345678901234566, 99999999999999999999, 12345678901234568e3]")).toEqual([
      "NaN",
      9007199254740993n,
      1234567890123456,
      0.12345678901234566,
      1e20,
      Number("12345678901234568e3"),
    ]);
    // Texts that resemble the parser's markers are not changed.
    expect(parseExactJson('["\\ue0009007199254740993", "\ue001", 9007199254740993]')).toEqual(["\ue0009007199254740993", "\ue001", 9007199254740993n]);
    expect(() => parseExactJson("[9007199254740993")).toThrow(SyntaxError);
  });
});

describe("JSON lines", () => {
  it("keep timestamps as f64", async () => {
    const reader = await openJsonl(wild("stamp.jsonl"));
    expect(reader.stepSpec).toMatchObject({
      timestamp: scalar("f64"),
      action: scalar("i32"),
      reward: scalar("f32"),
      observation: { dtype: "f32", shape: [1] },
    });
    const [episode] = await all(reader);
    expect(Array.from(episode?.steps ?? [], (row) => row.timestamp).slice(0, 5)).toEqual([
      1700000000.125, 1700000000.158, 1700000000.191, 1700000000.224, 1700000000.257,
    ]);
  });

  it("have a dtype that fits the numbers of all lines", async () => {
    const text = ['{"observation": [1], "action": 0, "reward": 1, "done": false, "seed": 1, "n": 1, "x": 1}'];
    text.push(
      '{"observation": [0.1], "action": 70000000000, "reward": 0.123456789, "done": false, "seed": 18446744073709551615, "n": 9007199254740993, "x": 2.5}',
    );
    text.push('{"observation": [16777217], "action": 2, "reward": 2, "done": true, "seed": 0, "n": -1, "x": NaN}');
    const reader = await openJsonl(lines(...text));
    expect(reader.stepSpec).toMatchObject({
      observation: { dtype: "f64" },
      action: scalar("i64"),
      reward: scalar("f64"),
      seed: scalar("u64"),
      n: scalar("i64"),
      x: scalar("f32"),
    });
    const [episode] = await all(reader);
    expect(Array.from(episode?.steps ?? [], ({ seed, n, x, reward, action }) => [seed, n, x, reward, action]).slice(0, 3)).toEqual([
      [1n, 1n, 1, 1, 0n],
      [18446744073709551615n, 9007199254740993n, 2.5, 0.123456789, 70000000000n],
      [0n, -1n, Number.NaN, 2, 2n],
    ]);
  });

  it("have a dtype that also fits the final observation", async () => {
    const reader = await openJsonl(lines(step({ next_observation: [1] }), step({ next_observation: [0.123456789], done: true })));
    const [episode] = await all(reader);
    expect(episode?.steps.at(2).observation).toEqual(Float64Array.of(0.123456789));
  });

  it("have defaults in steps and episodes before a field first appears", async () => {
    const reader = await openJsonl(lines(step({}), step({ note: "a", n: 3, x: { y: 0.5, flag: true, list: [1, 2] }, done: true })));
    const [episode] = await all(reader);
    expect(Array.from(episode?.steps ?? [], ({ note, n, x }) => ({ note, n, x })).slice(0, 2)).toEqual([
      { note: "", n: 0, x: { y: Number.NaN, flag: false, list: Int32Array.of(0, 0) } },
      { note: "a", n: 3, x: { y: 0.5, flag: true, list: Int32Array.of(1, 2) } },
    ]);
    const episodes = await all(
      await openJsonl(
        lines(
          { seed: 1, steps: [step({})] },
          '{"seed": 9007199254740993, "options": {"low": -1.5}, "steps": [{"observation": [0], "action": 0, "reward": 0}]}',
        ),
      ),
    );
    expect(episodes.map(({ seed, options }) => ({ seed, options }))).toEqual([
      { seed: 1n, options: { low: Number.NaN } },
      { seed: 9007199254740993n, options: { low: -1.5 } },
    ]);
  });

  it("are rejected if a wide field of one row would exceed maxBytes", async () => {
    const rows = [step({ wide: new Array(10_000).fill(0.5) }), ...new Array(2000).fill(step({}))];
    await expect(openJsonl(lines(...rows), { maxBytes: 200_000 }).then(all)).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining("maxBytes"),
    });
  });
});

describe("an episode per line, as columns", () => {
  it("has steps, and a final observation if the observations have one more element", async () => {
    const reader = await openJsonl(wild("epcols.jsonl"));
    expect(reader.stepSpec).toMatchObject({ reward: scalar("f32"), action: scalar("i32") });
    const episodes = await all(reader);
    expect(episodes.map(({ steps }) => Array.from(steps, (row) => [row.observation[0], row.action, row.reward, row.is_last, row.is_terminal]))).toEqual([
      [
        [1, 0, 1, false, false],
        [2, 1, 1, false, false],
        [3, 0, 0, true, true],
      ],
    ]);
  });

  it("has metadata and additional columns, and flags divide it into episodes", async () => {
    const episode = { obs: { a: [[1], [2]], b: [3, 4] }, actions: [0, 1], rewards: [1, 2], dones: [true, true], log: [0.5, 0.25], task: "x", goal: [1, 2] };
    const other = {
      ...episode,
      obs: { a: [[1], [2], [3]], b: [3, 4, 5] },
      actions: [0, 1, 1],
      rewards: [1, 2, 3],
      dones: [false, true, false],
      log: [1, 2, 3],
    };
    const episodes = await all(await openJsonl(lines(episode, other)));
    expect(episodes.map(({ steps, task, goal }) => [steps.length, task, goal])).toEqual([
      [2, "x", Int32Array.of(1, 2)],
      [2, "x", Int32Array.of(1, 2)],
      [3, "x", Int32Array.of(1, 2)],
      [1, "x", Int32Array.of(1, 2)],
    ]);
    expect(episodes[2]?.steps.at(1)).toMatchObject({ observation: { a: Float32Array.of(2), b: 4 }, reward: 2, log: 2 });
  });

  it("is rejected if its columns have different lengths", async () => {
    await expect(openJsonl(lines({ obs: [1, 2], actions: [0], rewards: [1, 1], done: true }))).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/2 rewards, so actions must be a list of 2 values, got 1/),
    });
    // A single step with several rewards uses the singular name.
    const [steps] = await all(await openJsonl(lines({ obs: [1, 2, 3], action: [0, 1], reward: [1, 1], done: true })));
    expect(steps?.steps.at(0).reward).toEqual(Float32Array.of(1, 1));
  });
});

describe("Minari", () => {
  it("seeds of 64 bits are exact, independent of the first episode", async () => {
    const reader = await openMinari(dataFolder("wild/minari/seeds/x-v0"));
    expect(reader.metadataSpec.seed).toEqual(scalar("u64"));
    expect((await all(reader)).map(({ seed }) => seed)).toEqual([0n, 9223372036854775813n]);
    expect(Array.from(await all((reader.startingAt as NonNullable<typeof reader.startingAt>)(1)), ({ seed }) => seed)).toEqual([9223372036854775813n]);
    await reader.close();
  });

  it("an attribute has a dtype that fits all episodes", async () => {
    const reader = await openMinari(dataFolder("wild/minari/options/x-v0"));
    expect(reader.metadataSpec).toEqual({
      id: scalar("i64"),
      total_steps: scalar("i64"),
      seed: scalar("u64"),
      level: scalar("f64"),
      goal: scalar("string"),
      kind: scalar("string"),
      wide: scalar("string"),
      options: { gravity: scalar("f64"), flag: scalar("bool"), name: scalar("string") },
      final_step: scalar("string"),
    });
    expect((await all(reader)).map(({ steps: _, id: __, total_steps: ___, final_step: ____, ...rest }) => rest)).toEqual([
      { seed: 3n, level: 1, goal: "[1, 2]", kind: "a", wide: "-5", options: { gravity: Number.NaN, flag: false, name: "" } },
      { seed: 18446744073709551615n, level: 0.5, goal: "[1]", kind: "7", wide: "", options: { gravity: -9.81, flag: true, name: "" } },
      { seed: 0n, level: 2, goal: "[1, 2]", kind: "b", wide: "9223372036854775808", options: { gravity: 1.5, flag: false, name: "x" } },
    ]);
    await reader.close();
  });

  it.each(["tfds", "parquet", "jsonl", "minari", "lerobot"])("keeps every seed and option through %s", async (format) => {
    for (const name of ["seeds", "options"]) {
      const from = dataFolder(`wild/minari/${name}/x-v0`);
      const files = memorySink();
      const reader = await openMinari(from);
      if (format === "tfds") await writeTfds(reader, files, { name: "x" });
      else if (format === "parquet") await writeParquet(reader, files);
      else if (format === "jsonl") await writeJsonl(reader, files);
      else if (format === "minari") await writeMinari(reader, files, { id: "again/x-v0" });
      else await writeLeRobot(reader, files, { fps: 10, finalStep: "observation" });
      const again = await openRlds(files);
      const pick = ({ seed, options, level, wide }: ReadEpisode) => ({ seed, options, level, wide });
      expect((await all(again)).map((episode) => pick(episode as ReadEpisode))).toEqual((await all(reader)).map(pick));
      await again.close();
      await reader.close();
    }
  });
});

describe("HDF5", () => {
  it("numbers, enums and arrays are equal in both byte orders", async () => {
    const reader = await openD4rl(dataFolder("wild/orders.hdf5"), { infos: true });
    const [{ steps }] = (await all(reader)) as [ReadEpisode];
    const infos = steps.columns.infos as { readonly [name: string]: { readonly data: ArrayLike<number | bigint> } };
    expect(Object.keys(infos)).toHaveLength(2 * (8 * 4 + 3));
    for (const [name, { data }] of Object.entries(infos)) {
      const twice = /array|pair/.test(name) ? 2 : 1;
      const values = [0, 1, 2, 100, 3, 4].flatMap((value) => new Array(twice).fill(value));
      expect(Array.from(data, Number).slice(0, 6 * twice), name).toEqual(values);
      if (twice === 1) expect(Number(reader.about[name] ?? 100), name).toBe(100);
    }
    expect(Array.from(steps, ({ is_terminal }) => is_terminal)).toEqual([false, false, false, false, false, false, true]);
    await reader.close();
  });

  it("big-endian enums are read as 0, 1 and 2", async () => {
    const reader = await openD4rl(dataFolder("wild/d4rl_enum_be.hdf5"));
    const [{ steps }] = (await all(reader)) as [ReadEpisode];
    expect(Array.from(steps, ({ action }) => action).slice(0, 6)).toEqual([0, 1, 2, 0, 1, 2]);
    await reader.close();
  });
});
