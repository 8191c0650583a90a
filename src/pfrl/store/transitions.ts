/** Stores n-step transitions: runs of 1 … numSteps steps of one episode, like those in PFRL's deque of the last transitions. */
import { mustBe } from "../../base/error.ts";
import { type AnyBatch, createSampleList, type SampleList } from "../rows/transition-batch.ts";
import { type AppendedTransition, checkEnvId, checkTransition, type Transition } from "../transition.ts";
import type { Env } from "./steps.ts";
import { type BufferContents, firstSpec, infoOf, type SampleRequest, Stored } from "./stored.ts";

export class Transitions extends Stored {
  get size(): number {
    return this.contents?.items.size ?? 0;
  }

  /** Adds a step, and the items that the step completes: the last numSteps steps and, at the end of an episode, all shorter runs. */
  protected take(transition: AppendedTransition): Env {
    const { capacity, numSteps, priorities } = this.options;
    checkTransition(transition);
    if (capacity === 0 && priorities !== undefined) throw mustBe(RangeError, "capacity", "at least 1 to append", 0);
    this.begin(transition);
    const contents = this.contents ?? this.make(firstSpec(transition));
    const running = contents.steps.running(transition);
    const pendingBefore = running === undefined ? 0 : this.#pendingOf(running);
    // Memory for the end of an episode is reserved with each step, so that the episode can end when memory is full.
    contents.items.reserve(contents.steps.owed + 1, contents.steps.envs.size + 1);
    const env = contents.steps.append(transition);
    contents.steps.owed += this.#pendingOf(env) - pendingBefore;
    this.onAppend(contents, transition);
    if (transition.isStateTerminal === true) this.#end(contents, env, env.length);
    else if (env.length === numSteps) contents.items.insert(env.stream, numSteps, this.priority);
    return env;
  }

  /** Stores the last runs, which are shorter than a full window. */
  protected end(envId: unknown): void {
    checkEnvId(envId);
    const { contents } = this;
    const env = contents?.steps.envs.get(envId);
    if (contents === undefined || env === undefined) return;
    contents.items.reserve(this.#pendingOf(env), 1);
    this.onStop(envId);
    this.#end(contents, env, this.#pendingOf(env));
  }

  sample(n: number, { form, into }: SampleRequest): AnyBatch | SampleList<Transition[]> {
    const { priorities } = this.options;
    const contents = this.mustHave(n, this.size, "items");
    priorities?.maySample(contents?.items, n);
    if (contents === undefined) return this.emptySample(form);
    const sampleResult = form === "list" ? this.#list(contents, n) : this.#batch(contents, n, into);
    priorities?.onSample(sampleResult.keys, n);
    return sampleResult;
  }

  transitions(): Iterable<Transition[]> {
    return this.all();
  }

  protected complete(contents: BufferContents): BufferContents {
    return contents;
  }

  #batch(contents: BufferContents, n: number, into: AnyBatch | undefined): AnyBatch {
    const batchFiller = contents.batches.of(n, into).prepare();
    this.drawItems(contents, batchFiller.draw, n);
    return batchFiller.fill(contents.items);
  }

  #list(contents: BufferContents, n: number): SampleList<Transition[]> {
    const { items, lists } = contents;
    const drawFiller = this.createDraw(contents, n, this.options.priorities !== undefined);
    return items.drawAtomically(() => {
      this.drawItems(contents, drawFiller.draw, n);
      const slots = drawFiller.draw.slots(n).slice();
      const info = infoOf(drawFiller, n);
      const list = Array.from(slots, (slot) => lists.item(items, slot));
      return createSampleList(list, info);
    });
  }

  /** Stores items of the last `longest` steps and of all shorter runs, and ends the episode. */
  #end({ items, steps }: BufferContents, env: Env, longest: number): void {
    for (let length = longest; length > 0; length--) items.insert(env.stream, length, this.priority);
    steps.owed -= this.#pendingOf(env);
    steps.end(env);
  }

  /** Returns the length of the longest run that is not an item yet. A full window is already an item. */
  #pendingOf({ length }: Env): number {
    return Math.min(length, this.options.numSteps - 1);
  }
}
