/** Files of TF-Agents' TFRecordObserver on the command line. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { DATA, document, reprise, temporary } from "./support.ts";

const STEPS = join(DATA, "tfrecord", "trajectories.tfrecord");
const temp = temporary();

test("inspect and check read them, and check names the episode that is still open", async () => {
  const { format, episodes, steps, stepSpec } = await document("inspect", STEPS);
  expect({ format, episodes, steps }).toEqual({ format: "tfrecord", episodes: 4, steps: 13 });
  expect(stepSpec.observation).toMatchObject({ half: { dtype: "f16", shape: [2] }, position: { dtype: "f32", shape: [3] } });
  expect((await reprise("stats", STEPS)).status).toBe(0);
  const { stdout } = await reprise("check", STEPS);
  expect(stdout).toContain("episode 3, step 1: the last step is not is_last");
});

test("convert and push take their episodes", async () => {
  const to = temp("steps.jsonl");
  expect((await reprise("convert", STEPS, to, "--mode", "drop")).stderr).toBe("");
  expect((await document("inspect", to)).steps).toBe(11);
  const pushed = await reprise("push", STEPS, "--dir", temp("journal"), "--table", "all", "--mode", "drop");
  expect({ status: pushed.status, stderr: pushed.stderr }).toEqual({ status: 0, stderr: "" });
});
