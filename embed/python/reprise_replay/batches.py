"""Provides the batches of a Replay as an iterable, for loops and for a Torch DataLoader."""

from __future__ import annotations

import itertools
import operator
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn, SupportsIndex

from .columns import Batch
from .instance import ReplayError, must

if TYPE_CHECKING:
    from .replay import Replay

#: The exponent of a view with weights: a number, or a function of the batch's index.
Beta = float | Callable[[int], float]


class Batches:
    """An iterable of batches. Each batch is drawn when it is requested, so it reflects all steps and priorities written so far. A
    loop draws the same batches as calls to `sample`.

    A Torch `DataLoader` accepts the iterable as an `IterableDataset`: `DataLoader(replay.batches(0, 256), batch_size=None)`.
    Import torch before you create the iterable, because this module does not import torch. `num_workers` must be 0. A worker is
    another process, and would draw from a copy that never changes. Drawing from such a copy raises `UNSUPPORTED`.

    If there is nothing to draw yet, `next` waits up to `timeout` seconds for steps. After that it raises `EMPTY`, `TOO_FEW` or
    `RATE_LIMITED`, as `sample` does, and the iterator remains usable. A batch may be short; `Replay.blocked` then contains the
    reason.
    """

    def __init__(
        self, replay: Replay, view: SupportsIndex, n: SupportsIndex, beta: Beta, count: SupportsIndex | None, timeout: float | None, copy: bool
    ) -> None:
        self._replay, self._view, self._n, self._beta, self._copy = replay, operator.index(view), operator.index(n), beta, copy
        self._count = None if count is None else operator.index(count)
        must(self._count is None or self._count >= 0, f"INVALID: count must be 0 or more, or None for no limit, got {count}")
        must(timeout is None or timeout >= 0, f"INVALID: timeout must be 0 seconds or more, or None for no limit, got {timeout}")
        self._timeout, self._process = timeout, os.getpid()
        torch = sys.modules.get("torch.utils.data")
        if torch is not None:
            # IterableDataset is an abstract base class, so that isinstance() accepts this class without an import of torch.
            torch.IterableDataset.register(type(self))

    def __iter__(self) -> Iterator[Batch]:
        return _Drawn(self)

    def __len__(self) -> int:
        if self._count is None:
            raise TypeError("the batches have no length, because they do not end. Pass count to batches()")
        return self._count

    def __reduce__(self) -> NoReturn:
        raise ReplayError(WORKER)

    def draw(self, index: int) -> Batch:
        """Draws the batch with this index.

        Raises ReplayError: `EMPTY`, `TOO_FEW` or `RATE_LIMITED` if no batch can be drawn before the timeout, `UNSUPPORTED` in
        another process.
        """
        must(os.getpid() == self._process, WORKER)
        beta = self._beta(index) if callable(self._beta) else self._beta
        return self._replay._next(self._view, self._n, beta, self._timeout, self._copy)

    def indices(self) -> Iterator[int]:
        """Yields the indices of the batches."""
        return itertools.count() if self._count is None else iter(range(self._count))


class _Drawn:
    """One pass over Batches. Unlike a generator, the pass can continue after a batch raises an error."""

    def __init__(self, batches: Batches) -> None:
        self._batches, self._left = batches, batches.indices()
        self._index: int | None = None

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self._index is None:
            self._index = next(self._left)
        batch = self._batches.draw(self._index)
        self._index = None
        return batch


WORKER = (
    "UNSUPPORTED: num_workers must be 0, because a worker would draw from a stale copy of the Replay. Remove num_workers from DataLoader()"
)
