"""Draws batches of 32 transitions of four frames each from memories of NumPy and cpprb that store each frame once, unpacked.

    python peers.py FOLDER FRAMES GAME ...
"""

import sys
import time
from pathlib import Path

import numpy as np
from cpprb import ReplayBuffer

SIDE, STACK, BATCH, ROUNDS = 84, 4, 32, 60


def frames_of(folder, count, games):
    """Returns the first frames of each game, one game after the other."""
    each = count // len(games)
    parts = [np.fromfile(Path(folder) / f"{game}.bin", np.uint8).reshape(-1, SIDE, SIDE) for game in games]
    return np.concatenate([np.resize(part, (each, SIDE, SIDE)) for part in parts])


def numpy_draw(frames):
    """Returns a function that gathers a batch with np.take into a reused array, and copies both stacks."""
    rng = np.random.default_rng(0)
    window = np.arange(STACK + 1)
    stacks = np.empty((BATCH, STACK + 1, SIDE, SIDE), np.uint8)

    def draw():
        starts = rng.integers(len(frames) - STACK, size=BATCH)
        np.take(frames, starts[:, None] + window, axis=0, out=stacks, mode="clip")
        return stacks[:, :STACK].copy(), stacks[:, 1:].copy()

    return draw


def cpprb_draw(frames):
    env = {"obs": {"shape": (SIDE, SIDE, STACK), "dtype": np.uint8}, "act": {"dtype": np.int32}, "rew": {"dtype": np.float32}, "done": {"dtype": np.bool_}}
    buffer = ReplayBuffer(len(frames) - STACK, env, next_of="obs", stack_compress="obs")
    for at in range(len(frames) - STACK):
        now, after = (np.moveaxis(frames[k : k + STACK], 0, -1) for k in (at, at + 1))
        buffer.add(obs=now, act=0, rew=1, next_obs=after, done=False)
    return lambda: buffer.sample(BATCH)


def rate(draw):
    """Returns thousands of transitions per second: the median of the faster half of all rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(10):
            draw()
        times.append((time.perf_counter() - start) / 10)
    return BATCH / 1000 / sorted(times)[ROUNDS // 4]


def main(folder, count, games):
    frames = frames_of(folder, count, games)
    for name, make in (("NumPy", numpy_draw), ("cpprb", cpprb_draw)):
        print(f"{f'{name}, {count} frames as they are':44} {rate(make(frames)):.0f} k/s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
