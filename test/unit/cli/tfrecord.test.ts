/** Tests files of the TF-Agents TFRecordObserver on the command line. */

import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { f32, i32, u8 } from "../../../src/index.ts";
import { TFRecordObserver, trajectorySpec } from "../../../src/tf-agents/index.ts";
import { recordsIn } from "../../support/tfrecord.ts";
import { DATA, document, reprise, temporary } from "./support.ts";

const STEPS = join(DATA, "tfrecord", "trajectories.tfrecord");
const temp = temporary();

test("inspect, stats and check read TFRecord files, and check names an unfinished episode", async () => {
  const { format, episodes, steps, stepSpec } = await document("inspect", STEPS);
  expect({ format, episodes, steps }).toEqual({ format: "tfrecord", episodes: 4, steps: 13 });
  expect(stepSpec.observation).toMatchObject({ half: { dtype: "f16", shape: [2] }, position: { dtype: "f32", shape: [3] } });
  expect((await reprise("stats", STEPS)).status).toBe(0);
  const { stdout } = await reprise("check", STEPS);
  expect(stdout).toContain("episode 3, step 1: is_last is false at the last step");
});

test("convert and push read the complete episodes of TFRecord files", async () => {
  const to = temp("steps.jsonl");
  expect((await reprise("convert", STEPS, to, "--mode", "drop")).stderr).toBe("");
  expect((await document("inspect", to)).steps).toBe(11);
  const pushed = await reprise("push", STEPS, "--dir", temp("journal"), "--table", "all", "--mode", "drop");
  expect({ status: pushed.status, stderr: pushed.stderr }).toEqual({ status: 0, stderr: "" });
});

test("the error for a wrong image encoding names --open compressImage, not salvage", async () => {
  const record = recordsIn(readFileSync(join(DATA, "tfrecord", "image.tfrecord")))[0] as Uint8Array;
  const jpeg = record.subarray(Buffer.from(record).indexOf(Buffer.from([255, 216])));
  const spec = trajectorySpec({ observation: u8(8, 16, 3), action: i32() });
  const rest = { stepType: 0, nextStepType: 1, action: 0, policyInfo: [] as const, reward: 1, discount: 1 };
  for (const [name, options] of [
    ["jpegs", { compressImage: () => jpeg }],
    ["pixels", {}],
  ] as const) {
    const observer = new TFRecordObserver(temp(`${name}.tfrecord`), spec, { pyMode: true, ...options });
    await observer({ ...rest, observation: new Uint8Array(8 * 16 * 3) });
    await observer.close();
  }
  const wrong = await reprise("inspect", temp("jpegs.tfrecord"));
  expect(wrong.status).toBe(1);
  expect(wrong.stderr).toContain("Pass --open compressImage=true to decode the JPEG");
  expect(wrong.stderr).not.toContain("salvage");
  expect(await document("inspect", temp("jpegs.tfrecord"), "--open", "compressImage=true")).toMatchObject({ format: "tfrecord", steps: 1 });
  const pixels = await reprise("inspect", temp("pixels.tfrecord"), "--open", "compressImage=true");
  expect(pixels.stderr).toContain("contains pixels, not a JPEG. Omit --open compressImage=true");
  expect(pixels.stderr).not.toContain("salvage");
});

test("the error for a missing spec names --open spec, which inspect accepts", async () => {
  copyFileSync(STEPS, temp("alone.tfrecord"));
  expect((await reprise("inspect", temp("alone.tfrecord"))).stderr).toContain("or pass --open spec={…}.");
  const spec = trajectorySpec({ observation: { position: f32(3), half: { dtype: "f16", shape: [2] } }, action: { dtype: "i64", shape: [] } });
  expect((await document("inspect", temp("alone.tfrecord"), "--open", `spec=${JSON.stringify(spec)}`)).steps).toBe(13);
});
