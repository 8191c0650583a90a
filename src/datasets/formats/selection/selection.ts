/** Which columns of a file are read, under which names, and what stands for their nulls: the same in every reader. */
import { mustBe } from "../../../base/error.ts";
import { FINAL_STEP, statedFinalStep } from "../../model/final-step.ts";
import { type Field, fieldOf } from "../columns/names.ts";

/** What may stand for a null. */
export type NullValue = number | bigint | boolean | string;

/** Options of every reader. A column is called as the file calls it, or by its path in a step, with dots or slashes; a group stands for all that is below it. */
export interface SelectionOptions {
  /** Columns that are left out. Nothing of them is decoded. */
  readonly without?: readonly string[];
  /** The only columns of steps that are read. A field of RLDS of which nothing is named stays whole. So do the columns that say where and how episodes end, and metadata of episodes. */
  readonly only?: readonly string[];
  /** New names of columns, such as `{ state: "observation/state" }`. */
  readonly rename?: { readonly [column: string]: string };
  /** What stands for the nulls of a column, in Parquet and JSON, and for the cells without text in CSV. */
  readonly null?: { readonly [column: string]: NullValue };
}

/** The names of these options, as lists of options have them. */
export const SELECTION_OPTIONS = "without, only, rename, null";

/** Fields with values: of these `only` keeps what it names. All others say how episodes go on. */
const VALUES: readonly (Field | undefined)[] = ["observation", "action", "reward", "discount"];
/** Names in an error. */
const MAX_NAMES = 40;

interface Rule {
  readonly option: keyof SelectionOptions;
  /** As it was given. */
  readonly name: string;
  readonly path: string;
  /** The path by the name of RLDS. */
  readonly stepPath: string;
  isUsed: boolean;
  /** Whether a column of this very name was seen. */
  isLiteral: boolean;
}

interface RenameRule extends Rule {
  readonly keys: readonly string[];
}

interface NullRule extends Rule {
  readonly value: NullValue;
}

interface Choice {
  /** Undefined for a column that is left out. */
  readonly keys: readonly string[] | undefined;
  readonly nullValue: NullValue | undefined;
}

export class Selection {
  /** Whether every column stays as it is. */
  readonly isEmpty: boolean;
  readonly #without: readonly Rule[];
  readonly #only: readonly Rule[] | undefined;
  readonly #renamed: readonly RenameRule[];
  readonly #nulls: readonly NullRule[];
  readonly #choices = new Map<string, Choice>();
  readonly #metadataChoices = new Map<string, Choice>();

