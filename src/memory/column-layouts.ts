/** Manages the column layouts of a Replay's items. The core stores a number per item; this file maps numbers to columns. */

import { BOOTSTRAP } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import { type ColumnLayout, columnsText, hasRoom, jointOf, type Selection, sameOrder, selectionsOf, textSelections } from "../schema/columns.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import type { Core } from "./core.ts";

/** The number of layouts that are kept before the first search for unused layouts. */
const FIRST_LIMIT = 1024;
/** The base-2 logarithm of the number of layouts per chunk. Files have one section per chunk. */
const CHUNK_BITS = 6;
/**
 * The base-2 logarithm of the number of layout numbers per group. Items whose numbers differ only in these bits are drawn together (assembly/draw/sample.ts).
 */
const GROUP_BITS = 16;
const MAX_GROUPS = 2 ** (32 - GROUP_BITS);
const MAX_GROUP_SIZE = 2 ** GROUP_BITS;
/** The maximum number of joint columns that a group remembers. */
const MAX_JOINTS = 8;

/**
 * Returns the number of the column layout that a slot stores, or 0 for whole steps. Numbers below MAX_GROUP_SIZE belong to no group. They mean whole steps,
 * even if they carry other information (assembly/tables/slots.ts).
 */
export function columnsOf(id: number): number {
  return id < MAX_GROUP_SIZE ? 0 : id;
}

/** Columns with lists of steps that are long enough for all layouts of a group, in windows of `width` steps. */
interface Joint {
  readonly width: number;
  readonly selections: readonly Selection[];
}

/** The layouts that show the same leaves under the same names, at different steps. */
interface LayoutGroup {
  readonly number: number;
  readonly layouts: Set<ColumnLayout>;
  /** The latest joints, oldest first, at most MAX_JOINTS. Draws with the same widths reuse a joint. */
  joints: readonly Joint[];
  /** The last number assigned to a layout of the group. */
  last: number;
}

export class ColumnLayouts {
  /** The known layouts, by number >>> 6. A list is replaced, never changed. */
  readonly chunks = new Map<number, readonly ColumnLayout[]>();
  /** Tables whose items refer to layouts. */
  readonly tables = new Set<{ readonly handle: number }>();
  /** For each open writer, the numbers of its rules' column layouts. */
  readonly rules = new Set<readonly number[]>();
  readonly #core: Core;
  readonly #leaves: readonly PlacedLeaf[];
  readonly #byId = new Map<number, ColumnLayout>();
  readonly #byText = new Map<string, ColumnLayout>();
  /** The groups by the key of their columns (`groupKey`). New layouts join these groups. */
  readonly #groups = new Map<string, LayoutGroup>();
  readonly #byNumber = new Map<number, LayoutGroup>();
  #lastGroup = 0;
  #limit = FIRST_LIMIT;

  constructor(core: Core, leaves: readonly PlacedLeaf[]) {
    this.#core = core;
    this.#leaves = leaves;
  }

  get(id: number): ColumnLayout | undefined {
    return this.#byId.get(id);
  }

  /** The number of known layouts, excluding whole steps. */
  get size(): number {
    return this.#byId.size;
  }

