"""Creates the transitions that all libraries store: 41 bytes in five leaves, as in Reprise."""
import numpy as np

ALPHA = 0.6
BETA = 0.4
BLOCK = 1000
EPISODE = 1000
SETS = 16
FRAMES = 512
STACK = 4
SIDE = 84
WIDTH = 64


def columns(n=BLOCK):
    """Returns n transitions."""
    random = np.random.default_rng(42)
    return {
        "observation": random.random((n, 4), np.float32),
        "action": random.integers(0, 4, n, np.int32),
        "reward": random.random(n, np.float32),
        "nextObservation": random.random((n, 4), np.float32),
        "done": np.arange(n) % EPISODE == EPISODE - 1,
    }


def steps(n=BLOCK):
    """Returns the same transitions as a list of steps, as an environment would produce them."""
    block = columns(n)
    return [{name: value[i] for name, value in block.items()} for i in range(n)]


def priorities(n, dtype=np.float64):
    """Returns priorities like TD errors."""
    return np.random.default_rng(7).random(n).astype(dtype) + dtype(0.01)


def priority_sets(batch, dtype=np.float64):
    random = np.random.default_rng(11)
    return [random.random(batch).astype(dtype) + dtype(0.01) for _ in range(SETS)]


def film(task):
    """Returns noise, or the first frames of recordings. The first frames are repeated after the last ones, so that each stack is a slice."""
    shape = (FRAMES, SIDE, SIDE)
    if "screens" in task:
        frames = np.concatenate([np.fromfile(file, np.uint8, FRAMES * SIDE * SIDE).reshape(shape) for file in task["screens"]])
    else:
        frames = np.random.default_rng(13).integers(0, 256, shape, np.uint8)
    return np.concatenate([frames, frames[: STACK + 1]])


def repeated(work):
    """Returns a function that makes n calls."""

    def run(n):
        for _ in range(n):
            work()

    return run


def cycling(draw, update, batch, dtype=np.float64):
    """Returns a function that makes n draws, each followed by new priorities for the drawn items."""
    sets = priority_sets(batch, dtype)

    def run(n):
        for k in range(n):
            update(draw(), sets[k % SETS])

    return run


def adding(add, all_steps):
    """Returns a function that adds n steps. It cycles through all_steps."""
    at = 0

    def run(n):
        nonlocal at
        for _ in range(n):
            add(all_steps[at])
            at = (at + 1) % BLOCK

    return run
