"""Runs real Reverb servers in this process. Each line of its input is a request in JSON, which it answers with a line. It ends when its input ends.

{"do": "start", "tables": [...]} -> {"id", "port"}, or {"error", "message"} if the constructors raise. Tables are declared as in tfagents/README.md.
{"do": "restart", "id", "tables": [...]} -> the same: writes a checkpoint, stops the server, and starts another one from the checkpoint.
{"do": "can_insert" | "can_sample", "id", "table", "n"} -> {"value"}: only the process of the server can check this.
{"do": "stop", "id"} -> {}
"""
import json, os, shutil, sys, tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import reverb
import tensorflow as tf

limiters = reverb.rate_limiters
folder = tempfile.mkdtemp()


def number(value):
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def selector(given):
    # A selector belongs to one role of one table. If two roles share a selector, the process crashes.
    name, *args = given if isinstance(given, list) else [given]
    return getattr(reverb.selectors, name)(*map(number, args))


def limiter(given):
    name, *args = given if isinstance(given, list) else [given]
    args = [tuple(arg) if isinstance(arg, list) else number(arg) for arg in args]
    return getattr(limiters, name)(*args)


def spec(node, leading):
    if isinstance(node, dict) and isinstance(node.get("dtype"), str):
        dtype = tf.string if node["dtype"] == "string" else tf.dtypes.as_dtype(node["dtype"])
        return tf.TensorSpec(leading + node["shape"], dtype)
    if isinstance(node, dict):
        return {key: spec(part, leading) for key, part in node.items()}
    return tuple(spec(part, leading) for part in node)


def table(given):
    name, size = given["name"], given.get("max_size", 100)
    kind = given.get("kind")
    signature = None
    if given.get("item_signature") is not None:
        signature = spec(given["item_signature"], [])
    elif given.get("signature") is not None:
        signature = spec(given["signature"], [None])
    if kind is not None:
        return getattr(reverb.Table, kind)(name, size, signature=signature)
    return reverb.Table(
        name=name, sampler=selector(given.get("sampler", "Fifo")), remover=selector(given.get("remover", "Fifo")), max_size=size,
        max_times_sampled=given.get("max_times_sampled", 0), rate_limiter=limiter(given.get("rate_limiter", ["MinSize", 1])), signature=signature)


class Running:
    def __init__(self, tables, path=None):
        self.path = path or tempfile.mkdtemp(dir=folder)
        self.tables = {one["name"]: table(one) for one in tables}
        declared = list(self.tables.values()) if len(self.tables) == len(tables) else [table(one) for one in tables]
        self.server = reverb.Server(declared, port=None, checkpointer=reverb.checkpointers.DefaultCheckpointer(self.path))


running = {}


def answer(asked):
    do, at = asked["do"], asked.get("id")
    if do == "start":
        at = len(running)
        running[at] = Running(asked["tables"])
    elif do == "restart":
        old = running[at]
        reverb.Client(f"localhost:{old.server.port}").checkpoint()
        old.server.stop()
        running[at] = Running(asked["tables"], old.path)
    elif do == "stop":
        running[at].server.stop()
        running[at] = None
        return {}
    else:
        return {"value": getattr(running[at].tables[asked["table"]], do)(asked["n"])}
    return {"id": at, "port": running[at].server.port}


try:
    for line in sys.stdin:
        try:
            told = answer(json.loads(line))
        except Exception as error:
            told = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(told), flush=True)
finally:
    shutil.rmtree(folder, ignore_errors=True)
