"""Writes test/data/tfrecord with TF-Agents' own TFRecordObserver. Needs tf_agents, numpy, pillow; run by hand: python test/data/write_tfrecord.py

The seed is fixed. Protobuf maps are unordered, so the order in files of dicts may differ between runs.
"""

import json
import os
import shutil

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step, time_step, trajectory
from tf_agents.utils import example_encoding_dataset as dataset

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tfrecord")
RANDOM = np.random.default_rng(20260)
DTYPES = ["float16", "float32", "float64", "uint8", "int8", "uint16", "int16", "int32", "int64"]


def path(name):
    return os.path.join(HERE, name)


def random(spec):
    def value(leaf):
        dtype = np.dtype(leaf.dtype.as_numpy_dtype)
        if dtype.kind == "f":
            return np.asarray(RANDOM.standard_normal(leaf.shape), dtype)
        info = np.iinfo(dtype)
        return np.asarray(RANDOM.integers(info.min, info.max, leaf.shape, dtype, endpoint=True), dtype)

    return tf.nest.map_structure(value, spec)


def flat(nest):
    """Returns columns by path. int64 is stored as text, because JSON has no such integers."""
    from tf_agents.utils import nest_utils

    columns = {}
    for name, value in nest_utils.flatten_with_joined_paths(nest):
        value = np.asarray(value)
        data = value.flatten().tolist()
        columns[name] = {"dtype": value.dtype.name, "shape": list(value.shape), "data": [str(x) for x in data] if value.dtype == np.int64 else data}
    return columns


def write(name, spec, steps, **options):
    observer = dataset.TFRecordObserver(path(name), spec, py_mode=True, **options)
    for step in steps:
        observer(step)
    observer.close()


def trajectories():
    spec = trajectory.Trajectory(
        step_type=tf.TensorSpec([], tf.int32, "step_type"),
        observation={"position": tf.TensorSpec([3], tf.float32), "half": tensor_spec.BoundedTensorSpec([2], tf.float16, -1, 1, "half")},
        action=tensor_spec.BoundedTensorSpec([], tf.int64, 0, 3, "action"),
        policy_info=(),
        next_step_type=tf.TensorSpec([], tf.int32, "step_type"),
        reward=tf.TensorSpec([], tf.float32, "reward"),
        discount=tensor_spec.BoundedTensorSpec([], tf.float32, 0.0, 1.0, "discount"),
    )
    steps = []
    # The episodes are terminated, truncated, of one action, and still open.
    for length, discount, ends in [(4, 0, True), (3, 1, True), (1, 0, True), (2, 1, False)]:
        for i in range(length + (1 if ends else 0)):
            step = random(spec)
            last_action = i == length - 1 and ends
            steps.append(
                step._replace(
                    step_type=np.int32(0 if i == 0 else 2 if i == length else 1),
                    next_step_type=np.int32(0 if i == length else 2 if last_action else 1),
                    discount=np.float32(discount if last_action else 1),
                )
            )
    write("trajectories.tfrecord", spec, steps)
    return [flat(step) for step in steps]


def nests():
    spec = {name: tf.TensorSpec([2, 3], name) for name in DTYPES}
    spec["tuple"] = (tf.TensorSpec([], tf.float32), [tf.TensorSpec([1], tf.int64), {"deep": tf.TensorSpec([2], tf.uint8)}], ())
    steps = [random(spec) for _ in range(3)]
    write("nest.tfrecord", spec, steps)
    return [flat(step) for step in steps]


def interleaved():
    """Records the order of records from several files, and of pairs of records."""
    spec = tf.TensorSpec([], tf.int64)
    files = {}
    for file, count in enumerate([3, 1, 0, 4]):
        name = f"count-{file}.tfrecord"
        write(name, spec, [np.int64(100 * file + i) for i in range(count)])
        files[name] = count
    cases = []
    for reads in [None, 1, 2, 3]:
        for experience in [False, True]:
            names = [path(name) for name in files]
            found = dataset.load_tfrecord_dataset(names, num_parallel_reads=reads, as_experience=experience)
            cases.append({"reads": reads, "asExperience": experience, "elements": [x.numpy().tolist() for x in found]})
    return {"files": list(files), "cases": cases}


