/** Rules: which items a writer makes of its steps. */

import { finite, flag, integer, mustBe, oneOfRule, onlyKeys } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { Engine } from "../memory/engine.ts";
import { checkSteps } from "../schema/columns.ts";
import { SELECTOR_KINDS } from "../schema/selector.ts";
import type { AnyTable } from "./table.ts";

interface AnyRule<TableName extends string> {
  readonly table: TableName;
  /** "max" is the larger of 1 and every priority given to a live item of the table since it was made or cleared. Default: 1; for `nStep` on a prioritized table "max". */
  readonly priority?: number | "max";
}

/**
 * Makes an item of the last `length` steps whenever an episode has reached `length`, `length + stride`, … steps; of a writer that is `across`, whenever the lane has.
 * A final step is one of them, but begins no item.
 */
export interface LengthRule<TableName extends string = string, Columns = object> extends AnyRule<TableName> {
  readonly length: number;
  /** Steps between the starts of two items. Default: 1. */
  readonly stride?: number;
  /** What a batch contains of these items unless `sample` asks for other columns. Default: every leaf of every step. */
  readonly columns?: Columns;
  readonly nStep?: never;
  readonly finite?: never;
}

/**
 * Makes one item of each step: a transition of n steps, of fewer where the episode ends before. It has a row more than steps, the one that the return bootstraps from.
 * An item is made when its last row arrives. Episodes end by `endEpisode({ final, terminated })`, or by what `append` and `appendColumns` have in its place.
 */
export interface NStepRule<TableName extends string = string> extends AnyRule<TableName> {
  readonly nStep: number;
  /** Whether rewards must be finite numbers. Default: true. */
  readonly finite?: boolean;
  readonly length?: never;
  readonly stride?: never;
  readonly columns?: never;
}

export type ItemRule<TableName extends string = string, Columns = object> = LengthRule<TableName, Columns> | NStepRule<TableName>;

export interface WriterOptions<TableName extends string = string, Columns = object> {
  /** The name by which a later run finds this writer again, after `Replay.open` or `Replay.restore`. One open writer has it at a time. Default: none. */
  readonly name?: string;
  /** Number of steps in the writer's window, which is the maximum length of an item. Default: the longest rule, but at least 32. */
  readonly keep?: number;
  /**
   * Number of environments in lock-step. With more than one, every value has a leading dimension of that length. With 1 it may have one, so that code for vector
   * environments runs with one environment. Default: one environment, whose values have none.
   */
  readonly lanes?: number;
  /** Rules that make items of the appended steps. An empty list says that there are none on purpose: no warning of episodes without items. */
  readonly items?: readonly ItemRule<TableName, Columns>[];
  /**
   * Whether items may span episodes: then `endEpisode` keeps the writer's window, and rules of `length` count the steps of the lane. Transitions stay in their episodes.
   * Default: false.
   */
  readonly across?: boolean;
  /**
   * How the environments of several lanes begin anew, as Gymnasium's vector environments call it. "nextStep": by the next step, which then is the final one of the episode
   * that ended; the items of one that terminated are made before, and that step fills in what was seen last. "sameStep": at once; "disabled": when they are told to. Both give what was seen last as `final`. With `nStep` rules it must be said. Default: "disabled".
   */
  readonly autoreset?: "nextStep" | "sameStep" | "disabled";
}

/** A rule with all defaults filled in. */
export interface ResolvedRule {
  readonly table: string;
  readonly length: number;
  readonly stride: number;
  readonly priority: number | "max";
  /** 0: a rule of `length`. */
  readonly nStep: number;
  readonly finite: boolean;
}

/** A writer's options with all defaults filled in, as a snapshot stores them. */
export interface ResolvedWriterOptions {
  readonly keep: number;
  readonly lanes: number;
  readonly items: readonly ResolvedRule[];
  /** The column layout of each rule's items. */
  readonly layouts: readonly number[];
  readonly across: boolean;
  readonly autoreset: "nextStep" | "sameStep" | "disabled";
  /** Left out of a writer without a name. */
  readonly name?: string;
}

const DEFAULT_KEEP = 32;
const AUTORESETS = ["nextStep", "sameStep", "disabled"] as const;

