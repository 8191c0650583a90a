/** Reading: draws items of a table and gathers their steps into arrays. One plan per batch object, made once, so that the next sample allocates nothing. */
import {
  BOOTSTRAP,
  DISCOUNT,
  DISTINCT,
  KEY,
  LENGTH,
  PRIORITY,
  PROBABILITY,
  RETURN,
  STEPS,
  STRATIFIED,
  TABLE_SIZE,
  TERMINATED,
  TIMES_SAMPLED,
  TRUNCATED,
  WEIGHT,
} from "./abi.ts";
import { type Batch, type Blocked, type Column, givenColumn, newColumn, newInfo, newNStep, type Writable } from "./batch.ts";
import { countOf, type Selection, selectionsOf } from "./columns.ts";
import type { AnyArray, DTYPES } from "./dtype.ts";
import type { Engine } from "./engine.ts";
import { finite, integer, mustBe, oneOf, ReplayError, show } from "./error.ts";
import { type PlacedLeaf, up, WIDE } from "./layout.ts";
import { pack } from "./spec.ts";

export interface NStepOptions<Path extends string = string> {
  /** Rewards of a full return. */
  readonly n: number;
  readonly gamma: number;
  /** The leaf of rewards. */
  readonly reward: Path;
  /** The leaf of discounts (0 = terminal), or of terminal flags; at most one of the two. */
  readonly discount?: Path;
  readonly terminal?: Path;
  /** Where the observation after a step is: in the step that follows (the default), or in the step's own leaf. */
  readonly nextState?: "following" | "own";
}

export interface SampleOptions<Path extends string = string, C = object> {
  /** A batch to fill: one that `sample` or `batch` gave, of the same options. Without it new arrays are made. */
  readonly into?: Batch<unknown>;
  /** Whether an item may come more than once; true where it is left out. */
  readonly replacement?: boolean;
  /** Only the k oldest items. */
  readonly among?: number;
  /** One item out of each n-th of the distribution. */
  readonly stratified?: boolean;
  /** Steps of a window; where it is left out, those of the longest item drawn. */
  readonly length?: number;
  /** Where in a longer item the window begins; "start" where it is left out. */
  readonly offset?: "start" | "end" | "uniform";
  /** Whether a window goes on over the end of an episode; false where it is left out. */
  readonly cross?: boolean;
  /** What to show of a window; where it is left out, every leaf of every step. */
  readonly columns?: C;
  readonly nStep?: NStepOptions<Path>;
  /** Also give the mask of steps and padding. */
  readonly mask?: boolean;
  /** Also give importance weights (size × probability)^-beta. */
  readonly beta?: number;
  /** By what they are divided: the largest of the batch (the default), the largest that the table could give, or nothing. */
  readonly normalize?: "batch" | "table" | "none";
}

const OFFSETS = { start: 0, end: 1, uniform: 2 } as const;
const NORMALIZE = { none: 0, batch: 1, table: 2 } as const;
const BLOCKED_BY = ["", "minSize", "samplesPerInsert", "items"] as const;
/** A wide value is copied straight from its row to the caller's array, from this size on. */
const STRAIGHT_BYTES = 4096;

/** One array that a plan fills from the staging area. */
interface Copy {
  readonly target: AnyArray;
  /** Elements an item. */
  readonly each: number;
  /** In the staging area; -1 - c for the draw's column c. */
  readonly from: number;
  view: AnyArray;
}

interface Output extends Copy {
  readonly leaf: PlacedLeaf;
  readonly selection: Selection | undefined;
  readonly count: number;
  /** The target as bytes, where wide values are copied straight. */
  readonly straight: Uint8Array | undefined;
}

/** How one batch object is filled. */
class Plan {
  readonly batch: Writable<Batch<unknown>>;
  readonly n: number;
  readonly width: number;
  readonly columns: object | undefined;
  readonly outputs: readonly Output[];
  readonly copies: readonly Copy[];
  readonly maskAt: number;
  readonly bytes: number;
  generation = -1;

