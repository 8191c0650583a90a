/** Computes the layout of a table's keys, as the core assigns them (assembly/tables/slots.ts): key = generation × scale + base + slot. */
import type { ResolvedTableOptions } from "../../schema/table-options.ts";

const KEY_BITS = 53;
const GENERATIONS = 2 ** 32 - 1;

export class KeyLayout {
  readonly capacity: number;
  readonly scale: number;
  readonly base: number;
  readonly lastGeneration: number;

  /** @param number the table's index in the Replay @param tables the number of tables */
  constructor({ maxSize, maxPending }: ResolvedTableOptions, number: number, tables: number) {
    this.capacity = maxSize + 1 + maxPending;
    const bits = 32 - Math.clz32(this.capacity);
    const all = bits + 32 - Math.clz32(tables - 1);
    this.base = number * 2 ** bits;
    this.scale = 2 ** all;
    this.lastGeneration = all <= KEY_BITS - 32 ? GENERATIONS : 2 ** (KEY_BITS - all) - 1;
  }

  key(slot: number, generation: number): number {
    return generation * this.scale + this.base + slot;
  }

  /** Returns the slot and generation of a key; undefined if no slot can have the key. */
  placeOf(key: number): { readonly slot: number; readonly generation: number } | undefined {
    const slot = (key % this.scale) - this.base;
    const generation = Math.floor(key / this.scale);
    return slot >= 1 && slot <= this.capacity && generation >= 1 && generation <= this.lastGeneration ? { slot, generation } : undefined;
  }

  equals({ scale, base }: KeyLayout): boolean {
    return scale === this.scale && base === this.base;
  }
}
