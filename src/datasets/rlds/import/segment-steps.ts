/** The steps of a segment, with its changes. What is given is never changed. */
import type { AnyArray } from "../../../schema/dtype.ts";
import type { RldsStep } from "../../model/dataset.ts";
import { filled } from "../../model/elements.ts";
import { leavesOf } from "../../model/leaves.ts";
import { type ColumnData, StepColumns, slicedColumn } from "../../model/step-columns.ts";
import type { Segment } from "./mend.ts";

/** Steps from … to - 1: views of the same columns. O(leaves). */
function slicedColumns<S>(steps: StepColumns<S>, from: number, to: number): StepColumns<S> {
  const data = leavesOf(steps.spec).map(({ size }, k) => slicedColumn(steps.data[k] as ColumnData, from * size, to * size));
  return new StepColumns<S>(steps.spec, data, to - from);
}

/** O(leaves) and the columns that change, or O(steps) where they are a list. */
export function segmentSteps<S>(steps: StepColumns<S> | readonly S[], segment: Segment): StepColumns<S> | readonly S[] {
  const changes = changesOf(segment);
  if (!(steps instanceof StepColumns)) {
    const own = steps.slice(segment.from, segment.to);
    for (const { at, keys, one } of changes) own[at] = changedAt(own[at], keys, one) as S;
    return own;
  }
  const sliced = slicedColumns(steps, segment.from, segment.to);
  if (changes.length === 0) return sliced;
  const data = [...sliced.data];
  const leaves = leavesOf(steps.spec);
  for (const { at, keys, one } of changes) {
    const k = leaves.findIndex(({ path }) => path === keys.join("/"));
    const size = leaves[k]?.size as number;
    const column = (data[k] === sliced.data[k] ? (data[k] as AnyArray).slice() : data[k]) as Float32Array;
    column.fill((typeof column[0] === "bigint" ? BigInt(one) : Number(one)) as number, at * size, (at + 1) * size);
    data[k] = column;
  }
  return new StepColumns<S>(steps.spec, data, sliced.length);
}

interface Change {
  /** The step, counted from the segment's first. */
  readonly at: number;
  readonly keys: readonly string[];
  /** Ones, else zeros. */
  readonly one: boolean;
}

function changesOf({ from, to, setFirst, setLast, zeroed }: Segment): Change[] {
  const last = to - from - 1;
  return [
    ...(setFirst ? [{ at: 0, keys: ["is_first"], one: true }] : []),
    ...(setLast ? [{ at: last, keys: ["is_last"], one: true }] : []),
    ...zeroed.map(({ keys }) => ({ at: last, keys, one: false })),
  ];
}

/** A copy in which the value at a path is another one. */
function changedAt(value: unknown, [key, ...keys]: readonly string[], one: boolean): unknown {
  if (key === undefined) return filled(value, one);
  if (Array.isArray(value)) return value.map((part, i) => (String(i) === key ? changedAt(part, keys, one) : part));
  return { ...(value as RldsStep), [key]: changedAt((value as RldsStep)[key], keys, one) };
}