  constructor(
    engine: Engine,
    batch: Writable<Batch<unknown>>,
    n: number,
    width: number,
    columns: object | undefined,
    selections: readonly Selection[] | undefined,
  ) {
    this.batch = batch;
    this.n = n;
    this.width = width;
    this.columns = columns;
    let at = 0;
    const place = (bytes: number) => {
      const here = at;
      at += up(bytes, 16);
      return here;
    };
    const output = (leaf: PlacedLeaf, selection: Selection | undefined, column: Column): Output => {
      const count = selection === undefined ? width : countOf(selection, width);
      const straight = leaf.kind === WIDE && leaf.bytes >= STRAIGHT_BYTES;
      const { data } = column;
      return {
        target: data,
        each: count * leaf.size,
        from: straight ? 0 : place(n * count * leaf.bytes),
        view: data,
        leaf,
        selection,
        count,
        straight: straight ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : undefined,
      };
    };
    const steps = batch.steps as { [name: string]: Column };
    this.outputs =
      selections === undefined
        ? engine.layout.leaves.map((leaf) => output(leaf, undefined, reach(steps, leaf.keys)))
        : selections.map((selection) => output(selection.leaf, selection, steps[selection.name] as Column));
    this.maskAt = batch.mask === undefined ? -1 : place(n * width);
    const { info, nStep } = batch;
    const copies: [AnyArray | undefined, number][] = [
      [batch.lengths, LENGTH],
      [info.keys, KEY],
      [info.probabilities, PROBABILITY],
      [info.priorities, PRIORITY],
      [info.timesSampled, TIMES_SAMPLED],
      [info.tableSizes, TABLE_SIZE],
      [info.weights, WEIGHT],
      [nStep?.returns, RETURN],
      [nStep?.discounts, DISCOUNT],
      [nStep?.steps, STEPS],
      [nStep?.terminated, TERMINATED],
      [nStep?.truncated, TRUNCATED],
    ];
    const copied = copies
      .filter(([target]) => target !== undefined)
      .map(([target, column]) => ({ target: target as AnyArray, each: 1, from: -1 - column, view: target as AnyArray }));
    const mask = batch.mask === undefined ? [] : [{ target: batch.mask, each: width, from: this.maskAt, view: batch.mask }];
    this.copies = [...this.outputs.filter((one) => one.straight === undefined), ...mask, ...copied];
    this.bytes = up(at, 16) + (this.outputs.some((one) => one.straight !== undefined) ? 8 * n * width : 0);
  }

  /** Makes sure that the staging area is there and the views look at it; where it begins. */
  prepare(engine: Engine, draw: number): number {
    const { core } = engine;
    const base = core.scratch(this.bytes);
    if (this.generation === core.generation) return base;
    const { buffer } = core.u8;
    for (const copy of this.copies) {
      const at = copy.from < 0 ? core.x.draw_column(draw, -1 - copy.from) >>> 0 : base + copy.from;
      const Made = copy.target.constructor as (typeof DTYPES)["f32"]["array"];
      copy.view = new Made(buffer, at, this.n * copy.each);
    }
    this.generation = core.generation;
    return base;
  }

  /** Gathers what was drawn and copies it out. */
  fill(engine: Engine, draw: number, base: number, count: number): void {
    const { core, pool } = engine;
    const { x } = core;
    let selected: Output | undefined;
    for (const output of this.outputs) {
      if (selected === undefined || !sameRows(selected, output)) this.#select(engine, draw, output.selection, output.count);
      selected = output;
      if (output.straight === undefined) x.gather_leaf(draw, pool, output.leaf.index, base + output.from);
      else this.#copyStraight(engine, draw, base, output, output.straight);
    }
    if (this.maskAt >= 0) {
      this.#select(engine, draw, undefined, this.width);
      x.gather_mask(draw, base + this.maskAt);
    }
    for (const copy of this.copies) {
      // The same class on both sides: a plain copy of memory.
      if (count === this.n) (copy.target as Float64Array).set(copy.view as Float64Array);
      else if (count !== 0) (copy.target as Float64Array).set((copy.view as Float64Array).subarray(0, count * copy.each));
    }
  }

  #select(engine: Engine, draw: number, selection: Selection | undefined, count: number): void {
    engine.core.x.gather_select(draw, engine.pool, selection?.start ?? 0, count, selection?.step ?? 1);
  }

  #copyStraight(engine: Engine, draw: number, base: number, output: Output, target: Uint8Array): void {
    const { core, pool } = engine;
    const runsAt = base + this.bytes - 8 * this.n * this.width;
    const runs = core.x.gather_runs(draw, pool, output.leaf.index, runsAt);
    const { u8, u32 } = core;
    let to = 0;
    for (let i = 0; i < runs; i++) {
      const address = u32[(runsAt >> 2) + 2 * i] as number;
      const bytes = (u32[(runsAt >> 2) + 2 * i + 1] as number) * output.leaf.bytes;
      if (address === 0) target.fill(0, to, to + bytes);
      else target.set(u8.subarray(address, address + bytes), to);
      to += bytes;
    }
  }
}

export class Reader {
  readonly #engine: Engine;
  readonly #table: number;
  readonly #plans = new WeakMap<object, Plan>();
  readonly #selections = new WeakMap<object, readonly Selection[]>();

  constructor(engine: Engine, table: number) {
    this.#engine = engine;
    this.#table = table;
  }

