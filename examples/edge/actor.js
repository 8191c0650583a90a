// An actor: in a page this is all, with <script type="module"> and a bundler or an import map. `node actor.js ws://HOST/games/NAME/actor` from Node 22 on, or Deno or Bun.
import { f32, i32, remoteWriter } from "reprise/remote";

const spec = { observation: f32(4), action: i32(), reward: f32() };
/** Plays a number of steps. */
export async function play(target, steps) {
  const writer = await remoteWriter(target, { spec });
  let observation = [0, 0, 0, 0];
  for (let t = 1; t <= steps; t++) {
    const action = t % 3 === 0 ? 0 : 1; // your policy
    const next = [observation[0] + (action ? 1 : -1), t, 0, 0]; // your game
    await writer.append({ observation, action, reward: 1 });
    const [terminated, truncated] = [next[0] === 20, t === steps];
    if (terminated || truncated) await writer.endEpisode({ final: { observation: next }, terminated });
    observation = terminated ? [0, t, 0, 0] : next;
  }
  await writer.close(); // every step is in the game's journal
}

const { argv } = globalThis.process ?? {};
if (argv?.[1]?.endsWith("actor.js")) await play(argv[2], Number(argv[3] ?? 1000));
