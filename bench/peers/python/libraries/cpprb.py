"""Measures cpprb: NumPy arrays in a Cython class, and a sum tree in C++."""
import numpy as np
from cpprb import PrioritizedReplayBuffer, ReplayBuffer

from source import ALPHA, BETA, BLOCK, SIDE, STACK, adding, columns, cycling, film, priorities, repeated, steps

PACKAGE = "cpprb"
CANNOT = {"windows": "has no windows of steps"}
NAMES = {"observation": "obs", "action": "act", "reward": "rew", "nextObservation": "next_obs", "done": "done"}
ENV = {
    "obs": {"shape": 4, "dtype": np.float32},
    "act": {"dtype": np.int32},
    "rew": {"dtype": np.float32},
    "next_obs": {"shape": 4, "dtype": np.float32},
    "done": {"dtype": np.bool_},
}


def _named(block):
    return {NAMES[name]: value for name, value in block.items()}


def _columns(batch):
    found = {ours: batch[theirs] for ours, theirs in NAMES.items()}
    return found | ({"weights": batch["weights"]} if "weights" in batch else {})


def _filled(buffer, size, **more):
    block = _named(columns())
    for _ in range(0, size, BLOCK):
        buffer.add(**block, **more)
    return buffer


def uniform(task):
    buffer = _filled(ReplayBuffer(task["steps"], ENV), task["steps"])
    draw = lambda: buffer.sample(task["batch"])
    return repeated(draw), lambda: _columns(draw())


def prioritized(task):
    batch = task["batch"]
    buffer = _filled(PrioritizedReplayBuffer(task["steps"], ENV, alpha=ALPHA), task["steps"], priorities=priorities(BLOCK))
    draw = lambda: buffer.sample(batch, beta=BETA)
    if not task.get("cycle"):
        return repeated(draw), lambda: _columns(draw())
    update = lambda drawn, new: buffer.update_priorities(drawn["indexes"], new)
    return cycling(draw, update, batch), lambda: _columns(draw())


def frames(task):
    """With next_of and stack_compress, each frame is stored once. Stacks are in the last dimension, as the class requires."""
    size = task["steps"]
    env = {"obs": {"shape": (SIDE, SIDE, STACK), "dtype": np.uint8}} | {name: ENV[name] for name in ("act", "rew", "done")}
    buffer = ReplayBuffer(size, env, next_of="obs", stack_compress="obs")
    some = np.moveaxis(film(task), 0, -1)
    period = some.shape[-1] - STACK - 1
    stacks = [np.ascontiguousarray(some[..., k : k + STACK]) for k in range(period + 1)]
    for k in range(size):
        buffer.add(obs=stacks[k % period], act=k & 3, rew=1, next_obs=stacks[k % period + 1], done=False)
    draw = lambda: buffer.sample(task["batch"])
    return repeated(draw), lambda: _columns(draw())


def add(task):
    if task.get("priorities"):
        buffer = _filled(PrioritizedReplayBuffer(task["steps"], ENV, alpha=ALPHA), task["steps"], priorities=priorities(BLOCK))
    else:
        buffer = _filled(ReplayBuffer(task["steps"], ENV), task["steps"])
    return adding(lambda step: buffer.add(**step), [_named(step) for step in steps()]), lambda: _columns(buffer.sample(task["batch"]))
