"""Exchanges random variables between Python's ReverbVariableContainer and another program, on a server in this process: `variables.py SEED TABLES`.

Prints its port and the signatures, as `[dtype, shape]` under "leaf", a list as "list", a dict as "dict". Then it answers lines of JSON: {"do": "push", "table"}
pushes a random nest and prints its leaves; {"do": "update", "table"} updates variables from the table and prints them. A leaf is `[dtype, shape, bytes in
base64]`; a leaf of texts has a list. It ends when its input ends.
"""
import base64, collections, json, os, random, sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import reverb
import tensorflow as tf
from tf_agents.experimental.distributed.reverb_variable_container import ReverbVariableContainer

R = random.Random(int(sys.argv[1]))
DTYPES = ["float32", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool", "string", "float16", "float16", "bfloat16", "bfloat16"]
# A named tuple defines the order of its fields.
Pair = collections.namedtuple("Pair", "weights bias")


def random_spec(depth=0):
    kind = R.choice(["leaf"] * (1 + depth) + ["dict", "tuple", "named"])
    if kind == "leaf":
        return tf.TensorSpec([R.randrange(1, 5) for _ in range(R.choice([0, 1, 1, 2, 2, 3]))], R.choice(DTYPES))
    if kind == "named":
        return Pair(random_spec(depth + 1), random_spec(depth + 1))
    parts = [random_spec(depth + 1) for _ in range(R.randrange(1, 4))]
    return dict(zip(R.sample(["w", "b", "kernel", "step", "a_1", "Z"], len(parts)), parts)) if kind == "dict" else tuple(parts)


def random_value(spec):
    shape, dtype = spec.shape.as_list(), spec.dtype
    if dtype == tf.string:
        texts = ["".join(R.choice("aé日\U0001f600 0") for _ in range(R.randrange(5))) for _ in range(int(np.prod(shape)))]
        return np.array([text.encode() for text in texts], dtype=object).reshape(shape)
    size = int(np.prod(shape))
    if dtype == tf.bool:
        return np.array([R.random() < 0.5 for _ in range(size)]).reshape(shape)
    # Returns random bits, which include NaN and infinities.
    return np.frombuffer(R.randbytes(size * dtype.size), dtype.as_numpy_dtype).reshape(shape)


def shown(value):
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    # A single text is bytes.
    array = array.astype(object) if array.dtype.kind == "S" else array
    if array.dtype == object:
        return ["string", list(array.shape), [text.decode() for text in array.reshape(-1)]]
    return [array.dtype.name, list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()]


def told(spec):
    if isinstance(spec, tf.TensorSpec):
        return {"leaf": [spec.dtype.name, spec.shape.as_list()]}
    if hasattr(spec, "_asdict"):
        return {"dict": {name: told(part) for name, part in spec._asdict().items()}}
    return {"dict": {name: told(part) for name, part in spec.items()}} if isinstance(spec, dict) else {"list": [told(part) for part in spec]}


names = [f"variables{i}" for i in range(int(sys.argv[2]))]
specs = {name: random_spec() for name in names}
selectors = reverb.selectors
tables = [reverb.Table(name, selectors.Uniform(), selectors.Fifo(), 1, reverb.rate_limiters.MinSize(1), signature=spec) for name, spec in specs.items()]
server = reverb.Server(tables)
container = ReverbVariableContainer(f"localhost:{server.port}", names)
variables = {name: tf.nest.map_structure(lambda spec: tf.Variable(tf.zeros(spec.shape, spec.dtype) if spec.dtype != tf.string else tf.fill(spec.shape, "")), spec)
             for name, spec in specs.items()}
print(json.dumps({"port": server.port, "signatures": {name: told(spec) for name, spec in specs.items()}}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    table = asked["table"]
    try:
        if asked["do"] == "push":
            nest = tf.nest.map_structure(random_value, specs[table])
            container.push(nest, table)
            leaves = nest
        else:
            container.update(variables[table], table)
            leaves = variables[table]
        print(json.dumps({"leaves": [shown(leaf) for leaf in tf.nest.flatten(leaves)]}), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
server.stop()
