"""Runs a real server with tables of data types that JavaScript has no arrays for, some with an item. Prints its port, and runs until its input ends."""
import sys
import numpy as np
import reverb
import tensorflow as tf

spec = tf.TensorSpec
columns = {
    "half": spec([None, 3], tf.float16), "brain": spec([None, 3], tf.bfloat16), "complex": spec([None, 3], tf.complex64),
    "quantized": spec([None], tf.qint8), "small": spec([None], tf.dtypes.experimental.float8_e5m2), "rank": spec(None, tf.float32),
}
server = reverb.Server([
    reverb.Table(name, reverb.selectors.Fifo(), reverb.selectors.Fifo(), 100, reverb.rate_limiters.MinSize(1), signature={"obs": obs, "act": spec([None], tf.int32)})
    for name, obs in columns.items()
])
client = reverb.Client(f"localhost:{server.port}")
for name, obs in (("half", np.float16([1, 2, 3])), ("complex", np.complex64([1, 2j, 3]))):
    with client.trajectory_writer(num_keep_alive_refs=1) as writer:
        writer.append({"obs": obs, "act": np.int32(7)})
        writer.create_item(name, 1.0, {key: column[-1:] for key, column in writer.history.items()})
        writer.flush()
print(server.port, flush=True)
sys.stdin.read()
server.stop()
