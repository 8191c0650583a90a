"""Writes and reads items of float16 and bfloat16 on a server in this process: `halves.py SEED TABLES`. All items go through TensorFlow's Reverb client, because
no other client supports bfloat16.

Prints its port and the columns of each table, as [name, dtype, shape]. Then it answers lines of JSON: {"do": "write", "table"} inserts an item of random bits
and prints its leaves; {"do": "read", "table"} samples one and prints its leaves. A leaf is [dtype, shape, bytes in base64]. It ends when its input ends. Table
`known3` has the shapes of its columns in its signature, `open3` has unknown sizes, and `rank3` has no shapes.
"""
import base64, json, os, random, sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import reverb
import tensorflow as tf

R = random.Random(int(sys.argv[1]))
DTYPES = [tf.float16, tf.bfloat16, tf.float16, tf.bfloat16, tf.float32, tf.int32]
columns = {}
for i in range(int(sys.argv[2])):
    shapes = [[R.randrange(1, 5) for _ in range(R.choice([0, 1, 1, 2, 3]))] for _ in range(R.randrange(1, 6))]
    columns[f"{['known', 'open', 'rank'][i % 3]}{i}"] = [(f"c{k}", R.choice(DTYPES[: 4 if k == 0 else 6]), shape) for k, shape in enumerate(shapes)]


def signature(table):
    if table.startswith("known"):
        shape = lambda sizes: sizes
    else:
        shape = (lambda sizes: [None] * len(sizes)) if table.startswith("open") else (lambda sizes: None)
    return {name: tf.TensorSpec(shape(sizes), dtype) for name, dtype, sizes in columns[table]}


def random_leaf(dtype, shape):
    # Returns random bits, which include NaN and infinities.
    size = int(np.prod(shape))
    return np.frombuffer(R.randbytes(size * dtype.size), dtype.as_numpy_dtype).reshape(shape)


def shown(value):
    array = np.asarray(value)
    return [array.dtype.name, list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()]


selectors = reverb.selectors
server = reverb.Server([
    reverb.Table(name, selectors.Fifo(), selectors.Fifo(), 1000, reverb.rate_limiters.MinSize(1), max_times_sampled=1, signature=signature(name)) for name in columns
])
client = reverb.TFClient(f"localhost:{server.port}")
told = {table: [[name, dtype.name, shape] for name, dtype, shape in parts] for table, parts in columns.items()}
print(json.dumps({"port": server.port, "columns": told}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    table = asked["table"]
    try:
        if asked["do"] == "write":
            leaves = [random_leaf(dtype, shape) for _, dtype, shape in columns[table]]
            client.insert([tf.constant(leaf) for leaf in leaves], tf.constant([table]), tf.constant([1.0], tf.float64))
        else:
            leaves = [leaf.numpy() for leaf in client.sample(table, [dtype for _, dtype, _ in columns[table]]).data]
        print(json.dumps({"leaves": [shown(leaf) for leaf in leaves]}), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
server.stop()
