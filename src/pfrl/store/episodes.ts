/** Whole episodes, and their transitions one by one beside them. A running episode is not seen before it ends. */
import { drawable, MAX_PRIORITY } from "../../core/errors.ts";
import { GrowingTable } from "../../core/growing-table.ts";
import { finite, integer, mustBe, ReplayError } from "../../error.ts";
import { MAX_LENGTH } from "../../limits.ts";
import { type Listed, listed } from "../rows/listed.ts";
import { type StepSpec, type WholeSpec, wholeSpec } from "../rows/step-spec.ts";
import type { AnyBatch } from "../rows/transition-batch.ts";
import { type AppendedTransition, asStored, checkTransition, type Transition } from "../transition.ts";
import { Batches, Filling } from "./batches.ts";
import { Lists } from "./lists.ts";
import { Memory } from "./memory.ts";
import { type Picker, RANDOM_PICKER } from "./picker.ts";
import { Picks } from "./picks.ts";
import { Records } from "./step-bytes.ts";
import { type EngineOptions, type Env, Steps } from "./steps.ts";
import { type Asked, firstSpec, fits, nothingYet, samplerOf, tooFew } from "./transitions.ts";

export interface EpisodesOptions {
  readonly capacity: number;
  readonly prioritized: boolean;
  /** Whether single transitions leave with their episode; else one by one. */
  readonly together: boolean;
  readonly spec: StepSpec | undefined;
  readonly engine: EngineOptions;
}

/** Which form of episodes is asked for, and how long they are at most. */
export interface AskedEpisodes {
  readonly list: boolean;
  readonly maxLength: number | undefined;
}

/** What a new episode weighs. */
export interface Weigh {
  readonly priority: number;
  /** By its transitions, instead. */
  readonly byEpisode?: ((episode: readonly Transition[]) => number) | undefined;
}

/** What is there once the spec is known. */
export interface MadeEpisodes {
  readonly spec: WholeSpec;
  readonly records: Records;
  readonly steps: Steps;
  readonly items: GrowingTable;
  readonly batches: Batches;
  readonly memory: Memory;
  readonly lists: Lists;
}

export class EndedEpisodes {
  readonly options: EpisodesOptions;
  /** How samples pick; tests put another one here. */
  picker: Picker | undefined;
  /** Told of each episode that ends, before it is stored. */
  onEnd: ((made: MadeEpisodes, env: Env) => void) | undefined;
  /** Raised whenever something comes in or goes. */
  changes = 0;
  #made: MadeEpisodes | undefined;
  /** Steps of all running episodes. */
  #running = 0;
  #weighing = false;

  constructor(options: EpisodesOptions) {
    this.options = options;
    if (options.spec === undefined) return;
    this.#made = this.#make(wholeSpec(options.spec));
    this.picker = RANDOM_PICKER;
  }

  get made(): MadeEpisodes | undefined {
    return this.#made;
  }

  /** Single transitions. */
  get size(): number {
    return this.#made?.memory.length ?? 0;
  }

  get episodes(): number {
    return this.#made?.items.size ?? 0;
  }

