/** Converts the sections of a snapshot or a journal, one by one, to another spec and other tables. */
import { dataView } from "../../base/bytes.ts";
import { addSentence, codeOf, mustBe, ReplayError } from "../../base/error.ts";
import { COUNTS, DRAWN, ENTRIES, FREE, LAYOUTS, LINKS, POOLS, ROWS, SLOTS, TABLE, WRITERS } from "../../base/kinds.ts";
import { layoutOf } from "../../memory/layout.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { COUNT_BYTES, LINK_BYTES, SECTION_MAX, type Section } from "../../memory/state.ts";
import { maxStepBytes } from "../../memory/stored-bytes.ts";
import { copySpec, leavesOf } from "../../schema/spec.ts";
import type { ResolvedTableOptions } from "../../schema/table-options.ts";
import type { TransitionRoles } from "../../schema/transition-roles.ts";
import { headLayout, type StateHead } from "../format/head.ts";
import { ROW_HEAD_BYTES, RowCodec } from "../snapshot/row-codec.ts";
import { MIGRATION_PAGE } from "../spec-mismatch.ts";
import { FramePools } from "./frame-pools.ts";
import { LeafNames } from "./leaf-names.ts";
import { LeafUsers } from "./leaf-users.ts";
import { changedTables, type MigrationReport, type ResolvedMigration } from "./options.ts";
import { RowEpisodes } from "./row-episodes.ts";
import { SavedTable } from "./saved-table.ts";
import { SlotForm } from "./slot-form.ts";
import { eachRecord } from "./slot-record.ts";

export class StateMigrator {
  /** The head of the new state. */
  readonly head: StateHead;
  readonly #migrate: ((step: unknown) => unknown) | undefined;
  readonly #oldRows: RowCodec;
  readonly #newRows: RowCodec;
  readonly #names: LeafNames;
  readonly #users: LeafUsers;
  readonly #pools: FramePools;
  /** The offsets of shared frame numbers in old and new rows. */
  readonly #frames: readonly (readonly [from: number, to: number, bytes: number])[];
  /** The changed tables, by number. */
  readonly #tables = new Map<number, readonly [table: SavedTable, options: ResolvedTableOptions, name: string]>();
  /** The episodes of rows, for changed tables. */
  readonly #episodes = new RowEpisodes();
  /** The layout of the new slots of each table, by table number. */
  readonly #forms: SlotForm[] = [];
  /** A section of new steps, as large as a snapshot's section may be, and the number of steps in it so far. */
  readonly #pending: Uint8Array<ArrayBuffer>;
  #pendingCount = 0;
  #steps = 0;
  readonly #removed: { [table: string]: number } = {};
  readonly #newKeys: string[] = [];

