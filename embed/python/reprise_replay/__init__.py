"""Experience replay by embed.wasm: the same bytes as Reprise's TypeScript API. docs/embedding.md has the lines and the calls."""

from .instance import Instance, ReplayError
from .replay import BLOCKED, ENDED, STATS, TERMINATED, TRUNCATED, Replay

__all__ = ["BLOCKED", "ENDED", "STATS", "TERMINATED", "TRUNCATED", "Instance", "Replay", "ReplayError"]
