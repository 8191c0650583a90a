/** Collects steps from JSON objects, whose fields may have various names, into episodes. */

import { show } from "../../../base/error.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import { pack } from "../../../schema/nest.ts";
import { Collector } from "../../model/collector.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { lastFlagOf } from "../../model/final-observation.ts";
import { FINAL_STEP, finalStepOf } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { plainSpec } from "../../model/plain-numbers.ts";
import { corruptFile, type Place, RldsError, unsupportedFile, withRemedy } from "../../model/rlds-error.ts";
import type { ColumnData, StepColumns } from "../../model/step-columns.ts";
import { ABSENT } from "../columns/absent-fields.ts";
import { Column, type ColumnTree } from "../columns/column.ts";
import type { FinalObservation } from "../columns/flat.ts";
import { type Field, fieldOf, fieldsOf, isWeakName } from "../columns/names.ts";
import { stepsOfRange, stepTableSpec } from "../columns/step-table.ts";
import { type EndedSteps, type Ending, episodeSteps, stepSpecOf, type TransitionSpec } from "../columns/transitions.ts";
import { checkLeaves } from "../leaf-count.ts";
import { valuesOfJson } from "./json-values.ts";
import { ValueTypes, withMissing } from "./value-types.ts";

type Fields = { [F in Field]?: unknown };

/** The fields of a JSON object: those of RLDS by RLDS name, and all others as metadata. */
interface Row {
  readonly fields: Fields;
  readonly metadata: { readonly [name: string]: unknown };
}

const FLAGS = ["is_first", "is_last", "is_terminal"] as const;
/** The fields that become single numbers, even if the file contains lists of one element. */
const SINGLE: readonly string[] = ["reward", "discount"];
const STEP_NAMES: readonly string[] = ["observation", "action", ...SINGLE, ...FLAGS];

function squeezed(spec: StepSpec): StepSpec {
  const { dtype, shape } = spec as StepLeaf;
  return Array.isArray(shape) && shape.length === 1 && shape[0] === 1 ? ({ dtype, shape: [] } as StepLeaf) : spec;
}

const single = (value: unknown) => (Array.isArray(value) && value.length === 1 ? value[0] : value);
const BOOL = { dtype: "bool", shape: [] } as const;

/** The types of the values in all rows of a file. */
export class RowTypes {
  readonly #types = {
    observation: new ValueTypes(false),
    action: new ValueTypes(false),
    reward: new ValueTypes(false),
    discount: new ValueTypes(false),
  };
  readonly #metadata = new ValueTypes(true);

  /** @throws RldsError CORRUPT if the value is not a row */
  add(value: unknown, place: Place): void {
    const { fields, metadata } = rowOf(value, place);
    for (const name of ["observation", "action", "reward", "discount"] as const) this.#types[name].add(fields[name]);
    this.#types.observation.add(fields.next_observation);
    this.#metadata.add(metadata);
  }

  /** Returns the spec of a field, or undefined if no row has a value from which it can be inferred. */
  field(name: "observation" | "action" | "reward" | "discount"): StepSpec | undefined {
    const spec = this.#types[name].spec(name !== "action");
    return spec && plainSpec(SINGLE.includes(name) ? squeezed(spec) : spec);
  }

  /** The specs of all metadata that had a value. */
  get metadata(): { readonly [name: string]: StepSpec } {
    return plainSpec(this.#metadata.spec(false) ?? {}) as { readonly [name: string]: StepSpec };
  }
}

/** The schema of the rows in a file. */
export interface RowSchema {
  /** The specs of the values that are kept from a row. */
  readonly rowSpec: { readonly [name: string]: StepSpec };
  readonly stepSpec: StepSpec;
  /** Whether rows are RLDS steps instead of transitions. */
  readonly steps: boolean;
  /** The RLDS fields of the first row, including the flags that mark the beginnings and ends of episodes. */
  readonly has: readonly Field[];
  /** Whether the rows have rewards. If not, every reward is 0. */
  readonly hasReward: boolean;
  readonly finalObservation: FinalObservation;
  /** The RLDS fields of the first row, by their names in the file. */
  readonly names: ReadonlyMap<string, Field>;
}

