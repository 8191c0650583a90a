/** A Replay from its journal: records in the order in which they were written, then what they come to. */
import { internals, ReplayError } from "../../index.ts";
import type { ResolvedWriterOptions } from "../../writer.ts";
import { KEPT, LINK_BYTES, LINKS, POOLS, type Records, ROWS, SLOTS, STREAM_BYTES, STREAMS, TABLE, WRITERS } from "../format/records.ts";

export class Recovery {
  readonly #records: Records;
  readonly #name: string;
  /** The newest of those of which there is one each. */
  readonly #rest = new Map<string, Uint8Array>();
  /** The program's own value, as bytes. */
  kept: Uint8Array | undefined;

  constructor(records: Records, name: string) {
    this.#records = records;
    this.#name = name;
  }

  /** A section of a whole group. */
  visit(kind: number, id: number, payload: Uint8Array, segment: number): void {
    const records = this.#records;
    const { x, core, pools, tables, rowBytes, slotBytes, live } = records;
    if (kind === KEPT) {
      this.kept = payload.slice();
      return;
    }
    if (kind === WRITERS || kind === POOLS || kind === TABLE || kind === STREAMS) {
      this.#rest.set(`${kind}.${id}`, payload.slice());
      return;
    }
    const handle = (kind === SLOTS ? tables : pools)[id];
    const bytes = kind === LINKS ? LINK_BYTES : ((kind === SLOTS ? slotBytes : rowBytes)[id] ?? 0);
    const known = kind === ROWS || kind === LINKS || kind === SLOTS;
    if (!known || handle === undefined || payload.length < 4 || payload.length > records.bufferBytes) throw this.#corrupt(segment);
    const at = records.take(payload);
    const count = records.word(0);
    if (payload.length !== 4 + count * bytes) throw this.#corrupt(segment);
    const load = kind === ROWS ? x.journal_load_rows : kind === LINKS ? x.journal_load_links : x.journal_load_slots;
    const code = load(handle, count, at + 4, records.place(segment), live);
    if (core.u8.length === 0) core.refresh();
    if (code === -1) throw core.failure(code);
    if (code !== 0) throw this.#corrupt(segment);
  }

  /** Whether there was anything. */
  get found(): boolean {
    return this.#rest.size !== 0;
  }

  /** Once all sections were visited. */
  finish(): void {
    const { replay, engine, core, x, pools, tables, tableBytes, live } = this.#records;
    const { adopt } = internals.of(replay);
    const ok = (code: number): void => {
      if (core.u8.length === 0) core.refresh();
      if (code === -1) throw core.failure(code);
      if (code !== 0) throw this.#corrupt();
    };
    const rest = (kind: number, id: number, bytes?: number): Uint8Array => {
      const payload = this.#rest.get(`${kind}.${id}`);
      if (payload === undefined || (bytes !== undefined && payload.length !== bytes)) throw this.#corrupt();
      return payload;
    };
    const { shapes, writers } = JSON.parse(new TextDecoder().decode(rest(WRITERS, 0))) as { shapes: object[]; writers: ResolvedWriterOptions[] };
    for (const columns of shapes) engine.shapeOf(columns);
    for (const writer of writers) adopt(writer);
    const numbers = new DataView(rest(POOLS, 0, 8 * pools.length).slice().buffer);
    for (const [i, pool] of pools.entries()) ok(x.journal_name_rows(pool, numbers.getUint32(8 * i, true), numbers.getUint32(8 * i + 4, true)));
    const streams = replay.writers.flatMap((writer) => writer.streams);
    const windows = rest(STREAMS, 0, STREAM_BYTES * streams.length);
    for (const [i, stream] of streams.entries()) {
      const at = this.#records.take(windows.subarray(STREAM_BYTES * i, STREAM_BYTES * (i + 1)));
      ok(x.journal_load_stream(stream, at));
    }
    tables.forEach((table, id) => {
      x.journal_table(table, this.#records.take(rest(TABLE, id, tableBytes)), 0);
      ok(x.journal_join_table(table));
    });
    // Steps hold frames: these are settled after them.
    for (const pool of [...pools].reverse()) ok(x.journal_settle_rows(pool, live));
  }

  #corrupt(segment?: number): ReplayError {
    const where = segment === undefined ? "" : ` in segment ${segment}`;
    return new ReplayError("CORRUPT", `the journal in ${this.#name} contradicts itself${where}: it was written by another version, or by a fault of Reprise`);
  }
}
