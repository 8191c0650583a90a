/** Implements the writer to a server that observers use. It appends whole steps, and creates items of the last steps, by rules or on request. */

import { finite, integer, mustBe, onlyKeys, ReplayError } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { Spec, StepOf } from "../schema/spec.ts";
import { ItemPromise } from "../tables/item-promise.ts";
import type { ItemOptions } from "../tables/rules.ts";
import { allOf, type StepWriter } from "../tables/step-sink.ts";
import type { Fields, Values } from "../tf-agents/writers/fields.ts";
import { mustBeTableName, type StepWriterOptions } from "../tf-agents/writers/step-client.ts";
import type { ServerSink } from "./server-sink.ts";

/** Creates an item of the last `length` steps whenever an episode has `length`, `length + stride`, … steps. */
interface Rule {
  readonly table: string;
  readonly length: number;
  readonly stride: number;
  readonly priority: number;
}

/** Returns the checked rules of a writer. @throws TypeError, RangeError · ReplayError UNSUPPORTED for rules that a server's items do not support */
export function checkRules(options: StepWriterOptions): { readonly keep: number; readonly rules: readonly Rule[] } {
  const { keep, items = [], name } = onlyKeys("writer", options, "keep, items, name");
  if (name !== undefined) throw unsupported("name", "A server does not store the steps of an open episode, which are lost with this process");
  integer("keep", keep, 1, MAX_LENGTH);
  if (!Array.isArray(items)) throw mustBe(TypeError, "items", "an array of rules", items);
  const rules = items.map((itemRule, i): Rule => {
    const subject = `items[${i}]`;
    const {
      table,
      length,
      stride = 1,
      priority = 1,
      columns,
      nStep,
      sequence,
    } = onlyKeys(subject, itemRule, "table, length, stride, priority, columns, nStep, sequence, finite");
    mustBeTableName(table, `${subject}.table`);
    if (nStep !== undefined)
      throw unsupported(`${subject}.nStep`, "A server stores steps, not transitions. Draw items of nStep + 1 steps, and compute their returns");
    if (sequence !== undefined) throw unsupported(`${subject}.sequence`, "Set the length and stride of the item instead");
    if (columns !== undefined) throw unsupported(`${subject}.columns`, "Create such items with client.structuredWriter or client.trajectoryWriter");
    if (priority === "max") throw unsupported(`${subject}.priority "max"`, "A server does not report its priorities. Pass a number");
    integer(`${subject}.length`, length, 1, keep);
    integer(`${subject}.stride`, stride, 1, MAX_LENGTH);
    return { table, length, stride, priority: finite(`${subject}.priority`, priority, 0) };
  });
  return { keep, rules };
}

function unsupported(subject: string, remedy: string): ReplayError {
  return new ReplayError("UNSUPPORTED", `${subject} is not supported with a Reverb server. ${remedy}`);
}

export class StreamSteps<S extends Spec = Spec> implements StepWriter<S> {
  readonly #fields: Fields<S>;
  readonly #sink: ServerSink;
  readonly #keep: number;
  readonly #rules: readonly Rule[];
  /** The promises of `createItem` since the last append. The next append waits for these promises, if the caller does not wait for them. */
  #pendingItems: Promise<void>[] = [];

  /** The number of items created so far, by table. */
  readonly itemsMade: ReadonlyMap<string, number>;
  readonly #itemCounts = new Map<string, number>();

  /** Called by `client.writer`. @param sink the target of the steps, which is closed with this writer */
  constructor(fields: Fields<S>, sink: ServerSink, keep: number, rules: readonly Rule[]) {
    this.#fields = fields;
    this.#sink = sink;
    this.#keep = keep;
    this.#rules = rules;
    this.itemsMade = this.#itemCounts;
  }

  /**
   * Appends a whole step, and creates the items that are due with it. Costs O(bytes + items).
   * @returns `undefined`, or a promise. The promise resolves when there is room for more items in flight and, for the first item of a table, when the server
   * has answered
   * @throws ReplayError SPEC_MISMATCH if the step does not match the spec. Nothing has changed then
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype. Nothing has changed then
   * @throws ReplayError NOT_FOUND with the promise if the table of the first item does not exist
   * @throws ReplayError SPEC_MISMATCH with the promise if the first item of a table does not fit its signature
   */
  append(step: StepOf<S>): Promise<void> | undefined {
    const sink = this.#sink;
    sink.check();
    const values = this.#fields.take(step);
    const missing = values.indexOf(undefined);
    if (missing >= 0) throw new ReplayError("SPEC_MISMATCH", `${sink.leaves[missing]?.path || "step"} is required in every step`);
    return this.appendValues(values);
  }

  /**
   * Appends a step that is passed as one value per leaf, like `append`.
   * @param isFinal whether the step is the final step of an episode. No item begins with such a step
   * @param priorities the priorities by table, which replace the priorities of the rules
   */
  appendValues(values: Values, isFinal = false, priorities?: { readonly [table: string]: number }): Promise<void> | undefined {
    const sink = this.#sink;
    sink.append(values, undefined, false);
    const steps = sink.episodeSteps;
    for (const { table, length, stride, priority } of this.#rules) {
      if (steps < length || (steps - length) % stride !== 0 || (isFinal && length === 1)) continue;
      this.#insert(table, length, priorities?.[table] ?? priority);
    }
    if (this.#pendingItems.length === 0) return undefined;
    // A caller that reads an item's promise waits for it, and receives its rejection.
    const pendingItems = this.#pendingItems.filter((item) => !(item instanceof ItemPromise && item.wasRead));
    this.#pendingItems = [];
    return allOf(pendingItems);
  }

  /** Creates an item of the last steps. @throws RangeError if an argument is invalid, or if the item needs more steps than are available */
  createItem(table: string, options: Pick<ItemOptions, "length" | "priority">): Promise<void> | undefined {
    this.#sink.check();
    const { length, priority = 1 } = onlyKeys("options", options, "length, priority");
    mustBeTableName(table);
    const maxLength = Math.min(this.#sink.episodeSteps, this.#keep);
    integer("length", length, 1, maxLength);
    if (priority === "max") throw unsupported('priority "max"', "A server does not report its priorities. Pass a number");
    return this.#insert(table, length, priority);
  }

  endEpisode(): void {
    this.#sink.check();
    this.#sink.endEpisode(true);
  }

  flush(options: WaitOptions = {}): Promise<void> {
    return this.#sink.flush(options);
  }

  /** Waits until the items created so far are confirmed. @throws the errors of `flush` */
  confirmSoFar(wait: WaitOptions): Promise<void> {
    return this.#sink.confirmSoFar(wait);
  }

  close(): void {
    this.#sink.close();
  }

  #insert(table: string, length: number, priority: number): Promise<void> | undefined {
    const pending = this.#sink.createLast(table, length, priority, this.#sink.leaves);
    this.#itemCounts.set(table, (this.#itemCounts.get(table) ?? 0) + 1);
    if (pending !== undefined) this.#pendingItems.push(pending);
    return pending;
  }
}