def images():
    spec = tf.TensorSpec([8, 16, 3], tf.uint8)
    rows = np.add.outer(np.arange(8) * 8, np.arange(16) * 4)[..., None] + np.array([0, 40, 80])
    write("image.tfrecord", spec, [rows.astype(np.uint8)], compress_image=True, image_quality=95)
    [image] = list(dataset.load_tfrecord_dataset([path("image.tfrecord")], compress_image=True, add_batch_dim=False))
    return {"pixels": rows.astype(np.uint8).flatten().tolist(), "decoded": image.numpy().flatten().tolist()}


def transitions():
    """Writes the records of the CQL example with use_trajectories=False, and each of their parts separately."""
    step = time_step.TimeStep(
        step_type=tf.TensorSpec([], tf.int32),
        reward=tf.TensorSpec([], tf.float32),
        discount=tf.TensorSpec([], tf.float32),
        observation={"position": tf.TensorSpec([3], tf.float32)},
    )
    action = policy_step.PolicyStep(action=tf.TensorSpec([2], tf.float32), state=(), info=())
    specs = {"transition": trajectory.Transition(step, action, step), "time-step": step, "policy-step": action}
    found = {}
    for name, spec in specs.items():
        steps = [random(spec) for _ in range(4)]
        write(f"{name}.tfrecord", spec, steps)
        found[name] = [flat(each) for each in steps]
    return found


def errors():
    """Records the class of the error if the original rejects a call."""

    def case(name, task):
        try:
            task()
        except Exception as error:  # any error is recorded
            return {"name": name, "error": type(error).__name__}
        return {"name": name, "error": None}

    def observe(spec, value, **options):
        observer = dataset.TFRecordObserver(path("refused.tfrecord"), spec, **options)
        try:
            observer(value)
        finally:
            observer.close()

    def without_leaves():
        observe({"a": ()}, {"a": ()}, py_mode=True)
        list(dataset.load_tfrecord_dataset([path("refused.tfrecord")]))

    vector = tf.TensorSpec([2], tf.float32)
    found = [
        case("bool", lambda: observe(tf.TensorSpec([2], tf.bool), np.zeros(2, bool), py_mode=True)),
        case("string", lambda: observe(tf.TensorSpec([2], tf.string), np.array(["a", "b"]), py_mode=True)),
        case("uint32", lambda: observe(tf.TensorSpec([2], tf.uint32), np.zeros(2, np.uint32), py_mode=True)),
        case("shape of 0", lambda: observe(tf.TensorSpec([0], tf.float32), np.zeros(0, np.float32), py_mode=True)),
        case("unknown shape", lambda: observe(tf.TensorSpec([None], tf.float32), np.zeros(2, np.float32), py_mode=True)),
        case("another shape", lambda: observe(vector, np.zeros(3, np.float32), py_mode=True)),
        case("another dtype", lambda: observe(vector, np.zeros(2, np.float64), py_mode=True)),
        case("one leaf too many", lambda: observe({"a": vector}, {"a": np.zeros(2, np.float32), "b": np.zeros(2, np.float32)}, py_mode=True)),
        case("a batch in py_mode", lambda: observe(vector, np.zeros((1, 2), np.float32), py_mode=True)),
        case("a batch", lambda: observe(vector, np.zeros((1, 2), np.float32))),
        case("no batch", lambda: observe(vector, np.zeros(2, np.float32))),
        case("a batch of two", lambda: observe(vector, np.zeros((2, 2), np.float32))),
        case("a spec without leaves", without_leaves),
        case("no spec file", lambda: dataset.load_tfrecord_dataset([path("missing.tfrecord")])),
        case("specs differ", lambda: dataset.load_tfrecord_dataset([path("nest.tfrecord"), path("count-0.tfrecord")])),
        case("no dataset", lambda: dataset.load_tfrecord_dataset([])),
    ]
    for channels in [1, 2, 3, 4, 84]:
        spec, image = tf.TensorSpec([8, 16, channels], tf.uint8), np.zeros([8, 16, channels], np.uint8)
        found.append(case(f"a JPEG of {channels} channels", lambda: observe(spec, image, py_mode=True, compress_image=True)))
    for name in ["refused.tfrecord", "refused.tfrecord.spec"]:
        if os.path.exists(path(name)):
            os.remove(path(name))
    return found


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    expected = {"trajectories": trajectories(), "nests": nests(), "interleaved": interleaved(), "image": images(), "errors": errors()}
    expected |= transitions()
    with open(path("expected.json"), "w") as file:
        json.dump(expected, file, separators=(",", ":"))
        file.write("\n")
