/**
 * Fills batches with drawn items, one typed array per leaf. The layout of the arrays is computed once. A new batch then allocates only its own memory and
 * objects. A sample into a batch allocates only the values of object columns.
 */

import { CROSS, FROM_START } from "../../base/abi.ts";
import { countText, mustBe } from "../../base/error.ts";
import { trimStack } from "../../base/stack-trace.ts";
import type { Into } from "../../batch/batch.ts";
import type { Draw } from "../../batch/draw.ts";
import { gather } from "../../batch/gather.ts";
import { type ItemBuffer, type ItemShape, itemBuffer } from "../../batch/item-layout.ts";
import { WEIGHTS } from "../../batch/layout.ts";
import { BatchPool } from "../../batch/pool.ts";
import type { GrowingTable } from "../../memory/growing-table.ts";
import { Column } from "../../schema/column.ts";
import type { Selection } from "../../schema/columns.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { setPart } from "../../schema/nest.ts";
import { cloneObject } from "../rows/object-value.ts";
import type { PartName } from "../rows/row-schema.ts";
import type { WholeSpec } from "../rows/step-spec.ts";
import { type AnyBatch, noItems } from "../rows/transition-batch.ts";
import type { Steps } from "./steps.ts";

/**
 * The form of runs of steps: "all" for all steps, or "ends" for only the values that a learner needs (the first state, the last next state, and all rewards).
 */
export type RunView = "all" | "ends";

/** These patterns match the leaves that the view "ends" reads only from the last step of a run, and only from the first step. */
const LAST = /^(nextState|nextAction|hasNextState|hasNextAction)\b/;
const FIRST = /^(state|action)\b/;

/** An object column of a batch: its index, and the step of the run that it is read from. */
interface ObjectColumn {
  readonly slot: number;
  readonly from: "first" | "last" | "each";
  readonly values: unknown[];
}

/** The arrays of a batch that have one number per drawn item. */
export type ItemInfo = Pick<AnyBatch, "keys" | "probabilities" | "weights">;

/** The internals of a batch in addition to its columns. They have no reference to the buffer, so a batch keeps only its own memory alive. */
interface Origin {
  /** An object that identifies the buffer that can refill the batch; undefined if the batch cannot be refilled. */
  readonly owner: object | undefined;
  /** The engine's batch, which uses the same arrays. */
  readonly engineBatch: DrawnItems;
  readonly n: number;
  readonly width: number;
  /** The spec of the columns. Undefined if every column has one value per step. */
  readonly spec: WholeSpec | undefined;
  readonly objectColumns: readonly ObjectColumn[];
  /** For each step, a bit for each extra that is present; undefined without extras. */
  readonly present: Uint32Array | undefined;
}

type DrawnItems = ItemBuffer["batch"];

/** The columns of transitions with the names of PFRL. */
class TransitionBatch implements AnyBatch {
  readonly count: number;
  readonly lengths: AnyBatch["lengths"];
  readonly keys: AnyBatch["keys"];
  readonly probabilities: AnyBatch["probabilities"];
  readonly weights: AnyBatch["keys"] | undefined;
  readonly state: unknown;
  readonly action: unknown;
  readonly reward: Column<"f64">;
  readonly nextState: unknown;
  readonly nextAction: unknown;
  readonly isStateTerminal: Column<"bool">;
  readonly hasNextState: Column<"bool">;
  readonly hasNextAction: Column<"bool">;
  readonly extras: AnyBatch["extras"];
  readonly hasExtras: AnyBatch["hasExtras"];
  readonly #origin: Origin;

