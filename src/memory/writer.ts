/** Implements a writer of the core: one stream per lane, and the rules that make items from the streams' steps. */
import { E_OUT_OF_MEMORY, type Exports, LINK_ENDS, LINK_FINAL, MAX_PRIORITY, PENDING } from "../base/abi.ts";
import type { Core } from "./core.ts";
import type { Engine } from "./engine.ts";
import type { SmallBlocks } from "./small-blocks.ts";

export interface CoreWriterOptions {
  readonly lanes: number;
  /** The maximum number of steps that each lane keeps. */
  readonly keep: number;
  /** Whether a lane keeps its steps after an episode ends. */
  readonly across: boolean;
  /** Whether the final step of an ended episode is the next step that is appended to its lane. */
  readonly finalIsNext: boolean;
  /** The number of the reward leaf, whose values must be finite; undefined if no leaf is checked. */
  readonly reward: number | undefined;
}

/** A rule as the core expects it. */
export interface CoreRule {
  readonly table: number;
  readonly length: number;
  readonly stride: number;
  readonly layout: number;
  readonly priority: number;
  /** The flags TAILS, LARGEST and SEQUENCE. With SEQUENCE, `layout` is the burn-in. */
  readonly flags: number;
}

export class CoreWriter {
  /** The addresses of the writer's lanes. */
  readonly streams: readonly number[];
  /** The priority of the item to insert. It is stored in an array, because V8 would allocate memory for a fraction passed as an argument. */
  readonly priority: Float64Array = new Float64Array(1);
  readonly #core: Core;
  readonly #x: Exports;
  readonly #blocks: SmallBlocks;
  /** The address of WRITER in linear memory, and the number of its bytes. */
  readonly #handle: number;
  readonly #bytes: number;

  /** @throws ReplayError OUT_OF_MEMORY */
  constructor(engine: Engine, { lanes, keep, across, finalIsNext, reward }: CoreWriterOptions, rules: number) {
    const { core, pool } = engine;
    const { x } = core;
    this.#core = core;
    this.#x = x;
    this.#bytes = x.writer_bytes(lanes, rules, keep);
    this.#blocks = engine.smallBlocks;
    this.#handle = this.#blocks.take(this.#bytes);
    x.writer_init(this.#handle, pool, lanes, rules, keep, across ? 1 : 0, finalIsNext ? 1 : 0, reward === undefined ? 0 : reward + 1);
    this.streams = Array.from({ length: lanes }, (_, lane) => x.writer_stream(this.#handle, lane) >>> 0);
  }

  /** Sets rule k. Returns 0, or an error code if the table does not accept the priority or has no room for a column layout. */
  rule(k: number, { table, length, stride, layout, priority, flags }: CoreRule): number {
    return this.#x.writer_rule(this.#handle, k, table, length, stride, layout, priority, flags);
  }
  length(lane: number): number {
    return this.#x.stream_length(this.streams[lane] as number);
  }
  episodeSteps(lane: number): number {
    return this.#x.stream_episode_steps(this.streams[lane] as number);
  }

  /** Appends the staged steps, one per lane. Returns the number of pending items, or an error code. */
  append(staged: number): number {
    return this.#x.writer_append(this.#handle, staged);
  }

  /** Appends a block of rows (block.ts). Returns the number of pending items, or an error code. */
  appendBlock(block: number, rows: number, ends: number, finals: number): number {
    return this.#x.writer_append_block(this.#handle, block, rows, ends, finals);
  }

  /** Ends a lane's episode with its staged final step. Returns the number of pending items, or an error code. */
  finish(lane: number, staged: number, terminated: boolean): number {
    return this.#x.writer_finish(this.#handle, lane, staged, terminated ? LINK_ENDS : LINK_FINAL);
  }

  /**
   * The state that options and streams do not include: steps of earlier episodes, and priorities of future transitions. Undefined if there is no such state.
   */
  get state(): readonly number[] | undefined {
    const x = this.#x;
    const count = x.writer_numbers(this.#handle);
    return count === 0 ? undefined : Array.from({ length: count }, (_, i) => x.writer_number(this.#handle, i));
  }

  /** Restores the result of `state`; the rules must be set first. Returns false if the state does not fit the writer. @throws ReplayError OUT_OF_MEMORY */
  restore(state: readonly number[]): boolean {
    return state.every((number, i) => {
      if (typeof number !== "number") return false;
      const code = this.#x.writer_set_number(this.#handle, i, number);
      if (code === E_OUT_OF_MEMORY) this.#core.checkedResult(code);
      return code === 0;
    });
  }

  /** The number of episodes that ended before a rule made an item from their steps. Items that `createItem` made do not count. */
  get barrenEpisodes(): number {
    return this.#x.writer_barren(this.#handle);
  }

  /**
   * Inserts an item of `length` steps of a lane. The item ends `stepsBack` steps before the newest step. Returns 1 if the item was inserted, 0 if it is
   * pending, or an error code.
   * @param isEarlier 1 if this lane has already made an item for the table that ends later
   */
  insert(table: number, lane: number, length: number, stepsBack: number, layout: number, isEarlier: number): number {
    return this.#x.table_insert_earlier(table, this.streams[lane] as number, length, stepsBack, layout, this.priority[0] as number, isEarlier);
  }

  /** Returns how many items would wait for a table's rate limiter after n more inserts. */
  waiting(table: number, n: number): number {
    const x = this.#x;
    const pending = x.table_counter(table, PENDING);
    let passing = pending > 0 ? 0 : n;
    while (passing > 0 && x.table_can_insert(table, passing) === 0) passing--;
    return pending + n - passing;
  }

  /** Returns the key of the last item inserted into a table; 0 if no item was inserted. */
  newest(table: number): number {
    return this.#x.table_newest(table);
  }
  end(lane: number): void {
    this.#x.writer_end(this.#handle, lane);
  }

  /** Returns the highest priority that a live item of a table has received since the table was made or cleared, at least 1. */
  maxPriority(table: number): number {
    return this.#x.table_counter(table, MAX_PRIORITY);
  }

  /** Deletes the items of a lane's open episode from tables, and releases its steps. Returns the number of items. */
  discard(lane: number, tables: Iterable<{ readonly handle: number }>): number {
    let items = 0;
    for (const { handle } of tables) items += this.#x.table_discard(handle, this.streams[lane] as number);
    this.#x.writer_discard(this.#handle, lane);
    return items;
  }

  /** Ends open episodes, releases the steps of the lanes, and frees the memory. */
  close(): void {
    this.#x.writer_close(this.#handle);
    this.#blocks.give(this.#handle, this.#bytes);
  }
}
