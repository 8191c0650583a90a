"""Measures PFRL: a queue with a dict per transition. batch_experiences converts the drawn transitions to torch tensors, as in its agents."""
import numpy as np
import torch
from pfrl.replay_buffer import batch_experiences
from pfrl.replay_buffers import PrioritizedReplayBuffer, ReplayBuffer
from pfrl.wrappers.atari_wrappers import LazyFrames

from source import ALPHA, BETA, STACK, adding, cycling, film, priority_sets, repeated, steps

PACKAGE = "pfrl"
CANNOT = {"windows": "draws pieces of episodes, shorter where they end: no windows of one length"}
CPU = torch.device("cpu")


def _named(step):
    return dict(
        state=step["observation"],
        action=step["action"],
        reward=step["reward"],
        next_state=step["nextObservation"],
        is_state_terminal=step["done"],
    )


def _filled(buffer, size):
    # Each transition has its own arrays, as if they came from an environment.
    given = [_named(step) for step in steps()]
    for k in range(size):
        step = given[k % len(given)]
        buffer.append(**step | {"state": step["state"].copy(), "next_state": step["next_state"].copy()})
    return buffer


def _batch(experiences, phi=lambda state: state):
    return batch_experiences(experiences, CPU, phi, 0.99)


def _columns(batch):
    found = {
        "observation": batch["state"],
        "action": batch["action"],
        "reward": batch["reward"],
        "nextObservation": batch["next_state"],
        "done": batch["is_state_terminal"],
    }
    return found | ({"weights": batch["weights"]} if "weights" in batch else {})


def uniform(task):
    buffer = _filled(ReplayBuffer(task["steps"]), task["steps"])
    draw = lambda: _batch(buffer.sample(task["batch"]))
    return repeated(draw), lambda: _columns(draw())


def prioritized(task):
    if not task.get("cycle"):
        raise NotImplementedError("a sample must be followed by an update")
    batch = task["batch"]
    buffer = _filled(PrioritizedReplayBuffer(task["steps"], alpha=ALPHA, beta0=BETA, betasteps=None), task["steps"])
    new = priority_sets(batch)[0].tolist()

    def draw():
        experiences = buffer.sample(batch)
        drawn = _batch(experiences)
        # Weights are used as in PFRL's agents.
        drawn["weights"] = torch.tensor([one[0]["weight"] for one in experiences], dtype=torch.float32)
        return drawn

    update = lambda _, new: buffer.update_errors(new.tolist())

    def described():
        drawn = draw()
        buffer.update_errors(new)
        return _columns(drawn)

    return cycling(draw, update, batch), described


def frames(task):
    """Uses LazyFrames as states, like PFRL's Atari wrappers: stacks share their frames, and are created at each draw."""
    buffer = ReplayBuffer(task["steps"])
    some = film(task)
    period = len(some) - STACK - 1
    # Each frame is a separate array, as if it came from an environment.
    recent = [some[k][None].copy() for k in range(STACK)]
    state = LazyFrames(recent, stack_axis=0)
    for k in range(task["steps"]):
        recent = [*recent[1:], some[(k + STACK) % period][None].copy()]
        following = LazyFrames(recent, stack_axis=0)
        buffer.append(state=state, action=np.int32(k & 3), reward=1.0, next_state=following, is_state_terminal=False)
        state = following
    draw = lambda: _batch(buffer.sample(task["batch"]), np.asarray)
    return repeated(draw), lambda: _columns(draw())


def add(task):
    kind = (lambda size: PrioritizedReplayBuffer(size, alpha=ALPHA)) if task.get("priorities") else ReplayBuffer
    buffer = _filled(kind(task["steps"]), task["steps"])
    given = [_named(step) for step in steps()]
    experiences = buffer.sample(task["batch"])
    if task.get("priorities"):
        buffer.update_errors([1.0] * task["batch"])
    found = _columns(_batch(experiences))
    return adding(lambda step: buffer.append(**step), given), lambda: found
