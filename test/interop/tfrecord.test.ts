/** Exchanges random nests in the file format of TF-Agents: the real package reads the files that ours writes, and vice versa. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it } from "vitest";
import { featureLeaves } from "../../src/datasets/formats/tfrecord/features.ts";
import type { Dtype, Spec } from "../../src/index.ts";
import { Column } from "../../src/schema/column.ts";
import { DTYPES, zeros } from "../../src/schema/dtype.ts";
import { isHalf, narrowHalves, widenHalves } from "../../src/schema/half.ts";
import { isLeaf } from "../../src/schema/leaf.ts";
import { flatten, leaves, map } from "../../src/schema/nest.ts";
import { loadTfrecordDataset, TFRecordObserver } from "../../src/tf-agents/index.ts";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import { python } from "./peer.ts";

const COUNT = scaled(1000);
const DTYPE_NAMES = {
  ...{ f16: "float16", f32: "float32", f64: "float64", u8: "uint8", i8: "int8", u16: "uint16", i16: "int16", i32: "int32", i64: "int64" },
} as const;
const NUMBERS = Object.keys(DTYPE_NAMES) as (keyof typeof DTYPE_NAMES)[];

type Columns = { readonly [path: string]: readonly [dtype: string, shape: readonly number[], data: string] };

const folder = mkdtempSync(join(tmpdir(), "tfrecord-interop-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the output of the program line by line. */
async function told<T = Columns>(...args: readonly string[]): Promise<T[][]> {
  const child = spawn(python as string, [join(import.meta.dirname, "tfrecord.py"), ...args]);
  let said = "";
  child.stderr.on("data", (bytes) => {
    said += bytes;
  });
  const lines: T[][] = [];
  for await (const line of createInterface({ input: child.stdout })) lines.push(JSON.parse(line));
  if (lines.length !== COUNT) throw new Error(said);
  return lines;
}

function columnsOf(spec: Spec, element: unknown): Columns {
  const values = flatten(spec, element) as Column[];
  return Object.fromEntries(featureLeaves(spec).map(({ name, dtype }, i) => [name, columnOf(dtype, values[i] as Column)]));
}

function columnOf(dtype: Dtype, { data, shape }: Column): readonly [string, readonly number[], string] {
  const numbers = data as unknown as Float32Array;
  // The payload of a NaN is not part of its value.
  const array = dtype[0] === "f" ? numbers.map((x) => (Number.isNaN(x) ? Number.NaN : x)) : numbers;
  const stored = isHalf(dtype) ? narrowHalves(dtype, array).map((bits) => ((bits & 0x7fff) > 0x7c00 ? 0x7e00 : bits)) : array;
  return [DTYPE_NAMES[dtype as "f32"], shape, Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).toString("base64")];
}

function randomSpec(random: TestRandom, depth = 0): Spec {
  const kind = depth < 4 ? random.below(5) : 0;
  if (kind < 2) return { dtype: random.pick(NUMBERS), shape: Array.from({ length: random.below(4) }, () => 1 + random.below(4)) };
  const parts = Array.from({ length: random.below(4) + (depth === 0 ? 1 : 0) }, () => randomSpec(random, depth + 1));
  if (kind === 2) return parts;
  if (kind === 3 && depth === 0) {
    const [stepType, number] = [
      { dtype: "i32", shape: [] },
      { dtype: "f32", shape: [] },
    ] as const;
    if (random.below(2) === 0) {
      const step = { stepType, reward: number, discount: number, observation: parts };
      return { timeStep: step, actionStep: { action: randomSpec(random, depth + 1), state: [], info: parts }, nextTimeStep: step };
    }
    return { stepType, observation: parts, action: randomSpec(random, depth + 1), policyInfo: [], nextStepType: stepType, reward: number, discount: number };
  }
  return Object.fromEntries(parts.map((part, i) => [["b", "a", "stepType", "x y", "ä"][i] as string, part]));
}

function randomColumn(random: TestRandom, dtype: Dtype, shape: readonly number[]): Column {
  const size = shape.reduce((product, n) => product * n, 1);
  const bytes = Uint8Array.from({ length: size * DTYPES[dtype].bytes }, () => random.below(256));
  if (isHalf(dtype)) return new Column(widenHalves(dtype, new Uint16Array(bytes.buffer)), [...shape]);
  const data = zeros(dtype, size);
  new Uint8Array(data.buffer).set(bytes);
  return new Column(data as Column["data"], [...shape]);
}

/** Returns the classes that Python creates for a spec. */
function tuplesIn(spec: Spec): string[] {
  if (isLeaf(spec)) return ["TensorSpec"];
  if (Array.isArray(spec)) return ["tuple"];
  if ("timeStep" in spec) return ["Transition", "TimeStep", "PolicyStep", "TimeStep"];
  return ["nextStepType" in spec ? "Trajectory" : "dict"];
}

describe.runIf(python !== undefined)("files of TF-Agents", () => {
  it(`${COUNT} that Python wrote are read unchanged`, { timeout: 1_200_000 }, async () => {
    const written = await told("write", folder, String(COUNT), "71");
    for (const [i, records] of written.entries()) {
      const dataset = await loadTfrecordDataset([join(folder, `${i}.tfrecord`)], { addBatchDim: false });
      const found: Columns[] = [];
      for await (const element of dataset) found.push(columnsOf(dataset.spec as Spec, element));
      expect({ i, found }).toEqual({ i, found: records });
    }
    expect(written.flat().length).toBeGreaterThan(COUNT);
  });

  it(`${COUNT} that this package wrote are read unchanged by Python`, { timeout: 1_200_000 }, async () => {
    const random = new TestRandom(72);
    const written: Columns[][] = [];
    const tuples: string[][] = [];
    for (let i = 0; i < COUNT; i++) {
      let spec: Spec = [];
      while (leaves(spec).length === 0) spec = randomSpec(random);
      tuples.push(tuplesIn(spec));
      const pyMode = random.below(2) === 0;
      const observer = new TFRecordObserver(join(folder, `${i}.tfrecord`), spec, { pyMode });
      const records: Columns[] = [];
      for (let n = random.below(4); n > 0; n--) {
        const element = map(spec, ({ dtype, shape }) => randomColumn(random, dtype as Dtype, shape) as never);
        records.push(columnsOf(spec, element));
        const batched = map(spec, (_, keys) => {
          const { data, shape } = keys.reduce<unknown>((at, key) => (at as { [name: string]: unknown })[key], element) as Column;
          return new Column(data, [1, ...shape]) as never;
        });
        await observer(pyMode ? element : batched);
      }
      await observer.close();
      written.push(records);
    }
    const read = await told("read", folder, String(COUNT));
    for (const [i, records] of read.entries()) expect({ i, records }).toEqual({ i, records: written[i] });
    expect(await told<string>("tuples", folder, String(COUNT))).toEqual(tuples);
    expect(written.flat().length).toBeGreaterThan(COUNT);
  });
});
