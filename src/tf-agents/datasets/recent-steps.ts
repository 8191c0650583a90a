/** Keeps the last steps of a stream, field by field. The items of patterns are copied from these steps. */
import { Column } from "../../schema/column.ts";
import { type LeafTarget, mustPut, targetOf } from "../../schema/copy-values.ts";
import type { NumberArray } from "../../schema/dtype.ts";
import { blank } from "../../schema/leaf.ts";
import type { FoundLeaf } from "../../schema/spec.ts";
import type { CompiledNode } from "../patterns/compile-config.ts";

/** A field, with a ring buffer of its values. */
interface LeafRing {
  readonly leaf: FoundLeaf;
  readonly target: LeafTarget;
  readonly steps: number;
  readonly ring: Column["data"];
  /** A buffer for one value, in which the value is checked before any part of the step is stored. */
  readonly draft: Column["data"];
}

export class RecentSteps {
  /** The rings, by leaf number. Undefined for a leaf that no pattern uses. */
  readonly #rings: readonly (LeafRing | undefined)[];
  #step = -1;

  constructor(leaves: readonly FoundLeaf[], nodes: readonly CompiledNode[]) {
    this.#rings = leaves.map((leaf, i) => {
      const steps = Math.max(0, ...nodes.map((node) => (node.leaf === i ? (node.ages[0] as number) : 0)));
      if (steps === 0) return undefined;
      const [ring, draft] = [steps, 1].map((n) => blank(leaf.leaf, n * leaf.size) as Column["data"]) as [Column["data"], Column["data"]];
      return { leaf, target: targetOf(leaf.leaf.dtype, leaf.shape), steps, ring, draft };
    });
  }

  /**
   * Adds a step with one value per leaf, or undefined for a missing value. @throws ReplayError SPEC_MISMATCH, INVALID_DATA. In that case, nothing has changed
   */
  add(values: readonly unknown[]): void {
    this.#rings.forEach((leafRing, i) => {
      if (leafRing === undefined || values[i] === undefined) return;
      mustPut(leafRing.target, leafRing.draft as NumberArray, 0, values[i], leafRing.leaf.keys);
    });
    this.#step++;
    this.#rings.forEach((leafRing, i) => {
      if (leafRing === undefined || values[i] === undefined) return;
      copy(leafRing.draft, 0, leafRing.ring, this.#step % leafRing.steps, leafRing.leaf.size);
    });
  }

  /** Returns the column of a node. The newest step has age 1. */
  column({ leaf, node: { isSqueezed }, ages }: CompiledNode): Column {
    const { leaf: leafInfo, steps, ring } = this.#rings[leaf] as LeafRing;
    const { size, shape } = leafInfo;
    const data = blank(leafInfo.leaf, ages.length * size) as Column["data"];
    ages.forEach((age, i) => {
      copy(ring, (this.#step + 1 - age) % steps, data, i, size);
    });
    return new Column(data, [...(isSqueezed ? [] : [ages.length]), ...shape]);
  }
}

/** Copies one value of `size` elements. */
function copy(from: Column["data"], at: number, to: Column["data"], toIndex: number, size: number): void {
  for (let k = 0; k < size; k++) to[toIndex * size + k] = from[at * size + k] as never;
}
