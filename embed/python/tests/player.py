"""Plays files of recorded operations in the format of test/embed/operation.ts. `player.py FILE` prints the digest of all results.
`player.py --time FILE…` prints how long the timed operations of each file take."""

import struct
import sys
import time
import zlib
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from reprise_replay import Instance, ReplayError
from reprise_replay.columns import Columns

CALLS = {0: "append", 1: "end", 2: "item", 3: "sample", 4: "update", 5: "delete", 6: "stats", 7: "reload", 255: "clock"}
#: The arguments of each call that are not integers.
FLOATS = {"item": 4, "sample": 2}
COUNTERS, PASSES = 12, 5


def read(path):
    """Returns the text of a Replay, and operations: a call, its arguments, which of them are offsets, and the payload to which the offsets refer."""
    file = Path(path).read_bytes()
    magic, version, count, size = struct.unpack_from("<4s3I", file)
    if magic != b"RPOP" or version != 1:
        raise SystemExit(f"{path} is not a file of operations, or has another version")
    at, operations = 16 + size + -size % 8, []
    for _ in range(count):
        number, arguments, mask, payload = struct.unpack_from("<BBHI", file, at)
        values = struct.unpack_from(f"<{arguments}d", file, at + 8)
        call, start = CALLS[number], at + 8 + 8 * arguments
        values = [value if FLOATS.get(call) == i else int(value) for i, value in enumerate(values)]
        places = [i for i in range(arguments) if mask >> i & 1]
        operations.append((call, values, places, np.frombuffer(file, np.uint8, payload, start)))
        at = start + payload + -payload % 8
    return np.frombuffer(file, np.uint8, size, 16), operations


class Player:
    """Plays operations on a Replay."""

    def __init__(self, text):
        self.instance = Instance()
        (at,) = self.instance.give(text)
        self.handle = self.instance.call("create", at, len(text))
        self.told = {}

    def play(self, call, arguments, places, payload):
        """Makes a call. Returns its result, which is a number, or an address for `stats`."""
        if call == "reload":
            return self.reload(payload)
        arguments = list(arguments)
        (at,) = self.instance.give(payload) if len(payload) else (0,)
        for i in places:
            arguments[i] = 0 if arguments[i] < 0 else at + arguments[i]
        return self.instance.call(call, self.handle, *arguments)

    def reload(self, lines):
        snapshot = np.concatenate([chunk.copy() for chunk in self.instance.chunks(self.handle)])
        self.instance.call("free", self.handle)
        # The input buffer was freed with the Replay.
        self.instance, self.told = Instance(), {}
        (at, behind) = self.instance.give(snapshot, lines)
        self.handle = self.instance.call("load", at, len(snapshot), behind, len(lines))
        return 0

    def columns(self, view):
        """Returns the columns of a view's last batch."""
        if view not in self.told:
            self.told[view] = Columns(self.instance, self.handle, view)
        return self.told[view].read()


def digest(path):
    text, operations = read(path)
    player, crc = Player(text), 0
    for operation in operations:
        call, arguments = operation[:2]
        try:
            result = player.play(*operation)
        except ReplayError as error:
            crc = zlib.crc32(error.code.encode(), zlib.crc32(struct.pack("<i", error.result), crc))
            continue
        crc = zlib.crc32(struct.pack("<i", 0 if call == "stats" else result), crc)
        if call == "stats":
            crc = zlib.crc32(player.instance.memory[result : result + 8 * COUNTERS], crc)
        for column in player.columns(arguments[0]).raw() if call == "sample" else ():
            crc = zlib.crc32(column, crc)
    return f"{crc:08x}"


def timed(path):
    """Returns the nanoseconds that the timed operations take: the median of some passes. Batches are copied, as in a program."""
    text, operations = read(path)
    player = Player(text)
    clock = [call for call, *_ in operations].index("clock")

    def take(some):
        start = time.perf_counter_ns()
        for operation in some:
            player.play(*operation)
            if operation[0] == "sample":
                player.columns(operation[1][0]).arrays(copy=True)
        return time.perf_counter_ns() - start

    take(operations[:clock])
    return median(take(operations[clock + 1 :]) for _ in range(PASSES))


if __name__ == "__main__":
    if sys.argv[1] == "--time":
        for name in sys.argv[2:]:
            print(f"{Path(name).stem}  {timed(name)} ns", flush=True)
    else:
        print("digest", digest(sys.argv[1]))
