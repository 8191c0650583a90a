/** Returns samples in PFRL's form: lists of transitions, in which each transition is a separate object. */

import { gather } from "../../batch/gather.ts";
import { type ItemBuffer, itemBuffer } from "../../batch/item-layout.ts";
import type { GrowingTable } from "../../memory/growing-table.ts";
import type { Column } from "../../schema/column.ts";
import type { Selection } from "../../schema/columns.ts";
import type { NumberArray } from "../../schema/dtype.ts";
import { cloneObject } from "../rows/object-value.ts";
import type { Transition } from "../transition.ts";
import { chunkOf, type Env, type Steps } from "./steps.ts";

/** Reads rows as transitions, one transition per row. */
export class TransitionLists {
  readonly #steps: Steps;
  readonly #selections: readonly Selection[];
  readonly #chunk: number;
  #buffer: ItemBuffer | undefined;

  constructor(steps: Steps) {
    this.#steps = steps;
    this.#chunk = chunkOf(steps.engine);
    this.#selections = steps.engine.layout.leaves.map((leaf) => ({ keys: [String(leaf.index)], leaf, steps: [0], start: 0, step: 1, squeezed: true }));
  }

  /** Returns the transitions of an item: all, or `length` transitions from index `from` on. O(bytes) */
  item(items: GrowingTable, slot: number, from?: number, length?: number): Transition[] {
    return this.transitions(items.rowsOf(slot, from, length));
  }

  /** Returns the transitions of a running episode's window. */
  window(env: Env): Transition[] {
    return this.transitions(env.stream.rows());
  }

  /** Returns the windows of all running episodes by environment. */
  running(): Map<unknown, Transition[]> {
    return new Map(Array.from(this.#steps.envs.values(), (env) => [env.id, this.window(env)]));
  }

  /** Returns the transitions of rows that the caller keeps from being reused. */
  transitions(rows: Uint32Array): Transition[] {
    const transitions: Transition[] = [];
    const chunk = this.#chunk;
    for (let from = 0; from < rows.length; from += chunk) this.#read(rows.subarray(from, from + chunk), transitions);
    return transitions;
  }

  #read(rows: Uint32Array, into: Transition[]): void {
    const { engine, schema } = this.#steps;
    this.#buffer ??= itemBuffer(engine, { n: this.#chunk, width: 1, selections: this.#selections, isWhole: false, holds: 0 });
    const buffer = this.#buffer;
    buffer.prepare().nameRows(rows);
    gather(buffer, rows.length);
    const columns = new Map<string, NumberArray>();
    const columnsByIndex = buffer.batch.steps as { readonly [index: string]: Column };
    for (const { index, path } of engine.layout.leaves) columns.set(path, columnsByIndex[index]?.data as unknown as NumberArray);
    for (let i = 0; i < rows.length; i++) into.push(schema.read(columns, i, engine.objectStore.get(rows[i] as number)?.map(cloneObject)));
  }
}