  /** @throws ReplayError OUT_OF_TURN from inside defaultPriorityFunc */
  check(): void {
    if (this.#weighing) throw new ReplayError("OUT_OF_TURN", "defaultPriorityFunc must not call the buffer");
  }

  /** One more step; with the last one of an episode the episode is stored. */
  append(transition: AppendedTransition, weigh: Weigh): void {
    this.check();
    checkTransition(transition);
    const made = this.#made ?? this.#make(firstSpec(transition));
    const known = made.steps.running(transition);
    const ends = transition.isStateTerminal === true;
    if (ends && weigh.byEpisode !== undefined) made.steps.check(transition);
    // What an episode weighs is known before its last step comes, and what its end needs is there from each step on: it can end when memory is full.
    const priority = ends ? this.#weighed(weigh, () => [...(known ? made.lists.window(known) : []), asStored(transition)]) : 0;
    made.items.reserve(made.steps.envs.size + Number(known === undefined));
    made.memory.reserve(this.#running + 1);
    const env = made.steps.append(transition);
    this.#made = made;
    this.#running++;
    this.changes++;
    this.picker ??= RANDOM_PICKER;
    if (ends) this.#end(made, env, priority);
  }

  /**
   * What a file's episodes come into, beside what is there: with items of their own.
   * @param max transitions of them; a buffer that is opened holds no more than its capacity
   * @throws ReplayError SPEC_MISMATCH where running episodes, or a spec that was given, are other ones
   */
  beside(spec: WholeSpec, max = Number.POSITIVE_INFINITY, made = this.#made): MadeEpisodes {
    this.check();
    const text = JSON.stringify(spec);
    if (made !== undefined && JSON.stringify(made.spec) === text)
      return { ...made, items: this.#items(made.steps, max), memory: new Memory(made.steps.engine) };
    if (made !== undefined && (this.options.spec !== undefined || made.steps.envs.size > 0))
      throw mustBe("SPEC_MISMATCH", "the file's transitions", `of the spec ${JSON.stringify(made.spec)}`, text);
    return this.#make(spec, max);
  }

  /** Takes over what came beside, in the place of what was there. */
  adopt(made: MadeEpisodes): void {
    this.check();
    this.#made?.items.close();
    this.#made?.memory.close();
    made.items.limit(Math.max(this.options.capacity, 1), this.options.capacity);
    this.#made = made;
    this.changes++;
    this.picker = RANDOM_PICKER;
  }

  /** Stores the running episode of an environment, if there is one. */
  stop(envId: unknown, weigh: Weigh): void {
    this.check();
    const made = this.#made;
    const env = made?.steps.envs.get(envId);
    if (made === undefined || env === undefined) return;
    const priority = this.#weighed(weigh, () => made.lists.window(env));
    made.items.reserve(1);
    made.memory.reserve(env.length);
    this.changes++;
    this.#end(made, env, priority);
  }

  /** Checks how many single transitions are asked for. @throws RangeError, TypeError · ReplayError EMPTY, TOO_FEW */
  enough(n: number): MadeEpisodes | undefined {
    this.check();
    integer("n", n, 0, MAX_LENGTH);
    if (n > this.size) throw this.size === 0 ? nothingYet() : tooFew(n, this.size, "transitions");
    return this.#made;
  }

  /** n different episodes, all alike; of longer ones a run of maxLength steps. */
  drawEpisodes(n: number, asked: AskedEpisodes): AnyBatch | Listed<Transition[]> {
    const made = this.enoughEpisodes(n, asked.maxLength);
    if (made === undefined && asked.list) return listed<Transition[]>([], { keys: new Float64Array(0) });
    if (made === undefined) throw nothingYet();
    const picks = new Picks(made.steps, n, false);
    return made.items.drawing(() => {
      (this.picker as Picker).alike(made.items, picks.draw, n);
      return this.read(made, picks, asked);
    });
  }

  /** Reads what was picked. */
  read(made: MadeEpisodes, picks: Picks, { list, maxLength }: AskedEpisodes): AnyBatch | Listed<Transition[]> {
    const { slots } = picks;
    picks.starts.fill(0);
    if (maxLength !== undefined) (this.picker as Picker).starts(made.items, picks.draw, picks.n, maxLength);
    const starts = picks.starts.slice();
    if (!list) return this.#batchOf(made, picks, slots, starts, maxLength);
    const info = picks.info();
    return listed(this.#listOf(made, slots, starts, maxLength), info);
  }

  /** The same, of episodes. */
  enoughEpisodes(n: number, maxLength: number | undefined): MadeEpisodes | undefined {
    this.check();
    integer("n", n, 0, MAX_LENGTH);
    if (maxLength !== undefined) integer("maxLength", maxLength, 0);
    if (n > this.episodes) throw this.episodes === 0 ? nothingYet() : tooFew(n, this.episodes, "episodes");
    return this.#made;
  }

  /** Apart, since a function inside costs each call of the one around it an object. */
  #list(made: MadeEpisodes | undefined, n: number): Listed<Transition> {
    if (made === undefined) return listed<Transition>([], { keys: new Float64Array(0) });
    const { items, lists, memory, steps } = made;
    const picks = new Picks(steps, n, false);
    return items.drawing(() => {
      (this.picker as Picker).single(items, memory, picks.draw, n);
      const { rows } = picks;
      const info = picks.info();
      return listed(lists.transitions(rows), info);
    });
  }

  /** n different single transitions. */
  draw(n: number, { form, into }: Asked): AnyBatch | Listed<Transition> {
    const made = this.enough(n);
    if (form === "list") return this.#list(made, n);
    if (made === undefined) throw nothingYet();
    const { batches, items, memory } = made;
    const filling = batches.of(n, into).prepare();
    (this.picker as Picker).single(items, memory, filling.draw, n);
    return filling.gather();
  }

  #listOf({ items, lists }: MadeEpisodes, slots: Uint32Array, starts: Uint32Array, maxLength = Number.POSITIVE_INFINITY): Transition[][] {
    return Array.from(slots, (slot, i) => lists.item(items, slot, starts[i], Math.min(maxLength, items.lengthOf(slot))));
  }

  /** As long as the longest of them. */
  #batchOf({ items, steps }: MadeEpisodes, picks: Picks, slots: Uint32Array, starts: Uint32Array, maxLength = Number.POSITIVE_INFINITY): AnyBatch {
    const { keys, probabilities, weights } = picks.info();
    const longest = slots.reduce((max, slot) => Math.max(max, Math.min(maxLength, items.lengthOf(slot))), 0);
    const filling = new Filling(steps, slots.length, longest, "all", false).prepare();
    filling.name(items, slots, starts);
    return { ...filling.gather(), keys, probabilities, weights };
  }

  /** All episodes, oldest first; without those that leave meanwhile. */
  *all(): Generator<Transition[], void> {
    const made = this.#made;
    if (made === undefined) return;
    for (const slot of made.items.held()) yield made.lists.item(made.items, slot);
  }

  /** All single transitions, oldest first; without those that leave meanwhile. */
  *transitions(): Generator<Transition, void> {
    const made = this.#made;
    if (made === undefined) return;
    for (const row of made.memory.held()) yield made.lists.transitions(Uint32Array.of(row))[0] as Transition;
  }

  /** The running episodes. */
  running(): Map<unknown, Transition[]> {
    return this.#made?.lists.running() ?? new Map();
  }

  /** What an episode weighs. */
  #weighed({ priority, byEpisode }: Weigh, episode: () => Transition[]): number {
    if (byEpisode === undefined) return priority;
    const transitions = episode();
    this.#weighing = true;
    try {
      return drawable(finite("what defaultPriorityFunc gives", byEpisode(transitions), 0, MAX_PRIORITY));
    } finally {
      this.#weighing = false;
    }
  }

  #end(made: MadeEpisodes, env: Env, priority: number): void {
    const { items, memory, steps } = made;
    this.onEnd?.(made, env);
    memory.hold(env.stream);
    items.insert(env.stream, env.length, priority);
    memory.drop(Math.max(0, memory.length - (this.options.together ? items.steps : this.options.capacity)));
    this.#running -= env.length;
    steps.end(env);
  }

  #make(spec: WholeSpec, max = this.options.capacity): MadeEpisodes {
    const { capacity, engine } = this.options;
    const steps = new Steps(spec, 0, engine);
    if (capacity !== Number.POSITIVE_INFINITY) fits(steps, capacity, engine);
    const items = this.#items(steps, max);
    return {
      spec,
      steps,
      items,
      batches: new Batches(steps, 1, false),
      memory: new Memory(steps.engine),
      lists: new Lists(steps),
      records: new Records(steps),
    };
  }

  #items({ engine }: Steps, max: number): GrowingTable {
    const { prioritized, engine: options } = this.options;
    return new GrowingTable(engine, { sampler: samplerOf(prioritized), maxSize: Math.max(max, 1), maxSteps: max, seed: options.seed ?? 0 });
  }
}
