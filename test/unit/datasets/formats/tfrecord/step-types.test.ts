/** Tests invalid step types in files with correct checksums. */
import { describe, expect, it } from "vitest";
import { openTfrecord } from "../../../../../src/datasets/formats/index.ts";
import { f32, i32, type Spec } from "../../../../../src/index.ts";
import { loadTfrecordDataset, TFRecordObserver, trajectorySpec } from "../../../../../src/tf-agents/index.ts";
import { all } from "../../../../support/columns.ts";
import { errorFrom } from "../../../../support/later.ts";

const SPEC = trajectorySpec({ observation: f32(), action: i32() });

/** Writes an episode with one action, a step with the given types, and another episode with one action. */
async function fileWith(stepType: number, nextStepType: number, spec: Spec = SPEC): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  const observer = new TFRecordObserver("steps.tfrecord", spec, { pyMode: true, to: files });
  const episode = [
    [0, 2],
    [2, 0],
  ] as const;
  for (const [type, next] of [...episode, [stepType, nextStepType], ...episode])
    await observer({ stepType: type, nextStepType: next, observation: 1, action: 0, policyInfo: [], reward: 1, discount: 1 });
  await observer.close();
  return files;
}

const open = async (files: Map<string, Uint8Array>, salvage = false) => openTfrecord(new Map([...files]), { salvage });

describe("step types", () => {
  it.each([
    [7, 1, /\bstep_type must .*got 7\b/],
    [-1, 1, /\bstep_type must .*got -1\b/],
    [0, 3, /\bnext_step_type must .*got 3\b/],
  ])("%i with next step type %i is rejected with its place, and salvage reads the other episodes", async (stepType, nextStepType, message) => {
    const files = await fileWith(stepType, nextStepType);
    const length = (files.get("steps.tfrecord") as Uint8Array).length / 5;
    const error = await errorFrom(all(await open(files)));
    expect(error).toMatchObject({ name: "RldsError", code: "CORRUPT", file: "steps.tfrecord", episode: 1, offset: 2 * length });
    expect(error.message).toMatch(message);
    const reader = await open(files, true);
    expect((await all(reader)).map(({ steps }) => steps.length)).toEqual([2, 2]);
    expect(reader.losses).toMatchObject([{ code: "CORRUPT", reason: expect.stringMatching(message) }]);
    // A nest of plain values is read without checks of step types.
    expect(await all(await loadTfrecordDataset(["steps.tfrecord"], { from: files }))).toHaveLength(5);
  });

  it("must be integers, even in a spec of floats", async () => {
    const files = await fileWith(0.5, 1, { ...SPEC, stepType: f32(), nextStepType: f32() });
    expect(await errorFrom(all(await open(files)))).toMatchObject({ code: "CORRUPT", message: expect.stringContaining("got 0.5") });
  });
});
