/** Collects consecutive trajectories into episodes. */
import type { AnyArray } from "../../../schema/dtype.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { joined } from "../columns/column.ts";
import type { ReadEpisode } from "../reader.ts";
import type { FeatureLeaf } from "./features.ts";

const FIRST = 0;
const MID = 1;
const LAST = 2;
const FLAG = { dtype: "bool", shape: [] } as const;
const FLAGS = ["is_first", "is_last", "is_terminal"];

/** Returns the spec of a step for a spec of trajectories. It has the same fields, with flags in place of the step types. */
export function stepSpecOf(spec: { readonly [name: string]: StepSpec }): StepSpec {
  const { stepType: _, nextStepType: __, policyInfo, ...fields } = spec;
  const hasInfo = leavesOf(policyInfo as StepSpec).length > 0;
  return { ...fields, ...(hasInfo && { policyInfo: policyInfo as StepSpec }), ...Object.fromEntries(FLAGS.map((flag) => [flag, FLAG])) };
}

/** Collects trajectories until their episode ends. */
export class EpisodeCollector {
  readonly #stepSpec: StepSpec;
  readonly #file: string;
  readonly #maxBytes: number;
  readonly #stepType: number;
  readonly #nextStepType: number;
  readonly #discount: number;
  /** For each leaf of the step, the index of the trajectory's leaf, or -1 for a flag. */
  readonly #places: readonly number[];
  #rows: (readonly AnyArray[])[] = [];
  #bytes = 0;

  constructor(leaves: readonly FeatureLeaf[], stepSpec: StepSpec, file: string, maxBytes: number) {
    const place = (keys: readonly string[]) => leaves.findIndex((leaf) => leaf.keys.join("\0") === keys.join("\0"));
    this.#stepSpec = stepSpec;
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#stepType = place(["stepType"]);
    this.#nextStepType = place(["nextStepType"]);
    this.#discount = place(["discount"]);
    this.#places = leavesOf(stepSpec).map(({ keys }) => place(keys));
  }

  /**
   * Adds a trajectory.
   * @returns the episodes that end before this trajectory or with it
   * @param episode the number of the episode, and the offset of the record, for errors
   * @throws RldsError CORRUPT for an invalid step type · UNSUPPORTED if an episode exceeds maxBytes
   */
  add(row: readonly AnyArray[], episode: number, offset: number): readonly ReadEpisode<RldsStep>[] {
    for (const [field, place] of [
      ["step_type", this.#stepType],
      ["next_step_type", this.#nextStepType],
    ] as const) {
      const value = this.#typeOf(row, place);
      if (![FIRST, MID, LAST].includes(value))
        throw corruptFile({ file: this.#file, episode, offset }, `${field} must be 0 (FIRST), 1 (MID) or 2 (LAST), got ${value}`);
    }
    const type = this.#typeOf(row, this.#stepType);
    const previous = this.#rows.at(-1);
    // If there is no boundary trajectory, the next step type of an episode's last trajectory is LAST.
    const isNext = previous !== undefined && type !== LAST && (type === FIRST || this.#typeOf(previous, this.#nextStepType) === LAST);
    const ended = isNext ? this.end() : [];
    this.#rows.push(row);
    for (const { byteLength } of row) this.#bytes += byteLength;
    if (this.#bytes > this.#maxBytes)
      throw unsupportedFile(
        { file: this.#file, episode: episode + ended.length },
        `an episode takes more than the ${this.#maxBytes} bytes that maxBytes allows. Increase maxBytes`,
      );
    return type === LAST ? [...ended, ...this.end()] : ended;
  }

  /** Returns the collected episode, if there is one, and resets the collector. */
  end(): readonly ReadEpisode<RldsStep>[] {
    const rows = this.#rows;
    const last = rows.at(-1);
    if (last === undefined) return [];
    this.#rows = [];
    this.#bytes = 0;
    const n = rows.length;
    const isObservation = this.#typeOf(last, this.#stepType) === LAST;
    const isLast = isObservation || this.#typeOf(last, this.#nextStepType) === LAST;
    const lastAction = rows[isObservation ? n - 2 : n - 1];
    const isTerminal = isLast && lastAction !== undefined && this.#discountOf(lastAction) === 0;
    const flags: { readonly [name: string]: (i: number) => boolean } = {
      is_first: (i) => this.#typeOf(rows[i] as readonly AnyArray[], this.#stepType) === FIRST,
      is_last: (i) => isLast && i === n - 1,
      is_terminal: (i) => isTerminal && i === n - 1,
    };
    const data = leavesOf(this.#stepSpec).map(({ leaf, path }, k): ColumnData => {
      const place = this.#places[k] as number;
      const flag = flags[path];
      if (place === -1 && flag !== undefined) return Uint8Array.from({ length: n }, (_, i) => Number(flag(i)));
      return joined(
        leaf,
        rows.map((row) => row[place] as ColumnData),
        n,
      );
    });
    return [{ steps: new StepColumns<RldsStep>(this.#stepSpec, data, n), [FINAL_STEP]: isObservation ? "observation" : "transition" }];
  }

  #typeOf(row: readonly AnyArray[], place: number): number {
    return Number((row[place] as ArrayLike<number | bigint>)[0]);
  }

  #discountOf(row: readonly AnyArray[]): number {
    const discount = row[this.#discount];
    return discount?.length === 1 ? Number(discount[0]) : 1;
  }
}
