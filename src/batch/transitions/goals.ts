/**
 * Draws hindsight goals for transitions (Andrychowicz et al., 2017): the rows that get another goal, the goals, and the rewards that the caller's function
 * returns for them.
 */

import { ACHIEVED, E_UNSUPPORTED, EPISODE, FINAL, FUTURE, GOALS, GOALS_ONCE, RELABELLED, STEPS } from "../../base/abi.ts";
import { described, finite, mustBe, oneOf, onlyKeys, ReplayError, show } from "../../base/error.ts";
import type { Core } from "../../memory/core.ts";
import { Column } from "../../schema/column.ts";
import { leafAt } from "../../schema/columns.ts";
import { checkedNumbers, isList, listLength, type Numbers } from "../../schema/copy-numbers.ts";
import { type ArrayClass, DTYPES } from "../../schema/dtype.ts";
import { alignUp, type PlacedLeaf } from "../../schema/layout.ts";
import { isText } from "../../schema/leaf.ts";
import { SELECTOR_KINDS } from "../../schema/selector.ts";
import type { BatchBuffer } from "../buffer.ts";
import type { Draw } from "../draw.ts";
import type { NStep, Output } from "../layout.ts";
import type { SampledTable } from "../sampler.ts";

/**
 * The steps of the relabelled returns. The columns have m rows, one per step. The next draw of the view may refill the arrays, so copy the values that you
 * keep.
 */
export interface RelabelledSteps {
  /** The goal that the step achieved: the leaf `achieved` at the following step. The shape is [m, ...shape of the leaf]. */
  // biome-ignore lint/suspicious/noExplicitAny: any dtype and shape
  readonly achieved: Column<any, any>;
  /** The new goal, in the same shape as `achieved`. */
  // biome-ignore lint/suspicious/noExplicitAny: any dtype and shape
  readonly goal: Column<any, any>;
  /** The row of the transition to which the step belongs. `steps` has the number of earlier steps in its return. */
  readonly rows: Uint32Array<ArrayBuffer>;
  readonly steps: Uint32Array<ArrayBuffer>;
  /** The batch with its new goals. Its returns are still computed from the stored rewards. */
  // biome-ignore lint/suspicious/noExplicitAny: any view
  readonly batch: any;
}

export interface RelabelOptions<Path extends string = string> {
  /** The path of the leaf that is replaced, wherever the batch shows it. */
  readonly goal: Path;
  /** The path of the leaf from which new goals are taken. It must have the dtype and shape of `goal`. */
  readonly achieved: Path;
  /**
   * The steps of the episode from which new goals are taken. "future" uses any step after the transition's first step, "final" only the last step, and
   * "episode" any step except the first. Only steps of live items of the table count. Default: "future".
   */
  readonly strategy?: "future" | "final" | "episode";
  /**
   * The share of transitions that get another goal, in [0, 1]. The number of these transitions in each batch is exact, rounded down. A transition that reaches
   * a final step without data (zeros in every leaf) keeps its goal. Default: 0.8.
   */
  readonly share?: number;
  /**
   * Returns the reward of each step for its new goal, as m numbers, or m × k if a reward has k components. The function is called once after each draw. It must
   * not call the Replay. Pass "stored" if the rewards do not depend on the goal, or if you compute them yourself.
   */
  readonly reward: ((steps: RelabelledSteps) => Numbers) | "stored";
  /**
   * Returns whether the episode terminated at each step for its new goal, as m booleans or numbers. Requires a function as `reward`. Default: the stored flags.
   */
  readonly terminated?: (steps: RelabelledSteps) => ArrayLike<number | boolean>;
}

const OPTIONS = "goal, achieved, strategy, share, reward, terminated";
const STRATEGIES = { future: FUTURE, final: FINAL, episode: EPISODE };
/** The maximum rounding error of a product of a share and a count. */
const DUST = 1e-9;

/** The addresses in scratch of the parts of a draw's goals. */
interface Places {
  readonly room: number;
  readonly goals: number;
  readonly achieved: number;
  readonly rewards: number;
  readonly terminals: number;
  readonly end: number;
}

export class Goals {
  readonly goal: PlacedLeaf;
  readonly achieved: PlacedLeaf;
  readonly #strategy: number;
  readonly #share: number;
  readonly #reward: RelabelOptions["reward"];
  readonly #terminated: RelabelOptions["terminated"];
  readonly #table: SampledTable;
  /** The number of components of a reward. */
  readonly #components: number;
  /** The number of relabelled steps of the last draw, and their values. */
  #count = 0;
  #steps: Omit<RelabelledSteps, "batch"> | undefined;

