/** Stores whole episodes and, in addition, their single transitions. An open episode becomes visible when it ends. */

import { finite, ReplayError } from "../../base/error.ts";
import type { ItemBuffer } from "../../batch/item-layout.ts";
import { drawablePriority, MAX_PRIORITY } from "../../memory/priorities.ts";
import { type AnyBatch, createSampleList, type SampleList } from "../rows/transition-batch.ts";
import { type AppendedTransition, asStored, checkEnvId, checkTransition, type Transition } from "../transition.ts";
import { Memory } from "./memory.ts";
import type { Env } from "./steps.ts";
import { type BufferContents, firstSpec, infoOf, type SampleRequest, Stored, type StoredOptions } from "./stored.ts";

export interface EpisodesOptions extends Omit<StoredOptions, "numSteps"> {
  /** Returns the priority of a new episode, given its transitions. Default: the priority of every new item. */
  readonly byEpisode?: ((episode: readonly Transition[]) => number) | undefined;
}

/** The requested form of episodes, and their maximum length. */
export interface EpisodeSampleOptions {
  readonly form: "batch" | "list";
  readonly maxLength: number | undefined;
}

export interface EpisodeContents extends BufferContents {
  readonly memory: Memory;
}

export class EpisodeStore extends Stored<EpisodeContents> {
  /** Handles each episode that ends, before it is stored. */
  onEnd: ((contents: EpisodeContents, env: Env) => void) | undefined;
  readonly #byEpisode: EpisodesOptions["byEpisode"];
  #isComputingPriority = false;

  constructor({ byEpisode, ...options }: EpisodesOptions) {
    super({ ...options, numSteps: 0 });
    this.#byEpisode = byEpisode;
  }

  get size(): number {
    return this.contents?.memory.length ?? 0;
  }

  get episodes(): number {
    return this.contents?.items.size ?? 0;
  }

