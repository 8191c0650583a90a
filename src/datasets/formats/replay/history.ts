/**
 * Indexes every step that a journal with `retain: "all"` received, including steps that no item contains any more. The index has the place of each step's
 * record in the files (assembly/persistence/row.ts), and how its episode continues. A row is not reused before it is written (`keeping`,
 * assembly/rows/changes.ts), so each step has a record, in the order of its episode.
 */
import { dataView } from "../../../base/bytes.ts";
import { corrupt } from "../../../base/error.ts";
import { ENTRIES, GROUP_END, LINKS, ROWS, STREAMS } from "../../../base/kinds.ts";
import { loggerOf } from "../../../base/warnings.ts";
import { type OpenEpisodes, openEpisodes, type Piece } from "../../../batch/stored-episodes.ts";
import type { Directory, StorageFile } from "../../../files/directory.ts";
import { withIoErrors } from "../../../files/io-errors.ts";
import type { Engine } from "../../../memory/engine.ts";
import { SectionMemory } from "../../../memory/section-memory.ts";
import { UnpackedFrame } from "../../../memory/unpacked-frame.ts";
import { engineOf, type Replay, stateOf } from "../../../replay/replay.ts";
import { isHalf, widenHalves } from "../../../schema/half.ts";
import { HEAD_BYTES, type PlacedLeaf, SHARED, WIDE } from "../../../schema/layout.ts";
import { blank, isText } from "../../../schema/leaf.ts";
import { readTexts, textBytes } from "../../../schema/text.ts";
import { SECTION_BYTES } from "../../../storage/format/section.ts";
import type { Retain } from "../../../storage/log/durability.ts";
import { recover, type ScanResult } from "../../../storage/log/read-directory.ts";
import { readSections } from "../../../storage/log/sections.ts";
import { fileOf } from "../../../storage/log/segment-head.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { Uint32List } from "./uint32-list.ts";

const COUNT_BYTES = 4;
const LINK_BYTES = 8;
/** The size of an entry's record in bytes (assembly/persistence/entry.ts). */
const ENTRY_RECORD_BYTES = 12;
const ENTRY_SIZE = 0xffffff;
/** The maximum number of entries in the chain from a frame to its key frame (assembly/rows/packed-frame.ts). */
const MAX_CHAIN = 8;
/** The shift to the upper two bits of a row's link, which encode whether and how the episode ends with the row. */
const END_SHIFT = 30;

/** The record of a row that was added in the open group. */
interface Fresh {
  readonly number: number;
  readonly link: number;
  readonly episode: number;
  readonly at: number;
  /** The records of the row's frames, in the form that `#framesIn` returns. */
  readonly frames: readonly number[];
}

/** The places in the files of a pool's records, oldest first. */
class Records {
  /** The maximum size of a record, in bytes. */
  readonly bytes: number;
  readonly segments = new Uint32List();
  /** The offsets of the records in their files. They fit 32 bits, because a file has at most 2 GiB plus one group. */
  readonly offsets = new Uint32List();
  /** The newest record of each row, by the number of the row, which is counted from 1. */
  readonly newest = new Map<number, number>();

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  add(number: number, segment: number, offset: number): number {
    const index = this.segments.push(segment);
    this.offsets.push(offset);
    this.newest.set(number, index);
    return index;
  }
}

/** The records of packed frames. Each frame refers to an entry, which may be a patch of another entry. */
class PackedRecords extends Records {
  readonly frameBytes: number;
  /** The places of the entries' bytes. */
  readonly #entries: Records;
  readonly #sizes = new Uint32List();
  /** The base of each entry that is a patch, as an index + 1, or 0 for no base. `#entryOf` has the entry of each frame in the same form. */
  readonly #bases = new Uint32List();
  readonly #entryOf = new Uint32List();
  /** The patches of the open group, with the numbers of their bases. A base may come after its patches. */
  readonly #open: [index: number, base: number][] = [];
  #unpacked: UnpackedFrame | undefined;
  /** The entry that was unpacked most recently, as an index + 1. */
  #last = 0;

  constructor(frameBytes: number) {
    super(HEAD_BYTES);
    this.frameBytes = frameBytes;
    this.#entries = new Records(frameBytes);
  }

