"""Implements both ends of remote writers, which send steps over a WebSocket with the protocol of docs/reference/actors-protocol.md.

Requires the websockets library: `pip install "reprise-replay[websockets]"`.
"""

try:
    import websockets as _websockets  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError('reprise_replay.remote requires websockets. Run pip install "reprise-replay[websockets]"') from error

from .accept import accept, publish
from .accepted import AcceptedWriter, Goodbye
from .connect import remote_writer
from .limits import Limits
from .writer import RemoteWriter

__all__ = ["AcceptedWriter", "Goodbye", "Limits", "RemoteWriter", "accept", "publish", "remote_writer"]
