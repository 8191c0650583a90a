// A game is recorded while a scripted player plays it, its screen as PNG; each session ends in an episode, as a crash
// would. The files are a dataset: behaviour cloning counts the actions of the player per observation, and plays.
// Run: node docs/recipes/record.js [episodes]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { i32, text, u8 } from "reprise";
import { open, openRecording } from "reprise/record";

const EPISODES = Number(process.argv[2] ?? 40);
const [CELLS, CELL, SLIPS] = [12, 4, 20]; // of the corridor; pixels of each; how often the player slips, in per cent
const [LEFT, RIGHT] = [0, 1];

let seed = 1;
const random = (n = 2) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * n);
};

/** A corridor in which a player (red) looks for a goal (green). */
const begin = () => ({ player: random(CELLS), goal: random(CELLS) });
const isThere = ({ player, goal } = begin()) => player === goal;
const move = (game = begin(), action = LEFT) => {
  game.player = Math.min(CELLS - 1, Math.max(0, game.player + (action === RIGHT ? 1 : -1)));
};
const screen = ({ player, goal } = begin()) =>
  Uint8Array.from({ length: CELL * CELLS * CELL * 3 }, (_, i) => {
    const cell = Math.floor(i / 3 / CELL) % CELLS;
    return (i % 3 === 0 && cell === player) || (i % 3 === 1 && cell === goal) ? 255 : 0;
  });

const dir = mkdtempSync(join(tmpdir(), "record-"));
const spec = { observation: u8(CELL, CELLS * CELL, 3), action: i32(), instruction: text({ maxBytes: 40 }) };
const instruction = "go to the green cell";

for (let session = 1; session <= 2; session++) {
  // The second session continues the recording.
  const recorder = await open({ dir, spec, fps: 10, images: "png", about: { game: "corridor" } });
  for (let n = 0; n < EPISODES / 2; n++) {
    const game = begin();
    do {
      const action = game.player < game.goal ? RIGHT : LEFT;
      recorder.step({ observation: screen(game), action, instruction });
      move(game, random(100) < SLIPS ? random(2) : action);
    } while (!isThere(game) && recorder.length < 3 * CELLS);
    const done = isThere(game);
    await recorder.endEpisode({ success: done, task: "reach", terminated: done, final: { observation: screen(game) } });
  }
  recorder.step({ observation: screen(begin()), action: LEFT, instruction }); // this episode is never ended
  await recorder.close();
}

/** The feature of the policy: the side of the player on which the goal is. */
const sideOf = (pixels = new Uint8Array()) => {
  const [red, green] = [0, 1].map((colour) => pixels.findIndex((value, i) => i % 3 === colour && value > 0));
  return green > red + 1 ? RIGHT : LEFT;
};
const counts = [LEFT, RIGHT].map(() => [0, 0]); // how often each action was done, by side
const recording = await openRecording(dir);
let cut = 0;
for await (const { finished, steps } of recording) {
  if (!finished) cut++;
  for (const { observation, action, is_last } of finished ? steps : [])
    if (!is_last) counts[sideOf(observation)][action]++; // the last step has no action
}
console.log(`recorded: ${recording.episodes - cut} episodes, and ${cut} that were cut; ${recording.steps} steps`);

let reached = 0;
for (let n = 0; n < 100; n++) {
  const game = begin();
  for (let t = 0; t < CELLS && !isThere(game); t++) {
    const [left, right] = counts[sideOf(screen(game))];
    move(game, right > left ? RIGHT : LEFT);
  }
  reached += Number(isThere(game));
}
console.log(`the clone reached its goal in ${reached} of 100 games`);
rmSync(dir, { recursive: true });
