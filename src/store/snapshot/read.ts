/** Restoring a snapshot: sections as they come, each checked before it is believed. */
import type { Core } from "../../core/core.ts";
import type { Engine } from "../../core/engine.ts";
import { internals, Replay, ReplayError, type Spec } from "../../index.ts";
import {
  END,
  FREE,
  HEADER,
  layoutHash,
  MAGIC,
  ORDER,
  POOL,
  poolsOf,
  ROWS,
  SECTION_BYTES,
  SLOT_RECORD,
  SLOTS,
  type SnapshotHeader,
  STREAM,
  spansOf,
  TABLE,
} from "./write.ts";

export type SnapshotSource = Uint8Array | Iterable<Uint8Array>;

export interface RestoreOptions {
  /** Another build of the core than the one that comes with the package. */
  readonly module?: WebAssembly.Module;
}

/** No section is longer: a row has less than 1 GiB. */
const MOST_SECTION = 0x7fffffff;
/** Bytes that are summed at a time. */
const PIECE = 1 << 16;
const NAMES = ["", "HEADER", "POOL", "ROWS", "FREE", "TABLE", "SLOTS", "ORDER", "STREAM", "END"];

/**
 * A Replay as it was when the snapshot was taken: the same items and keys, and the same draws from now on. Its writers are in `writers`.
 * @param source bytes, an iterable of chunks, or an asynchronous one: then the result is a promise
 * @throws ReplayError CORRUPT where bytes are missing or altered · UNSUPPORTED for another version's snapshot
 */
export function restore<S extends Spec = Spec, N extends string = string>(source: SnapshotSource, options?: RestoreOptions): Replay<S, N>;
export function restore<S extends Spec = Spec, N extends string = string>(source: AsyncIterable<Uint8Array>, options?: RestoreOptions): Promise<Replay<S, N>>;
export function restore(source: SnapshotSource | AsyncIterable<Uint8Array>, options: RestoreOptions = {}): unknown {
  const parser = new Parser(options);
  if (source instanceof Uint8Array) {
    parser.feed(source);
    return parser.finish();
  }
  if (typeof (source as Iterable<Uint8Array>)?.[Symbol.iterator] === "function") {
    for (const chunk of source as Iterable<Uint8Array>) parser.feed(chunk);
    return parser.finish();
  }
  if (typeof (source as AsyncIterable<Uint8Array>)?.[Symbol.asyncIterator] === "function") {
    return (async () => {
      for await (const chunk of source as AsyncIterable<Uint8Array>) parser.feed(chunk);
      return parser.finish();
    })();
  }
  throw new TypeError("source must be a Uint8Array, or an iterable of them");
}

class Parser {
  readonly #options: RestoreOptions;
  /** For checksums. */
  readonly #sums: Core;
  #replay: Replay | undefined;
  #engine: Engine | undefined;
  /** Bytes that came and have not been read yet. */
  #pending = new Uint8Array(0);
  /** Offset of the first of them in the source. */
  #offset = 0;
  #sections = 0;
  #started = false;
  #ended = false;

  constructor(options: RestoreOptions) {
    this.#options = options;
    this.#sums = internals.core(1 << 20, options.module);
  }

