/** Generates random calls on the Replay of a world. TypeScript and embed.wasm both make these calls (twin.ts). */
import type { TestRandom } from "../support/random.ts";
import type { Step, Values } from "./values.ts";
import type { World } from "./world.ts";

/** How an episode ends: 0 not at all, 1 without a final observation, 2 truncated, 3 terminated. */
type How = 0 | 1 | 2 | 3;

export interface Append {
  readonly call: "append";
  readonly writer: number;
  readonly steps: readonly Step[];
  /** How the episode ends at each step. If undefined, there is one step per lane, and no episode ends. */
  readonly ends: readonly How[] | undefined;
  readonly finals: readonly Step[] | undefined;
}

export interface End {
  readonly call: "end";
  readonly writer: number;
  readonly lane: number;
  readonly how: How;
  readonly final: Step | undefined;
}

export interface Item {
  readonly call: "item";
  readonly writer: number;
  readonly lane: number;
  readonly table: number;
  readonly length: number;
  readonly priority: number;
}

export interface Sample {
  readonly call: "sample";
  readonly view: number;
  readonly n: number;
  readonly beta: number;
}

export interface Update {
  readonly call: "update";
  readonly table: number;
  readonly keys: Float64Array;
  readonly priorities: Float64Array;
}

export interface Delete {
  readonly call: "delete";
  readonly table: number;
  readonly keys: Float64Array;
}

export type Call = Append | End | Item | Sample | Update | Delete;

export class Calls {
  readonly #random: TestRandom;
  readonly #world: World;
  readonly #values: Values;
  readonly #tables: number;
  readonly #windows: readonly number[];
  #drawn: { readonly table: number; readonly keys: readonly number[] } = { table: 0, keys: [] };

  /** @param windows the numbers of the tables for which the generated calls create items of 0 to 6 steps */
  constructor(random: TestRandom, world: World, values: Values, windows: readonly number[]) {
    this.#random = random;
    this.#world = world;
    this.#values = values;
    this.#windows = windows;
    this.#tables = Object.keys(world.tables).length;
  }

  append(): Append {
    const random = this.#random;
    const [writer, lanes] = this.#writer();
    const one = random.below(3) === 0;
    const n = one ? lanes : lanes * (1 + random.below(9));
    const steps = this.#values.steps(n);
    if (one) return { call: "append", writer, steps, ends: undefined, finals: undefined };
    const plainly = this.#endsPlainly(writer);
    const ends = Array.from({ length: n }, () => (random.below(6) > 0 ? 0 : plainly ? 1 + random.below(3) : 2 + random.below(2)) as How);
    const ended = ends.filter((how) => how > 1).length;
    return { call: "append", writer, steps, ends, finals: ended > 0 && random.below(8) > 0 ? this.#values.steps(ended) : undefined };
  }

  any(): Call {
    const kind = this.#random.below(12);
    if (kind < 4) return this.append();
    if (kind === 4) return this.#end();
    if (kind === 5) return this.#item();
    if (kind < 10) return this.#sample();
    return kind === 10 ? this.#update() : this.#delete();
  }

  /** Remembers the keys of a batch, so that later calls can update or delete its items. */
  drew(view: number, keys: readonly number[]): void {
    const { table } = this.#world.views[view] as World["views"][number];
    this.#drawn = { table: Object.keys(this.#world.tables).indexOf(table), keys };
  }

  #writer(): [number: number, lanes: number] {
    const number = this.#random.below(this.#world.writers.length);
    const { lanes = 1 } = this.#world.writers[number] as World["writers"][number];
    return [number, lanes];
  }

  /** Decides at random whether an episode may end without a final observation. This is rare if the writer has nStep rules, because they reject such an end. */
  #endsPlainly(writer: number): boolean {
    const { items } = this.#world.writers[writer] as World["writers"][number];
    return this.#random.below(items.some(({ nStep }) => nStep !== undefined) ? 12 : 2) === 0;
  }

  #end(): End {
    const random = this.#random;
    const [writer, lanes] = this.#writer();
    const lane = random.below(lanes + Number(random.below(20) === 0));
    const how = this.#endsPlainly(writer) ? 1 : ((2 + random.below(2)) as How);
    const [final] = how === 1 || (how === 3 && random.below(3) === 0) ? [] : this.#values.steps(1);
    return { call: "end", writer, lane, how, final };
  }

  #item(): Item {
    const random = this.#random;
    const [writer, lanes] = this.#writer();
    const [table, lane, length] = [random.pick(this.#windows), random.below(lanes), random.below(7)];
    return { call: "item", writer, lane, table, length, priority: this.#mostly([0, 1, 1.5, random.next()], [-1, Number.NaN]) };
  }

  #sample(): Sample {
    const random = this.#random;
    return {
      call: "sample",
      view: random.below(this.#world.views.length),
      n: this.#mostly([1, 2, 5, 9, 30], [0]),
      beta: this.#mostly([0, 0.4, 1, -1], [Infinity]),
    };
  }

  #update(): Update {
    const random = this.#random;
    const keys = this.#keys(6);
    const priorities = Float64Array.from(keys, () => (random.below(40) === 0 ? -1 : random.pick([0, 1, 7, random.next() * 5])));
    return { call: "update", table: this.#table(), keys, priorities };
  }

  #delete(): Delete {
    return { call: "delete", table: this.#table(), keys: this.#keys(2) };
  }

  /** Returns the number of a table, usually of the table from which the last batch was drawn. */
  #table(): number {
    return this.#mostly([this.#drawn.table], [this.#random.below(this.#tables)]);
  }

  /** Returns keys of drawn items, mixed with keys of no item. */
  #keys(most: number): Float64Array {
    const random = this.#random;
    return Float64Array.from({ length: 1 + random.below(most) }, () => random.pick([0, 2 ** 40, ...this.#drawn.keys]));
  }

  /** Returns one of the usual values, or one of the other values in a tenth of all cases. */
  #mostly<T>(usual: readonly T[], other: readonly T[]): T {
    return this.#random.pick(this.#random.below(10) === 0 ? other : usual);
  }
}
