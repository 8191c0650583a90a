/** Reading: draws items of a table and gathers their steps into arrays. One plan per batch object, made once, so that the next sample allocates nothing. */
import { BOOTSTRAP, DISTINCT, LENGTH, LONGEST, SHAPE, STRATIFIED } from "./abi.ts";
import { arrayOf, type Batch, type Blocked, type Column, INFO, N_STEP, newArrays } from "./batch.ts";
import { countOf, leafAt, type Selection, selectionsOf, wholeOf } from "./columns.ts";
import { type AnyArray, DTYPES } from "./dtype.ts";
import { type Engine, MAX_SHAPES } from "./engine.ts";
import { finite, integer, mustBe, oneOf, onlyKeys, ReplayError } from "./error.ts";
import { up, WIDE } from "./layout.ts";
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
  /** A batch to fill: one that `sample` or `batch` gave with the same options, or the same form of your own arrays. Without it new arrays are made. */
  readonly into?: Batch<unknown>;
  /** Whether an item may come more than once; true where it is left out. */
  readonly replacement?: boolean;
  /** Only the k oldest items. */
  readonly among?: number;
  /** One item out of each n-th of the distribution. */
  readonly stratified?: boolean;
  /** Steps of a window; where it is left out, those of the longest item drawn, or of `into`. */
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

const OFFSETS = { start: 0, end: 1, uniform: 2 };
const NORMALIZE = { none: 0, batch: 1, table: 2 };
const BLOCKED_BY = ["", "minSize", "samplesPerInsert", "items"] as const;
/** A wide value is copied straight from its row to the caller's array, from this size on. */
const STRAIGHT_BYTES = 4096;
const MOST = 0xffffff;

/** One array that a plan fills. */
interface Copy {
  readonly target: AnyArray;
  /** Elements an item. */
  readonly each: number;
  /** Where it comes from: in the staging area, or -1 - c for the draw's column c. */
  readonly from: number;
  view: AnyArray;
}

interface Output {
  readonly selection: Selection;
  readonly count: number;
  readonly from: number;
  /** The target as bytes, where wide values are copied straight. */
  readonly straight: Uint8Array | undefined;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** How one batch object is filled. */
class Plan {
  readonly batch: Writable<Batch<unknown>>;
  readonly n: number;
  readonly width: number;
  /** Rows an item that the longest column may have. */
  readonly rows: number;
  readonly columns: object | undefined;
  /** The shape of items whose columns these are; 0 where the caller chose. */
  readonly shape: number;
  readonly #engine: Engine;
  readonly #outputs: readonly Output[];
  readonly #copies: Copy[] = [];
  #maskAt = -1;
  /** Bytes of the staging area. */
  #bytes = 0;
  #base = 0;
  #generation = -1;