  feed(chunk: Uint8Array): void {
    if (!(chunk instanceof Uint8Array)) throw new TypeError("source must be made of Uint8Arrays");
    const joined = new Uint8Array(this.#pending.length + chunk.length);
    joined.set(this.#pending);
    joined.set(chunk, this.#pending.length);
    let at = 0;
    if (!this.#started && joined.length >= MAGIC.length) {
      const magic = String.fromCharCode(...joined.subarray(0, MAGIC.length));
      if (magic !== MAGIC) {
        const other = magic.startsWith(MAGIC.slice(0, -1));
        throw new ReplayError(
          other ? "UNSUPPORTED" : "CORRUPT",
          `snapshot must begin with ${MAGIC}, got ${JSON.stringify(magic)}${other ? ": another version wrote it" : ""}`,
        );
      }
      this.#started = true;
      at = MAGIC.length;
    }
    while (this.#started && joined.length - at >= SECTION_BYTES) {
      const head = new DataView(joined.buffer, at, SECTION_BYTES);
      const bytes = head.getUint32(8, true);
      if (this.#ended || bytes > MOST_SECTION) throw this.#corrupt(at, this.#ended ? "bytes behind the end" : `a section of ${bytes} bytes`);
      if (joined.length - at < SECTION_BYTES + bytes) break;
      this.#read(joined.subarray(at, at + SECTION_BYTES + bytes), at, head.getUint32(0, true), head.getUint32(4, true), head.getUint32(12, true));
      at += SECTION_BYTES + bytes;
    }
    this.#pending = joined.slice(at);
    this.#offset += at;
  }

  finish(): unknown {
    const replay = this.#replay;
    const engine = this.#engine;
    if (!this.#ended || replay === undefined || engine === undefined || this.#pending.length !== 0)
      throw this.#corrupt(this.#pending.length, this.#ended ? "bytes behind the end" : "the end is missing");
    const { x } = engine.core;
    const checks: [string, number][] = [
      ...poolsOf(engine).map((pool): [string, number] => ["rows", x.pool_check(pool)]),
      ...replay.tables.map((table): [string, number] => [`table ${JSON.stringify(table.name)}`, x.table_check(table.handle)]),
      ...replay.writers.flatMap((writer) => writer.streams.map((stream): [string, number] => ["a writer", x.stream_check(stream)])),
    ];
    for (const [what, broken] of checks) {
      if (broken !== 0) throw new ReplayError("CORRUPT", `snapshot contradicts itself: ${what}, invariant ${broken}`);
    }
    return replay;
  }

  #read(section: Uint8Array, at: number, kind: number, id: number, crc: number): void {
    const bytes = section.length - SECTION_BYTES;
    if (this.#sum(section) !== crc) throw this.#corrupt(at, `the checksum of section ${NAMES[kind] ?? kind} does not match`);
    this.#sections++;
    const replay = this.#replay;
    const engine = this.#engine;
    if (kind === HEADER && replay === undefined) {
      this.#header(new TextDecoder().decode(section.subarray(SECTION_BYTES)), at);
      return;
    }
    if (replay === undefined || engine === undefined) throw this.#corrupt(at, "the header is missing");
    const { core } = engine;
    const { x } = core;
    const payload = core.scratch(Math.max(bytes, PIECE + SECTION_BYTES));
    core.u8.set(section.subarray(SECTION_BYTES), payload);
    const base = payload >>> 2;
    const word = (i: number) => (4 * i < bytes ? (core.u32[base + i] as number) : 0);
    const pool = poolsOf(engine)[id] ?? 0;
    const table = replay.tables[kind === ORDER ? id >> 1 : id]?.handle ?? 0;
    const needsPool = kind === POOL || kind === ROWS || kind === FREE;
    const needsTable = kind === TABLE || kind === SLOTS || kind === ORDER;
    if ((needsPool && pool === 0) || (needsTable && table === 0)) throw this.#corrupt(at, `section ${NAMES[kind]} ${id} belongs to nothing`);
    let code = 0;
    if (kind === POOL && bytes === 8) code = x.pool_restore(pool, word(0), word(1));
    else if (kind === ROWS && bytes === 8 + word(1) * x.pool_record(pool)) code = x.pool_records(pool, word(0), word(1), payload + 8, 0);
    else if (kind === FREE && bytes % 8 === 0) for (let i = 0; i < bytes / 4 && code === 0; i += 2) code = x.pool_free_run(pool, word(i), word(i + 1));
    else if (kind === TABLE) code = this.#numbers(core, table, section.subarray(SECTION_BYTES)) ? 0 : 1;
    else if (kind === SLOTS && bytes === 8 + word(1) * SLOT_RECORD) code = x.table_records(table, word(0), word(1), payload + 8, 0);
    else if (kind === ORDER && bytes >= 4) code = x.table_rejoin(table, id & 1, bytes / 4 - 1, payload + 4, word(0));
    else if (kind === STREAM && bytes === 20 + 4 * word(1)) code = this.#stream(core, replay, id, payload);
    else if (kind === END && word(0) === this.#sections - 1) this.#ended = true;
    else code = 1;
    if (core.u8.length === 0) core.refresh();
    if (code === -1) throw core.failure(code);
    if (code !== 0) throw this.#corrupt(at, `section ${NAMES[kind] ?? kind} contradicts itself`);
  }

  #header(text: string, at: number): void {
    let header: SnapshotHeader;
    try {
      header = JSON.parse(text) as SnapshotHeader;
    } catch {
      throw this.#corrupt(at, "the header is no JSON");
    }
    const replay = new Replay({ ...header.options, seed: BigInt(header.options.seed), module: this.#options.module });
    const { engine, adopt } = internals.of(replay);
    if (layoutHash(engine) !== header.layout) throw new ReplayError("UNSUPPORTED", "snapshot was written by a version that lays steps out in another way");
    for (const columns of header.shapes) engine.shapeOf(columns);
    for (const writer of header.writers) adopt(writer);
    this.#replay = replay;
    this.#engine = engine;
  }

  /** The checksum of a section, its own place in the head left out. In pieces: an altered length may be any. */
  #sum(section: Uint8Array): number {
    const { crc32c } = this.#sums.x;
    const at = this.#sums.scratch(SECTION_BYTES + PIECE);
    let crc = 0;
    for (let from = 0, to = 12; from < section.length; from = Math.max(to, SECTION_BYTES), to = Math.min(from + PIECE, section.length)) {
      this.#sums.u8.set(section.subarray(from, to), at);
      crc = crc32c(crc, at, to - from);
    }
    return crc >>> 0;
  }

  #numbers(core: Core, table: number, payload: Uint8Array): boolean {
    const spans = spansOf(core, table);
    if (payload.length !== spans.reduce((sum, [, length]) => sum + length, 0)) return false;
    let at = 0;
    for (const [address, length] of spans) {
      core.u8.set(payload.subarray(at, at + length), address);
      at += length;
    }
    return true;
  }

  #stream(core: Core, replay: Replay, id: number, payload: number): number {
    const stream = replay.writers.flatMap((writer) => writer.streams)[id];
    return stream === undefined ? 1 : core.x.stream_record(stream, payload, 0);
  }

  #corrupt(at: number, what: string): ReplayError {
    return new ReplayError("CORRUPT", `snapshot is cut or altered at byte ${this.#offset + at}: ${what}`);
  }
}
