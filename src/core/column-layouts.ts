/** The column layouts of a Replay's items. The core knows the number of each item's; what a number means is known here. */
import { type ColumnLayout, columnsText, selectionsOf, textSelections } from "../spec/columns.ts";
import type { PlacedLeaf } from "../spec/layout.ts";
import type { Core } from "./core.ts";

/** So many are kept before anyone looks for those that nothing names any more. */
const FEW = 1024;
/** Numbers of a chunk, as a power of two: files have a section for each. */
const CHUNK_BITS = 6;

export class ColumnLayouts {
  /** Those that are known, by number >>> 6. A list is never changed, but made anew. */
  readonly chunks = new Map<number, readonly ColumnLayout[]>();
  /** Tables whose items name layouts. */
  readonly tables = new Set<{ readonly handle: number }>();
  /** What the rules of each open writer name. */
  readonly rules = new Set<readonly number[]>();
  readonly #core: Core;
  readonly #leaves: readonly PlacedLeaf[];
  readonly #byId = new Map<number, ColumnLayout>();
  readonly #byText = new Map<string, ColumnLayout>();
  #last = 0;
  #limit = FEW;

  constructor(core: Core, leaves: readonly PlacedLeaf[]) {
    this.#core = core;
    this.#leaves = leaves;
  }

  get(id: number): ColumnLayout | undefined {
    return this.#byId.get(id);
  }

  /** How many are known, whole steps aside. */
  get size(): number {
    return this.#byId.size;
  }

  /**
   * The number of a layout, the same for equal columns. Amortized O(columns).
   * @param kept numbers that stay, though nothing names them yet
   * @throws TypeError, RangeError, ReplayError for what are no columns of these leaves
   */
  numberOf(columns: object, kept: readonly number[] = []): number {
    const text = columnsText(columns);
    const known = text === undefined ? undefined : this.#byText.get(text);
    if (known !== undefined) return known.id;
    const selections = textSelections(columns, text, this.#leaves);
    if (this.#byId.size >= this.#limit) this.sweep(kept);
    do this.#last = (this.#last + 1) >>> 0;
    while (this.#last === 0 || this.#byId.has(this.#last));
    this.#add({ id: this.#last, columns: text as string, selections });
    return this.#last;
  }

  /** Takes a layout with the number that it had. @throws TypeError, RangeError, ReplayError for what are no columns of these leaves */
  put(id: number, columns: object): void {
    this.#last = Math.max(this.#last, id);
    this.#add({ id, columns: JSON.stringify(columns), selections: selectionsOf(columns, this.#leaves) });
  }

  /** Lets go of layouts that no item and no rule names. O(slots of tables with layouts) */
  sweep(kept: readonly number[] = []): void {
    const named = this.#named();
    for (const id of kept) named.add(id);
    for (const [number, chunk] of this.chunks) {
      const left = chunk.filter(({ id }) => named.has(id));
      if (left.length === chunk.length) continue;
      for (const layout of chunk) {
        if (named.has(layout.id)) continue;
        this.#byId.delete(layout.id);
        if (this.#byText.get(layout.columns) === layout) this.#byText.delete(layout.columns);
      }
      if (left.length > 0) this.chunks.set(number, left);
      else this.chunks.delete(number);
    }
    this.#limit = Math.max(FEW, 2 * this.#byId.size);
  }

  /** Whether every layout is known that an item or a rule names. O(slots of tables with layouts) */
  complete(): boolean {
    for (const id of this.#named()) if (id !== 0 && !this.#byId.has(id)) return false;
    return true;
  }

  #add(layout: ColumnLayout): void {
    const chunk = layout.id >>> CHUNK_BITS;
    this.chunks.set(chunk, [...(this.chunks.get(chunk) ?? []), layout]);
    this.#byId.set(layout.id, layout);
    this.#byText.set(layout.columns, layout);
  }

  /** All that items and rules name, 0 among them. */
  #named(): Set<number> {
    const core = this.#core;
    const { x } = core;
    core.look();
    const named = new Set([...this.rules].flat());
    for (const { handle: table } of this.tables) {
      const at = (x.table_layouts(table) >>> 0) / 4;
      if (at === 0) continue;
      for (let slot = x.table_high(table); slot > 0; slot--) named.add(core.u32[at + slot] as number);
    }
    return named;
  }
}
