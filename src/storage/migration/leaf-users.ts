/**
 * Finds the writers, and the columns of items, that use leaves removed by a migration. Only users in the final state count, since a journal also contains
 * closed writers and the columns of removed items.
 */
import { dataView } from "../../base/bytes.ts";
import { ReplayError } from "../../base/error.ts";
import { LAYOUTS, WRITERS } from "../../base/kinds.ts";
import type { Section } from "../../memory/state.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { decodeTagged } from "../decode.ts";
import { encodeTagged } from "../encode.ts";
import { hasPath, type LeafNames, leafPaths } from "./leaf-names.ts";
import type { SlotForm } from "./slot-form.ts";
import { AT, eachRecord, isUsed } from "./slot-record.ts";

/** The name of each kind of user in messages, and the remedy if the new spec lacks a leaf that it uses. */
const USERS = {
  transition: ["transition", "pass transition with the new names"],
  writer: ["a writer", "close that writer with the old spec first"],
  item: ["the columns of an item", "delete the items with these columns with the old spec first"],
} as const;

interface Layout {
  readonly id: number;
}

export class LeafUsers {
  readonly #names: LeafNames;
  readonly #leaves: readonly PlacedLeaf[];
  /** Whether the new spec lacks a leaf of the old spec. */
  readonly #areLost: boolean;
  /** The newest writers, if they use a removed leaf. */
  #writers: unknown;
  /** The newest layouts of each section, if some of these layouts use a removed leaf. */
  readonly #layouts = new Map<number, readonly Layout[]>();
  /** The layouts of items with columns in each table, by slot. */
  readonly #used = new Map<number, Map<number, number>>();

  constructor(names: LeafNames, before: readonly PlacedLeaf[], after: readonly PlacedLeaf[]) {
    this.#names = names;
    this.#leaves = after;
    this.#areLost = !before.every(({ path }) => hasPath(after, names.path(path)));
  }

  /**
   * Returns a section of writers or layouts with the new names of leaves; undefined if it uses removed leaves. In that case, `sections` later checks whether
   * the final state still uses these leaves.
   */
  renamed(kind: number, id: number, payload: Uint8Array): Uint8Array | undefined {
    if (!this.#areLost && this.#names.areSame) return payload;
    const renamed = this.#names.options(decodeTagged(payload));
    const isWhole = !this.#areLost || this.#hasAll(renamed);
    // A later section replaces an earlier section with the same id.
    if (kind === WRITERS) this.#writers = isWhole ? undefined : renamed;
    else if (isWhole) this.#layouts.delete(id);
    else this.#layouts.set(id, renamed as readonly Layout[]);
    if (!isWhole) return undefined;
    return this.#names.areSame ? payload : encodeTagged(renamed, "writers");
  }

  /** Reads the slots of a table in the new state. Returns false if they are inconsistent. */
  takeSlots(table: number, form: SlotForm, payload: Uint8Array): boolean {
    if (!this.#areLost) return true;
    const used = this.#used.get(table) ?? new Map<number, number>();
    this.#used.set(table, used);
    const view = dataView(payload);
    return eachRecord(payload, form.bytes, (from) => {
      const [slot, layout] = [view.getUint32(from, true), view.getUint32(from + AT.layout, true)];
      if (layout !== 0 && isUsed(dataView(payload.subarray(from, from + form.bytes)))) used.set(slot, layout);
      else used.delete(slot);
    });
  }

  /** Yields the remaining sections, without unused layouts that use removed leaves. @throws ReplayError NOT_FOUND if a writer or an item uses a removed leaf */
  *sections(): Generator<Section, void> {
    for (const path of leafPaths(this.#writers)) this.check(path, "writer");
    const used = new Set([...this.#used.values()].flatMap((layouts) => [...layouts.values()]));
    for (const [id, layouts] of this.#layouts) {
      for (const layout of layouts) if (used.has(layout.id)) for (const path of leafPaths(layout)) this.check(path, "item");
      const remaining = layouts.filter((layout) => this.#hasAll(layout));
      yield [LAYOUTS, id, encodeTagged(remaining, "columns")];
    }
  }

  /** Returns whether the new spec has every leaf that the options name. */
  #hasAll(options: unknown): boolean {
    return leafPaths(options).every((path) => hasPath(this.#leaves, path));
  }

  /** Checks a leaf that a user needs. @throws ReplayError NOT_FOUND if the new spec lacks the leaf */
  check(path: string, user: keyof typeof USERS): void {
    if (hasPath(this.#leaves, path)) return;
    const [name, remedy] = USERS[user];
    throw new ReplayError(
      "NOT_FOUND",
      `spec must have ${path}, which ${name} uses. If it has a new name, pass rename: { ${JSON.stringify(path)}: … }. Otherwise keep the leaf, or ${remedy}`,
    );
  }
}
