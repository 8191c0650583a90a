"""Encodes and decodes the frames of the protocol of remote writers (docs/reference/actors-protocol.md), and validates their fields."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from ..instance import ReplayError

VERSION = 1
_HEAD = struct.Struct("<BBHI")
#: The fields of a frame, as JSON.
Fields = Mapping[str, Any]


class Kind(IntEnum):
    """The kinds of frames."""

    INVITE = 1
    HELLO = 2
    WELCOME = 3
    REFUSED = 4
    BLOCK = 5
    COLUMNS = 6
    FLUSH = 7
    BYE = 8
    CONFIRMATION = 9
    FLUSHED = 10
    CLOSED = 11
    MESSAGE = 12
    RECEIPT = 13
    PING = 14
    PONG = 15


class Close(IntEnum):
    """The codes with which an end closes the socket."""

    NORMAL = 1000
    FAILED = 4000
    REFUSED = 4001
    PROTOCOL = 4002
    TOO_LARGE = 4003
    TOO_MUCH = 4004
    REPLACED = 4005
    SILENT = 4006


#: The codes after which the writer does not return.
FINAL = frozenset({1000, 4000, 4001, 4002, 4003, 4004, 4005})


class ProtocolError(ReplayError):
    """A frame that breaks the protocol. `close`: the code with which the socket is closed."""

    def __init__(self, text: str, close: Close = Close.PROTOCOL) -> None:
        super().__init__(f"INVALID_DATA: {text}")
        self.close = close


class Frame(NamedTuple):
    """One message."""

    kind: Kind
    fields: Fields
    body: memoryview


def pack(kind: Kind, fields: Fields | None = None, parts: Sequence[bytes | memoryview] | None = None) -> bytes:
    """Returns a frame whose body has these parts, each at a multiple of 8."""
    text = json.dumps(fields or {}, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    out = bytearray(_HEAD.pack(kind, 0, 0, len(text)))
    out += text
    for part in parts or []:
        out += bytes(-len(out) % 8)
        out += part
    return bytes(out)


def unpack(data: bytes) -> Frame:
    """Returns the frame in a message.

    Raises ProtocolError if the message is not a frame.
    """
    if len(data) < _HEAD.size:
        raise ProtocolError(f"a frame must have at least {_HEAD.size} bytes, got {len(data)}")
    number, zero, zeros, size = _HEAD.unpack_from(data)
    if zero != 0 or zeros != 0 or not 1 <= number <= len(Kind):
        raise ProtocolError(f"a frame must begin with its kind and three zeros, got {data[:4].hex()}")
    if size > len(data) - _HEAD.size:
        raise ProtocolError(f"the JSON text of a frame must fit in its {len(data)} bytes, got {size}")
    try:
        fields = json.loads(data[_HEAD.size : _HEAD.size + size].decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ProtocolError("a frame must contain one JSON object in UTF-8") from None
    if not isinstance(fields, dict):
        raise ProtocolError("a frame must contain one JSON object")
    return Frame(Kind(number), fields, memoryview(data)[min(_HEAD.size + size + -size % 8, len(data)) :])


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def field(fields: Fields, name: str, check: Callable[[Any], bool], what: str) -> Any:
    """Returns a field that passes a check.

    Raises ProtocolError if the field does not pass.
    """
    value = fields.get(name)
    if not check(value):
        raise ProtocolError(f"{name} must be {what}, got {json.dumps(value)[:80]}")
    return value


def is_count(value: Any) -> bool:
    """Returns whether a value is a non-negative integer that is exact as a double."""
    return is_number(value) and 0 <= value < 2**53 and value == int(value)


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Returns whether a value is a number from -1e308 to 1e308, and so is finite as a double."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e308 <= value <= 1e308


def count(fields: Fields, name: str) -> int:
    return int(field(fields, name, is_count, "an integer of at least 0"))


def counts(fields: Fields, name: str) -> list[int]:
    given = field(fields, name, lambda value: isinstance(value, list) and all(map(is_count, value)), "an array of integers of at least 0")
    return [int(one) for one in given]


def error_of(error: BaseException) -> dict[str, str]:
    """Returns an error in a form from which the other end can recreate it."""
    text = str(error)
    if not isinstance(error, ReplayError):
        return {"kind": "RangeError" if isinstance(error, ValueError) else "TypeError", "message": text}
    return {"kind": "ReplayError", "code": error.code, "message": text.partition(": ")[2] or text}


def error_from(given: Any) -> ReplayError:
    """Returns the error that the other end describes."""
    if not isinstance(given, dict):
        return ReplayError("CLOSED: the other end closed the writer")
    message = str(given.get("message", ""))[:1000]
    code = given.get("code") if given.get("kind") == "ReplayError" else "INVALID"
    return ReplayError(f"{code if isinstance(code, str) and code.isupper() else 'INVALID'}: {message}")


def reason(text: str) -> str:
    """Returns a text cut to the 123 bytes that the reason of a close can have."""
    return text.encode()[:123].decode(errors="ignore")
