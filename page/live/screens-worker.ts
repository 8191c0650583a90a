/** Plays Breakout into a memory of packed frames, and draws from it what the page shows. */
import { i32, packed, Replay, u8 } from "reprise";
import { Breakout, SIZE } from "./breakout.ts";
import type { ScreensFrame } from "./screens.ts";

/** Frames of an observation. */
const STACK = 4;
const PIXELS = SIZE * SIZE;
/** Steps per second, and milliseconds between two turns. */
const RATE = 600;
const TURN_MS = 50;
/** After this many bytes the oldest transitions leave. */
const MAX_BYTES = 32 * 2 ** 20;

const replay = new Replay({
  spec: { observation: packed("screens", u8(SIZE, SIZE), STACK), action: i32(), reward: i32() },
  tables: { memory: { maxSize: 1_000_000 } },
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

/** Answers each message with what there is to see. */
addEventListener("message", () => {
  const { frames, bytes, rawBytes, ratio } = replay.stats().packed.screens as NonNullable<ReturnType<typeof replay.stats>["packed"][string]>;
  const drawn = memory.size === 0 ? undefined : transitions.sample(1).observation.data.slice();
  postMessage({ screen: game.screen.slice(), drawn, frames, bytes, rawBytes, ratio } satisfies ScreensFrame);
});
