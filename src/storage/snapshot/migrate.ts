/** A snapshot for the next version of its program: the same sections, with the steps of another spec. */
import { corrupt, integer, mustBe, onlyKeys, ReplayError, show } from "../../base/error.ts";
import { END, HEAD, LAYOUTS, ROWS, WRITERS } from "../../base/kinds.ts";
import { kindOf } from "../../base/typed-arrays.ts";
import { layoutOf } from "../../memory/layout.ts";
import { SectionMemory } from "../../memory/section-memory.ts";
import { COUNT_BYTES, SECTION_MAX } from "../../memory/state.ts";
import type { Layout } from "../../schema/layout.ts";
import { copySpec, leavesOf, type Spec, type StepOf } from "../../schema/spec.ts";
import { decodeTagged } from "../decode.ts";
import { encodeTagged } from "../encode.ts";
import { checkHead, headLayout, type StateHead } from "../format/head.ts";
import { MAGIC, SECTION_BYTES, SectionParser } from "../format/section.ts";
import type { SnapshotSource } from "./read.ts";
import { ROW_HEAD_BYTES, RowCodec } from "./row-codec.ts";

// biome-ignore lint/suspicious/noExplicitAny: a snapshot says what its steps are only when it is read
type AnyStep = any;

export interface SnapshotMigration<S extends Spec = Spec> {
  /** The spec of the new steps. */
  readonly spec: S;
  /** Returns the new step of an old one. Default: the old step itself, whose numbers are cast to the new dtypes. */
  readonly migrate?: (step: AnyStep) => StepOf<S>;
  /** The memory limit of the Replay. Default: that of the snapshot. */
  readonly maxBytes?: number;
  /** Another build of the core than the one that comes with the package. */
  readonly module?: WebAssembly.Module;
}

/** Bytes that are taken over at a time. */
const CHUNK_BYTES = 1 << 20;

/**
 * Returns the snapshot with the steps of another spec, as chunks of about 64 KiB. Everything else stays, to the byte: tables, items, keys, priorities, counts of draws,
 * random states, episodes, writers. Reads the source once. Memory: a chunk and a section.
 * @throws TypeError, RangeError for an option. While it is read: ReplayError CORRUPT, UNSUPPORTED for another version's snapshot, for leaves that are shared or packed, and for
 * `storedBytes`; NOT_FOUND for a leaf that a writer, an item or `transition` still names; SPEC_MISMATCH and INVALID_DATA for a value that the new spec does not take
 */
export function migrateSnapshot<const S extends Spec>(source: SnapshotSource, options: SnapshotMigration<S>): Iterable<Uint8Array<ArrayBuffer>> {
  const { spec, migrate = (step: AnyStep) => step, maxBytes, module } = onlyKeys("migrateSnapshot", options, "spec, migrate, maxBytes, module");
  if (typeof migrate !== "function") throw mustBe(TypeError, "migrate", "a function from an old step to a new one", migrate);
  if (maxBytes !== undefined) integer("maxBytes", maxBytes, 1);
  const isBytes = kindOf(source) !== undefined;
  if (!isBytes && typeof (source as Iterable<Uint8Array>)?.[Symbol.iterator] !== "function")
    throw mustBe(TypeError, "source", "a Uint8Array or an iterable of Uint8Arrays", source);
  const chunks = isBytes ? [source as Uint8Array] : (source as Iterable<Uint8Array>);
  return new SnapshotMigrator(copySpec(spec), migrate, maxBytes, module).chunks(chunks);
}

class SnapshotMigrator {
  readonly #spec: Spec;
  readonly #layout: Layout;
  readonly #newRows: RowCodec;
  readonly #migrate: (step: AnyStep) => unknown;
  readonly #maxBytes: number | undefined;
  readonly #module: WebAssembly.Module | undefined;
  readonly #output: SectionMemory;
  #oldRows: RowCodec | undefined;
  /** Sections that were read, and written. */
  #read = 0;
  #written = 0;
  #hasEnded = false;
  /** A section of new steps, full as those of a snapshot are, and how many it has by now. */
  readonly #pending: Uint8Array<ArrayBuffer>;
  #pendingCount = 0;

