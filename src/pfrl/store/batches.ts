/** The batch form of what was drawn: one typed array a leaf. Worked out once for a batch, so that the next sample into it allocates nothing. */

import { CROSS, FROM_START } from "../../base/abi.ts";
import { mustBe } from "../../base/error.ts";
import { trimStack } from "../../base/stack-trace.ts";
import type { Draw } from "../../batch/draw.ts";
import { gather } from "../../batch/gather.ts";
import { type ItemBuffer, itemBuffer } from "../../batch/item-view.ts";
import { WEIGHTS } from "../../batch/layout.ts";
import type { GrowingTable } from "../../memory/growing-table.ts";
import { Column } from "../../schema/column.ts";
import type { Selection } from "../../schema/columns.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { cloneObject } from "../rows/object-value.ts";
import type { WholeSpec } from "../rows/step-spec.ts";
import { type AnyBatch, withoutItems } from "../rows/transition-batch.ts";
import type { Steps } from "./steps.ts";

/** How runs of steps are shown: each step as it is, or what a learner asks of them: how the first begins, where the last leads, all rewards. */
export type RunView = "all" | "ends";

/** Leaves that a run ends with, and those that it begins with. */
const LAST = /^(nextState|nextAction|hasNextState|hasNextAction)\b/;
const FIRST = /^(state|action)\b/;

/** An object column of a batch: which one, of which step of a run. */
interface ObjectColumn {
  readonly slot: number;
  readonly from: "first" | "last" | "each";
  readonly values: unknown[];
}

/** The spec of a batch of runs, shown by their ends. */
const specs = new WeakMap<object, WholeSpec>();

/** Of a batch that `sample` gave; undefined for anything else. */
export function specOfBatch(batch: unknown): WholeSpec | undefined {
  return typeof batch === "object" && batch !== null ? specs.get(batch) : undefined;
}

/** One batch, and how it is filled. */
export class BatchFiller {
  readonly batch: AnyBatch;
  readonly n: number;
  /** Steps of an item at most. */
  readonly width: number;
  /** To be filled with picks; void after the next call that is not `fill`. */
  readonly draw: Draw;
  readonly #steps: Steps;
  readonly #buffer: ItemBuffer;
  readonly #objectColumns: ObjectColumn[] = [];
  /** Which extras each step has, as bits; and its columns. */
  #present: Column | undefined;

  constructor(steps: Steps, n: number, width: number, view: RunView, hasWeights: boolean) {
    this.n = n;
    this.width = width;
    this.#steps = steps;
    const { engine, schema } = steps;
    const { leaves } = engine.layout;
    const selections = leaves.map((leaf) => selectionOf(leaf, width, view));
    const buffer = itemBuffer(engine, { n, width, selections, isWhole: false, holds: hasWeights ? WEIGHTS : 0 });
    this.#buffer = buffer;
    this.draw = buffer.draw;
    const { lengths, info } = buffer.batch;
    const columnsByIndex = buffer.batch.steps as { readonly [index: string]: Column };
    const column = (path: string): Column => columnsByIndex[leaves.findIndex((leaf) => leaf.path === path)] as Column;
    const list = (path: string) => (slot: number) => {
      const values: unknown[] = [];
      const from = view === "all" ? "each" : width === 1 ? "first" : LAST.test(path) ? "last" : FIRST.test(path) ? "first" : "each";
      this.#objectColumns.push({ slot, from, values });
      return values;
    };
    const part = (name: "state" | "action" | "nextState" | "nextAction") =>
      schema.parts[name].columns<Column | unknown[]>(name, schema.slotOf[name], column, list(name));
    this.batch = {
      count: n,
      lengths,
      keys: info.keys,
      probabilities: info.probabilities,
      weights: info.weights,
      state: part("state"),
      action: part("action"),
      reward: column("reward"),
      nextState: part("nextState"),
      nextAction: part("nextAction"),
      isStateTerminal: column("isStateTerminal"),
      hasNextState: column("hasNextState"),
      hasNextAction: column("hasNextAction"),
      extras: Object.fromEntries(
        schema.extras.map(({ name, part, slot }) => [name, part.columns<Column | unknown[]>(`extras.${name}`, slot, column, list(`extras.${name}`))]),
      ),
      hasExtras: {},
    } as AnyBatch;
    withoutItems(this.batch);
    if (schema.extras.length > 0) this.#present = column("present");
    const { data, shape } = this.batch.isStateTerminal;
    for (const { name } of schema.extras) (this.batch.hasExtras as { [name: string]: Column })[name] = new Column<"bool">(new Uint8Array(data.length), shape);
    if (view === "ends") specs.set(this.batch, schema.spec);
  }

