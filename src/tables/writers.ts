/** The open writers of a Replay: those of this run, and those that it was restored with, which a run finds again by their names. */
import { corrupt, ReplayError, show } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import { CoreStream } from "../memory/stream.ts";
import { type ColumnSet, showAlike } from "../schema/columns.ts";
import type { OpenWriters } from "../storage/saved.ts";
import { type ItemRule, type ResolvedRule, type ResolvedWriterOptions, resolveWriterOptions, type WriterOptions } from "./rules.ts";
import type { AnyTable } from "./table.ts";
import { type AskedOfWriter, internalsOf, Writer } from "./writer.ts";
import type { SavedWriterOptions } from "./writer-internals.ts";

type AnyOptions = WriterOptions<string, ColumnSet<unknown>>;

export class Writers {
  readonly #engine: Engine;
  readonly #tables: ReadonlyMap<string, AnyTable>;
  /** Those that are open, in the order of their creation, with the tables that they have rules without a priority for. */
  readonly #open = new Map<Writer, readonly string[]>();
  /** Those with a name. */
  readonly #named = new Map<string, Writer>();
  /** Those of an earlier run that nobody has asked for by name, and where each stood when it was restored. */
  readonly #left = new Map<Writer, string>();

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

  /**
   * A new writer, or the one of an earlier run that has the name.
   * @throws ReplayError OUT_OF_TURN for a name that a writer of this run has · SPEC_MISMATCH where the writer of that name has other options; and as `replay.writer`
   */
  writer(options: AnyOptions): Writer {
    const resolved = resolveWriterOptions(this.#engine, this.#tables, options);
    const known = this.#called(resolved.name);
    if (known === undefined) return this.#made(resolved, options);
    this.#mustMatch(known, resolved);
    this.#left.delete(known);
    this.#count(known, bareTables(options.items));
    return known;
  }

  /** A new writer. One of an earlier run that has the name is closed: for an environment that cannot go on. @throws as `writer`, but for SPEC_MISMATCH */
  renewed(options: AnyOptions): Writer {
    const resolved = resolveWriterOptions(this.#engine, this.#tables, options);
    this.#called(resolved.name)?.close();
    return this.#made(resolved, options);
  }

  /** @throws ReplayError OUT_OF_TURN for a name that a writer of this run has */
  mustBeFree(name: string | undefined): void {
    this.#called(name);
  }

  /** Opens a writer of an earlier run, whose state comes later. @throws ReplayError CORRUPT for a name that is none, or another's */
  adopt(options: SavedWriterOptions): void {
    const { name } = options;
    if (name !== undefined && (typeof name !== "string" || name === "" || this.#named.has(name)))
      throw corrupt("the list of writers contradicts itself", `${show(name)} is no name of one writer`);
    // An empty list of rules, or one lane, may be on purpose: it is not known any more.
    this.#left.set(this.#add(options, [], { createsItems: options.items.length === 0, isVector: true }), "");
  }

  /** The state of those that were adopted is there. @param isCopy whether the run that they are of may go on */
  restored(writers: OpenWriters, isCopy = false): void {
    for (const writer of [...this.#left.keys()]) {
      const { name, items } = writer.options;
      internalsOf(writer).resume();
      if (writers === "close") writer.close();
      // Who looks at a copy loses nothing by a writer that makes no items by itself.
      else if (isCopy && name === undefined && items.length === 0) this.#left.delete(writer);
      else this.#left.set(writer, this.#standing(writer));
    }
  }

  /** Whether there are some of an earlier run, without a name, that nobody has gone on with. */
  get hasLeft(): boolean {
    return this.#leftWithoutName().length > 0;
  }

  /** The writer of an earlier run that has a name. */
  #called(name: string | undefined): Writer | undefined {
    const known = name === undefined ? undefined : this.#named.get(name);
    if (known === undefined || this.#left.has(known)) return known;
    throw new ReplayError(
      "OUT_OF_TURN",
      `name must be one that no open writer of this run has, got ${show(name)}: close() that one first, or use another name`,
    );
  }

  #made(resolved: ResolvedWriterOptions, { items, lanes }: AnyOptions): Writer {
    const writer = this.#add(resolved, bareTables(items), { createsItems: items?.length === 0, isVector: lanes !== undefined });
    this.#warnOfLeft();
    return writer;
  }

  #add(options: SavedWriterOptions, bare: readonly string[], asked: AskedOfWriter): Writer {
    const onClose = () => {
      this.#count(writer, []);
      this.#open.delete(writer);
      this.#left.delete(writer);
      if (options.name !== undefined) this.#named.delete(options.name);
    };
    const writer: Writer = new Writer(this.#engine, this.#tables, options, onClose, asked);
    this.#open.set(writer, []);
    this.#count(writer, bare);
    if (options.name !== undefined) this.#named.set(options.name, writer);
    return writer;
  }

  /** Notes the tables that a writer has rules without a priority for. */
  #count(writer: Writer, bare: readonly string[]): void {
    this.#engine.countBare(this.#open.get(writer) ?? [], -1);
    this.#engine.countBare(bare, 1);
    this.#open.set(writer, bare);
  }

  #warnOfLeft(): void {
    const left = this.#leftWithoutName();
    if (left.length === 0 || !this.#engine.warnings.first("leftWriters")) return;
    const many = left.length === 1 ? "one writer of an earlier run is" : `${left.length} writers of an earlier run are`;
    const why = `${many} still open without a name, beside a new one: the last items of open episodes are not made, and their steps stay held`;
    const remedy = 'Name writers, replay.writer({ name }), which gives them back after a restart, or close them: Replay.open({ writers: "close" })';
    this.#engine.warnings.say(`${why}. ${remedy}`);
  }

  #leftWithoutName(): Writer[] {
    return [...this.#left].flatMap(([writer, stood]) => (writer.options.name === undefined && this.#standing(writer) === stood ? [writer] : []));
  }

  /** Where a writer's lanes stand: another text once it was used. */
  #standing(writer: Writer): string {
    return writer.streams
      .map((handle) => {
        const { newest, episodeSteps, length } = new CoreStream(this.#engine, handle);
        return `${newest} ${episodeSteps} ${length}`;
      })
      .join();
  }

  #mustMatch({ options: there }: Writer, asked: ResolvedWriterOptions): void {
    const run = `the writer ${show(asked.name)} of an earlier run`;
    const mustBeAs = (path: string, rule: string, got: string) =>
      new ReplayError("SPEC_MISMATCH", `${path} must be ${rule} as in ${run} (or close that first, or use another name), got ${got}`);
    const differs = (path: string, before: unknown, now: unknown) => mustBeAs(path, show(before), show(now));
    for (const key of ["lanes", "keep", "across", "autoreset"] as const) if (asked[key] !== there[key]) throw differs(key, there[key], asked[key]);
    asked.items.forEach((rule, k) => {
      const other = there.items[k];
      if (other === undefined) return;
      for (const key of RULE) if (rule[key] !== other[key]) throw differs(`items[${k}].${key}`, other[key], rule[key]);
      const [own, before] = [asked, there].map(({ layouts }) => this.#engine.columnLayouts.get(layouts[k] as number));
      if (own !== before && (own === undefined || before === undefined || !showAlike(own.selections, before.selections)))
        throw mustBeAs(`items[${k}].columns`, before?.columns ?? "left out", own?.columns ?? "undefined");
    });
    const { length } = there.items;
    if (asked.items.length !== length) throw mustBeAs("items", `${length} ${length === 1 ? "rule" : "rules"}`, show(asked.items.length));
  }
}

/** What two rules can differ in, besides their columns. */
const RULE: readonly (keyof ResolvedRule)[] = ["table", "nStep", "length", "stride", "priority", "finite"];

/** The tables of rules that leave the priority of items to a default. */
function bareTables(items: AnyOptions["items"] = []): string[] {
  return (items as readonly ItemRule[]).flatMap((rule) => (rule.priority === undefined && rule.nStep === undefined ? [rule.table] : []));
}
