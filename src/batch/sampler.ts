/**
 * The one way from a draw to a batch, for a table and for every view of one: options → a buffer whose layout has room for what may come → the core draws → the buffer that
 * what was drawn needs → weights, rows, returns → gather. A view says which layout, which rows and which returns.
 */

import { AHEAD, BLOCKED } from "../base/abi.ts";
import { oneOf } from "../base/error.ts";
import { warnIgnoredPriorities, warnLostRewards } from "../base/warnings.ts";
import type { Engine } from "../memory/engine.ts";
import type { CoreTable } from "../memory/table.ts";
import type { RateLimiter } from "../schema/rate-limiter.ts";
import type { Selector } from "../schema/selector.ts";
import type { Into } from "./batch.ts";
import type { BatchBuffer, Filled } from "./buffer.ts";
import { concat, fillMask } from "./derive.ts";
import { Draw, refusedDraw } from "./draw.ts";
import { gather } from "./gather.ts";
import { MASK, WEIGHTS } from "./layout.ts";
import { NORMALIZE, type NStep, ParsedOptions, type SampleOptions } from "./options.ts";
import { BatchPool } from "./pool.ts";

/** What of a table limits draws. */
export interface DrawLimits {
  readonly sampler: Selector;
  readonly maxSize: number;
  readonly maxSteps: number;
  readonly maxTimesSampled: number;
  readonly rateLimiter: RateLimiter;
}

/** The table that a sampler draws from. */
export interface SampledTable {
  readonly engine: Engine;
  readonly core: CoreTable;
  readonly name: string;
  readonly limits: DrawLimits;
}

/** A batch of which some draws are a part. */
export interface PartOf<B = object> {
  readonly n: number;
  readonly options: SampleOptions;
  /** Its first part, if this is not it. */
  readonly first: B | undefined;
}

/** What batches show of the items that are drawn. */
export interface BatchView {
  /** For the core: flags of the draw in addition to those of the options; steps of a window, and which part of longer items it shows. */
  readonly flags: number;
  readonly width: number;
  readonly from: number;
  /** Which returns are computed; the table whose items they begin with, or 0. */
  readonly nStep: NStep | undefined;
  readonly nStepTable: number;
  /** The buffer of a call, with room for what may be drawn. @throws what says why there can be no batch; then nothing is drawn */
  choose(part: PartOf | undefined): BatchBuffer;
  /** The buffer of what was drawn. */
  narrow(buffer: BatchBuffer, draw: Draw, count: number, part: PartOf | undefined): BatchBuffer;
  /** Changes numbers of the draw before they are gathered. */
  derive?(buffer: BatchBuffer, draw: Draw): void;
  /** Ends a batch that is complete but for what is behind its last item. */
  end?(buffer: BatchBuffer, count: number): void;
  /** @throws for options that no draw takes, in addition to those of every view */
  check(options: SampleOptions): void;
  /** What a batch that was drawn ahead counts by. @param batch as it was drawn */
  counted(batch: object): { readonly keys: Float64Array; readonly times?: Uint32Array };
  /** The options of a part of a batch. @param into what the whole batch goes into */
  partOptions(options: SampleOptions, into: Into | undefined, n: number): SampleOptions;
  /** A buffer for the parts of a batch as one. */
  whole(parts: readonly BatchBuffer[], options: SampleOptions, n: number): BatchBuffer;
}

export class Sampler<B extends { readonly count: number } = { readonly count: number }> {
  readonly table: SampledTable;
  readonly options: ParsedOptions;
  readonly pool = new BatchPool();
  /** Warnings of a call: a logger may call back, so they are said at its end. */
  readonly unsaid: string[] = [];
  /** Items of the last draw. */
  lastCount = 0;
  readonly #view: BatchView;
  readonly #ahead: Draw;

  /** @param keys the options that there are @param viewOf makes the view */
  constructor(table: SampledTable, keys: string, viewOf: (sampler: Sampler) => BatchView) {
    const { engine, name, limits } = table;
    this.table = table;
    this.options = new ParsedOptions({ name, sampler: limits.sampler, leaves: engine.layout.leaves }, keys);
    this.#ahead = new Draw(engine);
    this.#view = viewOf(this as unknown as Sampler);
  }

