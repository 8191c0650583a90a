"""Sends the messages of a program over the socket of a writer, in order and once each."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from .frame import ProtocolError


#: The number of bytes that a message counts in addition to its data, so that empty messages are also limited.
_HEAD = 64


class Messages:
    """Stores messages to the writer, in order, until the writer has confirmed them. A published message waits until the previous
    published message has arrived. If another message is published in the meantime, it replaces the waiting one."""

    def __init__(self) -> None:
        self._number, self._bytes = 0, 0
        self._sent: deque[tuple[int, dict[str, Any], bytes]] = deque()
        self._published: int | None = None
        self._newest: tuple[str, bytes] | None = None

    def begin(self, number: int) -> None:
        """Continues to count from the last message of an earlier Replay, which has lost its state."""
        self._number = max(self._number, number)

    def clear(self) -> None:
        """Drops all messages."""
        self._sent.clear()
        self._bytes, self._newest = 0, None

    @property
    def size(self) -> int:
        """The number of unconfirmed bytes, including heads."""
        return self._bytes

    def push(self, kind: str, data: bytes) -> tuple[dict[str, Any], bytes]:
        """Adds a message, and returns it in the form to send."""
        self._number += 1
        fields = {"number": self._number, "type": kind}
        self._sent.append((self._number, fields, data))
        self._bytes += _HEAD + len(data)
        return fields, data

    def publish(self, kind: str, data: bytes) -> tuple[dict[str, Any], bytes] | None:
        """Publishes a message. Returns the message in the form to send if it can be sent now."""
        if self._published is not None:
            self._newest = kind, data
            return None
        message = self.push(kind, data)
        self._published = self._number
        return message

    def receipt(self, number: int) -> tuple[dict[str, Any], bytes] | None:
        """Drops messages up to this number. Returns the published message that can be sent now, if there is one.

        Raises ProtocolError if no message with this number was sent.
        """
        if number > self._number:
            raise ProtocolError(f"a receipt must refer to a message that was sent, got {number}")
        while self._sent and self._sent[0][0] <= number:
            self._bytes -= _HEAD + len(self._sent.popleft()[2])
        if self._published is None or self._published > number:
            return None
        self._published = None
        if self._newest is None:
            return None
        newest, self._newest = self._newest, None
        return self.publish(*newest)

    def unconfirmed(self) -> list[tuple[dict[str, Any], bytes]]:
        """Returns the messages to send again."""
        return [(fields, data) for _, fields, data in self._sent]


def encoded(data: Any) -> tuple[str, bytes]:
    """Encodes a message of a program: bytes unchanged, and other values as JSON."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return "bytes", bytes(data)
    return "json", json.dumps(data, allow_nan=False).encode()


def decoded(kind: Any, data: memoryview) -> Any:
    """Decodes a message for the program.

    Raises ProtocolError if the message is invalid.
    """
    if kind == "bytes":
        return bytes(data)
    if kind != "json":
        raise ProtocolError('the type of a message must be "bytes" or "json"')
    try:
        return json.loads(bytes(data).decode())
    except (ValueError, RecursionError):
        raise ProtocolError('a message of type "json" must be valid JSON') from None
