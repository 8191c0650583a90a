"""Parses the Replay's description of a writer, which the writer's end stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..columns import Column
from .frame import Close, Fields, ProtocolError, count, counts, field, is_flag, is_number, is_text
from .layout import Share

#: The fields that must not change after a reconnection.
_KEPT = ("keep", "across", "ends", "reward", "tables", "rules", "maxInFlight")
#: The longest time in milliseconds that both ends can represent.
_LONGEST = 2**30


class Welcome(NamedTuple):
    """The Replay's description of the writer."""

    fields: dict[str, Any]
    shares: list[Share]
    max_in_flight: int
    frame_bytes: int
    in_flight_bytes: int
    received: int
    confirmed: int
    #: The seconds of silence until a ping, and until the connection counts as broken.
    times: tuple[float, float]

    def must_be(self, first: Welcome) -> None:
        """Raises ProtocolError if the Replay's writer has changed since the first welcome."""
        for name in _KEPT:
            if first.fields.get(name) != self.fields.get(name):
                raise ProtocolError(f"{name} of the writer at the other end has changed from {first.fields.get(name)} to {self.fields.get(name)}", Close.REFUSED)


def welcome_of(fields: Fields, columns: Sequence[Column]) -> Welcome:
    """Parses the description in the fields of `welcome`.

    Raises ProtocolError if the fields are invalid, or contradict the writer's spec.
    """
    for name in ("keep", "maxInFlight", "frameBytes", "inFlightBytes"):
        field(fields, name, lambda value: is_number(value) and value >= 1, "a number of at least 1")
    field(fields, "across", is_flag, "a boolean")
    field(fields, "ends", lambda value: isinstance(value, dict), "an object")
    for name in ("tables", "rules"):
        field(fields, name, lambda value: isinstance(value, list) and all(map(is_text, value)), "an array of strings")
    given = field(fields, "shared", lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value), "an array of objects")
    shares = [Share(tuple(counts(one, "leaves")), count(one, "frameBytes"), count(one, "capacity")) for one in given]
    all_leaves = [leaf for share in shares for leaf in share.leaves]
    fits = len(set(all_leaves)) == len(all_leaves) and all(leaf < len(columns) for leaf in all_leaves)
    for share in shares:
        fits = fits and share.frame_bytes > 0 and share.capacity > 0 and all(columns[leaf].bytes % share.frame_bytes == 0 for leaf in share.leaves)
    if not fits:
        raise ProtocolError("shared must contain each leaf at most once, with frames that divide its values evenly", Close.REFUSED)
    keep_alive, timeout = (field(fields, name, lambda value: is_number(value) and 0 < value <= _LONGEST, "a number of milliseconds") for name in ("keepAliveMs", "keepAliveTimeoutMs"))
    return Welcome(
        dict(fields),
        shares,
        int(fields["maxInFlight"]),
        int(fields["frameBytes"]),
        int(fields["inFlightBytes"]),
        count(fields, "received"),
        count(fields, "confirmed"),
        (keep_alive / 1000, timeout / 1000),
    )