  addEntries(payload: DataView, segment: number, from: number): void {
    for (let k = COUNT_BYTES; k < payload.byteLength; ) {
      const size = payload.getUint32(k + 8, true) & ENTRY_SIZE;
      const index = this.#entries.add(payload.getUint32(k, true), segment, from + k + ENTRY_RECORD_BYTES);
      this.#sizes.push(size);
      this.#bases.push(0);
      const base = payload.getUint32(k + 4, true);
      if (base !== 0) this.#open.push([index, base]);
      k += ENTRY_RECORD_BYTES + size;
    }
  }

  /** Adds a frame, whose entry was added before it. */
  addFrame(number: number, entry: number, segment: number, offset: number): void {
    this.add(number, segment, offset);
    this.#entryOf.push(1 + (this.#entries.newest.get(entry) ?? -1));
  }

  /** Ends a group. Numbers are unique within a group, so all bases of the patches exist at the end of the group. */
  closeGroup(): void {
    for (const [index, base] of this.#open) this.#bases.set(index, 1 + (this.#entries.newest.get(base) ?? index));
    this.#open.length = 0;
  }

  /**
   * Returns the bytes of a frame, which are valid until the next call. @param read reads the bytes of an entry @throws ReplayError CORRUPT if the entry is
   * invalid
   */
  frame(index: number, read: (into: Uint8Array, records: Records, index: number) => void): Uint8Array {
    this.#unpacked ??= new UnpackedFrame(this.frameBytes);
    const chain: number[] = [];
    for (let entry = this.#entryOf.at(index); entry !== 0 && entry !== this.#last && chain.length < MAX_CHAIN; entry = this.#bases.at(entry - 1))
      chain.push(entry);
    for (const entry of chain.reverse()) {
      const base = this.#bases.at(entry - 1);
      const fill = (into: Uint8Array) => read(into, this.#entries, entry - 1);
      const isRight = (base === 0 || base === this.#last) && this.#unpacked.apply(this.#sizes.at(entry - 1), base !== 0, fill);
      this.#last = isRight ? entry : 0;
    }
    if (this.#last !== this.#entryOf.at(index) || this.#last === 0) throw corrupt("the journal is damaged", "a packed frame cannot be unpacked");
    return this.#unpacked.bytes;
  }
}

export class JournalHistory {
  readonly pieces: readonly Piece[];
  readonly #directory: Directory;
  readonly #leaves: readonly PlacedLeaf[];
  /** The offset of each wide leaf in a record. */
  readonly #wide = new Map<PlacedLeaf, number>();
  readonly #framesOfStep: number;
  readonly #steps: Records;
  readonly #pools: readonly Records[];
  /** The records of the n wide leaves that are packed. The section ids 0 … n - 1 belong to their entries, and the following ids to all pools and the steps. */
  readonly #packed: readonly PackedRecords[];
  /** The episode of each step. `#endFlags` encodes how the episode ends with the step, and `#frames` has the records of the step's frames. */
  readonly #episodes = new Uint32List();
  readonly #endFlags = new Uint32List();
  readonly #frames = new Uint32List();
  readonly #links = new Map<number, number>();
  readonly #streams = new Map<number, string>();

  /**
   * Reads all files. @returns undefined for a journal that does not have `retain: "all"`
   * @throws ReplayError CORRUPT if a file is damaged · IO if a file cannot be read · the reason of `signal` if it aborts
   */
  static async of(directory: Directory, replay: Replay, signal?: AbortSignal): Promise<JournalHistory | undefined> {
    const memory = new SectionMemory();
    const recovered = recover(directory, memory, { salvage: false, logger: loggerOf(null) });
    const { retain } = (recovered?.head.about ?? {}) as { readonly retain?: Retain };
    if (recovered === undefined || retain !== "all") return undefined;
    const engine = engineOf(replay);
    const history = new JournalHistory(directory, engine);
    await history.#read(recovered, memory, signal);
    (history as { pieces: readonly Piece[] }).pieces = history.#groupPieces(openEpisodes(engine, stateOf(replay)));
    return history;
  }

  private constructor(directory: Directory, { layout }: Engine) {
    this.pieces = [];
    this.#directory = directory;
    this.#leaves = layout.leaves;
    let bytes = HEAD_BYTES + layout.rowBytes;
    for (const leaf of layout.leaves) {
      if (leaf.kind !== WIDE) continue;
      this.#wide.set(leaf, bytes);
      bytes += leaf.bytes;
    }
    this.#steps = new Records(bytes);
    this.#pools = layout.pools.map(({ frameBytes, packed }) =>
      packed === undefined ? new Records(HEAD_BYTES + Math.ceil(frameBytes / 8) * 8) : new PackedRecords(frameBytes),
    );
    this.#packed = this.#pools.filter((pool) => pool instanceof PackedRecords);
    this.#framesOfStep = layout.leaves.reduce((sum, leaf) => sum + framesOf(leaf), 0);
  }

  get steps(): number {
    return this.#steps.segments.length;
  }

  /** Returns the columns of some leaves for some steps. The index of a column is the index of its leaf in the layout. */
  columns(steps: Uint32Array, leaves: readonly PlacedLeaf[]): ColumnData[] {
    const columns: ColumnData[] = [];
    for (const { index, leaf, size } of leaves) columns[index] = blank(leaf, size * steps.length);
    const isRead = new Set(leaves);
    const files = new Map<number, StorageFile>();
    const record = new Uint8Array(this.#steps.bytes);
    const frame = new Uint8Array(Math.max(0, ...this.#pools.map(({ bytes }) => bytes)));
    try {
      for (const [i, step] of steps.entries()) {
        this.#fill(record, this.#steps, step, files);
        let at = step * this.#framesOfStep;
        for (const leaf of this.#leaves) {
          if (!isRead.has(leaf)) {
            at += framesOf(leaf);
            continue;
          }
          const column = columns[leaf.index] as ColumnData;
          if (leaf.kind === SHARED) {
            const pool = this.#poolOf(leaf);
            for (let f = 0; f < framesOf(leaf); f++, at++) {
              const version = this.#frames.at(at);
              if (version === 0) continue;
              put(column, leaf, i * leaf.bytes + f * leaf.frameBytes, this.#frameOf(pool, version - 1, frame, files).subarray(0, leaf.frameBytes));
            }
          } else {
            const from = this.#wide.get(leaf) ?? HEAD_BYTES + leaf.offset;
            put(column, leaf, i * leaf.bytes, record.subarray(from, from + leaf.bytes));
          }
        }
      }
    } finally {
      for (const file of files.values()) file.close();
    }
    return columns;
  }

  #frameOf(pool: Records, index: number, into: Uint8Array, files: Map<number, StorageFile>): Uint8Array {
    if (pool instanceof PackedRecords) return pool.frame(index, (entry, records, k) => this.#fill(entry, records, k, files));
    this.#fill(into.subarray(0, pool.bytes), pool, index, files);
    return into.subarray(HEAD_BYTES);
  }

  async #read(recovered: ScanResult, memory: SectionMemory, signal: AbortSignal | undefined): Promise<void> {
    let group: { readonly of: number; readonly rows: (Fresh & { readonly segment: number })[]; isNew: boolean } | undefined;
    const findEnds = () => {
      // Records are stored newest first. A group that only rewrites salvaged records adds no new rows.
      if (group?.isNew) for (const row of group.rows.reverse()) this.#add(row);
      for (const pool of this.#packed) pool.closeGroup();
      group = undefined;
    };
    for (const _ of readSections(this.#directory, recovered, memory, loggerOf(null), (kind, id, payload, segment, at) => {
      if (group?.of !== at.group) findEnds();
      if (kind === GROUP_END) {
        findEnds();
        return;
      }
      group ??= { of: at.group, rows: [], isNew: false };
      if (kind === STREAMS) {
        const bytes = String.fromCharCode(...payload);
        if (this.#streams.get(id) !== bytes) group.isNew = true;
        this.#streams.set(id, bytes);
        return;
      }
      if (kind !== ROWS && kind !== LINKS && kind !== ENTRIES) return;
      const view = dataView(payload);
      const from = at.from + SECTION_BYTES;
      if (kind === ENTRIES) {
        this.#packed[id]?.addEntries(view, segment, from);
        return;
      }
      const pool = id - this.#packed.length;
      if (kind === ROWS && pool < this.#pools.length) this.#addFrames(this.#pools[pool] as Records, view, segment, from);
      if (pool !== this.#pools.length) return;
      if (kind === LINKS) {
        const open = group;
        for (let k = COUNT_BYTES; k < payload.length; k += LINK_BYTES) this.#link(view.getUint32(k, true), view.getUint32(k + 4, true), open.rows);
        return;
      }
      for (let k = COUNT_BYTES; k < payload.length; k += this.#steps.bytes) {
        const [number, link, episode] = [view.getUint32(k, true), view.getUint32(k + 4, true), view.getUint32(k + 8, true)];
        const newest = this.#steps.newest.get(number);
        if (newest === undefined || this.#links.get(number) !== link || this.#episodes.at(newest) !== episode) group.isNew = true;
        group.rows.push({ number, link, episode, at: from + k, segment, frames: this.#framesIn(view, k) });
      }
    })) {
      signal?.throwIfAborted();
      await undefined;
    }
    findEnds();
  }

  /** Sets the link of a row. A row of the open group has not been added yet, but its record contains the link. */
  #link(number: number, link: number, open: readonly Fresh[]): void {
    const index = this.#steps.newest.get(number);
    if (index === undefined || open.some((row) => row.number === number)) return;
    this.#links.set(number, link);
    this.#endFlags.set(index, link >>> END_SHIFT);
  }

  #add({ number, link, episode, at, segment, frames }: Fresh & { readonly segment: number }): void {
    this.#steps.add(number, segment, at);
    this.#links.set(number, link);
    this.#episodes.push(episode);
    this.#endFlags.push(link >>> END_SHIFT);
    for (const version of frames) this.#frames.push(version);
  }

  #addFrames(pool: Records, view: DataView, segment: number, from: number): void {
    for (let k = COUNT_BYTES; k < view.byteLength; k += pool.bytes) {
      const number = view.getUint32(k, true);
      if (pool instanceof PackedRecords) pool.addFrame(number, view.getUint32(k + 8, true), segment, from + k);
      else pool.add(number, segment, from + k);
    }
  }

  /** Returns the newest record of each frame, as an index + 1. 0 means no record. */
  #framesIn(view: DataView, record: number): number[] {
    const versions: number[] = [];
    for (const leaf of this.#leaves)
      for (let f = 0; f < framesOf(leaf); f++) {
        const number = view.getUint32(record + HEAD_BYTES + leaf.offset + 4 * f, true);
        versions.push(number === 0 ? 0 : 1 + (this.#poolOf(leaf).newest.get(number) ?? -1));
      }
    return versions;
  }

  #poolOf({ leaf }: PlacedLeaf): Records {
    const names = [...new Set(this.#leaves.flatMap((placedLeaf) => (placedLeaf.leaf.shared === undefined ? [] : [placedLeaf.leaf.shared])))];
    return this.#pools[names.indexOf(leaf.shared as string)] as Records;
  }

  /** Groups the steps by episode, in the order in which the episodes began. */
  #groupPieces(open: OpenEpisodes): Piece[] {
    const steps = new Map<number, Uint32List>();
    for (let i = 0; i < this.steps; i++) {
      const episode = this.#episodes.at(i);
      const rowList = steps.get(episode) ?? new Uint32List();
      if (rowList.push(i) === 0) steps.set(episode, rowList);
    }
    return [...steps]
      .sort(([a], [b]) => a - b)
      .map(([episode, rowList]) => {
        const rows = rowList.toArray();
        const end = this.#endFlags.at(rows.at(-1) as number);
        return { episode, rows, end, openSteps: end === 0 ? (open.get(episode) ?? 0) : 0 };
      });
  }

  /** Reads a record from its place until `into` is full. */
  #fill(into: Uint8Array, records: Records, index: number, files: Map<number, StorageFile>): void {
    const segment = records.segments.at(index);
    const name = fileOf(segment);
    let file = files.get(segment);
    if (file === undefined) {
      file = withIoErrors("opening", this.#directory, name, () => this.#directory.open(name, false));
      files.set(segment, file);
    }
    const offset = records.offsets.at(index);
    for (let done = 0; done < into.length; ) {
      const read = withIoErrors("reading", this.#directory, name, () => (file as StorageFile).read(into.subarray(done), offset + done));
      if (!(read > 0)) break;
      done += read;
    }
  }
}

function framesOf({ kind, leaf }: PlacedLeaf): number {
  return kind === SHARED ? (leaf.stack ?? 1) : 0;
}

/** Writes the bytes of a leaf's values into its column. @param at the offset in bytes */
function put(column: ColumnData, { leaf, bytes, size }: PlacedLeaf, at: number, from: Uint8Array): void {
  if (isText(leaf)) {
    const texts: string[] = [];
    readTexts(from, 0, leaf.maxBytes, texts, from.length / textBytes(leaf.maxBytes));
    for (const [i, text] of texts.entries()) (column as string[])[(at / bytes) * size + i] = text;
    return;
  }
  if (isHalf(leaf.dtype)) {
    (column as Float32Array).set(widenHalves(leaf.dtype, new Uint16Array(from.slice().buffer)), at / 2);
    return;
  }
  const { buffer, byteOffset } = column as Uint8Array;
  new Uint8Array(buffer, byteOffset + at, from.length).set(from);
}
