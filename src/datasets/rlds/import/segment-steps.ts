/** Applies the changes of a segment to its steps. The source is never modified. */
import type { AnyArray } from "../../../schema/dtype.ts";
import type { RldsStep } from "../../model/dataset.ts";
import { fillElements } from "../../model/elements.ts";
import { leavesOf } from "../../model/leaves.ts";
import { type ColumnData, StepColumns, slicedColumn } from "../../model/step-columns.ts";
import type { Segment } from "./repair.ts";

/** Returns the steps from index `from` up to, but not including, `to`, as views of the same columns. O(leaves) */
function slicedColumns<S>(steps: StepColumns<S>, from: number, to: number): StepColumns<S> {
  const data = leavesOf(steps.spec).map(({ size }, k) => slicedColumn(steps.parts[k] as ColumnData, from * size, to * size));
  return new StepColumns<S>(steps.spec, data, to - from);
}

/** Returns the steps of a segment with its changes. O(leaves) plus the bytes of the changed columns, or O(steps) for a list of steps. */
export function segmentSteps<S>(steps: StepColumns<S> | readonly S[], segment: Segment): StepColumns<S> | readonly S[] {
  const changes = changesOf(segment);
  if (!(steps instanceof StepColumns)) {
    const segmentList = steps.slice(segment.from, segment.to);
    for (const { at, keys, isOne } of changes) segmentList[at] = changedAt(segmentList[at], keys, isOne) as S;
    return segmentList;
  }
  const segmentColumns = slicedColumns(steps, segment.from, segment.to);
  if (changes.length === 0) return segmentColumns;
  const data = [...segmentColumns.parts];
  const leaves = leavesOf(steps.spec);
  for (const { at, keys, isOne } of changes) {
    const k = leaves.findIndex(({ path }) => path === keys.join("/"));
    const size = leaves[k]?.size as number;
    const column = (data[k] === segmentColumns.parts[k] ? (data[k] as AnyArray).slice() : data[k]) as Float32Array;
    column.fill((typeof column[0] === "bigint" ? BigInt(isOne) : Number(isOne)) as number, at * size, (at + 1) * size);
    data[k] = column;
  }
  return new StepColumns<S>(steps.spec, data, segmentColumns.length);
}

interface Change {
  /** The index of the step in the segment. */
  readonly at: number;
  readonly keys: readonly string[];
  /** Whether to fill with ones instead of zeros. */
  readonly isOne: boolean;
}

function changesOf({ from, to, setFirst, setLast, zeroed }: Segment): Change[] {
  const last = to - from - 1;
  return [
    ...(setFirst ? [{ at: 0, keys: ["is_first"], isOne: true }] : []),
    ...(setLast ? [{ at: last, keys: ["is_last"], isOne: true }] : []),
    ...zeroed.map(({ keys }) => ({ at: last, keys, isOne: false })),
  ];
}

/** Returns a copy of a value in which the elements at a path are zeros or ones. */
function changedAt(value: unknown, [key, ...keys]: readonly string[], isOne: boolean): unknown {
  if (key === undefined) return fillElements(value, isOne);
  if (Array.isArray(value)) return value.map((part, i) => (String(i) === key ? changedAt(part, keys, isOne) : part));
  return { ...(value as RldsStep), [key]: changedAt((value as RldsStep)[key], keys, isOne) };
}