  /**
   * @throws TypeError, RangeError if an option is invalid · ReplayError NOT_FOUND if a leaf does not exist, SPEC_MISMATCH if the leaves differ in form,
   * UNSUPPORTED if the table does not keep the insertion order of its items
   */
  constructor(table: SampledTable, options: RelabelOptions) {
    const { goal, achieved, strategy = "future", share = 0.8, reward, terminated } = onlyKeys("relabel", options, OPTIONS);
    const { engine, limits, name } = table;
    this.#table = table;
    this.#components = engine.roles.rewards("transitions()").size;
    this.goal = numbersAt("relabel.goal", engine.layout.leaves, goal);
    this.achieved = numbersAt("relabel.achieved", engine.layout.leaves, achieved);
    if (this.goal === this.achieved) throw mustBe(RangeError, "relabel.achieved", "a leaf other than relabel.goal", achieved);
    if (formOf(this.goal) !== formOf(this.achieved)) {
      const both = [this.goal, this.achieved].map((leaf) => `${show(leaf.path)} of ${formOf(leaf)}`).join(" and ");
      throw new ReplayError("SPEC_MISMATCH", `relabel.goal and relabel.achieved must have the same dtype and shape, got ${both}`);
    }
    this.#strategy = oneOf("relabel.strategy", STRATEGIES, strategy);
    this.#share = finite("relabel.share", share, 0, 1);
    if (reward === undefined)
      throw new TypeError('relabel.reward is required: a function of { achieved, goal } that returns rewards, or "stored" if they do not depend on the goal');
    if (typeof reward !== "function" && reward !== "stored") throw mustBe(TypeError, "relabel.reward", 'a function, or "stored"', reward);
    if (terminated !== undefined && typeof terminated !== "function") throw mustBe(TypeError, "relabel.terminated", "a function", terminated);
    if (terminated !== undefined && reward === "stored")
      throw mustBe(TypeError, "relabel.reward", "a function, because relabel.terminated is a function", reward);
    this.#reward = reward;
    this.#terminated = terminated;
    if ([limits.sampler, limits.remover].every(({ kind }) => SELECTOR_KINDS[kind].leaves === undefined)) {
      const kinds = `the sampler ${limits.sampler.kind} and the remover ${limits.remover.kind}`;
      throw new ReplayError(
        "UNSUPPORTED",
        `relabel requires a table that keeps the insertion order of its items, but table ${show(name)} has ${kinds}. Pass remover: fifo()`,
      );
    }
  }

  /** Returns the number of bytes of scratch for batches of n windows of `width` rows. */
  bytes(n: number, width: number): number {
    return this.#places(0, n, width).end;
  }

  /**
   * Makes sure that the core knows the steps of each episode, before anything is drawn. @throws ReplayError OUT_OF_MEMORY, UNSUPPORTED if their order is
   * unknown
   */
  open(): void {
    const { engine, core, name } = this.#table;
    const code = engine.core.x.table_hold_steps(core.handle);
    if (code === E_UNSUPPORTED)
      throw new ReplayError(
        "UNSUPPORTED",
        `relabel requires items in the order of their last steps, but table ${show(name)} has an item that was inserted after an item with later steps of the same writer. Insert items in order, or use another table for earlier steps`,
      );
    engine.core.checkedResult(code);
  }

