"""Writes a small Minari dataset with nested spaces, texts, infos and options, using the real minari, and the content that minari reads.

python write_minari.py OUT_DIR        (needs minari[hdf5,arrow,create]; wrote with minari 0.5.4)
"""
import json
import os
import sys
import zlib
import numpy as np

out = sys.argv[1]
os.environ["MINARI_DATASETS_PATH"] = os.path.abspath(os.path.join(out, "minari"))
import gymnasium as gym  # noqa: E402
import minari  # noqa: E402
from gymnasium import spaces  # noqa: E402
from minari.data_collector.episode_buffer import EpisodeBuffer  # noqa: E402


class Walk(gym.Env):
    observation_space = spaces.Dict({
        "at": spaces.Box(-9, 9, (2,), np.float64),
        "said": spaces.Text(12, charset="abcdefghijklmnopqrstuvwxyz é0123456789"),
        "both": spaces.Tuple((spaces.Discrete(100), spaces.Box(0, 255, (2, 3), np.uint8))),
        "flags": spaces.MultiBinary(3),
    })
    action_space = spaces.Dict({"way": spaces.Discrete(4), "force": spaces.Box(-1, 1, (1,), np.float32)})

    def observation(self):
        return {"at": self.at.copy(), "said": f"step {self.t} é", "both": (np.int64(self.t), np.full((2, 3), self.t, np.uint8)),
                "flags": np.array([self.t & 1, 1, 0], np.int8)}

    def info(self):
        return {"energy": np.float32(self.t * 0.5), "deep": {"count": np.int64(self.t)}}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.at = 0, np.zeros(2)
        return self.observation(), self.info()

    def step(self, action):
        self.t += 1
        self.at += self.np_random.normal(size=2) * action["force"][0]
        return self.observation(), float(self.t) / 4, self.t >= 5 and bool(action["way"] % 2), False, self.info()


class Frames(gym.Env):
    observation_space = spaces.Box(0, 255, (32, 40, 3), np.uint8)
    action_space = spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.frame(), {}

    def frame(self):
        y, x = np.mgrid[:32, :40]
        return np.stack([(x * 6 + self.t * 9) % 256, y * 7, np.full_like(x, 20 * self.t)], -1).astype(np.uint8)

    def step(self, action):
        self.t += 1
        return self.frame(), 1.0, False, self.t >= 3, {}


def record(env, name, episodes, steps, **more):
    env = minari.DataCollector(gym.wrappers.TimeLimit(env, steps), **more)
    env.action_space.seed(7)
    for i in range(episodes):
        env.reset(seed=100 + i, options={"wind": {"speed": 0.5 * i}})
        done = False
        while not done:
            _, _, term, trunc, _ = env.step(env.action_space.sample())
            done = term or trunc
    return env.create_dataset(dataset_id=name, algorithm_name="random", author="reprise", author_email="none@example.org", code_permalink="none", eval_env=None)


def read(value):
    if isinstance(value, dict):
        return {k: read(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return [read(v) for v in value]
    if isinstance(value, list):
        return value
    return {"dtype": str(value.dtype), "shape": list(value.shape), "crc32": zlib.crc32(np.ascontiguousarray(value).tobytes())}


expected = {}
for ds in [record(Walk(), "walk/nested-v0", 3, 9, record_infos=True), record(Frames(), "frames/jpeg-v0", 2, 3)]:
    expected[ds.id] = [{"observations": read(e.observations), "actions": read(e.actions), "rewards": read(e.rewards), "infos": read(e.infos or {}),
                        "terminated": bool(e.terminations[-1])} for e in ds.iterate_episodes()]
frame = Frames()
expected["frames/jpeg-v0"][0]["first frame"] = frame.reset()[0][::8, ::8].tolist()
json.dump(expected, open(f"{out}/expected_minari.json", "w"), indent=1)
# The same walk in Minari's Parquet form. A reader must return the same content as from the HDF5.
walk = minari.load_dataset("walk/nested-v0")
buffers = [EpisodeBuffer(id=int(e.id), seed=100 + int(e.id), options={"wind": {"speed": 0.5 * int(e.id)}}, observations=e.observations, actions=e.actions, rewards=e.rewards,
                         terminations=e.terminations, truncations=e.truncations, infos=e.infos) for e in walk.iterate_episodes()]
minari.create_dataset_from_buffers("table/walk-v0", buffers, observation_space=walk.observation_space, action_space=walk.action_space, data_format="parquet")
