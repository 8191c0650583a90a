/** Checks the rules that span several steps or episodes. */
import { mustBe } from "../../../base/error.ts";
import { isFloat } from "../../../schema/dtype.ts";
import { isText } from "../../../schema/leaf.ts";
import { valueAt } from "../../../schema/nest.ts";
import type { Films } from "../../formats/index.ts";
import { createStepCopier } from "../../model/copy-steps.ts";
import type { RldsEpisode, StepSpec } from "../../model/dataset.ts";
import { everyElement } from "../../model/elements.ts";
import { statedFinalStep } from "../../model/final-step.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { StepColumns } from "../../model/step-columns.ts";
import { stepSpecOf } from "../../model/step-spec.ts";
import type { StepReceiver } from "../import/import-reader.ts";
import { LAST, mustBeFinite, type StepFacts } from "../import/step-checks.ts";
import type { RunningCheck } from "./check-report.ts";
import { ConstantLeaf, constantText } from "./constant-leaf.ts";
import { FilmLengths } from "./film-lengths.ts";
import { checkTimestamps } from "./timestamps.ts";

export interface CheckRules {
  readonly timestamp: string | undefined;
  readonly fps: number | undefined;
  readonly maxJitter: number;
  readonly films: Films | undefined;
}

/** A leaf and its index among the leaves of a step. */
interface PlacedLeaf extends LeafEntry {
  readonly index: number;
}

interface TrackedLeaf extends PlacedLeaf {
  readonly constant: ConstantLeaf;
  /** Whether the leaf has no meaning in a final observation. */
  readonly isOutcome: boolean;
}

interface TrackedFilm {
  readonly camera: string;
  readonly path: PlacedLeaf;
  readonly time: PlacedLeaf;
}

const TIMESTAMPS = ["timestamp", "observation/timestamp"];

export class EpisodeChecker implements StepReceiver<unknown> {
  readonly #rules: CheckRules;
  readonly #report: RunningCheck;
  readonly #films: FilmLengths | undefined;
  #leaves: readonly PlacedLeaf[] | undefined;
  #tracked: readonly TrackedLeaf[] = [];
  #reward: ConstantLeaf | undefined;
  #rewardLeaf: PlacedLeaf | undefined;
  #timestamp: PlacedLeaf | undefined;
  #filmed: readonly TrackedFilm[] = [];
  /** The index of the current episode. */
  #episode = 0;
  #columns: StepColumns<unknown> | undefined;
  #hasFinal = false;
  #step = 0;
  #times: number[] = [];
  #firstTime: bigint | undefined;
  /** The previous step, if steps arrive one by one. `#keep` copies it if its source may change it. */
  #previous: unknown;
  #keep: <T>(step: T) => T = (step) => step;

  /** @throws RangeError if the path of the timestamps does not select a single number */
  constructor(spec: StepSpec | undefined, rules: CheckRules, report: RunningCheck) {
    this.#rules = rules;
    this.#report = report;
    this.#films = rules.films && new FilmLengths(rules.films, report);
    if (spec !== undefined) this.#setSpec(spec);
  }

