"""Measures Stable-Baselines3: NumPy arrays, and batches as torch tensors. Its arrays are filled directly, because `add` accepts one step per call."""
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.buffers import ReplayBuffer

from source import BLOCK, SIDE, STACK, adding, columns, film, repeated, steps

PACKAGE = "stable_baselines3"
CANNOT = {
    "prioritized": "has no prioritized buffer",
    "windows": "its buffer has no windows",
}


def _columns(drawn):
    return {
        "observation": drawn.observations,
        "action": drawn.actions,
        "reward": drawn.rewards,
        "nextObservation": drawn.next_observations,
        "done": drawn.dones,
    }


def _filled(size):
    # Actions have 4 bytes, as in Reprise. By default, actions of Discrete have 8 bytes.
    buffer = ReplayBuffer(size, spaces.Box(-1, 1, (4,), np.float32), spaces.Discrete(4, dtype=np.int32), device="cpu")
    block = columns()
    for k in range(0, size, BLOCK):
        part = slice(k, k + BLOCK)
        buffer.observations[part, 0] = block["observation"]
        buffer.next_observations[part, 0] = block["nextObservation"]
        buffer.actions[part, 0, 0] = block["action"]
        buffer.rewards[part, 0] = block["reward"]
        buffer.dones[part, 0] = block["done"]
        buffer.timeouts[part, 0] = 0
    buffer.full = True
    return buffer


def uniform(task):
    buffer = _filled(task["steps"])
    draw = lambda: buffer.sample(task["batch"])
    return repeated(draw), lambda: _columns(draw())


def frames(task):
    """With optimize_memory_usage, a stack is stored once and also serves as the next stack of the previous step. Each frame is stored four times."""
    size = task["steps"]
    shape = spaces.Box(0, 255, (STACK, SIDE, SIDE), np.uint8)
    actions = spaces.Discrete(4, dtype=np.int32)
    buffer = ReplayBuffer(size, shape, actions, device="cpu", optimize_memory_usage=True, handle_timeout_termination=False)
    some = film(task)
    period = len(some) - STACK - 1
    for k in range(size):
        buffer.observations[k, 0] = some[k % period : k % period + STACK]
    buffer.actions[:] = 0
    buffer.rewards[:] = 1
    buffer.dones[:] = 0
    buffer.full = True
    draw = lambda: buffer.sample(task["batch"])
    return repeated(draw), lambda: _columns(draw())


def add(task):
    if task.get("priorities"):
        raise NotImplementedError(CANNOT["prioritized"])
    buffer = _filled(task["steps"])
    given = [
        (
            step["observation"][None],
            step["nextObservation"][None],
            np.array([step["action"]]),
            np.array([step["reward"]]),
            np.array([step["done"]]),
            [{}],
        )
        for step in steps()
    ]
    return adding(lambda step: buffer.add(*step), given), lambda: _columns(buffer.sample(task["batch"]))
