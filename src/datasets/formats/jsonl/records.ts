/** Interprets a line of a file, which is a step, an episode as a list of steps, or steps as columns. */
import { corruptFile, type Place, unsupportedFile } from "../../model/rlds-error.ts";
import { type Field, fieldOf, fieldsOf } from "../columns/names.ts";
import { NUMBER_WORD } from "./infer.ts";

/** The steps of one line. */
export interface StepGroup {
  readonly steps: readonly unknown[];
  /** The metadata of the episode if the line is an episode, otherwise empty. */
  readonly metadata: Values;
}

interface Values {
  readonly [name: string]: unknown;
}

type Layout = "step" | "steps" | "columns";

const FLAGS: readonly (Field | undefined)[] = ["terminated", "truncated", "done", "is_first", "is_last", "is_terminal"];
const ROW_FIELDS: readonly (Field | undefined)[] = ["observation", "action", "reward", "discount", "next_observation", "episode", "episode_starts", ...FLAGS];
/** The value of `type` in lines that RLlib writes. */
const RLLIB = "SampleBatch";

/** Interprets every line like the first line. */
export class Records {
  readonly layout: Layout;
  readonly #isRllib: boolean;
  /** The names of other columns, which do not belong to an RLDS field, that have had one value per step in every line so far. */
  readonly #rowNames: Set<string>;
  /** Whether a column contains the episode number of each row. If so, a line is not necessarily one episode. */
  readonly #hasNumbers: boolean;

  /**
   * @param areSteps whether every line is a step @throws RldsError UNSUPPORTED if the form is unclear or cannot be read · CORRUPT if the columns and the
   * rewards differ in length
   */
  constructor(first: unknown, place: Place, areSteps = false) {
    const value = areSteps ? {} : valuesIn(first);
    this.#isRllib = value.type === RLLIB;
    if (value.type === "MultiAgentBatch")
      throw unsupportedFile(place, "the file contains RLlib batches of several agents. Write one file per policy, with SampleBatch lines");
    this.layout = Array.isArray(value.steps) ? "steps" : isColumns(value, place) ? "columns" : "step";
    const rows = this.layout === "columns" ? lengthOf(fieldIn(value, "action")) : undefined;
    const fields = fieldsOf(Object.keys(value));
    this.#rowNames = new Set(Object.keys(value).filter((name) => !ROW_FIELDS.includes(fields.get(name)) && lengthOf(value[name]) === rows));
    this.#hasNumbers = this.layout === "columns" && Array.isArray(fieldIn(value, "episode"));
  }

  /** Whether each line is one whole episode. */
  get areEpisodes(): boolean {
    return this.layout !== "step" && !this.#hasNumbers;
  }

