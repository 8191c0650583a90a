/** Implements the writer of an actor. It accepts the steps of an environment in this process, and its Replay is at the other end of a port. */

import { integer, onlyKeys } from "../base/error.ts";
import { customInspect } from "../base/inspect.ts";
import { hideFrames } from "../base/stack-trace.ts";
import { checkWait, type WaitOptions } from "../base/wait.ts";
import { type Block, copyEnds, countEnds, type EpisodeEnds, placeBlock } from "../memory/block.ts";
import { withLock } from "../memory/reentrancy.ts";
import { type StagedOf, Staging, stepMaker } from "../memory/staged.ts";
import { type ColumnSet, checkSteps, columnsText, textSelections } from "../schema/columns.ts";
import { priorityError } from "../schema/copy-numbers.ts";
import { DTYPES, isFloat, type NumberArray } from "../schema/dtype.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { flattener, flattenPartial, type Visit, visitor } from "../schema/nest.ts";
import { type ColumnsOf, describeSpec, type IsAny, type Spec, type StepOf } from "../schema/spec.ts";
import {
  type BlockOptions,
  beginsWithFinal,
  beyondWindow,
  checkDiscard,
  checkEnd,
  checkLaneEnds,
  type EndOptions,
  finalStep,
  type LaneEnds,
  noEpisode,
  notFinite,
  requireFinal,
  requireFlag,
  requireObservation,
} from "../tables/episode-ends.ts";
import { checkItemOptions, checkPriority, type ItemOptions, unknownTable } from "../tables/rules.ts";
import type { Conversation } from "./channels/conversation.ts";
import type { Inbox, MessageEventLike } from "./inbox.ts";
import { LaneStates } from "./lanes.ts";
import type { Outbox } from "./outbox.ts";
import { DISCARD, END, FLAGS, ITEM, LARGEST_PRIORITY } from "./wire/block.ts";
import type { ColumnMemory } from "./wire/column-memory.ts";
import type { WelcomeMessage } from "./wire/messages.ts";

type Appended<S, Lanes> = Lanes extends true ? ColumnsOf<S> : StepOf<S>;

/** A writer whose Replay is at the other end of a port or a socket. Without type arguments, the type is a writer of any spec and lanes. */
// biome-ignore lint/suspicious/noExplicitAny: `RemoteWriter` accepts every remote writer
export class RemoteWriter<S = any, Lanes extends boolean = IsAny<S> extends true ? boolean : false> {
  readonly spec: S;
  readonly lanes: number;
  /** The names of the Replay's tables. */
  readonly tables: readonly string[];
  readonly #reply: WelcomeMessage;
  readonly #leaves: readonly PlacedLeaf[];
  readonly #staging: Staging;
  readonly #fill: Visit;
  readonly #flatten: (columns: unknown) => unknown[];
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;
  readonly #lanes: LaneStates;
  /** Whether steps of a single lane may have a dimension of lanes and may contain flags. */
  readonly #isVector: boolean;

