/** Reading steps out of a stream's window, before they are in any item. */
import type { Column } from "../batch.ts";
import type { Engine } from "../engine.ts";
import { internals } from "../index.ts";
import type { PlacedLeaf } from "../layout.ts";

/** RING of a STREAM (assembly/stream.ts, ring.ts), in u32: entries, capacity, head, count. */
const RING = 24 / 4;
/** Fields of a DRAW (assembly/draw.ts), in u32. */
const COUNT = 40 / 4;
const ROWS = 48 / 4;
const WIDTH = 60 / 4;
/** The column of what is there of each window. */
const LENGTH = 11;

/**
 * The values of a leaf, copied out. O(bytes)
 * @param ages how far back each step is: 0 the newest. The window must have them
 */
export function readSteps(engine: Engine, stream: number, leaf: PlacedLeaf, ages: readonly number[]): Column["data"] {
  const { core } = engine;
  const n = ages.length;
  const selection = { keys: ["0"], leaf, start: 0, step: 1, squeezed: false };
  const filler = new internals.Filler(engine, 1, n, [selection], false, 0);
  const draw = filler.prepare();
  const { u32 } = core;
  const [entries, capacity, head, count] = u32.subarray(stream / 4 + RING) as unknown as [number, number, number, number];
  const rows = (u32[draw / 4 + ROWS] as number) / 4;
  ages.forEach((age, i) => {
    u32[rows + i] = u32[entries / 4 + ((head + count - 1 - age) % capacity)] as number;
  });
  u32[draw / 4 + COUNT] = 1;
  u32[draw / 4 + WIDTH] = n;
  u32[core.x.draw_column(draw, LENGTH) / 4] = n;
  filler.fill(draw, 1);
  engine.changed();
  return (filler.batch.steps as { readonly 0: Column })[0].data;
}