  /** Up to n items, drawn and gathered. */
  sample(n: number, options: SampleOptions): Batch<unknown> {
    const engine = this.#engine;
    const { x } = engine.core;
    const table = this.#table;
    integer("n", n, 1, 0xffffff);
    const { into, beta } = options;
    const planned = into === undefined ? undefined : this.#planOf(into, n, options);
    const nStep = options.nStep === undefined ? undefined : this.#nStep(options.nStep);
    const normalize = NORMALIZE[oneOf("normalize", options.normalize ?? "batch", ["batch", "table", "none"])];
    if (beta !== undefined) finite("beta", beta);
    if (nStep === undefined && this.#selectionsOf(options.columns, 0)?.some((one) => one.start === BOOTSTRAP)) {
      throw new RangeError('columns with at: "bootstrap" need nStep, which says where that is');
    }
    const from = OFFSETS[oneOf("offset", options.offset ?? "start", ["start", "end", "uniform"])];
    const wanted = options.length === undefined ? 0 : integer("length", options.length, 1, 0xffffff);
    const draw = engine.draw(n);
    if (planned !== undefined) engine.reserveRows(n * planned.width);
    let base = planned?.prepare(engine, draw) ?? 0;
    const count = this.#draw(draw, n, options);
    engine.changes++;
    try {
      const plan = planned ?? this.#fresh(count, wanted || x.draw_longest(draw), options, x.draw_shape(draw));
      if (planned === undefined) {
        engine.reserveRows(plan.n * plan.width);
        base = plan.prepare(engine, draw);
      }
      if (beta !== undefined) x.table_weights(table, draw, beta, normalize);
      x.draw_window(draw, table, plan.width, from, options.cross === true ? 1 : 0);
      if (nStep !== undefined) x.draw_n_step(draw, engine.pool, nStep.leaves, nStep.n, nStep.gamma, nStep.flags);
      plan.fill(engine, draw, base, count);
      plan.batch.count = count;
      plan.batch.blocked = count < n ? blocked(engine, draw) : undefined;
      return plan.batch;
    } finally {
      x.table_settle(table);
      if (engine.waiters.size !== 0) engine.waiters.wake();
    }
  }

  /** New arrays for n items, as `into`. */
  batch(n: number, options: SampleOptions): Batch<unknown> {
    integer("n", n, 1, 0xffffff);
    const width = integer("length", options.length, 1, 0xffffff);
    const plan = this.#fresh(n, width, options, 0);
    this.#plans.set(plan.batch, plan);
    return plan.batch;
  }

  #draw(draw: number, n: number, options: SampleOptions): number {
    const { x } = this.#engine.core;
    const { among = 0, stratified = false, replacement = true } = options;
    if (options.among !== undefined) integer("among", among, 1, 0xffffffff);
    const flags = (replacement ? 0 : DISTINCT) + (stratified ? STRATIFIED : 0);
    const count = x.table_sample(this.#table, draw, n, flags, among);
    if (count >= 0) return count;
    throw new ReplayError("UNSUPPORTED", x.error_argument() === 3 ? NO_STRATA : NO_AMONG);
  }

  /** The plan of a batch that is to be filled, checked against the options. */
  #planOf(into: Batch<unknown>, n: number, options: SampleOptions): Plan {
    if (typeof into !== "object" || into === null) throw new TypeError(mustBe("into", "a batch", into));
    const known = this.#plans.get(into);
    const lacks =
      options.beta !== undefined && into.info?.weights === undefined
        ? "info.weights for beta"
        : options.nStep !== undefined && into.nStep === undefined
          ? "nStep"
          : "";
    if (lacks !== "") throw new ReplayError("SPEC_MISMATCH", `into has no arrays ${lacks}: make it with batch(n, options) and the same options`);
    if (known !== undefined && known.n === n && known.columns === options.columns && (options.length === undefined || options.length === known.width))
      return known;
    const width = options.length ?? known?.width ?? widthOf(this.#engine, into, options.columns);
    const plan = this.#given(into, n, width, options.columns);
    this.#plans.set(into, plan);
    return plan;
  }

