/** Tests the last step of an episode on the command line: it is never lost. If its next observation is missing, the last one is repeated and counted. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openRlds } from "../../../src/datasets/rlds/index.ts";
import { f32 } from "../../../src/index.ts";
import { open } from "../../../src/recorder/index.ts";
import { type EpisodeFacts, factsOf } from "../../support/episode-facts.ts";
import { some } from "../../support/size.ts";
import { DATA, document, failure, reprise, temporary } from "./support.ts";

const temp = temporary();
const WILD = join(DATA, "wild");
let folders = 0;

async function factsIn(path: string): Promise<EpisodeFacts[]> {
  const reader = await openRlds(path);
  const facts = await factsOf(reader);
  await reader.close();
  return facts;
}

/** Returns the arguments of a push into a new journal. */
const push = (path: string, ...more: string[]) => ["push", path, "--dir", temp(`journal-${folders++}`), "--table", "t", ...more];

describe("rewards only on the last step", () => {
  test.each(some(["sparse.parquet", "sparse.jsonl", "lerobot_sparse"], 1))(
    "%s: inspect, stats and push keep 10 actions and a return of 1 per episode",
    async (name) => {
      const path = join(WILD, name);
      const { episodes, transitions, report } = await document("inspect", path);
      expect([episodes, transitions, report.faultyEpisodes]).toEqual([2, 10, 0]);
      expect([report.returns.min, report.returns.max]).toEqual([1, 1]);
      const { statistics } = await document("stats", path);
      const reward = statistics.find((leaf: { path: string }) => leaf.path === "reward");
      expect([reward.count, reward.max, reward.mean]).toEqual([10, 1, 0.2]);
      const pushed = await document(...push(path, "--n-step", "1"));
      expect([pushed.pushed, pushed.transitions.items, pushed.transitions.terminated]).toEqual([10, 10, 2]);
      const repeated = name === "sparse.jsonl" ? 0 : 2;
      expect(pushed.finalSteps).toEqual({ repeated, dropped: 0 });
      expect((await document(...push(path, "--n-step", "5"))).pushed).toBe(10);
      // Each step becomes a trajectory, and each episode adds a boundary.
      expect((await document(...push(path))).pushed).toBe(12);
    },
  );

  test("d4rl_goal_timeout.hdf5: the reward in the row of the timeout counts", async () => {
    const path = join(WILD, "d4rl_goal_timeout.hdf5");
    const facts = await factsIn(path);
    const { report, transitions } = await document("inspect", path);
    expect(report.returns.max).toBe(1);
    expect([report.returns.total, transitions]).toEqual([
      facts.reduce((sum, one) => sum + one.return, 0),
      facts.reduce((sum, { actions }) => sum + actions, 0),
    ]);
    const pushed = await document(...push(path, "--n-step", "1"));
    expect(pushed.pushed).toBe(transitions);
    expect(pushed.transitions.truncated + pushed.transitions.terminated).toBe(report.episodes);
  });
});

test("convert writes half-cheetah as Minari with all actions and rewards", async () => {
  const path = join(DATA, "d4rl/half_cheetah.hdf5");
  const to = temp("minari");
  const result = await document("convert", path, to, "--format", "minari", "--id", "cheetah-v0");
  expect([result.episodes, result.steps, result.finalSteps]).toEqual([16, 4000, { repeated: 16, dropped: 0 }]);
  const { transitions, report } = await document("inspect", join(to, "cheetah-v0"));
  expect(transitions).toBe(4000);
  expect(report.returns.total).toBeCloseTo(18_487.91, 2);
  const before = await document("inspect", path);
  expect([before.transitions, before.report.returns.total]).toEqual([4000, report.returns.total]);
  expect((await reprise("convert", path, to, "--format", "minari", "--id", "cheetah-v1")).stdout).toContain(
    "\n  no final observation in 16 episodes: the last observation is repeated\n",
  );
});