  begin(source: RldsEpisode<unknown>, episode: number): void {
    const { steps } = source ?? {};
    this.#episode = episode;
    this.#columns = steps instanceof StepColumns ? steps : undefined;
    this.#hasFinal = source !== null && typeof source === "object" && statedFinalStep(source) !== "transition";
    this.#step = 0;
    this.#times = [];
    this.#firstTime = undefined;
    this.#previous = undefined;
    this.#keep = createStepCopier(steps);
    if (this.#leaves === undefined && this.#columns !== undefined) this.#setSpec(this.#columns.spec);
  }

  add({ flags, mismatch, reward }: StepFacts, step: unknown): void {
    const i = this.#step++;
    if (mismatch !== undefined) return;
    if (this.#leaves === undefined) this.#setSpec(stepSpecOf(step));
    const isFinal = this.#hasFinal && (flags & LAST) !== 0;
    for (const leaf of this.#tracked) {
      if (!leaf.constant.isOpen || (isFinal && leaf.isOutcome)) continue;
      const row = this.#rowOf(leaf, step, i);
      if (row.length === leaf.size) leaf.constant.add(row as ArrayLike<number | bigint>, 0);
    }
    if (this.#reward !== undefined && !isFinal) this.#reward.add([reward], 0);
    if (this.#timestamp !== undefined) {
      const time = this.#timeOf(this.#rowOf(this.#timestamp, step, i)[0]);
      // If the data lacks the observation after the last transition, writers repeat the last observation, including its time. Such a repeated time is not a
      // fault.
      if (!(isFinal && time === this.#times.at(-1) && this.#repeatsObservation(step, i))) this.#times.push(time);
      if (step !== undefined && this.#hasFinal) this.#previous = this.#keep(step);
    }
    for (const { camera, path, time } of this.#filmed)
      this.#films?.add(camera, String(this.#rowOf(path, step, i)[0]), Number(this.#rowOf(time, step, i)[0]), this.#episode);
  }

  /** Ends the current episode. */
  async end(): Promise<void> {
    if (this.#timestamp !== undefined) {
      const { fps, maxJitter } = this.#rules;
      const { path, leaf } = this.#timestamp;
      // In other metadata, NaN means a missing value, but a time is required.
      if (!mustBeFinite(this.#timestamp))
        for (const [step, value] of this.#times.entries())
          if (!Number.isFinite(value)) this.#report.fault("nonFinite", { episode: this.#episode, step, path, value, text: `${path} is ${value}` });
      const interval = fps !== undefined && isFloat(leaf.dtype) ? 1 / fps : undefined;
      checkTimestamps(this.#times, this.#episode, { path, interval, maxJitter }, this.#report);
    }
    await this.#films?.compare(false);
  }

  /** Completes the check after the last episode. */
  async finish(): Promise<void> {
    await this.#films?.compare(true);
    for (const { path, constant } of this.#tracked) {
      const { elements, value } = constant.result ?? {};
      if (elements !== undefined) this.#report.warn("constantDimensions", { path, value, text: constantText(constant, elements, value) }, elements.length);
    }
    const { value } = this.#reward?.result ?? {};
    if (value !== undefined) this.#report.warn("constantRewards", { path: "reward", value, text: `reward is always ${value}` });
  }

  #setSpec(spec: StepSpec): void {
    const leaves = leavesOf(spec).map((leaf, index) => ({ ...leaf, index }));
    const { timestamp, films } = this.#rules;
    const at = (path: string) => leaves.find((leaf) => leaf.path === path);
    const isNumber = (path: string) => at(path)?.size === 1 && !isText((at(path) as PlacedLeaf).leaf);
    if (timestamp !== undefined && !isNumber(timestamp)) {
      const numbers = leaves.filter(({ path }) => isNumber(path)).map(({ path }) => path);
      throw mustBe(RangeError, "timestamp", `the path of a single number (${numbers.join(", ")})`, timestamp, numbers);
    }
    const timestampPath = timestamp ?? TIMESTAMPS.find(isNumber);
    this.#timestamp = timestampPath === undefined ? undefined : at(timestampPath);
    this.#filmed = [...(films?.cameras.keys() ?? [])].flatMap((camera) => {
      const [path, time] = [at(`${camera}/path`), at(`${camera}/timestamp`)];
      return path === undefined || time === undefined ? [] : [{ camera, path, time }];
    });
    // References to videos, and the timestamps, are checked by other code.
    const others = new Set([...this.#filmed.flatMap(({ path, time }) => [path.path, time.path]), timestampPath]);
    this.#tracked = leaves
      .filter(({ keys, path, leaf, size }) => ["observation", "action"].includes(keys[0] as string) && !isText(leaf) && size > 0 && !others.has(path))
      .map((leaf) => ({ ...leaf, constant: new ConstantLeaf(leaf), isOutcome: leaf.keys[0] === "action" }));
    this.#rewardLeaf = isNumber("reward") ? at("reward") : undefined;
    this.#reward = this.#rewardLeaf && new ConstantLeaf({ ...this.#rewardLeaf, leaf: { dtype: "f64", shape: [] } });
    this.#leaves = leaves;
  }

  /** Returns the value of a step as a row, or an empty row if the value has a different form. */
  #rowOf({ keys, index, size }: PlacedLeaf, step: unknown, i: number): ArrayLike<number | bigint | string> {
    if (step === undefined && this.#columns !== undefined) {
      const column = this.#columns.parts[index] as unknown as Float32Array;
      return Array.isArray(column) ? [column[i] as string] : column.subarray(i * size, (i + 1) * size);
    }
    const value = valueAt(step, keys);
    if (ArrayBuffer.isView(value)) return value as Float32Array;
    const row: (number | bigint | string)[] = [];
    everyElement(value, (element) => row.push(typeof element === "boolean" ? Number(element) : (element as number)) <= size);
    return row;
  }

  /** Returns whether a step repeats the observation of the previous step. */
  #repeatsObservation(step: unknown, i: number): boolean {
    const observed = this.#leaves?.filter(({ keys }) => keys[0] === "observation") ?? [];
    return observed.every((leaf) => {
      const [before, row] = [this.#elementsOf(leaf, this.#previous, i - 1), this.#elementsOf(leaf, step, i)];
      return before.length === row.length && before.every((element, k) => sameElement(element, row[k]));
    });
  }

  #elementsOf({ keys, index, size }: PlacedLeaf, step: unknown, i: number): readonly unknown[] {
    const elements: unknown[] = [];
    if (step === undefined && this.#columns !== undefined) {
      const column = this.#columns.parts[index] as unknown as Float32Array;
      return Array.from(Array.isArray(column) ? column.slice(i * size, (i + 1) * size) : column.subarray(i * size, (i + 1) * size));
    }
    everyElement(valueAt(step, keys), (element) => elements.push(element) > 0);
    return elements;
  }

  /** Converts a timestamp to a number. Nanoseconds since 1970 exceed the exact range of numbers, but differences from the first timestamp do not. */
  #timeOf(value: unknown): number {
    if (typeof value !== "bigint") return Number(value);
    this.#firstTime ??= value;
    return Number(value - this.#firstTime);
  }
}

function sameElement(a: unknown, b: unknown): boolean {
  if (!(a instanceof Uint8Array && b instanceof Uint8Array)) return Object.is(a, b);
  return a.length === b.length && a.every((byte, k) => byte === b[k]);
}
