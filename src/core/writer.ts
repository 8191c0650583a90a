/** A writer of the core: a stream a lane, and the rules by which their steps become items. */
import type { Exports } from "./abi.ts";
import type { Engine } from "./engine.ts";

export interface CoreWriterOptions {
  readonly lanes: number;
  /** Steps that each lane holds. */
  readonly keep: number;
  /** Whether these live on over the ends of episodes. */
  readonly across: boolean;
}

export class CoreWriter {
  /** Where its lanes are. */
  readonly streams: readonly number[];
  readonly #x: Exports;
  /** WRITER in linear memory: so many bytes. */
  readonly #handle: number;
  readonly #bytes: number;
  readonly #lanes: number;
  readonly #across: number;

  /** @throws ReplayError OUT_OF_MEMORY */
  constructor(engine: Engine, { lanes, keep, across }: CoreWriterOptions, rules: number) {
    const { core, pool } = engine;
    const { x } = core;
    this.#x = x;
    this.#lanes = lanes;
    this.#across = across ? 1 : 0;
    this.#bytes = x.writer_bytes(lanes, rules, keep);
    this.#handle = core.alloc(this.#bytes);
    x.writer_init(this.#handle, pool, lanes, rules, keep, this.#across);
    this.streams = Array.from({ length: lanes }, (_, lane) => x.writer_stream(this.#handle, lane) >>> 0);
  }

  /** Rule k: 0, or a code where the table does not take the priority, or finds no room for a column layout. */
  rule(k: number, table: number, length: number, stride: number, layout: number, priority: number): number {
    return this.#x.writer_rule(this.#handle, k, table, length, stride, layout, priority);
  }
  length(lane: number): number {
    return this.#x.stream_length(this.streams[lane] as number);
  }
  episodeSteps(lane: number): number {
    return this.#x.stream_episode_steps(this.streams[lane] as number);
  }

  /** Appends what is staged, a step a lane: how many items wait, or a code. */
  append(staged: number): number {
    const x = this.#x;
    return this.#lanes === 1 ? x.writer_append(this.#handle, staged) : x.writer_append_block(this.#handle, staged, this.#lanes, 0);
  }

  /** Appends a block of rows (block.ts): how many items wait, or a code. */
  appendBlock(block: number, rows: number, ends: number): number {
    return this.#x.writer_append_block(this.#handle, block, rows, ends);
  }

  /** An item of a lane's last `length` steps: 1 it is in, 0 it waits, or a code. */
  insert(table: number, lane: number, length: number, layout: number, { priority = 1 }: { readonly priority?: number | undefined }): number {
    return this.#x.table_insert(table, this.streams[lane] as number, length, layout, priority);
  }

  /** The key of the item that a table was given last; 0 before the first. */
  newest(table: number): number {
    return this.#x.table_newest(table);
  }
  end(lane: number): void {
    this.#x.stream_end(this.streams[lane] as number, this.#across);
  }

  /** Lets the steps at hand go, and its memory. */
  close(): void {
    const x = this.#x;
    for (const stream of this.streams) x.stream_clear(stream);
    x.arena_free(this.#handle, this.#bytes);
  }
}
