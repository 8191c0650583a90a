/** Tests tables of comma-separated values: each row is a step. */
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type CsvOptions, openCsv } from "../../../../../src/datasets/formats/csv/open-csv.ts";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { RldsError } from "../../../../../src/datasets/model/rlds-error.ts";
import { all, columnsTold } from "../../../../support/columns.ts";
import { TestRandom } from "../../../../support/random.ts";
import { scaled } from "../../../../support/size.ts";
import { dataFolder, fileBytes, json } from "../../rlds/data.ts";

const csv = (...lines: readonly string[]) => new File([lines.join("\n")], "table.csv");
const HEAD = "observation.0,observation.1,action,reward,done";

async function read(from: Parameters<typeof openCsv>[0], options: CsvOptions = {}) {
  const reader = (await openCsv(from, options)) as RldsReader;
  const episodes = await all(reader);
  await reader.close();
  return { reader, episodes, steps: episodes.flatMap(({ steps }) => [...steps]) };
}

describe.each(["pandas.csv", "pandas.tsv"])("%s", (name) => {
  it("has the same values as in pandas", async () => {
    const reader = (await openRlds(dataFolder(`csv/${name}`))) as RldsReader;
    expect([reader.format, reader.name]).toEqual(["csv", "pandas"]);
    expect(reader.stepSpec).toMatchObject({
      observation: { dtype: "f32", shape: [3] },
      action: { dtype: "f64", shape: [2] },
      reward: { dtype: "f32", shape: [] },
      seed: { dtype: "i64", shape: [] },
      note: { dtype: "string", shape: [] },
      lidar: { dtype: "i32", shape: [2, 2] },
      distance: { dtype: "f32", shape: [] },
    });
    const episodes = await all(reader);
    // The first episode is terminated, so RLDS adds a step of zeros.
    expect(episodes.map(({ steps, final_step }) => [steps.length, final_step, steps.at(steps.length - 1).is_terminal])).toEqual([
      [19, "observation", true],
      [22, "transition", false],
    ]);
    const steps = episodes.flatMap(({ steps }, i) => [...steps].slice(0, i === 0 ? 18 : 22));
    const expected = json("csv/expected.json");
    for (const [i, { observation, action, reward, seed, note, lidar, distance }] of steps.entries()) {
      expect([...observation, ...action]).toEqual(
        ["observation_0", "observation_1", "observation_2", "action.0", "action.1"].map((key, k) => (k < 3 ? Math.fround : Number)(expected[key][i])),
      );
      expect([reward, seed, note, [...lidar], distance]).toEqual([
        Math.fround(expected.reward[i]),
        2n ** 53n + 1n + BigInt(i),
        expected.note[i],
        [0, 1, 2, 3].map((k) => i + k),
        expected.distance[i] ?? Number.NaN,
      ]);
    }
    await reader.close();
  });

  it("reads the same with gzip", async () => {
    const packed = (await openRlds(new File([new Uint8Array(gzipSync(fileBytes(dataFolder(`csv/${name}`))))], `${name}.gz`))) as RldsReader;
    const plain = (await openRlds(dataFolder(`csv/${name}`))) as RldsReader;
    expect(columnsTold(await all(packed))).toEqual(columnsTold(await all(plain)));
    await Promise.all([packed.close(), plain.close()]);
  });
});

