/** Replaces random draws with those that a case scripts, and records the requests, which must be those that PFRL makes. */
import type { Draw } from "../../../src/batch/draw.ts";
import type { GrowingTable } from "../../../src/memory/growing-table.ts";
import type { DrawStrategy } from "../../../src/pfrl/store/draw-strategy.ts";
import type { EpisodeContents } from "../../../src/pfrl/store/episodes.ts";
import type { Memory } from "../../../src/pfrl/store/memory.ts";
import type { BufferContents, Stored } from "../../../src/pfrl/store/stored.ts";
import { Malformed } from "../case.ts";

type Scripted = { readonly [kind: string]: unknown };

export class Script {
  /** The requests for random numbers that were made so far, in the format of the cases. */
  readonly calls: { readonly [name: string]: unknown }[] = [];
  readonly #draws: Scripted[];

  constructor(draws: readonly Scripted[]) {
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

export class ScriptedPicker implements DrawStrategy {
  readonly #script: Script;
  readonly #made: BufferContents | EpisodeContents;
  // The slots are read before a draw, because reading them overwrites the scratch memory that contains the draw.
  readonly #slots: Uint32Array;
  readonly #rows: Uint32Array;

  constructor(script: Script, made: BufferContents | EpisodeContents) {
    this.#script = script;
    this.#made = made;
    this.#slots = made.items.slots();
    this.#rows = "memory" in made ? made.memory.rows() : new Uint32Array(0);
  }

  uniform(items: GrowingTable, draw: Draw, n: number): void {
    this.#choose(items, draw, n);
    this.#made.steps.engine.core.x.draw_given(draw.handle, items.handle, n, 0);
  }

  prioritized(items: GrowingTable, draw: Draw, n: number, ratio: number): number {
    const script = this.#script;
    const { core } = this.#made.steps.engine;
    let alike = 0;
    if (ratio > 0) {
      script.calls.push({ fn: "binomial", n, p: ratio });
      alike = script.next<number>("binomial");
    }
    this.#choose(items, draw, alike);
    const points = Array.from({ length: n - alike }, () => script.next<number>("uniform"));
    // Setting priorities overwrites the scratch memory that contains the draw, so these bytes are saved.
    const at = core.scratch(0);
    const kept = core.u8.slice(at, at + 64);
    const picked: { readonly slot: number; readonly priority: number }[] = [];
    const set = (slot: number, priority: number) => items.update([items.keyOf(slot)], [priority]);
    // A drawn item has priority 0 until all draws are made, so it is not drawn again.
    const pick = (slot: number) => {
      picked.push({ slot, priority: items.priorityOf(slot) });
      set(slot, 0);
    };
    for (const slot of draw.slots(alike).slice()) pick(slot);
    for (const point of points) {
      const left = items.total;
      const slot = left === 0 ? undefined : this.#passing(items, point * left);
      if (slot === undefined) break;
      script.calls.push({ fn: "uniform", lo: 0, hi: left });
      pick(slot);
    }
    for (const { slot, priority } of picked) set(slot, priority);
    core.u8.set(kept, at);
    draw.slots(picked.length).set(picked.map(({ slot }) => slot));
    core.x.draw_given(draw.handle, items.handle, picked.length, ratio);
    return picked.length;
  }

  single(_: GrowingTable, memory: Memory, draw: Draw, n: number): void {
    const ranks = this.#script.choice(memory.length, n);
    draw.nameRows(
      ranks.map((rank) => this.#rows[rank] as number),
      memory,
    );
  }

  starts(items: GrowingTable, draw: Draw, n: number, width: number): void {
    const starts = draw.starts(n);
    for (const [i, slot] of draw.slots(n).entries()) {
      const length = items.lengthOf(slot);
      if (length <= width) continue;
      this.#script.calls.push({ fn: "randint", lo: 0, hi: length - width + 1 });
      starts[i] = this.#script.next<number>("randint");
    }
  }

  /**
   * Returns the first slot, from the oldest, at which the cumulative priority exceeds `point`. If rounding keeps the sum below it, returns the last slot with a
   * priority above 0.
   */
  #passing(items: GrowingTable, point: number): number | undefined {
    let sum = 0;
    let last: number | undefined;
    for (const slot of this.#slots) {
      const priority = items.priorityOf(slot);
      if (priority === 0) continue;
      sum += priority;
      last = slot;
      if (sum > point) break;
    }
    return last;
  }

  /** Sets the first k items of a draw to those at the scripted ranks. A rank is an item's index, from the oldest. */
  #choose(items: GrowingTable, draw: Draw, k: number): void {
    const ranks = this.#script.choice(items.size, k);
    draw.slots(k).set(ranks.map((rank) => this.#slots[rank] as number));
  }
}

/** Runs a call on a buffer with scripted draws, and then restores the buffer's own draws. */
export function scripted<T>(stored: Stored, script: Script, call: () => T): T {
  const { contents: made, drawStrategy: picker } = stored;
  if (made !== undefined) stored.drawStrategy = new ScriptedPicker(script, made);
  try {
    return call();
  } finally {
    stored.drawStrategy = picker;
  }
}
