/** Tests `reprise check`: one line per finding, and the exit code. */
import { cpSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CARTPOLE, DATA, document, failure, HALF_CHEETAH, reprise, temporary } from "./support.ts";

const temp = temporary();

const step = (i: number, more: object = {}) => ({
  step: {
    ...{ observation: [i, -i], action: i + 0.5, reward: i / 2, discount: 1, timestamp: i / 10 },
    ...{ is_first: i === 0, is_last: i === 5, is_terminal: false },
    ...more,
  },
});
const SCALAR = (dtype: string) => ({ dtype, shape: [] });
const HEAD = {
  rlds: 1,
  stepSpec: {
    observation: { dtype: "f32", shape: [2] },
    ...{ action: SCALAR("f32"), reward: SCALAR("f32"), discount: SCALAR("f32"), timestamp: SCALAR("f64") },
    ...{ is_first: SCALAR("bool"), is_last: SCALAR("bool"), is_terminal: SCALAR("bool") },
  },
  metadataSpec: {},
};

function lines(name: string, episodes: readonly (readonly object[])[]): string {
  const path = temp(name);
  writeFileSync(path, [HEAD, ...episodes.flatMap((steps) => [{ episode: {} }, ...steps])].map((line) => `${JSON.stringify(line)}\n`).join(""));
  return path;
}

/** Returns the JSON document of a check, whatever its exit code. */
const checked = async (...args: string[]) => JSON.parse((await reprise("check", ...args, "--json")).stdout);

const good = Array.from({ length: 6 }, (_, i) => step(i));
const faulty = good.map((_, i) => step(i, i === 2 ? { reward: "NaN" } : i === 4 ? { timestamp: 0.3 } : {}));

test("check exits with code 0 for a clean dataset", async () => {
  const path = lines("good.jsonl", [good, good]);
  expect(await reprise("check", path)).toEqual({ status: 0, stdout: "2 episodes, 12 steps: 0 faults, 0 warnings\n", stderr: "" });
  expect(await document("check", path)).toEqual({
    ...{ format: "jsonl", name: "good", episodes: 2, steps: 12, transitions: 10, complete: true, clean: true },
    ...{ faults: {}, warnings: {} },
  });
});

test("check prints each fault with episode and step, and exits with code 1", async () => {
  const path = lines("faulty.jsonl", [good, faulty]);
  const { status, stdout, stderr } = await reprise("check", path);
  expect([status, stderr]).toEqual([1, ""]);
  expect(stdout).toBe(
    [
      "fault: episode 1, step 2: reward is NaN",
      "fault: episode 1, step 4: timestamp repeats",
      "warning: episode 1, step 5: timestamp advances by 0.2, not 0.1",
      "2 episodes, 12 steps: 2 faults, 1 warning",
      "",
    ].join("\n"),
  );
  const json = await reprise("check", path, "--json");
  expect(json.status).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({ clean: false, faults: { nonFinite: { count: 1, places: [{ episode: 1, step: 2, path: "reward" }] } } });
});

test("check finds no fault in a dataset that convert --mode repair wrote", async () => {
  const path = lines("broken.jsonl", [good, good.map((_, i) => step(i, i === 2 ? { reward: "Infinity" } : { is_last: false }))]);
  expect((await reprise("check", path)).status).toBe(1);
  const to = temp("repaired.jsonl");
  await document("convert", path, to, "--mode", "repair");
  expect(await document("check", to)).toMatchObject({ clean: true, faults: {} });
});

test("check finds no fault in the times of final observations that convert repeated", async () => {
  const cut = good.map((_, i) => step(i, { is_last: false }));
  const path = lines("cut.jsonl", [cut, cut]);
  const repaired = temp("repaired-tfds");
  expect(await document("convert", path, repaired, "--format", "tfds", "--mode", "repair")).toMatchObject({ finalSteps: { repeated: 2 } });
  expect(await document("check", join(repaired, "cut"))).toMatchObject({ clean: true, faults: {} });
  const frames = temp("frames-tfds");
  const { finalSteps } = await document("convert", join(DATA, "extra/lerobot_v2"), frames, "--format", "tfds", "--name", "frames");
  expect(finalSteps.repeated).toBeGreaterThan(0);
  expect((await document("check", join(frames, "frames"))).faults).not.toHaveProperty("timestampRepeats");
});

test("check finds no repeated timestamp after a conversion of times since 1970 to LeRobot", async () => {
  const path = lines("since-1970.jsonl", [good.map((_, i) => step(i, { timestamp: 1.7e9 + i / 10 }))]);
  const to = temp("since-1970");
  const { losses } = await document("convert", path, to, "--format", "lerobot", "--fps", "10");
  expect(losses).toContainEqual(expect.objectContaining({ what: "timestamp of the first step", episodes: 1 }));
  expect((await document("check", to)).faults).not.toHaveProperty("timestampRepeats");
});

