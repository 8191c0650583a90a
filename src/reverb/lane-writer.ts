/** Writes the steps of a remote actor to a server's tables, with one writer of whole steps per lane. */
import { integer, mustBe, ReplayError } from "../base/error.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import type { Spec } from "../schema/spec.ts";
import { type BlockOptions, checkEnd, type EndOptions, type EndRules } from "../tables/episode-ends.ts";
import type { ItemOptions, ResolvedWriterOptions } from "../tables/rules.ts";
import type { Fields, Values } from "../tf-agents/writers/fields.ts";
import type { StreamSteps } from "./stream-steps.ts";

/**
 * The states of a lane: in an episode, after an end, or after an end with a final step. The steps of an ended episode stay available until the next episode
 * starts.
 */
const OPEN = 0;
const ENDED = 1;
const ENDED_BY_FINAL = 2;

export class LaneWriter<S extends Spec = Spec> {
  readonly options: ResolvedWriterOptions;
  readonly #fields: Fields<S>;
  readonly #lanes: readonly StreamSteps<S>[];
  readonly #ends: Uint8Array;
  readonly #endRules: EndRules;

  /** @param lanes one writer per lane. `close` closes all of them */
  constructor(options: ResolvedWriterOptions, fields: Fields<S>, lanes: readonly StreamSteps<S>[]) {
    this.options = options;
    this.#fields = fields;
    this.#lanes = lanes;
    this.#ends = new Uint8Array(lanes.length);
    // The rules of a server create items of steps, not transitions.
    this.#endRules = { lanes: lanes.length, autoreset: options.autoreset, hasTransitions: false, observation: { path: "observation", leaves: [] } };
  }

  /**
   * Appends steps of all lanes, as a Replay's writer does.
   * @returns the number of rows
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, CLOSED, or the error that ended a stream
   */
  appendColumns(columns: unknown, { terminated, truncated, ends, final, priorities = {} }: BlockOptions): number {
    const { leaves } = this.#fields;
    const values = this.#fields.take(columns);
    const finals = final === undefined ? undefined : this.#fields.take(final);
    const lead = leaves[0] as PlacedLeaf;
    const rows = (values[0] as ArrayLike<unknown>).length / lead.size;
    const tables = Object.entries(priorities) as [string, ArrayLike<number>][];
    let finalsRead = 0;
    for (let row = 0; row < rows; row++) {
      const lane = row % this.#lanes.length;
      const rowPriorities = tables.length === 0 ? undefined : Object.fromEntries(tables.map(([table, numbers]) => [table, numbers[row] as number]));
      this.#append(lane, this.#row(values, row), false, rowPriorities);
      if (terminated?.[row] || truncated?.[row]) {
        this.#append(lane, finals === undefined ? this.#zeros : this.#row(finals, finalsRead++), true, undefined);
        this.#end(lane, true);
      } else if (ends?.[row]) this.#end(lane, false);
    }
    return rows;
  }

  /**
   * Creates an item of a lane's last steps. @throws RangeError if `lane` is invalid, or if the item needs more steps than are available
   * @throws ReplayError UNSUPPORTED if `columns` is passed, or if a server does not support the priority
   */
  createItem(table: string, { length, priority, lane = 0, columns }: ItemOptions): void {
    integer("lane", lane, 0, this.#lanes.length - 1);
    if (columns !== undefined) throw unsupported("the option columns of createItem", "The items of a server's table have every leaf in every step");
    if (this.#ends[lane] === ENDED_BY_FINAL && length === 1) throw mustBe(RangeError, "length", "above 1, because no item begins with a final step", length);
    // The promise that waits for room is ignored: the actor's data in flight is limited, and its blocks are confirmed only together with their items.
    (this.#lanes[lane] as StreamSteps<S>).createItem(table, { length, priority });
  }

  /**
   * Ends episodes as a Replay's writer does: without a lane, `final` and `terminated` apply to all lanes. A terminated episode without a final observation ends
   * with a step of zeros.
   */
  endEpisode(options: EndOptions<Spec> = {}): void {
    // Messages may contain ends that an actor's own writer would reject.
    const { lane, final, terminated = false } = checkEnd(this.#endRules, options);
    if (final === undefined && !terminated) {
      for (const i of lane === undefined ? this.#lanes.keys() : [lane]) this.#end(i, false);
      return;
    }
    this.#append(lane ?? 0, final === undefined ? this.#zeros : this.#fields.take(final), true, undefined);
    this.#end(lane ?? 0, true);
  }

  discardEpisode(): never {
    throw unsupported("discardEpisode", "A server does not report which items an episode created");
  }

  async flush(wait: WaitOptions): Promise<void> {
    await Promise.all(this.#lanes.map((steps) => steps.flush(wait)));
  }

  /** Resolves when the server has confirmed the items created so far. @throws the errors of `flush` */
  async confirmSoFar(): Promise<void> {
    await Promise.all(this.#lanes.map((steps) => steps.confirmSoFar({})));
  }

  close(): void {
    for (const steps of this.#lanes) steps.close();
  }

  #append(lane: number, values: Values, isFinal: boolean, priorities: { readonly [table: string]: number } | undefined): void {
    const steps = this.#lanes[lane] as StreamSteps<S>;
    if (this.#ends[lane] !== OPEN) steps.endEpisode();
    this.#ends[lane] = OPEN;
    steps.appendValues(values, isFinal, priorities);
  }

  get #zeros(): Values {
    return this.#fields.leaves.map((_, leaf) => this.#fields.zeros(leaf));
  }

  #end(lane: number, byFinal: boolean): void {
    this.#ends[lane] = byFinal ? ENDED_BY_FINAL : ENDED;
  }

  /** Returns a row of columns, one value per leaf. */
  #row(columns: Values, row: number): Values {
    return this.#fields.leaves.map(({ size, shape }, i) => {
      const column = columns[i] as Float32Array | string[];
      if (shape.length === 0) return column[row];
      return Array.isArray(column) ? column.slice(row * size, (row + 1) * size) : column.subarray(row * size, (row + 1) * size);
    });
  }
}

function unsupported(subject: string, remedy: string): ReplayError {
  return new ReplayError("UNSUPPORTED", `${subject} is not supported with a Reverb server. ${remedy}`);
}