  constructor(engine: Engine, batch: Batch<unknown>, n: number, width: number, columns: object | undefined, selections: readonly Selection[], shape = 0) {
    this.#engine = engine;
    this.batch = batch;
    this.n = n;
    this.width = width;
    this.columns = columns;
    this.shape = shape;
    this.#outputs = selections.map((selection) => {
      const { leaf } = selection;
      const { array, kind } = DTYPES[leaf.leaf.dtype];
      const count = countOf(selection, width);
      const data = reach(batch.steps, selection.keys)?.data;
      const rule = `a ${kind} of at least ${n * count * leaf.size}`;
      if (!(data instanceof array) || data.length < n * count * leaf.size)
        throw mustBe("SPEC_MISMATCH", `into.steps.${selection.keys.join(".")}.data`, rule, data);
      if (leaf.kind === WIDE && leaf.bytes >= STRAIGHT_BYTES) {
        return { selection, count, from: 0, straight: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
      }
      return { selection, count, from: this.#stage(data, count * leaf.size, n * count * leaf.bytes), straight: undefined };
    });
    const own = (name: string, array: { readonly name: string; new (n: number): AnyArray }, least: number, target: unknown): AnyArray => {
      if (target instanceof array && target.length >= least) return target;
      throw mustBe("SPEC_MISMATCH", `into.${name}`, `a ${array.name} of at least ${least}`, target);
    };
    if (batch.mask !== undefined) this.#maskAt = this.#stage(own("mask", Uint8Array, n * width, batch.mask), width, n * width);
    this.#copies.push(copyOf(own("lengths", Uint32Array, n, batch.lengths), 1, -1 - LENGTH));
    for (const [part, columnsOf] of Object.entries({ info: INFO, nStep: N_STEP })) {
      const arrays = (batch as unknown as { [part: string]: { [name: string]: AnyArray } | undefined })[part];
      for (const [name, column] of Object.entries(columnsOf)) {
        const target = arrays?.[name];
        if (target !== undefined) this.#copies.push(copyOf(own(`${part}.${name}`, arrayOf(column), n, target), 1, -1 - column));
      }
    }
    this.rows = rowsOf(selections, width);
    if (this.#outputs.some((output) => output.straight !== undefined)) this.#bytes += 8 * n * this.rows;
  }

  /** Makes sure that the staging area is there, and that the views look at it. */
  prepare(draw: number): void {
    const { core } = this.#engine;
    this.#base = core.scratch(this.#bytes);
    if (this.#generation === core.generation) return;
    for (const copy of this.#copies) {
      const at = copy.from < 0 ? core.x.draw_column(draw, -1 - copy.from) >>> 0 : this.#base + copy.from;
      copy.view = new (copy.target.constructor as Float32ArrayConstructor)(core.u8.buffer, at, this.n * copy.each);
    }
    this.#generation = core.generation;
  }

  /** Gathers what was drawn and copies it out. */
  fill(draw: number, count: number): void {
    const { core, pool } = this.#engine;
    const { x } = core;
    let last: Output | undefined;
    for (const output of this.#outputs) {
      const { start, step, leaf } = output.selection;
      // Columns of the same steps are selected once.
      if (last?.count !== output.count || last.selection.start !== start || last.selection.step !== step)
        x.gather_select(draw, pool, start, output.count, step);
      last = output;
      if (output.straight === undefined) x.gather_leaf(draw, pool, leaf.index, this.#base + output.from);
      else this.#copyStraight(draw, leaf.index, leaf.bytes, output.straight);
    }
    if (this.#maskAt >= 0) {
      x.gather_select(draw, pool, 0, this.width, 1);
      x.gather_mask(draw, this.#base + this.#maskAt);
    }
    for (const { target, view, each } of this.#copies) {
      // The same class on both sides: a plain copy of memory.
      (target as Float64Array).set((count === this.n ? view : view.subarray(0, count * each)) as Float64Array);
    }
  }

  /** A place in the staging area for what goes to an array. */
  #stage(target: AnyArray, each: number, bytes: number): number {
    const from = this.#bytes;
    this.#bytes += up(bytes, 16);
    this.#copies.push(copyOf(target, each, from));
    return from;
  }

  #copyStraight(draw: number, leaf: number, bytes: number, target: Uint8Array): void {
    const { core, pool } = this.#engine;
    const at = this.#base + this.#bytes - 8 * this.n * this.rows;
    const end = (at >> 2) + 2 * core.x.gather_runs(draw, pool, leaf, at);
    const { u8, u32 } = core;
    let to = 0;
    for (let i = at >> 2; i < end; i += 2) {
      const address = u32[i] as number;
      const length = (u32[i + 1] as number) * bytes;
      if (address === 0) target.fill(0, to, to + length);
      else target.set(u8.subarray(address, address + length), to);
      to += length;
    }
  }
}

export class Reader {
  readonly #engine: Engine;
  readonly #table: number;
  readonly #plans = new WeakMap<object, Plan>();
  readonly #selections = new WeakMap<object, readonly Selection[]>();
  readonly #whole: readonly Selection[];

  constructor(engine: Engine, table: number) {
    this.#engine = engine;
    this.#table = table;
    this.#whole = wholeOf(engine.layout.leaves);
  }

  /** Up to n items, drawn and gathered. */
  sample(n: number, options: SampleOptions): Batch<unknown> {
    const engine = this.#engine;
    const { x } = engine.core;
    const table = this.#table;
    const { into, beta, length, columns, among = 0 } = onlyKeys("options", options, OPTIONS);
    integer("n", n, 1, MOST);
    integer("among", among, 0, 0xffffffff);
    if (length !== undefined) integer("length", length, 1, MOST);
    // Tested here: handed on as an argument, a fraction would be allocated.
    if (beta !== undefined && !Number.isFinite(beta)) finite("beta", beta);
    const from = oneOf("offset", OFFSETS, options.offset ?? "start");
    const normalize = oneOf("normalize", NORMALIZE, options.normalize ?? "batch");
    const nStep = options.nStep === undefined ? undefined : this.#nStep(options.nStep);
    const selections = columns === undefined ? this.#whole : this.#selectionsOf(columns);
    let plan = into === undefined ? undefined : this.#planOf(into, n, options, selections);
    // Whatever could fail is done before the draw, which changes the table.
    const shape = plan !== undefined ? this.#sameShape(plan) : columns === undefined ? x.table_counter(table, SHAPE) : 0;
    const shown = n === 1 && shape === MAX_SHAPES ? engine.shapes.flatMap((one) => one.selections) : this.#shown(shape, selections);
    if (nStep === undefined) noBootstrap(shown);
    const draw = engine.draw(n);
    if (plan === undefined) engine.reserveRows(n * rowsOf(shown, length ?? x.table_counter(table, LONGEST)));
    else {
      engine.reserveRows(n * plan.rows);
      plan.prepare(draw);
    }
    const flags = (options.replacement === false ? DISTINCT : 0) + (options.stratified === true ? STRATIFIED : 0);
    const count = x.table_sample(table, draw, n, flags, among);
    if (count < 0) throw new ReplayError("UNSUPPORTED", x.error_argument() === 3 ? NO_STRATA : NO_AMONG);
    engine.changes++;
    try {
      if (plan === undefined) {
        plan = this.#freshOf(count, length ?? x.draw_longest(draw), options, selections, count === 0 || shape !== MAX_SHAPES ? shape : x.draw_shape(draw));
        plan.prepare(draw);
      }
      if (beta !== undefined) x.table_weights(table, draw, beta, normalize);
      x.draw_window(draw, table, plan.width, from, options.cross === true ? 1 : 0);
      if (nStep !== undefined) x.draw_n_step(draw, engine.pool, nStep.leaves, nStep.n, nStep.gamma, nStep.flags);
      plan.fill(draw, count);
      plan.batch.count = count;
      plan.batch.blocked =
        count === n ? undefined : { by: BLOCKED_BY[x.draw_blocked(draw)] as Blocked["by"], have: x.draw_have(draw), need: x.draw_need(draw) };
      return plan.batch;
    } finally {
      x.table_settle(table);
      if (engine.waiters.size !== 0) engine.waiters.wake();
    }
  }

  /** New arrays for n items, as `into`. */
  batch(n: number, options: SampleOptions): Batch<unknown> {
    const { columns } = onlyKeys("options", options, OPTIONS);
    const selections = columns === undefined ? this.#whole : this.#selectionsOf(columns);
    const plan = this.#fresh(integer("n", n, 1, MOST), integer("length", options.length, 1, MOST), options, selections);
    this.#plans.set(plan.batch, plan);
    return plan.batch;
  }

  /** The plan of a batch that is to be filled. */
  #planOf(into: Batch<unknown>, n: number, options: SampleOptions, selections: readonly Selection[]): Plan {
    if (typeof into !== "object" || into === null) throw mustBe(TypeError, "into", "a batch", into);
    const { beta, nStep, columns } = options;
    if ((beta !== undefined && into.info?.weights === undefined) || (nStep !== undefined && into.nStep === undefined)) {
      throw new ReplayError("SPEC_MISMATCH", "into must have info.weights for beta, and nStep for nStep: make it with batch(n, options) and the same options");
    }
    const known = this.#plans.get(into);
    const width = options.length ?? known?.width ?? reach(into.steps, (selections[0] as Selection).keys)?.shape?.[1] ?? 0;
    if (known?.n === n && known.columns === columns && known.width === width) return known;
    const plan = new Plan(this.#engine, into, n, integer("length, given or of into,", width, 1, MOST), columns, selections);
    this.#plans.set(into, plan);
    return plan;
  }

  /** A plan for new arrays. */
  #fresh(n: number, width: number, options: SampleOptions, selections: readonly Selection[], shape = 0): Plan {
    const flat = shape !== 0 || options.columns !== undefined;
    const columns = selections.map((one) => {
      const shape = [n, ...(one.squeezed ? [] : [countOf(one, width)]), ...one.leaf.shape];
      return { data: new DTYPES[one.leaf.leaf.dtype].array(shape.reduce((product, k) => product * k, 1)), shape };
    });
    const { weights, ...info } = INFO;
    const batch = {
      count: 0,
      steps: flat ? Object.fromEntries(columns.map((column, i) => [selections[i]?.keys[0], column])) : pack(this.#engine.spec, columns),
      lengths: new Uint32Array(n),
      info: newArrays(options.beta === undefined ? info : INFO, n),
      ...(options.nStep === undefined ? {} : { nStep: newArrays(N_STEP, n) }),
      ...(options.mask === true ? { mask: new Uint8Array(n * width) } : {}),
      blocked: undefined,
    };
    return new Plan(this.#engine, batch as unknown as Batch<unknown>, n, width, options.columns, selections, shape);
  }

  #selectionsOf(columns: object): readonly Selection[] {
    const known = this.#selections.get(columns);
    if (known !== undefined) return known;
    const made = selectionsOf(columns, this.#engine.layout.leaves);
    this.#selections.set(columns, made);
    return made;
  }

  /** What the items drawn show of themselves. */
  /** A plan for new arrays of items of a shape, which may be given as `into` again. */
  #freshOf(n: number, width: number, options: SampleOptions, selections: readonly Selection[], shape: number): Plan {
    const known = shape === MAX_SHAPES ? 0 : shape;
    const plan = this.#fresh(n, width, options, this.#shown(known, selections), known);
    if (known !== 0) this.#plans.set(plan.batch, plan);
    return plan;
  }

  /** The shape of a plan, if its table's items have it, where it was made for them. */
  #sameShape(plan: Plan): number {
    const { shape } = plan;
    return shape === 0 || shape === this.#engine.core.x.table_counter(this.#table, SHAPE) ? shape : MAX_SHAPES;
  }

  #shown(shape: number, selections: readonly Selection[]): readonly Selection[] {
    const known = shape === 0 ? selections : this.#engine.shapes[shape - 1]?.selections;
    if (known === undefined) throw new ReplayError("SPEC_MISMATCH", "items of this table have another shape, or several: give columns, or draw one at a time");
    return known;
  }

