"""Passes random nests through TF-Agents' own TFRecordObserver and load_tfrecord_dataset.

tfrecord.py write FOLDER COUNT SEED writes COUNT files, and prints a line of JSON per file.
tfrecord.py read FOLDER COUNT reads COUNT files, and prints the same lines.
tfrecord.py tuples FOLDER COUNT prints a line of JSON per file: the class of its spec, and the classes of the parts of a transition.
A line is a list of records, each a dict of columns by path: [dtype, shape, bytes as base64].
"""

import base64
import collections
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step, time_step, trajectory
from tf_agents.utils import example_encoding_dataset as dataset
from tf_agents.utils import nest_utils

DTYPES = [tf.float16, tf.float32, tf.float64, tf.uint8, tf.int8, tf.uint16, tf.int16, tf.int32, tf.int64]
NAMES = ["a", "b", "c", "observation", "x y", "ä", "long" * 40]
Pair = collections.namedtuple("Pair", ["weights", "bias"])


def random_leaf(random):
    shape = [int(n) for n in random.integers(1, 5, random.integers(0, 4))]
    dtype = DTYPES[random.integers(len(DTYPES))]
    name = ["x", None][random.integers(2)]
    if random.integers(4) == 0:
        return tensor_spec.BoundedTensorSpec(shape, dtype, 0, 1, name)
    return tf.TensorSpec(shape, dtype, name)


def random_spec(random, depth=0):
    kind = random.integers(8) if depth < 4 else 0
    if kind < 3:
        return random_leaf(random)
    parts = [random_spec(random, depth + 1) for _ in range(random.integers(0 if depth > 0 else 1, 4))]
    if kind == 3:
        return Pair(random_spec(random, depth + 1), random_spec(random, depth + 1))
    if kind == 4:
        return tuple(parts)
    if kind == 5:
        return parts
    if kind == 6 and depth == 0:
        scalar = tf.TensorSpec([], tf.int32)
        number = tf.TensorSpec([], tf.float32)
        if random.integers(2) == 0:
            first, second = (time_step.TimeStep(scalar, number, number, observation) for observation in (tuple(parts), random_leaf(random)))
            return trajectory.Transition(first, policy_step.PolicyStep(random_leaf(random), (), tuple(parts)), second)
        return trajectory.Trajectory(scalar, tuple(parts), random_leaf(random), (), scalar, number, number)
    return dict(zip(random.permutation(NAMES).tolist(), parts))


def random_value(random, spec):
    """Returns any bits that the type allows, including NaN, infinities and subnormal numbers."""
    dtype = np.dtype(spec.dtype.as_numpy_dtype)
    return np.frombuffer(random.bytes(dtype.itemsize * int(np.prod(spec.shape.as_list()))), dtype).reshape(spec.shape.as_list())


def columns(nest):
    found = {}
    for name, value in nest_utils.flatten_with_joined_paths(nest):
        value = np.asarray(value)
        # The payload of a NaN is not part of its value.
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), np.asarray(np.nan, value.dtype), value)
        found[name] = [value.dtype.name, list(value.shape), base64.b64encode(value.tobytes()).decode()]
    return found


def main(mode, folder, count, seed="0"):
    random = np.random.default_rng(int(seed))
    for i in range(int(count)):
        path = os.path.join(folder, f"{i}.tfrecord")
        records = []
        if mode == "tuples":
            spec = dataset.parse_encoded_spec_from_file(path + ".spec")
            parts = spec if type(spec).__name__ == "Transition" else ()
            records = [type(each).__name__ for each in (spec, *parts)]
        elif mode == "read":
            records = [columns(record) for record in dataset.load_tfrecord_dataset([path], add_batch_dim=False)]
        else:
            spec = ()
            # The original writes a spec without leaves, but cannot read it.
            while not tf.nest.flatten(spec):
                spec = random_spec(random)
            py_mode = bool(random.integers(2))
            observer = dataset.TFRecordObserver(path, spec, py_mode=py_mode)
            for _ in range(random.integers(0, 4)):
                nest = tf.nest.map_structure(lambda leaf: random_value(random, leaf), spec)
                observer(nest if py_mode else tf.nest.map_structure(lambda value: value[None], nest))
                records.append(columns(nest))
            observer.close()
        print(json.dumps(records), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
