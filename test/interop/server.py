"""Runs a real Reverb server on this machine. Prints its port, and runs until its input ends. Arguments: a port or 0, tables as JSON (see clients.ts) or "", and a
directory for checkpoints.
"""
import collections, json, re, sys
import reverb
import tensorflow as tf

# A selector or a rate limiter must not be shared, so each table gets new ones.
selectors, limit = reverb.selectors, lambda: reverb.rate_limiters.MinSize(1)
spec = {"obs": tf.TensorSpec([None, 3], tf.float32), "act": tf.TensorSpec([None], tf.int32)}

def tables():
    return [
        reverb.Table("free", selectors.Uniform(), selectors.Fifo(), 1_000_000, limit()),
        reverb.Table("first", selectors.Fifo(), selectors.Fifo(), 1_000_000, limit(), max_times_sampled=1),
        reverb.Table("signed", selectors.Uniform(), selectors.Fifo(), 1000, limit(), signature=spec),
        reverb.Table("prioritized", selectors.Prioritized(0.8), selectors.Fifo(), 1000, limit()),
        reverb.Table("heap", selectors.MaxHeap(), selectors.Fifo(), 1000, limit()),
        reverb.Table.queue("queue", 10),
    ]

# TF-Agents' tables have a named tuple, which defines the order of its fields.
Trajectory = collections.namedtuple("Trajectory", "step_type observation action policy_info next_step_type reward discount")

def selector(given):
    return {
        "fifo": selectors.Fifo, "lifo": selectors.Lifo, "uniform": selectors.Uniform, "minHeap": selectors.MinHeap, "maxHeap": selectors.MaxHeap,
        "prioritized": lambda: selectors.Prioritized(given.get("exponent", 1.0)),
    }[given["kind"]]()

def nest(node):
    if "leaf" in node:
        dtype, shape = node["leaf"]
        return tf.TensorSpec(shape, getattr(tf, dtype))
    if "list" in node:
        return tuple(nest(part) for part in node["list"])
    parts = {name: nest(part) for name, part in node["dict"].items()}
    named = {re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name): part for name, part in parts.items()}
    return Trajectory(**named) if set(named) == set(Trajectory._fields) else parts

def table(given):
    bounds = given["rateLimiter"]
    limiter = reverb.rate_limiters.RateLimiter(bounds["samplesPerInsert"], bounds["minSize"], bounds["minDiff"], bounds["maxDiff"])
    return reverb.Table(given["name"], selector(given["sampler"]), selector(given["remover"]), given["maxSize"], limiter,
        max_times_sampled=given["maxTimesSampled"], signature=nest(given["signature"]) if "signature" in given else None)

port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
given = [table(one) for one in json.loads(sys.argv[2])] if len(sys.argv) > 2 and sys.argv[2] else tables()
checkpointer = reverb.platform.checkpointers_lib.DefaultCheckpointer(sys.argv[3]) if len(sys.argv) > 3 else None
server = reverb.Server(given, port=port or None, checkpointer=checkpointer)
print(server.port, flush=True)
sys.stdin.read()
server.stop()
