/** Shows items of a table as sequences: every step under the names of the roles, with the columns that recurrent learners need. */

import { CROSS, DISTINCT, KEY, LONGEST, NEWEST, NO_LEAF, SEQUENCE_ROW_WORK, SEQUENCE_WORK, WEIGHT, WIDE_FLOATS } from "../../base/abi.ts";
import { finite, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { ArrayClass } from "../../schema/dtype.ts";
import { packer } from "../../schema/nest.ts";
import { type DrawnSequences, leaseOf, sequencesClass } from "../batch.ts";
import type { BatchBuffer } from "../buffer.ts";
import { ColumnView } from "../column-view.ts";
import type { Draw } from "../draw.ts";
import { BatchLayout, type ColumnSpec, type NStep, SOURCE, WEIGHTS } from "../layout.ts";
import { Part } from "../part-buffer.ts";
import { emptyTable, notReady } from "../refused-draws.ts";
import type { PartOf, Sampler } from "../sampler.ts";
import type { Part as SchemaPart } from "../transitions/transition-schema.ts";
import type { SequenceViewOptions } from "./sequence-batch.ts";
import { NUMBERS, type SequenceSchema, sequenceSchema } from "./sequence-schema.ts";

const OPTIONS = "gamma, n, state, length, dtype";

/** Returns the columns of a batch of sequences. @param float the class of returns, discounts and weights */
function columnsOf(schema: SequenceSchema, width: number, float: ArrayClass, holds: number): readonly ColumnSpec[] {
  const { reward } = schema;
  const all = Array.from({ length: width }, (_, step) => step);
  const partColumn = ({ name, spec, leaves }: SchemaPart, steps: readonly number[], lead: readonly number[]): ColumnSpec => ({
    name,
    arrays: leaves.map(({ keys, leaf }) => ({ keys, leaf, steps, shape: [...lead, ...leaf.shape] })),
    nest: leaves.length === 1 && leaves[0]?.keys.length === 0 ? undefined : packer(spec),
  });
  const types: { readonly [name: string]: ArrayClass } = { returns: float, discounts: float, bootstraps: Uint32Array };
  const numbers = NUMBERS.map((name): ColumnSpec => {
    const [size, shape] = name === "returns" && reward.size > 1 ? [reward.size, reward.shape] : [1, []];
    return { name, arrays: [{ keys: [], isComputed: true, each: width * size, type: types[name] ?? Uint8Array, shape: [width, ...shape] }] };
  });
  const weights: ColumnSpec = { name: "weights", arrays: [{ keys: [], drawColumn: WEIGHT, type: float, shape: [] }] };
  return [
    ...schema.parts.map((part) => partColumn(part, all, [width])),
    ...schema.state.map((part) => partColumn(part, part.at, [])),
    ...numbers,
    ...(holds & WEIGHTS ? [weights] : []),
    ...(holds & SOURCE ? [{ name: "source", arrays: [{ keys: [], type: Uint8Array, each: 1, shape: [] }] }] : []),
    { name: "keys", arrays: [{ keys: [], drawColumn: KEY, type: Float64Array }] },
  ];
}

/** The classes of a view's batches, by the bits of their optional contents. */
const classes = new WeakMap<SequenceSchema, (typeof DrawnSequences)[]>();

class SequenceLayout extends BatchLayout {
  /** The class of returns, discounts and weights. */
  readonly float: ArrayClass;
  /** The number of the array of rewards, if they are gathered as one f32 per step; otherwise -1. */
  readonly rewards: number;

  constructor(schema: SequenceSchema, n: number, width: number, float: ArrayClass, holds: number) {
    const columns = columnsOf(schema, width, float, holds);
    const known = classes.get(schema) ?? [];
    classes.set(schema, known);
    known[holds] ??= sequencesClass(columns.map(({ name }) => name));
    super({
      n,
      width,
      content: schema,
      holds,
      batch: known[holds] as typeof DrawnSequences,
      isBlockable: false,
      columns,
      work: SEQUENCE_WORK + SEQUENCE_ROW_WORK * width,
    });
    this.float = float;
    const gathered = this.outputs.find(({ leaf }) => leaf === schema.reward);
    this.rewards = gathered !== undefined && schema.reward.leaf.dtype === "f32" && schema.reward.size === 1 ? gathered.field : -1;
  }
}

export class SequenceView extends ColumnView {
  readonly from = CROSS;
  readonly nStep = undefined;
  readonly nStepTable = 0;
  protected readonly schema: SequenceSchema;
  /** The arguments of returns, with the batch's float type and with f64. */
  readonly #returns: NStep;
  readonly #wideReturns: NStep;
  readonly #length: number | undefined;
  hasLost = false;

  constructor(sampler: Sampler, options: SequenceViewOptions) {
    const { gamma, n = 1, state = [], length, dtype = "f32" } = onlyKeys("sequences", options, OPTIONS);
    if (!Array.isArray(state)) throw mustBe(TypeError, "state", 'an array of names, such as ["hidden"]', state);
    integer("n", n, 1, MAX_LENGTH);
    const ownLength = length === undefined ? length : integer("length", length, 2, MAX_LENGTH);
    super(sampler, dtype);
    this.#length = ownLength;
    finite("gamma", gamma, 0, 1);
    this.schema = sequenceSchema(sampler.table.engine, state);
    const { reward, discount, terminated } = this.schema;
    this.#returns = {
      reward: reward.index,
      components: reward.size,
      discount: discount?.index ?? NO_LEAF,
      terminated: terminated?.index ?? NO_LEAF,
      n,
      gamma,
      flags: 0,
    };
    this.#wideReturns = { ...this.#returns, flags: WIDE_FLOATS };
  }

  get gamma(): number {
    return this.#returns.gamma;
  }

  get n(): number {
    return this.#returns.n;
  }

  protected get parts(): string[] {
    const { parts, state } = this.schema;
    return [...parts, ...state].map(({ name }) => name);
  }

  /** The names of the columns. */
  get names(): string[] {
    return [...this.parts, ...NUMBERS, "keys"];
  }

  choose(part: PartOf | undefined): BatchBuffer {
    const { core } = this.table;
    const { n, flags, among, into } = this.sampler.options;
    if (core.size === 0) throw emptyTable(this.table, "sequence");
    const how = flags & (DISTINCT | NEWEST);
    if (core.guaranteedDraws(n, how, among) < n) throw notReady(this.table, n, how, among);
    return this.bufferOf(into instanceof Part ? into.whole.layout.width : this.#widthOf(into ?? part?.options.into), part);
  }

  /** Converts weights to f32 if the batch stores weights as f32. */
  derive({ layout }: BatchBuffer, draw: Draw): boolean {
    if ((layout as SequenceLayout).float !== Float64Array && layout.holds & WEIGHTS) draw.narrow(WEIGHT);
    return false;
  }

  /** Computes returns, masks and ends. */
  put(buffer: BatchBuffer): void {
    const { n, float, computed, rewards } = buffer.layout as SequenceLayout;
    const how = float === Float64Array ? this.#wideReturns : this.#returns;
    const rewardsAt = rewards < 0 ? 0 : buffer.valueAt(rewards);
    this.hasLost = buffer.draw.sequences(how, this.table.core.handle, n, buffer.valueAt(computed), buffer.listsAt, rewardsAt) > 0;
  }

  protected layoutOf(n: number, width: number, float: ArrayClass, holds: number): BatchLayout {
    return new SequenceLayout(this.schema, n, width, float, holds);
  }

  protected isWide(has: number, width: number): boolean {
    return has === width;
  }

  protected batchWidth(): number {
    return this.#widthOf(undefined);
  }

  protected wholeWidth(into: object | undefined, parts: readonly BatchBuffer[] = []): number {
    return into === undefined ? Math.max(...parts.map(({ layout }) => layout.width)) : this.#widthOf(into);
  }

  longest(): number {
    return this.#widthOf(undefined);
  }

  /** Returns the number of steps per window: the width of the batch to refill, the option `length`, or the length of the longest item or rule. */
  #widthOf(into: object | undefined): number {
    const known = into === undefined || into === null ? undefined : (leaseOf(into)?.layout ?? this.sampler.pool.known.get(into)?.layout);
    if (known !== undefined) return known.width;
    if (typeof into === "object" && into !== null) {
      const { mask } = into as { readonly mask?: { readonly shape?: readonly number[] } };
      return integer("the second dimension of into.mask", mask?.shape?.[1], 1, MAX_LENGTH);
    }
    return this.#length ?? Math.max(this.table.core.counter(LONGEST), ...this.table.engine.ruleLengths(this.table.name), 2);
  }
}
