/**
 * The snapshot: sections of canonical state, each with a CRC-32C, in chunks.
 *
 *   "REPRISE1", then sections: │ kind u32 │ id u32 │ bytes u32 │ crc u32 │ bytes … │   little endian; crc over kind, id, bytes, and the bytes
 *
 *   HEADER  JSON {layout, options, shapes, writers}
 *   POOL    id: pools of frames 0 …, the steps' last │ rows ever used, last episode (u32 each)
 *   ROWS    id: pool  │ number u32, count u32, then records: link, episode, bytes, wide values (names of rows are numbers)
 *   FREE    id: pool  │ runs of freed rows, oldest first: number u32, count u32
 *   TABLE   id: table │ its numbers: counts, random state, queues of slots
 *   SLOTS   id: table │ slot u32, count u32, then records of 32 bytes
 *   ORDER   id: 2 × table + role │ disorder u32, then slots u32
 *   STREAM  id: streams of all writers, in order │ last, window's length, episode, its steps, fresh, the window (u32 each)
 *   END     sections before this one u32
 */
import type { Core } from "../../core/core.ts";
import type { Engine } from "../../core/engine.ts";
import { internals, type Replay, ReplayError, type Spec } from "../../index.ts";
import type { ResolvedReplayOptions } from "../../replay.ts";
import type { ResolvedWriterOptions } from "../../writer.ts";

export const MAGIC = "REPRISE1";
/** Kinds of sections. */
export const HEADER = 1;
export const POOL = 2;
export const ROWS = 3;
export const FREE = 4;
export const TABLE = 5;
export const SLOTS = 6;
export const ORDER = 7;
export const STREAM = 8;
export const END = 9;
export const SECTION_BYTES = 16;
export const SLOT_RECORD = 32;

const CHUNK_BYTES = 64 * 1024;

export interface SnapshotHeader {
  /** The bytes of a row: another version may lay it out differently. */
  readonly layout: number;
  readonly options: ResolvedReplayOptions;
  readonly shapes: readonly object[];
  readonly writers: readonly ResolvedWriterOptions[];
}

/** The pools in the order in which they are restored: frames before the steps that name them. */
export function poolsOf(engine: Engine): readonly number[] {
  return [...engine.framePools, engine.pool];
}

/**
 * Everything, as chunks of at most about 64 KiB: items, keys, steps, open episodes, random states. Nothing may change until the last chunk was read.
 * @throws ReplayError OUT_OF_TURN where something did
 */
export function snapshot<S extends Spec, N extends string>(replay: Replay<S, N>): Iterable<Uint8Array> {
  const { engine } = internals.of(replay);
  engine.open();
  return chunks(replay as unknown as Replay, engine);
}

function* chunks(replay: Replay, engine: Engine): Generator<Uint8Array, void> {
  const { core } = engine;
  const { x } = core;
  const { tables, writers } = replay;
  const pools = poolsOf(engine);
  const { changes } = engine;
  const header: SnapshotHeader = {
    layout: layoutHash(engine),
    options: replay.options,
    shapes: engine.shapes.map((shape) => JSON.parse(shape.columns)),
    writers: writers.map((writer) => writer.options),
  };
  let sections = 0;
  const section = new Section(core);
  // Room for any of them at once: near the limit there may be none for a larger one later.
  section.reserve(CHUNK_BYTES + SECTION_BYTES);
  const seal = (kind: number, id: number, bytes: number): Uint8Array => {
    sections++;
    return section.seal(kind, id, bytes);
  };
  const parts = function* (): Generator<Uint8Array, void> {
    const text = new TextEncoder().encode(JSON.stringify(header));
    core.u8.set(text, section.reserve(text.length));
    yield seal(HEADER, 0, text.length);
    for (const [id, pool] of pools.entries()) yield* poolSections(core, section, seal, id, pool);
    for (const [id, table] of tables.entries()) yield* tableSections(core, section, seal, id, table.handle);
    for (const [id, stream] of writers.flatMap((writer) => writer.streams).entries()) {
      const bytes = 20 + 4 * x.stream_length(stream);
      x.stream_record(stream, section.reserve(bytes), 1);
      yield seal(STREAM, id, bytes);
    }
    core.u32[section.reserve(4) >>> 2] = sections;
    yield seal(END, 0, 4);
  };
  try {
    for (const pool of pools) {
      const code = x.pool_index(pool);
      if (core.u8.length === 0) core.refresh();
      if (code !== 0) throw core.failure(code);
    }
    yield new TextEncoder().encode(MAGIC);
    for (const part of parts()) {
      engine.open();
      yield part;
      if (engine.changes !== changes) throw new ReplayError("OUT_OF_TURN", "this Replay changed while a snapshot of it was read: read it to its end first");
    }
  } finally {
    for (const pool of pools) x.pool_unindex(pool);
  }
}

