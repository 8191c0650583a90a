"""Runs a real server with one episode that TF-Agents' ReverbAddEpisodeObserver wrote. Prints its port, and runs until its input ends. Arguments: the steps of the
episode.
"""
import sys
import numpy as np
import reverb
import tensorflow as tf
from tf_agents.replay_buffers.reverb_utils import ReverbAddEpisodeObserver
from tf_agents.trajectories import Trajectory

count = int(sys.argv[1])
time = lambda dtype, *shape: tf.TensorSpec([None, *shape], dtype)
signature = Trajectory(time(tf.int32), time(tf.float32, 4), time(tf.int64), (), time(tf.int32), time(tf.float32), time(tf.float32))
server = reverb.Server([reverb.Table("episodes", reverb.selectors.Fifo(), reverb.selectors.Fifo(), 100, reverb.rate_limiters.MinSize(1), signature=signature)])
observer = ReverbAddEpisodeObserver(reverb.Client(f"localhost:{server.port}"), "episodes", max_sequence_length=count)
for t in range(count):
    step_type, next_step_type = (0 if t == 0 else 1), (2 if t == count - 2 else 0 if t == count - 1 else 1)
    observation = np.float32([t, t + 0.25, -t, 1])
    observer(Trajectory(np.int32(2 if t == count - 1 else step_type), observation, np.int64(t % 7), (), np.int32(next_step_type), np.float32(t / 2), np.float32(1)))
observer.close()
print(server.port, flush=True)
sys.stdin.read()
server.stop()