/**
 * Separates the RLDS fields of a row from its metadata. @param names the RLDS fields of the first row, by their names in the file @throws RldsError CORRUPT if
 * a row is not an object or has a field under two names
 */
function rowOf(value: unknown, place: Place, names?: ReadonlyMap<string, Field>): Row {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw corruptFile(place, "a step must be a JSON object");
  const fields: Fields = {};
  const metadata: [string, unknown][] = [];
  const known = fieldsOf(Object.keys(value));
  for (const [name, field] of names ?? [])
    if (Object.hasOwn(value, name) && known.get(name) !== field) throw corruptFile(place, `a step has two values for ${field}, one of them named ${name}`);
  for (const [name, part] of Object.entries(value)) {
    const field = known.get(name) ?? (isWeakName(name) ? undefined : fieldOf(name));
    if (field === undefined || field === "lengths") metadata.push([name, part]);
    else if (field in fields) throw corruptFile(place, `a step has two values for ${field}, one of them named ${name}`);
    else fields[field] = part;
  }
  return { fields, metadata: Object.fromEntries(metadata) };
}

/**
 * Returns the schema of the rows in a file.
 * @param value the first row @param types the types of all rows @param spec the specs that the caller set for some fields
 * @throws RldsError CORRUPT, UNSUPPORTED
 */
export function inferRowSchema(
  value: unknown,
  types: RowTypes,
  spec: { readonly [name: string]: StepSpec },
  finalObservation: FinalObservation,
  place: Place,
): RowSchema {
  const { fields, metadata } = rowOf(value, place);
  const names = fieldsOf(Object.keys(value as object));
  const has = Object.keys(fields) as Field[];
  const steps = FLAGS.some((flag) => has.includes(flag));
  if (steps && !has.includes("is_terminal") && !has.includes("terminated"))
    throw unsupportedFile(place, "the steps have is_first or is_last, but no is_terminal. Add is_terminal to each step");
  if (finalObservation === "next" && !has.includes("next_observation"))
    throw unsupportedFile(place, "the steps have no next_observation, which finalObservation requires. Omit finalObservation");
  const part = (name: string, inferred: StepSpec | undefined): [string, StepSpec] => {
    const fieldSpec = Object.hasOwn(spec, name) ? spec[name] : inferred;
    if (fieldSpec === undefined) throw unsupportedFile(place, `${name} of the first step is null or nested too deeply. Describe it in stepSpec`);
    checkLeaves(fieldSpec, `${name} of the steps`, place);
    return [name, fieldSpec];
  };
  // If no row has a reward, the reward is 0. If only some rows have a reward, the other rows are errors.
  const hasReward = has.includes("reward") || types.field("reward") !== undefined || Object.hasOwn(spec, "reward");
  const requiredFields = (["observation", "action", "reward", "discount"] as const).filter((name) => name !== "discount" || has.includes(name));
  const missing = requiredFields.find((name) => name !== "reward" && !has.includes(name));
  if (missing !== undefined) throw unsupportedFile(place, `the first step has no field for ${missing}`);
  const metadataTypes = types.metadata;
  checkLeaves(metadataTypes, "the metadata of the steps", place);
  const metadataNames = new Set([...Object.keys(metadata), ...Object.keys(metadataTypes)]);
  const metadataOf = (name: string) => (Object.hasOwn(metadataTypes, name) ? metadataTypes[name] : undefined);
  const entries = [
    ...requiredFields.map((name) => part(name, name === "reward" && !hasReward ? ABSENT : types.field(name))),
    ...Array.from(metadataNames, (name) => part(name, metadataOf(name))),
  ];
  const transition = Object.fromEntries(entries) as unknown as TransitionSpec;
  if (!steps) return { rowSpec: transition, stepSpec: stepSpecOf(transition), steps, has, hasReward, finalObservation, names };
  const flags = FLAGS.filter((flag) => flag === "is_terminal" || has.includes(flag)).map((flag) => [flag, BOOL] as const);
  const tree = Object.fromEntries(entries.map(([name, fieldTree]) => [name, blankTree(fieldTree)]));
  const stepSpec = stepTableSpec({ tree, isTerminal: new Uint8Array(0) });
  return { rowSpec: { ...transition, ...Object.fromEntries(flags) }, stepSpec, steps, has, hasReward, finalObservation, names };
}

