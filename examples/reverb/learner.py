"""The learner: TF-Agents' DQN, from what actors write to a Reverb server: `python learner.py HOST:PORT`. Actors find its weights in the table "variables"."""
import os
import sys
import tempfile
import threading
import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.experimental.distributed.reverb_variable_container import ReverbVariableContainer
from tf_agents.networks.sequential import Sequential
from tf_agents.replay_buffers.reverb_replay_buffer import ReverbReplayBuffer
from tf_agents.specs.tensor_spec import BoundedTensorSpec
from tf_agents.trajectories.time_step import time_step_spec
from tf_agents.utils import common

address = sys.argv[1]
folder = tempfile.TemporaryDirectory()
tempfile.tempdir = folder.name  # TensorFlow writes the functions there that it compiles

def end_with_input():
    sys.stdin.read()
    try:
        folder.cleanup()
    finally:
        os._exit(0)

threading.Thread(target=end_with_input, daemon=True).start()

dense = tf.keras.layers.Dense
network = Sequential([dense(128, "relu"), dense(128, "relu"), dense(2)])
train_step = tf.Variable(0, dtype=tf.int64)
agent = dqn_agent.DdqnAgent(
    time_step_spec(tf.TensorSpec([4], tf.float32)),
    BoundedTensorSpec([], tf.int32, 0, 1),
    q_network=network,
    optimizer=tf.keras.optimizers.legacy.Adam(5e-4),
    gamma=0.99,
    target_update_tau=0.005,
    td_errors_loss_fn=common.element_wise_huber_loss,
    train_step_counter=train_step,
)
agent.initialize()
train = common.function(agent.train)

variables = ReverbVariableContainer(address)

def publish():
    variables.push({"policy_variables": network.variables, "train_step": train_step})

publish()  # random ones: actors wait for some
buffer = ReverbReplayBuffer(agent.collect_data_spec, table_name="experience", sequence_length=2, server_address=address)
for experience, _ in buffer.as_dataset(sample_batch_size=64, num_steps=2, num_parallel_calls=1).prefetch(2):
    train(experience)
    if train_step.numpy() % 50 == 0:
        publish()
