"""Runs the real server of the benchmark, filled with items to sample. Prints its port, and runs until its input ends.

The tables `small` and `big` are full of random bytes, so that Snappy cannot compress them. The table `in` accepts inserted items, and drops the oldest ones.
"""
import json, os, sys

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import reverb
import tensorflow as tf

SMALL = {"action": tf.TensorSpec([1], tf.int32), "done": tf.TensorSpec([1], tf.bool), "obs": tf.TensorSpec([1, 64], tf.float32), "reward": tf.TensorSpec([1], tf.float32)}
BIG = {"images": tf.TensorSpec([1, 16, 84, 84], tf.uint8)}


def table(name, signature):
    selectors = reverb.selectors
    return reverb.Table(name, selectors.Uniform(), selectors.Fifo(), 20_000, reverb.rate_limiters.MinSize(1), signature=signature)


server = reverb.Server([table("in", SMALL), table("small", SMALL), table("big", BIG)], port=None)
client = reverb.Client(f"localhost:{server.port}")
random = np.random.default_rng(7)
with client.writer(max_sequence_length=1) as writer:
    for i in range(20_000):
        writer.append([np.int32(i), np.bool_(i % 2), random.random(64, np.float32), np.float32(i)])
        writer.create_item("small", 1, 1.0)
with client.writer(max_sequence_length=1) as writer:
    for i in range(1000):
        writer.append([random.integers(0, 256, (16, 84, 84), np.uint8)])
        writer.create_item("big", 1, 1.0)
print(json.dumps({"port": server.port}), file=answers, flush=True)
sys.stdin.read()
