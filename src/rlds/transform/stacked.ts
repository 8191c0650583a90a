/** Steps side by side, as columns with time first. */
import type { AnyArray } from "../../spec/dtype.ts";
import type { StepSpec } from "../dataset/dataset.ts";
import { everyElement } from "../dataset/elements.ts";
import { type FoundLeaf, isLeaf, isText, leavesOf, valueAt, zeros } from "../dataset/leaves.ts";
import type { ColumnData, StepColumn } from "../dataset/step-columns.ts";

/** What makes columns of steps that are as the spec says, nested as it is: copies. O(elements). */
export function stacker(spec: StepSpec): (steps: readonly unknown[]) => unknown {
  const leaves = leavesOf(spec);
  const nest = nester(spec);
  return (steps) => nest(leaves.map((leaf) => column(leaf, steps)));
}

/** `packed` for many values of one spec. */
export function nester(spec: StepSpec): (values: readonly unknown[]) => unknown {
  let next = 0;
  const visit = (node: StepSpec): ((values: readonly unknown[]) => unknown) => {
    if (isLeaf(node)) {
      const at = next++;
      return (values) => values[at];
    }
    if (Array.isArray(node)) {
      const parts = node.map(visit);
      return (values) => parts.map((part) => part(values));
    }
    const parts = Object.keys(node)
      .sort()
      .map((name) => [name, visit((node as { readonly [name: string]: StepSpec })[name] as StepSpec)] as const);
    return (values) => {
      const nested: { [name: string]: unknown } = {};
      for (const [name, part] of parts) nested[name] = part(values);
      return nested;
    };
  };
  return visit(spec);
}

function column(leaf: FoundLeaf, steps: readonly unknown[]): StepColumn {
  const { shape } = leaf.leaf;
  const data = isText(leaf.leaf) ? texts(steps.map((step) => valueAt(step, leaf.keys))) : numbers(leaf, steps);
  return { data, shape: [steps.length, ...shape] };
}

/** Every bytes value is one, however long. */
function texts(values: readonly unknown[]): (string | Uint8Array)[] {
  return values.flatMap((value): (string | Uint8Array)[] => {
    if (typeof value === "string" || value instanceof Uint8Array) return [value];
    return texts(Array.isArray(value) ? value : Array.from((value as { readonly data: ArrayLike<unknown> }).data));
  });
}

function numbers({ leaf, size, keys }: FoundLeaf, steps: readonly unknown[]): ColumnData {
  const data = zeros(leaf.dtype as "f32", size * steps.length) as Float32Array;
  const isBig = leaf.dtype === "i64" || leaf.dtype === "u64";
  let at = 0;
  const put = (element: unknown) => {
    data[at++] = (isBig ? BigInt(element as number) : Number(element)) as number;
    return true;
  };
  for (const step of steps) {
    const value = valueAt(step, keys);
    if (ArrayBuffer.isView(value)) {
      data.set(value as Float32Array, at);
      at += size;
    } else if (typeof value === "number" && !isBig) data[at++] = value;
    else everyElement(value, put);
  }
  return data as AnyArray;
}
