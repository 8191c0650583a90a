/** Manages the open writers of a Replay: the writers of this run, and the writers of an earlier run, which this run finds by name. */
import { codeOf, corrupt, countText, ReplayError, show } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import { CoreStream } from "../memory/stream.ts";
import { type ColumnSet, isSameSelection } from "../schema/columns.ts";
import type { OpenWriters, ReplayState } from "../storage/replay-state.ts";
import { type ItemRule, type ResolvedRule, type ResolvedWriterOptions, resolveWriterOptions, type WriterOptions } from "./rules.ts";
import type { AnyTable } from "./table.ts";
import { internalsOf, Writer } from "./writer.ts";
import type { SavedWriterOptions, WriterTraits } from "./writer-internals.ts";

type AnyOptions = WriterOptions<string, ColumnSet<unknown>>;

export class Writers {
  readonly #engine: Engine;
  readonly #tables: ReadonlyMap<string, AnyTable>;
  /** The open writers in creation order, with the tables for which they have `length` rules without a priority. */
  readonly #open = new Map<Writer, readonly string[]>();
  /** The states of the writers for storage. They are created once, because a journal reads them after each group. */
  readonly #states = new Map<Writer, ReplayState["writers"][number]>();
  /** The writers with a name. */
  readonly #byName = new Map<string, Writer>();
  /** Writers of an earlier run that were not requested by name, and their positions when they were restored. */
  readonly #orphans = new Map<Writer, string>();
  /** Whether the shared record is kept for writers of an earlier run that have no room for a separate record. */
  #holdsFiller = false;

  constructor(engine: Engine, tables: ReadonlyMap<string, AnyTable>) {
    this.#engine = engine;
    this.#tables = tables;
  }

  get size(): number {
    return this.#open.size;
  }

