"""What the memory says of a writer, as the writer's end keeps it."""

from __future__ import annotations

from typing import Any, NamedTuple

from .frame import Close, Fields, ProtocolError, count, counts, field, is_flag, is_number, is_text
from .layout import Share

#: Fields that must be the same after a reconnection.
_KEPT = ("keep", "across", "ends", "reward", "tables", "rules")


class Welcome(NamedTuple):
    """What the memory says of the writer."""

    fields: dict[str, Any]
    shares: list[Share]
    max_in_flight: int
    frame_bytes: int
    in_flight_bytes: int
    received: int
    confirmed: int

    def must_be(self, first: Welcome) -> None:
        """Raises ProtocolError if the memory's writer is another one than the first time."""
        for name in _KEPT:
            if first.fields.get(name) != self.fields.get(name):
                raise ProtocolError(f"{name} of the memory's writer was {first.fields.get(name)}, and is {self.fields.get(name)}", Close.REFUSED)


def welcome_of(fields: Fields) -> Welcome:
    """The fields of `welcome`, checked."""
    for name in ("keep", "maxInFlight", "frameBytes", "inFlightBytes"):
        field(fields, name, lambda value: is_number(value) and value >= 1, "a number from 1 up")
    field(fields, "across", is_flag, "a boolean")
    field(fields, "ends", lambda value: isinstance(value, dict), "an object")
    for name in ("tables", "rules"):
        field(fields, name, lambda value: isinstance(value, list) and all(map(is_text, value)), "an array of text")
    given = field(fields, "shared", lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value), "an array of objects")
    shares = [Share(tuple(counts(one, "leaves")), count(one, "frameBytes"), count(one, "capacity")) for one in given]
    return Welcome(
        dict(fields),
        shares,
        int(fields["maxInFlight"]),
        int(fields["frameBytes"]),
        int(fields["inFlightBytes"]),
        count(fields, "received"),
        count(fields, "confirmed"),
    )
