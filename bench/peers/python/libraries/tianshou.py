"""Measures Tianshou: NumPy arrays in a Batch. The buffer receives its arrays directly (set_batch), because `add` accepts one step per call."""
import numpy as np
from tianshou.data import Batch, PrioritizedReplayBuffer, ReplayBuffer

from source import ALPHA, BETA, BLOCK, STACK, adding, columns, cycling, film, priorities, repeated, steps

PACKAGE = "tianshou"
CANNOT = {"windows": "stacks observations, but has no windows of whole steps"}


def _columns(batch):
    found = {
        "observation": batch.obs,
        "action": batch.act,
        "reward": batch.rew,
        "nextObservation": batch.obs_next,
        "done": batch.done,
    }
    return found | ({"weights": batch.weight} if "weight" in batch else {})


def _named(block):
    return dict(
        obs=block["observation"],
        act=block["action"],
        rew=block["reward"],
        terminated=block["done"],
        truncated=np.zeros_like(block["done"]),
        obs_next=block["nextObservation"],
    )


def _given(buffer, size, block):
    arrays = {name: np.empty((size, *value.shape[1:]), value.dtype) for name, value in block.items()}
    period = len(block["rew"])
    for name, value in block.items():
        for k in range(0, size, period):
            part = arrays[name][k : k + period]
            part[:] = value[: len(part)]
    arrays["done"] = arrays["terminated"] | arrays["truncated"]
    buffer.set_batch(Batch(**arrays))
    buffer._size = size
    buffer.last_index = np.array([size - 1])
    return buffer


def _prioritized(size):
    buffer = _given(PrioritizedReplayBuffer(size, alpha=ALPHA, beta=BETA), size, _named(columns()))
    new = np.resize(priorities(BLOCK), size)
    buffer.init_weight(np.arange(size))
    buffer.update_weight(np.arange(size), new)
    return buffer


def uniform(task):
    buffer = _given(ReplayBuffer(task["steps"]), task["steps"], _named(columns()))
    draw = lambda: buffer.sample(task["batch"])
    return repeated(draw), lambda: _columns(draw()[0])


def prioritized(task):
    buffer = _prioritized(task["steps"])
    draw = lambda: buffer.sample(task["batch"])
    if not task.get("cycle"):
        return repeated(draw), lambda: _columns(draw()[0])
    return cycling(draw, lambda drawn, new: buffer.update_weight(drawn[1], new), task["batch"]), lambda: _columns(draw()[0])


def frames(task):
    """With stack_num, ignore_obs_next and save_only_last_obs, each frame is stored once, and stacks are created at each draw."""
    size = task["steps"]
    some = film(task)[: -STACK - 1]
    block = dict(
        obs=some,
        act=np.zeros(len(some), np.int32),
        rew=np.ones(len(some), np.float32),
        terminated=np.zeros(len(some), bool),
        truncated=np.zeros(len(some), bool),
    )
    buffer = _given(ReplayBuffer(size, stack_num=STACK, ignore_obs_next=True, save_only_last_obs=True), size, block)
    draw = lambda: buffer.sample(task["batch"])
    return repeated(draw), lambda: _columns(draw()[0])


def add(task):
    size = task["steps"]
    buffer = _prioritized(size) if task.get("priorities") else _given(ReplayBuffer(size), size, _named(columns()))
    given = [Batch(**_named(step)) for step in steps()]
    return adding(buffer.add, given), lambda: _columns(buffer.sample(task["batch"])[0])
