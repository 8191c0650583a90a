/** Prepares columns of steps for the core: the number of steps, the place of each column, and the steps that end an episode. */

import { ENDS, TERMINATES, TRUNCATES } from "../base/abi.ts";
import { mustBe } from "../base/error.ts";
import { checkedFlags, checkedNumbers, isList, listLength } from "../schema/copy-numbers.ts";
import { hasNaN, matchingTarget, mustPut, mustPutText, overflowError, targetOf } from "../schema/copy-values.ts";
import { DTYPES, type NumberArray } from "../schema/dtype.ts";
import { isHalf } from "../schema/half.ts";
import { alignUp, type Layout, type MeasuredLeaf, type PlacedLeaf } from "../schema/layout.ts";
import { pathText } from "../schema/nest.ts";
import type { Core } from "./core.ts";
import type { Engine } from "./engine.ts";

/** The steps that end an episode: one value per step, which is not 0 if the episode ends with the step. */
export interface EpisodeEnds {
  /** Flags for the steps after which an episode ends without a final step. */
  readonly ends?: ArrayLike<unknown> | undefined;
  readonly terminated?: ArrayLike<unknown> | undefined;
  readonly truncated?: ArrayLike<unknown> | undefined;
}

export interface BlockParts {
  /** One column per leaf. */
  readonly columns: readonly unknown[];
  readonly ends: EpisodeEnds;
  /** The columns of final steps, one step for each row that `terminated` or `truncated` ends. A leaf without a column is zeros. */
  readonly finals: readonly unknown[] | undefined;
  /** The priorities of the items that each rule makes; undefined for a rule without priorities. */
  readonly priorities: readonly (ArrayLike<number> | undefined)[];
  /** Whether columns of a single lane may also have the dimension of lanes. */
  readonly isVector?: boolean;
}

/**
 * A block in scratch memory: its rows, the address of the flags that end episodes, and the address of the final steps. An address is 0 if the part is absent.
 */
export interface Block {
  readonly at: number;
  readonly rows: number;
  readonly ends: number;
  readonly finals: number;
  /** Copies of the flags. */
  readonly endFlags: EpisodeEnds;
  /** The number of rows that `terminated` or `truncated` ends, and the number of rows that only `truncated` ends. */
  readonly endCount: number;
  readonly truncated: number;
}

/**
 * The memory in which a block is placed: linear memory, or a buffer if there is no core (reprise/remote). The memory has a view per dtype. Without `narrow`,
 * half floats stay f32.
 */
export type BlockMemory = Pick<Core, "u8" | "u32" | "f64"> & Partial<Pick<Core, "narrow">>;

/**
 * The maximum number of elements of a column that are checked for NaN: in each of the first FIRST_BLOCKS blocks of a Replay, and in each later block. Each
 * block is checked at different positions.
 */
const FIRST_NAN_CHECKS = 256;
const LATER_NAN_CHECKS = 16;
const FIRST_BLOCKS = 16;

/** Receives the path of a leaf that has NaN among its values. */
export type ReportNaN = (leaf: string) => void;

/**
 * Checks the columns of a block, and places them in scratch memory. @throws ReplayError SPEC_MISMATCH, INVALID_DATA if a value does not fit its leaf,
 * OUT_OF_MEMORY · RangeError if columns or flags have the wrong length
 */