  /**
   * @param what the subject of error messages
   * @throws ReplayError UNSUPPORTED if the rows have another layout, or if a shared or packed leaf would change
   * @throws ReplayError NOT_FOUND if a renamed path, a table or a leaf of `transition` does not exist
   * @throws TypeError, RangeError if an option is invalid, or if `storedBytes.max` of the old state has no room for a new step
   */
  constructor(what: string, head: StateHead, options: ResolvedMigration, memory: SectionMemory, module: WebAssembly.Module | undefined) {
    const { options: saved } = head;
    const oldSpec = copySpec(saved.spec);
    const spec = options.spec ?? oldSpec;
    const before = layoutOf(leavesOf(oldSpec), module);
    const after = layoutOf(leavesOf(spec), module);
    if (JSON.stringify(headLayout(before)) !== JSON.stringify(head.layout))
      throw new ReplayError("UNSUPPORTED", `${what} was written by a version of Reprise with another layout of steps. Read it with that version`);
    this.#names = new LeafNames(options.rename, before.leaves, after.leaves);
    this.#users = new LeafUsers(this.#names, before.leaves, after.leaves);
    this.#pools = new FramePools(before, after, this.#names);
    this.#frames = [...this.#pools.leaves].map(([leaf, old]) => [ROW_HEAD_BYTES + old.offset, ROW_HEAD_BYTES + leaf.offset, 4 * (leaf.leaf.stack ?? 1)]);
    this.#oldRows = new RowCodec(oldSpec, before);
    this.#newRows = new RowCodec(spec, after);
    this.#migrate = options.migrate;
    this.#pending = new Uint8Array(COUNT_BYTES + this.#newRows.bytes * Math.max(1, Math.floor((SECTION_MAX - COUNT_BYTES) / this.#newRows.bytes)));
    const { storedBytes } = saved;
    if (storedBytes !== undefined && storedBytes.max < maxStepBytes(after))
      throw mustBe(
        RangeError,
        `storedBytes.max of ${what}`,
        `at least ${maxStepBytes(after)}, the size of a new step whose frames cannot be packed`,
        storedBytes.max,
      );
    const transition = options.transition ?? this.#names.roles(saved.transition as TransitionRoles | undefined, before.leaves);
    for (const path of Object.values(transition ?? {})) this.#users.check(path as string, "transition");
    const tables = changedTables(saved.tables, options.tables);
    for (const [number, [name, table]] of Object.entries(tables).entries()) {
      const old = saved.tables[name] as ResolvedTableOptions;
      this.#forms.push(new SlotForm(table, memory));
      if (JSON.stringify(table) === JSON.stringify(old)) continue;
      this.#tables.set(number, [new SavedTable(name, old, number, Object.keys(tables).length, memory), table, name]);
    }
    // The options keep their order in the head, and undefined options are omitted. A migration without changes therefore produces the same bytes.
    const changed = { ...saved, spec, tables, maxBytes: options.maxBytes ?? saved.maxBytes, transition };
    this.head = JSON.parse(JSON.stringify({ ...head, options: changed, layout: headLayout(after) }));
  }

