/** Draws batches of Atari transitions. A state, like the next state, consists of the last four frames. Each frame is stored once. */
import { readFileSync } from "node:fs";
import { bool, f32, fifo, i32, packed, Replay, shared, u8, uniform } from "../../package.mjs";
import { Random } from "../../random.mjs";
import { contents, NO_RECYCLE, sampling, ways } from "./ways.mjs";

const FRAME = 84 * 84;
const STACK = 4;
/** The number of distinct frames. For recordings, the number per game. */
const FRAMES = 512;

export function make({ way, batch, steps, leaf, screens }) {
  const stack = (leaf === "packed" ? packed : shared)("frames", u8(84, 84), STACK);
  const spec = { observation: stack, action: i32(), reward: f32(), nextObservation: stack, done: bool() };
  const replay = new Replay({ spec, tables: { t: { maxSize: steps, sampler: uniform(), remover: fifo() } }, seed: 1 });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const frames = screens === undefined ? noise() : recorded(screens);
  const count = frames.length / FRAME;
  // The first frames are repeated after the last ones, so that each stack is a slice.
  const film = new Uint8Array((count + STACK) * FRAME);
  film.set(frames);
  film.copyWithin(count * FRAME, 0, STACK * FRAME);
  const at = (k) => film.subarray((k % count) * FRAME, ((k % count) + STACK) * FRAME);
  for (let k = 0; k < steps; k++) writer.append({ observation: at(k), action: k & 3, reward: 1, nextObservation: at(k + 1), done: 0 });
  writer.close();
  const table = replay.table("t");
  const draw = ways(table, way, batch, {});
  if (draw === undefined) return NO_RECYCLE;
  return { run: sampling(draw, way), columns: contents(draw()) };
}

function noise() {
  const random = new Random(13);
  return new Uint8Array(FRAMES * FRAME).map(() => random.below(256));
}

/** Returns the first frames of each recording, one after the other. */
function recorded(files) {
  return Buffer.concat(files.map((file) => readFileSync(file).subarray(0, FRAMES * FRAME)));
}
