/** Columns of steps on their way into the core: how many steps there are, and where each column goes. */
import { mustBe } from "../error.ts";
import { DTYPES, type Numbered } from "../spec/dtype.ts";
import { mustPut, mustPutText, targetOf } from "../spec/fit.ts";
import { type PlacedLeaf, up } from "../spec/layout.ts";
import { named } from "../spec/nest.ts";
import { copyIn, isList, lengthOf } from "../spec/numbers.ts";
import type { Engine } from "./engine.ts";

/** A block in scratch memory: its rows, and where it is told which of them end an episode, 0 for none. */
export interface Block {
  readonly at: number;
  readonly rows: number;
  readonly ends: number;
}

/**
 * Places columns, one a leaf, and for each rule the priorities of its items where there are some.
 * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY · RangeError
 */
export function placeBlock(
  { core, layout: { leaves } }: Engine,
  columns: readonly unknown[],
  lanes: number,
  ends: ArrayLike<number> | undefined,
  priorities: readonly (ArrayLike<number> | undefined)[],
): Block {
  const steps = stepCount(leaves[0] as PlacedLeaf, columns[0], lanes);
  const rows = steps * lanes;
  const lead = lanes === 1 ? [steps] : [steps, lanes];
  const offsets = blockOffsets(leaves, priorities.length, rows);
  const prioritiesAt = offsets.pop() as number;
  const endsAt = prioritiesAt + 8 * rows * priorities.length;
  const at = core.scratch(endsAt + rows);
  leaves.forEach(({ leaf, shape, keys }, i) => {
    const address = at + (offsets[i] as number);
    const target = targetOf(leaf.dtype, [...lead, ...shape]);
    core.u32[at / 4 + i] = address;
    if (leaf.dtype === "string") mustPutText(target, core.u8, address, columns[i], keys, leaf.maxBytes);
    else mustPut(target, core[leaf.dtype as "f64"] as Numbered, address / DTYPES[leaf.dtype].bytes, columns[i], keys);
  });
  if (ends !== undefined) {
    lengthOf("ends", ends, rows);
    for (let r = 0; r < rows; r++) core.u8[at + endsAt + r] = ends[r] ? 1 : 0;
  }
  priorities.forEach((own, k) => {
    const address = own === undefined ? 0 : at + prioritiesAt + 8 * rows * k;
    core.u32[at / 4 + leaves.length + k] = address;
    if (own !== undefined) copyIn(core.f64, address / 8, "priorities", own, rows);
  });
  return { at, rows, ends: ends === undefined ? 0 : at + endsAt };
}

/** In a block of so many rows: where each column begins, behind the addresses of columns and of the rules' priorities; last, where the block ends. */
export function blockOffsets(leaves: readonly PlacedLeaf[], rules: number, rows: number): number[] {
  const offsets = [up(4 * (leaves.length + rules), 16)];
  leaves.forEach((leaf, i) => {
    offsets.push(up((offsets[i] as number) + leaf.bytes * rows, 16));
  });
  return offsets;
}

/** How many steps a column has: one a part where it is nested. */
function stepCount(leaf: PlacedLeaf, column: unknown, lanes: number): number {
  const values = column as ArrayLike<unknown> | undefined;
  const length = values?.length ?? 0;
  const steps = isList(values?.[0]) ? length : length / leaf.size / lanes;
  if (steps > 0 && Number.isInteger(steps)) return steps;
  throw mustBe(RangeError, named(leaf.keys), `a column of one or more steps with ${leaf.size * lanes} elements each`, column);
}
