/** N-step transitions: runs of 1 … numSteps steps of one episode, kept as PFRL's deque of last transitions gives them out. */
import { mustBe } from "../../base/error.ts";
import { type AnyBatch, type Listed, listed } from "../rows/transition-batch.ts";
import { type AppendedTransition, checkEnvId, checkTransition, type Transition } from "../transition.ts";
import type { Env } from "./steps.ts";
import { type Asked, firstSpec, infoOf, type Made, Stored } from "./stored.ts";

export class Transitions extends Stored {
  get size(): number {
    return this.made?.items.size ?? 0;
  }

  /** One more step, and the items that it completes: the last numSteps, and at the end of an episode all that are shorter. */
  protected take(transition: AppendedTransition): Env {
    const { capacity, numSteps, priorities } = this.options;
    checkTransition(transition);
    if (capacity === 0 && priorities !== undefined) throw mustBe(RangeError, "capacity", "at least 1 to append", 0);
    this.begin(transition);
    const made = this.made ?? this.make(firstSpec(transition));
    const known = made.steps.running(transition);
    const before = known === undefined ? 0 : this.#pendingOf(known);
    // What the end of an episode needs is there from each step on: it can end when memory is full.
    made.items.reserve(made.steps.owed + 1, made.steps.envs.size + 1);
    const env = made.steps.append(transition);
    made.steps.owed += this.#pendingOf(env) - before;
    this.came(made, transition);
    if (transition.isStateTerminal === true) this.#end(made, env, env.length);
    else if (env.length === numSteps) made.items.insert(env.stream, numSteps, this.priority);
    return env;
  }

  /** What is shorter than a full window is stored. */
  protected end(envId: unknown): void {
    checkEnvId(envId);
    const { made } = this;
    const env = made?.steps.envs.get(envId);
    if (made === undefined || env === undefined) return;
    made.items.reserve(this.#pendingOf(env), 1);
    this.stopped(envId);
    this.#end(made, env, this.#pendingOf(env));
  }

  sample(n: number, { form, into }: Asked): AnyBatch | Listed<Transition[]> {
    const { priorities } = this.options;
    const made = this.enough(n, this.size, "items");
    priorities?.maySample(made?.items, n);
    if (made === undefined) return this.none(form);
    const drawn = form === "list" ? this.#list(made, n) : this.#batch(made, n, into);
    priorities?.sampled(drawn.keys, n);
    return drawn;
  }

  transitions(): Iterable<Transition[]> {
    return this.all();
  }

  protected complete(made: Made): Made {
    return made;
  }

  #batch(made: Made, n: number, into: AnyBatch | undefined): AnyBatch {
    const filling = made.batches.of(n, into).prepare();
    this.pick(made, filling.draw, n);
    return filling.fill(made.items);
  }

  #list(made: Made, n: number): Listed<Transition[]> {
    const { items, lists } = made;
    const picks = this.picks(made, n, this.options.priorities !== undefined);
    return items.drawing(() => {
      this.pick(made, picks.draw, n);
      const slots = picks.draw.slots(n).slice();
      const info = infoOf(picks, n);
      return listed(
        Array.from(slots, (slot) => lists.item(items, slot)),
        info,
      );
    });
  }

  /** Items of the last `longest` steps and of fewer, and the end. */
  #end({ items, steps }: Made, env: Env, longest: number): void {
    for (let length = longest; length > 0; length--) items.insert(env.stream, length, this.priority);
    steps.owed -= this.#pendingOf(env);
    steps.end(env);
  }

  /** A full window is an item already. */
  #pendingOf({ length }: Env): number {
    return Math.min(length, this.options.numSteps - 1);
  }
}
