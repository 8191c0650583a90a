"""A Reverb server: `python server.py [PORT]`. It prints its port, and ends with its input, or by Ctrl-C."""
import contextlib
import sys
import tempfile
import reverb
from tensorflow import TensorSpec
from tf_agents.trajectories import Trajectory

def table(name, max_size, limiter, signature):
    sampler, remover = reverb.selectors.Uniform(), reverb.selectors.Fifo()  # never shared between tables
    return reverb.Table(name, sampler, remover, max_size, limiter, signature=signature)

i32, f32 = TensorSpec([None], "int32"), TensorSpec([None], "float32")  # of any number of steps
steps = Trajectory(i32, TensorSpec([None, 4], "float32"), i32, (), i32, f32, f32)
sizes = [4, 128], [128], [128, 128], [128], [128, 2], [2]
weights = {"policy_variables": [TensorSpec(size, "float32") for size in sizes], "train_step": TensorSpec([], "int64")}
limiter = reverb.rate_limiters.SampleToInsertRatio(16, 500, 8000)  # actors or learner wait if they are too fast
with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory() as checkpoints:
    server = reverb.Server(
        [table("experience", 20_000, limiter, steps), table("variables", 1, reverb.rate_limiters.MinSize(1), weights)],
        port=int(sys.argv[1]) if len(sys.argv) > 1 else None,
        checkpointer=reverb.checkpointers.DefaultCheckpointer(checkpoints),
    )
    print(server.port, flush=True)
    sys.stdin.read()
