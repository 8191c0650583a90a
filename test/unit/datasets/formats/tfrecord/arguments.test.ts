/** Tests arguments of functions for TF-Agents files: error messages use the caller's argument names. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openTfrecord } from "../../../../../src/datasets/formats/index.ts";
import { openRlds } from "../../../../../src/datasets/rlds/index.ts";
import { f32, i64, type Spec, u8, u32 } from "../../../../../src/index.ts";
import { loadTfrecordDataset, TFRecordObserver, trajectorySpec } from "../../../../../src/tf-agents/index.ts";
import { all } from "../../../../support/columns.ts";
import { errorFrom } from "../../../../support/later.ts";
import { errorOf, expectError } from "../../../../support/refused.ts";
import { dataFolder } from "../../rlds/data.ts";

const TRAJECTORY = trajectorySpec({ observation: f32(2), action: i64() });

async function files(): Promise<Map<string, Uint8Array>> {
  const written = new Map<string, Uint8Array>();
  await new TFRecordObserver("x", TRAJECTORY, { to: written }).close();
  return written;
}

const BAD: readonly (readonly [name: string, bad: unknown, error: string, rule: RegExp])[] = [
  ["a number", 5, "TypeError", /must .*got 5$/],
  ["null", null, "TypeError", /must be a leaf such as f32\(4\), .*got null$/],
  ["a function", f32, "TypeError", /f32\(\) instead of f32/],
  ["no leaves", [], "ReplayError", /must .*at least one leaf, got an array of 0$/],
  ["two leaves of one name", { "a/b": f32(), a: { b: f32() } }, "ReplayError", /must have a different path .*"a\/b"$/],
  ["another dtype", u32(), "ReplayError", /must have a dtype that TF-Agents can write \(f32, .*got "u32"$/],
  ["a shape of 0", f32(3, 0), "ReplayError", /must have a shape of positive integers, got \[3, 0\]$/],
];

describe.each([
  ["TFRecordObserver", "tensorDataSpec", async (spec: Spec) => new TFRecordObserver("y", spec, { to: new Map() })],
  ["loadTfrecordDataset", "spec", async (spec: Spec) => loadTfrecordDataset(["x"], { from: await files(), spec })],
] as const)("%s names its argument %s", (_, subject, call) => {
  it.each(BAD)("in the error for %s", async (_name, bad, error, rule) => {
    for (const [spec, where] of [
      [bad, subject],
      [{ b: bad, c: f32() }, `${subject} of b`],
    ] as const) {
      // These rules concern the whole spec, so they do not apply to a leaf.
      if (where !== subject && /at least|differ/.test(String(rule))) continue;
      const failure = (await errorFrom(call(spec as Spec))) as Error;
      expect(failure.name).toBe(error);
      expect(failure.message).toMatch(rule);
      expect(failure.message).toMatch(new RegExp(`^${where} must (be|have) `));
    }
  });
});

describe("a .spec file instead of the records", () => {
  it.each([
    ["loadTfrecordDataset", async () => loadTfrecordDataset(["x.spec"], { from: await files() })],
    ["openRlds", () => openRlds(join(dataFolder("tfrecord"), "nest.tfrecord.spec"))],
  ] as const)("is rejected by %s, and the error names the fix", async (_, call) => {
    expect(await errorFrom(call())).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("Pass the file of the same name without .spec") });
  });
});

describe("TFRecordObserver", () => {
  it("suggests the other pyMode only if that mode accepts the data", () => {
    const create = (pyMode: boolean) => new TFRecordObserver("y", { a: f32(2) }, { pyMode, to: new Map() });
    const column = (...shape: number[]) => ({ a: { data: new Float32Array(2), shape } });
    expect(() => create(false)(column(2) as never)).toThrow(/a must be .*\. Set pyMode: true if a call passes one trajectory/);
    expect(() => create(true)(column(1, 2) as never)).toThrow(/a must be .*\. Omit pyMode if each leaf has a leading dimension of 1/);
    for (const pyMode of [false, true]) expect(() => create(pyMode)({ a: [1, 2, 3] })).toThrow(/^(?!.*pyMode)/);
  });

  it.each(["../y", "/y", "a//y", "a\\y"])("rejects the path %s in a folder", (path) => {
    const create = () => new TFRecordObserver(path, f32(), { to: new Map() });
    const error = errorOf(create);
    expectError(error, RangeError, /^outputPath must /);
    expect(error.message).toContain(`, got ${JSON.stringify(path)}`);
  });
});

describe("openTfrecord", () => {
  it.each(BAD)("names spec in the error for %s", async (_name, bad, _error, rule) => {
    const whole = (await errorFrom(openTfrecord(await files(), { spec: bad as Spec }))) as Error;
    expect(whole.message).toMatch(/^spec must be a spec of trajectories/);
    // Part of a trajectory may be a nest without leaves.
    if (/at least/.test(String(rule))) return;
    const inside = (await errorFrom(openTfrecord(await files(), { spec: { ...TRAJECTORY, observation: bad } as Spec }))) as Error;
    expect(inside.message).toMatch(/differ/.test(String(rule)) ? /^spec must have a different path/ : /^spec of observation must (be|have) /);
  });

  it("rejects a stepType that is not a single number", async () => {
    const failure = await errorFrom(openTfrecord(await files(), { spec: { ...TRAJECTORY, stepType: f32(2) } as Spec }));
    expect(failure).toMatchObject({ code: "SPEC_MISMATCH", message: expect.stringMatching(/^the spec of stepType must .*got a leaf of shape \[2\]$/) });
  });
});

describe("asTrajectories", () => {
  const tuple = [f32(), f32(2), i64(), [], f32(), f32(), f32()] as const;

  it("the spec of the dataset has the same fields as its elements", async () => {
    const written = new Map<string, Uint8Array>();
    const observer = new TFRecordObserver("t", tuple, { pyMode: true, to: written });
    observer([0, [1, 2], 3n, [], 1, 0.5, 1]);
    await observer.close();
    const dataset = await loadTfrecordDataset(["t"], { from: written, asTrajectories: true, addBatchDim: false });
    const [element] = (await all(dataset)) as { [name: string]: unknown }[];
    expect(dataset.spec).toEqual({ stepType: f32(), observation: f32(2), action: i64(), policyInfo: [], nextStepType: f32(), reward: f32(), discount: f32() });
    expect(Object.keys(dataset.spec as object)).toEqual(Object.keys(element as object));
    expect((await loadTfrecordDataset(["t"], { from: written })).spec).toEqual(tuple);
  });

  it("the error names the spec, or the result of decoder", async () => {
    const from = await files();
    const bySpec = (await errorFrom(loadTfrecordDataset(["x"], { from, spec: { a: u8() }, asTrajectories: true }))) as Error;
    expect(bySpec.message).toMatch(/^spec must be an object or tuple of the fields stepType, .* with asTrajectories, got/);
    const observer = new TFRecordObserver("x", TRAJECTORY, { pyMode: true, to: from });
    observer({ stepType: 0, observation: [1, 2], action: 3n, policyInfo: [], nextStepType: 1, reward: 0.5, discount: 1 });
    await observer.close();
    const dataset = await loadTfrecordDataset(["x"], { from, decoder: () => [1], addBatchDim: false, asTrajectories: true });
    expect(((await errorFrom(all(dataset))) as Error).message).toMatch(/^the result of decoder must be an object or tuple of .* with asTrajectories/);
  });
});
