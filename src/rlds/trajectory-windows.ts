/** Windows of trajectories within an episode, as columns: what the trajectory observer would write as items. */
import type { Trajectory } from "../agents/trajectory.ts";
import { type Column, flatten, internals, type Leaf, pack, type Spec, type StepsOf } from "../index.ts";
import { sizeOf, zeros } from "./leaves.ts";
import { RldsError } from "./rlds-error.ts";
import type { TrajectoryDataSpec } from "./trajectory-spec.ts";

export type WindowOf<S = Spec> = StepsOf<S> & { readonly [field: string]: unknown };

const LAST = 2;

export class TrajectoryWindows {
  readonly #spec: TrajectoryDataSpec;
  readonly #leaves: readonly Leaf[];
  readonly #length: number;
  readonly #stride: number;
  /** The values of the last trajectories, a list a trajectory; at most `length` of them. */
  #cached: unknown[][] = [];
  #taken = 0;

  constructor(spec: TrajectoryDataSpec, length: number, stride: number) {
    this.#spec = spec;
    this.#leaves = flatten(spec, spec) as Leaf[];
    this.#length = length;
    this.#stride = stride;
  }

  /** The window that ends with this trajectory, if one does. */
  take(trajectory: Trajectory): WindowOf | undefined {
    if (this.#cached.length === this.#length) this.#cached.shift();
    this.#cached.push(flatten(this.#spec, trajectory));
    this.#taken++;
    const over = this.#taken - this.#length;
    const window = over >= 0 && over % this.#stride === 0 ? this.#window() : undefined;
    if (trajectory.stepType === LAST) {
      this.#cached = [];
      this.#taken = 0;
    }
    return window;
  }

  #window(): WindowOf {
    return pack(
      this.#spec,
      this.#leaves.map((leaf, i) => this.#column(leaf, i)),
    ) as WindowOf;
  }

  #column({ dtype, shape }: Leaf, i: number): Column {
    const size = sizeOf(shape);
    const data = zeros(dtype, size * this.#length);
    this.#cached.forEach((values, t) => {
      const value = values[i];
      const list = (typeof value === "object" ? (Array.isArray(value) ? value.flat(shape.length) : value) : [value]) as ArrayLike<never>;
      if (list?.length !== size)
        throw new RldsError("SPEC_MISMATCH", internals.mustBe(TypeError, "a step's value", `${dtype} of shape [${shape}] as in the first step`, value).message);
      if (size === 1 && typeof list[0] === "boolean") data[t] = Number(list[0]) as never;
      else data.set(list as never, t * size);
    });
    return { data, shape: [this.#length, ...shape] };
  }
}
