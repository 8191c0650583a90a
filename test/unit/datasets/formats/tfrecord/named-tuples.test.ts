/** Tests named tuples in TF-Agents files: Python (test/data/write_tfrecord.py) and this package must write the same names. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openTfrecord } from "../../../../../src/datasets/formats/index.ts";
import { featureLeaves } from "../../../../../src/datasets/formats/tfrecord/features.ts";
import { f32, i32, type Spec } from "../../../../../src/index.ts";
import type { Column } from "../../../../../src/schema/column.ts";
import { flatten } from "../../../../../src/schema/nest.ts";
import { asTransition, loadTfrecordDataset, TFRecordObserver, toTransitionSpec, trajectorySpec } from "../../../../../src/tf-agents/index.ts";
import { all } from "../../../../support/columns.ts";
import { dataFolder } from "../../rlds/data.ts";

const DATA = dataFolder("tfrecord");
const EXPECTED = JSON.parse(readFileSync(join(DATA, "expected.json"), "utf8"));
const NAMES = ["transition", "time-step", "policy-step"];
const path = (name: string) => join(DATA, `${name}.tfrecord`);

const TIME_STEP = { stepType: i32(), reward: f32(), discount: f32(), observation: { position: f32(3) } };
const POLICY_STEP = { action: f32(2), state: [], info: [] };
const SPECS: { readonly [name: string]: Spec } = {
  transition: { timeStep: TIME_STEP, actionStep: POLICY_STEP, nextTimeStep: TIME_STEP },
  "time-step": TIME_STEP,
  "policy-step": POLICY_STEP,
};

/** Returns the spec file that this package writes. */
async function specBytes(spec: Spec): Promise<string> {
  const files = new Map<string, Uint8Array>();
  await new TFRecordObserver("x", spec, { to: files }).close();
  return Buffer.from(files.get("x.spec") as Uint8Array).toString("latin1");
}

describe("named tuples of Python", () => {
  it.each(NAMES)("%s: has the expected field names and values", async (name) => {
    const dataset = await loadTfrecordDataset([path(name)], { addBatchDim: false });
    expect(dataset.spec).toEqual(SPECS[name]);
    const elements = (await all(dataset)).map((element) =>
      Object.fromEntries(featureLeaves(dataset.spec as Spec).map((leaf, i) => [leaf.name, [...(flatten(dataset.spec as Spec, element)[i] as Column).data]])),
    );
    const expected = EXPECTED[name].map((step: { readonly [path: string]: { readonly data: unknown[] } }) =>
      Object.fromEntries(Object.entries(step).map(([leaf, { data }]) => [leaf, data])),
    );
    expect(elements).toEqual(expected);
    expect(elements).toHaveLength(4);
  });

  it("a transition matches the transition spec of its trajectories", async () => {
    const spec = trajectorySpec({ observation: { position: f32(3) }, action: f32(2) });
    for (const asExperience of [false, true]) {
      const dataset = await loadTfrecordDataset([path("transition")], { asExperience });
      expect(dataset.spec).toEqual(toTransitionSpec(spec));
      for (const element of await all(dataset)) {
        const { timeStep, actionStep, nextTimeStep } = asTransition(spec, element as never, { squeezeTimeDim: true }) as never as typeof SPECS.transition & {
          readonly [part: string]: { readonly [field: string]: { readonly shape: readonly number[] } };
        };
        const batch = asExperience ? 2 : 1;
        expect([timeStep?.stepType?.shape, actionStep?.action?.shape, nextTimeStep?.discount?.shape]).toEqual([[batch], [batch, 2], [batch]]);
      }
    }
  });

  it("are written with the same names, even after a read", async () => {
    for (const name of NAMES) {
      const { spec } = await loadTfrecordDataset([path(name)]);
      const files = new Map<string, Uint8Array>();
      const observer = new TFRecordObserver("copy", spec as Spec, { pyMode: true, to: files });
      const elements = await all(await loadTfrecordDataset([path(name)], { addBatchDim: false }));
      for (const element of elements) await observer(element);
      await observer.close();
      expect(files.get("copy.spec")).toEqual(new Uint8Array(readFileSync(`${path(name)}.spec`)));
      const copy = await loadTfrecordDataset(["copy"], { from: files, addBatchDim: false });
      expect(copy.spec).toEqual(spec);
      expect(await all(copy)).toEqual(elements);
    }
    const bytes = await specBytes(SPECS.transition as Spec);
    for (const [word, count] of [
      ["Transition", 1],
      ["TimeStep", 2],
      ["PolicyStep", 1],
      ["next_time_step", 1],
      ["step_type", 2],
    ] as const)
      expect(bytes.split(word).length - 1, word).toBe(count);
    expect(bytes).not.toMatch(/timeStep|stepType|actionStep/);
  });

  it("are not used for other fields or in other places", async () => {
    const half = { ...TIME_STEP, more: f32() };
    expect(await specBytes(half)).not.toContain("TimeStep");
    expect(await specBytes({ observation: TIME_STEP })).toMatch(/stepType/);
    // The parts of a transition are checked separately, so only the complete time step is named.
    const mixed = await specBytes({ timeStep: half, actionStep: POLICY_STEP, nextTimeStep: { ...TIME_STEP, observation: f32() } });
    expect(mixed.split("TimeStep").length - 1).toBe(1);
    expect(featureLeaves({ observation: TIME_STEP }).map(({ name }) => name)).toContain("observation/stepType");
    // The same object occurs at two different places.
    const shared = featureLeaves({ timeStep: POLICY_STEP, actionStep: TIME_STEP, nextTimeStep: TIME_STEP }).map(({ name }) => name);
    expect(shared).toContain("action_step/stepType");
    expect(shared).toContain("next_time_step/step_type");
  });

  it("that are not trajectories are rejected by openTfrecord", async () => {
    await expect(openTfrecord(path("transition"))).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("the records are not trajectories"),
    });
  });
});
