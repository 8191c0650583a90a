"""Records screens of Atari games as DQN sees them: AtariPreprocessing of Gymnasium (84 x 84, gray, frame skip 4), sticky actions, and a
random policy that keeps an action half of the time. The wheel of ale-py contains the games. Writes GAME.bin, frames of 7,056 bytes one after
the other, and GAME.ends, a byte for each frame: 1 if an episode ends with it.

    python record.py FOLDER FRAMES [GAME ...]     # all 57 games by default
"""

import sys
from pathlib import Path

import ale_py
import cv2
import gymnasium as gym
import numpy as np
from gymnasium.wrappers import AtariPreprocessing

# The games of "The Arcade Learning Environment" for which papers after DQN report results.
GAMES = (
    "Alien Amidar Assault Asterix Asteroids Atlantis BankHeist BattleZone BeamRider Berzerk Bowling Boxing Breakout Centipede ChopperCommand "
    "CrazyClimber Defender DemonAttack DoubleDunk Enduro FishingDerby Freeway Frostbite Gopher Gravitar Hero IceHockey Jamesbond Kangaroo Krull "
    "KungFuMaster MontezumaRevenge MsPacman NameThisGame Phoenix Pitfall Pong PrivateEye Qbert Riverraid RoadRunner Robotank Seaquest Skiing "
    "Solaris SpaceInvaders StarGunner Surround Tennis TimePilot Tutankham UpNDown Venture VideoPinball WizardOfWor YarsRevenge Zaxxon"
).split()
SIZE = 84
KEEPS_ACTION = 0.5


def screens(game, count):
    """Yields screens of seeded episodes, and whether an episode ends with each."""
    env = gym.make(f"ALE/{game}-v5", frameskip=1, repeat_action_probability=0.25)
    env = AtariPreprocessing(env, noop_max=30, frame_skip=4, screen_size=SIZE, grayscale_obs=True)
    rng = np.random.default_rng(0)
    seed, action, done = 0, 0, True
    for _ in range(count):
        if done:
            screen, _ = env.reset(seed=seed)
            seed, done = seed + 1, False
        else:
            if rng.random() > KEEPS_ACTION:
                action = int(rng.integers(env.action_space.n))
            screen, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
        yield screen, done
    env.close()


def main(folder, count, games):
    cv2.setNumThreads(1)
    gym.register_envs(ale_py)
    for game in games:
        ends = np.zeros(count, np.uint8)
        with open(Path(folder) / f"{game}.bin", "wb") as file:
            for i, (screen, end) in enumerate(screens(game, count)):
                file.write(screen.tobytes())
                ends[i] = end
        ends.tofile(Path(folder) / f"{game}.ends")
        print(game, count, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:] or GAMES)