test("check finds no fault after edit drops an episode or a column, or repairs values", async () => {
  const times = [0, 0.1, 0.1, 0.2, 0.15, 0.4];
  const path = lines("uneven-times.jsonl", [good, good.map((_, i) => step(i, { timestamp: times[i] }))]);
  expect(JSON.parse((await reprise("check", path, "--json")).stdout)).toMatchObject({ clean: false, faults: { timestampRepeats: { count: 2 } } });
  const chosen = temp("chosen.jsonl");
  await document("edit", path, chosen, "--drop-episodes", "1");
  expect(await document("check", chosen)).toMatchObject({ episodes: 1, clean: true, warnings: {} });
  const without = temp("without.jsonl");
  await document("edit", path, without, "--without", "timestamp");
  expect(await document("check", without)).toMatchObject({ episodes: 2, clean: true, warnings: {} });
  const mended = temp("mended.jsonl");
  await document("edit", lines("nan.jsonl", [good, faulty]), mended, "--mode", "repair");
  expect(JSON.parse((await reprise("check", mended, "--json")).stdout).faults).not.toHaveProperty("nonFinite");
});

test("a warning fails unless its kind is ignored, and options set the thresholds", async () => {
  const uneven = lines("uneven.jsonl", [good.map((_, i) => step(i, i === 5 ? { timestamp: 0.6 } : {}))]);
  const { status, stdout } = await reprise("check", uneven);
  expect([status, stdout]).toEqual([1, "warning: episode 0, step 5: timestamp advances by 0.2, not 0.1\n1 episode, 6 steps: 0 faults, 1 warning\n"]);
  for (const kind of ["timestampJitter", "warnings"]) {
    expect(await reprise("check", uneven, "--ignore", kind)).toMatchObject({ status: 0, stdout: "1 episode, 6 steps: 0 faults, 0 warnings\n" });
    expect(await document("check", uneven, "--ignore", kind)).toMatchObject({ clean: true, warnings: {} });
  }
  expect((await reprise("check", uneven, "--ignore", "constantRewards")).status).toBe(1);
  expect(await document("check", uneven, "--max-jitter", "1.5")).toMatchObject({ warnings: {} });
  expect(await checked(uneven, "--fps", "20")).toMatchObject({ clean: true, warnings: { timestampJitter: { count: 5 } } });
  expect(await checked(uneven, "--min-steps", "6")).toMatchObject({ warnings: { shortEpisodes: { count: 1 } } });
  expect(await document("check", uneven, "--without", "timestamp")).toMatchObject({ warnings: {} });
  const nan = lines("faulty-again.jsonl", [faulty]);
  expect(await checked(nan, "--ignore", "warnings", "--ignore", "nonFinite")).toMatchObject({ clean: false, faults: { timestampRepeats: { count: 1 } } });
  expect(await document("check", nan, "--ignore", "warnings", "--ignore", "nonFinite", "--ignore", "timestampRepeats")).toMatchObject({
    clean: true,
    faults: {},
  });
  expect((await failure(2, "check", uneven, "--ignore", "jitter")).line).toMatch(/--ignore must be warnings, or one of emptyEpisodes, .*, got "jitter"/);
  expect((await failure(2, "check", uneven, "--ignore", "constantReward")).line).toMatch(/got "constantReward"\. Did you mean "constantRewards"\?$/);
});

test("check suggests command-line options in errors about unreadable data", async () => {
  const { status, stdout } = await reprise("check", join(DATA, "wild/partial.jsonl"));
  expect([status, stdout]).toEqual([1, expect.stringMatching(/^fault: line 6 is not JSON: .*\. Pass --mode salvage to read the rest/)]);
  const { faults } = await checked(join(DATA, "wild/partial.jsonl"));
  expect(faults.unreadable.places[0].text).toContain("Pass --mode salvage to read the rest");
  expect((await failure(2, "check", join(DATA, "wild/epcols.jsonl"), "--timestamp", "rewrd")).line).toMatch(/--timestamp must/);
});

test("check counts many findings of one kind", async () => {
  const { stdout } = await reprise("check", lines("many.jsonl", [Array.from({ length: 6 }, (_, i) => step(i, { reward: "NaN" }))]), "--places", "2");
  expect(stdout).toContain("fault: episode 0, step 1: reward is NaN\nfault: … and 4 more like these\n");
});

test("check reads real datasets, and rejects a wrong leaf as wrong usage", async () => {
  expect(await document("check", HALF_CHEETAH)).toMatchObject({ episodes: 40, steps: 10_040, clean: true, warnings: {} });
  expect(await checked(CARTPOLE)).toMatchObject({ clean: true, warnings: { constantRewards: { count: 1 } } });
  expect((await failure(2, "check", HALF_CHEETAH, "--timestamp", "action")).line).toMatch(/timestamp must/);
});

test("check reports a truncated file after the data that it read, and salvage continues", async () => {
  cpSync(HALF_CHEETAH, temp("cut"), { recursive: true });
  truncateSync(temp("cut", "1.0.0", "half_cheetah-train.tfrecord-00001-of-00003"), 100_000);
  const { status, stdout } = await reprise("check", temp("cut"));
  expect(status).toBe(1);
  expect(stdout).toMatch(
    /^fault: (episode \d+: )?.*half_cheetah-train\.tfrecord-00001-of-00003.*\n\d+ episodes, [\d,]+ steps, and then data that cannot be read: 1 fault, 0 warnings\n$/,
  );
  const salvaged = await reprise("check", temp("cut"), "--mode", "salvage", "--json");
  expect([salvaged.status, JSON.parse(salvaged.stdout)]).toMatchObject([1, { complete: true, faults: { unreadable: { count: 1 } } }]);
  expect((await failure(1, "check", join(DATA, "nowhere"))).error.code).toBe("NOT_FOUND");
});