  /** Makes the draw. What could find no room does so here. */
  prepare(): this {
    this.#buffer.prepare();
    return this;
  }

  /** Reads the steps of the items that were picked, from their first one on. O(bytes) */
  fill(items: GrowingTable): AnyBatch {
    this.draw.runs(items.handle, this.n, this.width, CROSS);
    return this.gather();
  }

  /** Names the items of the draw, and where in each its run begins. */
  name(items: GrowingTable, slots: Uint32Array, starts: Uint32Array): void {
    this.draw.nameItems(items.handle, slots, starts);
    this.draw.runs(items.handle, this.n, this.width, FROM_START + CROSS);
  }

  /** Reads the rows that the draw names. */
  gather(): AnyBatch {
    gather(this.#buffer, this.n);
    if (this.#objectColumns.length > 0) this.#fillLists();
    if (this.#present !== undefined) this.#fillPresent(this.#present.data as Uint32Array);
    this.#steps.engine.changed();
    return this.batch;
  }

  #fillPresent(present: Uint32Array): void {
    for (const { name, bit } of this.#steps.schema.extras) {
      const { data } = (this.batch.hasExtras as { readonly [name: string]: Column<"bool"> })[name] as Column<"bool">;
      for (let i = 0; i < data.length; i++) data[i] = ((present[i] as number) & bit) === 0 ? 0 : 1;
    }
  }

  #fillLists(): void {
    const { objectStore: beside } = this.#steps.engine;
    const { width } = this;
    const rows = this.draw.rows(this.n * width);
    const { lengths } = this.batch;
    for (const { slot, from, values } of this.#objectColumns) {
      const value = (i: number, t: number) => cloneObject(beside.get(rows[i * width + t] as number)?.[slot] ?? null);
      for (let i = 0; i < this.n; i++) {
        const length = lengths[i] as number;
        if (from === "each") values[i] = Array.from({ length: width }, (_, t) => (t < length ? value(i, t) : null));
        else values[i] = value(i, from === "last" ? length - 1 : 0);
      }
    }
  }
}

/** The batches of a buffer that are filled again. */
export class Batches {
  /** Steps of an item at most: those of a window, or more where a file had longer ones. */
  width: number;
  readonly #steps: Steps;
  readonly #hasWeights: boolean;
  readonly #fillers = new WeakMap<AnyBatch, BatchFiller>();

  constructor(steps: Steps, width: number, hasWeights: boolean) {
    this.#steps = steps;
    this.width = width;
    this.#hasWeights = hasWeights;
  }

  /** For n items: the batch that is given, or a new one. @throws TypeError, RangeError for a batch that is not this buffer's, or for another n */
  of(n: number, into: AnyBatch | undefined): BatchFiller {
    if (into === undefined) {
      const batchFiller = new BatchFiller(this.#steps, n, this.width, "ends", this.#hasWeights);
      this.#fillers.set(batchFiller.batch, batchFiller);
      return batchFiller;
    }
    const batchFiller = this.#fillers.get(into);
    if (batchFiller === undefined) throw mustBe(TypeError, "into", "a batch from this buffer", into);
    if (batchFiller.n !== n || batchFiller.width !== this.width)
      throw trimStack(new RangeError(`into must be a batch of ${sizeText(n, this.width)}, got one of ${sizeText(batchFiller.n, batchFiller.width)}`));
    return batchFiller;
  }
}

function sizeText(n: number, width: number): string {
  return `${n} items of up to ${width} step${width === 1 ? "" : "s"}`;
}

function selectionOf(leaf: PlacedLeaf, width: number, view: RunView): Selection {
  const keys = [String(leaf.index)];
  const single = (step: number): Selection => ({ keys, leaf, steps: [step], start: 0, step: 1, squeezed: true });
  if (view === "ends") {
    if (width === 1 || FIRST.test(leaf.path)) return single(0);
    if (LAST.test(leaf.path)) return single(-1);
  }
  return { keys, leaf, start: 0, step: 1, squeezed: false };
}
