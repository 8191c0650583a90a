/** What a buffer has stored: its steps, the items that are made of them, and how these are drawn. */

import { integer, mustBe, ReplayError } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { Draw } from "../../batch/draw.ts";
import { gather } from "../../batch/gather.ts";
import { type ItemBuffer, itemBuffer } from "../../batch/item-view.ts";
import { WEIGHTS } from "../../batch/layout.ts";
import { GrowingTable } from "../../memory/growing-table.ts";
import { reentered } from "../../memory/reentry.ts";
import { Replay } from "../../replay/replay.ts";
import { prioritized, uniform } from "../../schema/selector.ts";
import { inferSpec, type StepSpec, type WholeSpec, wholeSpec } from "../rows/step-spec.ts";
import { type AnyBatch, type Listed, listed } from "../rows/transition-batch.ts";
import { type AppendedTransition, checkGiven, checkTransition, extrasOf, type Transition } from "../transition.ts";
import { Batches } from "./batches.ts";
import { Beginning, type FirstCall } from "./beginning.ts";
import type { HistoryForm, HistoryState } from "./history.ts";
import { Lists } from "./lists.ts";
import { type Picker, RANDOM_PICKER, tooFew } from "./picker.ts";
import type { Priorities } from "./priorities.ts";
import { Records } from "./step-bytes.ts";
import { type EngineOptions, type Env, Steps } from "./steps.ts";

export interface StoredOptions {
  /** Transitions at most; Infinity where memory alone is the limit. */
  readonly capacity: number;
  /** Steps of an item at most; 0 for whole episodes. */
  readonly numSteps: number;
  readonly spec: StepSpec | undefined;
  readonly engine: EngineOptions;
  /** Where items are drawn by their errors; else all alike. */
  readonly priorities?: Priorities;
}

/** Which form of a sample is asked for, and the batch to fill: a caller's options, checked. */
export interface Asked {
  readonly form?: "batch" | "list";
  readonly into?: AnyBatch;
}

/** What is there once the spec is known. */
export interface Made {
  readonly spec: WholeSpec;
  readonly steps: Steps;
  readonly items: GrowingTable;
  readonly batches: Batches;
  readonly lists: Lists;
  readonly records: Records;
}

export abstract class Stored<M extends Made = Made> {
  readonly options: StoredOptions;
  /** How samples pick; tests put another one here. */
  picker: Picker = RANDOM_PICKER;
  /** Raised whenever something comes in or goes. */
  changes = 0;
  made: M | undefined;
  /** The first calls are being made again, with a column for an extra whose form is known now; and told of it when they are. */
  isAgain = false;
  onAgain: (() => void) | undefined;
  /** Until something else is called than what stores steps. */
  #beginning: Beginning | undefined;
  /** While a transition is read. */
  #barred = false;

  constructor(options: StoredOptions) {
    this.options = options;
    if (options.spec !== undefined) this.made = this.make(wholeSpec(options.spec));
  }

  /** Transitions that can be drawn. */
  abstract get size(): number;

  /** n different transitions. @throws RangeError, TypeError · ReplayError EMPTY, TOO_FEW, OUT_OF_TURN; and then nothing changed */
  abstract sample(n: number, asked: Asked): AnyBatch | Listed<unknown>;

  /** All transitions in PFRL's form, oldest first; without those that leave meanwhile. */
  abstract transitions(): Iterable<unknown>;

  /** One more step of an environment; it is read here, which may run functions of the caller. @throws ReplayError OUT_OF_TURN from inside them */
  append(transition: AppendedTransition): Env {
    this.check();
    this.#barred = true;
    try {
      return this.take(transition);
    } finally {
      this.#barred = false;
    }
  }

  /** The episode of an environment was interrupted. Without a running episode nothing happens. */
  stop(envId: unknown): void {
    this.check();
    this.end(envId);
  }