  /** A plan for new arrays. */
  #fresh(n: number, width: number, options: SampleOptions, shape: number): Plan {
    const engine = this.#engine;
    const selections = this.#selectionsOf(options.columns, shape);
    const time = width === 0 ? [0] : [width];
    const steps =
      selections === undefined
        ? pack(
            engine.spec,
            engine.layout.leaves.map((leaf) => newColumn(leaf.leaf.dtype, [n, ...time, ...leaf.shape])),
          )
        : Object.fromEntries(
            selections.map((one) => [one.name, newColumn(one.leaf.leaf.dtype, [n, ...(one.squeezed ? [] : [countOf(one, width)]), ...one.leaf.shape])]),
          );
    const batch: Writable<Batch<unknown>> = {
      count: 0,
      steps,
      lengths: new Uint32Array(n),
      info: newInfo(n, options.beta !== undefined),
      blocked: undefined,
      ...(options.mask === true ? { mask: new Uint8Array(n * width) } : {}),
      ...(options.nStep === undefined ? {} : { nStep: newNStep(n) }),
    };
    return new Plan(engine, batch, n, width, options.columns, selections);
  }

  /** A plan for arrays that a caller gave. */
  #given(into: Batch<unknown>, n: number, width: number, columns: object | undefined): Plan {
    const engine = this.#engine;
    const selections = this.#selectionsOf(columns, 0);
    const steps = into.steps as { [name: string]: Column };
    for (const leaf of selections === undefined ? engine.layout.leaves : [])
      givenColumn(leaf.path, reach(steps, leaf.keys), leaf.leaf.dtype, n * width * leaf.size);
    for (const one of selections ?? []) givenColumn(one.name, steps?.[one.name], one.leaf.leaf.dtype, n * countOf(one, width) * one.leaf.size);
    const lengths = [into.lengths, ...Object.values(into.info ?? {}), ...Object.values(into.nStep ?? {})] as AnyArray[];
    for (const array of lengths) {
      if (!ArrayBuffer.isView(array) || array.length < n) throw new RangeError(mustBe("into", `a batch of at least ${n} items`, array));
    }
    return new Plan(engine, into as Writable<Batch<unknown>>, n, width, columns, selections);
  }

  #selectionsOf(columns: object | undefined, shape: number): readonly Selection[] | undefined {
    if (columns === undefined) {
      if (shape === 0) return undefined;
      const known = this.#engine.shapes[shape - 1];
      if (known === undefined) throw new ReplayError("SPEC_MISMATCH", "items of several shapes were drawn: give columns, or draw one at a time");
      return known.selections;
    }
    let selections = this.#selections.get(columns);
    if (selections === undefined) {
      selections = selectionsOf(columns, this.#engine.layout.leaves);
      this.#selections.set(columns, selections);
    }
    return selections;
  }

  #nStep(options: NStepOptions): { leaves: number; n: number; gamma: number; flags: number } {
    const { reward, discount, terminal, nextState = "following" } = options;
    if (discount !== undefined && terminal !== undefined) throw new RangeError("nStep must have either discount or terminal, got both");
    oneOf("nStep.nextState", nextState, ["following", "own"]);
    const ends = discount ?? terminal;
    const leaf = (role: string, path: string) => {
      const found = this.#engine.layout.leaves.find((known) => known.path === path);
      if (found === undefined) throw new ReplayError("NOT_FOUND", mustBe(`nStep.${role}`, "a leaf of the spec", path));
      if (found.size !== 1 || found.leaf.shared !== undefined)
        throw new ReplayError("SPEC_MISMATCH", `nStep.${role} must be a single number a step, got ${show(path)} of shape [${found.shape}]`);
      return found.index;
    };
    return {
      leaves: leaf("reward", reward) + 65536 * (ends === undefined ? 65535 : leaf(discount === undefined ? "terminal" : "discount", ends)),
      n: integer("nStep.n", options.n, 1, 0xffffff),
      gamma: finite("nStep.gamma", options.gamma),
      flags: (nextState === "own" ? 1 : 0) + (terminal === undefined ? 0 : 2),
    };
  }
}

const NO_STRATA = "stratified draws need a uniform or prioritized sampler, replacement, and no maxTimesSampled";
const NO_AMONG =
  "among needs a fifo sampler, a uniform one whose younger items stayed in place, or a prioritized one with a fifo or lifo remover; draw from all items, or raise among";

/** Whether two outputs read the same steps, so that they need be selected once. */
function sameRows(a: Output, b: Output): boolean {
  return a.count === b.count && a.selection?.start === b.selection?.start && a.selection?.step === b.selection?.step;
}

function blocked(engine: Engine, draw: number): Blocked {
  const { x } = engine.core;
  return { by: BLOCKED_BY[x.draw_blocked(draw)] as Blocked["by"], have: x.draw_have(draw), need: x.draw_need(draw) };
}

function reach(node: unknown, keys: readonly string[]): Column {
  return keys.reduce((at, key) => (at as { [name: string]: unknown } | undefined)?.[key], node) as Column;
}

/** The width of a given batch, by its first column with a dimension of time. */
function widthOf(engine: Engine, into: Batch<unknown>, columns: object | undefined): number {
  const leaf = engine.layout.leaves[0] as PlacedLeaf;
  const shape = columns === undefined ? reach(into.steps, leaf.keys)?.shape : undefined;
  if (shape === undefined) throw new ReplayError("SPEC_MISMATCH", "length must be given with an into that no sample of this table made");
  return integer("into's dimension of time", shape[1], 1);
}
