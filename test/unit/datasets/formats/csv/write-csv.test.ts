/** Tests files of writeCsv: papaparse and pandas read all values back unchanged. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Papa from "papaparse";
import { afterAll, expect, test } from "vitest";
import { numberText } from "../../../../../src/datasets/formats/csv/number-text.ts";
import { memorySink, type RldsDataset, type StepSpec, writeCsv } from "../../../../../src/datasets/rlds/index.ts";
import { TestRandom } from "../../../../support/random.ts";
import { FLAGS, leaf, made } from "../../../../support/random-steps.ts";
import { pythonWith } from "../../../../support/real-python.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-csv-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const stepSpec = {
  observation: { state: leaf("f32", [3]), grid: leaf("i16", [2, 2]), said: leaf("string") },
  action: leaf("f64", [1]),
  ...{ reward: leaf("f32"), discount: leaf("f32"), ...FLAGS, seed: leaf("u64"), id: leaf("i64"), words: leaf("string", [2]) },
} as unknown as StepSpec;
const metadataSpec = { success: leaf("bool"), operator: leaf("string"), final_step: leaf("string") } as { readonly [name: string]: StepSpec };
const metadata = (k: number) => ({ success: k === 0, operator: `a "quoted", name\n${k}`, final_step: k === 1 ? "transition" : "observation" });
const data = (lengths: readonly number[]) => made(stepSpec, lengths, { metadataSpec, metadata });

async function textOf(dataset: unknown): Promise<string> {
  const files = memorySink();
  await writeCsv(dataset as RldsDataset<unknown>, files);
  expect([...files.keys()]).toEqual(["steps.csv"]);
  return new TextDecoder().decode(files.get("steps.csv"));
}

const HEADER = [
  ...["episode_index", "action.0", "discount", "id", "is_first", "is_last", "is_terminal"],
  ...["observation/grid.0.0", "observation/grid.0.1", "observation/grid.1.0", "observation/grid.1.1", "observation/said"],
  ...["observation/state.0", "observation/state.1", "observation/state.2", "reward", "seed", "words.0", "words.1", "final_step", "operator", "success"],
];

type Step = { readonly observation: { readonly state: Float32Array; readonly grid: Int16Array; readonly said: string } } & { readonly [name: string]: unknown };

/** Returns the expected cells of a step. */
function valuesOf({ observation: { state, grid, said }, ...step }: Step, k: number): unknown[] {
  const { success, operator, final_step } = metadata(k);
  return [
    ...[k, (step.action as Float64Array)[0], step.discount, step.id, step.is_first, step.is_last, step.is_terminal],
    ...[...grid, said, ...state, step.reward, step.seed, ...(step.words as string[]), final_step, operator, success],
  ];
}

test("writeCsv writes one column per element, exact values and rows of all episodes", async () => {
  const episodes = data([3, 4]);
  const { data: rows, errors } = Papa.parse<string[]>(await textOf(episodes), { skipEmptyLines: true });
  expect(errors).toEqual([]);
  expect(rows[0]).toEqual(HEADER);
  const wanted = episodes.flatMap(({ steps }, k) => (steps as Step[]).map((step) => valuesOf(step, k)));
  expect(rows.length).toBe(1 + wanted.length);
  for (const [i, row] of wanted.entries())
    for (const [c, value] of row.entries()) {
      const cell = (rows[i + 1] as string[])[c] as string;
      const name = HEADER[c] as string;
      if (typeof value === "number" && name !== "action.0" && !name.includes("grid")) expect([name, Math.fround(Number(cell))]).toEqual([name, value]);
      else expect([name, cell]).toEqual([name, String(value)]);
    }
  expect(await textOf(data([3, 4]))).toBe(await textOf(episodes));
});

