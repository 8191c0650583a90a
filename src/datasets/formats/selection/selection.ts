/** Selects and renames the columns of a file, and replaces their nulls. Every reader has the same options for this. */
import { addSentence, mustBe } from "../../../base/error.ts";
import { FINAL_STEP, statedFinalStep } from "../../model/final-step.ts";
import { type Field, fieldOf } from "../columns/names.ts";

/** A value that replaces nulls. */
export type NullValue = number | bigint | boolean | string;

/**
 * The options with which every reader selects columns. A column is named by its name in the file or by its path in a step, with dots or slashes. The name of a
 * group selects all columns in the group.
 */
export interface SelectionOptions {
  /** The columns to omit. These columns are not decoded. Default: none. */
  readonly without?: readonly string[];
  /**
   * The step columns to read. All other step columns are omitted. Default: all. If no part of an RLDS field is named, the whole field is read. Metadata of
   * episodes and columns that mark the beginnings or ends of episodes are always read.
   */
  readonly only?: readonly string[];
  /** The new names of columns, by old name, such as `{ state: "observation/state" }`. */
  readonly rename?: { readonly [column: string]: string };
  /** The values that replace nulls in Parquet and JSON, and empty cells in CSV, by column. */
  readonly null?: { readonly [column: string]: NullValue };
}

/** The names of the selection options, for lists in messages. */
export const SELECTION_OPTIONS = "without, only, rename, null";

/** The fields that `only` restricts. All other fields mark the beginnings or ends of episodes. */
const VALUES: readonly (Field | undefined)[] = ["observation", "action", "reward", "discount"];
/** The maximum number of names in an error. */
const MAX_NAMES = 40;

interface Rule {
  readonly option: keyof SelectionOptions;
  /** The name as the caller passed it. */
  readonly name: string;
  readonly path: string;
  /** The path with RLDS names. */
  readonly stepPath: string;
  isUsed: boolean;
  /** Whether a column with exactly this name exists. */
  isLiteral: boolean;
}

interface RenameRule extends Rule {
  readonly keys: readonly string[];
}

interface NullRule extends Rule {
  readonly value: NullValue;
}

interface Choice {
  /** The new path. Undefined for a column that is left out. */
  readonly keys: readonly string[] | undefined;
  readonly nullValue: NullValue | undefined;
}

export class Selection {
  /** Whether every column is unchanged. */
  readonly isEmpty: boolean;
  readonly #without: readonly Rule[];
  readonly #only: readonly Rule[] | undefined;
  readonly #renamed: readonly RenameRule[];
  readonly #nulls: readonly NullRule[];
  readonly #choices = new Map<string, Choice>();
  readonly #metadataChoices = new Map<string, Choice>();

