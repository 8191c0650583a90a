/** Implements the contents of a buffer: its steps, the items made from them, and the draws of items. */

import { integer, mustBe, ReplayError } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { Draw } from "../../batch/draw.ts";
import { gather } from "../../batch/gather.ts";
import { type ItemBuffer, itemBuffer } from "../../batch/item-layout.ts";
import { WEIGHTS } from "../../batch/layout.ts";
import { GrowingTable } from "../../memory/growing-table.ts";
import { reentrancyError } from "../../memory/reentrancy.ts";
import { Replay } from "../../replay/replay.ts";
import { prioritized, uniform } from "../../schema/selector.ts";
import { hasPackable, inferSpec, type StepSpec, type WholeSpec, wholeSpec } from "../rows/step-spec.ts";
import { type AnyBatch, createSampleList, type SampleList } from "../rows/transition-batch.ts";
import { type AppendedTransition, checkGiven, checkTransition, extrasOf, type Transition } from "../transition.ts";
import { Batches } from "./batches.ts";
import { DeferredSchema, type FirstCall } from "./deferred-schema.ts";
import { type DrawStrategy, RANDOM_STRATEGY, tooFew } from "./draw-strategy.ts";
import type { HistorySchema, HistoryState } from "./history.ts";
import type { Priorities } from "./priorities.ts";
import { Records } from "./step-bytes.ts";
import { type EngineOptions, type Env, Steps } from "./steps.ts";
import { TransitionLists } from "./transition-lists.ts";

export interface StoredOptions {
  /** The maximum number of transitions; Infinity if only memory limits them. */
  readonly capacity: number;
  /** The maximum number of steps in an item; 0 for whole episodes. */
  readonly numSteps: number;
  readonly spec: StepSpec | undefined;
  readonly engine: EngineOptions;
  /** The priorities, if items are drawn in proportion to their errors. Without priorities, draws are uniform. */
  readonly priorities?: Priorities;
}

/** The requested form of a sample, and the batch to fill. The options are already checked. */
export interface SampleRequest {
  readonly form?: "batch" | "list";
  readonly into?: AnyBatch;
}

/** The contents of a buffer whose spec is known. */
export interface BufferContents {
  readonly spec: WholeSpec;
  readonly steps: Steps;
  readonly items: GrowingTable;
  readonly batches: Batches;
  readonly lists: TransitionLists;
  readonly records: Records;
}

export abstract class Stored<M extends BufferContents = BufferContents> {
  readonly options: StoredOptions;
  /** Picks the items of samples. Tests replace it. */
  drawStrategy: DrawStrategy = RANDOM_STRATEGY;
  /** Increases whenever a step is added, an episode is stopped, or the contents are replaced. */
  changes = 0;
  contents: M | undefined;
  /** Whether the first calls are being repeated with a column for an extra whose form has become known. `onReplay` is called afterwards. */
  isReplaying = false;
  onReplay: (() => void) | undefined;
  /** The recorded first calls; undefined after the buffer was used for anything other than storing steps. */
  #deferredSchema: DeferredSchema | undefined;
  /** Set while `append` reads a transition, which may run functions of the caller. */
  #isLocked = false;

  constructor(options: StoredOptions) {
    this.options = options;
    if (options.spec !== undefined) this.contents = this.make(wholeSpec(options.spec));
  }

  /** The number of transitions that can be drawn. */
  abstract get size(): number;

  /**
   * Draws n different transitions. @throws TypeError, RangeError if an argument is invalid · ReplayError EMPTY if there are no items, TOO_FEW if there are
   * fewer than n, OUT_OF_TURN if the last sample still waits for its errors. In each case, nothing has changed
   */
  abstract sample(n: number, request: SampleRequest): AnyBatch | SampleList<unknown>;

  /** Returns all transitions in PFRL's form, oldest first, except transitions that are evicted in the meantime. */
  abstract transitions(): Iterable<unknown>;

  /** Appends a step of an environment. Reading the step may run functions of the caller. @throws ReplayError OUT_OF_TURN if such a function calls the buffer */
  append(transition: AppendedTransition): Env {
    this.check();
    this.#isLocked = true;
    try {
      return this.take(transition);
    } finally {
      this.#isLocked = false;
    }
  }

  /** Ends the interrupted episode of an environment. No effect if the environment has no open episode. */
  stop(envId: unknown): void {
    this.check();
    this.end(envId);
  }

