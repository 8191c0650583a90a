/** Cuts trajectories into windows of columns, like those that the trajectory observer writes. No window spans two episodes. */
import { concatArrays } from "../../../base/bytes.ts";
import type { StepsOf } from "../../../batch/batch.ts";
import { Column } from "../../../schema/column.ts";
import type { RowLeaf } from "../../../schema/leaf.ts";
import { pack } from "../../../schema/nest.ts";
import type { Spec } from "../../../schema/spec.ts";
import type { Trajectory } from "../../../tf-agents/trajectory.ts";
import { Collector } from "../../model/collector.ts";
import { leavesOf } from "../../model/leaves.ts";
import type { Place } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { TrajectoryDataSpec } from "./trajectory-spec.ts";

export type WindowOf<S = Spec> = StepsOf<S> & { readonly [field: string]: unknown };

const LAST = 2;

export class TrajectoryWindows {
  readonly #spec: TrajectoryDataSpec;
  readonly #leaves: readonly RowLeaf[];
  readonly #length: number;
  readonly #stride: number;
  readonly #collector: Collector;
  /** The values of the latest trajectories, at most `#length` of them. Each trajectory has one list of columns. */
  #cached: (readonly ColumnData[])[] = [];
  #count = 0;

  constructor(spec: TrajectoryDataSpec, length: number, stride: number) {
    this.#spec = spec;
    this.#leaves = leavesOf(spec).map(({ leaf }) => leaf as RowLeaf);
    this.#collector = new Collector(spec, 1);
    this.#length = length;
    this.#stride = stride;
  }

  /**
   * Adds a trajectory, and returns the window that ends with the trajectory, if there is one. The values are copied. @throws RldsError SPEC_MISMATCH with the
   * place if the trajectory does not fit the spec
   */
  take(trajectory: Trajectory, place: Place): WindowOf | undefined {
    this.#collector.add(trajectory, place, "a trajectory");
    if (this.#cached.length === this.#length) this.#cached.shift();
    this.#cached.push(this.#collector.take().data);
    this.#count++;
    const excess = this.#count - this.#length;
    const window = excess >= 0 && excess % this.#stride === 0 ? this.#window() : undefined;
    if (trajectory.stepType === LAST) {
      this.#cached = [];
      this.#count = 0;
    }
    return window;
  }

  #window(): WindowOf {
    const columns = this.#leaves.map((leaf, i) => this.#column(leaf, i));
    return pack(this.#spec, columns) as WindowOf;
  }

  #column({ shape }: RowLeaf, i: number): Column {
    return new Column(concatArrays(this.#cached.map((values) => values[i] as Column["data"])), [this.#length, ...shape]);
  }
}
