/** The writer of an actor: it takes the steps of an environment here, and the memory is at the other end of a port. */
import { pointAtCallersOf } from "../caller.ts";
import { blockOffsets } from "../core/block.ts";
import { type StagedOf, Staging, stepMaker } from "../core/staged.ts";
import { finite, integer, mustBe, oneFrom, onlyKeys } from "../error.ts";
import { MAX_TIMEOUT_MS } from "../limits.ts";
import { type ColumnSet, selectionsOf } from "../spec/columns.ts";
import { type Layout, layoutOf, up } from "../spec/layout.ts";
import { type Visit, visitor } from "../spec/nest.ts";
import { type ColumnsOf, leavesOf, type Spec, type StepOf } from "../spec/spec.ts";
import type { WaitOptions } from "../wait.ts";
import type { HasLanes, ItemOptions } from "../writer.ts";
import { END, ITEM } from "./block.ts";
import { knock, type Met, type Welcome } from "./handshake.ts";
import { Outbox } from "./outbox.ts";
import type { PortLike } from "./port.ts";

export interface RemoteWriterOptions<S extends Spec = Spec, L extends number = number> extends WaitOptions {
  /** The form of a step, as the Replay at the other end has it. */
  readonly spec: S;
  /** Number of environments in lock-step. With more than one, every value has a leading dimension of that length. Default: 1. */
  readonly lanes?: L;
}

type Appended<S, Lanes> = Lanes extends true ? ColumnsOf<S> : StepOf<S>;

/**
 * A writer whose Replay is at the other end of a port, where `replay.acceptWriter` takes its steps. Either end may come first.
 * @param port a MessagePort, or inside a worker what leads out of it: `parentPort`, or the global scope
 * @throws ReplayError SPEC_MISMATCH where the specs differ, which both ends are told · OUT_OF_TURN where the port has a writer already · UNSUPPORTED for another
 * version of Reprise at the other end · CLOSED, TIMEOUT, or the signal's reason
 */
export async function remoteWriter<const S extends Spec, const L extends number = 1>(
  port: PortLike,
  options: RemoteWriterOptions<S, L>,
): Promise<RemoteWriter<S, HasLanes<L>>> {
  const { spec, lanes = 1, signal, timeoutMs } = onlyKeys("remoteWriter", options, "spec, lanes, signal, timeoutMs");
  integer("lanes", lanes, 1, 65536);
  const layout = layoutOf(leavesOf(spec));
  return knock(port, layout.leaves, lanes, { signal, timeoutMs }, (met, welcome) => new RemoteWriter<S, HasLanes<L>>(spec, layout, lanes, met, welcome));
}

const ITEM_OPTIONS = "length, priority, lane, columns";

export class RemoteWriter<S = Spec, Lanes extends boolean = false> {
  readonly spec: S;
  readonly lanes: number;
  /** The tables of the Replay. */
  readonly tables: readonly string[];
  readonly #welcome: Welcome;
  readonly #layout: Layout;
  readonly #staging: Staging;
  readonly #fill: Visit;
  readonly #outbox: Outbox;
  /** Of each lane: steps in its window, and in its open episode, as the writer at the other end has them when it has taken all. */
  readonly #window: Float64Array;
  readonly #episode: Float64Array;

  /** `remoteWriter` makes them. */
  constructor(spec: S, layout: Layout, lanes: number, met: Met, welcome: Welcome) {
    pointAtCallersOf(new.target);
    const { leaves, stagedBytes } = layout;
    this.spec = spec;
    this.lanes = lanes;
    this.tables = welcome.tables;
    this.#welcome = welcome;
    this.#layout = layout;
    this.#window = new Float64Array(lanes);
    this.#episode = new Float64Array(lanes);
    const addresses = lanes === 1 ? [...leaves.map((leaf) => leaf.staged), stagedBytes] : blockOffsets(leaves, 0, lanes);
    const record = new ArrayBuffer(up(addresses.pop() as number, 16));
    const memory = { u8: new Uint8Array(record), u32: new Uint32Array(record), lookers: new Set<{ moved(): void }>() };
    const maker = stepMaker(spec as Spec, leaves, lanes === 1);
    this.#staging = new Staging(memory, maker, 0, leaves, addresses, lanes === 1 ? [] : [lanes]);
    this.#fill = visitor(spec as Spec, (i) => this.#staging.puts[i] as Visit);
    this.#outbox = new Outbox(met, leaves, lanes, welcome.tables.length, welcome.maxInFlight, record, addresses);
  }

  /** The next step, to fill in place: assign numbers and fill arrays, then call `append()`. Values that you do not write stay as they are. */
  get staged(): StagedOf<S, Lanes> {
    this.#outbox.open();
    return this.#staging.step as StagedOf<S, Lanes>;
  }

  /** Number of steps in the window (of lane 0), the maximum length of an item now. */
  get length(): number {
    return this.#window[0] as number;
  }

  /** Number of steps in the open episode (of lane 0). */
  get episodeSteps(): number {
    return this.#episode[0] as number;
  }

