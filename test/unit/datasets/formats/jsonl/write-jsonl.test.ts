/** Tests writing JSON lines. jsonl.test.ts reads them back. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { valuesOfJson } from "../../../../../src/datasets/formats/jsonl/json-values.ts";
import { memorySink, writeJsonl } from "../../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../../support/later.ts";
import { expectError } from "../../../../support/refused.ts";
import { EVERYTHING, everything, everythingStep, METADATA } from "../../../../support/rlds-data.ts";

const lines = (bytes: Uint8Array | undefined) =>
  new TextDecoder()
    .decode(bytes)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

it("writeJsonl writes one line for the specs, one per episode and one per step", async () => {
  const files = memorySink();
  const report = await writeJsonl(everything([2, 0, 3]), files);
  expect(report).toMatchObject({ episodes: 3, steps: 5, files: ["steps.jsonl"] });
  const found = lines(files.get("steps.jsonl"));
  expect(found.map((line) => Object.keys(line))).toEqual([
    ["rlds", "stepSpec", "metadataSpec"],
    ["episode"],
    ["step"],
    ["step"],
    ["episode"],
    ["episode"],
    ["step"],
    ["step"],
    ["step"],
  ]);
  expect(found[0]).toEqual({ rlds: 1, stepSpec: EVERYTHING, metadataSpec: METADATA });
  expect(found[5]).toEqual({
    episode: { id: String(2n ** 56n), who: "operator \u00e9 2", score: 2 / 7, vector: [2, 1, Math.fround(2 / 3)], inner: { ok: true } },
  });
  expect(found[8].step).toMatchObject({
    discount: "-Infinity",
    u64: String(2n ** 63n - 1n),
    text: "h\u00e9llo \u65e5\u672c \u{1f600} 2",
    flags: [true, false],
  });
  expect(found[7].step.observation.wide).toEqual([
    [0.1, 1],
    [1e300, "NaN"],
  ]);
  expect(found[7].step.reward).toBe("-0");
  expect(found[7].step.observation.image).toHaveLength(4);
  const again = memorySink();
  await writeJsonl(everything([2, 0, 3]), again);
  expect([...again]).toEqual([...files]);
});

it("writeJsonl writes bytes, large integers and special numbers without loss", async () => {
  const stepSpec = {
    a: { dtype: "bytes", shape: [2] },
    b: { dtype: "i64", shape: [] },
    c: { dtype: "f64", shape: [3] },
    d: { dtype: "string", shape: [] },
  } as const;
  const step = { a: [Uint8Array.of(1, 2, 3, 255), Uint8Array.of(9)], b: -(2n ** 63n), c: [Number.NaN, -0, Number.POSITIVE_INFINITY], d: "NaN" };
  const files = memorySink();
  await writeJsonl(Object.assign([{ steps: [step] }], { stepSpec }) as never, files);
  expect(valuesOfJson(stepSpec, lines(files.get("steps.jsonl"))[2].step)).toEqual(step);
});

it("writeJsonl writes to a path, requires overwrite to replace it, and leaves no incomplete file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-jsonl-"));
  try {
    const path = join(folder, "deep/data.jsonl");
    await writeJsonl(everything(), path);
    expect(lines(readFileSync(path))).toHaveLength(15);
    expectError(await errorFrom(writeJsonl(everything(), path)), "IO", /already exists/);
    await writeJsonl(everything([1]), path, { overwrite: true });
    expect(lines(readFileSync(path))).toHaveLength(3);
    const data = everything();
    (data[3]?.steps as unknown[])[1] = { ...everythingStep(1, 2), text: 1 };
    const error = await errorFrom(writeJsonl(data, join(folder, "broken.jsonl")));
    expectError(error, "SPEC_MISMATCH", /text.*episode 3, step 1/);
    expect(() => readFileSync(join(folder, "broken.jsonl"))).toThrow(/ENOENT/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
