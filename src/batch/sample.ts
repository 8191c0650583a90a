/** Draws items of a table and copies their steps into arrays. */

import { AHEAD, BLOCKED, CROSS, DRAW_LAYOUT, DRAW_LONGEST, E_UNLIKE, HAVE, LAYOUT, LONGEST, NEED, NONE, OWN, SAME_COLUMNS, SIZED } from "../base/abi.ts";
import { flag, integer, mustBe, oneOf, onlyKeys, ReplayError, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import { warnOfIgnored, warnOfLost } from "../base/warnings.ts";
import type { Engine } from "../memory/engine.ts";
import type { CoreTable } from "../memory/table.ts";
import { type ColumnLayout, checkSteps, fitTogether, isBootstrap, joined, jointOf, type Selection, selectionsOf } from "../schema/columns.ts";
import type { AnyArray } from "../schema/dtype.ts";
import type { Selector } from "../schema/selector.ts";
import { Asked, holdsOf, NORMALIZE, OFFSETS, OPTIONS, type SampleOptions } from "./asked.ts";
import type { Batch, Blocked } from "./batch.ts";
import { Draw } from "./draw.ts";
import { type Filler, WEIGHTS } from "./filler.ts";
import { Fillers } from "./fillers.ts";
import { joinRows, normalize, type Rows } from "./joined.ts";
import { type NStep, nStepOf } from "./n-step.ts";

/** A batch of which some draws are a part. */
export interface PartOf<B = Batch<unknown>> {
  readonly n: number;
  readonly options: SampleOptions;
  /** Its first part, if this is not it. */
  readonly first: B | undefined;
}

const NO_OPTIONS: SampleOptions = {};
/** By what DRAW has for it. */
export const BLOCKED_BY = ["", "minSize", "samplesPerInsert", "items", "columns"] as const;

/** How the draws of a call are made. A call that asks for the same again, with the same batch to refill, needs no other choice. */
class Choice {
  /** Of the batch to refill, where it is as good for the next call. */
  filler: Filler | undefined;
  /** The columns of all items, where they have the same; the column layout of the first that will be drawn. */
  selections: readonly Selection[] | undefined;
  first: ColumnLayout | undefined;
  /** SAME_COLUMNS where items of other columns must not come; whether each item shows its own steps. */
  same = 0;
  mixed = false;
}

export class Reader {
  readonly #engine: Engine;
  readonly #table: CoreTable;
  readonly #name: string;
  readonly #fillers: Fillers;
  readonly #selections = new WeakMap<object, readonly Selection[]>();
  readonly #whole: readonly Selection[];
  readonly #ahead: Draw;
  readonly #asked: Asked;
  readonly #choice = new Choice();
  /** Warnings of a call: a logger may call back, so they are said at its end. */
  readonly #unsaid: string[] = [];
  /** Items of the last draw. */
  drawn = 0;

  constructor(engine: Engine, table: CoreTable, name: string, sampler: Selector) {
    this.#engine = engine;
    this.#asked = new Asked(engine, name, sampler);
    this.#table = table;
    this.#name = name;
    this.#fillers = new Fillers(engine);
    this.#whole = this.#fillers.whole;
    this.#ahead = new Draw(engine);
  }

  /** Draws up to n items and gathers their steps. @param of the batch of which these draws are a part @param ahead whether they count later */
  sample(n: number, options: SampleOptions = NO_OPTIONS, of?: PartOf, ahead = false): Batch<unknown> {
    const engine = this.#engine;
    const { handle } = this.#table;
    const asked = this.#asked;
    const choice = this.#choice;
    let drawn: Draw | undefined;
    let filler: Filler;
    let lost = false;
    let isGiven = false;
    // Options are read here, and a getter may call back.
    engine.barred = true;
    try {
      const isSame = asked.read(n, options);
      const selections = this.#selected(asked.columns, this.#table.counter(LAYOUT));
      const before = isSame && of === undefined && choice.selections === selections ? choice.filler : undefined;
      filler = before !== undefined && before.batch === asked.into ? before : this.#choose(selections, of);
      const { among, cross, nStep, holds } = asked;
      const draw = filler.prepare();
      if (holds & WEIGHTS) draw.beta[0] = asked.beta[0] as number;
      const count = draw.sample(handle, n, asked.flags + choice.same + AHEAD * Number(ahead), among);
      if (count < 0) throw refusedDraw(engine, count);
      drawn = draw;
      this.drawn = count;
      const shown = choice.mixed ? this.#shown(draw.slots(count)) : undefined;
      if (asked.into === undefined) filler = this.#narrowed(filler, draw, count, shown, of !== undefined);
      if (holds & WEIGHTS) draw.weigh(handle, asked.divisor);
      draw.runs(handle, count, filler.width, asked.from + CROSS * Number(cross));
      lost = nStep !== undefined && draw.nStep(nStep) > 0;
      filler.show(shown).fill(count);
      filler.batch.blocked = count === n ? undefined : blockedBy(draw);
      isGiven = asked.into === undefined && of === undefined && asked.recycle === false;
    } finally {
      asked.into = undefined;
      engine.barred = false;
      if (drawn !== undefined) {
        drawn.close(handle);
        engine.changed();
      }
    }
    if (lost) warnOfLost(engine.warnings, this.#name);
    if (this.#table.ignoresPriorities && asked.holds & WEIGHTS) warnOfIgnored(engine.warnings, this.#name, this.#table, "beta");
    while (this.#unsaid.length > 0) engine.warnings.say(this.#unsaid.shift() as string);
    return isGiven ? this.#fillers.give(filler) : filler.batch;
  }

  /** Chooses columns, width and filler for what is asked. @param selections of all items, where they have the same @throws ReplayError, RangeError; then nothing is drawn */
  #choose(selections: readonly Selection[] | undefined, of: PartOf | undefined): Filler {
    const { into, length, columns, nStep, n, flags, among, holds } = this.#asked;
    const engine = this.#engine;
    const fillers = this.#fillers;
    const choice = this.#choice;
    choice.filler = undefined;
    let chosen = selections;
    let first: ColumnLayout | undefined;
    const same = chosen === undefined ? SAME_COLUMNS : 0;
    const isFree = into === undefined && length === undefined;
    let longest = isFree ? this.#table.counter(LONGEST) : 0;
    const isLoose = isFree && this.#table.isLoose(n, longest, engine.layout.stagedBytes);
    if (same > 0 || isLoose) {
      const ahead = this.#lookAhead(n, flags + same + SIZED * Number(isLoose), among);
      if (isLoose) longest = ahead.result(DRAW_LONGEST);
      first = engine.columnLayouts.get(ahead.result(DRAW_LAYOUT));
      chosen ??= first?.selections ?? this.#whole;
    }
    if (nStep === undefined && (chosen as readonly Selection[]).some(isBootstrap)) throw new RangeError('columns with at: "bootstrap" need the option nStep');
    const width = length ?? (into === undefined ? undefined : fillers.widthOf(into, chosen as readonly Selection[]));
    // Of items that are alike each shows its own steps.
    choice.mixed = same > 0 && first !== undefined && engine.columnLayouts.alike(first.id) > 1;
    if (choice.mixed) chosen = engine.columnLayouts.jointOf(first as ColumnLayout, width ?? longest);
    const kept = (
      columns === undefined && into !== undefined ? fillers.kept(into, chosen as readonly Selection[], width as number) : chosen
    ) as readonly Selection[];
    choice.mixed ||= kept !== chosen;
    if (of !== undefined) this.#checkPart(of, holds, kept);
    const filler = this.#filler(n, width ?? longest, kept, of !== undefined);
    const isLong = filler.least > 1 || nStep !== undefined;
    if (isLong) this.#longEnough(filler, nStep, width ?? (of === undefined ? this.#table.counter(LONGEST) : MAX_LENGTH), of !== undefined);
    choice.selections = selections;
    choice.first = first;
    choice.same = same;
    if (into !== undefined && of === undefined && same === 0 && !choice.mixed && !isLong) choice.filler = filler;
    return filler;
  }

  #filler(n: number, width: number, selections: readonly Selection[], isPart: boolean): Filler {
    const { into, holds, recycle } = this.#asked;
    if (into === undefined && !isPart) return this.#fillers.fresh(n, width, selections, holds, recycle);
    return this.#fillers.of(into, n, width, selections, holds, isPart);
  }

  /** The filler of what was drawn, where new arrays were prepared for more or longer items. */
  #narrowed(filler: Filler, draw: Draw, count: number, shown: readonly ColumnLayout[] | undefined, isPart: boolean): Filler {
    const { length, recycle } = this.#asked;
    const width = length ?? draw.result(DRAW_LONGEST);
    let chosen = filler.selections;
    if (shown !== undefined) chosen = jointOf(shown[0] ?? (this.#choice.first as ColumnLayout), new Set(shown), width, chosen);
    if (count === filler.n && width >= filler.width && chosen === filler.selections) return filler;
    const narrow = this.#filler(count, width, chosen, isPart);
    narrow.after(filler);
    if (recycle !== false) filler.batch.release();
    else if (!isPart) this.#fillers.give(filler);
    return narrow;
  }

  /** What `checkDraw` leaves out: options about the steps of items. */
  check(options: SampleOptions): void {
    const { length, columns, nStep, cross, mask, offset = "start" } = onlyKeys("sample", options, OPTIONS);
    if (length !== undefined) integer("length", length, 1, MAX_LENGTH);
    if (cross !== undefined) flag("cross", cross);
    if (mask !== undefined) flag("mask", mask);
    if (nStep !== undefined) nStepOf(nStep, this.#engine.layout.leaves);
    oneOf("offset", OFFSETS, offset);
    this.#selected(columns, 0);
  }

  /** The column layouts of slots. @throws ReplayError SPEC_MISMATCH for one that is not known */
  #shown(slots: Uint32Array): ColumnLayout[] {
    const { columnLayouts } = this.#engine;
    return this.#table.layoutsOf(slots).map((id) => {
      const layout = columnLayouts.get(id);
      if (layout === undefined) throw differentColumns();
      return layout;
    });
  }

  /** Some draws of a batch, in arrays of their own. Its weights are as they are: of the whole batch they are divided by the largest. */
  part(n: number, of: PartOf): Batch<unknown> {
    const { into, ...options } = of.options;
    const { normalize: by = "batch" } = options;
    const own: SampleOptions = { ...options, normalize: oneOf("normalize", NORMALIZE, by) === NORMALIZE.batch ? "none" : by };
    if (into === undefined) return this.sample(n, own, of);
    const chosen = this.#selected(options.columns, this.#table.counter(LAYOUT)) ?? this.#whole;
    const length = options.length ?? this.#fillers.widthOf(into, chosen);
    return this.sample(n, { ...own, length, ...(into.mask && { mask: true }) }, of);
  }

  /** The parts of a batch as one, as wide as the widest. @param short whether draws are missing: then the batch says why */
  join(parts: readonly Batch<unknown>[], options: SampleOptions, short: boolean): Batch<unknown> {
    const made = parts.map((part) => this.#fillers.ofPart(part));
    const width = Math.max(...made.map((filler) => filler.width));
    const sets = new Set(made.map((filler) => filler.selections));
    const most = joined((made[0] as Filler).selections, sets, width);
    const { into, columns } = options;
    const selections = columns === undefined && into !== undefined ? this.#fillers.kept(into, most, width) : most;
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    const whole = this.#fillers.of(into, count, width, selections, (made[0] as Filler).holds);
    whole.check();
    const rows = whole.rows();
    joinRows(
      rows,
      made.map((filler) => ({ rows: filler.rows(selections), count: filler.batch.count })),
    );
    if (whole.holds & WEIGHTS && (options.normalize ?? "batch") === "batch") normalize((rows.at(-1) as Rows).data as AnyArray, count);
    if (sets.size > 1 || selections !== most || made.some((filler) => filler.layouts !== undefined)) whole.layouts = made.flatMap((filler) => filler.shown());
    const { batch } = whole;
    batch.count = count;
    batch.blocked = short ? this.#blocked() : undefined;
    return batch;
  }

  /** New arrays for n items, for use as `into`. */
  batch(n: number, options: SampleOptions): Batch<unknown> {
    const { length, columns } = onlyKeys("batch", options, OPTIONS);
    integer("n", n, 1, MAX_LENGTH);
    integer("length", length, 1, MAX_LENGTH);
    const selections = this.#selected(columns, this.#table.counter(LAYOUT));
    if (selections === undefined) throw new ReplayError("SPEC_MISMATCH", "items of this table have, or had, different columns: pass the option columns");
    checkSteps("columns", selections, length as number, `length is ${length}`);
    return this.#fillers.of(undefined, n, length as number, selections, holdsOf(options.beta !== undefined, options.nStep, options.mask)).batch;
  }

  /** Refuses what no item of the table has, and warns of n-step returns that no item is long enough for. */
  #longEnough(filler: Filler, nStep: NStep | undefined, window: number, isPart: boolean): void {
    const longest = this.#table.counter(LONGEST);
    if (longest === 0) return;
    const steps = Math.min(longest, window);
    // Longer ones may be still to come; of a batch that comes in parts they surely may.
    if (filler.least > (isPart ? window : steps) && !(window >= longest && this.#engine.makes(this.#name, filler.least)))
      checkSteps("columns", filler.selections, steps, `${this.#limit(steps, longest)} is ${steps}`);
    if (nStep === undefined) return;
    const own = (nStep.flags & OWN) !== 0;
    const most = own ? steps : steps - 1;
    if (own && most <= nStep.n) this.#sayUnseen(nStep);
    if (most >= nStep.n) return;
    const length = own ? nStep.n : nStep.n + 1;
    const remedy = `make items of ${length} steps, by a rule with length: ${length} or nStep: ${nStep.n}`;
    const limit = this.#limit(steps, longest);
    if (most === 0) {
      const other = 'or set nextState: "own" where a step holds its next observation';
      throw mustBe(RangeError, limit, `at least 2 for nStep, which takes the last step only as the next state (${remedy}, ${other})`, steps);
    }
    if (window >= longest && this.#engine.makes(this.#name, length)) return;
    if (this.#engine.warnings.first("shortReturns"))
      this.#unsaid.push(`nStep with n ${nStep.n} gives returns of at most ${most} steps, because ${limit} is ${steps}: ${remedy}`);
  }

  /** Warns where items end before the final step of their episode, which alone says that it terminated. */
  #sayUnseen({ discount, terminated, n }: NStep): void {
    const { warnings, terminated: said } = this.#engine;
    if (!said || discount !== NONE || terminated !== NONE || !warnings.first("unseenEnds")) return;
    const why = `with nextState: "own" items of up to ${n} steps end before the final step, which says it`;
    const remedy = `Name the leaf that says it as nStep.terminal or nStep.discount, or make items of ${n + 1} steps`;
    this.#unsaid.push(`nStep does not see which episodes of table ${show(this.#name)} terminated: ${why}. ${remedy}`);
  }

  /** What limits a window to so many steps. */
  #limit(steps: number, longest: number): string {
    return steps < longest ? "length" : `the length of the longest item of table ${show(this.#name)}`;
  }

  /** Looks at what a draw would give. @throws ReplayError SPEC_MISMATCH, UNSUPPORTED; then nothing is drawn */
  #lookAhead(n: number, flags: number, among: number): Draw {
    const ahead = this.#ahead;
    ahead.prepare(0, n, 0);
    const count = ahead.peek(this.#table.handle, n, flags, among);
    if (count < 0) throw refusedDraw(this.#engine, count);
    return ahead;
  }

  /** Why the next draw does not pass. */
  #blocked(): Blocked | undefined {
    const ahead = this.#ahead;
    ahead.prepare(0, 1, 0);
    ahead.peek(this.#table.handle, 1, 0, 0);
    return ahead.result(BLOCKED) === 0 ? undefined : blockedBy(ahead);
  }

  /** @throws ReplayError SPEC_MISMATCH where a part has other columns than the first, or the whole batch does not fit into `into`; then nothing is drawn */
  #checkPart({ n, options, first }: PartOf, holds: number, selections: readonly Selection[]): void {
    const before = first && this.#fillers.ofPart(first).selections;
    if (before !== undefined && !((before === this.#whole) === (selections === this.#whole) && fitTogether(before, selections))) throw differentColumns();
    const { into, length, columns } = options;
    if (into === undefined) return;
    const width = length ?? this.#fillers.widthOf(into, selections);
    this.#fillers.of(into, n, width, columns === undefined ? this.#fillers.kept(into, selections, width) : selections, holds).check();
  }

  /** The requested columns, or else those that items of this column layout were created with; undefined if there are several layouts. */
  #selected(columns: object | undefined, id: number): readonly Selection[] | undefined {
    const { layout, columnLayouts } = this.#engine;
    if (columns === undefined) return id === 0 ? this.#whole : columnLayouts.get(id)?.selections;
    const known = this.#selections.get(columns);
    if (known !== undefined) return known;
    const made = selectionsOf(columns, layout.leaves);
    this.#selections.set(columns, made);
    return made;
  }
}

function blockedBy(draw: Draw): Blocked {
  return { by: BLOCKED_BY[draw.result(BLOCKED)] as Blocked["by"], have: draw.result(HAVE), need: draw.result(NEED) };
}

function differentColumns(): ReplayError {
  return new ReplayError(
    "SPEC_MISMATCH",
    "items of this draw have different columns, and nothing was drawn: pass the option columns, or sample fewer items at a time",
  );
}

const NO_STRATA = "stratified needs a uniform or prioritized sampler, replacement and no maxTimesSampled";
const NO_AMONG = "among needs a fifo sampler, a prioritized sampler with a fifo or lifo remover, or a uniform sampler (after deletions, raise among)";

/** Why the core refused a draw. */
export function refusedDraw({ core }: Engine, code: number): ReplayError {
  if (code === E_UNLIKE) return differentColumns();
  return new ReplayError("UNSUPPORTED", core.refusedArgument === 3 ? NO_STRATA : NO_AMONG);
}