  constructor(
    steps: Steps,
    view: RunView,
    { owner, engineBatch, n, width, info = engineBatch.info }: Pick<Origin, "owner" | "engineBatch" | "n" | "width"> & { readonly info?: ItemInfo },
  ) {
    const { schema, leafIndices } = steps;
    const columns = engineBatch.steps as { readonly [index: string]: Column };
    const objectColumns: ObjectColumn[] = [];
    const column = (path: string) => columns[leafIndices.get(path) as number] as Column;
    const list = (path: string) => (slot: number) => {
      const values: unknown[] = [];
      const from = view === "all" ? "each" : width === 1 ? "first" : LAST.test(path) ? "last" : FIRST.test(path) ? "first" : "each";
      objectColumns.push({ slot, from, values });
      return values;
    };
    const part = (name: PartName) => schema.parts[name].columns<Column | unknown[]>(name, schema.slotOf[name], column, list(name));
    this.count = n;
    this.lengths = engineBatch.lengths;
    this.keys = info.keys;
    this.probabilities = info.probabilities;
    this.weights = info.weights;
    this.state = part("state");
    this.action = part("action");
    this.reward = column("reward") as Column<"f64">;
    this.nextState = part("nextState");
    this.nextAction = part("nextAction");
    this.isStateTerminal = column("isStateTerminal") as Column<"bool">;
    this.hasNextState = column("hasNextState") as Column<"bool">;
    this.hasNextAction = column("hasNextAction") as Column<"bool">;
    const { data, shape } = this.isStateTerminal;
    const extras: { [name: string]: unknown } = {};
    const hasExtras: { [name: string]: Column<"bool"> } = {};
    for (const { name, part, slot } of schema.extras) {
      setPart(extras, name, part.columns<Column | unknown[]>(`extras.${name}`, slot, column, list(`extras.${name}`)));
      setPart(hasExtras, name, new Column<"bool">(new Uint8Array(data.length), shape));
    }
    this.extras = extras;
    this.hasExtras = hasExtras;
    const present = schema.extras.length === 0 ? undefined : (column("present").data as Uint32Array);
    this.#origin = { owner, engineBatch, n, width, spec: view === "ends" ? schema.spec : undefined, objectColumns, present };
  }

  /** Throws an error that mentions the list form, since programs for PFRL loop over samples. Copies, comparisons and loops over keys ignore this method. */
  [Symbol.iterator](): never {
    throw noItems();
  }

  /** Returns the internals of a batch that a buffer created; undefined for anything else. */
  static originOf(batch: unknown): Origin | undefined {
    return typeof batch === "object" && batch !== null && #origin in batch ? (batch as TransitionBatch).#origin : undefined;
  }
}

const { originOf } = TransitionBatch;

/** Returns the spec of a batch from `sample`; undefined for anything else. */
export function specOfBatch(batch: unknown): WholeSpec | undefined {
  return originOf(batch)?.spec;
}

/** A batch, and the draw that fills it. */
export class BatchFiller {
  readonly batch: AnyBatch;
  /** The draw to fill with picks. Invalid after the next call other than `fill`. */
  readonly draw: Draw;
  readonly #steps: Steps;
  readonly #buffer: ItemBuffer;
  readonly #origin: Origin;
  /** The pool that receives the item buffer after the batch is filled; undefined if this batch is filled again. */
  readonly #pool: BatchPool | undefined;

  constructor(steps: Steps, buffer: ItemBuffer, batch: AnyBatch, pool?: BatchPool) {
    this.batch = batch;
    this.draw = buffer.draw;
    this.#steps = steps;
    this.#buffer = buffer;
    this.#origin = originOf(batch) as Origin;
    this.#pool = pool;
  }

  /** Prepares the draw before anything changes. @throws ReplayError OUT_OF_MEMORY */
  prepare(): this {
    this.#buffer.prepare();
    return this;
  }

  /** Reads the steps of the picked items from their first step on. O(bytes) */
  fill(items: GrowingTable): AnyBatch {
    const { n, width } = this.#origin;
    this.draw.runs(items.handle, n, width, CROSS);
    return this.gather();
  }

  /** Adds items to the draw, with the first step of the run in each item. */
  name(items: GrowingTable, slots: Uint32Array, starts: Uint32Array): void {
    const { n, width } = this.#origin;
    this.draw.nameItems(items.handle, slots, starts);
    this.draw.runs(items.handle, n, width, FROM_START + CROSS);
  }