  /** Treats other columns as metadata if they do not have one value per step in this line. The caller passes all lines before it reads their steps. */
  note(value: unknown): void {
    if (this.layout !== "columns") return;
    const values = valuesIn(value);
    const rows = lengthOf(fieldIn(values, "action"));
    for (const name of this.#rowNames) if (lengthOf(values[name]) !== rows) this.#rowNames.delete(name);
  }

  /** Returns the steps and metadata of a line. @throws RldsError CORRUPT if the form differs from the first line, or if columns differ in length */
  of(value: unknown, place: Place): StepGroup {
    if (this.layout === "step") return { steps: [value], metadata: {} };
    const { steps, ...metadata } = valuesIn(value);
    if (this.layout === "steps") {
      if (!Array.isArray(steps)) throw corruptFile(place, "each line must be an episode with its steps, as the first line is");
      return { steps, metadata };
    }
    if (!isColumns(valuesIn(value), place)) throw corruptFile(place, "each line must contain columns, as the first line does");
    return this.#rows(valuesIn(value), place);
  }

  #rows(value: Values, place: Place): StepGroup {
    const rows = lengthOf(fieldIn(value, "action")) as number;
    const columns: [string, (i: number) => unknown][] = [];
    const metadata: [string, unknown][] = [];
    const fields = fieldsOf(Object.keys(value));
    for (const [name, column] of Object.entries(value)) {
      const field = fields.get(name);
      if (this.#isRllib && name === "type") continue;
      if (field === "observation") {
        const observations = lengthOf(column) as number;
        columns.push([name, (i) => valueAt(column, i)]);
        // If there is one more observation than there are rows, it is the final observation.
        if (observations === rows + 1) columns.push(["next_observation", (i) => valueAt(column, i + 1)]);
      } else if (FLAGS.includes(field) && !Array.isArray(column)) columns.push([name, (i) => (i === rows - 1 ? column : false)]);
      else if (ROW_FIELDS.includes(field)) {
        if (lengthOf(column) !== rows) throw lengthError(name, column, rows, place);
        columns.push([name, (i) => valueAt(column, i)]);
      } else if (this.#rowNames.has(name)) columns.push([name, (i) => valueAt(column, i)]);
      else if (this.#hasNumbers) columns.push([name, () => column]);
      else metadata.push([name, column]);
    }
    const steps = Array.from({ length: rows }, (_, i) => Object.fromEntries(columns.map(([name, of]) => [name, of(i)])));
    return { steps, metadata: Object.fromEntries(metadata) };
  }
}

function valuesIn(value: unknown): Values {
  // A list is an episode without metadata.
  if (Array.isArray(value)) return { steps: value };
  return typeof value === "object" && value !== null ? (value as Values) : {};
}

function isRowField(name: string): boolean {
  return ROW_FIELDS.includes(fieldOf(name));
}

function nameIn(value: Values, field: Field): string | undefined {
  const fields = fieldsOf(Object.keys(value));
  return Object.keys(value).find((name) => fields.get(name) === field);
}

function fieldIn(value: Values, field: Field): unknown {
  const name = nameIn(value, field);
  return name === undefined ? undefined : value[name];
}

/** Returns the number of rows in a list or an object of lists. Returns undefined for any other value, and for lists with different numbers of rows. */
function lengthOf(column: unknown): number | undefined {
  if (Array.isArray(column)) return column.length;
  if (typeof column !== "object" || column === null) return undefined;
  const [length, ...others] = new Set(Object.values(column).map(lengthOf));
  return others.length === 0 ? length : undefined;
}

function valueAt(column: unknown, i: number): unknown {
  if (Array.isArray(column)) return column[i];
  return Object.fromEntries(Object.entries(column as object).map(([name, part]) => [name, valueAt(part, i)]));
}

const isNumber = (value: unknown) => typeof value === "number" || typeof value === "bigint" || (typeof value === "string" && NUMBER_WORD.test(value));

/**
 * Returns whether a line consists of columns, judging by its rewards. A list under a singular name may be several rewards of a single step, so it counts only
 * together with a flag column of the same length. @throws RldsError CORRUPT if columns differ in length · UNSUPPORTED if RLlib compressed a column
 */
function isColumns(value: Values, place: Place): boolean {
  const name = nameIn(value, "reward");
  if (name === undefined && value.type !== RLLIB) return isColumnsWithoutRewards(value, place);
  const rewards = name === undefined ? undefined : value[name];
  const isPlural = name?.toLowerCase().endsWith("s") ?? false;
  const isRllib = value.type === RLLIB;
  if (isRllib) {
    const packed = Object.entries(value).find(([name, column]) => isRowField(name) && typeof column === "string");
    if (packed !== undefined)
      throw unsupportedFile(place, `RLlib compressed the column ${packed[0]}. Write the file again with output_config={"compress_columns": []}`);
  }
  if (!Array.isArray(rewards) || !(rewards.every(isNumber) || rewards.every((reward) => Array.isArray(reward) && reward.length === 1))) return false;
  const rows = rewards.length;
  const [actions, observations] = [fieldIn(value, "action"), fieldIn(value, "observation")];
  const fits = lengthOf(actions) === rows && [rows, rows + 1].includes(lengthOf(observations) ?? -1);
  if (!isPlural && !isRllib) return fits && hasFlagColumns(value, rows);
  if (actions === undefined || observations === undefined) return false;
  if (lengthOf(actions) !== rows) throw lengthError(nameOf(value, "action"), actions, rows, place);
  if (!fits) throw lengthError(nameOf(value, "observation"), observations, rows, place);
  return true;
}

/**
 * Returns whether a line without rewards consists of columns. It does if a flag is a list as long as the actions, or if the actions have a plural name and the
 * observations are nested lists. @throws RldsError UNSUPPORTED if only the name or only the nesting indicates columns
 */
function isColumnsWithoutRewards(value: Values, place: Place): boolean {
  const [actions, observations] = [fieldIn(value, "action"), fieldIn(value, "observation")];
  const rows = lengthOf(actions);
  if (rows === undefined || rows === 0 || ![rows, rows + 1].includes(lengthOf(observations) ?? -1)) return false;
  const [isPlural, isNested] = [nameOf(value, "action").toLowerCase().endsWith("s"), isListOfLists(observations)];
  if ((isPlural && isNested) || hasFlagColumns(value, rows)) return true;
  if (!isPlural && !isNested) return false;
  throw unsupportedFile(
    place,
    `a line has lists of ${rows} actions and ${lengthOf(observations)} observations but no rewards, so it may be one step or ${rows} steps. Write one step per line, or add rewards as a list`,
  );
}

function hasFlagColumns(value: Values, rows: number): boolean {
  return Object.entries(value).some(([name, column]) => FLAGS.includes(fieldOf(name)) && Array.isArray(column) && column.length === rows);
}

function isListOfLists(column: unknown): boolean {
  if (Array.isArray(column)) return typeof column[0] === "object";
  return typeof column === "object" && column !== null && Object.values(column).some(isListOfLists);
}

function nameOf(value: Values, field: Field): string {
  return nameIn(value, field) ?? field;
}

function lengthError(name: string, column: unknown, rows: number, place: Place) {
  const length = lengthOf(column);
  const rule = fieldOf(name) === "observation" ? `${rows} or ${rows + 1} values` : `${rows} values`;
  return corruptFile(
    place,
    `a line has a list of ${rows} rewards, so ${name} must be a list of ${rule}, got ${length === undefined ? "no list" : length}. Write one step per line, or one episode per line as columns of equal length`,
  );
}