  /** Chooses at random which transitions get another goal, and the steps that provide the goals. */
  choose({ handle }: Draw, count: number, before: number): void {
    const { engine, core } = this.#table;
    engine.core.x.draw_goals(handle, core.handle, this.#until(before + count) - this.#until(before), this.#strategy);
  }

  /** Writes goals into the columns that show the leaf, or into scratch if the columns are not copied out yet. */
  put(buffer: BatchBuffer, count: number): void {
    const { core, pool } = this.#table.engine;
    const { layout, draw } = buffer;
    const { goal, achieved } = this;
    const places = this.#places(buffer.extraAt, layout.n, layout.width);
    const which = this.#reward === "stored" ? GOALS_ONCE : GOALS;
    this.#count = core.x.draw_goal_values(draw.handle, pool, achieved.index, which, places.room, places.goals);
    const { outputs, straight } = layout;
    for (let i = 0; i < outputs.length; i++) {
      const { leaf, field } = outputs[i] as Output;
      if (leaf === goal) core.x.draw_put_goals(draw.handle, places.goals, leaf.arrayBytes, buffer.addressOf(field));
    }
    for (let i = 0; i < straight.length; i++) if ((straight[i] as Output).leaf === goal) this.#copy(buffer, (straight[i] as Output).field, places.goals, count);
  }

  /**
   * Computes returns from the rewards of the new goals. @returns the part of the draw that changed: nothing, only its returns, or also the steps at which some
   * returns end
   */
  score(buffer: BatchBuffer, count: number, { components, discount, gamma }: NStep): "nothing" | "returns" | "steps" {
    const reward = this.#reward;
    const m = this.#count;
    if (reward === "stored" || m === 0) return "nothing";
    const { core, pool } = this.#table.engine;
    const { layout, draw } = buffer;
    const places = this.#places(buffer.extraAt, layout.n, layout.width);
    core.x.draw_goal_values(draw.handle, pool, this.achieved.index, ACHIEVED, places.room, places.achieved);
    const steps = { ...this.#values(core, draw, places, count), batch: buffer.batch };
    const rewards = checkedRewards(reward(steps), m * components);
    const terminals = this.#terminated && checkedFlags(this.#terminated(steps), m);
    core.f64.set(rewards, places.rewards / 8);
    if (terminals !== undefined) core.u8.set(terminals, places.terminals);
    const returnsAt = components === 1 ? 0 : buffer.valueAt(layout.computed);
    const terminalsAt = terminals === undefined ? 0 : places.terminals;
    const shorter = core.x.draw_goal_returns(draw.handle, pool, components, discount, gamma, places.rewards, terminalsAt, Number(layout.isNarrow), returnsAt);
    return shorter > 0 ? "steps" : "returns";
  }

  /** Returns how many of the first n transitions of a batch have another goal. */
  #until(n: number): number {
    return Math.floor(this.#share * n + DUST);
  }

  #places(at: number, n: number, width: number): Places {
    const isStored = this.#reward === "stored";
    const most = isStored ? n : n * Math.max(width - 1, 1);
    const bytes = alignUp(most * this.achieved.arrayBytes, 16);
    const goals = at + alignUp(this.#table.engine.core.x.draw_goal_bytes(), 16);
    const achieved = goals + bytes;
    const rewards = isStored ? achieved : achieved + bytes;
    const terminals = isStored ? rewards : rewards + alignUp(8 * most * this.#components, 16);
    return { room: at, goals, achieved, rewards, terminals, end: isStored ? terminals : terminals + alignUp(most, 16) };
  }

  /** Copies goals to a column whose values do not come from scratch. */
  #copy(buffer: BatchBuffer, field: number, goals: number, count: number): void {
    const { core } = this.#table.engine;
    const { arrayBytes } = this.goal;
    const flags = buffer.draw.address(RELABELLED);
    const lengths = buffer.draw.address(STEPS) / 4;
    const target = buffer.bytesOf(field);
    let at = goals;
    for (let i = 0, to = buffer.startOf(field); i < count; i++, to += arrayBytes) {
      if (core.u8[flags + i] === 0) continue;
      target.set(core.u8.subarray(at, at + arrayBytes), to);
      at += arrayBytes * (this.#reward === "stored" ? 1 : (core.u32[lengths + i] as number));
    }
  }

  /** Returns copies of the gathered values, for the caller's functions. */
  #values(core: Core, draw: Draw, { goals, achieved }: Places, count: number): Omit<RelabelledSteps, "batch"> {
    const m = this.#count;
    const { leaf, shape, size, arrayBytes } = this.achieved;
    if (this.#steps?.rows.length !== m) {
      const type = DTYPES[leaf.dtype as "f32"].array as ArrayClass;
      const column = () => new Column(new type(m * size) as Float32Array<ArrayBuffer>, [m, ...shape]);
      this.#steps = { achieved: column(), goal: column(), rows: new Uint32Array(m), steps: new Uint32Array(m) };
    }
    const values = this.#steps;
    bytesOf(values.achieved).set(core.u8.subarray(achieved, achieved + m * arrayBytes));
    bytesOf(values.goal).set(core.u8.subarray(goals, goals + m * arrayBytes));
    const flags = draw.address(RELABELLED);
    const lengths = draw.address(STEPS) / 4;
    for (let i = 0, to = 0; i < count; i++) {
      if (core.u8[flags + i] === 0) continue;
      for (let k = 0; k < (core.u32[lengths + i] as number); k++, to++) {
        values.rows[to] = i;
        values.steps[to] = k;
      }
    }
    return values;
  }
}

function bytesOf({ data }: Column): Uint8Array {
  const { buffer, byteOffset, byteLength } = data as Float32Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

const formOf = ({ leaf, shape }: PlacedLeaf): string => `${leaf.dtype} [${shape.join(", ")}]`;

function numbersAt(subject: string, leaves: readonly PlacedLeaf[], path: unknown): PlacedLeaf {
  const found = leafAt(subject, leaves, path);
  if (isText(found.leaf)) throw mustBe("SPEC_MISMATCH", subject, "a numeric leaf", described(`the text leaf ${path}`));
  return found;
}

/** @throws TypeError, RangeError if the result is not a list of m numbers · ReplayError INVALID_DATA if a reward is not finite */
function checkedRewards(returned: unknown, m: number): Numbers {
  const rewards = checkedNumbers("the result of relabel.reward", returned as Numbers, m);
  for (let i = 0; i < m; i++)
    if (!Number.isFinite(rewards[i])) throw mustBe("INVALID_DATA", `element ${i} of the result of relabel.reward`, "finite", rewards[i]);
  return rewards;
}

/** Returns flags as bytes of 0 and 1. @throws TypeError if the result is not a list · RangeError if it does not have m elements */
function checkedFlags(returned: unknown, m: number): Uint8Array {
  const subject = "the result of relabel.terminated";
  if (!isList(returned)) throw mustBe(TypeError, subject, `an array of ${m} booleans or numbers`, returned);
  if (listLength(returned) !== m) throw mustBe(RangeError, subject, `an array of ${m} booleans or numbers`, returned);
  return Uint8Array.from({ length: m }, (_, i) => Number(Boolean(returned[i])));
}
