"""Experience replay with embed.wasm and NumPy arrays. It produces the same bytes as the TypeScript API of Reprise.

docs/embed/protocol.md describes the lines and the calls.
"""

from .batches import Batches
from .columns import Batch, Column
from .instance import Instance, ReplayError
from .replay import BLOCKED, ENDED, STATS, TERMINATED, TRUNCATED, Replay, epoch_state

__all__ = ["BLOCKED", "ENDED", "STATS", "TERMINATED", "TRUNCATED", "Batch", "Batches", "Column", "Instance", "Replay", "ReplayError", "epoch_state"]
