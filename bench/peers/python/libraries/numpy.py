"""Measures the baseline: arrays and fancy indexing without a library. It lacks order, keys and episodes, which a programmer would still have to write."""
import numpy as np

from source import BLOCK, STACK, WIDTH, adding, columns, film, repeated, steps

PACKAGE = "numpy"


def _arrays(n):
    block = columns()
    arrays = {name: np.empty((n, *value.shape[1:]), value.dtype) for name, value in block.items()}
    for name, value in block.items():
        for k in range(0, n, BLOCK):
            arrays[name][k : k + BLOCK] = value
    return arrays


def uniform(task):
    arrays = _arrays(task["steps"])
    random = np.random.default_rng(1)
    batch, size = task["batch"], task["steps"]

    def draw():
        index = random.integers(0, size, batch)
        return {name: array[index] for name, array in arrays.items()}

    return repeated(draw), draw


def frames(task):
    size, batch = task["steps"], task["batch"]
    some = film(task)
    store = np.empty((size + STACK, *some.shape[1:]), np.uint8)
    for k in range(0, len(store), len(some) - STACK - 1):
        part = store[k : k + len(some) - STACK - 1]
        part[:] = some[: len(part)]
    action, reward, done = np.zeros(size, np.int32), np.ones(size, np.float32), np.zeros(size, bool)
    random = np.random.default_rng(1)
    stack = np.arange(STACK)

    def draw():
        index = random.integers(0, size, batch)
        window = index[:, None] + stack
        return {
            "observation": store[window],
            "action": action[index],
            "reward": reward[index],
            "nextObservation": store[window + 1],
            "done": done[index],
        }

    return repeated(draw), draw


def windows(task):
    size, batch, length = task["steps"], task["batch"], task["length"]
    store = np.empty((size, WIDTH), np.float32)
    store[:] = np.random.default_rng(19).random(WIDTH, np.float32)
    random = np.random.default_rng(1)
    window = np.arange(length)

    def draw():
        starts = random.integers(0, size - length + 1, batch)
        return {"x": store[starts[:, None] + window]}

    return repeated(draw), draw


def add(task):
    size = task["steps"]
    arrays = _arrays(size)
    at = 0

    def one(step):
        nonlocal at
        for name, array in arrays.items():
            array[at] = step[name]
        at = (at + 1) % size

    return adding(one, steps()), lambda: {name: array[: task["batch"]] for name, array in arrays.items()}
