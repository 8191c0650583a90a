/** Checks the rules of a writer, which define the items that the writer makes from its steps. */

import { LARGEST, PRIORITY_LEAF_BITS } from "../base/abi.ts";
import { finite, flag, integer, mustBe, oneOfRule, onlyKeys, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { Engine } from "../memory/engine.ts";
import { checkSteps, leafAt } from "../schema/columns.ts";
import { isText } from "../schema/leaf.ts";
import { SELECTOR_KINDS } from "../schema/selector.ts";
import type { AnyTable } from "./table.ts";

interface AnyRule<TableName extends string, Path extends string> {
  readonly table: TableName;
  /**
   * The priority of new items. "max" is the highest priority that a live item of the table has received since the table was created or cleared, and at least 1.
   * An object with `leaf` uses that leaf's value in the item's first step. With `remover: minHeap()`, the table then keeps the items with the largest values.
   * Default: "max" for `nStep` and `sequence` rules of a prioritized table, otherwise 1.
   */
  readonly priority?: number | "max" | LeafPriority<Path>;
}

/** A priority that is the value of a leaf with one number per step. */
export interface LeafPriority<Path extends string = string> {
  /** The path of the leaf. Its value must be at least 0 in every step except final steps. Add an offset to values that can be negative. */
  readonly leaf: Path;
}

/**
 * A rule that makes an item from the last `length` steps when an episode reaches `length`, `length + stride` … steps. With `across`, the steps of the lane
 * count instead. A final step counts as a step, but no item begins with it.
 */
export interface LengthRule<TableName extends string = string, Columns = object, Path extends string = string> extends AnyRule<TableName, Path> {
  readonly length: number;
  /** The number of steps between the starts of two items. Default: 1. */
  readonly stride?: number;
  /** The columns of the rule's items in a batch, unless `sample` selects other columns. Default: every leaf of every step. */
  readonly columns?: Columns;
  readonly nStep?: never;
  readonly sequence?: never;
  readonly finite?: never;
}

/**
 * A rule that makes one transition per step. A transition has n steps, or fewer if the episode ends earlier, and one more row, from which the return
 * bootstraps. An item is made when its last row is appended. End episodes with `endEpisode({ final, terminated })`, or with the equivalent options of `append`
 * and `appendColumns`.
 */
export interface NStepRule<TableName extends string = string, Path extends string = string> extends AnyRule<TableName, Path> {
  readonly nStep: number;
  /** Whether rewards must be finite numbers. Default: true. */
  readonly finite?: boolean;
  readonly length?: never;
  readonly sequence?: never;
  readonly stride?: never;
  readonly columns?: never;
}

/** The sequences of a rule (R2D2, Kapturowski et al., 2019; Acme's SequenceAdder). */
export interface SequenceOptions {
  /** The number of steps of a sequence, at least burnIn + 2. It includes the burn-in and the last step, from which returns bootstrap. */
  readonly length: number;
  /** The number of steps at the beginning of a sequence that only warm up the state of a recurrent network, at most 32,766. Default: 0. */
  readonly burnIn?: number;
  /**
   * The number of steps between the starts of two sequences, at most length - burnIn - 1. Default: that maximum, so that each step is a learning step of one
   * sequence.
   */
  readonly stride?: number;
}

/**
 * A rule that makes sequences, so that each step of an episode is a learning step of at least one sequence. The rule makes a sequence when the episode has
 * `length`, `length + stride` … steps, and a shorter sequence from the remaining steps at the end. A learning step is a step after the burn-in that is followed
 * by another step. The first sequence of an episode has no burn-in.
 *
 * With `across`, sequences continue past the ends of episodes. In that case, only the first sequence of a lane has no burn-in, and `close()` makes the shorter
 * sequence. Episodes end as with `nStep` rules. `table.sequences()` shows the sequences.
 */
export interface SequenceRule<TableName extends string = string, Path extends string = string> extends AnyRule<TableName, Path> {
  readonly sequence: SequenceOptions;
  /** Whether rewards must be finite numbers. Default: true. */
  readonly finite?: boolean;
  readonly length?: never;
  readonly nStep?: never;
  readonly stride?: never;
  readonly columns?: never;
}

export type ItemRule<TableName extends string = string, Columns = object, Path extends string = string> =
  | LengthRule<TableName, Columns, Path>
  | NStepRule<TableName, Path>
  | SequenceRule<TableName, Path>;

export interface WriterOptions<TableName extends string = string, Columns = object, Path extends string = string> {
  /** The name under which a later run finds this writer, after `Replay.open` or `Replay.restore`. It must be unique among open writers. Default: no name. */
  readonly name?: string;
  /** The number of steps in the writer's window, which is the maximum length of an item. Default: the length of the longest rule, or 32 if that is larger. */
  readonly keep?: number;
  /**
   * The number of environments in lock-step. With more than one environment, every value has a leading dimension of that length. With 1, the dimension is
   * optional, so that code for vector environments also runs with one environment. Default: one environment, without the dimension.
   */
  readonly lanes?: number;
  /**
   * The rules that make items of the appended steps. Pass an empty list if you do not want rules. The empty list silences the warning about episodes without
   * items. Default: no rules.
   */
  readonly items?: readonly ItemRule<TableName, Columns, Path>[];
  /**
   * Whether items may span episodes. If true, `endEpisode` keeps the writer's window, and `length` rules count the steps of the lane. Transitions stay within
   * their episodes. Default: false.
   */
  readonly across?: boolean;
  /**
   * The autoreset mode of the environments of several lanes, as in Gymnasium's vector environments. With "nextStep", the next step is the final step of the
   * ended episode. Items of a terminated episode are made before that step, which fills in the last observation. With "sameStep", environments reset within the
   * same step. With "disabled", the program resets the environments. With "sameStep" and "disabled", pass the last observation as `final`. Required if a writer
   * with several lanes has `nStep` or `sequence` rules. Otherwise, the default is "disabled".
   */
  readonly autoreset?: "nextStep" | "sameStep" | "disabled";
}

/** A rule with all defaults filled in. */
export interface ResolvedRule {
  readonly table: string;
  readonly length: number;
  readonly stride: number;
  readonly priority: number | "max" | LeafPriority;
  /** The option `nStep`: the number of rewards of a transition; 0 for a `length` or `sequence` rule. */
  readonly nStep: number;
  readonly finite: boolean;
  /** The number of burn-in steps. Set only for a `sequence` rule. */
  readonly burnIn?: number;
}

/** A writer's options with all defaults filled in, as a snapshot stores them. */
export interface ResolvedWriterOptions {
  readonly keep: number;
  readonly lanes: number;
  readonly items: readonly ResolvedRule[];
  /** The number of the column layout of each rule's items. */
  readonly layouts: readonly number[];
  readonly across: boolean;
  readonly autoreset: "nextStep" | "sameStep" | "disabled";
  /** The name of the writer. Absent for a writer without a name. */
  readonly name?: string;
}

const DEFAULT_KEEP = 32;
/** The largest burn-in for which slots have room (assembly/tables/slots.ts). */
const MAX_BURN_IN = 32766;
const AUTORESETS = ["nextStep", "sameStep", "disabled"] as const;

/** Checks the options of a writer, and fills in the defaults. @throws TypeError, RangeError, ReplayError */
export function resolveWriterOptions(engine: Engine, tables: ReadonlyMap<string, AnyTable>, options: WriterOptions): ResolvedWriterOptions {
  const { items = [], keep, lanes = 1, across = false, autoreset, name } = onlyKeys("writer", options, "keep, lanes, items, across, autoreset, name");
  if (name !== undefined) mustBeName(name);
  if (!Array.isArray(items)) throw mustBe(TypeError, "items", "an array of rules", items);
  const rules = (items as readonly ItemRule[]).map((rule, k) => resolveRule(engine, tables, rule, `items[${k}]`));
  // The window also needs the previous step, which shows whether a sequence across episodes begins with the first step of an episode.
  const longest = Math.max(1, ...rules.map((rule) => rule.length + Number(across === true && rule.burnIn !== undefined)));
  const layouts: number[] = [];
  (items as readonly ItemRule[]).forEach(({ columns }, k) => {
    const number = columns === undefined ? 0 : engine.columnLayouts.numberOf(columns, layouts);
    const { length = 0 } = rules[k] ?? {};
    checkSteps(`items[${k}].columns`, engine.columnLayouts.get(number)?.selections ?? [], length, `the rule makes items of ${length} steps`);
    layouts.push(number);
  });
  integer("lanes", lanes, 1, 65536);
  const isRequired = lanes > 1 && rules.some(hasReturns);
  if (autoreset === undefined ? isRequired : !AUTORESETS.includes(autoreset)) {
    const reason = isRequired ? ", which sets how the environments of the lanes reset after an episode" : "";
    throw mustBe(autoreset === undefined ? TypeError : RangeError, "autoreset", `${oneOfRule(AUTORESETS)}${reason}`, autoreset, AUTORESETS);
  }
  return {
    keep: integer("keep", keep ?? Math.max(DEFAULT_KEEP, longest), longest, MAX_LENGTH),
    lanes,
    items: rules,
    layouts,
    across: flag("across", across) !== 0,
    autoreset: autoreset ?? "disabled",
    ...(name !== undefined && { name }),
  };
}

function mustBeName(name: unknown): void {
  if (typeof name !== "string" || name === "") throw mustBe(name === "" ? RangeError : TypeError, "name", "a non-empty string", name);
}

function resolveRule(engine: Engine, tables: ReadonlyMap<string, AnyTable>, rule: ItemRule, subject: string): ResolvedRule {
  const isNStep = rule?.nStep !== undefined;
  const isSequence = rule?.sequence !== undefined;
  const keys = isSequence
    ? "table, sequence, priority, finite"
    : isNStep
      ? "table, nStep, priority, finite"
      : "table, length, stride, priority, columns, nStep, sequence";
  const { table, length, stride = 1, nStep = 0, sequence, finite: onlyFinite = true } = onlyKeys(subject, rule, keys);
  const to = tables.get(table);
  if (to === undefined) throw unknownTable(table, tables.keys(), `${subject}.table`);
  const { priority = (isNStep || isSequence) && SELECTOR_KINDS[to.options.sampler.kind].weighs ? "max" : 1 } = rule;
  const hasForm = length !== undefined || isNStep || isSequence;
  if (!hasForm) throw mustBe(TypeError, subject, "a rule with length (windows of that many steps), nStep (transitions) or sequence", rule);
  const sequences = sequence === undefined ? undefined : resolveSequence(sequence, `${subject}.sequence`);
  if (isNStep || isSequence) {
    if (isNStep) integer(`${subject}.nStep`, nStep, 1, MAX_LENGTH - 1);
    const caller = `${subject} (${isNStep ? `nStep: ${nStep}` : "sequence"})`;
    engine.roles.required("observation", caller);
    engine.roles.required("action", caller);
    engine.roles.rewards(caller);
  }
  return {
    table,
    length: isNStep ? nStep + 1 : isSequence ? 0 : integer(`${subject}.length`, length, 1, MAX_LENGTH),
    stride: integer(`${subject}.stride`, stride, 1, MAX_LENGTH),
    priority: resolvePriority(engine, priority, `${subject}.priority`),
    nStep,
    finite: flag(`${subject}.finite`, onlyFinite) !== 0,
    ...sequences,
  };
}

function resolvePriority(engine: Engine, priority: number | "max" | LeafPriority, subject: string): ResolvedRule["priority"] {
  if (priority === "max") return priority;
  if (typeof priority !== "object" || priority === null) return finite(subject, priority, 0);
  const { leaf: path } = onlyKeys(subject, priority, "leaf");
  const { leaf, size } = leafAt(`${subject}.leaf`, engine.layout.leaves, path);
  if (size !== 1 || leaf.shared !== undefined || leaf.packed !== undefined || isText(leaf))
    throw mustBe("SPEC_MISMATCH", `${subject}.leaf`, "an unshared leaf with one number per step", path);
  return { leaf: path };
}

/** Returns a rule's priority as the core expects it. */
export function corePriority(engine: Engine, priority: ResolvedRule["priority"]): { readonly priority: number; readonly flags: number } {
  if (typeof priority === "number") return { priority, flags: 0 };
  if (priority === "max") return { priority: 1, flags: LARGEST };
  return { priority: 1, flags: (leafAt("leaf", engine.layout.leaves, priority.leaf).index + 1) << PRIORITY_LEAF_BITS };
}

/** Returns the error for a value that cannot be a priority. */
export function noPriority({ table, priority }: ResolvedRule, value: unknown): Error {
  const rule = `a finite number >= 0, with a weight (priority^exponent) of at most 2^990, because a rule for table ${show(table)} uses it as the priority of its items`;
  return mustBe("INVALID_DATA", (priority as LeafPriority).leaf, [rule, "Add an offset to the values"], value);
}

/** Returns the checked options of a sequence, with defaults. @throws TypeError, RangeError if an option is invalid */
function resolveSequence(sequence: SequenceOptions, subject: string): Pick<ResolvedRule, "length" | "stride"> & { readonly burnIn: number } {
  const { length, burnIn = 0, stride } = onlyKeys(subject, sequence, "length, burnIn, stride");
  integer(`${subject}.burnIn`, burnIn, 0, MAX_BURN_IN);
  integer(`${subject}.length`, length, burnIn + 2, MAX_LENGTH - 1);
  const longest = length - burnIn - 1;
  if (stride !== undefined && stride > longest) {
    const rule = `an integer in 1 … ${longest} (length - burnIn - 1), so that no step is skipped`;
    throw mustBe(typeof stride === "number" ? RangeError : TypeError, `${subject}.stride`, rule, stride);
  }
  return { length, burnIn, stride: integer(`${subject}.stride`, stride ?? longest, 1, longest) };
}

/** Returns whether returns are computed from the items of a rule. If so, rewards and the ends of episodes are required. */
export function hasReturns({ nStep, burnIn }: ResolvedRule): boolean {
  return nStep > 0 || burnIn !== undefined;
}

/** Returns the number of the reward leaf, whose values must be finite; undefined if no rule requires finite rewards. */
export function finiteReward(engine: Pick<Engine, "roles">, items: readonly ResolvedRule[]): number | undefined {
  return items.some((rule) => hasReturns(rule) && rule.finite) ? engine.roles.optional("reward")?.index : undefined;
}

export function unknownTable(name: unknown, tables: Iterable<string>, subject = "table"): Error {
  const names = [...tables];
  return mustBe("NOT_FOUND", subject, names.length === 0 ? "the name of a table, but the Replay has no tables" : oneOfRule(names), name, names);
}

export interface ItemOptions<Columns = object> {
  /** The number of steps of the item, which ends with the newest step. */
  readonly length: number;
  /**
   * The priority of the item. "max" is the highest priority that a live item of the table has received since the table was created or cleared, and at least 1.
   * Default: 1.
   */
  readonly priority?: number | "max";
  /** The lane of the steps. Default: 0. */
  readonly lane?: number;
  readonly columns?: Columns;
}

/** Checks a priority. @throws TypeError, RangeError if it is neither "max" nor a finite number of at least 0 */
export function checkPriority(priority: number | "max"): void {
  if (typeof priority === "string" && priority !== "max") throw mustBe(TypeError, "priority", 'a finite number, or "max"', priority);
  if (priority !== "max") finite("priority", priority, 0);
}

const ITEM_OPTIONS = { length: 0, priority: 0, lane: 0, columns: 0 };

/** Checks the options of `createItem`, and returns them. Allocates nothing. @throws TypeError if they are not an object, or have an unknown key */
export function checkItemOptions<T>(options: T): T {
  const isObject = typeof options === "object" && options !== null;
  if (isObject) for (const key in options) if (!(key in ITEM_OPTIONS)) return onlyKeys("item", options, Object.keys(ITEM_OPTIONS).join(", "));
  return isObject ? options : onlyKeys("the second argument of createItem", options, Object.keys(ITEM_OPTIONS).join(", "));
}
