"""Defines limits for untrusted peers."""

from __future__ import annotations

import math
import operator
import time
from typing import Any, NamedTuple

from ..instance import must

#: The range of `frame_bytes`. With a smaller limit, the text of a block would not fit in a frame.
_LEAST_FRAME_BYTES, _MOST_FRAME_BYTES = 1 << 17, 1 << 30


class Limits(NamedTuple):
    """The limits that an accepting end sets for writers."""

    #: The maximum size of a frame in bytes, also with its columns written out. `max_size` of `websockets.serve` is another limit.
    frame_bytes: int = 4 << 20
    #: The maximum number of unconfirmed bytes. A frame counts with its size, or with the size of its columns written out if that is larger.
    in_flight_bytes: int = 8 << 20
    #: The maximum average number of steps, and of bytes, per second. If a writer exceeds it, blocks wait, and the writer waits with them.
    steps_per_second: float = math.inf
    bytes_per_second: float = math.inf
    #: The maximum number of lanes of an actor.
    lanes: int = 1024
    #: The maximum number of sessions that a Replay stores: sessions whose actors may return, or may ask how the session ended.
    sessions: int = 4096

    def checked(self) -> Limits:
        """Returns these limits after a check.

        Raises ReplayError: `INVALID` if a limit is out of range.
        """
        whole(self.frame_bytes, "frame_bytes", _LEAST_FRAME_BYTES, _MOST_FRAME_BYTES)
        for name in ("in_flight_bytes", "lanes", "sessions"):
            whole(getattr(self, name), name, 1)
        for name in ("steps_per_second", "bytes_per_second"):
            must(getattr(self, name) >= 1, f"INVALID: {name} must be 1 or more, got {getattr(self, name)}")
        return self


def whole(value: Any, name: str, least: int, most: int = 2**53 - 1) -> int:
    """Returns an integer after a range check.

    Raises ReplayError: `INVALID`.
    """
    is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
    must(is_whole and least <= operator.index(value) <= most, f"INVALID: {name} must be an integer from {least} to {most}, got {value!r}")
    return operator.index(value)


class Throttle:
    """A token bucket with the capacity of one second."""

    def __init__(self, per_second: float) -> None:
        #: The limit, which may change. Recent use still counts.
        self.per_second = per_second
        self._level, self._at = 0.0, time.monotonic()

    def take(self, n: int) -> float:
        """Takes n tokens, and returns the seconds until more may be taken."""
        if self.per_second == math.inf:
            return 0.0
        now = time.monotonic()
        self._level = max(0.0, self._level - (now - self._at) * self.per_second) + n
        self._at = now
        return max(0.0, self._level / self.per_second - 1)
