"""Records the behavior of TF-Agents' BatchedObserverUnbatching and ReverbVariableContainer on real Reverb servers: `distributed.py OUT_DIR`, with tf-agents and
dm-reverb.

Inputs are defined in this file, or random with a fixed seed; every `expect` is the recorded result. tfagents/README.md describes values, specs and errors. The
files have these additional parts:

batched-observer.json: `batch_size` observers of a `class` (a `function` only records its calls); observer i writes to table `t<i>`. Ops: `step` with a batched
trajectory; `reset`, `close` and `open` of all observers; `close_one` of the observer `index`. After each op, all observers are flushed. `sizes` and `cached`
are lists by observer; `calls` lists the calls to functions by op, as `[observer, trajectory]`.

variables.json: `signature` of the table `variables` (null if there is none), `max_size`, and `tables` of the container. Ops: `push` with `values`, `pull`,
`update` with `variables` (their values before the update). `spec` is the spec of the values, if it differs from the signature. Results: `{value}` for pull;
`{value}` for update, the variables after the update; `{}`; or `{error}`.
"""
import json, os, random, sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import reverb
import tensorflow as tf
from tf_agents.experimental.distributed.reverb_variable_container import ReverbVariableContainer
from tf_agents.replay_buffers import reverb_utils
from tf_agents.trajectories import trajectory as trajectory_lib
from tf_agents.utils.batched_observer_unbatching import BatchedObserverUnbatching

R = random.Random(44)
FIELDS = trajectory_lib.Trajectory._fields


def leaf(dtype, *shape):
    return {"dtype": dtype, "shape": list(shape)}


def is_leaf(node):
    return isinstance(node, dict) and set(node) == {"dtype", "shape"}


def build(spec, value):
    if is_leaf(spec):
        return np.asarray(value, dtype=object if spec["dtype"] == "string" else spec["dtype"])
    if isinstance(spec, dict):
        nest = {name: build(spec[name], part) for name, part in value.items()}
        return trajectory_lib.Trajectory(**nest) if set(spec) == set(FIELDS) else nest
    return tuple(build(*pair) for pair in zip(spec, value))


