"""Implements the Python side of bulk.test.ts: `bulk.py ADDRESS TABLE SHAPE COUNT read|write`. The values of every item follow from its number, both here and in
bulk-values.ts.

`read` takes COUNT items and compares each column's dtype, shape and bytes; `write` writes them with the writer that SHAPE names. It prints a line of JSON:
{"items", "columns", "differences", "first"}.
"""
import itertools, json, os, sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import reverb

PIXELS = np.arange(84 * 84, dtype=np.int64).reshape(84, 84)


def steps(i):
    """Returns one step for `insert`, with numbers of several sizes. Every 97th step has a NaN, a -0 and an infinity."""
    vec = ((i * 31 + np.arange(17) * 17) % 1009 / 8).astype(np.float32)
    if i % 97 == 0:
        vec[:3] = np.nan, -0.0, -np.inf
    return {
        "act": np.uint32(i * 2654435761 % 2**32).astype(np.int32), "done": np.bool_(i % 50 == 49), "id": np.int64(i - (i << 40)), "reward": np.float64(i / 3), "vec": vec}


def episodes():
    """Yields the first step of each episode, and the step after its last step."""
    first = 0
    for e in itertools.count():
        yield first, first + 20 + 7 * (e % 5)
        first += 20 + 7 * (e % 5)


def window_step(s):
    return {"act": np.uint16(s * 7 % 65536), "obs": ((s * 13 + np.arange(6)) % 2048 / 4).astype(np.float32), "value": np.float64(s / 7)}


def window_ends():
    """Yields the last step of each window of five. No window crosses the end of an episode."""
    for first, end in episodes():
        yield from range(first + 4, end)


def image(i):
    return (PIXELS * 7 + (PIXELS >> 5) * i).astype(np.uint8)


def name(i):
    return f"frame {i} {'é' * (i % 20)}".encode()


# Every dtype of Reverb's writers. The integers are spread over their whole range.
INTEGERS = {"b": np.int8, "c": np.uint8, "d": np.int16, "e": np.uint16, "f": np.int32, "g": np.uint32, "h": np.int64, "i": np.uint64}


def all_types(s):
    found = {}
    for letter, dtype in INTEGERS.items():
        bits = 8 * np.dtype(dtype).itemsize
        found[letter] = np.array([(s * 37 + k * 101) * (2**bits // 251 + 1) % 2**bits for k in range(3)], np.uint64).astype(dtype)
    found["a"] = np.int32(s * 5 - 1000)
    found["j"] = ((s + np.arange(2)) % 2048 / 8).astype(np.float16)
    found["k"] = np.float32(s / 8 if s % 11 else np.nan)
    found["l"] = np.float64([s / 3, -0.0])
    found["m"] = np.complex64(complex(s / 2, 1 - s))
    found["n"] = np.complex128([complex(s / 3, 1), complex(0.25, 1 - s)])
    found["o"] = np.array([s % 2 == 0, s % 3 == 0])
    found["p"] = np.array([f"é{s}", "", "x" * (s % 300)], dtype=object)
    found["q"] = np.zeros((0, 3), np.float32)
    return found


def wanted(shape, count):
    """Yields the priority and the columns of each item, in the order of their names."""
    if shape == "steps":
        for i in range(count):
            yield 1 + i % 5, [np.asarray(value)[np.newaxis] for value in steps(i).values()]
    elif shape == "windows":
        made = {}
        for s in itertools.islice(window_ends(), count):
            for t in range(s - 4, s + 1):
                if t not in made:
                    made[t] = window_step(t)
            for t in [t for t in made if t < s - 4]:
                del made[t]
            part = [made[t] for t in range(s - 4, s + 1)]
            yield s, [
                np.stack([one["act"] for one in part[::2]]), part[-1]["obs"], np.stack([one["obs"] for one in part]),
                np.stack([part[4]["value"], part[0]["value"]])]
    else:
        for i in range(count):
            yield i, [image(i), np.array([name(j) for j in range(max(i - 1, 0), i + 1)], dtype=object)]


def same(want, got):
    if want.dtype == object:
        return got.dtype == object and want.shape == got.shape and list(want) == list(got)
    return want.dtype == got.dtype and want.shape == got.shape and want.tobytes() == got.tobytes()


def read(client, table, shape, count):
    items = columns = differences = 0
    first = None
    for (priority, want), sample in zip(wanted(shape, count), client.sample(table, count, emit_timesteps=False)):
        got = sample.data
        bad = [c for c in range(max(len(want), len(got))) if c >= len(got) or c >= len(want) or not same(np.asarray(want[c]), got[c])]
        columns += len(got)
        if bad or sample.info.priority != priority:
            differences += 1
            first = first or f"item {items}: priority {sample.info.priority}, not {priority}; columns {bad}: {[str(got[c]) for c in bad]}"
        items += 1
    return {"items": items, "columns": columns, "differences": differences, "first": first}


def write_windows(client, table, count):
    """Writes windows with a squeezed column, and single steps, with a TrajectoryWriter. Reverb's writer joins strides incorrectly, so there are no strides."""
    left = count
    with client.trajectory_writer(num_keep_alive_refs=5) as writer:
        for first, end in episodes():
            for s in range(first, end):
                writer.append(window_step(s))
                if s < first + 4:
                    continue
                history = writer.history
                writer.create_item(table, float(s), {"a": history["act"][-5:], "b": history["obs"][-1], "c": history["obs"][-5:], "d": history["value"][-2:]})
                writer.flush(500)
                left -= 1
                if left == 0:
                    writer.end_episode()
                    return
            writer.end_episode()


def write_types(client, table, count):
    """Writes single steps of every dtype with a TrajectoryWriter, in a squeezed column and in another one."""
    with client.trajectory_writer(num_keep_alive_refs=2) as writer:
        for s in range(count):
            writer.append(all_types(s))
            history = writer.history
            writer.create_item(table, float(s), {key: history[key][-1:] if key in "ahq" else history[key][-1] for key in history})
            writer.flush(500)
        writer.end_episode()


def write_legacy(client, table, count):
    """Writes items of three steps that contain every dtype with Client.writer, with delta encoding and chunks of five steps."""
    with client.writer(max_sequence_length=5, delta_encoded=True, chunk_length=5, max_in_flight_items=500) as writer:
        for s in range(count + 2):
            writer.append([value for _, value in sorted(all_types(s).items())])
            if s >= 2:
                writer.create_item(table, 3, float(s))


address, table, shape, count, mode = sys.argv[1:6]
client, count = reverb.Client(address), int(count)
if mode == "read":
    print(json.dumps(read(client, table, shape, count)))
else:
    {"windows": write_windows, "types": write_types, "legacy": write_legacy}[shape](client, table, count)
    print(json.dumps({"items": count}))
