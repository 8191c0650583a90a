"""Trains double DQN in Torch on the memory that a game in JavaScript collected (game.js): `python learn.py SNAPSHOT LEARNED NETWORK`.

LEARNED receives the snapshot with the updated priorities, which JavaScript opens. NETWORK receives the weights, as JSON.
"""

import json
import sys

import torch
from reprise_replay import Replay

UPDATES, BATCH, TARGET = 600, 256, 20
GAMMA, BETA = 0.97, 0.6


def network():
    return torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3))


def learn(replay):
    """Trains on a Replay. Returns the network, and the loss of each update."""
    torch.manual_seed(1)
    torch.set_num_threads(1)  # a network this small is slower with more threads
    online, target, losses = network(), network(), []
    optimizer = torch.optim.Adam(online.parameters(), lr=0.006)
    for update in range(UPDATES):
        if update % TARGET == 0:
            target.load_state_dict(online.state_dict())
        batch = {name: torch.from_numpy(values) for name, values in replay.sample(0, BATCH, BETA).items() if name != "steps"}
        with torch.no_grad():
            best = online(batch["nextObservation"]).argmax(1, keepdim=True)
            wanted = batch["returns"] + batch["discounts"] * target(batch["nextObservation"]).gather(1, best)[:, 0]
        errors = online(batch["observation"]).gather(1, batch["action"].long()[:, None])[:, 0] - wanted
        loss = (batch["weights"] * errors.square()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        replay.update(0, batch["keys"], errors.detach().abs() + 0.001)
        losses.append(loss.item())
    return online, losses


def main(snapshot, learned, weights):
    with Replay.load(snapshot, f"view memory transitions gamma {GAMMA} weights batch") as replay:
        online, losses = learn(replay)
        replay.save(learned)
    with open(weights, "w", encoding="utf-8") as file:
        json.dump([[online[i].weight.tolist(), online[i].bias.tolist()] for i in (0, 2)], file)
    print(json.dumps({"first": sum(losses[:50]) / 50, "last": sum(losses[-50:]) / 50}))


if __name__ == "__main__":
    main(*sys.argv[1:])