/** Records episodes of 5 and 1 steps without a final observation, and optionally one of 2 steps with a final observation. */
async function recorded(hasFinal: boolean): Promise<string> {
  const dir = temp(`recording-${folders++}`);
  const recorder = await open({ dir, fps: 10, spec: { observation: f32(2), action: f32(1), reward: f32() } });
  for (const steps of [5, 1]) {
    for (let i = 1; i <= steps; i++) recorder.step({ observation: [i, i], action: [i], reward: i });
    await recorder.endEpisode(steps === 1 ? { terminated: true } : {});
  }
  if (hasFinal) {
    for (let i = 1; i <= 2; i++) recorder.step({ observation: [i, i], action: [i], reward: i });
    await recorder.endEpisode({ final: { observation: [3, 3] } });
  }
  await recorder.close();
  return dir;
}

describe("a recording with missing final observations", () => {
  test("is pushed with all of its actions", async () => {
    const dir = await recorded(false);
    expect(await document(...push(dir, "--n-step", "1"))).toMatchObject({
      pushed: 6,
      finalSteps: { repeated: 2, dropped: 0 },
      transitions: { episodes: 2, terminated: 1, truncated: 1, repeated: 2 },
    });
    expect((await document(...push(dir))).pushed).toBe(8);
    const { stdout } = await reprise(...push(dir, "--n-step", "1"));
    expect(stdout).toContain("\n  no final observation in 2 episodes: the last observation is repeated\n");
  });

  test("is pushed as --final-step specifies", async () => {
    const dir = await recorded(true);
    const of = async (...more: string[]) => {
      const { pushed, finalSteps } = await document(...push(dir, ...more));
      return [pushed, finalSteps.repeated, finalSteps.dropped];
    };
    const nStep = ["--n-step", "1"];
    expect(await of(...nStep)).toEqual([8, 2, 0]);
    expect(await of(...nStep, "--final-step", "transition")).toEqual([9, 3, 0]);
    expect(await of(...nStep, "--final-step", "observation")).toEqual([6, 0, 0]);
    // Dropping the last step of a one-step episode leaves no transition.
    expect(await of(...nStep, "--final-step", "drop")).toEqual([6, 0, 2]);
    // Each step of the dataset becomes one trajectory.
    expect(await of()).toEqual([11, 2, 0]);
    expect(await of("--final-step", "transition")).toEqual([12, 3, 0]);
    expect(await of("--final-step", "observation")).toEqual([9, 0, 0]);
    expect(await of("--final-step", "drop")).toEqual([9, 0, 2]);
    for (const more of [nStep, []]) {
      const args = push(dir, ...more, "--final-step", "refuse");
      const { error, line } = await failure(1, ...args);
      expect(error).toMatchObject({ code: "INVALID_DATA", episode: 0 });
      expect(line).toContain("the episode has no final observation");
      expect(existsSync(args[3] as string)).toBe(false);
    }
    const wrong = await reprise(...push(dir, "--final-step", "all"));
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining("Allowed choices are observation, transition, drop, refuse")]);
  });

  test("is converted to each format as --final-step specifies", async () => {
    const dir = await recorded(true);
    const targets = [[temp("a.parquet")], [temp("a.jsonl")], [temp("tfds")], [temp("lerobot"), "--format", "lerobot"]] as const;
    const actionsOf = async (path: string) => (await factsIn(path)).map(({ actions }) => actions);
    for (const [to, ...more] of targets) {
      const convert = async (...options: string[]) => {
        const { finalSteps } = await document("convert", dir, to, ...more, "--overwrite", ...options);
        return [await actionsOf(to), finalSteps.dropped];
      };
      expect(await convert()).toEqual([[5, 1, 2], 0]);
      expect(await convert("--final-step", "transition")).toEqual([[5, 1, 3], 0]);
      expect((await failure(1, "convert", dir, to, ...more, "--overwrite", "--final-step", "refuse")).error).toMatchObject({
        code: "INVALID_DATA",
        episode: 0,
      });
      expect(await actionsOf(to)).toEqual([5, 1, 3]);
      if (to.endsWith("lerobot")) continue;
      expect(await convert("--final-step", "observation")).toEqual([[4, 0, 2], 0]);
      expect(await convert("--final-step", "drop")).toEqual([[4, 0, 2], 2]);
    }
  });
});
