/** N-step transitions: runs of 1 … numSteps steps of one episode, kept as PFRL's deque of last transitions gives them out. */
import { GrowingTable } from "../../core/growing-table.ts";
import { integer, mustBe, ReplayError } from "../../error.ts";
import { MAX_LENGTH } from "../../limits.ts";
import { Replay } from "../../replay.ts";
import { prioritized, type Selector, uniform } from "../../selector.ts";
import { type Listed, listed } from "../rows/listed.ts";
import { inferSpec, type StepSpec, type WholeSpec, wholeSpec } from "../rows/step-spec.ts";
import type { AnyBatch } from "../rows/transition-batch.ts";
import { type AppendedTransition, checkTransition, extrasOf, type Transition } from "../transition.ts";
import { Batches } from "./batches.ts";
import { Lists } from "./lists.ts";
import { type Picker, RANDOM_PICKER } from "./picker.ts";
import { Picks } from "./picks.ts";
import { Records } from "./step-bytes.ts";
import { type EngineOptions, type Env, Steps } from "./steps.ts";

export interface TransitionsOptions {
  readonly capacity: number;
  readonly numSteps: number;
  readonly prioritized: boolean;
  readonly spec: StepSpec | undefined;
  readonly engine: EngineOptions;
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

export class Transitions {
  readonly options: TransitionsOptions;
  /** How samples pick; tests put another one here. */
  picker: Picker | undefined;
  /** Raised whenever something comes in or goes. */
  changes = 0;
  #made: Made | undefined;
  /** Items that running episodes are going to be when they end. */
  #pending = 0;

  constructor(options: TransitionsOptions) {
    this.options = options;
    if (options.spec === undefined) return;
    this.#made = this.#make(wholeSpec(options.spec));
    this.picker = RANDOM_PICKER;
  }

  get made(): Made | undefined {
    return this.#made;
  }

  get size(): number {
    return this.#made?.items.size ?? 0;
  }

  /** One more step, and the items that it completes: the last numSteps, and at the end of an episode all that are shorter. */
  append(transition: AppendedTransition, priority: number): Env {
    const { numSteps } = this.options;
    const made = this.#made ?? this.#make(firstSpec(transition));
    const known = made.steps.running(transition);
    const before = known === undefined ? 0 : this.#pendingOf(known);
    // What the end of an episode needs is there from each step on: it can end when memory is full.
    made.items.reserve(this.#pending + 1, made.steps.envs.size + 1);
    const env = made.steps.append(transition);
    this.#pending += this.#pendingOf(env) - before;
    this.#made = made;
    this.changes++;
    this.picker ??= RANDOM_PICKER;
    if (transition.isStateTerminal === true) this.#end(made, env, env.length, priority);
    else if (env.length === numSteps) made.items.insert(env.stream, numSteps, priority);
    return env;
  }

  /**
   * What a file's transitions come into, beside what is there: with items of their own.
   * @param max of them; a buffer that is opened holds no more than its capacity
   * @throws ReplayError SPEC_MISMATCH where running episodes, or a spec that was given, are other ones
   */
  beside(spec: WholeSpec, max = Number.POSITIVE_INFINITY, made = this.#made): Made {
    const text = JSON.stringify(spec);
    if (made !== undefined && JSON.stringify(made.spec) === text) return { ...made, items: this.#items(made.steps, max) };
    if (made !== undefined && (this.options.spec !== undefined || made.steps.envs.size > 0))
      throw mustBe("SPEC_MISMATCH", "the file's transitions", `of the spec ${JSON.stringify(made.spec)}`, text);
    return this.#make(spec, max);
  }

  /** Takes over what came beside, in the place of what was there. */
  adopt(made: Made): void {
    this.#made?.items.close();
    made.items.limit(this.options.capacity, Number.POSITIVE_INFINITY);
    this.#made = made;
    this.changes++;
    this.picker = RANDOM_PICKER;
  }

  /** The episode of an environment was interrupted: what is shorter than a full window is stored. Without a running episode nothing happens. */
  stop(envId: unknown, priority: number): void {
    const made = this.#made;
    const env = made?.steps.envs.get(envId);
    if (made === undefined || env === undefined) return;
    made.items.reserve(this.#pendingOf(env), 1);
    this.changes++;
    this.#end(made, env, this.#pendingOf(env), priority);
  }

  /** Checks how many items are asked for. @throws RangeError, TypeError · ReplayError EMPTY, TOO_FEW */
  enough(n: number): Made | undefined {
    integer("n", n, 0, MAX_LENGTH);
    const { size } = this;
    if (n > size) throw size === 0 ? nothingYet() : tooFew(n, size, "items");
    return this.#made;
  }

  /** n different items, all alike. */
  sample(n: number, { form, into }: Asked): AnyBatch | Listed<Transition[]> {
    const made = this.enough(n);
    if (form === "list") return this.#list(made, n);
    if (made === undefined) throw nothingYet();
    const filling = made.batches.of(n, into).prepare();
    (this.picker as Picker).alike(made.items, filling.draw, n);
    return filling.fill(made.items);
  }

  /** Apart, since a function inside costs each call of the one around it an object. */
  #list(made: Made | undefined, n: number): Listed<Transition[]> {
    if (made === undefined) return listed<Transition[]>([], { keys: new Float64Array(0) });
    const picks = new Picks(made.steps, n, false);
    return made.items.drawing(() => {
      (this.picker as Picker).alike(made.items, picks.draw, n);
      return listOf(made, picks);
    });
  }

  /** All items, oldest first; without those that leave meanwhile. */
  *all(): Generator<Transition[], void> {
    const made = this.#made;
    if (made === undefined) return;
    for (const slot of made.items.held()) yield made.lists.item(made.items, slot);
  }

  /** The windows of running episodes. */
  running(): Map<unknown, Transition[]> {
    return this.#made?.lists.running() ?? new Map();
  }

  /** Items of the last `longest` steps and of fewer, and the end. */
  #end({ items, steps }: Made, env: Env, longest: number, priority: number): void {
    for (let length = longest; length > 0; length--) items.insert(env.stream, length, priority);
    this.#pending -= this.#pendingOf(env);
    steps.end(env);
  }

  /** A full window is an item already. */
  #pendingOf({ length }: Env): number {
    return Math.min(length, this.options.numSteps - 1);
  }

