"""Prints facts from the sources of the packages as JSON: their public names and the functions of their tests. Nothing is imported.

Usage: read.py FOLDER..., each with the folders `reverb` or `tf_agents`: the site-packages of a Python, or a checkout.
"""
import ast
import json
import sys
from pathlib import Path

# The modules of the replay interface. Their members are public unless the name begins with an underscore.
MODULES = [
    *(f"reverb/{name}" for name in (
        "client", "structured_writer", "trajectory_writer", "server", "reverb_types", "item_selectors", "rate_limiters", "replay_sample",
        "trajectory_dataset", "timestep_dataset", "pattern_dataset", "tf_client", "errors", "platform/default/checkpointers", "platform/checkpointers_lib",
    )),
    *(f"tf_agents/replay_buffers/{name}" for name in (
        "replay_buffer", "tf_uniform_replay_buffer", "episodic_replay_buffer", "py_uniform_replay_buffer", "py_hashed_replay_buffer",
        "reverb_replay_buffer", "reverb_utils", "rlds_to_reverb", "table", "episodic_table",
    )),
    *(f"tf_agents/trajectories/{name}" for name in ("time_step", "policy_step", "trajectory")),
    *(f"tf_agents/drivers/{name}" for name in ("driver", "py_driver", "tf_driver", "dynamic_step_driver", "dynamic_episode_driver")),
    "tf_agents/agents/data_converter",
    "tf_agents/utils/batched_observer_unbatching",
    "tf_agents/utils/example_encoding",
    "tf_agents/utils/example_encoding_dataset",
    "tf_agents/experimental/distributed/reverb_variable_container",
    *(f"tf_agents/train/{name}" for name in (
        "actor", "learner", "ppo_learner", "triggers", "utils/replay_buffer_utils", "utils/spec_utils", "utils/train_utils",
    )),
]
TESTS = [
    *(f"reverb/{name}_test" for name in (
        "structured_writer", "trajectory_dataset", "trajectory_dataset_eager", "timestep_dataset", "timestep_dataset_eager", "pattern_dataset", "client",
    )),
    "tf_agents/trajectories/trajectory_test",
    "tf_agents/replay_buffers/py_replay_buffers_test",
    "tf_agents/drivers/dynamic_step_driver_test",
]


def fields(node):
    """Returns the field names of a named tuple that a call creates. Names that are not string literals are omitted."""
    if not (isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("NamedTuple", "namedtuple")):
        return []
    named = [item.elts[0] if isinstance(item, ast.Tuple) else item for item in node.args[1].elts]
    return [item.value for item in named if isinstance(item, ast.Constant)]


def targets(node):
    """Returns the names that an assignment defines."""
    named = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in named if isinstance(target, ast.Name)]


def attributes(method):
    """Returns the attributes that a method sets on its instance, such as `self.output_path`."""
    return [
        node.attr for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"
    ]


def members(node):
    found = [field for base in node.bases for field in fields(base)]
    for item in node.body:
        found += [item.name, *attributes(item)] if isinstance(item, ast.FunctionDef) else targets(item)
    return sorted({name for name in found if not name.startswith("_")})


def names(tree):
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = members(node)
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = []
        elif not (isinstance(node, ast.Assign) and "LazyLoader" in ast.unparse(node.value)):
            for name in targets(node):
                found[name] = fields(node.value)
    return [name + (f".{member}" if member else "") for name in found if not name.startswith("_") for member in ("", *found[name])]


def tests(tree):
    return [
        f"{node.name}.{item.name}"
        for node in tree.body if isinstance(node, ast.ClassDef)
        for item in node.body if isinstance(item, ast.FunctionDef) and item.name.startswith("test")
    ]


def read(folders, files, what):
    found = {}
    for file in files:
        for folder in folders:
            path = Path(folder, f"{file}.py")
            if path.exists():
                found[file] = what(ast.parse(path.read_text(encoding="utf-8")))
    return found


if __name__ == "__main__":
    print(json.dumps({"names": read(sys.argv[1:], MODULES, names), "tests": read(sys.argv[1:], TESTS, tests)}, indent=1))
