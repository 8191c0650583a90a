/** Computes layouts of batches of items: the steps and columns that the batches have room for. */

import { LENGTH, RETURN, WEIGHT } from "../base/abi.ts";
import type { Engine } from "../memory/engine.ts";
import { type Selection, stepIndices, stepsOf } from "../schema/columns.ts";
import { packer } from "../schema/nest.ts";
import { arrayOf, type Batch, DrawnBatch, INFO, type Into, type ItemLayout, N_STEP } from "./batch.ts";
import { BatchBuffer } from "./buffer.ts";
import { type ArraySpec, BatchLayout, COMPONENTS, type ColumnSpec, MASK, RETURNS, SOURCE, WEIGHTS } from "./layout.ts";

/** The form of a batch of items: its size, its columns, and its optional contents. */
export interface ItemShape {
  /** The maximum number of items. */
  readonly n: number;
  /** The number of steps in a window. */
  readonly width: number;
  readonly selections: readonly Selection[];
  /** Whether columns nest like the spec. Otherwise, each column is stored under its name. */
  readonly isWhole: boolean;
  /** The optional contents as bits: WEIGHTS, RETURNS, MASK and SOURCE, and the number of components minus one in the bits from COMPONENTS on. */
  readonly holds: number;
  /**
   * Whether columns that end before the last step continue to the end of the window. True for a part of a batch, since the width of the whole batch is not
   * known yet.
   */
  readonly isOpen?: boolean;
  /** Whether draws may look up only the steps that columns name. */
  readonly mayPick?: boolean;
}

/** A buffer with a batch of items. */
export type ItemBuffer = BatchBuffer & { readonly batch: Omit<Batch<unknown>, "count" | "blocked"> };

/** A layout of items. */
export class Items extends BatchLayout implements ItemLayout {
  readonly selections: readonly Selection[];
  readonly isWhole: boolean;
  /** The minimum number of steps that the longest item must have for these selections. */
  readonly least: number;

  constructor(engine: Engine, { n, width, selections, isWhole, holds, isOpen = false, mayPick = false }: ItemShape) {
    const numbers = (columns: { readonly [name: string]: number }) =>
      Object.entries(columns).map(([name, drawColumn]): ArraySpec => ({ keys: [name], drawColumn: drawColumn, type: arrayOf(drawColumn) }));
    const info = holds & WEIGHTS ? { ...INFO, weights: WEIGHT } : INFO;
    const source: ArraySpec[] = holds & SOURCE ? [{ keys: ["source"], type: Uint8Array, each: 1 }] : [];
    const columns: ColumnSpec[] = [
      { name: "steps", arrays: selections.map((selection) => leafArray(selection, width, isOpen)), nest: nestOf(engine, selections, isWhole) },
      { name: "lengths", arrays: [{ keys: [], drawColumn: LENGTH, type: Uint32Array }] },
      { name: "info", arrays: [...numbers(info), ...source], nest: [...Object.keys(info), ...source.flatMap(({ keys }) => keys)] },
    ];
    if (holds & RETURNS)
      columns.push({ name: "nStep", arrays: [returnsArray(1 + (holds >> COMPONENTS)), ...numbers(N_STEP)], nest: ["returns", ...Object.keys(N_STEP)] });
    if (holds & MASK) columns.push({ name: "mask", arrays: [{ keys: [], type: Uint8Array, each: width }] });
    super({ n, width, content: selections, holds, batch: DrawnBatch, isBlockable: true, columns, mayPick: mayPick && !(holds & RETURNS) });
    this.selections = selections;
    this.isWhole = isWhole;
    this.least = stepsOf(selections);
  }
}

/** Returns the array of returns: a column of the draw, or computed if the reward has several components. */
function returnsArray(components: number): ArraySpec {
  const keys = ["returns"];
  return components === 1 ? { keys, drawColumn: RETURN, type: Float64Array } : { keys, isComputed: true, each: components, type: Float64Array };
}

function leafArray(selection: Selection, width: number, isOpen: boolean): ArraySpec {
  const { keys, leaf, start, to = 0, squeezed } = selection;
  const steps = stepIndices(isOpen && start >= 0 && to < 0 ? { ...selection, to: undefined } : selection, width);
  // A step counted from the end may lie outside a short window, so the list for a shorter window may be longer.
  return { keys, leaf, steps, longest: Math.max(steps.length, -start), shape: [...(squeezed ? [] : [steps.length]), ...leaf.shape] };
}

function nestOf(engine: Engine, selections: readonly Selection[], isWhole: boolean): ColumnSpec["nest"] {
  // Selections do not include a nest without leaves, but every batch does.
  const isFlat = !Array.isArray(engine.spec) && Object.keys(engine.spec).length === selections.length && selections.every(({ keys }) => keys.length === 1);
  return isWhole && !isFlat ? packer(engine.spec) : selections.map(({ keys }) => keys[0] as string);
}

/**
 * Returns a buffer of items.
 * @param into the batch to refill; by default, a new batch is made
 * @throws ReplayError SPEC_MISMATCH if an array of `into` is missing or too small
 */
export function itemBuffer(engine: Engine, shape: ItemShape, into?: Into): ItemBuffer {
  return new BatchBuffer(engine, new Items(engine, { ...shape, holds: shape.holds | (into?.mask ? MASK : 0) }), into) as ItemBuffer;
}

export const layoutIn = (buffer: BatchBuffer): Items => buffer.layout as Items;
