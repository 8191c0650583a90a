/** Compares hindsight goals with Stable-Baselines3's HerReplayBuffer on the same episodes, recorded by test/data/her/record.py. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { f32, type RelabelledSteps, Replay } from "../../../src/index.ts";
import { root } from "../../support/core.ts";

interface Seen {
  readonly observation: number[];
  readonly achieved_goal: number[];
  readonly desired_goal: number[];
}
interface Recorded {
  readonly episodes: readonly { steps: Seen[]; actions: number[][]; rewards: number[]; terminated: boolean }[];
  readonly strategies: { readonly [S in "future" | "final" | "episode"]: readonly (readonly { goal: number[]; reward: number; done: number }[])[] };
  readonly virtual: readonly { sampled: number; size: number; count: number }[];
}
const recorded: Recorded = JSON.parse(readFileSync(join(root, "test/data/her/her.json"), "utf8"));
const spec = { observation: { seen: f32(2), achieved: f32(2), desired: f32(2) }, action: f32(1), reward: f32() };
const paths = { goal: "observation.desired", achieved: "observation.achieved" } as const;

/** Implements `compute_reward` of the recorded environment. */
const reward = ({ achieved, goal, rows }: RelabelledSteps) =>
  Float32Array.from(rows, (_, i) => -Math.abs(achieved.data[2 * i] - goal.data[2 * i]) - Math.abs(achieved.data[2 * i + 1] - goal.data[2 * i + 1]));

function filled() {
  const replay = new Replay({ spec, tables: { t: { maxSize: 100 } }, seed: 4 });
  const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
  for (const { steps, actions, rewards, terminated } of recorded.episodes) {
    const seen = steps.map((step) => ({ seen: step.observation, achieved: step.achieved_goal, desired: step.desired_goal }));
    for (const [k, action] of actions.entries()) writer.append({ observation: seen[k] as (typeof seen)[number], action, reward: rewards[k] as number });
    writer.endEpisode({ final: { observation: seen.at(-1) as (typeof seen)[number], action: [0], reward: 0 }, terminated });
  }
  return replay.tables.t;
}

test.each(["future", "final", "episode"] as const)("goals, rewards and dones equal those of Stable-Baselines3: %s", (strategy) => {
  const view = filled().transitions({ gamma: 1, relabel: { ...paths, strategy, share: 1, reward } });
  const first = recorded.episodes.flatMap(({ steps }) => steps.slice(0, -1).map(({ observation }) => observation.join()));
  const goals = first.map(() => new Map<string, object>());
  for (let round = 0; round < 40; round++) {
    const { count, observation, nextObservation, returns, terminated } = view.sample(256);
    for (let i = 0; i < count; i++) {
      const goal = [...observation.desired.data.subarray(2 * i, 2 * i + 2)];
      expect([...nextObservation.desired.data.subarray(2 * i, 2 * i + 2)]).toEqual(goal);
      const t = first.indexOf(observation.seen.data.subarray(2 * i, 2 * i + 2).join());
      goals[t]?.set(goal.join(), { goal, reward: returns.data[i], done: terminated.data[i] });
    }
  }
  const inOrder = (of: Map<string, object>) =>
    ([...of.values()] as { goal: [number, number] }[]).sort((a, b) => a.goal[0] - b.goal[0] || a.goal[1] - b.goal[1]);
  // Adding 0 converts -0 to 0.
  const expected = recorded.strategies[strategy].map((of) => of.map((one) => ({ ...one, reward: one.reward + 0 })));
  expect(goals.map(inOrder)).toEqual(expected);
});

test("the number of relabelled transitions per batch equals that of n_sampled_goal", () => {
  const t = filled();
  for (const { sampled, size, count } of recorded.virtual) {
    const { relabelled } = t.transitions({ gamma: 1, relabel: { ...paths, share: 1 - 1 / (sampled + 1), reward } }).sample(size);
    expect(
      relabelled.data.reduce((a, b) => a + b),
      `${sampled} of ${size}`,
    ).toBe(count);
  }
});