def shown(value):
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: shown(part) for name, part in value._asdict().items()}
    if isinstance(value, dict):
        return {name: shown(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(part) for part in value]
    if isinstance(value, tf.Variable) or tf.is_tensor(value):
        value = value.numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
        return shown(value) if isinstance(value, list) else shown(value)
    return value.decode() if isinstance(value, bytes) else value


def error(raised):
    return {"error": {"type": type(raised).__name__, "message": str(raised).split("\n")[0][:200]}}


# ---------------------------------------------------------------- batched observers
TSPEC = {"step_type": leaf("int32"), "observation": leaf("float32", 2), "action": leaf("int32"), "policy_info": [],
         "next_step_type": leaf("int32"), "reward": leaf("float32"), "discount": leaf("float32")}
DEEP = {**TSPEC, "observation": {"pixels": leaf("uint8", 2, 2), "pair": [leaf("float64"), leaf("int64", 1)]}, "policy_info": {"logits": leaf("float32", 3)}}


def observation(spec, k):
    return [k, k + 0.5] if spec is TSPEC else {"pixels": [[k % 256, 1], [2, 255 - k % 256]], "pair": [k / 8, [k * 2**33]]}


def batched(spec, numbers, types):
    """Returns a batch in which row i is step numbers[i], from step type types[i][0] to types[i][1]."""
    return {"step_type": [a for a, _ in types], "observation": stacked([observation(spec, k) for k in numbers]), "action": [10 * k for k in numbers],
            "policy_info": [] if spec is TSPEC else {"logits": [[k / 4, -k, 0] for k in numbers]}, "next_step_type": [b for _, b in types],
            "reward": [k / 4 for k in numbers], "discount": [0.0 if b == 2 else 1.0 for _, b in types]}


def stacked(rows):
    """Converts rows of nests to a nest of rows."""
    first = rows[0]
    if isinstance(first, dict):
        return {name: stacked([row[name] for row in rows]) for name in first}
    if isinstance(first, list) and any(isinstance(part, (dict, list)) for part in first) and not isinstance(first[0], list):
        return [stacked([row[i] for row in rows]) for i in range(len(first))]
    return rows


def batched_case(name, what, cls, batch_size, args, ops, spec=TSPEC):
    return {"family": "batched-observer", "name": f"batched_{name}", "what": what, "class": cls, "batch_size": batch_size, "args": args, "spec": spec, "ops": ops}


def episodes(batch_size, lengths, steps, spec=TSPEC):
    """Returns the ops for environments in lock-step. Each environment repeats episodes with its own lengths."""
    at = [0] * batch_size
    turn = [0] * batch_size
    ops = []
    for t in range(steps):
        types = []
        for i in range(batch_size):
            length = lengths[i][turn[i] % len(lengths[i])]
            kind = lambda k: 0 if k == 0 else 2 if k == length else 1
            here, after = kind(at[i]), kind(at[i] + 1) if at[i] < length else 0
            types.append((here, after))
            at[i], turn[i] = (at[i] + 1, turn[i]) if at[i] < length else (0, turn[i] + 1)
        ops.append(["step", batched(spec, [100 * i + t for i in range(batch_size)], types)])
    return ops


def batched_inputs():
    TRAJECTORY, EPISODE = "ReverbAddTrajectoryObserver", "ReverbAddEpisodeObserver"
    two = episodes(2, [[3], [2, 4]], 8)
    yield batched_case("function", "What observers are called with, in which order.", "function", 2, {}, two[:3])
    yield batched_case("function_deep", "Nested observations and infos.", "function", 3, {}, episodes(3, [[2], [3], [1]], 2, DEEP), DEEP)
    yield batched_case("function_one", "A batch of one.", "function", 1, {}, episodes(1, [[2]], 3))
    yield batched_case("windows", "Windows of two.", TRAJECTORY, 2, {"sequence_length": 2}, two)
    yield batched_case("episodes", "Whole episodes.", EPISODE, 3, {"max_sequence_length": 9}, episodes(3, [[1], [2, 3], [4]], 10))
    yield batched_case("reset", "A reset in between.", TRAJECTORY, 2, {"sequence_length": 2}, two[:2] + [["reset", {"write_cached_steps": False}]] + two[4:])
    yield batched_case("larger", "A batch of three for two observers.", TRAJECTORY, 2, {"sequence_length": 1}, [["step", batched(TSPEC, [1, 2, 3], [(1, 1)] * 3)]])
    yield batched_case("smaller", "A batch of one for two observers.", TRAJECTORY, 2, {"sequence_length": 1}, [["step", batched(TSPEC, [1], [(1, 1)])], *two[:1]])
    ragged = {**batched(TSPEC, [1, 2], [(1, 1)] * 2), "reward": [0.5]}
    yield batched_case("ragged", "Rewards of one row among leaves of two.", TRAJECTORY, 2, {"sequence_length": 1}, [["step", ragged]])
    yield batched_case("closed_one", "One of three is closed.", TRAJECTORY, 3, {"sequence_length": 1},
                       [["close_one", {"index": 1}], *episodes(3, [[5]] * 3, 2), ["open"], *episodes(3, [[5]] * 3, 1)])
    yield batched_case("closed_all", "All are closed, and opened again.", EPISODE, 2, {"max_sequence_length": 9}, [*two[:2], ["close"], *two[:1], ["open"], ["reset", {"write_cached_steps": False}], *two])
    for n in range(40):
        size, spec = R.choice([1, 2, 3, 4]), R.choice([TSPEC, TSPEC, DEEP])
        cls = R.choice([TRAJECTORY, TRAJECTORY, EPISODE])
        args = {"max_sequence_length": R.choice([20, 40])} if cls == EPISODE else {"sequence_length": R.choice([1, 2, 3]), "stride_length": R.choice([1, 2]),
            **R.choice([{}, {"pad_end_of_episodes": True}, {"pad_end_of_episodes": True, "tile_end_of_episodes": True}]), "priority": R.choice([1, 0.5])}
        lengths = [[R.randrange(1, 5) for _ in range(R.randrange(1, 4))] for _ in range(size)]
        ops = episodes(size, lengths, R.randrange(2, 14), spec)
        for _ in range(R.choice([0, 0, 1, 2])):
            ops.insert(R.randrange(len(ops) + 1), R.choice([["reset", {"write_cached_steps": False}], ["close"], ["open"]]))
        yield batched_case(f"random_{n}", "random", cls, size, args, ops, spec)


def play_batched(case):
    size, spec, cls = case["batch_size"], case["spec"], case["class"]
    tables = [f"t{i}" for i in range(size)]
    fifo = reverb.selectors.Fifo
    server = reverb.Server([reverb.Table(name, fifo(), fifo(), 1000, reverb.rate_limiters.MinSize(1), max_times_sampled=1) for name in tables])
    client = reverb.Client(f"localhost:{server.port}")
    made, calls, out = [], [], {"sizes": [], "cached": [], "errors": []}

    def create():
        i = len(made)
        observer = (lambda row: calls[-1].append([i, shown(row)])) if cls == "function" else getattr(reverb_utils, cls)(client, tables[i], **case["args"])
        made.append(observer)
        return observer

    unbatching = BatchedObserverUnbatching(create, size)
    for i, [kind, *args] in enumerate(case["ops"]):
        calls.append([])
        try:
            if kind == "step":
                unbatching(build(spec, args[0]))
            elif kind == "close_one":
                made[args[0]["index"]].close()
            else:
                for observer in made:
                    getattr(observer, kind)(**(args[0] if args else {}))
        except Exception as raised:
            out["errors"].append({"op": i, **error(raised)["error"]})
        for observer in made:
            if cls != "function" and observer._writer is not None:
                try:
                    observer.flush()
                except Exception:
                    pass
        info = client.server_info()
        out["sizes"].append([info[name].current_size for name in tables])
        out["cached"].append([0 if cls == "function" else observer._cached_steps for observer in made])
    if cls == "function":
        server.stop()
        return {"calls": calls, "errors": out["errors"]}
    items = []
    for name in tables:
        for _ in range(client.server_info()[name].current_size):
            sample = next(client.sample(name, 1, emit_timesteps=False))
            items.append({"table": name, "priority": sample.info.priority, "columns": [shown(column) for column in sample.data]})
    for observer in made:
        observer.close()
    server.stop()
    return {**out, "items": items}


# ---------------------------------------------------------------- variables
VARIABLES = [leaf("int64"), {"var1": [leaf("float64", 2)], "var2": leaf("int32", 2, 1)}]
VALUES = [0, {"var1": [[1.0, 1.5]], "var2": [[2], [3]]}]
OTHER = [7, {"var1": [[-1.0, 0.25]], "var2": [[0], [2**31 - 1]]}]
POLICY = {"train_step": leaf("int64"), "policy_variables": [leaf("float32", 4, 3), leaf("float32", 3), leaf("float32", 3, 2), leaf("float32", 2)]}


def variables_case(name, what, ops, signature=VARIABLES, **rest):
    return {"family": "variables", "name": f"variables_{name}", "what": what, "signature": signature, **rest, "ops": ops}


def zeros(spec):
    if is_leaf(spec):
        return shown(np.zeros(spec["shape"], "object" if spec["dtype"] == "string" else spec["dtype"])) if spec["dtype"] != "string" else shown(np.full(spec["shape"], ""))
    return {name: zeros(part) for name, part in spec.items()} if isinstance(spec, dict) else [zeros(part) for part in spec]


def random_leaf():
    return leaf(R.choice(["float32", "float32", "float64", "int32", "int64", "uint8", "int8", "int16", "uint16", "uint32", "uint64", "bool"]),
                *[R.randrange(1, 4) for _ in range(R.choice([0, 1, 1, 2, 2, 3]))])


def random_spec(depth=0):
    kind = R.choice(["leaf"] * (2 + depth) + ["dict", "tuple"])
    if kind == "leaf":
        return random_leaf()
    parts = [random_spec(depth + 1) for _ in range(R.randrange(1, 4))]
    return dict(zip(R.sample(["w", "b", "kernel", "step", "a_1", "Z"], len(parts)), parts)) if kind == "dict" else parts


def random_value(spec):
    if is_leaf(spec):
        dtype = spec["dtype"]
        def number():
            if dtype == "bool":
                return R.random() < 0.5
            if dtype.startswith("float"):
                return R.randrange(-4096, 4096) / 64
            info = np.iinfo(dtype)
            return R.choice([0, 1, max(info.min, -2**53), min(info.max, 2**53), R.randrange(100)])
        def nested(shape):
            return number() if not shape else [nested(shape[1:]) for _ in range(shape[0])]
        return nested(spec["shape"])
    return {name: random_value(part) for name, part in spec.items()} if isinstance(spec, dict) else [random_value(part) for part in spec]


def variables_inputs():
    push, update = lambda values, **rest: ["push", {"values": values, **rest}], lambda before=zeros(VARIABLES), **rest: ["update", {"variables": before, **rest}]
    pull = ["pull", {}]
    yield variables_case("push_pull", "Push, pull; twice.", [push(VALUES), pull, push(OTHER), pull, pull])
    yield variables_case("update", "Update after each push.", [push(VALUES), update(), push(OTHER), update(OTHER)])
    yield variables_case("policy", "What learners push.", [push(random_value(POLICY)), pull, update(zeros(POLICY))], POLICY)
    yield variables_case("bare", "A signature that is a leaf.", [push(4.5), pull, update(0.0)], leaf("float32"))
    yield variables_case("no_table", "A table that the server does not have.", [pull], tables=["nowhere"])
    yield variables_case("no_signature", "A table without a signature.", [pull], None)
    yield variables_case("size_two", "A table of two items.", [pull], max_size=2)
    yield variables_case("other_table", "A table that the container does not have.", [push(VALUES, table="other"), ["pull", {"table": "other"}], update(table="other"), push(VALUES), pull])
    bare = leaf("int32")
    yield variables_case("push_structure", "One variable for three.", [push(1, spec=bare), push(VALUES), pull])
    wrong = [leaf("int32"), VARIABLES[1]]
    yield variables_case("push_dtype", "int32 for int64.", [push(VALUES, spec=wrong), push(VALUES), pull])
    flat = [leaf("int64"), {"var1": [leaf("float64", 2)], "var2": leaf("int32", 2)}]
    yield variables_case("push_shape", "Another rank.", [push([0, {"var1": [[1.0, 1.5]], "var2": [2, 3]}], spec=flat), push(VALUES), pull])
    names = [leaf("int64"), {"var1": [leaf("float64", 2)], "other": leaf("int32", 2, 1)}]
    yield variables_case("push_names", "Another name: the same dtypes and shapes by luck of the order are not.", [push([0, {"var1": [[1.0, 1.5]], "other": [[2], [3]]}], spec=names), push(VALUES), pull])
    same = {"a": leaf("float32"), "b": leaf("float32")}
    yield variables_case("push_names_same_form", "Other names, the same dtypes and shapes.", [push({"x": 1.0, "y": 2.0}, spec={"x": leaf("float32"), "y": leaf("float32")}), push({"a": 3.0, "b": 4.0}), pull], same)
    yield variables_case("update_structure", "One variable for three.", [push(VALUES), update(1, spec=bare)])
    yield variables_case("update_dtype", "int32 for int64.", [push(VALUES), update(zeros(VARIABLES), spec=wrong)])
    yield variables_case("update_shape", "Another rank.", [push(VALUES), update([0, {"var1": [[0.0, 0.0]], "var2": [0, 0]}], spec=flat)])
    yield variables_case("update_names", "Another name.", [push(VALUES), update([0, {"var1": [[0.0, 0.0]], "other": [[0], [0]]}], spec=names)])
    for n in range(40):
        signature = random_spec()
        ops = []
        for _ in range(R.randrange(1, 4)):
            ops += [push(random_value(signature)), R.choice([pull, update(zeros(signature))])]
        yield variables_case(f"random_{n}", "random", ops, signature)


def play_variables(case):
    def specs(node):
        if is_leaf(node):
            return tf.TensorSpec(node["shape"], node["dtype"])
        return {name: specs(part) for name, part in node.items()} if isinstance(node, dict) else tuple(specs(part) for part in node)

    def table(name):
        signature = None if case["signature"] is None else specs(case["signature"])
        return reverb.Table(name, reverb.selectors.Uniform(), reverb.selectors.Fifo(), case.get("max_size", 1), reverb.rate_limiters.MinSize(1), signature=signature)

    server = reverb.Server([table("variables"), table("other")])
    results = []
    try:
        try:
            container = ReverbVariableContainer(f"localhost:{server.port}", case.get("tables", ["variables"]))
        except Exception as raised:
            return error(raised)
        for kind, given in case["ops"]:
            rest = {"table": given["table"]} if "table" in given else {}
            spec = given.get("spec", case["signature"])
            try:
                if kind == "push":
                    container.push(build(spec, given["values"]), **rest)
                    results.append({})
                elif kind == "pull":
                    results.append({"value": shown(container.pull(**rest))})
                else:
                    variables = tf.nest.map_structure(tf.Variable, build(spec, given["variables"]))
                    container.update(variables, **rest)
                    results.append({"value": shown(variables)})
            except Exception as raised:
                results.append(error(raised))
        return {"results": results}
    finally:
        server.stop()


if __name__ == "__main__":
    for name, inputs, play in (("batched-observer", batched_inputs, play_batched), ("variables", variables_inputs, play_variables)):
        # The keys are sorted, because the key order of a dict may differ between runs.
        cases = [{**case, "expect": json.loads(json.dumps(play(case), sort_keys=True))} for case in inputs()]
        with open(os.path.join(sys.argv[1], f"{name}.json"), "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
        print(name, len(cases))