  get all(): Writer[] {
    return [...this.#open.keys()];
  }

  get states(): ReplayState["writers"] {
    return [...this.#states.values()];
  }

  /**
   * Returns a new writer, or the writer of an earlier run with the same name.
   * @throws ReplayError OUT_OF_TURN if a writer of this run has the same name · SPEC_MISMATCH if the earlier writer has other options · the errors of
   * `replay.writer`
   */
  writer(options: AnyOptions): Writer {
    const resolved = resolveWriterOptions(this.#engine, this.#tables, options);
    const existing = this.#findByName(resolved.name);
    if (existing === undefined) return this.#create(resolved, options);
    this.#checkSame(existing, resolved);
    this.#orphans.delete(existing);
    this.#count(existing, defaultPriorityTables(options.items));
    return existing;
  }

  /**
   * Returns a new writer, and closes a writer of an earlier run with the same name. Used for an environment that cannot continue. @throws the errors of
   * `writer`, except SPEC_MISMATCH
   */
  replaceWriter(options: AnyOptions): Writer {
    const resolved = resolveWriterOptions(this.#engine, this.#tables, options);
    this.#findByName(resolved.name)?.close();
    return this.#create(resolved, options);
  }

  /** Returns a writer of an earlier run by its name, if the writer was not continued; otherwise undefined. */
  orphan(name: string): Writer | undefined {
    return [...this.#orphans.keys()].find((writer) => writer.options.name === name);
  }

  /** @throws ReplayError OUT_OF_TURN if a writer of this run has the name */
  mustBeFree(name: string | undefined): void {
    this.#findByName(name);
  }

  /** Opens a writer of an earlier run. Its state is loaded afterwards. @throws ReplayError CORRUPT if the name is invalid or already used */
  adopt(options: SavedWriterOptions): void {
    const { name } = options;
    if (name !== undefined && (typeof name !== "string" || name === "" || this.#byName.has(name)))
      throw corrupt("the list of writers is inconsistent", `the name ${show(name)} is not unique`);
    // It is no longer known whether an empty list of rules, or a single lane, was intended.
    const createsItems = options.items.length === 0;
    if (options.lanes === 1 && !this.#holdsFiller) {
      this.#engine.shareFiller();
      this.#holdsFiller = true;
    }
    let writer: Writer;
    try {
      writer = this.#add(options, [], { createsItems, isVector: true });
    } catch (error) {
      // If `maxBytes` is used up, there may be room only for the shared record.
      if (codeOf(error) !== "OUT_OF_MEMORY" || options.lanes !== 1) throw error;
      writer = this.#add(options, [], { createsItems });
    }
    this.#orphans.set(writer, "");
  }

  /** Completes the restored writers after their state was loaded. @param isCopy whether the original run may continue */
  finishRestore(writers: OpenWriters, isCopy = false): void {
    if (this.#holdsFiller) this.#engine.unshareFiller();
    this.#holdsFiller = false;
    for (const writer of [...this.#orphans.keys()]) {
      const { name, items } = writer.options;
      internalsOf(writer).resume();
      if (writers === "close") writer.close();
      // In a copy, an unnamed writer without rules cannot lose items.
      else if (isCopy && name === undefined && items.length === 0) this.#orphans.delete(writer);
      else this.#orphans.set(writer, this.#positionText(writer));
    }
  }

  /** Whether unnamed writers of an earlier run were not continued. */
  get hasOrphans(): boolean {
    return this.#unnamedOrphans().length > 0;
  }

  /** Returns the writer of an earlier run with this name; undefined if there is none. @throws ReplayError OUT_OF_TURN if a writer of this run has the name */
  #findByName(name: string | undefined): Writer | undefined {
    const existing = name === undefined ? undefined : this.#byName.get(name);
    if (existing === undefined || this.#orphans.has(existing)) return existing;
    throw new ReplayError(
      "OUT_OF_TURN",
      `name must be unique among the open writers of this run, got ${show(name)}. Close that writer first, or use another name`,
    );
  }

  #create(resolved: ResolvedWriterOptions, { items, lanes }: AnyOptions): Writer {
    const writer = this.#add(resolved, defaultPriorityTables(items), { createsItems: items?.length === 0, isVector: lanes !== undefined });
    this.#warnOrphans();
    return writer;
  }

  #add(options: SavedWriterOptions, defaultTables: readonly string[], traits: WriterTraits): Writer {
    const onClose = () => {
      this.#count(writer, []);
      this.#open.delete(writer);
      this.#states.delete(writer);
      this.#orphans.delete(writer);
      if (options.name !== undefined) this.#byName.delete(options.name);
    };
    const writer: Writer = new Writer(this.#engine, this.#tables, options, onClose, traits);
    this.#open.set(writer, []);
    const internals = internalsOf(writer);
    this.#states.set(writer, {
      streams: writer.streams,
      get options() {
        return internals.saved;
      },
    });
    this.#count(writer, defaultTables);
    if (options.name !== undefined) this.#byName.set(options.name, writer);
    return writer;
  }

  /** Records the tables for which a writer has `length` rules without a priority. */
  #count(writer: Writer, defaultTables: readonly string[]): void {
    this.#engine.countDefaultPriorities(this.#open.get(writer) ?? [], -1);
    this.#engine.countDefaultPriorities(defaultTables, 1);
    this.#open.set(writer, defaultTables);
  }

  #warnOrphans(): void {
    const orphans = this.#unnamedOrphans();
    if (orphans.length === 0 || !this.#engine.warnings.first("leftWriters")) return;
    const subject = orphans.length === 1 ? "1 writer of an earlier run is" : `${orphans.length} writers of an earlier run are`;
    const reason = `${subject} still open and unnamed, so the last items of the open episodes are never created, and their steps stay in memory`;
    const remedy = 'Name writers with replay.writer({ name }), which returns them after a restart, or close them with Replay.open({ writers: "close" })';
    this.#engine.warnings.log(`${reason}. ${remedy}`);
  }

  #unnamedOrphans(): Writer[] {
    return [...this.#orphans].flatMap(([writer, position]) => (writer.options.name === undefined && this.#positionText(writer) === position ? [writer] : []));
  }

  /** Returns the position of a writer's lanes as text, which changes with every use. */
  #positionText(writer: Writer): string {
    return writer.streams
      .map((handle) => {
        const { newest, episodeSteps, length } = new CoreStream(this.#engine, handle);
        return `${newest} ${episodeSteps} ${length}`;
      })
      .join();
  }

  #checkSame({ options: existing }: Writer, requested: ResolvedWriterOptions): void {
    const run = `the writer ${show(requested.name)} of an earlier run`;
    const mismatchError = (path: string, rule: string, got: string) =>
      new ReplayError("SPEC_MISMATCH", `${path} must be ${rule}, as in ${run}, got ${got}. Close that writer first, or use another name`);
    const mismatch = (path: string, expected: unknown, actual: unknown) => mismatchError(path, show(expected), show(actual));
    for (const key of ["lanes", "keep", "across", "autoreset"] as const)
      if (requested[key] !== existing[key]) throw mismatch(key, existing[key], requested[key]);
    requested.items.forEach((rule, k) => {
      const other = existing.items[k];
      if (other === undefined) return;
      for (const key of RULE) if (!isSameOption(rule[key], other[key])) throw mismatch(`items[${k}].${key}`, other[key], rule[key]);
      const [requestedLayout, existingLayout] = [requested, existing].map(({ layouts }) => this.#engine.columnLayouts.get(layouts[k] as number));
      if (
        requestedLayout !== existingLayout &&
        (requestedLayout === undefined || existingLayout === undefined || !isSameSelection(requestedLayout.selections, existingLayout.selections))
      )
        throw mismatchError(`items[${k}].columns`, existingLayout?.columns ?? "left out", requestedLayout?.columns ?? "undefined");
    });
    const { length } = existing.items;
    if (requested.items.length !== length) throw mismatchError("items", countText(length, "rule"), show(requested.items.length));
  }
}

/** Compares two options. Priorities from a leaf are objects. */
const isSameOption = (one: unknown, two: unknown) => one === two || JSON.stringify(one) === JSON.stringify(two);

/** The properties in which two rules can differ, apart from their columns. */
const RULE: readonly (keyof ResolvedRule)[] = ["table", "nStep", "burnIn", "length", "stride", "priority", "finite"];

/** Returns the tables of `length` rules without a priority, one element per rule. Items of these rules get priority 1. */
function defaultPriorityTables(items: AnyOptions["items"] = []): string[] {
  return (items as readonly ItemRule[]).flatMap((rule) =>
    rule.priority === undefined && rule.nStep === undefined && rule.sequence === undefined ? [rule.table] : [],
  );
}
