/** Implements the environment and the policy of the driver cases, and creates a driver for them. */
import {
  type DriveState,
  DynamicEpisodeDriver,
  DynamicStepDriver,
  type Environment,
  type Policy,
  PyDriver,
  restart,
  StepType,
  type TimeStep,
} from "../../../src/tf-agents/index.ts";
import { ourArguments } from "../arguments.ts";
import { isObject, Malformed, type Result } from "../case.ts";
import { plain } from "../trajectories/values.ts";

type Args = { readonly [name: string]: unknown };

/** One environment of the batch. It repeats episodes with the given numbers of transitions. A negative number marks a truncated episode. */
class Row {
  readonly #lengths: readonly number[];
  readonly #base: number;
  #t = -1;
  #episode = -1;
  #left = 0;
  #over = true;

  constructor(lengths: readonly number[], row: number) {
    this.#lengths = lengths;
    this.#base = 100 * row;
  }

  get t(): number {
    return this.#t;
  }

  /** Starts the next episode. Returns the type, reward, discount and observation of its first step. */
  reset(): readonly [number, number, number, number] {
    this.#t++;
    this.#episode++;
    this.#left = Math.abs(this.#length);
    this.#over = false;
    return [StepType.FIRST, 0, 1, this.#base + this.#t];
  }

  step(): readonly [number, number, number, number] {
    if (this.#over) return this.reset();
    this.#t++;
    this.#over = --this.#left === 0;
    const cutOff = this.#length < 0;
    return [this.#over ? StepType.LAST : StepType.MID, this.#t / 4, this.#over && !cutOff ? 0 : 1, this.#base + this.#t];
  }

  get #length(): number {
    return this.#lengths[this.#episode % this.#lengths.length] as number;
  }
}

/** An environment, or a batch of environments. */
class Scripted implements Environment<unknown, unknown> {
  readonly #rows: readonly Row[];
  readonly #isBatch: boolean;
  #now: TimeStep | undefined;

  constructor(rows: readonly Row[], isBatch: boolean) {
    this.#rows = rows;
    this.#isBatch = isBatch;
  }

  reset(): TimeStep {
    return this.#seen(this.#rows.map((row) => row.reset()));
  }

  step(): TimeStep {
    return this.#seen(this.#rows.map((row) => row.step()));
  }

  currentTimeStep(): TimeStep {
    return this.#now ?? this.reset();
  }

  getInfo(): object {
    const t = this.#rows.map((row) => row.t);
    return { t: this.#isBatch ? t : t[0] };
  }

  #seen(rows: readonly (readonly [number, number, number, number])[]): TimeStep {
    const column = (i: 0 | 1 | 2 | 3) => rows.map((row) => row[i]);
    const [stepType, reward, discount, observation] = [column(0), column(1), column(2), column(3)];
    this.#now = this.#isBatch
      ? {
          stepType: Int32Array.from(stepType),
          reward: Float32Array.from(reward),
          discount: Float32Array.from(discount),
          observation: Float32Array.from(observation),
        }
      : { ...restart(observation[0]), stepType: stepType[0] as number, reward: reward[0] as number, discount: discount[0] as number };
    return this.#now;
  }
}

function scriptedPolicy(rows: number | undefined, words: readonly unknown[]): Policy<unknown, unknown> {
  const hasState = words.includes("state");
  let k = -1;
  const of = (value: (row: number) => number) => (rows === undefined ? value(0) : Int32Array.from({ length: rows }, (_, row) => value(row)));
  return {
    initialState: () => (hasState ? of(() => 0) : undefined),
    action(_, state) {
      k++;
      const at = (row: number) => (typeof state === "number" ? state : (state as Int32Array)[row]) as number;
      const info = words.includes("info") ? { info: { p: hasState ? of((row) => 2 * at(row)) : of(() => k) } } : {};
      return { action: of((row) => 1000 * row + k), state: hasState ? of((row) => at(row) + 1) : undefined, ...info };
    },
  };
}

const LISTS = ["observers", "transition_observers", "info_observers"];

export class DriverWorld {
  readonly #calls: unknown[] = [];
  readonly #environment: Scripted;
  readonly #driver: PyDriver | DynamicStepDriver | DynamicEpisodeDriver;
  #last: DriveState | undefined;

  constructor({ class: kind, environment, policy = [], args = {} }: Args) {
    if (!Array.isArray(environment) || !Array.isArray(policy) || !isObject(args)) throw new Malformed("environment and policy must be arrays, args an object");
    const isBatch = Array.isArray(environment[0]);
    const lengths = (isBatch ? environment : [environment]) as number[][];
    // Only PyDriver accepts an environment without a batch dimension. The other drivers receive a single environment as a batch of one.
    const hasRows = isBatch || kind !== "PyDriver";
    this.#environment = new Scripted(
      lengths.map((each, row) => new Row(each, row)),
      hasRows,
    );
    const acts = scriptedPolicy(hasRows ? lengths.length : undefined, policy);
    const lists = Object.entries(args).map(([name, value]) => [name, LISTS.includes(name) ? (value as string[]).map((one) => this.#observer(one)) : value]);
    const { observers, ...options } = ourArguments(Object.fromEntries(lists)) as { readonly observers?: never[] };
    if (kind === "PyDriver") this.#driver = new PyDriver(this.#environment, acts, observers ?? [], options);
    else if (kind === "DynamicStepDriver") this.#driver = new DynamicStepDriver(this.#environment, acts, observers, options);
    else if (kind === "DynamicEpisodeDriver") this.#driver = new DynamicEpisodeDriver(this.#environment, acts, observers, options);
    else throw new Malformed(`unknown driver ${JSON.stringify(kind)}`);
  }

  run({ from, args }: Args): Result {
    this.#calls.length = 0;
    const options = ourArguments(args) as object;
    const last = from === "last" ? this.#last : undefined;
    const timeStep = from === "reset" ? this.#environment.reset() : last?.timeStep;
    this.#last = this.#driver.run(timeStep, last?.policyState, options) as DriveState;
    return { calls: [...this.#calls], time_step: plain(this.#last.timeStep), policy_state: told(this.#last.policyState) };
  }

  #observer(name: string): (given: never) => void {
    return (given: { readonly timeStep: unknown; readonly actionStep: unknown; readonly nextTimeStep: unknown }) => {
      const isTransition = given.timeStep !== undefined;
      this.#calls.push([name, isTransition ? [given.timeStep, given.actionStep, given.nextTimeStep].map(plain) : plain(given)]);
    };
  }
}

/** Converts a policy state to the format of the cases, in which a missing state is an empty list. */
function told(state: unknown): unknown {
  return state === undefined ? [] : plain(state);
}