  /** Steps that the writer at the other end keeps: the most that an item may have. */
  get keep(): number {
    return this.#welcome.keep;
  }

  /** Steps that the memory has not taken yet. */
  get inFlight(): number {
    return this.#outbox.inFlight;
  }

  /**
   * Appends a step, or the step in `staged`. The values are checked and copied here, and go over in a block: when it is full, when the actor waits for something
   * else, or by `flush`. With several lanes, every value has a leading dimension with one step per lane. O(bytes)
   * @returns `undefined`, or a promise to await where `maxInFlight` steps are on their way: until the memory has taken some
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA · RATE_LIMITED where such a promise was not awaited · CLOSED, or what went wrong where the memory is. Then no
   * step is appended, but `staged` may be filled in part.
   */
  append(step?: Appended<S, Lanes>): Promise<void> | undefined {
    const outbox = this.#outbox;
    outbox.ready();
    if (step === undefined) this.#staging.check();
    else this.#fill(step);
    outbox.fit(1);
    outbox.put();
    const { lanes } = this;
    for (let lane = 0; lane < lanes; lane++) this.#stepped(lane);
    return outbox.stepped(lanes);
  }

  /**
   * Makes an item of the last steps, when those are in the memory. O(1)
   * @returns `undefined`, or a promise to await where `maxInFlight` items of the table are on their way. Whether a rate limiter makes it wait `flush` tells.
   * @throws RangeError for a length beyond the window or a wrong priority · ReplayError NOT_FOUND, RATE_LIMITED, CLOSED
   */
  createItem(table: string, options: ItemOptions<ColumnSet<S>>): Promise<void> | undefined {
    const { tables, lanes } = this;
    const outbox = this.#outbox;
    outbox.open();
    const number = tables.indexOf(table);
    if (number < 0) throw mustBe("NOT_FOUND", "table", tables.length === 0 ? "the name of a table, but there are none" : oneFrom(tables), table);
    const { length, priority = 1, lane = 0, columns } = onlyKeys("item", options, ITEM_OPTIONS);
    integer("length", length, 1);
    finite("priority", priority, 0);
    integer("lane", lane, 0, lanes - 1);
    const have = this.#window[lane] as number;
    if (length > have) throw mustBe(RangeError, "length", `an integer in 1 … ${have}, the number of steps in the window (raise keep for longer items)`, length);
    if (columns !== undefined) selectionsOf(columns, this.#layout.leaves);
    outbox.readyForItem(number);
    outbox.call(ITEM, number, length, priority, lane, columns);
    return outbox.itemMade(number);
  }

  /** Ends the episode with the newest step, in all lanes or in one. @returns as `append`; it is never refused for what is on its way */
  endEpisode(options: { readonly lane?: number } = {}): Promise<void> | undefined {
    const outbox = this.#outbox;
    outbox.open();
    const { lane } = onlyKeys("endEpisode", options, "lane");
    const { lanes } = this;
    const from = lane === undefined ? 0 : integer("lane", lane, 0, lanes - 1);
    const to = lane === undefined ? lanes : from + 1;
    let steps = 0;
    for (let i = from; i < to; i++) steps += this.#ended(i);
    // Each end has a step before it, so that they do not pile up.
    if (steps === 0) return undefined;
    outbox.call(END, lane === undefined ? 0 : lane + 1);
    return outbox.stepped(0);
  }

  /**
   * Sends what there is; resolves when everything so far is in the memory and no item waits for the rate limiter in the tables of the writer's rules (without
   * rules: in all tables).
   * @throws ReplayError CLOSED, TIMEOUT, what went wrong where the memory is, or the signal's reason
   */
  async flush(options: WaitOptions = {}): Promise<void> {
    this.#outbox.open();
    return this.#outbox.flush(waitOf(options));
  }

  /**
   * Sends what there is and closes the writer at the other end: an open episode is truncated. Resolves when the memory has everything; an actor that ends
   * before loses nothing that was sent. To close without waiting, leave the promise.
   * @throws ReplayError TIMEOUT, what went wrong where the memory is, or the signal's reason
   */
  async close(options: WaitOptions = {}): Promise<void> {
    return this.#outbox.close(waitOf(options));
  }

  [Symbol.dispose](): void {
    this.close().catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #stepped(lane: number): void {
    this.#window[lane] = Math.min((this.#window[lane] as number) + 1, this.#welcome.keep);
    this.#episode[lane] = (this.#episode[lane] as number) + 1;
  }

  /** How many steps the episode had. */
  #ended(lane: number): number {
    const steps = this.#episode[lane] as number;
    if (!this.#welcome.across) this.#window[lane] = 0;
    this.#episode[lane] = 0;
    return steps;
  }
}

function waitOf(options: WaitOptions): WaitOptions {
  const { signal, timeoutMs } = onlyKeys("options", options, "signal, timeoutMs");
  if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
  signal?.throwIfAborted();
  return { signal, timeoutMs };
}
