/** Tests MCAP files on the command line: topics are listed, and a mapping file assigns them to leaves. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DATA, document, failure, reprise, temporary } from "./support.ts";

const ARM = join(DATA, "mcap", "zstd.mcap");
const temp = temporary();
const mapping = () => {
  const path = temp("topics.json");
  writeFileSync(path, JSON.stringify({ "observation/state": { topic: "/joint_states", field: "position" }, action: "/command" }));
  return path;
};

test("inspect lists the topics and explains how to write a mapping", async () => {
  const { status, stdout } = await reprise("inspect", ARM);
  expect(status).toBe(0);
  expect(stdout).toMatch(/zstd\.mcap \(mcap\): 8 topics\n/);
  expect(stdout).toMatch(/\/joint_states +sensor_msgs\/msg\/JointState +cdr +100 +50 Hz/);
  expect(stdout).toMatch(/as in \{"observation\/state":\{"topic":"\/joint_states","field":"position"\},"action":"\/command"\}, .*in a JSON file for --topics/);
  const { format, topics } = await document("inspect", ARM);
  expect(format).toBe("mcap");
  expect(topics.find(({ topic }: { topic: string }) => topic === "/gripper")).toEqual({
    topic: "/gripper",
    schema: "gripper",
    encoding: "json",
    messages: 20,
    rate: expect.any(Number),
  });
});

test("inspect, convert and edit read a mapping from --topics", async () => {
  const options = ["--topics", mapping(), "--rate", "20"];
  const { episodes, steps, stepSpec } = await document("inspect", ARM, ...options);
  expect([episodes, steps]).toEqual([1, 39]);
  expect(stepSpec).toMatchObject({ observation: { state: { dtype: "f64", shape: [3] } }, action: { dtype: "f64", shape: [6] } });
  for (const [verb, to] of [
    ["convert", temp("arm.parquet")],
    ["edit", temp("edited.parquet")],
  ] as const) {
    expect((await reprise(verb, ARM, to, ...options)).stderr).toBe("");
    expect((await document("inspect", to)).steps).toBe(39);
  }
  expect((await document("inspect", ARM, ...options, "--open", "sample=nearest")).about.sample).toBe("nearest");
  expect((await document("inspect", ARM, "--topics", mapping(), "--open", 'episodesBy={"topic":"/task"}')).episodes).toBe(9);
});

test("a missing mapping lists the topics, and a wrong mapping or rate is wrong usage", async () => {
  expect((await failure(1, "convert", ARM, temp("x.parquet"))).error).toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringMatching(/The topics are \/bgr/),
  });
  const garbage = temp("garbage.json");
  writeFileSync(garbage, "{");
  for (const [args, message] of [
    [["--topics", temp("none.json")], /--topics requires a file with JSON.*ENOENT/],
    [["--topics", garbage], /--topics requires a file with JSON/],
    [["--topics", mapping(), "--rate", "0"], /above 0/],
    [["--rate", "20", "--open", "rate=10"], /rate is set twice/],
  ] as const) {
    const { status, stderr } = await reprise("inspect", ARM, ...args);
    expect(stderr).toMatch(message);
    expect(status).toBe(2);
  }
});