export function placeBlock(
  host: { readonly core: BlockMemory & Pick<Core, "scratch">; readonly layout: Pick<Layout, "leaves">; readonly reportNaN?: ReportNaN; blocks?: number },
  lanes: number,
  { columns, ends: source, finals, priorities: priorityLists, isVector = false }: BlockParts,
): Block {
  const { core, reportNaN } = host;
  const { leaves } = host.layout;
  const blockNumber = (host.blocks ?? 0) + 1;
  host.blocks = blockNumber;
  const steps = stepCount(leaves[0] as PlacedLeaf, columns[0], lanes);
  const rows = steps * lanes;
  const ends = copyEnds(source, rows);
  const priorities = priorityLists.map((list) => (list === undefined ? list : checkedNumbers("priorities", list, rows)));
  const [endCount, truncated] = countEnds(ends, rows);
  const offsets = blockOffsets(leaves, priorities.length, rows);
  const prioritiesAt = offsets.pop() as number;
  const endsAt = prioritiesAt + 8 * rows * priorities.length;
  const finalsAt = alignUp(endsAt + rows, 16);
  const hasFinals = finals !== undefined && endCount > 0;
  const at = core.scratch(finalsAt + (hasFinals ? finalsBytes(leaves, endCount) : 0));
  const lead = lanes === 1 ? [steps] : [steps, lanes];
  leaves.forEach((leaf, i) => {
    placeColumn(core, leaf, at + (offsets[i] as number), isVector ? leadOf(leaf, steps, columns[i]) : lead, columns[i], "", reportNaN, blockNumber);
    core.u32[at / 4 + i] = at + (offsets[i] as number);
  });
  const isEnding = (ends.ends ?? ends.terminated ?? ends.truncated) !== undefined;
  if (isEnding) placeEnds(core, at + endsAt, ends, rows);
  priorities.forEach((list, k) => {
    const address = list === undefined ? 0 : at + prioritiesAt + 8 * rows * k;
    core.u32[at / 4 + leaves.length + k] = address;
    if (list !== undefined) core.f64.set(list, address / 8);
  });
  if (hasFinals) placeFinals(core, leaves, at + finalsAt, finals, endCount, reportNaN);
  return { at, rows, ends: isEnding ? at + endsAt : 0, finals: hasFinals ? at + finalsAt : 0, endFlags: ends, endCount: endCount, truncated };
}

/** Returns the leading dimensions of a column of a single lane, which may include the dimension of lanes. */
function leadOf({ leaf: { dtype }, shape }: PlacedLeaf, steps: number, column: unknown): readonly number[] {
  const vector = targetOf(dtype, [steps, 1, ...shape]);
  return matchingTarget(column, targetOf(dtype, [steps, ...shape]), vector) === vector ? [steps, 1] : [steps];
}

/**
 * Returns the offset of each column in a block of `rows` rows, after the addresses of columns and of the rules' priorities; the last offset is the end of the
 * block.
 */
export function blockOffsets(leaves: readonly MeasuredLeaf[], rules: number, rows: number): number[] {
  const offsets = [alignUp(4 * (leaves.length + rules), 16)];
  leaves.forEach((leaf, i) => {
    offsets.push(alignUp((offsets[i] as number) + leaf.arrayBytes * rows, 16));
  });
  return offsets;
}

/** Writes the addresses of columns outside the block into its head. */
export function placeAddresses(core: Pick<Core, "u32">, at: number, addresses: readonly number[]): void {
  core.u32.set(addresses, at / 4);
}

/**
 * Copies the end flags of `rows` rows, since the flags are read more than once. @throws TypeError, RangeError if a list is not an array of `rows` numbers or
 * booleans
 */
export function copyEnds({ ends, terminated, truncated }: EpisodeEnds, rows: number): EpisodeEnds {
  return {
    ends: checkedFlags("ends", ends, rows),
    terminated: checkedFlags("terminated", terminated, rows),
    truncated: checkedFlags("truncated", truncated, rows),
  };
}

/** Returns the number of rows that end an episode with a final step, and the number of rows that only `truncated` ends. */
export function countEnds({ terminated, truncated }: EpisodeEnds, rows: number): readonly [ended: number, truncated: number] {
  if (terminated === undefined && truncated === undefined) return [0, 0];
  let terminatedCount = 0;
  let truncatedCount = 0;
  for (let r = 0; r < rows; r++) {
    if (terminated?.[r]) terminatedCount++;
    else if (truncated?.[r]) truncatedCount++;
  }
  return [terminatedCount + truncatedCount, truncatedCount];
}

/** Writes how the episode ends at each row. If both flags are set, the episode terminates. */
export function placeEnds({ u8 }: Pick<Core, "u8">, at: number, { ends, terminated, truncated }: EpisodeEnds, rows: number): void {
  for (let r = 0; r < rows; r++) u8[at + r] = terminated?.[r] ? TERMINATES : truncated?.[r] ? TRUNCATES : ends?.[r] ? ENDS : 0;
}