describe("column names", () => {
  const spec = async (head: string, row: string) => (await openCsv(csv(head, row))).stepSpec;
  it.each([
    ["obs_0,obs_1,action,reward", "1,2,3,4", { observation: { shape: [2] }, action: { shape: [] } }],
    ["state.0,state.1,action[0],action[1],reward", "1,2,3,4,5", { observation: { shape: [2] }, action: { shape: [2] } }],
    ["observation/pos.0,observation/pos.1,observation/speed,act,rew", "1,2,3,4,5", { observation: { pos: { shape: [2] }, speed: { shape: [] } } }],
    ["observation.pos.0,observation.pos.1,observation.speed,act,rew", "1,2,3,4,5", { observation: { pos: { shape: [2] }, speed: { shape: [] } } }],
    ["observation.0.0,observation.0.1,observation.1.0,observation.1.1,action,reward", "1,2,3,4,5,6", { observation: { shape: [2, 2] } }],
    // Columns with numbered names become an array only if the numbers count from 0, and no column has the name without a number.
    ["observation,action,reward,joint_1,joint_2", "1,2,3,4,5", { joint_1: { shape: [] }, joint_2: { shape: [] } }],
    ["observation,action,reward,camera,camera_0", "1,2,3,4,5", { camera: { shape: [] }, camera_0: { shape: [] } }],
    ["observation,action,reward,info,info.x", "1,2,3,4,5", { info: { shape: [] }, "info.x": { shape: [] } }],
  ])("%s", async (head, row, expected) => {
    expect(await spec(head, row)).toMatchObject(expected);
  });

  it("columns and elements may have any order", async () => {
    const { steps } = await read(csv("action.1,reward,observation.2,observation.0,action.0,observation.1", "1,2,3,4,5,6"));
    expect(steps[0]).toMatchObject({ observation: Float32Array.of(4, 6, 3), action: Int32Array.of(5, 1), reward: 2 });
  });

  it("columns can be omitted and renamed, and null replaces empty cells", async () => {
    const file = () => csv("observation,action,speed,note,reward", "1,2,3,a,", "1,2,,b,4");
    await expect(read(file())).rejects.toMatchObject({ code: expect.stringMatching(/UNSUPPORTED|SPEC_MISMATCH/) });
    const { steps, reader } = await read(file(), {
      null: { reward: 0, speed: -1 },
      without: ["note"],
      rename: { speed: "observation/speed", observation: "observation/place" },
    });
    expect(Object.keys(reader.stepSpec)).not.toContain("note");
    expect(steps.map(({ observation, reward }) => [observation, reward])).toEqual([
      [{ place: 1, speed: 3 }, 0],
      [{ place: 1, speed: -1 }, 4],
    ]);
    await expect(openCsv(file(), { without: ["nothing"] })).rejects.toThrow(/without must be column names \(.*note/);
  });
});

describe("episodes are separated", () => {
  it.each<[string, readonly string[], readonly (readonly [number, string])[]]>([
    [
      "by their number",
      ["observation,action,reward,episode_id", "1,1,1,0", "1,1,1,0", "2,2,2,1"],
      [
        [2, "transition"],
        [1, "transition"],
      ],
    ],
    [
      "by done",
      [HEAD, "1,1,1,1,False", "1,1,1,1,True", "1,1,1,1,False"],
      [
        [3, "observation"],
        [1, "transition"],
      ],
    ],
    [
      "by the next observation",
      ["obs,action,reward,next_obs,terminated,truncated", "1,0,1,2,0,0", "2,0,1,3,0,1", "5,0,1,6,0,0"],
      [
        [3, "observation"],
        [1, "transition"],
      ],
    ],
    ["by RLDS's flags", ["observation,action,reward,is_first,is_last,is_terminal", "1,0,1,1,0,0", "2,0,1,0,1,1"], [[2, "observation"]]],
  ])("%s", async (_, lines, expected) => {
    const { episodes } = await read(csv(...lines));
    expect(episodes.map(({ steps, final_step }) => [steps.length, final_step])).toEqual(expected);
  });
});

describe("cells", () => {
  it("numbers keep their values, and a cell that is not a number makes its column text", async () => {
    const head = "observation,action,reward,a,b,c,d,e,f,g";
    const { reader, steps } = await read(csv(head, "1,0,1,0.1,1700000000.033,18446744073709551615,007,nan,true,12", "1,0,1,1e3,2.5,1,008,-inf,FALSE,x"));
    expect(reader.stepSpec).toMatchObject({
      a: { dtype: "f32" },
      b: { dtype: "f64" },
      c: { dtype: "u64" },
      d: { dtype: "string" },
      e: { dtype: "f32" },
      f: { dtype: "bool" },
      g: { dtype: "string" },
    });
    expect(steps.map(({ a, b, c, d, e, f, g }) => [a, b, c, d, e, f, g])).toEqual([
      [Math.fround(0.1), 1700000000.033, 18446744073709551615n, "007", Number.NaN, true, "12"],
      [1000, 2.5, 1n, "008", Number.NEGATIVE_INFINITY, false, "x"],
    ]);
  });

  it("quotes, blank lines, byte order marks and all line endings are read", async () => {
    const rows = ["note,observation,action,reward", '"a ""b"", c",1,2,3', "", '"x\ny",4,5,6', " z ,7,8,9"];
    for (const end of ["\n", "\r\n", "\r"]) {
      const { steps } = await read(new File([`\ufeff${rows.map((row) => row.replace("\n", end)).join(end)}`], "a.csv"));
      expect(steps.map(({ note, observation }) => [note, observation])).toEqual([
        ['a "b", c', 1],
        [`x${end}y`, 4],
        [" z ", 7],
      ]);
    }
  });
});

describe("errors name the file and the line", () => {
  it.each<[string, readonly string[], string, RegExp]>([
    ["nothing", [""], "EMPTY", /no lines/],
    ["only names", [HEAD], "EMPTY", /no rows below the header/],
    ["no names", ["1,2,3,4", "1,2,3,4"], "UNSUPPORTED", /first line must contain the column names/],
    ["two names", ["action,observation,action,reward", "1,2,3,4"], "CORRUPT", /two columns are named action/],
    ["no action", ["observation,reward", "1,2"], "UNSUPPORTED", /no field for action/],
    ["a row that is cut", [HEAD, "1,2,3,4,False", "1,2,3"], "CORRUPT", /line 3 has 3 cells, but the first line has 5/],
    ["a quote that never ends", [HEAD, "1,2,3,4,False", '1,2,3,4,"False', "1,2,3,4,False"], "CORRUPT", /line 3 is not a valid row/],
    ["an invalid flag", [HEAD, "1,2,3,4,maybe"], "SPEC_MISMATCH", /done must be true or false/],
  ])("%s", async (_, lines, code, message) => {
    await expect(read(csv(...lines))).rejects.toMatchObject({ name: "RldsError", code, file: "table.csv", message: expect.stringMatching(message) });
  });

  it("with salvage, damaged lines are lost and the rest is read", async () => {
    const { reader, episodes } = await read(csv(HEAD, "1,2,3,4,False", "1,2,3", "1,2,3,4,False", "1,2,3,4,True", '1,2,3,"4'), { salvage: true });
    expect(episodes.map(({ steps }) => steps.length)).toEqual([1, 3]);
    expect(reader.losses?.map(({ reason }) => reason)).toEqual([expect.stringMatching(/line 3 has 3 cells/), expect.stringMatching(/line 6/)]);
  });
});

describe("limits", () => {
  it("too many columns, an endless row and text that is not a table are rejected", async () => {
    const wide = Array.from({ length: 5000 }, (_, i) => `name${i}x`).join(",");
    await expect(read(csv(`${HEAD},${wide}`, "1"))).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/leaves, but a step can have at most 4096/),
    });
    const begin = performance.now();
    const endless = new File([`${HEAD}\n1,2,3,4,"`, "x\n".repeat(2 ** 21)], "table.csv");
    await expect(read(endless, { maxBytes: 2 ** 21 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/line 2 .*longer than the 2097152 bytes/),
    });
    expect(performance.now() - begin).toBeLessThan(20_000);
    await expect(openRlds(new Blob(["Dear reader, this is a letter.\n"]))).rejects.toMatchObject({ code: "UNSUPPORTED" });
    // Without a file name, the format is detected from the column names.
    const reader = await openRlds(new Blob([`${HEAD}\n1,2,3,4,0\n`]));
    expect(reader.format).toBe("csv");
    await reader.close();
  });

  it("rows of a long file are read across blocks", async () => {
    const count = scaled(40_000);
    const lines = Array.from({ length: count }, (_, i) => `${i},"é${i}",${i % 7},0.5,${i % 100 === 99}`);
    const { steps } = await read(csv("observation,note,action,reward,truncated", ...lines));
    expect(steps.length).toBe(count);
    expect(steps.at(-1)).toMatchObject({ observation: count - 1, note: `é${count - 1}` });
  });

  it("damaged files either read or throw an RldsError that names the file", async () => {
    const random = new TestRandom(9);
    const original = fileBytes(dataFolder("csv/pandas.csv"));
    const counts = { read: 0, refused: 0 };
    for (let i = 0; i < scaled(300); i++) {
      const bytes = original.slice(0, random.below(8) === 0 ? random.below(original.length) : original.length);
      for (let n = random.below(4); n >= 0 && bytes.length > 0; n--)
        bytes[random.below(bytes.length)] = ["\n", '"', ",", "\0", "\xff", "9"][random.below(6)]?.charCodeAt(0) as number;
      try {
        await read(new File([bytes], "x.csv"), { maxBytes: 2 ** 20, ...(random.below(2) === 0 && { salvage: true }) });
        counts.read++;
      } catch (error) {
        expect(error).toBeInstanceOf(RldsError);
        expect((error as RldsError).file).toBe("x.csv");
        counts.refused++;
      }
    }
    expect(Math.min(counts.read, counts.refused)).toBeGreaterThan(0);
  });
});

it("null replaces empty cells, also in leaves with several elements", async () => {
  const table = csv(`${HEAD},distance`, "1,2,3,1,false,", ",5,6,1,true,2.5");
  const blank = await read(table);
  expect([blank.steps[1]?.observation[0], blank.steps[0]?.distance]).toEqual([NaN, NaN]);
  const { steps } = await read(table, { null: { observation: 9, distance: -1 } });
  expect([[...(steps[1]?.observation ?? [])], steps[0]?.distance, steps[1]?.distance]).toEqual([[9, 5], -1, 2.5]);
});