  /** @throws TypeError for an option that is not what it should be */
  constructor(options: SelectionOptions) {
    this.#without = namesOf("without", options.without) ?? [];
    this.#only = namesOf("only", options.only);
    this.#renamed = entriesOf("rename", options.rename, "a name", (value) => typeof value === "string" && value !== "").map(({ value, ...rule }) => ({
      ...rule,
      keys: splitPath(value as string),
    }));
    this.#nulls = entriesOf("null", options.null, "a number, a text or a flag", (value) =>
      ["number", "bigint", "boolean", "string"].includes(typeof value),
    ) as NullRule[];
    this.isEmpty = this.#without.length + this.#renamed.length + this.#nulls.length === 0 && this.#only === undefined;
  }

  /** The names under which a column is read; undefined for one that is left out. @param keys as the file has them @param field the path in a step, if the format knows another than its names say */
  keysOf(keys: readonly string[], field?: readonly string[]): readonly string[] | undefined {
    return this.isEmpty ? keys : this.#choiceOf(keys, field).keys;
  }

  /** The same of an episode's metadata, of which `only` says nothing. */
  metadataKeysOf(keys: readonly string[], field?: readonly string[]): readonly string[] | undefined {
    return this.isEmpty ? keys : this.#choiceOf(keys, field, true).keys;
  }

  /** Whether `only` is among the options. */
  get hasOnly(): boolean {
    return this.#only !== undefined;
  }

  /** What stands for a null of this column; undefined if nothing does. */
  nullOf(keys: readonly string[], field?: readonly string[]): NullValue | undefined {
    return this.isEmpty ? undefined : this.#choiceOf(keys, field).nullValue;
  }

  /** Names of columns that are in the file: one that is named so in an option is that column, and no other one of its field. */
  note(columns: readonly (readonly string[])[]): void {
    const paths = columns.map(pathOf);
    for (const rule of this.#rules) if (paths.some((path) => isWithin(path, rule.path))) rule.isLiteral = true;
  }

  /** Whether a column was renamed. */
  isRenamed(keys: readonly string[]): boolean {
    return this.#renameOf(keys) !== undefined;
  }

  /** Checks that every name of the options is one of a column that was asked for. @param unread what the files have beside them @throws RangeError */
  check(unread: readonly UnreadPart[] = []): void {
    const unused = this.#rules.find(({ isUsed }) => !isUsed);
    if (unused === undefined) return;
    const paths = new Set([...this.#choices.keys(), ...this.#metadataChoices.keys()]);
    const names = [...paths].map((path) => path.replaceAll("\0", "/"));
    const text = names.slice(0, MAX_NAMES).join(", ") + (names.length > MAX_NAMES ? ", …" : "");
    const error = mustBe(RangeError, unused.option, `names of columns, of ${text || "which there are none"}`, unused.name, names);
    const part = unread.find(({ what }) => isWithin(unused.path, what));
    throw part === undefined ? error : Object.assign(error, { message: `${error.message} (${part.what} are not read: ${part.remedy})` });
  }

  /** A step with names, as JSON has it, as it is selected: nulls are replaced, too. @throws RangeError for options that take the kind of its last step from an episode */
  value(value: object): object {
    return this.isEmpty ? value : (this.#select(value, [], Object.create(null), false) as object);
  }

  /** The same of an episode's metadata, of which `only` says nothing. */
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
        // What is below may have another place, or stay where the group goes.
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

  /** Whether `only` leaves a field as it is. */
  #isWhole(field: Field | undefined): boolean {
    if (field === undefined) return false;
    const value = field === "next_observation" ? "observation" : field;
    return !VALUES.includes(value) || !(this.#only ?? []).some(({ path }) => pathsInStep(splitPath(path)).field === value);
  }
}

/** @throws RangeError where a value that states the kind of an episode's last step would be lost, and with it the last transition */
function checkFinalStep(value: unknown, keys: readonly string[] | undefined): void {
  if (statedFinalStep({ [FINAL_STEP]: value }) === undefined || keys?.join("/") === FINAL_STEP) return;
  const rule = `names of columns other than ${FINAL_STEP}, which says what last steps are (finalStep and --final-step override it)`;
  throw mustBe(RangeError, keys === undefined ? "without" : "rename", rule, FINAL_STEP);
}

/** Whether a rule names a column: by its own name, or one of them has the name of RLDS and the other another one of that field. */
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

/** What a reader leaves out, and what reads it. */
interface UnreadPart {
  readonly what: string;
  readonly remedy: string;
}

/** The empty selection. */
export const ALL_COLUMNS = new Selection({});

/** A path by the names of RLDS, and that of the observation for the next one: what is said of the one holds for the other. */
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
    throw mustBe(TypeError, option, "an array of names of columns", names);
  return names.map((name) => ruleOf(option, name));
}

function entriesOf(option: "rename" | "null", entries: object | undefined, rule: string, fits: (value: unknown) => boolean): (Rule & { value: unknown })[] {
  if (entries === undefined) return [];
  if (typeof entries !== "object" || entries === null || Array.isArray(entries)) throw mustBe(TypeError, option, "an object by the names of columns", entries);
  return Object.entries(entries).map(([name, value]) => {
    if (!fits(value)) throw mustBe(TypeError, `${option}.${name}`, rule, value);
    return { ...ruleOf(option, name), value };
  });
}
