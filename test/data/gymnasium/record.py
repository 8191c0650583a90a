"""Records CartPole-v1 with the real gymnasium: whole episodes, and the results of a SyncVectorEnv in each autoreset mode.

python record.py OUT.json        (needs gymnasium 1.1 or later)

Numbers are the shortest decimals that represent the same float32. README.md of this folder describes the file.
"""
import json
import sys
import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv


def number(x):
    """Returns the shortest decimal that represents a float32."""
    short = float(str(np.float32(x)))
    assert np.float32(short) == np.float32(x)
    return short


def numbers(array):
    return [number(x) for x in array] if np.ndim(array) == 1 else [numbers(row) for row in array]


class Log(gym.Wrapper):
    """Records every episode as it was played. The last episode may still be open, in which case both flags are false."""

    def __init__(self, env):
        super().__init__(env)
        self.episodes = []

    def reset(self, **options):
        observation, info = self.env.reset(**options)
        self.episodes.append(dict(observations=[numbers(observation)], actions=[], rewards=[], terminated=False, truncated=False))
        return observation, info

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        episode = self.episodes[-1]
        episode["observations"].append(numbers(observation))
        episode["actions"].append(int(action))
        episode["rewards"].append(number(reward))
        episode.update(terminated=bool(terminated), truncated=bool(truncated))
        return observation, reward, terminated, truncated, info


def random(observation, rng):
    return int(rng.integers(2))


def leaning(observation, rng):
    return balancing(observation, rng) if rng.random() < 0.3 else random(observation, rng)


def balancing(observation, rng):
    return int(observation @ np.float32([0.1, 0.3, 1.5, 0.5]) > 0)


def record(name, policy, seed, max_episode_steps=500, **options):
    env = Log(gym.make("CartPole-v1", max_episode_steps=max_episode_steps, **options))
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    done = False
    while not done:
        observation, _, terminated, truncated, _ = env.step(policy(observation, rng))
        done = terminated or truncated
    [episode] = env.episodes
    return dict(name=name, policy=policy.__name__, seed=seed, max_episode_steps=max_episode_steps, **options, **episode)


def episodes():
    for seed in range(6):
        yield record(f"random {seed}", random, seed)
    for seed in range(6):
        yield record(f"leaning {seed}", leaning, seed)
    for seed in range(4):
        yield record(f"limit of 60, {seed}", balancing, seed, 60)
    for seed in range(4):
        yield record(f"limit of 20, {seed}", leaning, seed, 20)
    yield record("limit of 500", balancing, 7)
    yield record("limit of 1", random, 8, 1)
    # The time limit is reached in the same step in which the pole falls, so both flags are true.
    for seed in range(3):
        length = len(record("", random, seed)["actions"])
        yield record(f"both, {seed}", random, seed, length)
    # Other rewards: 0, and -1 for falling.
    for seed in range(3):
        yield record(f"Sutton and Barto's reward, {seed}", random, seed, sutton_barto_reward=True)


def vector(mode, lanes=3, steps=150, seed=3, limit=18):
    envs = SyncVectorEnv([lambda: Log(gym.make("CartPole-v1", max_episode_steps=limit)) for _ in range(lanes)], autoreset_mode=mode)
    rng = np.random.default_rng(seed)
    observation, _ = envs.reset(seed=seed)
    result = dict(autoreset_mode=mode.name, seed=seed, max_episode_steps=limit, first=numbers(observation), steps=[])
    for _ in range(steps):
        actions = [random(o, rng) for o in observation]
        observation, reward, terminated, truncated, info = envs.step(np.array(actions))
        step = dict(actions=actions, observation=numbers(observation), reward=numbers(reward), terminated=terminated.tolist(), truncated=truncated.tolist())
        if "final_obs" in info:
            step["final_obs"] = [numbers(o) if given else None for o, given in zip(info["final_obs"], info["_final_obs"])]
        done = terminated | truncated
        if mode is AutoresetMode.DISABLED and done.any():
            observation, _ = envs.reset(options=dict(reset_mask=done))
            step["reset"] = numbers(observation)
        result["steps"].append(step)
    result["lanes"] = [env.episodes for env in envs.envs]
    return result


def lines(values):
    return "[\n" + ",\n".join(json.dumps(value, separators=(",", ":")) for value in values) + "\n]"


def main():
    alone, together = list(episodes()), [vector(mode) for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED)]
    flags = [{(e["terminated"], e["truncated"]) for e in es} for es in [alone] + [sum(v["lanes"], []) for v in together]]
    print(f"{len(alone)} episodes of {sum(len(e['actions']) for e in alone)} steps; ends (terminated, truncated):", *flags, sep="\n")
    with open(sys.argv[1], "w") as f:
        f.write(f'{{"environment":"CartPole-v1","gymnasium":"{gym.__version__}","episodes":{lines(alone)},"vector":{lines(together)}}}\n')


if __name__ == "__main__":
    main()
