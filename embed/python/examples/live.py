"""Trains double DQN in Torch on the steps of a game that runs in a page (live.html) and plays with the newest network: `python live.py [GOAL]`.

The program serves the page and its WebSocket on the loopback interface, and prints the address first. It ends when the mean return of the
last balls reaches GOAL (0.8), or after SECONDS. `npm run example:python` opens the page in Chromium.
"""

import asyncio
import mimetypes
import sys
import time
from http import HTTPStatus
from pathlib import Path

import numpy as np
import torch
from reprise_replay import Replay, ReplayError
from reprise_replay.remote import accept, publish
from websockets.asyncio.server import serve
from websockets.datastructures import Headers
from websockets.http11 import Response

FOLDER = Path(__file__).resolve().parent
DIST = FOLDER.parents[2] / "dist"
TEXT = """
leaf observation f32 2
leaf action i32
leaf reward f32
table memory size 50000 minSize 2000 sampler prioritized 0.6
table returns size 200
rule memory nStep 3 priority max
view memory transitions gamma 0.97 weights batch
view returns items
"""
MEMORY, RETURNS = 0, 1
BATCH, TARGET_EVERY, PUBLISH_EVERY, BETA, BALLS, SECONDS = 256, 20, 10, 0.6, 200, 120


def network():
    return torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3))


def weights(model, epsilon):
    """Returns the network in the form that the page reads: float32, with epsilon first."""
    return np.concatenate([[epsilon], *(values.detach().numpy().ravel() for values in model.parameters())]).astype("f4").tobytes()


def learn(replay, goal, send):
    """Trains on arriving steps until the returns reach the goal. Returns whether they reached it."""
    torch.manual_seed(1)
    torch.set_num_threads(1)  # a network this small is slower with more threads
    online, target = network(), network()
    optimizer = torch.optim.Adam(online.parameters(), lr=0.003)
    start = time.monotonic()
    # The first batch waits until there are 2,000 transitions.
    for update, drawn in enumerate(replay.batches(MEMORY, BATCH, BETA, timeout=None)):
        if update % TARGET_EVERY == 0:
            target.load_state_dict(online.state_dict())
        batch = {name: torch.from_numpy(values) for name, values in drawn.items() if name != "steps"}
        with torch.no_grad():
            best = online(batch["nextObservation"]).argmax(1, keepdim=True)
            goals = batch["returns"] + batch["discounts"] * target(batch["nextObservation"]).gather(1, best)[:, 0]
        errors = online(batch["observation"]).gather(1, batch["action"].long()[:, None])[:, 0] - goals
        loss = (batch["weights"] * errors.square()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        replay.update(MEMORY, drawn["keys"], errors.detach().abs() + 0.001)
        if update % PUBLISH_EVERY == 0:
            send(weights(online, max(0.02, 0.5 - update / 1000)))
        if update % 100 == 99:
            seconds = time.monotonic() - start
            # An epoch contains each of the last balls once.
            rewards = next(replay.epochs(RETURNS, BALLS))["reward"]
            mean, is_done = float(rewards.mean()), len(rewards) == BALLS and rewards.mean() >= goal
            print(f"{seconds:5.1f} s  {update + 1:5} updates  {replay.stats(MEMORY)['inserts']:7} transitions  mean return {mean:+.2f}", flush=True)
            if is_done or seconds > SECONDS:
                print(f"{'REACHED' if is_done else 'MISSED'} a mean return of {goal} over {BALLS} balls", flush=True)
                return is_done
    return False


def page(connection, request):
    """Returns the page, or a file of Reprise; None for a request of the WebSocket."""
    path = request.path.partition("?")[0]
    if path == "/actor":
        return None
    file = FOLDER / "live.html" if path == "/" else (DIST / path.removeprefix("/reprise/")).resolve()
    if not file.is_file() or not (path == "/" or file.is_relative_to(DIST)):
        return connection.respond(HTTPStatus.NOT_FOUND, "not found")
    body = file.read_bytes()
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return Response(200, "OK", Headers({"Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close"}), body)


async def main(goal):
    loop = asyncio.get_running_loop()

    async def handle(websocket):
        try:
            await accept(websocket, replay)
            await websocket.wait_closed()
        except ReplayError as error:
            print(error, file=sys.stderr, flush=True)

    with Replay(TEXT) as replay:
        async with serve(handle, "127.0.0.1", 0, process_request=page, max_size=4 << 20, compression=None) as server:
            print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
            try:
                # The learner has its own thread; messages are sent in the loop's thread.
                return await asyncio.to_thread(learn, replay, goal, lambda data: loop.call_soon_threadsafe(publish, replay, data))
            finally:
                # Closing the Replay ends a learner that waits for steps.
                replay.close()


if __name__ == "__main__":
    try:
        sys.exit(0 if asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.8)) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