/** Collects rows into episodes, one episode after the other. */
export class Rows {
  readonly #schema: RowSchema;
  readonly #collector: Collector;
  readonly #elements: number;
  readonly #maxBytes: number;
  readonly #metadataSpec: StepSpec;
  #next: unknown;
  #episode: string | undefined;
  #ending: Ending = "open";
  #length = 0;

  /** @param maxBytes the maximum size of an episode's text. The values of the episode may take four times as much memory */
  constructor(schema: RowSchema, maxBytes: number) {
    this.#schema = schema;
    this.#maxBytes = maxBytes;
    this.#collector = new Collector(schema.rowSpec, 1);
    this.#metadataSpec = Object.fromEntries(Object.entries(schema.rowSpec).filter(([name]) => !STEP_NAMES.includes(name)));
    this.#elements = leavesOf(schema.rowSpec).reduce(
      (sum, { size, keys }) => sum + (keys[0] !== undefined && (keys[0] in this.#metadataSpec || (keys[0] === "reward" && !schema.hasReward)) ? 0 : size),
      0,
    );
  }

  get length(): number {
    return this.#length;
  }

  /** Returns whether a row begins a new episode instead of continuing the collected rows. Returns false if no rows are collected. */
  begins(value: unknown, place: Place): boolean {
    const { fields } = rowOf(value, place, this.#schema.names);
    return this.#length > 0 && (isSet(fields.is_first) || isSet(fields.episode_starts) || episodeKey(fields.episode) !== this.#episode);
  }

  /**
   * Adds a row to the collected rows. @param bytes the size of the line, which limits the number of its elements @returns whether the row ends the episode
   * @throws RldsError SPEC_MISMATCH, CORRUPT
   */
  add(value: unknown, place: Place, bytes: number): boolean {
    const { rowSpec, steps, hasReward } = this.#schema;
    const { fields, metadata } = rowOf(value, place, this.#schema.names);
    if (this.#elements > bytes) throw new RldsError("SPEC_MISMATCH", `the step has ${bytes} bytes, too few for ${this.#elements} elements`, place);
    // The limit on the text is not enough, because missing values also take memory. This row is assumed to be as large as the previous rows on average.
    const perRow = this.#collector.bytes / Math.max(this.#collector.length, 1);
    if (this.#collector.bytes + perRow > 4 * this.#maxBytes)
      throw corruptFile(place, `an episode takes more than ${4 * this.#maxBytes} bytes in memory, four times maxBytes. Increase maxBytes`);
    const row: { [name: string]: unknown } = { ...(withMissing(this.#metadataSpec, metadata) as object) };
    for (const name of ["observation", "action", "reward", "discount", ...FLAGS] as const)
      if (Object.hasOwn(rowSpec, name)) row[name] = SINGLE.includes(name) && isScalar(rowSpec[name]) ? single(fields[name]) : fields[name];
    if (!hasReward) row.reward = 0;
    if (steps && fields.is_terminal === undefined) row.is_terminal = fields.terminated;
    try {
      this.#collector.add(valuesOfJson(rowSpec, row), { ...place, step: this.#length });
    } catch (error) {
      throw leafError(error);
    }
    this.#length++;
    this.#next = fields.next_observation;
    this.#episode = episodeKey(fields.episode);
    const isTerminated =
      flag(fields.terminated, "terminated", place) ?? (fields.truncated === undefined ? flag(fields.done, "done", place) : undefined) ?? false;
    const isTruncated = flag(fields.truncated, "truncated", place) ?? flag(fields.done, "done", place) ?? false;
    this.#ending = isTerminated ? "terminated" : isTruncated ? "truncated" : "open";
    return steps ? flag(fields.is_last, "is_last", place) === true : isTerminated || isTruncated;
  }

  /** Returns the collected episode. @param isEnd whether the episode ends here even if no row has a flag */
  async take(isEnd: boolean, place: Place): Promise<EndedSteps> {
    const { rowSpec, stepSpec, steps, has, finalObservation } = this.#schema;
    const { data, length } = this.#collector.take();
    const stopped = this.#ending;
    this.#length = 0;
    this.#ending = "open";
    const columns = pack(rowSpec, data) as { readonly [name: string]: unknown };
    if (steps) {
      const { is_first, is_last, is_terminal, ...rest } = columns as { [name: string]: Uint8Array };
      const { is_first: _, is_last: __, is_terminal: ___, ...restSpec } = rowSpec;
      const tree = Object.fromEntries(Object.entries(restSpec).map(([name, spec]) => [name, treeOf(spec, rest[name], length)]));
      const table = { tree, isFirst: is_first, isLast: is_last, isTerminal: is_terminal as Uint8Array };
      const episodeSteps = await stepsOfRange(table, stepSpec, { from: 0, to: length });
      return { steps: episodeSteps, [FINAL_STEP]: finalStepOf(lastStepOf(episodeSteps), lastFlagOf(episodeSteps) === true) };
    }
    // If the rows have no `truncated`, an episode that ends without a flag was truncated.
    const ending = stopped === "open" && isEnd && !has.includes("truncated") ? "truncated" : stopped;
    const hasFinalRow = length > 0 && finalObservation !== "none" && ending !== "open" && has.includes("next_observation");
    const finalStep = hasFinalRow || (finalObservation === "rlds" && ending === "terminated");
    const transition = rowSpec as unknown as TransitionSpec;
    if (!hasFinalRow) return episodeSteps(transition, { data, length, finalStep, ending });
    const last = new Collector(transition.observation, 1);
    last.add(valuesOfJson(transition.observation, this.#next), place, "next_observation");
    const final = last.take().data;
    let observed = 0;
    const longer = leavesOf(transition).map(({ keys }, k) =>
      keys[0] === "observation" ? appendValues(data[k] as ColumnData, final[observed++] as ColumnData) : (data[k] as ColumnData),
    );
    return episodeSteps(transition, { data: longer, length, finalStep, ending });
  }
}

/** Adds advice to an error about the value of a leaf: the options with which the file can be read anyway. */
function leafError(error: unknown): unknown {
  if (!(error instanceof RldsError) || error.code !== "SPEC_MISMATCH") return error;
  const [path = "", rule = ""] = error.message.split(" must be ");
  if (path === "" || path === "step" || rule === "") return error;
  return withRemedy(error, [path], / got null\b/.test(rule));
}

function appendValues(data: ColumnData, last: ColumnData): ColumnData {
  if (Array.isArray(data)) return [...data, ...(last as readonly string[])];
  const all = new (data.constructor as Float32ArrayConstructor)(data.length + last.length);
  all.set(data as Float32Array);
  all.set(last as Float32Array, data.length);
  return all;
}

function isSet(flag: unknown): boolean {
  return flag === true || flag === 1;
}

/** Returns the last step, or {} if there is none. The step may have `final_step`, the kind of the episode's last step, which writeCsv stores in each row. */
function lastStepOf(steps: StepColumns<{ readonly [name: string]: unknown }>): { readonly [name: string]: unknown } {
  return steps.length === 0 ? {} : steps.at(steps.length - 1);
}

/** Returns a key that is equal for equal episode numbers. Large numbers are bigints, which `JSON.stringify` cannot convert without help. */
function episodeKey(value: unknown): string | undefined {
  return JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}n` : part));
}

function isScalar(spec: StepSpec | undefined): boolean {
  return (spec as StepLeaf | undefined)?.shape?.length === 0;
}

function flag(stated: unknown, name: string, place: Place): boolean | undefined {
  const value = single(stated);
  if (value === undefined) return undefined;
  if (value !== true && value !== false && value !== 0 && value !== 1)
    throw new RldsError("SPEC_MISMATCH", `${name} must be true or false, got ${show(value)}`, place);
  return Boolean(value);
}

/** Returns the data as columns that are already in memory, nested like the spec. */
function treeOf(spec: StepSpec, data: unknown, rows: number): ColumnTree {
  const leaves = leavesOf(spec);
  const columns = leaves.map(({ keys, leaf, path }) => {
    const all = keys.reduce((at, key) => (at as { [key: string]: unknown } | undefined)?.[key], data) as ColumnData | undefined;
    const size = sizeOf(leaf.shape);
    return new Column({ path, leaf, rows, rowBytes: size, read: async (from, to) => (all as Float32Array).slice(from * size, to * size) as ColumnData });
  });
  return pack(spec, columns) as ColumnTree;
}

const blankTree = (spec: StepSpec) => treeOf(spec, undefined, 0);
