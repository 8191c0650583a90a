/** Whole episodes, and their transitions one by one beside them. A running episode is not seen before it ends. */

import { finite, ReplayError } from "../../base/error.ts";
import type { ItemBuffer } from "../../batch/item-view.ts";
import { drawable, MAX_PRIORITY } from "../../memory/priorities.ts";
import { type AnyBatch, type Listed, listed, withoutItems } from "../rows/transition-batch.ts";
import { type AppendedTransition, asStored, checkEnvId, checkTransition, type Transition } from "../transition.ts";
import { Filling } from "./batches.ts";
import { Memory } from "./memory.ts";
import type { Env } from "./steps.ts";
import { type Asked, firstSpec, infoOf, type Made, Stored, type StoredOptions } from "./stored.ts";

export interface EpisodesOptions extends Omit<StoredOptions, "numSteps"> {
  /** What a new episode weighs, by its transitions; else what every new item does. */
  readonly byEpisode?: ((episode: readonly Transition[]) => number) | undefined;
}

/** Which form of episodes is asked for, and how long they are at most. */
export interface AskedEpisodes {
  readonly form: "batch" | "list";
  readonly maxLength: number | undefined;
}

export interface MadeEpisodes extends Made {
  readonly memory: Memory;
}

export class EndedEpisodes extends Stored<MadeEpisodes> {
  /** Told of each episode that ends, before it is stored. */
  onEnd: ((made: MadeEpisodes, env: Env) => void) | undefined;
  readonly #byEpisode: EpisodesOptions["byEpisode"];
  #weighing = false;

  constructor({ byEpisode, ...options }: EpisodesOptions) {
    super({ ...options, numSteps: 0 });
    this.#byEpisode = byEpisode;
  }

  get size(): number {
    return this.made?.memory.length ?? 0;
  }

  get episodes(): number {
    return this.made?.items.size ?? 0;
  }

  /** @throws ReplayError OUT_OF_TURN from inside defaultPriorityFunc */
  override check(): void {
    if (this.#weighing) throw new ReplayError("OUT_OF_TURN", "defaultPriorityFunc must not call the buffer");
    super.check();
  }

  /** One more step; with the last one of an episode the episode is stored. */
  protected take(transition: AppendedTransition): Env {
    checkTransition(transition);
    this.begin(transition);
    const made = this.made ?? this.make(firstSpec(transition));
    const known = made.steps.running(transition);
    const ends = transition.isStateTerminal === true;
    if (ends && this.#byEpisode !== undefined) made.steps.check(transition);
    // What an episode weighs is known before its last step comes, and what its end needs is there from each step on: it can end when memory is full.
    const priority = ends ? this.#weighed(() => [...(known ? made.lists.window(known) : []), asStored(transition)]) : 0;
    made.items.reserve(made.steps.envs.size + Number(known === undefined));
    made.memory.reserve(made.steps.owed + 1);
    const env = made.steps.append(transition);
    made.steps.owed++;
    this.came(made, transition, this.#byEpisode === undefined);
    if (ends) this.#end(made, env, priority);
    return env;
  }

  /** Stores the running episode of an environment, if there is one. */
  protected end(envId: unknown): void {
    checkEnvId(envId);
    const { made } = this;
    const env = made?.steps.envs.get(envId);
    if (made === undefined || env === undefined) return;
    const priority = this.#weighed(() => made.lists.window(env));
    made.items.reserve(1);
    made.memory.reserve(env.length);
    this.stopped(envId);
    this.#end(made, env, priority);
  }

  /** n different single transitions, all alike. */
  sample(n: number, { form, into }: Asked): AnyBatch | Listed<Transition | Transition[]> {
    const made = this.enough(n, this.size, "transitions");
    if (made === undefined) return this.none(form);
    if (form === "list") return this.#list(made, n);
    const filling = made.batches.of(n, into).prepare();
    this.picker.single(made.items, made.memory, filling.draw, n);
    return filling.gather();
  }

  /** n different episodes; of longer ones a run of maxLength steps. */
  sampleEpisodes(n: number, asked: AskedEpisodes): AnyBatch | Listed<Transition[]> {
    const { priorities } = this.options;
    const made = this.enough(n, this.episodes, "episodes");
    priorities?.maySample(made?.items, n);
    if (made === undefined) return this.none(asked.form);
    const picks = this.picks(made, n, priorities?.weighted === true);
    const drawn = made.items.drawing(() => {
      this.pick(made, picks.draw, n);
      return this.#read(made, picks, n, asked);
    });
    priorities?.sampled(drawn.keys, n);
    return drawn;
  }

  *transitions(): Generator<Transition | Transition[], void> {
    const { made } = this;
    if (made === undefined) return;
    for (const row of made.memory.held()) {
      const one = made.lists.transitions(Uint32Array.of(row));
      yield this.#together ? one : (one[0] as Transition);
    }
  }

  override adopt(made: MadeEpisodes): void {
    if (this.#together) made.memory.drop(made.memory.length - made.items.steps);
    super.adopt(made);
  }

  override drop(made: MadeEpisodes): void {
    super.drop(made);
    made.memory.close();
  }

  protected complete(made: Made): MadeEpisodes {
    return { ...made, memory: new Memory(made.steps.engine) };
  }

  /** Whether single transitions leave with their episode, and are listed each in a list of its own; else one by one, and as they are. */
  get #together(): boolean {
    return this.options.priorities === undefined;
  }

  #list(made: MadeEpisodes, n: number): Listed<Transition | Transition[]> {
    const { items, lists, memory } = made;
    const picks = this.picks(made, n, false);
    return items.drawing(() => {
      this.picker.single(items, memory, picks.draw, n);
      const rows = picks.draw.rows(n).slice();
      const info = infoOf(picks, n);
      const transitions = lists.transitions(rows);
      return listed<Transition | Transition[]>(this.#together ? transitions.map((one) => [one]) : transitions, info);
    });
  }

  /** Reads the episodes that were picked; a batch is as long as the longest of them. */
  #read(made: MadeEpisodes, picks: ItemBuffer, n: number, { form, maxLength = Number.POSITIVE_INFINITY }: AskedEpisodes): AnyBatch | Listed<Transition[]> {
    const { items, lists, steps } = made;
    const { draw } = picks;
    const slots = draw.slots(n).slice();
    draw.starts(n).fill(0);
    if (maxLength !== Number.POSITIVE_INFINITY) this.picker.starts(items, draw, n, maxLength);
    const starts = draw.starts(n).slice();
    const info = infoOf(picks, n);
    const lengths = Array.from(slots, (slot) => Math.min(maxLength, items.lengthOf(slot)));
    if (form === "list") {
      const list = Array.from(slots, (slot, i) => lists.item(items, slot, starts[i], lengths[i]));
      return listed(list, info);
    }
    const longest = lengths.reduce((max, length) => Math.max(max, length), 0);
    const filling = new Filling(steps, n, longest, "all", false).prepare();
    filling.name(items, slots, starts);
    const { keys, probabilities, weights } = info;
    return withoutItems({ ...filling.gather(), keys, probabilities, weights });
  }

  /** What an episode weighs. */
  #weighed(episode: () => Transition[]): number {
    const byEpisode = this.#byEpisode;
    if (byEpisode === undefined) return this.priority;
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
    if (!this.isAgain) this.onEnd?.(made, env);
    memory.hold(env.stream);
    items.insert(env.stream, env.length, priority);
    memory.drop(Math.max(0, memory.length - (this.#together ? items.steps : this.options.capacity)));
    steps.owed -= env.length;
    steps.end(env);
  }
}