  /** Reads the rows of the draw into the batch. */
  gather(): AnyBatch {
    const { n, objectColumns, present } = this.#origin;
    gather(this.#buffer, n);
    if (objectColumns.length > 0) this.#fillLists();
    if (present !== undefined) this.#fillPresent(present);
    this.#pool?.give(this.#buffer);
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
    const { objectStore } = this.#steps.engine;
    const { n, width, objectColumns } = this.#origin;
    const rows = this.draw.rows(n * width);
    const { lengths } = this.batch;
    for (const { slot, from, values } of objectColumns) {
      const value = (i: number, t: number) => cloneObject(objectStore.get(rows[i * width + t] as number)?.[slot] ?? null);
      for (let i = 0; i < n; i++) {
        const length = lengths[i] as number;
        if (from === "each") values[i] = Array.from({ length: width }, (_, t) => (t < length ? value(i, t) : null));
        else values[i] = value(i, from === "last" ? length - 1 : 0);
      }
    }
  }
}

/** Creates and reuses the batches of a buffer. New batches share the layout of the first batch. */
export class Batches {
  /** The maximum number of steps per item: the steps of a window, or more if a file has longer items. */
  width: number;
  readonly #steps: Steps;
  readonly #holds: number;
  /** Identifies the batches that this object can refill. */
  readonly #owner = {};
  readonly #pool = new BatchPool();
  readonly #fillers = new WeakMap<AnyBatch, BatchFiller>();
  readonly #views: { [view: string]: readonly Selection[] } = {};

  constructor(steps: Steps, width: number, hasWeights: boolean) {
    this.#steps = steps;
    this.width = width;
    this.#holds = hasWeights ? WEIGHTS : 0;
  }

  /**
   * Returns the filler of the passed batch, or of a new batch, for n items. @throws TypeError, RangeError if the passed batch belongs to another buffer or has
   * another size
   */
  of(n: number, into: AnyBatch | undefined): BatchFiller {
    if (into === undefined) return this.#fresh(n, this.width, "ends", this.#holds);
    const origin = originOf(into);
    if (origin?.owner !== this.#owner) throw mustBe(TypeError, "into", "a batch from this buffer", into);
    if (origin.n !== n || origin.width !== this.width)
      throw trimStack(new RangeError(`into must be a batch of ${sizeText(n, this.width)}, got a batch of ${sizeText(origin.n, origin.width)}`));
    const known = this.#fillers.get(into);
    if (known !== undefined) return known;
    const buffer = itemBuffer(this.#steps.engine, this.#shape(n, this.width, "ends", this.#holds), origin.engineBatch as Into);
    const batchFiller = new BatchFiller(this.#steps, buffer, into);
    this.#fillers.set(into, batchFiller);
    return batchFiller;
  }

  /** Returns the filler of a new batch for n runs with all of their steps. @param info the arrays with one number per item */
  runs(n: number, width: number, info: ItemInfo): BatchFiller {
    return this.#fresh(n, width, "all", 0, info);
  }

  #fresh(n: number, width: number, view: RunView, holds: number, info?: ItemInfo): BatchFiller {
    const shape = this.#shape(n, width, view, holds);
    const idle = this.#pool.take(false, n, width, shape.selections, holds) as ItemBuffer | undefined;
    const buffer = idle ?? itemBuffer(this.#steps.engine, shape);
    // No caller has received the batch of this buffer yet.
    buffer.isFresh = true;
    const batch = new TransitionBatch(this.#steps, view, { owner: view === "ends" ? this.#owner : undefined, engineBatch: buffer.batch, n, width, info });
    return new BatchFiller(this.#steps, buffer, batch as AnyBatch, this.#pool);
  }

  #shape(n: number, width: number, view: RunView, holds: number): ItemShape {
    const name = view === "ends" && width === 1 ? "single" : view;
    this.#views[name] ??= this.#steps.engine.layout.leaves.map((leaf) => selectionOf(leaf, width, view));
    return { n, width, selections: this.#views[name], isWhole: false, holds };
  }
}

function sizeText(n: number, width: number): string {
  return `${n} items of up to ${countText(width, "step")}`;
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
