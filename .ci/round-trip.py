"""Reads the files that .ci/round-trip.mjs wrote, with the real tensorflow_datasets and pyarrow, and prints one line of JSON per case: whether the data is
right."""
import base64
import glob
import json
import os
import sys
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tensorflow_datasets as tfds
from cases import DTYPES, Wrong, cases_in, must, tell


def flatten(value, prefix=""):
    if isinstance(value, dict):
        for key in sorted(value):
            yield from flatten(value[key], f"{prefix}/{key}" if prefix else key)
    else:
        yield prefix, value


def read_tfds(path, split="train"):
    """Returns the lengths of episodes, the columns of their steps, and their metadata, as lists of values by path. Shards are read in order."""
    builder = tfds.builder_from_directory(path)
    lengths, steps, metadata = [], {}, {}
    for episode in builder.as_dataset(split=split, read_config=tfds.ReadConfig(interleave_cycle_length=1)):
        length = 0
        for step in episode.pop("steps").as_numpy_iterator():
            length += 1
            for name, value in flatten(step):
                steps.setdefault(name, []).append(value)
        lengths.append(length)
        for name, value in flatten(tfds.as_numpy(episode)):
            metadata.setdefault(name, []).append(value)
    return builder, lengths, steps, metadata


def same_values(found, expected, what):
    """Compares two lists of values, which are arrays of the real library."""
    must(len(found), len(expected), f"{what}: values")
    for i, (a, b) in enumerate(zip(found, expected)):
        a, b = np.asarray(a), np.asarray(b)
        must((a.dtype, a.shape), (b.dtype, b.shape), f"{what} {i}: dtype and shape")
        same = a.tolist() == b.tolist() if a.dtype == object or a.dtype.kind in "SU" else a.tobytes() == b.tobytes()
        if not same:
            raise Wrong(f"{what} {i} must be {b}, got {a}")


def expected_of(column):
    """Returns the data that the JavaScript side expects in a column: an array, or a list of bytes."""
    if column["dtype"] == "string":
        return [text.encode() for text in column["texts"]]
    if column["dtype"] == "bytes":
        return [base64.b64decode(text) for text in column["texts"]]
    return np.fromfile(column["file"], dtype=DTYPES[column["dtype"]])


def same_column(values, column, count, what):
    """Compares values, as NumPy arrays or bytes, with the expected data."""
    expected, shape = expected_of(column), tuple(column["shape"])
    if isinstance(expected, list):
        found = [one if isinstance(one, bytes) else one.encode() for value in values for one in np.asarray(value, dtype=object).reshape(-1).tolist()]
        must(found, expected, what)
        return
    found = np.stack([np.asarray(value) for value in values]) if values else np.empty((0,) + shape, DTYPES[column["dtype"]])
    must((str(found.dtype), found.shape), (DTYPES[column["dtype"]], (count,) + shape), f"{what}: dtype and shape")
    # All NaNs are equal, whatever their bits. All other values must be equal bit by bit.
    wanted = expected.reshape((count,) + shape)
    nan = wanted != wanted
    must((found != found).tolist(), nan.tolist(), f"{what}: NaN")
    if np.where(nan, np.zeros_like(found), found).tobytes() != np.where(nan, np.zeros_like(wanted), wanted).tobytes():
        raise Wrong(f"{what} must be {wanted}, got {found}")


def check_tfds(case):
    split = case.get("split", "train")
    builder, lengths, steps, metadata = read_tfds(case["path"], split)
    must(lengths, case["lengths"], "lengths")
    must(builder.info.splits[split].num_examples, len(lengths), "num_examples")
    must(builder.info.splits[split].num_shards, case.get("shards", 3), "num_shards")
    must(sorted(steps), sorted(column["path"] for column in case["steps"]), "leaves of a step")
    must(sorted(metadata), sorted(column["path"] for column in case["metadata"]), "metadata")
    for column in case["steps"]:
        same_column(steps[column["path"]], column, sum(lengths), column["path"])
    for column in case["metadata"]:
        same_column(metadata[column["path"]], column, len(lengths), column["path"])


def check_same_tfds(case):
    (again, lengths, steps, metadata), (real, *others) = read_tfds(case["path"]), read_tfds(case["original"])
    must(repr(again.info.features), repr(real.info.features), "features")
    must(lengths, others[0], "lengths")
    for found, expected in ((steps, others[1]), (metadata, others[2])):
        must(sorted(found), sorted(expected), "leaves")
        for name in found:
            same_values(found[name], expected[name], name)