  /** @throws TypeError for an invalid option */
  constructor(options: SelectionOptions) {
    this.#without = namesOf("without", options.without) ?? [];
    this.#only = namesOf("only", options.only);
    this.#renamed = entriesOf("rename", options.rename, "a non-empty string", (value) => typeof value === "string" && value !== "").map(
      ({ value, ...rule }) => ({
        ...rule,
        keys: splitPath(value as string),
      }),
    );
    this.#nulls = entriesOf("null", options.null, "a number, a string or a boolean", (value) =>
      ["number", "bigint", "boolean", "string"].includes(typeof value),
    ) as NullRule[];
    this.isEmpty = this.#without.length + this.#renamed.length + this.#nulls.length === 0 && this.#only === undefined;
  }

  /**
   * Returns the names under which a column is read, or undefined for a column that is left out. @param keys the names in the file @param field the path in a
   * step, if the names do not determine the path
   */
  keysOf(keys: readonly string[], field?: readonly string[]): readonly string[] | undefined {
    return this.isEmpty ? keys : this.#choiceOf(keys, field).keys;
  }

  /** Does the same as `keysOf` for an episode's metadata, which `only` does not affect. */
  metadataKeysOf(keys: readonly string[], field?: readonly string[]): readonly string[] | undefined {
    return this.isEmpty ? keys : this.#choiceOf(keys, field, true).keys;
  }

  /** Whether the option `only` is set. */
  get hasOnly(): boolean {
    return this.#only !== undefined;
  }

  /** Returns the replacement for nulls of a column, or undefined if no option sets a replacement. */
  nullOf(keys: readonly string[], field?: readonly string[]): NullValue | undefined {
    return this.isEmpty ? undefined : this.#choiceOf(keys, field).nullValue;
  }

  /** Records the names of existing columns. An option with such a name selects exactly that column, and no other column of the same field. */
  note(columns: readonly (readonly string[])[]): void {
    const paths = columns.map(pathOf);
    for (const rule of this.#rules) if (paths.some((path) => isWithin(path, rule.path))) rule.isLiteral = true;
  }

  /** Returns whether a column was renamed. */
  isRenamed(keys: readonly string[]): boolean {
    return this.#renameOf(keys) !== undefined;
  }

  /** Checks that every name in the options matched a column. @param unread the parts of the files that were not read @throws RangeError if a name did not */
  check(unread: readonly UnreadPart[] = []): void {
    const unused = this.#rules.find(({ isUsed }) => !isUsed);
    if (unused === undefined) return;
    const paths = new Set([...this.#choices.keys(), ...this.#metadataChoices.keys()]);
    const names = [...paths].map((path) => path.replaceAll("\0", "/"));
    const text = names.slice(0, MAX_NAMES).join(", ") + (names.length > MAX_NAMES ? ", …" : "");
    const error = mustBe(RangeError, unused.option, `column names (${text || "there are none"})`, unused.name, names);
    const part = unread.find(({ what }) => isWithin(unused.path, what));
    throw part === undefined ? error : Object.assign(error, { message: addSentence(error.message, `The reader skips ${part.what}: ${part.remedy}`) });
  }

  /** Applies the selection to a step in JSON form, and replaces nulls. @throws RangeError if the options remove the kind of an episode's last step */
  value(value: object): object {
    return this.isEmpty ? value : (this.#select(value, [], Object.create(null), false) as object);
  }

  /** Does the same as `value` for an episode's metadata, which `only` does not affect. */
  metadataValue(value: object): object {
    return this.isEmpty ? value : (this.#select(value, [], Object.create(null), true) as object);
  }

  get #rules(): readonly Rule[] {
    return [...this.#without, ...(this.#only ?? []), ...this.#renamed, ...this.#nulls];
  }

  #select(value: object, keys: readonly string[], target: { [name: string]: unknown }, isMetadata: boolean): { [name: string]: unknown } {
    for (const [name, part] of Object.entries(value)) {
      const path = [...keys, name];
      const choice = this.#choiceOf(path, undefined, isMetadata);
      if (typeof part === "object" && part !== null && !Array.isArray(part)) {
        // Values in a group may be moved individually, or with the group.
        this.#select(part, path, target, isMetadata);
        continue;
      }
      if (keys.length === 0 && name === FINAL_STEP) checkFinalStep(part, choice.keys);
      if (choice.keys !== undefined) place(target, choice.keys, part === null && choice.nullValue !== undefined ? choice.nullValue : part);
    }
    return target;
  }

  #choiceOf(keys: readonly string[], field?: readonly string[], isMetadata = false): Choice {
    const id = keys.join("\0");
    const choices = isMetadata ? this.#metadataChoices : this.#choices;
    const known = choices.get(id);
    if (known !== undefined) return known;
    const choice = this.#choose(keys, field, isMetadata);
    choices.set(id, choice);
    return choice;
  }

  #choose(keys: readonly string[], field: readonly string[] | undefined, isMetadata: boolean): Choice {
    const path = pathOf(keys);
    const rename = this.#renameOf(keys);
    if (rename !== undefined) rename.isUsed = true;
    const renamed = rename === undefined ? keys : [...rename.keys, ...splitPath(path).slice(splitPath(rename.path).length)];
    const step = pathsInStep(rename === undefined ? (field ?? keys) : renamed);
    const paths = [path, ...step.paths];
    const matches = (rules: readonly Rule[]) => {
      const found = rules.filter((rule) => isNamed(keys, rule) || paths.some((at) => isWithin(at, rule.path)));
      for (const rule of found) rule.isUsed = true;
      return found;
    };
    const nulls = matches(this.#nulls) as NullRule[];
    const isWhole = isMetadata || path === FINAL_STEP || this.#isWhole(step.field);
    const isKept = matches(this.#without).length === 0 && (this.#only === undefined || matches(this.#only).length > 0 || isWhole);
    return { keys: isKept ? renamed : undefined, nullValue: nulls[0]?.value };
  }

  #renameOf(keys: readonly string[]): RenameRule | undefined {
    return this.#renamed.find((rule) => isNamed(keys, rule));
  }

  /** Returns whether `only` leaves a field unchanged. */
  #isWhole(field: Field | undefined): boolean {
    if (field === undefined) return false;
    const value = field === "next_observation" ? "observation" : field;
    return !VALUES.includes(value) || !(this.#only ?? []).some(({ path }) => pathsInStep(splitPath(path)).field === value);
  }
}

/** @throws RangeError if a value that states the kind of an episode's last step would be lost, and with it the last transition */
function checkFinalStep(value: unknown, keys: readonly string[] | undefined): void {
  if (statedFinalStep({ [FINAL_STEP]: value }) === undefined || keys?.join("/") === FINAL_STEP) return;
  const rule = [`column names other than ${FINAL_STEP}, which states the kind of last steps`, "Set finalStep or --final-step to override it"] as const;
  throw mustBe(RangeError, keys === undefined ? "without" : "rename", rule, FINAL_STEP);
}

/** Returns whether a rule names a column or a group that contains the column. An RLDS name and another name of the same field also match each other. */
function isNamed(keys: readonly string[], rule: Rule): boolean {
  const path = pathOf(keys);
  if (isWithin(path, rule.path)) {
    rule.isLiteral = true;
    return true;
  }
  const stepPath = stepPathOf(path);
  return !rule.isLiteral && (stepPath === path || rule.path === rule.stepPath) && isWithin(stepPath, rule.stepPath);
}

function stepPathOf(path: string): string {
  const [first = "", ...rest] = path.split("/");
  return [fieldOf(first) ?? first, ...rest].join("/");
}

/** A part of the files that a reader leaves out, and the option with which the part is read. */
interface UnreadPart {
  readonly what: string;
  readonly remedy: string;
}

/** The selection that changes nothing. */
export const ALL_COLUMNS = new Selection({});

/** Returns the paths of a column with RLDS names. A next observation has the path of the observation, because options apply to both. */
function pathsInStep(keys: readonly string[]): { readonly paths: readonly string[]; readonly field: Field | undefined } {
  const [first = "", ...rest] = keys.flatMap(splitPath);
  const field = fieldOf(first);
  if (field === undefined) return { paths: [[first, ...rest].join("/")], field };
  const of = (name: string) => [name, ...rest].join("/");
  return { paths: [of(first), of(field), ...(field === "next_observation" ? [of("observation")] : [])], field };
}

export function splitPath(path: string): string[] {
  return path.split(/[./]/);
}

function pathOf(keys: readonly string[]): string {
  return keys.flatMap(splitPath).join("/");
}

function isWithin(path: string, group: string): boolean {
  return path === group || path.startsWith(`${group}/`);
}

function place(target: { [name: string]: unknown }, keys: readonly string[], value: unknown): void {
  let at = target;
  for (const key of keys.slice(0, -1)) {
    const next = Object.hasOwn(at, key) ? at[key] : undefined;
    if (typeof next !== "object" || next === null || Array.isArray(next)) at[key] = Object.create(null);
    at = at[key] as { [name: string]: unknown };
  }
  at[keys.at(-1) as string] = value;
}

function ruleOf(option: Rule["option"], name: string): Rule {
  const path = pathOf([name]);
  return { option, name, path, stepPath: stepPathOf(path), isUsed: false, isLiteral: false };
}

function namesOf(option: "without" | "only", names: readonly string[] | undefined): Rule[] | undefined {
  if (names === undefined) return undefined;
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string" && name !== ""))
    throw mustBe(TypeError, option, "an array of column names", names);
  return names.map((name) => ruleOf(option, name));
}

function entriesOf(option: "rename" | "null", entries: object | undefined, rule: string, fits: (value: unknown) => boolean): (Rule & { value: unknown })[] {
  if (entries === undefined) return [];
  if (typeof entries !== "object" || entries === null || Array.isArray(entries))
    throw mustBe(TypeError, option, "an object with column names as keys", entries);
  return Object.entries(entries).map(([name, value]) => {
    if (!fits(value)) throw mustBe(TypeError, `${option}.${name}`, rule, value);
    return { ...ruleOf(option, name), value };
  });
}
