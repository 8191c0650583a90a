/** Plays Breakout into a memory of packed frames, and draws transitions from it for the page. */
import { i32, packed, Replay, u8 } from "reprise";
import { Breakout, SIZE } from "./breakout.ts";
import type { ScreensFrame } from "./screens.ts";

/** The number of frames per observation. */
const STACK = 4;
const PIXELS = SIZE * SIZE;
/** The number of steps per second, and the number of milliseconds between two turns. */
const RATE = 600;
const TURN_MS = 50;
/** Above this many bytes, the oldest transitions are evicted. */
const MAX_BYTES = 32 * 2 ** 20;

const replay = new Replay({
  spec: { observation: packed("screens", u8(SIZE, SIZE), STACK), action: i32(), reward: i32() },
  tables: { memory: { maxSize: 100_000 } },
  storedBytes: { max: MAX_BYTES, evictFrom: "memory" },
});
const { memory } = replay.tables;
const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
const transitions = memory.transitions({ gamma: 0.99 });
const game = new Breakout(1);
const observation = new Uint8Array(STACK * PIXELS);

function play(steps: number): void {
  for (; steps > 0; steps--) {
    observation.copyWithin(0, PIXELS);
    observation.set(game.screen, (STACK - 1) * PIXELS);
    const { reward, action, ended } = game.step();
    writer.append({ observation, action, reward });
    if (!ended) continue;
    writer.endEpisode({ terminated: true });
    observation.fill(0);
  }
}

setInterval(() => play((RATE * TURN_MS) / 1000), TURN_MS);

/** The batch for one transition, refilled each time. */
let batch: ReturnType<typeof transitions.sample> | undefined;

/** Answers each message with the current frame. */
addEventListener("message", () => {
  const { frames = 0, bytes = 0, rawBytes = 0, ratio = Number.NaN } = replay.stats().packed.screens ?? {};
  if (memory.size > 0) batch = batch === undefined ? transitions.sample(1) : transitions.sample(1, { into: batch });
  const drawn = batch?.observation.data.slice();
  const screen = game.screen.slice();
  const message: ScreensFrame = { screen, drawn, frames, bytes, rawBytes, ratio };
  postMessage(message, { transfer: drawn === undefined ? [screen.buffer] : [screen.buffer, drawn.buffer] });
});