  static {
    customInspect<RemoteWriter<unknown, boolean>>(this, "RemoteWriter", (writer) => writer.#inspect());
  }

  /** Created by `remoteWriter`. */
  constructor(
    spec: S,
    leaves: readonly PlacedLeaf[],
    lanesOption: number | undefined,
    { welcome, outbox, inbox }: Conversation,
    record: ArrayBuffer,
    addresses: readonly number[],
  ) {
    hideFrames(new.target);
    const lanes = lanesOption ?? 1;
    const reply = welcome as WelcomeMessage;
    this.#isVector = lanesOption === 1;
    this.spec = spec;
    this.lanes = lanes;
    this.tables = reply.tables;
    this.#reply = reply;
    this.#leaves = leaves;
    this.#lanes = new LaneStates(lanes, reply);
    const memory = { u8: new Uint8Array(record), u32: new Uint32Array(record), listeners: new Set<{ onMemoryMoved(): void }>() };
    const maker = stepMaker(spec as Spec, leaves, lanes === 1);
    this.#staging = new Staging(memory, maker, 0, leaves, addresses, addresses, lanes === 1 ? [] : [lanes], this.#isVector);
    this.#fill = visitor(spec as Spec, (i) => this.#staging.setters[i] as Visit);
    this.#flatten = flattener(spec as Spec);
    this.#outbox = outbox as Outbox;
    this.#inbox = inbox;
  }

  /** The next step, to fill in place. Assign numbers and fill arrays, then call `append()`. Values that you do not write stay as they are. */
  get staged(): StagedOf<S, Lanes> {
    this.#outbox.open();
    return this.#staging.use() as StagedOf<S, Lanes>;
  }

  /** The number of steps in the window of lane 0, which is the current maximum length of an item. */
  get length(): number {
    return this.#lanes.length(0);
  }

  /** The number of steps in the open episode of lane 0. */
  get episodeSteps(): number {
    return this.#lanes.episodeSteps(0);
  }

  /** The number of steps that the writer at the other end keeps, which is the maximum length of an item. */
  get keep(): number {
    return this.#reply.keep;
  }

  /** The number of unconfirmed steps. */
  get inFlight(): number {
    return this.#outbox.inFlight;
  }

  /** Whether the writer has a connection to the Replay. Over a port, true until the writer is closed. */
  get connected(): boolean {
    return this.#outbox.connected;
  }

  /**
   * A function that receives the messages of the program at the other end (`accepted.send` and `replay.publish`). `data` is a Uint8Array or a JSON value.
   * Messages arrive once and in order. If the function returns a promise, the next message waits for it. Without a function, messages wait.
   */
  get onmessage(): ((event: MessageEventLike) => unknown) | null {
    return this.#inbox.handler;
  }

  set onmessage(handler: ((event: MessageEventLike) => unknown) | null) {
    this.#inbox.handler = handler;
  }

  /**
   * Appends a step, or the step in `staged`. The call checks and copies the values. Steps are sent in blocks: when a block is full, when the actor waits for
   * something else, or at `flush`. With several lanes, every value has a leading dimension with one step per lane. With `lanes: 1`, that dimension is optional.
   * If the call throws, no step is appended, but `staged` may be filled in part. Costs O(bytes).
   * @param ends the lanes whose episodes end with this step, for a writer with `lanes`
   * @returns `undefined`, or a promise to await if `maxInFlight` steps are in flight; the promise resolves when the Replay has accepted some of these steps
   * @throws ReplayError SPEC_MISMATCH if the step does not match the spec, INVALID_DATA if a value does not fit its dtype, RATE_LIMITED if such a promise was
   * not awaited, CLOSED after the writer was closed
   * @throws the error of the Replay's end
   */
  append(): Promise<void> | undefined;
  append(step: Appended<S, Lanes>, ends?: Lanes extends false ? undefined : LaneEnds<S>): Promise<void> | undefined;
  append(step?: Appended<S, Lanes>, ends?: Lanes extends false ? undefined : LaneEnds<S>): Promise<void> | undefined {
    const outbox = this.#outbox;
    outbox.ready();
    const { lanes } = this;
    outbox.locked = true;
    try {
      if (step === undefined) this.#staging.check();
      else this.#refill(step);
      if (ends !== undefined) this.#putEnds(ends);
    } finally {
      outbox.locked = false;
    }
    if (ends === undefined) {
      this.#checkReward();
      outbox.reserve(1);
      outbox.builder.put();
      for (let lane = 0; lane < lanes; lane++) this.#lanes.step(lane);
    }
    return outbox.addSteps(lanes);
  }

  /**
   * Appends many steps in one call, and sends them in one buffer. Each leaf is one column with a leading dimension of time. With several lanes, the column has
   * leading dimensions of time and lane. While fewer than `maxInFlight` steps are in flight, a call may append any number of steps. Costs O(bytes).
   * @returns the same as `append`
   * @throws RangeError if columns differ in length
   * @throws ReplayError SPEC_MISMATCH if the step does not match the spec, INVALID_DATA if a value does not fit its dtype, NOT_FOUND if `priorities` names an
   * unknown table, RATE_LIMITED if an earlier promise was not awaited, CLOSED after the writer was closed
   */
  appendColumns(columns: ColumnsOf<S>, options: BlockOptions<S> = {}): Promise<void> | undefined {
    const outbox = this.#outbox;
    outbox.ready();
    const { final, priorities, ...ends } = onlyKeys("appendColumns", options, "ends, terminated, truncated, final, priorities");
    const { ends: rules, rules: tables } = this.#reply;
    for (const name in priorities) if (!tables.includes(name)) throw unknownTable(name, tables);
    requireFlag(rules, ends, final);
    let endFlags: EpisodeEnds = {};
    const place = (memory: ColumnMemory): Block => {
      const finals = final === undefined ? undefined : flattenPartial(this.spec as Spec, final, "final");
      const block = placeBlock({ core: memory, layout: { leaves: this.#leaves } }, this.lanes, {
        columns: this.#flatten(columns),
        ends,
        finals,
        priorities: tables.map((table) => priorities?.[table]),
        isVector: this.#isVector,
      });
      requireFinal(rules, final, block.truncated, ends.terminated !== undefined);
      if (finals !== undefined && block.truncated > 0) requireObservation(rules, finals, final);
      endFlags = block.endFlags;
      this.#lanes.checkEnds(endFlags, block.rows);
      this.#checkRewards(memory, block.rows);
      this.#checkPriorities(memory, block.rows);
      return block;
    };
    outbox.ready();
    return withLock(outbox, () => {
      const { rows, room } = outbox.sendColumns(place);
      for (let row = 0; row < rows; row++) {
        const lane = row % this.lanes;
        this.#lanes.step(lane);
        if (endFlags.terminated?.[row] || endFlags.truncated?.[row]) this.#lanes.flag(lane, Boolean(endFlags.terminated?.[row]));
        else if (endFlags.ends?.[row]) this.#lanes.end(lane);
      }
      return room;
    });
  }

  #refill(step: unknown): void {
    try {
      this.#fill(step);
    } catch (error) {
      throw this.#staging.misfit(this.spec as Spec, step, error);
    }
  }

  /**
   * Makes an item of the last steps when they are in the Replay. Costs O(1).
   * @returns `undefined`, or a promise to await if `maxInFlight` items of the table are in flight. `flush` waits for items that a rate limiter delays
   * @throws RangeError if the length exceeds the window, or if the priority is invalid
   * @throws ReplayError NOT_FOUND if the table does not exist, RATE_LIMITED if an earlier promise was not awaited, CLOSED after the writer was closed
   */
  createItem(table: string, options: ItemOptions<ColumnSet<S>>): Promise<void> | undefined {
    const { tables, lanes } = this;
    const outbox = this.#outbox;
    outbox.open();
    const number = tables.indexOf(table);
    if (number < 0) throw unknownTable(table, tables);
    const { length, priority = 1, lane = 0, columns } = checkItemOptions(options);
    integer("length", length, 1);
    checkPriority(priority);
    integer("lane", lane, 0, lanes - 1);
    const windowLength = this.#lanes.length(lane);
    if (length > windowLength) throw beyondWindow(windowLength, length);
    if (length === 1 && this.#lanes.hasFinal(lane)) throw beginsWithFinal(length);
    const text = columns === undefined ? columns : columnsText(columns);
    if (columns !== undefined) checkSteps("columns", textSelections(columns, text, this.#leaves), length, `the item has ${length} steps`);
    outbox.readyForItem(number);
    outbox.call(ITEM, number, length, priority === "max" ? LARGEST_PRIORITY : priority, lane, text);
    return outbox.addItem(number);
  }

  /**
   * Ends the episode. With `final` or `terminated`, the final observation ends the episode. Transitions bootstrap from this observation unless the episode
   * terminated. The observation stays available until the next append. Otherwise the newest step ends the episode, in all lanes or in one lane. You can call
   * this method while steps are in flight.
   * @returns the same as `append`
   * @throws TypeError if `nStep` rules require a missing option
   * @throws ReplayError OUT_OF_TURN if no episode is open, SPEC_MISMATCH if the step does not match the spec, INVALID_DATA if a value does not fit its dtype,
   * CLOSED after the writer was closed
   */
  endEpisode(options: EndOptions<S> = {}): Promise<void> | undefined {
    const outbox = this.#outbox;
    outbox.open();
    const { lane, final, terminated } = checkEnd(this.#reply.ends, options);
    // A getter of the options may have closed the writer.
    outbox.open();
    const isPlain = final === undefined && terminated !== true;
    const from = lane ?? 0;
    const to = lane === undefined ? this.lanes : lane + 1;
    if (isPlain) {
      let wasOpen = false;
      for (let i = from; i < to; i++) wasOpen = this.#lanes.end(i) || wasOpen;
      // Without an open episode, nothing is sent, so that ends without steps cannot accumulate.
      if (!wasOpen) return undefined;
    } else {
      const values = flattenPartial(this.spec as Spec, final, "final");
      if (terminated === false) requireObservation(this.#reply.ends, values, final);
      outbox.reserve(1);
      withLock(outbox, () => outbox.builder.putFinals(0, values, []));
      const isFinalNext = this.#lanes.awaitsFinal(from);
      if (isFinalNext || this.#lanes.episodeSteps(from) === 0) throw noEpisode(from, isFinalNext);
      this.#lanes.finish(from);
    }
    outbox.call(END, lane === undefined ? 0 : lane + 1, terminated === undefined ? 0 : 1 + Number(terminated), Number(final !== undefined));
    if (!isPlain) outbox.builder.skip();
    return outbox.addSteps(0);
  }

  /**
   * Discards the open episode: the other end deletes its items, and releases its steps. Works like `discardEpisode` of a local writer.
   * @param options.lane the lane of the episode. Default: all lanes
   * @returns the same as `append`
   * @throws ReplayError UNSUPPORTED if the writer is `across`, CLOSED after the writer was closed
   */
  discardEpisode(options: { readonly lane?: number } = {}): Promise<void> | undefined {
    const outbox = this.#outbox;
    outbox.open();
    const lane = checkDiscard({ lanes: this.lanes, across: this.#reply.across }, options);
    outbox.open();
    let wasOpen = false;
    for (let i = lane ?? 0; i < (lane === undefined ? this.lanes : lane + 1); i++) wasOpen = this.#lanes.discard(i) || wasOpen;
    if (!wasOpen) return undefined;
    outbox.call(DISCARD, lane === undefined ? 0 : lane + 1);
    return outbox.addSteps(0);
  }

  /**
   * Sends the remaining steps. Resolves when everything so far is in the Replay and no item waits for a rate limiter. Only the tables of the writer's rules
   * count, or all tables if the writer has no rules.
   * @throws ReplayError RATE_LIMITED if 999 calls, with steps between them, are waiting for an answer · CLOSED if the writer was closed · TIMEOUT if the time
   * limit ends the wait
   * @throws the error that the process of the Replay reported
   * @throws the signal's reason if the signal aborts
   */
  async flush(options: WaitOptions = {}): Promise<void> {
    this.#outbox.open();
    return this.#outbox.flush(checkedWait(options));
  }

  /**
   * Sends the remaining steps, and closes the writer at the other end. An open episode is truncated. Resolves when the Replay has everything. An actor that
   * exits earlier loses nothing that was sent. To close without waiting, ignore the promise.
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws the error of the Replay's end
   * @throws the signal's reason if the signal aborts
   */
  async close(options: WaitOptions = {}): Promise<void> {
    return this.#outbox.close(checkedWait(options));
  }

  [Symbol.dispose](): void {
    this.close().catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #inspect(): object {
    const { lanes, tables, length, episodeSteps, inFlight } = this;
    return { spec: describeSpec(this.spec as Spec), lanes, tables, length, episodeSteps, inFlight };
  }

  /** Writes a step that ends the episodes of some lanes to the next slot, and their final steps to the slot after it. */
  #putEnds(options: LaneEnds<S>): void {
    const outbox = this.#outbox;
    const { lanes } = this;
    const { ends: rules } = this.#reply;
    const { final, ...rest } = checkLaneEnds(lanes > 1 || this.#isVector, options);
    const ends = copyEnds(rest, lanes);
    requireFlag(rules, ends, final);
    const [endCount, truncated] = countEnds(ends, lanes);
    requireFinal(rules, final, truncated, ends.terminated !== undefined);
    const isEnd = (lane: number) => Boolean(ends.terminated?.[lane] || ends.truncated?.[lane]);
    const finals = final === undefined ? 0 : endCount;
    outbox.reserve(2);
    if (finals > 0) {
      const columns = finalStep(this.spec as Spec, this.#leaves, lanes, ends, final);
      if (truncated > 0) requireObservation(rules, columns, final);
      outbox.builder.putFinals(1, columns, [endCount]);
    }
    this.#lanes.checkEnds(ends, lanes);
    this.#checkReward();
    outbox.builder.putEnds(ends);
    if (endCount > 0) outbox.call(FLAGS, finals);
    outbox.builder.put();
    if (finals > 0) outbox.builder.skip();
    for (let lane = 0; lane < lanes; lane++) {
      this.#lanes.step(lane);
      if (isEnd(lane)) this.#lanes.flag(lane, Boolean(ends.terminated?.[lane]));
    }
  }

  #checkPriorities({ buffer, u32 }: ColumnMemory, rows: number): void {
    this.#reply.rules.forEach((_, k) => {
      const at = u32[this.#leaves.length + k] as number;
      if (at === 0) return;
      const priorities = new Float64Array(buffer, at, rows);
      const index = priorities.findIndex((priority) => !(priority >= 0 && priority < Number.POSITIVE_INFINITY));
      if (index >= 0) throw priorityError(`priorities[${index}]`, priorities[index] as number);
    });
  }

  /** Rules that sum rewards require finite rewards. A final step has no reward. */
  #checkReward(): void {
    const { reward: leaf } = this.#reply;
    if (leaf === undefined) return;
    const { dtype } = (this.#leaves[leaf] as PlacedLeaf).leaf;
    if (!isFloat(dtype) || (this.lanes === 1 && this.#lanes.awaitsFinal(0))) return;
    const values = this.#staging.view(leaf);
    for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) throw this.#rewardError(leaf, values[i]);
  }

  #checkRewards(memory: ColumnMemory, rows: number): void {
    const { reward } = this.#reply;
    const { dtype } = (reward === undefined ? undefined : this.#leaves[reward]?.leaf) ?? {};
    if (reward === undefined || !isFloat(dtype)) return;
    const at = memory.u32[reward] as number;
    const values = new DTYPES[dtype].array(memory.buffer, at, rows) as NumberArray;
    for (let i = 0; i < rows; i++) if (!Number.isFinite(values[i])) throw this.#rewardError(reward, values[i]);
  }

  #rewardError(leaf: number, value: unknown): Error {
    return notFinite((this.#leaves[leaf] as PlacedLeaf).path, value);
  }
}

function checkedWait(options: WaitOptions): WaitOptions {
  const { signal, timeoutMs } = onlyKeys("options", options, "signal, timeoutMs");
  checkWait({ signal, timeoutMs });
  return { signal, timeoutMs };
}
