/** Atari: a state is the last four frames, and so is the next one; each frame is stored once. */
import { bool, f32, fifo, i32, Replay, shared, u8, uniform } from "../../package.mjs";
import { Random } from "../../random.mjs";
import { contents, NO_RECYCLE, sampling, ways } from "./ways.mjs";

const FRAME = 84 * 84;
const STACK = 4;
/** Frames before they come again. */
const FRAMES = 512;

export function make({ way, batch, steps }) {
  const stack = shared("frames", u8(84, 84), STACK);
  const spec = { observation: stack, action: i32(), reward: f32(), nextObservation: stack, done: bool() };
  const replay = new Replay({ spec, tables: { t: { maxSize: steps, sampler: uniform(), remover: fifo() } }, seed: 1 });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const random = new Random(13);
  // The first frames again behind the last ones, so that each stack is a piece of it.
  const film = new Uint8Array((FRAMES + STACK) * FRAME);
  for (let i = 0; i < FRAMES * FRAME; i++) film[i] = random.below(256);
  film.copyWithin(FRAMES * FRAME, 0, STACK * FRAME);
  const at = (k) => film.subarray((k % FRAMES) * FRAME, ((k % FRAMES) + STACK) * FRAME);
  for (let k = 0; k < steps; k++) writer.append({ observation: at(k), action: k & 3, reward: 1, nextObservation: at(k + 1), done: 0 });
  writer.close();
  const table = replay.table("t");
  const draw = ways(table, way, batch, {});
  if (draw === undefined) return NO_RECYCLE;
  return { run: sampling(draw, way), columns: contents(draw()) };
}
