/** Detects where episodes begin and end, using a program's functions or the step types of trajectories. */

import { mustBe } from "../../base/error.ts";
import type { StepsOf } from "../../batch/batch.ts";
import { isColumn } from "../../schema/column.ts";
import type { Spec } from "../../schema/spec.ts";
import { StepType } from "../time-step.ts";
import { type Batch, columnsOf } from "./frames.ts";
import { optionalFunction } from "./replay-buffer.ts";

/**
 * A function that returns whether an episode begins or ends within the items. It returns one boolean for a sequence, and one boolean or one per row for a
 * batch.
 */
export type EpisodeFn<S = Spec> = (items: StepsOf<S>) => unknown;

const FIELDS = "action,discount,nextStepType,observation,policyInfo,reward,stepType";

type Steps = { readonly stepType: ArrayLike<unknown>; readonly nextStepType: ArrayLike<unknown> };

/** Returns a function that tests, for each row of a trajectory, whether a field has the given step type. */
function matchStepType(field: "stepType" | "nextStepType", type: number): (values: unknown) => boolean[] {
  return (values) => Array.from((values as Steps)[field], (stepType) => Number(stepType) === type);
}

/** Calls a program's begin or end function, or the default test. */
export class EpisodeFlag {
  readonly #name: string;
  readonly #spec: Spec;
  readonly #callback: ((items: never) => unknown) | undefined;
  readonly #fallback: ((values: unknown) => boolean[]) | undefined;

  private constructor(name: string, spec: Spec, callback: ((items: never) => unknown) | undefined, fallback: (values: unknown) => boolean[]) {
    optionalFunction(name, callback);
    this.#name = name;
    this.#spec = spec;
    this.#callback = callback;
    this.#fallback = Object.keys(spec).sort().join() === FIELDS ? fallback : undefined;
  }

  /** Creates the test for the beginning of an episode. By default, an episode begins with a step of type FIRST. */
  static begin(spec: Spec, callback: ((items: never) => unknown) | undefined): EpisodeFlag {
    return new EpisodeFlag("beginEpisodeFn", spec, callback, matchStepType("stepType", StepType.FIRST));
  }

  /** Creates the test for the end of an episode. By default, an episode ends with a step whose next step is of type LAST. */
  static end(spec: Spec, callback: ((items: never) => unknown) | undefined): EpisodeFlag {
    return new EpisodeFlag("endEpisodeFn", spec, callback, matchStepType("nextStepType", StepType.LAST));
  }

  /** Checks that a test exists. @throws TypeError if the program passed no function and the items are not trajectories */
  check(): void {
    if (this.#callback === undefined && this.#fallback === undefined)
      throw mustBe(TypeError, this.#name, "a function, because the data spec is not a trajectory", undefined);
  }

  /** Returns whether the first step of a sequence passes the test. */
  ofFirst(batch: Batch): boolean {
    return this.#ofSequence(batch, ([first]) => first === true);
  }

  /** Returns whether any step of a sequence passes the test. */
  ofAny(batch: Batch): boolean {
    return this.#ofSequence(batch, (flags) => flags.includes(true));
  }

  /** Returns which rows of a batch pass the test. */
  ofEach(batch: Batch): boolean[] {
    this.check();
    if (this.#callback === undefined) return this.#fallback?.(batch.values) as boolean[];
    return this.#rows(this.#callback(columnsOf(this.#spec, batch) as never), batch.rows);
  }

  #ofSequence(batch: Batch, reduce: (flags: boolean[]) => boolean): boolean {
    this.check();
    if (this.#callback === undefined) return reduce(this.#fallback?.(batch.values) as boolean[]);
    const [flag = false] = this.#rows(this.#callback(columnsOf(this.#spec, batch) as never), undefined);
    return flag;
  }

  /** Converts a function's result to one boolean per row, or to a single boolean. */
  #rows(result: unknown, rows: number | undefined): boolean[] {
    const value = isColumn(result) ? (result.shape.length === 0 ? result.data[0] : result.data) : result;
    if (typeof value === "boolean" || typeof value === "number" || typeof value === "bigint") return new Array(rows ?? 1).fill(Boolean(value));
    const list = Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<unknown>, Boolean) : undefined;
    if (list !== undefined && list.length === rows) return list;
    throw mustBe("SPEC_MISMATCH", `the result of ${this.#name}`, rows === undefined ? "a boolean" : `a boolean, or ${rows} booleans, one per row`, result);
  }
}