  #nStep(options: NStepOptions): { leaves: number; n: number; gamma: number; flags: number } {
    const { n, gamma, reward, discount, terminal, nextState } = onlyKeys("nStep", options, "n, gamma, reward, discount, terminal, nextState");
    if (discount !== undefined && terminal !== undefined) throw new RangeError("nStep must have either discount or terminal, got both");
    const leaf = (role: string, path: string) => {
      const found = leafAt(`nStep.${role}`, this.#engine.layout.leaves, path);
      if (found.size !== 1 || found.leaf.shared !== undefined)
        throw mustBe("SPEC_MISMATCH", `nStep.${role}`, "a leaf of one number a step", path);
      return found.index;
    };
    const ends = discount !== undefined ? leaf("discount", discount) : terminal !== undefined ? leaf("terminal", terminal) : 0xffff;
    return {
      leaves: leaf("reward", reward) + 65536 * ends,
      n: integer("nStep.n", n, 1, MOST),
      gamma: finite("nStep.gamma", gamma),
      flags: oneOf("nStep.nextState", { following: 0, own: 1 }, nextState ?? "following") + (terminal === undefined ? 0 : 2),
    };
  }
}

const OPTIONS = "into, replacement, among, stratified, length, offset, cross, columns, nStep, mask, beta, normalize";
const NO_STRATA = "stratified draws must have a uniform or prioritized sampler, replacement, and no maxTimesSampled";
const NO_AMONG =
  "among must have a fifo sampler, a uniform one whose younger items stayed in place, or a prioritized one with a fifo or lifo remover: draw from all items, or raise among";

/** Rows an item that the longest column has at most: one of the last steps may have more than the window. */
function rowsOf(selections: readonly Selection[], width: number): number {
  return Math.max(width, ...selections.map(({ squeezed, start }) => (squeezed ? 1 : -start)));
}

/** Where the n-step return ends is only known where there is one. */
function noBootstrap(selections: readonly Selection[]): void {
  if (selections.some((one) => one.start === BOOTSTRAP)) throw new RangeError('columns with at: "bootstrap" must have nStep with them, got none');
}

function copyOf(target: AnyArray, each: number, from: number): Copy {
  return { target, each, from, view: target };
}

function reach(node: unknown, keys: readonly string[]): Column | undefined {
  return keys.reduce((at, key) => (at as { [name: string]: unknown } | undefined)?.[key], node) as Column | undefined;
}