/** What tells two layouts apart: where every leaf is. */
export function layoutHash(engine: Engine): number {
  const { rowBytes, leaves } = engine.layout;
  const text = new TextEncoder().encode(JSON.stringify([rowBytes, leaves.map((leaf) => [leaf.path, leaf.leaf.dtype, leaf.shape, leaf.kind, leaf.offset])]));
  const at = engine.core.scratch(text.length);
  engine.core.u8.set(text, at);
  return engine.core.x.crc32c(0, at, text.length) >>> 0;
}

/** A section under way in scratch memory. */
class Section {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Where so many bytes of payload go. */
  reserve(bytes: number): number {
    return this.#core.scratch(SECTION_BYTES + bytes) + SECTION_BYTES;
  }

  /** The payload that was written, with its head, as bytes of their own. */
  seal(kind: number, id: number, bytes: number): Uint8Array {
    const core = this.#core;
    const at = core.scratch(0);
    core.u32.set([kind, id, bytes], at >>> 2);
    core.u32[(at >>> 2) + 3] = sectionCrc(core, at, bytes);
    return core.u8.slice(at, at + SECTION_BYTES + bytes);
  }
}

/** Over a section in memory, its own crc left out. */
export function sectionCrc(core: Core, at: number, bytes: number): number {
  const { crc32c } = core.x;
  return crc32c(crc32c(0, at, 12), at + SECTION_BYTES, bytes) >>> 0;
}

type Seal = (kind: number, id: number, bytes: number) => Uint8Array;

function* poolSections(core: Core, section: Section, seal: Seal, id: number, pool: number): Generator<Uint8Array, void> {
  const { x } = core;
  x.pool_numbers(pool, section.reserve(8));
  const high = core.u32[section.reserve(8) >>> 2] as number;
  yield seal(POOL, id, 8);
  const record = x.pool_record(pool);
  const most = Math.max(Math.floor(CHUNK_BYTES / record), 1);
  for (let number = x.pool_seek(pool, 1, 1) >>> 0; number <= high; ) {
    // Held rows, up to the next one that is not, or as many as a chunk takes.
    const count = Math.min((x.pool_seek(pool, number, 0) >>> 0) - number, most);
    const at = section.reserve(8 + count * record);
    core.u32.set([number, count], at >>> 2);
    x.pool_records(pool, number, count, at + 8, 1);
    yield seal(ROWS, id, 8 + count * record);
    number = x.pool_seek(pool, number + count, 1) >>> 0;
  }
  const runs = CHUNK_BYTES / 8;
  for (let cursor = 0; ; ) {
    const at = section.reserve(8 + 8 * runs);
    x.pool_free_runs(pool, cursor, runs, at);
    const count = core.u32[at >>> 2] as number;
    cursor = core.u32[(at >>> 2) + 1] as number;
    core.u8.copyWithin(at, at + 8, at + 8 + 8 * count);
    if (count !== 0) yield seal(FREE, id, 8 * count);
    if (cursor === 0) return;
  }
}

function* tableSections(core: Core, section: Section, seal: Seal, id: number, table: number): Generator<Uint8Array, void> {
  const { x } = core;
  let bytes = 0;
  const numbers = section.reserve(1024);
  for (const [address, length] of spansOf(core, table)) {
    core.u8.copyWithin(numbers + bytes, address, address + length);
    bytes += length;
  }
  const high = highestSlot(core, table);
  yield seal(TABLE, id, bytes);
  const most = CHUNK_BYTES / SLOT_RECORD;
  for (let slot = 1; slot <= high; slot += most) {
    const count = Math.min(most, high - slot + 1);
    const at = section.reserve(8 + count * SLOT_RECORD);
    core.u32.set([slot, count], at >>> 2);
    x.table_records(table, slot, count, at + 8, 1);
    yield seal(SLOTS, id, 8 + count * SLOT_RECORD);
  }
  for (const role of [0, 1]) {
    for (let cursor = 0; ; ) {
      const at = section.reserve(12 + CHUNK_BYTES);
      x.table_order(table, role, cursor, CHUNK_BYTES / 4, at);
      const count = core.u32[at >>> 2] as number;
      cursor = core.u32[(at >>> 2) + 1] as number;
      core.u8.copyWithin(at, at + 8, at + 12 + 4 * count);
      if (count !== 0) yield seal(ORDER, 2 * id + role, 4 + 4 * count);
      if (cursor === 0) break;
    }
  }
}

/** Where a table keeps its own numbers: (address, bytes) each. */
export function spansOf(core: Core, table: number): [number, number][] {
  const at = core.scratch(2048) + 1024 + SECTION_BYTES;
  core.x.table_spans(table, at);
  const [a = 0, b = 0, c = 0, d = 0] = core.u32.subarray(at >>> 2, (at >>> 2) + 4);
  return [
    [a, b],
    [c, d],
  ];
}

/** The highest slot that a table ever used: the first of its slots' numbers. */
function highestSlot(core: Core, table: number): number {
  const [, [address] = [0]] = spansOf(core, table);
  return core.u32[address >>> 2] as number;
}