  /** @throws ReplayError OUT_OF_TURN where the buffer must not be called now */
  check(): void {
    if (this.#barred) throw reentered();
  }

  /** What `append` does, and `stop`. */
  protected abstract take(transition: AppendedTransition): Env;
  protected abstract end(envId: unknown): void;

  /** Priorities come from outside. */
  touched(): void {
    this.#beginning = undefined;
  }

  /** All items, oldest first; without those that leave meanwhile. */
  *all(): Generator<Transition[], void> {
    const { made } = this;
    if (made === undefined) return;
    for (const slot of made.items.held()) yield made.lists.item(made.items, slot);
  }

  /** The windows of running episodes. */
  running(): Map<unknown, Transition[]> {
    return this.made?.lists.running() ?? new Map();
  }

  /** What its steps are in a file. */
  form({ spec, batches }: Pick<Made, "spec" | "batches">): HistoryForm {
    return this.options.numSteps === 0 ? { family: "episodes", numSteps: 0, spec } : { family: "transitions", numSteps: batches.width, spec };
  }

  /** What a file needs to know beside its items. */
  state({ items }: Made): HistoryState {
    return { count: items.size, random: items.randomState, ...this.options.priorities?.saved(items) };
  }

  /**
   * What a file's transitions come into, beside what is there: with items of their own.
   * @param max of them; a buffer that is opened holds no more than its capacity
   * @throws ReplayError SPEC_MISMATCH where running episodes, or a spec that was given, have other states, actions or rewards
   */
  beside(spec: WholeSpec, max = Number.POSITIVE_INFINITY, made = this.made): M {
    this.check();
    if (made === undefined) return this.make(spec, max);
    const bound = this.options.spec !== undefined || made.steps.envs.size > 0;
    if (bound) checkMixes(made.spec, spec);
    else if (!isSameSpec(made.spec, spec)) return this.make(spec, max);
    return this.complete({ ...made, items: this.#items(made.steps, max) });
  }

  /** Takes over what came beside, in the place of what was there. O(size) */
  adopt(made: M): void {
    this.check();
    this.#beginning = undefined;
    if (this.made !== undefined) this.drop(this.made);
    const { maxSize, maxSteps } = this.#limits(this.options.capacity);
    made.items.limit(maxSize, maxSteps);
    const { numSteps } = this.options;
    // Items may be of more steps than a window.
    if (numSteps > 0) made.batches.width = made.items.slots().reduce((longest, slot) => Math.max(longest, made.items.lengthOf(slot)), numSteps);
    this.made = made;
    this.changes++;
  }

  /** Lets items go that came beside; its steps stay. */
  drop(made: M): void {
    made.items.close();
  }

  /** Adds what a kind of buffer has of its own. */
  protected abstract complete(made: Made): M;

  protected make(spec: WholeSpec, max: number = this.options.capacity): M {
    const { capacity, numSteps, priorities, engine } = this.options;
    const steps = new Steps(spec, numSteps, engine);
    if (capacity !== Number.POSITIVE_INFINITY) fits(steps, capacity, engine);
    const items = this.#items(steps, max);
    const batches = new Batches(steps, Math.max(numSteps, 1), numSteps > 0 && priorities !== undefined);
    return this.complete({ spec, steps, items, batches, lists: new Lists(steps), records: new Records(steps) });
  }

  /** A transition is going to come: the first that tells the form of an extra which was always null gets it a column. @throws as `append` does, and nothing changed */
  protected begin(transition: AppendedTransition): void {
    const { made } = this;
    const beginning = this.#beginning;
    if (beginning === undefined || made === undefined) return;
    const spec = beginning.told(made.spec, transition);
    if (spec === undefined) return;
    // One that is refused tells nothing.
    made.steps.check(transition);
    this.#beginning = undefined;
    this.isAgain = true;
    try {
      this.made = this.make(spec);
      for (const call of beginning.calls) {
        if ("envId" in call) this.end(call.envId);
        else this.take(call.transition);
      }
    } catch {
      // Where there is no memory for it, it stays an object.
      this.made = made;
      return;
    } finally {
      this.isAgain = false;
    }
    this.#beginning = beginning;
    this.onAgain?.();
  }

  /** It came. @param again whether the first calls can be made again */
  protected came(made: M, transition: AppendedTransition, again = true): void {
    if (this.made === undefined && again) this.#beginning = Beginning.of(transition);
    this.made = made;
    this.changes++;
    if (this.#beginning !== undefined) this.#note({ transition });
  }

  /** An episode is going to end. */
  protected stopped(envId: unknown): void {
    this.changes++;
    if (this.#beginning !== undefined) this.#note({ envId });
  }

  #note(call: FirstCall): void {
    if (this.#beginning?.note(call, this.options.capacity) === false) this.#beginning = undefined;
  }

  /** What a new item weighs. */
  protected get priority(): number {
    return this.options.priorities?.max ?? 1;
  }

  /** Checks how many are asked for. @throws RangeError, TypeError · ReplayError EMPTY, TOO_FEW */
  protected enough(n: number, have: number, what: string): M | undefined {
    this.check();
    this.#beginning = undefined;
    integer("n", n, 0, MAX_LENGTH);
    if (n > have) throw have === 0 ? nothingYet() : tooFew(n, have, what);
    return this.made;
  }

  /** n different items into a draw. */
  protected pick({ items }: M, draw: Draw, n: number): void {
    const { priorities } = this.options;
    if (priorities === undefined) this.picker.alike(items, draw, n);
    else priorities.pick(items, this.picker, draw, n, this.size);
  }

  /** A draw without columns, but with room for one row an item: for who reads steps one by one. */
  protected picks({ steps }: M, n: number, weighted: boolean): ItemBuffer {
    const picks = itemBuffer(steps.engine, { n, width: 1, selections: [], isWhole: false, holds: weighted ? WEIGHTS : 0 });
    picks.prepare();
    return picks;
  }

  /** A sample of nothing, where no spec is known. @throws ReplayError EMPTY: there can be no batch */
  protected none(form: Asked["form"]): Listed<never> {
    if (form !== "list") throw nothingYet();
    return listed<never>([], { keys: new Float64Array(0) });
  }

  #items({ engine }: Steps, max: number): GrowingTable {
    const { priorities, engine: options } = this.options;
    const sampler = priorities === undefined ? uniform() : prioritized(1, { withMin: true });
    return new GrowingTable(engine, { sampler, ...this.#limits(max), seed: options.seed ?? 0 });
  }

  /** So many items, or of whole episodes so many steps. */
  #limits(max: number) {
    if (this.options.numSteps === 0) return { maxSize: Math.max(max, 1), maxSteps: max };
    return { maxSize: max, maxSteps: Number.POSITIVE_INFINITY, room: max === Number.POSITIVE_INFINITY ? undefined : max };
  }
}

/** What there is to tell of the n items of a draw, in arrays of its own. */
export function infoOf(
  picks: ItemBuffer,
  n: number,
): { readonly keys: Float64Array<ArrayBuffer>; readonly probabilities: Float64Array<ArrayBuffer>; readonly weights?: Float64Array<ArrayBuffer> } {
  gather(picks, n);
  return picks.batch.info;
}

/** The spec of what comes first. */
export function firstSpec(transition: AppendedTransition): WholeSpec {
  checkTransition(transition);
  for (const name of ["state", "action"]) checkGiven(name, transition[name]);
  return inferSpec(transition.state, transition.action, extrasOf(transition));
}

/** Whether values of one spec can be kept as those of the other: extras may be any. @throws ReplayError SPEC_MISMATCH */
export function checkMixes(own: WholeSpec, other: WholeSpec): void {
  const parts = ({ state, action, reward }: WholeSpec) => JSON.stringify({ state, action, reward });
  if (parts(own) !== parts(other)) throw mustBe("SPEC_MISMATCH", "the file's transitions", `of the spec ${parts(own)}`, parts(other));
}

export function isSameSpec(one: WholeSpec, other: WholeSpec): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function nothingYet(): ReplayError {
  return new ReplayError("EMPTY", "the buffer is empty: append transitions first");
}

/** @throws RangeError where so many steps cannot fit, with the figures */
function fits({ form }: Steps, capacity: number, { maxBytes, module }: EngineOptions): void {
  const plan = Replay.plan({ spec: form.row, tables: { items: { maxSize: Math.max(capacity, 1) } }, maxBytes, module });
  const max = maxBytes ?? 2 ** 32;
  if (plan.bytes <= max) return;
  throw mustBe(RangeError, "capacity", `small enough for maxBytes (${max}): ${plan.bytesPerStep} bytes per step make ${plan.bytes}`, capacity);
}
