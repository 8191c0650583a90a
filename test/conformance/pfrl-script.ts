/** Draws as a case scripts them: in the order in which PFRL asks, no more and no fewer. They go through our own way from ranks and points to items. */
import { OF_ROWS, ROWS } from "../../src/core/abi.ts";
import type { Behind } from "../../src/pfrl/buffers/behind.ts";
import type { MadeEpisodes } from "../../src/pfrl/store/episodes.ts";
import type { Items } from "../../src/pfrl/store/items.ts";
import type { Memory } from "../../src/pfrl/store/memory.ts";
import type { Picker } from "../../src/pfrl/store/picker.ts";
import type { Made } from "../../src/pfrl/store/transitions.ts";
import { Malformed } from "./case.ts";

type Draw = { readonly [kind: string]: unknown };

/** Columns of a draw (assembly/draw/draw.ts). */
const REST = 6;
const SLOT = 8;
const START = 12;

export class Script {
  /** What was asked, as the case notes it. */
  readonly calls: { readonly [name: string]: unknown }[] = [];
  readonly #draws: Draw[];

  constructor(draws: readonly Draw[]) {
    this.#draws = [...draws];
  }

  get left(): number {
    return this.#draws.length;
  }

  next<T>(kind: string): T {
    const draw = this.#draws.shift();
    if (draw === undefined || Object.keys(draw).join() !== kind) throw new Malformed(`the script has ${JSON.stringify(draw)}, we ask ${kind}`);
    return draw[kind] as T;
  }

  choice(n: number, k: number): number[] {
    if (k === 0) return [];
    this.calls.push({ fn: "choice", n, k, replace: false });
    return this.next<number[]>("choice");
  }
}

export class ScriptedPicker implements Picker {
  readonly #script: Script;
  readonly #made: Made | MadeEpisodes;
  // Asked for before there is a draw: both take scratch.
  readonly #slots: Uint32Array;
  readonly #rows: Uint32Array;

  constructor(script: Script, made: Made | MadeEpisodes) {
    this.#script = script;
    this.#made = made;
    this.#slots = made.items.slots();
    this.#rows = "memory" in made ? made.memory.rows() : new Uint32Array(0);
  }

  alike(items: Items, draw: number, n: number): void {
    this.#choose(items, draw, n);
    this.#made.steps.x.draw_given(draw, items.handle, n, 0);
  }

  weighed(items: Items, draw: number, n: number, ratio: number): number {
    const script = this.#script;
    let alike = 0;
    if (ratio > 0) {
      script.calls.push({ fn: "binomial", n, p: ratio });
      alike = script.next<number>("binomial");
    }
    this.#choose(items, draw, alike);
    const rests = this.#f64(draw, REST, n);
    for (let i = alike; i < n; i++) rests[i] = script.next<number>("uniform");
    const drawn = this.#made.steps.x.draw_points(draw, items.handle, n, alike, ratio);
    // What was left is in the points' place.
    for (let i = alike; i < drawn; i++) script.calls.push({ fn: "uniform", lo: 0, hi: rests[i] });
    return drawn;
  }

  single(_: Items, memory: Memory, draw: number, n: number): void {
    const { engine, x } = this.#made.steps;
    const ranks = this.#script.choice(memory.length, n);
    const rows = ranks.map((rank) => this.#rows[rank] as number);
    engine.core.u32.set(rows, (x.draw_column(draw, ROWS) >>> 0) / 4);
    x.draw_rows(draw, OF_ROWS, memory.handle, n, 1, 0);
  }

  starts(items: Items, draw: number, width: number): void {
    const slots = this.#u32(draw, SLOT, 0xffff);
    const starts = this.#u32(draw, START, 0xffff);
    const { core } = this.#made.steps.engine;
    // DRAW.count (assembly/draw/draw.ts)
    const n = core.u32[(draw + 40) / 4] as number;
    for (let i = 0; i < n; i++) {
      const length = items.lengthOf(slots[i] as number);
      if (length <= width) continue;
      this.#script.calls.push({ fn: "randint", lo: 0, hi: length - width + 1 });
      starts[i] = this.#script.next<number>("randint");
    }
  }

  /** The first k items of a draw, by their ranks. */
  #choose(items: Items, draw: number, k: number): void {
    const ranks = this.#script.choice(items.size, k);
    this.#u32(draw, SLOT, k).set(ranks.map((rank) => this.#slots[rank] as number));
  }

  #u32(draw: number, column: number, n: number): Uint32Array {
    const { core } = this.#made.steps.engine;
    const at = (core.x.draw_column(draw, column) >>> 0) / 4;
    return core.u32.subarray(at, at + n);
  }

  #f64(draw: number, column: number, n: number): Float64Array {
    const { core } = this.#made.steps.engine;
    const at = (core.x.draw_column(draw, column) >>> 0) / 8;
    return core.f64.subarray(at, at + n);
  }
}

/** Carries a call out with scripted draws. */
export function scripted<T>({ store }: Behind, script: Script, call: () => T): T {
  const { made, picker } = store;
  if (made !== undefined) store.picker = new ScriptedPicker(script, made);
  try {
    return call();
  } finally {
    store.picker = picker;
  }
}
