/** The items of a buffer: a table of the core, oldest first out. Where there is no limit its room doubles as it is needed. */
import { ABOUT_KEY, ABOUT_LENGTH, ABOUT_PRIORITY, COUNTERS, type Exports, FIFO, PRIORITIZED, UNIFORM, WITH_MIN } from "../../core/abi.ts";
import type { Engine } from "../../core/engine.ts";
import { mustBe } from "../../error.ts";
import { MAX_ITEMS } from "../../limits.ts";
import type { Env, Steps } from "./steps.ts";
import { drawable } from "./weighing.ts";

export interface ItemsOptions {
  /** Items at most; Infinity where memory alone is the limit. */
  readonly max: number;
  /** Their steps together; Infinity where there is no limit. */
  readonly maxSteps?: number;
  /** Whether they are drawn by priority, else all alike. */
  readonly prioritized: boolean;
  readonly seed: number | bigint;
  /** Which of the buffer's tables it is: each has random draws of its own. */
  readonly number: number;
  /** Room to begin with. */
  readonly room?: number;
}

/** Room that a table without a limit begins with. */
const FIRST_ROOM = 1024;
const SIZE = COUNTERS.indexOf("size");
const STEPS = COUNTERS.indexOf("steps");
const CHUNK = 1024;

export class Items {
  readonly prioritized: boolean;
  readonly #engine: Engine;
  readonly #x: Exports;
  #options: ItemsOptions;
  #handle: number;
  #room: number;
  #closed = false;

  constructor(steps: Steps, options: ItemsOptions) {
    this.#engine = steps.engine;
    this.#x = steps.x;
    this.#options = options;
    this.prioritized = options.prioritized;
    this.#room = Math.max(1, Math.min(options.room ?? FIRST_ROOM, this.#max));
    this.#handle = this.#make(this.#room);
    const bits = BigInt.asUintN(64, BigInt(options.seed));
    this.#engine.core.x.table_seed(this.#handle, Number(bits & 0xffffffffn), Number(bits >> 32n), options.number);
  }

  /** TABLE in the core. It is another one when room was made. */
  get handle(): number {
    return this.#handle;
  }

  get size(): number {
    return this.#engine.core.x.table_counter(this.#handle, SIZE);
  }

  /** Steps of all items together. */
  get steps(): number {
    return this.#engine.core.x.table_counter(this.#handle, STEPS);
  }

