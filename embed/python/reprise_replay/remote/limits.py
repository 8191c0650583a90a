"""Limits for peers that nobody trusts."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from ..instance import must

#: Less would not hold the text of a block.
_LEAST_FRAME_BYTES = 1 << 17


class Limits(NamedTuple):
    """What an accepting end takes of a writer."""

    #: Bytes of a frame at most, and of its columns written out. `max_size` of `websockets.serve` limits it as well.
    frame_bytes: int = 4 << 20
    #: Bytes of frames that may be unconfirmed.
    in_flight_bytes: int = 8 << 20
    #: Steps and bytes per second on average. Beyond that blocks wait, and the writer with them.
    steps_per_second: float = math.inf
    bytes_per_second: float = math.inf

    def checked(self) -> Limits:
        """These limits.

        Raises ReplayError: `INVALID`.
        """
        must(self.frame_bytes >= _LEAST_FRAME_BYTES, f"INVALID: frame_bytes must be {_LEAST_FRAME_BYTES} or more, got {self.frame_bytes}")
        for name in self._fields[1:]:
            must(getattr(self, name) >= 1, f"INVALID: {name} must be 1 or more, got {getattr(self, name)}")
        return self


class Throttle:
    """A bucket that holds what may come in one second."""

    def __init__(self, per_second: float) -> None:
        self._per_second, self._level, self._at = per_second, 0.0, time.monotonic()

    def take(self, n: int) -> float:
        """Takes n, and returns the seconds until more may be taken."""
        if self._per_second == math.inf:
            return 0.0
        now = time.monotonic()
        self._level = max(0.0, self._level - (now - self._at) * self._per_second) + n
        self._at = now
        return max(0.0, self._level / self._per_second - 1)