test("numbers have the fewest digits that restore them", () => {
  expect(["f32", "f64"].map((dtype) => numberText(Math.fround(0.1), dtype))).toEqual(["0.1", "0.10000000149011612"]);
  expect([0, -0, Number.NaN, Infinity, -Infinity, 1e30, 2 ** 53].map((value) => numberText(value, "f64"))).toEqual([
    ...["0", "-0", "NaN", "Infinity", "-Infinity", "1e+30", "9007199254740992"],
  ]);
  const random = new TestRandom(5);
  const [bits, floats] = [new Uint32Array(1), new Float32Array(1)];
  const view = new Float32Array(bits.buffer);
  for (let i = 0; i < 20_000; i++) {
    bits[0] = Math.floor(random.next() * 2 ** 32);
    floats.set(view);
    expect(Object.is(Math.fround(Number(numberText(floats[0] as number, "f32"))), floats[0])).toBe(true);
  }
});

test("parts that CSV cannot represent are reported as losses, or rejected with strict", async () => {
  const files = memorySink();
  const spec = { ...stepSpec, blob: leaf("bytes"), operator: leaf("i32") } as unknown as StepSpec;
  const more = { ...metadataSpec, episode_id: leaf("i64"), episode_index: leaf("i64") } as typeof metadataSpec;
  const numbered = (k: number) => ({ ...metadata(k), episode_id: BigInt(k), episode_index: BigInt(k) });
  const dataset = made(spec, [2, 0], { metadataSpec: more, metadata: numbered }) as unknown as RldsDataset<unknown>;
  const { losses, episodes, steps } = await writeCsv(dataset, files, { about: { env: "made" } });
  expect(losses).toEqual([
    { what: "metadata episode_id", reason: "a column of this name would be a field of a step" },
    { what: "metadata operator", reason: "the steps have a column of this name" },
    { what: "blob", reason: "CSV has texts instead of bytes: they are written as base64" },
    { what: "about", reason: "CSV has values of steps only" },
    { what: "empty episodes", reason: "CSV has rows of steps only", episodes: 1 },
  ]);
  expect([episodes, steps]).toEqual([2, 2]);
  const strict = memorySink();
  await expect(writeCsv(dataset, strict, { strict: true })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  const twice = { ...stepSpec, "action.0": leaf("f32") } as unknown as StepSpec;
  await expect(writeCsv(made(twice, [1], {}) as unknown as RldsDataset<unknown>, strict)).rejects.toThrow('two columns would be named "action.0"');
  expect(strict.size).toBe(0);
});

const python = pythonWith("pandas");

test.skipIf(python === undefined)("pandas reads the file", async () => {
  const path = join(folder, "steps.csv");
  const episodes = data([3, 4]);
  await writeCsv(episodes as unknown as RldsDataset<unknown>, path);
  const script = [
    "import json, sys, pandas as pd",
    "d = pd.read_csv(sys.argv[1], keep_default_na=False, float_precision='round_trip')",
    "print(json.dumps({'dtypes': {k: str(v) for k, v in d.dtypes.items()}, 'rows': [[str(x) for x in d[k].tolist()] for k in d.columns]}))",
  ].join("\n");
  const { stdout, stderr, status } = spawnSync(python as string, ["-W", "ignore", "-c", script, path], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  const { dtypes, rows } = JSON.parse(stdout);
  expect(Object.keys(dtypes)).toEqual(HEADER);
  expect([dtypes.is_first, dtypes.id, dtypes.seed, dtypes["observation/state.0"]]).toEqual(["bool", "int64", expect.stringMatching(/^u?int64$/), "float64"]);
  const wanted = episodes.flatMap(({ steps }, k) => (steps as Step[]).map((step) => valuesOf(step, k)));
  const column = (name: string) => rows[HEADER.indexOf(name)];
  for (const name of ["id", "seed", "operator", "observation/said", "words.1"])
    expect(column(name)).toEqual(wanted.map((row) => String(row[HEADER.indexOf(name)])));
  expect(column("observation/state.1").map(Number).map(Math.fround)).toEqual(wanted.map((row) => row[HEADER.indexOf("observation/state.1")]));
  expect(readFileSync(path, "utf8").split("\n")[0]).toBe(HEADER.join(","));
});
