/** Maps the fields of a step to the fields of Minari's Parquet form. */

import { isLeaf, isText } from "../../../schema/leaf.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { leavesOf, withoutEmptyGroups } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { About } from "../about.ts";
import type { EncodePng } from "../images/png-encoder.ts";
import { columnSchema, type SchemaElement } from "../parquet/schema.ts";
import { type ColumnRows, encodingOf, rowOf } from "../parquet/table-writer.ts";
import type { Losses } from "../sinks/losses.ts";
import { ColumnGroup } from "./episode-columns.ts";
import { spaceWithBounds } from "./known-about.ts";
import { checkLeaves, isEncodable, isImage, spaceText, ValueSummary } from "./spaces.ts";

/** An episode as columns. */
export interface EpisodeData {
  /** One column per leaf of a step. */
  readonly data: readonly ColumnData[];
  readonly length: number;
  /** The number of actions. */
  readonly actions: number;
}

/** The RLDS fields that do not become infos. */
const STEP_FIELDS = new Set(["observation", "action", "reward", "discount", "is_first", "is_last", "is_terminal"]);
const REWARD: StepLeaf = { dtype: "f64", shape: [] };
const FLAG: StepLeaf = { dtype: "bool", shape: [] };

/** The leaves of one or more fields of a step, such as the observation. */
interface Side {
  readonly group: ColumnGroup;
  readonly spec: StepSpec;
  /** The index of each leaf among the leaves of the step. */
  readonly columns: readonly number[];
  readonly summaries: readonly ValueSummary[];
}

/**
 * Returns the fields that become infos, including the infos of a Minari source. The infos of the source remain below `infos` if another field has the same
 * name.
 */
function infosOf(fields: { readonly [name: string]: StepSpec }): { readonly spec: StepSpec; readonly pathOf: (path: string) => string } {
  const others = Object.fromEntries(Object.entries(fields).filter(([name, node]) => !STEP_FIELDS.has(name) && leavesOf(node).length > 0));
  const { infos, ...rest } = others;
  if (infos === undefined || isLeaf(infos) || Array.isArray(infos)) return { spec: others as StepSpec, pathOf: (path) => path };
  const isOwn = (name: string) => !Object.hasOwn(rest, name) && name !== "infos";
  if (!Object.keys(infos).every(isOwn)) return { spec: others as StepSpec, pathOf: (path) => path };
  return { spec: { ...rest, ...infos } as StepSpec, pathOf: (path) => (Object.hasOwn(infos, path.split("/")[0] as string) ? `infos/${path}` : path) };
}

export class MinariSchema {
  /** Whether images are stored as PNG, which requires that PNG supports every image leaf. */
  readonly encodes: boolean;
  readonly #observation: Side;
  readonly #action: Side;
  readonly #infos: Side | undefined;
  readonly #reward: { readonly leaf: StepLeaf; readonly column: number | undefined };
  readonly #discount: number | undefined;
  readonly #isLast: number | undefined;
  readonly #isTerminal: number | undefined;

  /** @throws RldsError UNSUPPORTED if Minari cannot store a leaf, if the observation or the action is missing, or if the reward is not a single number */
  constructor(wholeSpec: StepSpec, encodePng: EncodePng) {
    const whole = isLeaf(wholeSpec) || Array.isArray(wholeSpec) ? {} : wholeSpec;
    const fields = Object.fromEntries(Object.entries(whole).map(([name, part]) => [name, withoutEmptyGroups(part as StepSpec)]));
    const stepSpec = fields as StepSpec;
    for (const field of ["observation", "action"])
      if (!Object.hasOwn(fields, field)) throw new RldsError("UNSUPPORTED", `a step must have an ${field}, as Minari requires`);
    const {
      observation,
      action,
      reward = REWARD,
    } = fields as { readonly [name: string]: StepSpec } & { readonly observation: StepSpec; readonly action: StepSpec };
    if (!isLeaf(reward) || isText(reward) || reward.shape.length > 0)
      throw new RldsError("UNSUPPORTED", "the reward must be a single number, as Minari requires. Convert it with mapSteps");
    const images = [observation, action].flatMap((spec) => leavesOf(spec)).filter(({ leaf }) => isImage(leaf));
    this.encodes = images.every(({ leaf }) => isEncodable(leaf));
    const all = leavesOf(stepSpec);
    const encoder = this.encodes ? encodePng : undefined;
    const side = (name: string, title: string, spec: StepSpec, columns: readonly number[], encode?: EncodePng): Side => {
      checkLeaves(spec, title);
      const group = new ColumnGroup(name, spec, encode);
      return { group, spec, columns, summaries: leavesOf(spec).map(({ leaf }) => new ValueSummary(leaf, name === "actions")) };
    };
    const columnsOf = (field: string) => all.flatMap(({ keys }, k) => (keys[0] === field ? [k] : []));
    this.#observation = side("observations", "observation", observation, columnsOf("observation"), encoder);
    this.#action = side("actions", "action", action, columnsOf("action"), encoder);
    const { spec: infos, pathOf } = infosOf(fields);
    const infoColumns = leavesOf(infos).map(({ path }) => all.findIndex((leaf) => leaf.path === pathOf(path)));
    this.#infos = infoColumns.length === 0 ? undefined : side("infos", "a step", infos, infoColumns);
    const at = (path: string) => {
      const index = all.findIndex((leaf) => leaf.path === path);
      return index < 0 ? undefined : index;
    };
    this.#reward = { leaf: reward as StepLeaf, column: at("reward") };
    this.#discount = at("discount");
    this.#isLast = at("is_last");
    this.#isTerminal = at("is_terminal");
  }

