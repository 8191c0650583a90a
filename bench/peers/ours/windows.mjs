/** Draws windows of 80 steps of 64 numbers. Each step except the last 79 begins a window. */
import { f32, fifo, Replay, uniform } from "../../package.mjs";
import { Random } from "../../random.mjs";
import { BLOCK } from "./source.mjs";
import { contents, NO_RECYCLE, sampling, ways } from "./ways.mjs";

const WIDTH = 64;

export function make({ way, batch, steps, length }) {
  const replay = new Replay({ spec: { x: f32(WIDTH) }, tables: { t: { maxSize: steps, sampler: uniform(), remover: fifo() } }, seed: 1 });
  const writer = replay.writer({ items: [{ table: "t", length }] });
  const random = new Random(19);
  const x = Float32Array.from({ length: BLOCK * WIDTH }, () => random.next());
  for (let k = 0; k < steps; k += BLOCK) writer.appendColumns({ x });
  writer.close();
  const table = replay.table("t");
  const draw = ways(table, way, batch, {}, length);
  if (draw === undefined) return NO_RECYCLE;
  return { run: sampling(draw, way), columns: contents(draw()) };
}