def table_of(path):
    paths = sorted(glob.glob(f"{path}/*.parquet")) if os.path.isdir(path) else [path]
    return pa.concat_tables([pq.read_table(one).replace_schema_metadata(None) for one in paths])


def same_parquet(table, name, column, count):
    """Checks that the type of the column is the leaf's type, nested in one list per dimension, and that its values are equal."""
    field = table.schema.field(name).type
    for _ in column["shape"]:
        must(pa.types.is_list(field), True, f"{name} as list")
        field = field.value_type
    wanted = {"string": pa.string(), "bytes": pa.binary()}.get(column["dtype"]) or pa.from_numpy_dtype(DTYPES[column["dtype"]])
    must(field, wanted, f"type of {name}")
    values = table.column(name).to_pylist()
    if column["dtype"] not in ("string", "bytes"):
        values = [np.array(value, dtype=DTYPES[column["dtype"]]).reshape(column["shape"]) for value in values]
    same_column(values, column, count, name)


def check_parquet(case):
    table, lengths = table_of(case["path"]), case["lengths"]
    must(table.column("episode_index").to_pylist(), [i for i, n in enumerate(lengths) for _ in range(n)], "episode_index")
    must(table.column("step_index").to_pylist(), [t for n in lengths for t in range(n)], "step_index")
    for column in case["steps"]:
        same_parquet(table, column["path"], column, sum(lengths))
    first = [sum(lengths[:i]) for i, n in enumerate(lengths) if n > 0]
    for column in case["metadata"]:
        # An episode without steps has no row, so only the other episodes are compared.
        rows = [i for i, n in enumerate(lengths) if n > 0]
        expected = expected_of(column)
        size = int(np.prod(column["shape"], dtype=int))
        values = [table.column(f"episode/{column['path']}")[at].as_py() for at in first]
        wanted = [expected[i] for i in rows] if isinstance(expected, list) else np.concatenate([expected[i * size:(i + 1) * size] for i in rows])
        if isinstance(expected, list):
            must([value.encode() for value in values], wanted, column["path"])
        else:
            must(np.array(values, dtype=wanted.dtype).tobytes(), wanted.tobytes(), column["path"])


def check_parquet_of_tfds(case):
    table = table_of(case["path"])
    _, lengths, steps, _ = read_tfds(case["original"])
    must(table.num_rows, sum(lengths), "rows")
    for name, values in steps.items():
        found = table.column(name).to_pylist()
        if isinstance(values[0], bytes):
            must([value.encode() for value in found], values, name)
        else:
            same_values([np.array(value, dtype=np.asarray(values[0]).dtype).reshape(np.shape(values[0])) for value in found], values, name)


def check_jsonl(case):
    with open(case["path"], encoding="utf-8") as lines:
        head, *rest = [json.loads(line) for line in lines]
    must(head["rlds"], 1, "rlds")
    steps = [line["step"] for line in rest if "step" in line]
    episodes = [line["episode"] for line in rest if "episode" in line]
    must(len(episodes), len(case["lengths"]), "episodes")

    def value(one, dtype):
        if dtype == "bytes":
            return base64.b64decode(one)
        if isinstance(one, list):
            return [value(part, dtype) for part in one]
        return (float if dtype[0] == "f" else int)(one) if isinstance(one, str) and dtype != "string" else one

    for column, rows in [*((column, steps) for column in case["steps"]), *((column, episodes) for column in case["metadata"])]:
        values = []
        for row in rows:
            for key in column["path"].split("/"):
                row = row[key]
            values.append(value(row, column["dtype"]))
        if column["dtype"] not in ("string", "bytes"):
            values = [np.array(one, dtype=DTYPES[column["dtype"]]).reshape(column["shape"]) for one in values]
        same_column(values, column, len(rows), column["path"])


def checksums(path):
    _, lengths, steps, _ = read_tfds(path)
    columns = {}
    for name, values in steps.items():
        columns[name] = zlib.crc32(b"".join(value + b"\n" for value in values) if isinstance(values[0], bytes) else np.ascontiguousarray(np.stack(values)).tobytes())
    return {"lengths": lengths, "columns": columns}


KINDS = {"tfds": check_tfds, "same-tfds": check_same_tfds, "parquet": check_parquet, "parquet-of-tfds": check_parquet_of_tfds, "jsonl": check_jsonl}


if __name__ == "__main__":
    for case in cases_in(sys.argv[1], KINDS):
        if case["kind"] == "same-tfds":
            tell(f"read {case['name'].split(' ', 1)[1]}", ok=True, **checksums(case["original"]))