  constructor(spec: Spec, migrate: (step: AnyStep) => unknown, maxBytes: number | undefined, module: WebAssembly.Module | undefined) {
    this.#spec = spec;
    this.#layout = layoutOf(leavesOf(spec), module);
    checkOwn(this.#layout, "spec");
    this.#newRows = new RowCodec(spec, this.#layout);
    this.#pending = new Uint8Array(COUNT_BYTES + this.#newRows.bytes * Math.max(1, Math.floor((SECTION_MAX - COUNT_BYTES) / this.#newRows.bytes)));
    this.#migrate = migrate;
    this.#maxBytes = maxBytes;
    this.#module = module;
    this.#output = new SectionMemory(module);
  }

  *chunks(source: Iterable<Uint8Array>): Generator<Uint8Array<ArrayBuffer>, void> {
    const parser = new SectionParser(new SectionMemory(this.#module));
    let hasMagic = false;
    for (const chunk of source) {
      if (kindOf(chunk) !== "Uint8Array") throw mustBe(TypeError, "every chunk of source", "a Uint8Array", chunk);
      for (let at = 0; at < chunk.length; ) {
        const part = chunk.subarray(at, at + Math.max(CHUNK_BYTES, parser.need - parser.available));
        parser.reserve(part.length).set(part);
        parser.advance(part.length);
        at += part.length;
        if (!hasMagic) {
          const magic = parser.readMagic();
          if (magic === undefined) continue;
          if (magic !== MAGIC) throw corrupt("source is not a snapshot", `it begins with ${show(magic)}`);
          hasMagic = true;
          yield new TextEncoder().encode(MAGIC);
        }
        while (!this.#hasEnded && parser.next()) yield* this.#section(parser);
        if (parser.fault !== undefined) throw corrupt(`snapshot is cut or altered at byte ${parser.from}`, parser.fault);
        if (this.#hasEnded && parser.available > 0) throw corrupt(`snapshot is cut or altered at byte ${parser.end}`, "bytes behind the end");
      }
    }
    if (!this.#hasEnded) throw corrupt(`snapshot is cut or altered at byte ${parser.end}`, "the end is missing");
  }

  *#section({ kind, id, payload, from }: SectionParser): Generator<Uint8Array<ArrayBuffer>, void> {
    const fault = (what: string) => corrupt(`snapshot is cut or altered at byte ${from}`, what);
    if ((kind === HEAD) !== (this.#oldRows === undefined)) throw fault(kind === HEAD ? "a second head" : "the head is missing");
    if (kind !== ROWS) yield* this.#flush();
    if (kind === HEAD) yield this.#seal(HEAD, id, this.#head(payload));
    else if (kind === ROWS) yield* this.#rows(id, payload, fault);
    else if (kind === END) {
      if (payload.length !== 4 || new DataView(payload.buffer, payload.byteOffset).getUint32(0, true) !== this.#read) throw fault("sections are missing");
      this.#hasEnded = true;
      yield this.#seal(END, id, new Uint8Array(Uint32Array.of(this.#written).buffer));
    } else {
      if (kind === WRITERS || kind === LAYOUTS) this.#checkNames(decodeTagged(payload), kind === WRITERS ? "a writer" : "an item");
      yield this.#seal(kind, id, payload);
    }
    this.#read++;
  }

  /** The head with the new spec. */
  #head(payload: Uint8Array): Uint8Array {
    const head: StateHead = checkHead("snapshot", decodeTagged(payload));
    const { options } = head;
    const spec = copySpec(options.spec);
    const layout = layoutOf(leavesOf(spec), this.#module);
    if (JSON.stringify(headLayout(layout)) !== JSON.stringify(head.layout))
      throw new ReplayError("UNSUPPORTED", "this snapshot was written by a version with another layout of steps");
    checkOwn(layout, "the spec of the snapshot");
    if (options.storedBytes !== undefined)
      throw new ReplayError("UNSUPPORTED", "a snapshot of a Replay with storedBytes cannot be migrated: its steps would take other bytes. Move its episodes");
    for (const path of Object.values(options.transition ?? {})) this.#checkName(path as string, "transition");
    this.#oldRows = new RowCodec(spec, layout);
    const changed: StateHead = {
      ...head,
      options: { ...options, spec: this.#spec, maxBytes: this.#maxBytes ?? options.maxBytes },
      layout: headLayout(this.#layout),
    };
    // Without what was left out, as it is written first.
    return encodeTagged(JSON.parse(JSON.stringify(changed)), "options");
  }

  *#rows(id: number, payload: Uint8Array, fault: (what: string) => Error): Generator<Uint8Array<ArrayBuffer>, void> {
    const [old, rows] = [this.#oldRows as RowCodec, this.#newRows];
    const count = payload.length < COUNT_BYTES ? 0 : new DataView(payload.buffer, payload.byteOffset).getUint32(0, true);
    if (id !== 0 || payload.length !== COUNT_BYTES + count * old.bytes) throw fault("a section of steps contradicts itself");
    for (let i = 0; i < count; i++) {
      const from = COUNT_BYTES + i * old.bytes;
      const record = payload.slice(from, from + old.bytes);
      const at = COUNT_BYTES + this.#pendingCount * rows.bytes;
      this.#pending.set(record.subarray(0, ROW_HEAD_BYTES), at);
      rows.write(this.#pending.subarray(at, at + rows.bytes), this.#migrate(old.read(record)));
      this.#pendingCount++;
      if (at + 2 * rows.bytes > this.#pending.length) yield* this.#flush();
    }
  }

  /** The steps that wait for a full section. */
  *#flush(): Generator<Uint8Array<ArrayBuffer>, void> {
    const count = this.#pendingCount;
    if (count === 0) return;
    new DataView(this.#pending.buffer).setUint32(0, count, true);
    this.#pendingCount = 0;
    yield this.#seal(ROWS, 0, this.#pending.subarray(0, COUNT_BYTES + count * this.#newRows.bytes));
  }

  /** Every leaf that a rule, a priority or a column names must exist in the new spec. */
  #checkNames(value: unknown, user: string): void {
    if (typeof value !== "object" || value === null) return;
    for (const [key, part] of Object.entries(value)) {
      if (key === "leaf" && typeof part === "string") this.#checkName(part, user);
      else this.#checkNames(part, user);
    }
  }

  #checkName(path: string, user: string): void {
    if (this.#layout.leaves.some((leaf) => leaf.path === path || leaf.path.startsWith(`${path}.`))) return;
    throw new ReplayError(
      "NOT_FOUND",
      `spec must have ${path}, which ${user} of the snapshot names. Keep the leaf, or remove what names it and take a snapshot again`,
    );
  }

  #seal(kind: number, id: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
    const memory = this.#output;
    const size = SECTION_BYTES + payload.length;
    memory.reserve(size);
    memory.u8.set(payload, memory.base + SECTION_BYTES);
    memory.seal(memory.base, kind, id, payload.length);
    this.#written++;
    return memory.u8.slice(memory.base, memory.base + size);
  }
}

/** @throws ReplayError UNSUPPORTED for leaves whose frames are in other pools */
function checkOwn({ leaves }: Layout, what: string): void {
  const found = leaves.find(({ leaf }) => leaf.shared !== undefined);
  if (found === undefined) return;
  throw new ReplayError(
    "UNSUPPORTED",
    `${what} has ${found.path}, which is ${found.leaf.packed === undefined ? "shared" : "packed"}: migrateSnapshot does not move such frames`,
  );
}
