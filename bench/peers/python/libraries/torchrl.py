"""Measures TorchRL: tensors of a TensorDict in one storage (LazyTensorStorage), and segment trees in C++."""
import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, ReplayBufferEnsemble, TensorDictPrioritizedReplayBuffer, TensorDictReplayBuffer
from torchrl.data.replay_buffers.samplers import SliceSampler
from torchrl.data.replay_buffers.samplers.prioritized import SumSegmentTreeFp32

from source import ALPHA, BETA, BLOCK, WIDTH, adding, columns, cycling, priorities, repeated, steps

PACKAGE = "torchrl"
CANNOT = {"frames": "stores no frame once: its CatFrames makes stacks of a batch's slices"}


def _block():
    return TensorDict({name: torch.from_numpy(value) for name, value in columns().items()}, batch_size=[BLOCK])


def _filled(buffer, size):
    block = _block()
    for _ in range(0, size, BLOCK):
        buffer.extend(block)
    return buffer


def _columns(drawn):
    found = {name: drawn[name] for name in columns(1)}
    weights = drawn.get("priority_weight", drawn.get("_weight", None))
    return found | ({} if weights is None else {"weights": weights})


def _uniform(batch, size):
    return _filled(TensorDictReplayBuffer(storage=LazyTensorStorage(size), batch_size=batch), size)


def _prioritized(batch, size):
    if SumSegmentTreeFp32 is None:
        raise NotImplementedError(f"its segment tree in C++ was built for another torch than {torch.__version__}")
    buffer = TensorDictPrioritizedReplayBuffer(alpha=ALPHA, beta=BETA, storage=LazyTensorStorage(size), batch_size=batch)
    _filled(buffer, size)
    buffer.update_priority(torch.arange(size), torch.from_numpy(priorities(BLOCK)).float().repeat(size // BLOCK))
    return buffer


def uniform(task):
    buffer = _uniform(task["batch"], task["steps"])
    return repeated(buffer.sample), lambda: _columns(buffer.sample())


def mixture(task):
    """Draws half of a batch from each of two buffers and stacks them. The stack is flattened only for the comparison."""
    halves = [_uniform(task["batch"] // 2, task["steps"] // 2) for _ in range(2)]
    ensemble = ReplayBufferEnsemble(*halves, sample_from_all=True, batch_size=task["batch"])
    return repeated(ensemble.sample), lambda: _columns(ensemble.sample().flatten())


def prioritized(task):
    buffer = _prioritized(task["batch"], task["steps"])
    if not task.get("cycle"):
        return repeated(buffer.sample), lambda: _columns(buffer.sample())

    def update(drawn, new):
        buffer.update_priority(drawn["index"], torch.from_numpy(new))

    return cycling(buffer.sample, update, task["batch"]), lambda: _columns(buffer.sample())


def windows(task):
    """Uses a SliceSampler on one trajectory. Its bounds are cached between draws (cache_values), because nothing is added in the meantime."""
    batch, size, length = task["batch"], task["steps"], task["length"]
    sampler = SliceSampler(slice_len=length, traj_key="episode", cache_values=True)
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(size), sampler=sampler, batch_size=batch * length)
    block = TensorDict({"x": torch.rand(BLOCK, WIDTH), "episode": torch.zeros(BLOCK, dtype=torch.int32)}, batch_size=[BLOCK])
    _filled_with(buffer, block, size)
    return repeated(buffer.sample), lambda: {"x": buffer.sample()["x"].reshape(batch, length, WIDTH)}


def _filled_with(buffer, block, size):
    for _ in range(0, size, BLOCK):
        buffer.extend(block)


def add(task):
    buffer = (_prioritized if task.get("priorities") else _uniform)(task["batch"], task["steps"])
    given = [TensorDict({name: torch.as_tensor(value) for name, value in step.items()}, batch_size=[]) for step in steps()]
    return adding(buffer.add, given), lambda: _columns(buffer.sample())