  /**
   * Returns the number of the layout with these columns. Equal columns have the same number. Amortized O(columns).
   * @param reserved numbers to keep although no item and no rule refers to them yet
   * @throws TypeError, RangeError, ReplayError if these are not columns of the leaves
   */
  numberOf(columns: object, reserved: readonly number[] = []): number {
    const text = columnsText(columns);
    const existing = text === undefined ? undefined : this.#byText.get(text);
    if (existing !== undefined) return existing.id;
    const selections = textSelections(columns, text, this.#leaves);
    if (this.#byId.size >= this.#limit) this.sweep(reserved);
    const group = this.#groupOf(selections);
    let id = 0;
    do {
      group.last = (group.last + 1) % MAX_GROUP_SIZE;
      id = group.number * MAX_GROUP_SIZE + group.last;
    } while (this.#byId.has(id));
    this.#add({ id, columns: text as string, selections }, group);
    return id;
  }

  /** Returns the number of layouts that are drawn together with a layout, including the layout itself. */
  groupSize(id: number): number {
    return this.#byNumber.get(id >>> GROUP_BITS)?.layouts.size ?? 0;
  }

  /** Returns columns in the order of a layout, with room for all layouts drawn together with it. Returns the same object until these layouts change. */
  jointOf(layout: ColumnLayout, width: number): readonly Selection[] {
    const group = this.#byNumber.get(layout.id >>> GROUP_BITS) as LayoutGroup;
    const existing = group.joints.find((joint) => joint.width === width && sameOrder(joint.selections, layout.selections));
    if (existing !== undefined) return existing.selections;
    const selections = jointOf(layout, group.layouts, width);
    group.joints = [...group.joints.slice(1 - MAX_JOINTS), { width, selections }];
    return selections;
  }

  /** Adds a layout under the number that it had in an earlier run. @throws TypeError, RangeError, ReplayError if these are not columns of the leaves */
  put(id: number, columns: object): void {
    const selections = selectionsOf(columns, this.#leaves);
    const number = id >>> GROUP_BITS;
    const group = this.#byNumber.get(number) ?? this.#newGroup(selections, number);
    group.last = Math.max(group.last, id % MAX_GROUP_SIZE);
    this.#lastGroup = Math.max(this.#lastGroup, number);
    this.#add({ id, columns: JSON.stringify(columns), selections }, group);
  }

  /** Removes layouts that no item and no rule refers to. O(slots of tables with layouts) */
  sweep(reserved: readonly number[] = []): void {
    const usedIds = this.#usedIds();
    for (const id of reserved) usedIds.add(id);
    for (const [number, chunk] of this.chunks) {
      const remaining = chunk.filter(({ id }) => usedIds.has(id));
      if (remaining.length === chunk.length) continue;
      for (const layout of chunk) {
        if (usedIds.has(layout.id)) continue;
        this.#byId.delete(layout.id);
        this.#leaveGroup(layout);
        if (this.#byText.get(layout.columns) === layout) this.#byText.delete(layout.columns);
      }
      if (remaining.length > 0) this.chunks.set(number, remaining);
      else this.chunks.delete(number);
    }
    this.#limit = Math.max(FIRST_LIMIT, 2 * this.#byId.size);
  }

  /** Returns whether every layout that an item or a rule refers to is known. O(slots of tables with layouts) */
  complete(): boolean {
    for (const id of this.#usedIds()) if (id !== 0 && !this.#byId.has(id)) return false;
    return true;
  }

  #add(layout: ColumnLayout, group: LayoutGroup): void {
    group.layouts.add(layout);
    group.joints = group.joints.filter(({ selections, width }) => hasRoom(selections, layout, width));
    const chunk = layout.id >>> CHUNK_BITS;
    this.chunks.set(chunk, [...(this.chunks.get(chunk) ?? []), layout]);
    this.#byId.set(layout.id, layout);
    this.#byText.set(layout.columns, layout);
  }

  /** Returns the group that a new layout joins. */
  #groupOf(selections: readonly Selection[]): LayoutGroup {
    const existing = this.#groups.get(groupKey(selections));
    if (existing !== undefined && existing.layouts.size < MAX_GROUP_SIZE) return existing;
    if (this.#byNumber.size >= MAX_GROUPS - 1)
      throw new ReplayError("OUT_OF_MEMORY", `the items already use ${MAX_GROUPS - 1} different sets of columns, the maximum. Use fewer sets`);
    do this.#lastGroup = (this.#lastGroup + 1) % MAX_GROUPS;
    while (this.#lastGroup === 0 || this.#byNumber.has(this.#lastGroup));
    return this.#newGroup(selections, this.#lastGroup);
  }

  #newGroup(selections: readonly Selection[], number: number): LayoutGroup {
    const group: LayoutGroup = { number, layouts: new Set(), joints: [], last: -1 };
    this.#groups.set(groupKey(selections), group);
    this.#byNumber.set(number, group);
    return group;
  }

  #leaveGroup(layout: ColumnLayout): void {
    const group = this.#byNumber.get(layout.id >>> GROUP_BITS) as LayoutGroup;
    group.layouts.delete(layout);
    group.joints = [];
    if (group.layouts.size > 0) return;
    this.#byNumber.delete(group.number);
    const key = groupKey(layout.selections);
    if (this.#groups.get(key) === group) this.#groups.delete(key);
  }

  /** Returns the numbers of all layouts that items and rules refer to, including 0. */
  #usedIds(): Set<number> {
    const core = this.#core;
    const { x } = core;
    core.refreshIfMoved();
    const usedIds = new Set([...this.rules].flat());
    for (const { handle: table } of this.tables) {
      const at = (x.table_layouts(table) >>> 0) / 4;
      if (at === 0) continue;
      for (let slot = x.table_high(table); slot > 0; slot--) usedIds.add(columnsOf(core.u32[at + slot] as number));
    }
    return usedIds;
  }
}

/**
 * Returns a key that is equal for columns that differ only in their order or their steps. A column at the bootstrap step has another key than a column at any
 * other step.
 */
function groupKey(selections: readonly Selection[]): string {
  const parts = selections.map(({ keys, leaf, squeezed, steps }) => [keys[0], leaf.index, squeezed, steps?.[0] === BOOTSTRAP]);
  return JSON.stringify(parts.sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1)));
}