  get report(): MigrationReport {
    return { steps: this.#steps, removed: { ...this.#removed }, newKeys: [...this.#newKeys] };
  }

  /**
   * Yields the new sections for an old section. A later call may yield some of them. Does not keep the old payload. @throws ReplayError CORRUPT if a section is
   * inconsistent · the errors of `migrate`
   */
  *section(kind: number, id: number, payload: Uint8Array): Generator<Section, void> {
    if (kind === ROWS && id === this.#pools.steps) {
      yield* this.#rows(payload);
      return;
    }
    yield* this.#flush();
    if (kind === ROWS || kind === FREE || kind === LINKS || kind === ENTRIES) {
      if (!this.#pools.isPool(id)) throw contradiction();
      if (kind === LINKS && id === this.#pools.steps) this.#takeLinks(payload);
      const newId = this.#pools.newId(id);
      if (newId !== undefined) yield [kind, newId, payload];
    } else if (kind === POOLS) {
      const numbers = this.#pools.numbers(payload);
      if (numbers === undefined) throw contradiction();
      yield [kind, id, numbers];
    } else if (kind === WRITERS || kind === LAYOUTS) {
      const renamed = this.#users.renamed(kind, id, payload);
      if (renamed !== undefined) yield [kind, id, renamed];
    } else if (!this.#take(kind, id, payload)) yield this.#noted([kind, id, payload]);
  }

  /** Records the column layouts that a section's slots use. */
  #noted(section: Section): Section {
    const [kind, id, payload] = section;
    const form = this.#forms[id];
    if (kind === SLOTS && (form === undefined || !this.#users.takeSlots(id, form, payload))) throw contradiction();
    return section;
  }

  /** Yields the remaining sections: pending steps, changed tables, and the sections that refer to leaves. */
  *finish(): Generator<Section, void> {
    yield* this.#flush();
    for (const [table, options, name] of this.#tables.values()) {
      const { sections, removed, hasNewKeys } = table.change(options, this.#episodes);
      for (const section of sections) yield this.#noted(section);
      this.#removed[name] = removed;
      if (hasNewKeys) this.#newKeys.push(name);
    }
    yield* this.#users.sections();
  }

  /** Takes a section of a changed table, to be written at the end. Returns false for any other section. */
  #take(kind: number, id: number, payload: Uint8Array): boolean {
    const [table] = this.#tables.get(id) ?? [];
    if (table === undefined) return false;
    if ((kind === SLOTS && !table.takeSlots(payload)) || (kind === COUNTS && !table.takeCounts(payload))) throw contradiction();
    if (kind === TABLE) table.takeTable(payload);
    if (kind === DRAWN) table.takeDrawn(payload);
    return kind === SLOTS || kind === COUNTS || kind === TABLE || kind === DRAWN;
  }

  *#rows(payload: Uint8Array): Generator<Section, void> {
    const [old, rows] = [this.#oldRows, this.#newRows];
    const count = payload.length < COUNT_BYTES ? 0 : dataView(payload).getUint32(0, true);
    if (payload.length !== COUNT_BYTES + count * old.bytes) throw contradiction();
    const records = payload.slice(COUNT_BYTES);
    for (let i = 0; i < count; i++) {
      const record = records.subarray(i * old.bytes, (i + 1) * old.bytes);
      this.#takeRow(record);
      const at = COUNT_BYTES + this.#pendingCount * rows.bytes;
      const target = this.#pending.subarray(at, at + rows.bytes).fill(0);
      target.set(record.subarray(0, ROW_HEAD_BYTES));
      for (const [from, to, bytes] of this.#frames) target.set(record.subarray(from, from + bytes), to);
      this.#write(target, this.#names.step(old.read(record)));
      this.#pendingCount++;
      this.#steps++;
      if (at + 2 * rows.bytes > this.#pending.length) yield* this.#flush();
    }
  }

  #takeRow(record: Uint8Array): void {
    if (this.#tables.size === 0) return;
    const view = dataView(record);
    this.#episodes.set(view.getUint32(0, true), view.getUint32(4, true), view.getUint32(8, true));
  }

  #takeLinks(payload: Uint8Array): void {
    const view = dataView(payload);
    const isWhole = eachRecord(payload, LINK_BYTES, (from) => this.#episodes.link(view.getUint32(from, true), view.getUint32(from + 4, true)));
    if (!isWhole) throw contradiction();
  }

  /** @throws ReplayError SPEC_MISMATCH, INVALID_DATA if a step does not fit the new spec · TypeError for a promise */
  #write(target: Uint8Array, step: unknown): void {
    const next = this.#migrate === undefined ? step : this.#migrate(step);
    if (typeof (next as PromiseLike<unknown> | undefined)?.then === "function") {
      // The promise may reject later, which must not end the program as an unhandled rejection.
      Promise.resolve(next).catch(() => {});
      throw new TypeError("migrate must be a function that returns the new step, got a promise. Remove async from it");
    }
    try {
      this.#newRows.write(target, next);
    } catch (error) {
      if (this.#migrate !== undefined || codeOf(error) !== "SPEC_MISMATCH") throw error;
      const remedy = `Pass migrate, which returns the new step for an old one, and rename for renamed leaves (see ${MIGRATION_PAGE})`;
      throw new ReplayError("SPEC_MISMATCH", addSentence((error as Error).message, remedy));
    }
  }

  /** Yields a section of the pending steps, if there are any. */
  *#flush(): Generator<Section, void> {
    const count = this.#pendingCount;
    if (count === 0) return;
    dataView(this.#pending).setUint32(0, count, true);
    this.#pendingCount = 0;
    const id = this.#pools.newId(this.#pools.steps) as number;
    yield [ROWS, id, this.#pending.subarray(0, COUNT_BYTES + count * this.#newRows.bytes)];
  }
}

function contradiction(): ReplayError {
  return new ReplayError("CORRUPT", "a section is inconsistent");
}