  /** Makes sure that n more items can be made, of so many episodes. @throws ReplayError OUT_OF_MEMORY, and then nothing changed */
  reserve(n: number, episodes = n): void {
    const { size } = this;
    // What is beyond the limit leaves once the next item is in.
    const need = size > this.#max ? size + 1 : Math.min(size + n, this.#max);
    if (this.#room < need) this.#grow(need);
    if (this.#options.max === Number.POSITIVE_INFINITY && size + n > this.#room) throw this.#full();
    const code = this.#x.items_reserve(this.#handle, episodes);
    if (code !== 0) throw this.#engine.core.failure(code);
    this.#engine.changed();
  }

  /** An item of an episode's last steps; there must be room. The oldest leave where a limit is passed. O(length + log n) */
  add(env: Env, length: number, priority: number): void {
    const code = this.#x.table_insert(this.#handle, env.handle, length, 0, drawable(priority));
    if (code < 0) throw this.#engine.core.failure(code);
    this.#engine.changed();
  }

  /** From the next item on there are at most so many, and so many steps. What is there now may be more. */
  limit(max: number, maxSteps: number): void {
    this.#options = { ...this.#options, max, maxSteps };
    this.#x.items_limit(this.#handle, Math.max(1, Math.min(max, this.#room)));
    this.#limitSteps(this.#handle);
  }

  /** The slots of all items, oldest first, then the free ones: the same in another table make the same draws. */
  laid(): { readonly slots: Uint32Array; readonly high: number } {
    const high = this.#x.items_high(this.#handle);
    const { core } = this.#engine;
    const items = this.slots();
    const at = core.scratch(4 * high + 4);
    const free = this.#x.items_free(this.#handle, at);
    const slots = new Uint32Array(items.length + free);
    slots.set(items);
    slots.set(core.u32.subarray(at / 4, at / 4 + free), items.length);
    return { slots, high };
  }

  /** On an empty table: items take these slots first. Whether that could be. */
  lay(slots: Uint32Array, high: number): boolean {
    this.reserve(high);
    const { core } = this.#engine;
    const at = core.scratch(4 * slots.length + 4);
    core.u32.set(slots, at / 4);
    return this.#x.items_lay(this.#handle, high, at, slots.length) !== 0;
  }

  /** Slots in order of age, the oldest first. */
  slots(): Uint32Array {
    const { core } = this.#engine;
    const slots = new Uint32Array(this.size);
    const at = core.scratch(4 * CHUNK);
    for (let done = 0, slot = 0; done < slots.length; ) {
      const count = this.#x.items_slots(this.#handle, slot, CHUNK, at);
      slots.set(core.u32.subarray(at / 4, at / 4 + count), done);
      done += count;
      slot = this.#x.items_next(this.#handle, slots[done - 1] as number);
    }
    return slots;
  }

  /** The same, one by one; without those whose items leave meanwhile. */
  *held(): Generator<number, void> {
    const keys = Float64Array.from(this.slots(), (slot) => this.keyOf(slot));
    for (const key of keys) {
      const slot = this.#closed ? 0 : this.#x.items_find(this.#handle, key);
      if (slot !== 0) yield slot;
    }
  }

  /** Draws, and reads what was drawn. Where that finds no memory, the random state is as it was. */
  drawing<T>(draw: () => T): T {
    const before = this.random.slice();
    try {
      return draw();
    } catch (error) {
      this.random.set(before);
      throw error;
    }
  }

  /** One number of a slot (pfrl-core.ts). */
  about(slot: number, which: number): number {
    return this.#x.items_about(this.#handle, slot, which);
  }

  /** Steps of an item. */
  lengthOf(slot: number): number {
    return this.about(slot, ABOUT_LENGTH);
  }

  keyOf(slot: number): number {
    return this.about(slot, ABOUT_KEY);
  }

  priorityOf(slot: number): number {
    return this.about(slot, ABOUT_PRIORITY);
  }

  /** The sum of all priorities. */
  get total(): number {
    return this.#x.items_total(this.#handle);
  }

  /** Whether an item has a priority above 0. Unlike the sum it is no fraction, which would be allocated. */
  get weigh(): boolean {
    return this.#x.items_weigh(this.#handle) !== 0;
  }

  /** The least priority. @param zeros whether one may be 0, which takes O(n) */
  min(zeros: boolean): number {
    return this.#x.items_min(this.#handle, zeros ? 1 : 0);
  }

  /** The table's random state: 32 bytes, to read or to write. */
  get random(): Uint8Array {
    const at = this.#x.items_random(this.#handle) >>> 0;
    return this.#engine.core.u8.subarray(at, at + 32);
  }

  /** Gives the memory back; its items are gone. */
  close(): void {
    this.#closed = true;
    this.#engine.core.x.table_clear(this.#handle);
    this.#x.items_close(this.#handle);
    this.#free(this.#handle, this.#room);
  }

  get #max(): number {
    return Math.min(this.#options.max, MAX_ITEMS);
  }

  #kinds(): readonly [sampler: number, remover: number] {
    return [this.#options.prioritized ? PRIORITIZED + WITH_MIN : UNIFORM, FIFO];
  }

  #make(room: number): number {
    const { core, pool } = this.#engine;
    const [sampler, remover] = this.#kinds();
    const handle = core.alloc(core.x.table_bytes(room, 0, sampler, remover));
    core.x.table_init(handle, pool, room, 0, sampler, remover);
    core.x.table_exponents(handle, 1, 1);
    this.#limitSteps(handle);
    this.#x.items_open(handle, Math.max(this.#max, room));
    if (this.#max < room) this.#x.items_limit(handle, Math.max(1, this.#max));
    return handle;
  }

  #limitSteps(handle: number): void {
    const { max, maxSteps = Number.POSITIVE_INFINITY } = this.#options;
    // A table takes one item at least; one without steps takes none.
    const steps = max === 0 ? 0 : maxSteps;
    this.#engine.core.x.table_limits(handle, steps, 0, 1, 1, -Number.MAX_VALUE, Number.MAX_VALUE);
  }

  /** Twice the room; where memory has none for so much, what is needed. */
  #grow(need: number): void {
    const bound = Math.max(this.#max, need);
    const room = Math.min(Math.max(2 * this.#room, need), bound);
    let made: { readonly handle: number; readonly room: number };
    try {
      made = { handle: this.#make(room), room };
    } catch {
      const min = Math.min(Math.max(need, Math.ceil(1.125 * this.#room)), bound);
      made = { handle: this.#make(min), room: min };
    }
    this.#x.items_move(this.#handle, made.handle);
    const old = this.#handle;
    const oldRoom = this.#room;
    this.#handle = made.handle;
    this.#room = made.room;
    this.#free(old, oldRoom);
  }

  #free(handle: number, room: number): void {
    const { core } = this.#engine;
    const [sampler, remover] = this.#kinds();
    core.x.arena_free(handle, core.x.table_bytes(room, 0, sampler, remover));
  }

  #full(): Error {
    return mustBe("OUT_OF_MEMORY", "items", `at most ${MAX_ITEMS} (set a capacity)`, this.size + 1);
  }
}