  /** @throws ReplayError OUT_OF_TURN from inside defaultPriorityFunc */
  override check(): void {
    if (this.#isComputingPriority) throw new ReplayError("OUT_OF_TURN", "defaultPriorityFunc must not call the buffer");
    super.check();
  }

  /** Adds a step. If the step is terminal, stores the episode. */
  protected take(transition: AppendedTransition): Env {
    checkTransition(transition);
    this.begin(transition);
    const contents = this.contents ?? this.make(firstSpec(transition));
    const running = contents.steps.running(transition);
    const isEnd = transition.isStateTerminal === true;
    if (isEnd && this.#byEpisode !== undefined) contents.steps.check(transition);
    // The priority is computed before the last step is added, and memory for the end is reserved with each step, so that the episode can end when memory is
    // full.
    const priority = isEnd ? this.#computePriority(() => [...(running ? contents.lists.window(running) : []), asStored(transition)]) : 0;
    contents.items.reserve(contents.steps.envs.size + Number(running === undefined));
    contents.memory.reserve(contents.steps.owed + 1);
    const env = contents.steps.append(transition);
    contents.steps.owed++;
    this.onAppend(contents, transition, this.#byEpisode === undefined);
    if (isEnd) this.#end(contents, env, priority);
    return env;
  }

  /** Stores the open episode of an environment, if the environment has an open episode. */
  protected end(envId: unknown): void {
    checkEnvId(envId);
    const { contents } = this;
    const env = contents?.steps.envs.get(envId);
    if (contents === undefined || env === undefined) return;
    const priority = this.#computePriority(() => contents.lists.window(env));
    contents.items.reserve(1);
    contents.memory.reserve(env.length);
    this.onStop(envId);
    this.#end(contents, env, priority);
  }

  /** Draws n different single transitions uniformly. */
  sample(n: number, { form, into }: SampleRequest): AnyBatch | SampleList<Transition | Transition[]> {
    const contents = this.mustHave(n, this.size, "transitions");
    if (contents === undefined) return this.emptySample(form);
    if (form === "list") return this.#list(contents, n);
    const filling = contents.batches.of(n, into).prepare();
    this.drawStrategy.single(contents.items, contents.memory, filling.draw, n);
    return filling.gather();
  }

  /** Draws n different episodes. An episode longer than maxLength contributes a run of maxLength steps. */
  sampleEpisodes(n: number, options: EpisodeSampleOptions): AnyBatch | SampleList<Transition[]> {
    const { priorities } = this.options;
    const contents = this.mustHave(n, this.episodes, "episodes");
    priorities?.maySample(contents?.items, n);
    if (contents === undefined) return this.emptySample(options.form);
    const drawFiller = this.createDraw(contents, n, priorities?.hasWeights === true);
    const sampleResult = contents.items.drawAtomically(() => {
      this.drawItems(contents, drawFiller.draw, n);
      return this.#read(contents, drawFiller, n, options);
    });
    priorities?.onSample(sampleResult.keys, n);
    return sampleResult;
  }

  *transitions(): Generator<Transition | Transition[], void> {
    const { contents } = this;
    if (contents === undefined) return;
    for (const row of contents.memory.liveRows()) {
      const rowTransitions = contents.lists.transitions(Uint32Array.of(row));
      yield this.#areGrouped ? rowTransitions : (rowTransitions[0] as Transition);
    }
  }

  override adopt(contents: EpisodeContents): void {
    if (this.#areGrouped) contents.memory.drop(contents.memory.length - contents.items.steps);
    super.adopt(contents);
  }

  override drop(contents: EpisodeContents): void {
    super.drop(contents);
    contents.memory.close();
  }

  protected complete(contents: BufferContents): EpisodeContents {
    return { ...contents, memory: new Memory(contents.steps.engine) };
  }

  /**
   * Whether single transitions are evicted with their episode, and each returned as a list of one transition. Otherwise, each transition is evicted separately
   * and returned as an object.
   */
  get #areGrouped(): boolean {
    return this.options.priorities === undefined;
  }

  #list(contents: EpisodeContents, n: number): SampleList<Transition | Transition[]> {
    const { items, lists, memory } = contents;
    const drawFiller = this.createDraw(contents, n, false);
    return items.drawAtomically(() => {
      this.drawStrategy.single(items, memory, drawFiller.draw, n);
      const rows = drawFiller.draw.rows(n).slice();
      const info = infoOf(drawFiller, n);
      const transitions = lists.transitions(rows);
      return createSampleList<Transition | Transition[]>(this.#areGrouped ? transitions.map((transition) => [transition]) : transitions, info);
    });
  }

  /** Reads the drawn episodes. A batch is as long as its longest episode. */
  #read(
    contents: EpisodeContents,
    drawFiller: ItemBuffer,
    n: number,
    { form, maxLength = Number.POSITIVE_INFINITY }: EpisodeSampleOptions,
  ): AnyBatch | SampleList<Transition[]> {
    const { items, lists, batches } = contents;
    const { draw } = drawFiller;
    const slots = draw.slots(n).slice();
    draw.starts(n).fill(0);
    if (maxLength !== Number.POSITIVE_INFINITY) this.drawStrategy.starts(items, draw, n, maxLength);
    const starts = draw.starts(n).slice();
    const info = infoOf(drawFiller, n);
    const lengths = Array.from(slots, (slot) => Math.min(maxLength, items.lengthOf(slot)));
    if (form === "list") {
      const list = Array.from(slots, (slot, i) => lists.item(items, slot, starts[i], lengths[i]));
      return createSampleList(list, info);
    }
    const longest = lengths.reduce((max, length) => Math.max(max, length), 0);
    const filling = batches.runs(n, longest, info).prepare();
    filling.name(items, slots, starts);
    return filling.gather();
  }

  /** Returns the priority of an episode. */
  #computePriority(episode: () => Transition[]): number {
    const byEpisode = this.#byEpisode;
    if (byEpisode === undefined) return this.priority;
    const transitions = episode();
    this.#isComputingPriority = true;
    try {
      return drawablePriority(finite("the result of defaultPriorityFunc", byEpisode(transitions), 0, MAX_PRIORITY));
    } finally {
      this.#isComputingPriority = false;
    }
  }

  #end(contents: EpisodeContents, env: Env, priority: number): void {
    const { items, memory, steps } = contents;
    if (!this.isReplaying) this.onEnd?.(contents, env);
    memory.hold(env.stream);
    items.insert(env.stream, env.length, priority);
    memory.drop(Math.max(0, memory.length - (this.#areGrouped ? items.steps : this.options.capacity)));
    steps.owed -= env.length;
    steps.end(env);
  }
}