  #make(spec: WholeSpec, max = this.options.capacity): Made {
    const { capacity, numSteps, prioritized, engine } = this.options;
    const steps = new Steps(spec, numSteps, engine);
    if (capacity !== Number.POSITIVE_INFINITY) fits(steps, capacity, engine);
    const items = this.#items(steps, max);
    return { spec, steps, items, batches: new Batches(steps, numSteps, prioritized), lists: new Lists(steps), records: new Records(steps) };
  }

  #items({ engine }: Steps, max: number): GrowingTable {
    const { prioritized, engine: options } = this.options;
    const room = max === Number.POSITIVE_INFINITY ? undefined : max;
    return new GrowingTable(engine, { sampler: samplerOf(prioritized), maxSize: max, maxSteps: Number.POSITIVE_INFINITY, seed: options.seed ?? 0, room });
  }
}

/** How items are drawn: by their priorities as they are, or all alike. */
export function samplerOf(isPrioritized: boolean): Selector {
  return isPrioritized ? prioritized(1, { withMin: true }) : uniform();
}

/** What was picked, in PFRL's form. */
export function listOf({ items, lists }: Made, picks: Picks): Listed<Transition[]> {
  const { slots } = picks;
  const info = picks.info();
  return listed(
    Array.from(slots, (slot) => lists.item(items, slot)),
    info,
  );
}

/** The spec of what comes first. */
export function firstSpec(transition: AppendedTransition): WholeSpec {
  checkTransition(transition);
  for (const name of ["state", "action"]) if (transition[name] === undefined) throw mustBe(TypeError, name, "given", undefined);
  return inferSpec(transition.state, transition.action, extrasOf(transition));
}

/** @throws RangeError where so many steps cannot fit, with the figures */
export function fits({ form }: Steps, capacity: number, { maxBytes, module }: EngineOptions): void {
  const plan = Replay.plan({ spec: form.row, tables: { items: { maxSize: Math.max(capacity, 1) } }, maxBytes, module });
  const max = maxBytes ?? 2 ** 32;
  if (plan.bytes <= max) return;
  throw mustBe(RangeError, "capacity", `small enough for maxBytes (${max}): ${plan.bytesPerStep} bytes per step make ${plan.bytes}`, capacity);
}

export function nothingYet(): ReplayError {
  return new ReplayError("EMPTY", "the buffer is empty: append transitions first");
}

export function tooFew(n: number, have: number, what: string): ReplayError {
  return mustBe("TOO_FEW", "n", `at most ${have}, because there are only ${have} ${what}`, n) as ReplayError;
}
