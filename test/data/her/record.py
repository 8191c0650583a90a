"""Records the output of Stable-Baselines3's HerReplayBuffer for completed goal episodes: her.json.

pip install stable-baselines3==2.9.2 gymnasium==1.4.0 numpy==2.4.6; python test/data/her/record.py

The file lists, for each strategy and each transition, every possible goal with its reward and done, and the number of relabeled transitions per batch.
"""
import json
from pathlib import Path

import numpy as np
from gymnasium import Env, spaces
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

BOX = spaces.Box(-100, 100, (2,), np.float32)
SPACE = spaces.Dict({"observation": BOX, "achieved_goal": BOX, "desired_goal": BOX})
# With this many draws, the probability that a goal out of 8 is never drawn is 1e-58.
DRAWS = 1000
# Multiples of an eighth are exact in a float.
random = np.random.default_rng(8)


def vector():
    return (random.integers(-40, 40, 2) / 8).astype(np.float32)


class Goals(Env):
    observation_space = SPACE
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def compute_reward(self, achieved, desired, _infos):
        return -np.abs(achieved - desired).sum(axis=-1)


def main():
    env = DummyVecEnv([Goals])
    episodes = []
    for length, terminated in [(5, True), (8, False), (1, True), (3, False)]:
        desired = vector()
        seen = [{"observation": vector(), "achieved_goal": vector(), "desired_goal": desired} for _ in range(length + 1)]
        actions = (random.integers(-8, 8, (length, 1)) / 8).astype(np.float32)
        rewards = [float(Goals.compute_reward(None, seen[k + 1]["achieved_goal"], desired, {})) for k in range(length)]
        episodes.append((seen, actions, rewards, terminated))
    recorded = {
        "episodes": [
            {
                "steps": [{name: value.tolist() for name, value in one.items()} for one in seen],
                "actions": actions.tolist(),
                "rewards": rewards,
                "terminated": terminated,
            }
            for seen, actions, rewards, terminated in episodes
        ],
        "strategies": {},
        "virtual": [],
    }
    for strategy in ["future", "final", "episode"]:
        buffer = HerReplayBuffer(100, SPACE, Goals.action_space, env, goal_selection_strategy=strategy)
        for seen, actions, rewards, terminated in episodes:
            for k, (action, reward) in enumerate(zip(actions, rewards)):
                last = k + 1 == len(actions)
                add = lambda one: {name: value[None] for name, value in one.items()}
                infos = [{"TimeLimit.truncated": last and not terminated}]
                buffer.add(add(seen[k]), add(seen[k + 1]), action[None], np.array([reward]), np.array([last]), infos)
        np.random.seed(1)
        transitions = []
        for t in range(buffer.pos):
            batch = buffer._get_virtual_samples(np.full(DRAWS, t), np.zeros(DRAWS, dtype=int))
            goals = batch.observations["desired_goal"].numpy()
            assert (goals == batch.next_observations["desired_goal"].numpy()).all()
            found = {}
            for goal, reward, done in zip(goals.tolist(), batch.rewards.tolist(), batch.dones.tolist()):
                found[tuple(goal)] = (reward[0], done[0])
            transitions.append([{"goal": goal, "reward": reward, "done": done} for goal, (reward, done) in sorted(found.items())])
        recorded["strategies"][strategy] = transitions
    for sampled in [1, 2, 3, 4, 8]:
        buffer.n_sampled_goal = sampled
        buffer.her_ratio = 1 - 1.0 / (sampled + 1)
        of = buffer._get_virtual_samples
        for size in [1, 7, 32, 100, 256]:
            counts = []
            buffer._get_virtual_samples = lambda batch, *rest: (counts.append(len(batch)), of(batch, *rest))[1]
            buffer.sample(size)
            recorded["virtual"].append({"sampled": sampled, "size": size, "count": counts[0]})
        buffer._get_virtual_samples = of
    Path(__file__).with_name("her.json").write_text(json.dumps(recorded, separators=(",", ":")) + "\n")


main()
