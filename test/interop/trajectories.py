"""Runs a real server with a table that the Python client has filled with TF-Agents trajectories, two steps per item. Prints its port, and runs until its
input ends. Arguments: the number of items."""
import collections, sys
import numpy as np
import reverb
import tensorflow as tf

Trajectory = collections.namedtuple("Trajectory", ["step_type", "observation", "action", "policy_info", "next_step_type", "reward", "discount"])
time = lambda dtype, *shape: tf.TensorSpec([None, *shape], dtype)
signature = Trajectory(time(tf.int32), time(tf.float32, 4), time(tf.int64), (), time(tf.int32), time(tf.float32), time(tf.float32))
server = reverb.Server([reverb.Table("trajectories", reverb.selectors.Prioritized(1.0), reverb.selectors.Fifo(), 100_000, reverb.rate_limiters.MinSize(1), signature=signature)])
count = int(sys.argv[1])
with reverb.Client(f"localhost:{server.port}").trajectory_writer(num_keep_alive_refs=2) as writer:
    for t in range(count + 1):
        # Episodes of 10 steps.
        k = t % 10
        step_type, next_step_type = (0 if k == 0 else 2 if k == 9 else 1), (2 if k == 8 else 0 if k == 9 else 1)
        observation, discount = np.float32([t, t + 0.25, -t, 1]), np.float32(k != 8)
        writer.append(Trajectory(np.int32(step_type), observation, np.int64(t % 2), (), np.int32(next_step_type), np.float32(t / 2), discount))
        if t >= 1:
            writer.create_item("trajectories", 1.0, tf.nest.map_structure(lambda column: column[-2:], writer.history))
    writer.flush()
print(server.port, flush=True)
sys.stdin.read()
server.stop()