  /** @throws ReplayError OUT_OF_TURN if a function of the caller, which an unfinished call runs, calls the buffer */
  check(): void {
    if (this.#isLocked) throw reentrancyError();
  }

  /** These methods implement `append` and `stop`. */
  protected abstract take(transition: AppendedTransition): Env;
  protected abstract end(envId: unknown): void;

  /** Runs when the caller updates priorities, after which the first calls cannot be repeated. */
  onPriorityUpdate(): void {
    this.#deferredSchema = undefined;
  }

  /** Yields all items, oldest first, except items that are evicted in the meantime. */
  *all(): Generator<Transition[], void> {
    const { contents } = this;
    if (contents === undefined) return;
    for (const slot of contents.items.liveSlots()) yield contents.lists.item(contents.items, slot);
  }

  /** Returns the transitions in the windows of the open episodes, by environment. */
  running(): Map<unknown, Transition[]> {
    return this.contents?.lists.running() ?? new Map();
  }

  /** Returns the form of the buffer's steps in a file. */
  schema({ spec, batches }: Pick<BufferContents, "spec" | "batches">): HistorySchema {
    return this.options.numSteps === 0 ? { family: "episodes", numSteps: 0, spec } : { family: "transitions", numSteps: batches.width, spec };
  }

  /** Returns the state that a file needs in addition to the items. */
  state({ items }: BufferContents): HistoryState {
    return { count: items.size, random: items.randomState, ...this.options.priorities?.state(items) };
  }

  /**
   * Creates separate contents, including separate items, for the transitions of a file.
   * @param max the maximum number of items; a buffer that is opened has at most its capacity
   * @throws ReplayError SPEC_MISMATCH if running episodes or a spec set by the caller have other states, actions or rewards
   */
  createSeparate(spec: WholeSpec, max = Number.POSITIVE_INFINITY, contents = this.contents): M {
    this.check();
    if (contents === undefined) return this.make(spec, max);
    const bound = this.options.spec !== undefined || contents.steps.envs.size > 0;
    if (bound) checkMixes(contents.spec, spec);
    else if (!isSameSpec(contents.spec, spec)) return this.make(spec, max);
    return this.complete({ ...contents, items: this.#items(contents.steps, max) });
  }

  /** Replaces the contents with separate contents. O(size) */
  adopt(contents: M): void {
    this.check();
    this.#deferredSchema = undefined;
    if (this.contents !== undefined) this.drop(this.contents);
    const { maxSize, maxSteps } = this.#limits(this.options.capacity);
    contents.items.limit(maxSize, maxSteps);
    const { numSteps } = this.options;
    // Items from a file may have more steps than a window.
    if (numSteps > 0) contents.batches.width = contents.items.slots().reduce((longest, slot) => Math.max(longest, contents.items.lengthOf(slot)), numSteps);
    this.contents = contents;
    this.changes++;
  }

  /** Releases the items of `contents`, but not their steps. */
  drop(contents: M): void {
    contents.items.close();
  }

  /** Adds the parts that are specific to one kind of buffer. */
  protected abstract complete(contents: BufferContents): M;

  protected make(spec: WholeSpec, max: number = this.options.capacity): M {
    const { capacity, numSteps, priorities, engine } = this.options;
    const steps = new Steps(spec, numSteps, engine);
    if (capacity !== Number.POSITIVE_INFINITY) checkCapacity(steps, capacity, engine);
    const items = this.#items(steps, max);
    const batches = new Batches(steps, Math.max(numSteps, 1), numSteps > 0 && priorities !== undefined);
    return this.complete({ spec, steps, items, batches, lists: new TransitionLists(steps), records: new Records(steps) });
  }

  /**
   * Runs before a transition is stored. The first transition that determines the form of an always-null extra creates the extra's column.
   * @throws the errors of `append`. In each case, nothing has changed
   */
  protected begin(transition: AppendedTransition): void {
    const { contents } = this;
    const deferredSchema = this.#deferredSchema;
    if (deferredSchema === undefined || contents === undefined) return;
    const spec = deferredSchema.resolve(contents.spec, transition);
    if (spec === undefined) return;
    // This throws for a transition that the buffer would reject, because such a transition must not determine the form.
    contents.steps.check(transition);
    this.#deferredSchema = undefined;
    this.isReplaying = true;
    try {
      this.contents = this.make(spec);
      for (const call of deferredSchema.calls) {
        if ("envId" in call) this.end(call.envId);
        else this.take(call.transition);
      }
    } catch {
      // If memory is too small for a column, the extra remains an object.
      this.contents = contents;
      return;
    } finally {
      this.isReplaying = false;
    }
    this.#deferredSchema = deferredSchema;
    this.onReplay?.();
  }

  /** Runs after a transition was stored. @param again whether the first calls can be repeated */
  protected onAppend(contents: M, transition: AppendedTransition, again = true): void {
    if (this.contents === undefined && again) this.#deferredSchema = DeferredSchema.of(transition);
    this.contents = contents;
    this.changes++;
    if (this.#deferredSchema !== undefined) this.#recordCall({ transition });
  }

  /** Runs before an episode ends. */
  protected onStop(envId: unknown): void {
    this.changes++;
    if (this.#deferredSchema !== undefined) this.#recordCall({ envId });
  }

  #recordCall(call: FirstCall): void {
    if (this.#deferredSchema?.record(call, this.options.capacity) === false) this.#deferredSchema = undefined;
  }

  /** The priority of a new item. */
  protected get priority(): number {
    return this.options.priorities?.max ?? 1;
  }

  /**
   * Checks the number of requested items, and returns the contents; undefined while no spec is known. @throws TypeError, RangeError if n is not a valid count ·
   * ReplayError EMPTY if there are no items, TOO_FEW if there are fewer than n
   */
  protected mustHave(n: number, available: number, itemsName: string): M | undefined {
    this.check();
    this.#deferredSchema = undefined;
    integer("n", n, 0, MAX_LENGTH);
    if (n > available) throw available === 0 ? emptyError() : tooFew(n, available, itemsName);
    return this.contents;
  }

  /** Draws n different items. */
  protected drawItems({ items }: M, draw: Draw, n: number): void {
    const { priorities } = this.options;
    if (priorities === undefined) this.drawStrategy.uniform(items, draw, n);
    else priorities.draw(items, this.drawStrategy, draw, n, this.size);
  }

  /** Creates a draw for reading steps one by one. It has no columns, but room for one row per item. */
  protected createDraw({ steps }: M, n: number, hasWeights: boolean): ItemBuffer {
    const drawFiller = itemBuffer(steps.engine, { n, width: 1, selections: [], isWhole: false, holds: hasWeights ? WEIGHTS : 0 });
    drawFiller.prepare();
    return drawFiller;
  }

  /** Returns an empty sample when no spec is known. @throws ReplayError EMPTY, since a batch cannot be created */
  protected emptySample(form: SampleRequest["form"]): SampleList<never> {
    if (form !== "list") throw emptyError();
    return createSampleList<never>([], { keys: new Float64Array(0) });
  }

  #items({ engine }: Steps, max: number): GrowingTable {
    const { priorities, engine: options } = this.options;
    const sampler = priorities === undefined ? uniform() : prioritized(1, { withMin: true });
    return new GrowingTable(engine, { sampler, ...this.#limits(max), seed: options.seed ?? 0 });
  }

  /** Returns the limits for `max` transitions: a limit on items, or on steps for whole episodes. */
  #limits(max: number) {
    if (this.options.numSteps === 0) return { maxSize: Math.max(max, 1), maxSteps: max };
    return { maxSize: max, maxSteps: Number.POSITIVE_INFINITY, room: max === Number.POSITIVE_INFINITY ? undefined : max };
  }
}

/** Returns the keys, probabilities and weights of the n items of a draw, in new arrays. */
export function infoOf(
  picks: ItemBuffer,
  n: number,
): { readonly keys: Float64Array<ArrayBuffer>; readonly probabilities: Float64Array<ArrayBuffer>; readonly weights?: Float64Array<ArrayBuffer> } {
  gather(picks, n);
  return picks.batch.info;
}

/** Infers the spec from the first transition. @throws TypeError if the transition is invalid */
export function firstSpec(transition: AppendedTransition): WholeSpec {
  checkTransition(transition);
  for (const name of ["state", "action"]) checkGiven(name, transition[name]);
  return inferSpec(transition.state, transition.action, extrasOf(transition));
}

/**
 * Checks whether values of one spec can be stored with another spec. Extras may differ. @throws ReplayError SPEC_MISMATCH if the specs of states, actions or
 * rewards differ
 */
export function checkMixes(expected: WholeSpec, actual: WholeSpec): void {
  const parts = ({ state, action, reward }: WholeSpec) => JSON.stringify({ state, action, reward });
  if (parts(expected) !== parts(actual))
    throw new ReplayError("SPEC_MISMATCH", `the transitions in the file must have the spec ${parts(expected)}, got ${parts(actual)}`);
}

export function isSameSpec(left: WholeSpec, right: WholeSpec): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function emptyError(): ReplayError {
  return new ReplayError("EMPTY", "the buffer is empty. Call append() first");
}

/** Checks that the capacity fits in memory. @throws RangeError with the sizes if the capacity does not fit in memory */
function checkCapacity({ schema }: Steps, capacity: number, { maxBytes, module }: EngineOptions): void {
  const plan = Replay.plan({ spec: schema.row, tables: { items: { maxSize: Math.max(capacity, 1) } }, maxBytes, module });
  const max = maxBytes ?? 2 ** 32;
  if (plan.bytes <= max) return;
  const need = `At ${plan.bytesPerStep} bytes per step, it needs ${plan.bytes} bytes`;
  const remedy = `${need}. Lower capacity${hasPackable(schema.row) ? ", or pass packed: true for screens" : ""}`;
  throw mustBe(RangeError, "capacity", [`small enough for maxBytes (${max})`, remedy], capacity);
}