/** Checks the options of a writer and fills in the defaults. */
export function resolveWriterOptions(engine: Engine, tables: ReadonlyMap<string, AnyTable>, options: WriterOptions): ResolvedWriterOptions {
  const { items = [], keep, lanes = 1, across = false, autoreset, name } = onlyKeys("writer", options, "keep, lanes, items, across, autoreset, name");
  if (name !== undefined) mustBeName(name);
  if (!Array.isArray(items)) throw mustBe(TypeError, "items", "an array of rules", items);
  const rules = (items as readonly ItemRule[]).map((rule, k) => resolveRule(engine, tables, rule, `items[${k}]`));
  const longest = Math.max(1, ...rules.map((rule) => rule.length));
  const layouts: number[] = [];
  (items as readonly ItemRule[]).forEach(({ columns }, k) => {
    const number = columns === undefined ? 0 : engine.columnLayouts.numberOf(columns, layouts);
    const { length = 0 } = rules[k] ?? {};
    checkSteps(`items[${k}].columns`, engine.columnLayouts.get(number)?.selections ?? [], length, `the rule makes items of ${length} steps`);
    layouts.push(number);
  });
  integer("lanes", lanes, 1, 65536);
  const isRequired = lanes > 1 && rules.some(({ nStep }) => nStep > 0);
  if (autoreset === undefined ? isRequired : !AUTORESETS.includes(autoreset)) {
    const reason = isRequired ? ", which says how the environments of the lanes begin anew after an episode" : "";
    throw mustBe(autoreset === undefined ? TypeError : RangeError, "autoreset", `${oneOfRule(AUTORESETS)}${reason}`, autoreset);
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
  const keys = isNStep ? "table, nStep, priority, finite" : "table, length, stride, priority, columns, nStep";
  const { table, length, stride = 1, nStep = 0, finite: onlyFinite = true } = onlyKeys(subject, rule, keys);
  const to = tables.get(table);
  if (to === undefined) throw unknownTable(table, tables.keys(), `${subject}.table`);
  const { priority = isNStep && SELECTOR_KINDS[to.options.sampler.kind].weighs ? "max" : 1 } = rule;
  if (length === undefined && !isNStep) throw mustBe(TypeError, subject, "a rule with length (windows of so many steps) or nStep (transitions)", rule);
  if (isNStep) {
    integer(`${subject}.nStep`, nStep, 1, MAX_LENGTH - 1);
    const caller = `${subject} (nStep: ${nStep})`;
    engine.roles.required("observation", caller);
    engine.roles.required("action", caller);
    engine.roles.number("reward", caller);
  }
  return {
    table,
    length: isNStep ? nStep + 1 : integer(`${subject}.length`, length, 1, MAX_LENGTH),
    stride: integer(`${subject}.stride`, stride, 1, MAX_LENGTH),
    priority: priority === "max" ? priority : finite(`${subject}.priority`, priority, 0),
    nStep,
    finite: flag(`${subject}.finite`, onlyFinite) !== 0,
  };
}

/** The leaf whose values must be finite, by its number. */
export function finiteReward(engine: Engine, items: readonly ResolvedRule[]): number | undefined {
  return items.some(({ nStep, finite }) => nStep > 0 && finite) ? engine.roles.optional("reward")?.index : undefined;
}

export function unknownTable(name: unknown, tables: Iterable<string>, subject = "table"): Error {
  const names = [...tables];
  return mustBe("NOT_FOUND", subject, names.length === 0 ? "the name of a table, but there are none" : oneOfRule(names), name);
}

export interface ItemOptions<Columns = object> {
  /** The item consists of the last `length` steps. */
  readonly length: number;
  /** Default: 1. */
  readonly priority?: number;
  /** The lane of the steps. Default: 0. */
  readonly lane?: number;
  readonly columns?: Columns;
}

const ITEM_OPTIONS = { length: 0, priority: 0, lane: 0, columns: 0 };

/** The options of `createItem`, checked. Allocates nothing. @throws TypeError */
export function checkItemOptions<T>(options: T): T {
  const isObject = typeof options === "object" && options !== null;
  if (isObject) for (const key in options) if (!(key in ITEM_OPTIONS)) return onlyKeys("item", options, Object.keys(ITEM_OPTIONS).join(", "));
  return isObject ? options : onlyKeys("the second argument of createItem", options, Object.keys(ITEM_OPTIONS).join(", "));
}
