/** Tests the properties that all writers share: accepted input, files in progress, and the state after a failure. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  memorySink,
  openJsonl,
  openParquet,
  type RldsDataset,
  type StepSpec,
  writeJsonl,
  writeParquet,
  writeTfds,
} from "../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../support/later.ts";
import { expectError } from "../../../support/refused.ts";
import { scaled, whole } from "../../../support/size.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-writers-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const of = (steps: readonly unknown[], metadata: object = {}) => [{ ...metadata, steps }] as unknown as RldsDataset<unknown>;
const formed = (stepSpec: unknown, episodes: readonly object[], metadataSpec: unknown = {}) =>
  Object.assign([...episodes], { stepSpec, metadataSpec }) as unknown as RldsDataset<unknown>;

/** Writes steps and metadata as JSON lines, and returns them. */
async function lines(rlds: RldsDataset<unknown>) {
  const files = memorySink();
  await writeJsonl(rlds, files);
  return new TextDecoder()
    .decode(files.get("steps.jsonl"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const reread = (files: Map<string, Uint8Array>) => openJsonl<{ readonly a: unknown }>(new Blob([files.get("steps.jsonl") as Uint8Array<ArrayBuffer>]));

it("a writer accepts clamped arrays, and arrays of typed arrays", async () => {
  expect((await lines(of([{ a: Uint8ClampedArray.of(1, 255) }])))[2]).toEqual({ step: { a: [1, 255] } });
  const [{ stepSpec }, , step] = await lines(of([{ a: [Float32Array.of(1), Float32Array.of(2), Float32Array.of(3)] }]));
  expect(stepSpec).toEqual({ a: { dtype: "f32", shape: [3, 1] } });
  expect(step).toEqual({ step: { a: [[1], [2], [3]] } });
});

it("a writer rejects a step key with the name of an Object method", async () => {
  const error = await errorFrom(writeJsonl(of([{ a: 1 }, { a: 1, toString: 5 }]), memorySink()));
  expectError(
    error,
    "SPEC_MISMATCH",
    /an object without toString \(step\.toString is not in the spec\), got an object with keys a, toString \(episode 0, step 1\)/,
  );
});

it("a writer stores an id as f64 if f32 cannot represent it", async () => {
  const [{ metadataSpec }, episode] = await lines(of([{ a: 1 }], { id: 20_000_001 }));
  expect(metadataSpec).toEqual({ id: { dtype: "f64", shape: [] } });
  expect(episode).toEqual({ episode: { id: 20_000_001 } });
});

it("integers beyond the safe range survive JSON lines", async () => {
  const stepSpec = { a: { dtype: "i64", shape: [] } };
  const values = [2n ** 53n, -(2n ** 53n), 2n ** 53n - 1n, 1n - 2n ** 53n, 2n ** 53n + 1n];
  const files = memorySink();
  await writeJsonl(formed(stepSpec, [{ steps: values.map((a) => ({ a })) }]), files);
  for await (const { steps } of await reread(files)) expect([...steps].map(({ a }) => a)).toEqual(values);
});

it("long bytes survive JSON lines", async () => {
  const a = Uint8Array.from({ length: scaled(7_000_001) }, (_, i) => i);
  const files = memorySink();
  await writeJsonl(formed({ a: { dtype: "bytes", shape: [] } }, [{ steps: [{ a }] }]), files);
  for await (const { steps } of await reread(files)) expect(Buffer.compare(steps.at(0).a as Uint8Array, a)).toBe(0);
});

it("openJsonl finds its header after blank lines", async () => {
  const files = memorySink();
  await writeJsonl(of([{ a: 1 }, { a: 2 }]), files);
  const reader = await openJsonl(new Blob(["\n\n", files.get("steps.jsonl") as Uint8Array<ArrayBuffer>]));
  for await (const { steps } of reader) expect([...steps]).toEqual([{ a: 1 }, { a: 2 }]);
});

it.each([
  ["an unknown dtype", { a: { dtype: "f8", shape: [] } }, "SPEC_MISMATCH", /^the dtype of a must be a supported dtype, got "f8"$/],
  ["no shape", { a: { dtype: "f32" } }, "SPEC_MISMATCH", /^the shape of a is required: an array of integers >= 0/],
  ["a length that differs", { a: { dtype: "f32", shape: [-1] } }, "UNSUPPORTED", /^a must have a fixed shape, got \[-1\]/],
] as const)("rejects a spec with %s", async (_, stepSpec, code, message) => {
  for (const write of [writeJsonl, writeParquet, (rlds: RldsDataset<unknown>, to: Map<string, Uint8Array>) => writeTfds(rlds, to, { name: "x" })]) {
    const files = memorySink();
    expectError(await errorFrom(write(formed(stepSpec, [{ steps: [{ a: 1 }] }]), files)), code, message);
    expect(files.size).toBe(0);
  }
  const metadata = formed({ a: { dtype: "f32", shape: [] } }, [{ steps: [{ a: 1 }] }], { id: { dtype: "i32", shape: [-1] } });
  expectError(await errorFrom(writeParquet(metadata, memorySink())), "UNSUPPORTED", /the episode's metadata id must have a fixed shape/);
});

it("writers reject values that are not datasets or steps", async () => {
  for (const rlds of [null, 5, "text"])
    await expect(writeJsonl(rlds as unknown as RldsDataset<unknown>, memorySink())).rejects.toThrow(/^rlds must .*got (null|5|"text")/);
  const spec: StepSpec = { a: { dtype: "f32", shape: [] } };
  for (const rlds of [[{ steps: {} }], formed(spec, [{ steps: {} }])])
    expectError(
      await errorFrom(writeJsonl(rlds as RldsDataset<unknown>, memorySink())),
      "SPEC_MISMATCH",
      /episode must be an object with steps.*\(episode 0\)/,
    );
});

it("writers write several files into one folder at the same time", async () => {
  const names = ["a.jsonl", "b.jsonl", "c.parquet", "d.parquet"];
  const write = (name: string, i: number) => (name.endsWith("jsonl") ? writeJsonl : writeParquet)(of([{ a: i }, { a: i }]), join(folder, name));
  await Promise.all(names.map(write));
  expect(readdirSync(folder).sort()).toEqual(names);
  for (const [i, name] of names.entries()) {
    const reader = await (name.endsWith("jsonl") ? openJsonl : openParquet)(join(folder, name));
    for await (const { steps } of reader) expect([...steps].map((step) => step.a)).toEqual([i, i]);
    await reader.close();
  }
});

it("a writer closes a dataset that it cannot write", async () => {
  let open = 0;
  const begun = <T>(values: readonly T[]) => ({
    async *[Symbol.asyncIterator]() {
      open++;
      try {
        yield* values;
      } finally {
        open--;
      }
    },
  });
  // The empty name is not allowed for a column; the first step reveals it.
  const rlds = begun([{ steps: begun([{ "": 1 }, { "": 2 }]) }, { steps: begun([{ "": 3 }]) }]) as unknown as RldsDataset<unknown>;
  expectError(await errorFrom(writeParquet(rlds, memorySink())), "UNSUPPORTED", /a leaf has no name\. Name it with mapSteps/);
  expect(open).toBe(0);
});

// This requires a system that lists open files.
it.runIf(whole && existsSync("/proc/self/fd"))("keeps fewer than 10 files open for any number of shards", async () => {
  const counted = () => readdirSync("/proc/self/fd").length;
  const before = counted();
  let max = 0;
  const episodes = Array.from({ length: 60 }, (_, i) => ({ steps: [{ a: i }] }));
  await writeTfds(episodes as unknown as RldsDataset<unknown>, folder, {
    name: "x",
    shardBytes: 1,
    onProgress: () => {
      max = Math.max(max, counted() - before);
    },
  });
  expect(readdirSync(join(folder, "x/1.0.0"))).toHaveLength(62);
  expect(max).toBeLessThan(10);
});

it("writers reject metadata with the path of a step leaf", async () => {
  const error = await errorFrom(writeTfds(of([{ a: 2 }], { "steps/a": 1 }), memorySink(), { name: "x" }));
  expectError(error, "UNSUPPORTED", /^the path of episode metadata must not .*got steps\/a\b/);
});

it.runIf(whole)("writeParquet limits the bytes per row group", async () => {
  const a = new Uint8Array(2 ** 20).fill(7);
  const files = memorySink();
  await writeParquet(
    formed(
      { a: { dtype: "bytes", shape: [] } },
      Array.from({ length: 8 }, () => ({ steps: Array.from({ length: 8 }, () => ({ a })) })),
    ),
    files,
  );
  let episodes = 0;
  // All data together would take 64 MiB.
  for await (const { steps } of await openParquet(files, { maxBytes: 40 * 2 ** 20 })) {
    expect(steps).toHaveLength(8);
    episodes++;
  }
  expect(episodes).toBe(8);
});

it("writeParquet writes no parts next to a foreign Parquet file, and keeps that file", async () => {
  await writeParquet(of([{ a: 1 }]), join(folder, "mine.parquet"));
  for (const overwrite of [false, true]) {
    const error = await errorFrom(writeParquet(of([{ a: 2 }]), folder, { overwrite }));
    expectError(error, "IO", /the folder contains another \.parquet file, .*mine\.parquet/);
  }
  expect(readdirSync(folder)).toEqual(["mine.parquet"]);
});