  /** Draws up to n items and gathers them. @param ahead whether they count only when the batch is `passed` @param part of which batch these draws are a part */
  sample(n: number, callOptions: SampleOptions | undefined, ahead = false, part?: PartOf): B {
    const { options, pool } = this;
    const { engine, core, name } = this.table;
    const view = this.#view;
    const { handle } = core;
    let open: Draw | undefined;
    let buffer: BatchBuffer;
    let lost = false;
    let isNew = false;
    engine.begin();
    // Options are read here, and a getter may call back.
    engine.locked = true;
    try {
      if (callOptions === undefined && options.isPlain && options.n === n) options.isSame = true;
      else options.read(n, callOptions);
      const { holds } = options;
      buffer = view.choose(part);
      const draw = buffer.prepare();
      if (holds & WEIGHTS) draw.beta[0] = options.beta[0] as number;
      const count = draw.sample(handle, n, options.flags + view.flags + (ahead ? AHEAD : 0), options.among);
      if (count < 0) throw refusedDraw(engine, count);
      open = draw;
      this.lastCount = count;
      buffer = view.narrow(buffer, draw, count, part);
      if (holds & WEIGHTS) draw.weigh(handle, options.divisor);
      const { picks } = buffer.layout;
      if (picks === undefined || buffer.lists !== undefined) draw.runs(handle, count, view.width, view.from);
      else draw.pick(handle, count, view.width, view.from, picks);
      const { nStep } = view;
      lost = nStep !== undefined && draw.nStep(nStep, view.nStepTable) > 0;
      view.derive?.(buffer, draw);
      gather(buffer, count);
      if (buffer.layout.holds & MASK) fillMask(buffer, count);
      view.end?.(buffer, count);
      isNew = options.into === undefined && part === undefined && options.recycle === false;
      const { batch, layout } = buffer;
      if (layout.isBlockable) batch.blocked = count === n ? undefined : draw.blocked();
    } finally {
      options.into = undefined;
      engine.locked = false;
      if (open !== undefined) {
        open.close(handle);
        engine.changed();
      }
    }
    if (lost) warnLostRewards(engine.warnings, name);
    if (options.holds & WEIGHTS && core.ignoresPriorities) warnIgnoredPriorities(engine.warnings, name, core, "beta");
    while (this.unsaid.length > 0) engine.warnings.log(this.unsaid.shift() as string);
    return (isNew ? pool.give(buffer) : buffer.batch) as object as B;
  }

  /** @throws for options that no draw takes, whatever there is to draw */
  check(options: SampleOptions): void {
    this.options.check(options);
    this.#view.check(options);
  }

  /** Counts a batch that was drawn ahead. */
  passed(batch: B): void {
    const { engine, core } = this.table;
    engine.begin();
    const { keys, times } = this.#view.counted(batch);
    core.count(keys, batch.count, times);
  }

  /** Some draws of a batch, in arrays of their own. Its weights are as they are: those of the whole batch are divided by the largest. */
  part(n: number, of: PartOf<B>): B {
    const { into, ...options } = of.options;
    const { normalize = "batch" } = options;
    const isDivided = oneOf("normalize", NORMALIZE, normalize) === NORMALIZE.batch;
    this.table.engine.begin();
    return this.sample(n, this.#view.partOptions({ ...options, normalize: isDivided ? "none" : normalize }, into, of.n), false, of);
  }

  /** The parts of a batch as one. @param short whether draws are missing: then the batch says why */
  join(batches: readonly B[], options: SampleOptions, short: boolean): B {
    const parts = batches.map((batch) => ({ buffer: this.pool.known.get(batch) as BatchBuffer, count: batch.count }));
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    const buffers = parts.map(({ buffer }) => buffer);
    const whole = this.#view.whole(buffers, options, count);
    concat(whole, parts, (options.normalize ?? "batch") === "batch");
    const batch: Filled = whole.batch;
    batch.count = count;
    if (whole.layout.isBlockable) batch.blocked = short ? this.#blocked() : undefined;
    this.#view.end?.(whole, count);
    return batch as object as B;
  }

  /** Looks at what a draw would give. @throws ReplayError SPEC_MISMATCH, UNSUPPORTED; then nothing is drawn */
  lookAhead(n: number, flags: number, among: number): Draw {
    const { engine, core } = this.table;
    const ahead = this.#ahead;
    ahead.prepare(0, n, 0);
    const count = ahead.peek(core.handle, n, flags, among);
    if (count < 0) throw refusedDraw(engine, count);
    return ahead;
  }

  /** Why the next draw does not pass. */
  #blocked(): Filled["blocked"] {
    const ahead = this.#ahead;
    ahead.prepare(0, 1, 0);
    ahead.peek(this.table.core.handle, 1, 0, 0);
    return ahead.result(BLOCKED) === 0 ? undefined : ahead.blocked();
  }
}
