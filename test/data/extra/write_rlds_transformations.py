"""Records the results of the real `rlds` package for small episodes, for test/unit/datasets/rlds/transformations.test.ts.

    python -m venv v && v/bin/pip install tensorflow==2.15.1 rlds==0.1.8
    v/bin/python write_rlds_transformations.py > rlds_transformations.json

`rlds.transformations` imports `reverb` for its patterns, which are not used here: an empty module replaces it if it is not installed.
"""

import json
import sys
import types

try:
    import reverb  # noqa: F401
except ImportError:
    stand_in = types.ModuleType("reverb")
    stand_in.structured_writer = types.SimpleNamespace(Config=None, ReferenceStep=None, Pattern=None, Condition=None)
    sys.modules["reverb"] = stand_in

import numpy as np
import rlds
import tensorflow as tf

T = rlds.transformations


def columns(length, number, terminal):
    """Returns an episode as columns. test/unit/datasets/rlds/transformations.test.ts creates the same."""
    i = np.arange(length)
    last = i == length - 1
    return {
        "observation": {
            "state": np.stack([number + 1 + 0 * i, (i * i) % 7 - 2.5, 0.25 * i * (number + 1)], -1).astype(np.float32),
            "goal": (i * 3 + number).astype(np.int32),
        },
        "action": np.where(last[:, None], 0, np.stack([i, -1.5 + 0 * i], -1)).astype(np.float32),
        "reward": np.where(last, 0, number + i / 8).astype(np.float64),
        "discount": np.ones(length, np.float32),
        "is_first": i == 0,
        "is_last": last,
        "is_terminal": last & terminal,
    }


def steps(length, number=0, terminal=False):
    return tf.data.Dataset.from_tensor_slices(columns(length, number, terminal))


def plain(value):
    return tf.nest.map_structure(lambda x: np.asarray(x).tolist(), value)


def goals(dataset):
    return [plain(step["observation"]["goal"]) for step in dataset]


result = {"batch": [], "shift_keys": [], "truncate": [], "concat_if_terminal": [], "histogram": []}

for length in (1, 2, 4, 7):
    for size in (1, 2, 3, 5):
        for shift in (None, 1, 2, 4):
            for stride in (1, 2, 3):
                for drop in (False, True):
                    windows = T.batch(steps(length), size, shift, stride, drop)
                    i = [[goal // 3 for goal in window] for window in goals(windows)]
                    result["batch"].append([length, size, shift, stride, drop, i])

for length in (1, 2, 5):
    for shift in (-6, -3, -2, -1, 1, 2, 3, 6):
        for keys in (["observation"], ["reward", "is_first"]):
            shifted = T.shift_keys(steps(length, 1), keys, shift)
            result["shift_keys"].append([length, shift, keys, [plain(step) for step in shifted]])

for length in (1, 3, 5):
    for limit in (-1.0, 0.1, 0.3, 9.0):
        kept = T.truncate_after_condition(steps(length), lambda step: step["reward"] > limit)
        result["truncate"].append([length, limit, [plain(step) for step in kept]])

for terminal in (False, True):
    longer = T.concat_if_terminal(steps(3, 2, terminal), tf.data.Dataset.from_tensors)
    result["concat_if_terminal"].append([terminal, [plain(step) for step in longer]])

EPISODES = [(5, 0, True), (1, 1, False), (9, 2, False), (4, 3, True)]


def episodes():
    def one(length, number, terminal):
        return {"steps": steps(length, number, terminal)}

    dataset = tf.data.Dataset.from_tensors(one(*EPISODES[0]))
    for episode in EPISODES[1:]:
        dataset = dataset.concatenate(tf.data.Dataset.from_tensors(one(*episode)))
    return dataset


def masked(step):
    data = {"state": step["observation"]["state"], "action": step["action"], "reward": step["reward"]}
    mask = {"state": True, "action": not step["is_last"], "reward": not step["is_last"]}
    return data, mask


mean, std = T.mean_and_std(episodes(), masked)
result["mean_and_std"] = {"episodes": EPISODES, "mean": plain(mean), "std": plain(std)}
result["episode_length"] = [int(T.episode_length(episode["steps"])) for episode in episodes()]
result["sum_dataset"] = [float(T.sum_dataset(episode["steps"], lambda step: step["reward"])) for episode in episodes()]

random = np.random.RandomState(7)
for values in ([], [2.5], [1, 1, 1], list(range(11)), random.normal(size=40).round(3).tolist(), (random.randint(0, 30, 60) / 10).tolist()):
    for bins in (1, 3, 10):
        counts, edges = np.histogram(values, bins)
        result["histogram"].append([values, bins, counts.tolist(), edges.tolist()])

json.dump(result, sys.stdout, separators=(",", ":"))