export function finalsBytes(leaves: readonly PlacedLeaf[], n: number): number {
  return blockOffsets(leaves, 0, n).pop() as number;
}

/** Places columns of n final steps. A leaf without a column is zeros. */
export function placeFinals(core: BlockMemory, leaves: readonly PlacedLeaf[], at: number, columns: readonly unknown[], n: number, reportNaN?: ReportNaN): void {
  const offsets = blockOffsets(leaves, 0, n);
  core.u8.fill(0, at, at + (offsets.pop() as number));
  leaves.forEach((leaf, i) => {
    const address = at + (offsets[i] as number);
    core.u32[at / 4 + i] = address;
    if (columns[i] !== undefined) placeColumn(core, leaf, address, [n], columns[i], "final.", reportNaN);
  });
}

/** Places a final step as a staging record in scratch memory. A leaf without a value is zeros. */
export function placeFinal({ core, layout: { leaves, stagedBytes }, reportNaN }: Engine, values: readonly unknown[]): number {
  const array = alignUp(stagedBytes, 16);
  const at = core.scratch(Math.max(array, ...leaves.map(({ bytes, arrayBytes }) => (arrayBytes === bytes ? 0 : array + arrayBytes))));
  core.u8.fill(0, at, at + stagedBytes);
  leaves.forEach((leaf, i) => {
    const from = leaf.arrayBytes === leaf.bytes ? at + leaf.staged : at + array;
    if (values[i] !== undefined) placeColumn(core, leaf, at + leaf.staged, [], values[i], "final.", reportNaN, 0, from);
  });
  return at;
}

/**
 * Writes the values of a column to an address. @param array the place of half floats before they are narrowed. Default: `at`, which must have room for f32
 * values
 */
export function placeColumn(
  core: Pick<BlockMemory, "u8" | "narrow">,
  { leaf, shape, keys }: PlacedLeaf,
  at: number,
  lead: readonly number[],
  value: unknown,
  prefix = "",
  reportNaN?: ReportNaN,
  blockNumber = 0,
  array = at,
): void {
  const target = targetOf(leaf.dtype, [...lead, ...shape]);
  const path = prefix === "" ? keys : [prefix + pathText(keys)];
  if (leaf.dtype === "string") {
    mustPutText(target, core.u8, at, value, path, leaf.maxBytes);
    return;
  }
  const { dtype } = leaf;
  const to = core[dtype as "u8"] as unknown as NumberArray;
  const first = array / DTYPES[dtype].array.BYTES_PER_ELEMENT;
  // Values are checked while they are narrowed to half floats, so a Float32Array of the right length needs no other check.
  const isPlain = core.narrow !== undefined && value instanceof Float32Array && value[target.size - 1] !== undefined && value[target.size] === undefined;
  if (isHalf(dtype) && isPlain) to.set(value, first);
  else mustPut(target, to, first, value, path);
  const stride = Math.ceil(target.size / (blockNumber < FIRST_BLOCKS ? FIRST_NAN_CHECKS : LATER_NAN_CHECKS));
  const offset = stride === 0 ? 0 : blockNumber % stride;
  if (reportNaN !== undefined && DTYPES[dtype].float && hasNaN(to, first + offset, target.size - offset, stride)) reportNaN(pathText(path));
  if (!isHalf(dtype) || core.narrow === undefined) return;
  const fitting = core.narrow(dtype, at, array, target.size);
  if (fitting < target.size) throw overflowError(dtype, path, to[first + fitting]);
}

/** Returns the number of steps of a column. If the column is nested, each part is one step. */
function stepCount(leaf: PlacedLeaf, column: unknown, lanes: number): number {
  const length = isList(column) ? listLength(column) : 0;
  const steps = length > 0 && isList((column as ArrayLike<unknown>)[0]) ? length : length / leaf.size / lanes;
  if (steps > 0 && Number.isInteger(steps)) return steps;
  throw mustBe(RangeError, pathText(leaf.keys), `a column of one or more steps with ${leaf.size * lanes} elements each`, column);
}