  get schema(): SchemaElement[] {
    const children = this.#sides.map(({ group: part }) => part.schema);
    const flagSchemas = [columnSchema("rewards", this.#reward.leaf), columnSchema("terminations", FLAG), columnSchema("truncations", FLAG)];
    return [{ name: "schema", num_children: children.length + flagSchemas.length }, ...children.flat(), ...flagSchemas.flat()];
  }

  /** Returns the rows of an episode, one per observation. */
  rows({ data, length, actions }: EpisodeData): ColumnRows[] {
    const at = Array.from({ length: actions + 1 }, (_, i) => Math.min(i, length - 1));
    const columns = this.#sides.map(({ group: part, columns: columnIndices, summaries }) => {
      const values = columnIndices.map((k) => data[k] as ColumnData);
      for (const [k, summary] of summaries.entries()) summary.add(values[k] as ColumnData);
      return part.rows(values, at);
    });
    const { leaf, column } = this.#reward;
    const reward = data[column ?? -1];
    const flag = (k: number | undefined, i: number, fallback: boolean) => (k === undefined ? fallback : (data[k] as ColumnData)[i] === 1);
    // If the last step has no action, the end flags belong to the action before it.
    const terminations = at.map((_, i) => i < actions && flag(this.#isTerminal, i + length - actions, false));
    const truncations = at.map((_, i) => i === actions - 1 && !terminations[i] && flag(this.#isLast, length - 1, true));
    return [
      ...columns,
      { name: "rewards", data: at.map((i) => (reward === undefined ? 0 : rowOf(leaf, reward, i))), ...encodingOf(leaf) },
      { name: "terminations", data: terminations },
      { name: "truncations", data: truncations },
    ];
  }

  /** Returns the spaces of the written values for Minari's metadata, with the bounds of the source if they fit. */
  spaces(about: About | undefined, losses: Losses): { readonly observation_space: string; readonly action_space: string } {
    const space = (name: string, { spec, summaries }: Side) => spaceWithBounds(name, about, spec, spaceText(spec, summaries), losses);
    return { observation_space: space("observation_space", this.#observation), action_space: space("action_space", this.#action) };
  }

  /** Adds the losses that do not depend on the values of steps. */
  addLosses(losses: Losses): void {
    for (const { path, leaf } of this.#infos === undefined ? [] : leavesOf(this.#infos.spec))
      if (leaf.shape.length > 1) losses.add(path, `Minari's Parquet stores infos as flat lists, so the shape [${leaf.shape.join(", ")}] is lost`);
  }

  /** Returns whether a reader can derive the discounts from the terminations, because Minari does not store discounts. */
  keepsDiscounts({ data, length, actions }: EpisodeData): boolean {
    const discounts = data[this.#discount ?? -1] as ArrayLike<number> | undefined;
    if (discounts === undefined) return true;
    const terminates = this.#isTerminal !== undefined && (data[this.#isTerminal] as ColumnData)[length - 1] === 1;
    for (let i = 0; i < actions; i++) if (Number(discounts[i]) !== (terminates && i === actions - 1 ? 0 : 1)) return false;
    return true;
  }

  get #sides(): Side[] {
    return [this.#observation, this.#action, ...(this.#infos === undefined ? [] : [this.#infos])];
  }
}
