/** Columns of steps on their way into the core: how many steps there are, and where each column goes. */
import { mustBe } from "../error.ts";
import { type PlacedLeaf, up } from "../spec/layout.ts";
import { named } from "../spec/nest.ts";
import { isList } from "../spec/numbers.ts";

/** In a block of so many rows: where each column begins, behind the addresses of columns and of the rules' priorities; last, where the block ends. */
export function blockOffsets(leaves: readonly PlacedLeaf[], rules: number, rows: number): number[] {
  const offsets = [up(4 * (leaves.length + rules), 16)];
  leaves.forEach((leaf, i) => {
    offsets.push(up((offsets[i] as number) + leaf.bytes * rows, 16));
  });
  return offsets;
}

/** How many steps a column has: one a part where it is nested. */
export function stepCount(leaf: PlacedLeaf, column: unknown, lanes: number): number {
  const values = column as ArrayLike<unknown> | undefined;
  const length = values?.length ?? 0;
  const steps = isList(values?.[0]) ? length : length / leaf.size / lanes;
  if (steps > 0 && Number.isInteger(steps)) return steps;
  throw mustBe(RangeError, named(leaf.keys), `one or more steps of ${leaf.size * lanes} elements`, column);
}
