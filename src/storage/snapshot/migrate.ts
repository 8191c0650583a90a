/** Migrates a snapshot to the next version of its program. The result has the same sections, with other steps and tables. */
import { corrupt, mustBe, onlyKeys, show } from "../../base/error.ts";
import { END, HEAD } from "../../base/kinds.ts";
import { kindOf } from "../../base/typed-arrays.ts";
import { SectionMemory } from "../../memory/section-memory.ts";
import type { Spec } from "../../schema/spec.ts";
import { decodeTagged } from "../decode.ts";
import { encodeTagged } from "../encode.ts";
import { checkHead } from "../format/head.ts";
import { MAGIC, SECTION_BYTES, SectionParser } from "../format/section.ts";
import { MIGRATION_OPTIONS, type MigrationReport, type ResolvedMigration, resolveMigration, type StateMigration } from "../migration/options.ts";
import { StateMigrator } from "../migration/state-migrator.ts";
import type { SnapshotSource } from "./read.ts";

export interface SnapshotMigration<S extends Spec = Spec> extends StateMigration<S> {
  /** Another build of the core. Default: the core of the package. */
  readonly module?: WebAssembly.Module;
}

/** The chunks of a snapshot, which can be read once. */
export interface MigratedSnapshot extends IterableIterator<Uint8Array<ArrayBuffer>> {
  /** The effects of the migration. The report is complete when all chunks have been read. */
  readonly report: MigrationReport;
}

/** The number of bytes copied into the parser at a time, unless a section needs more. */
const CHUNK_BYTES = 1 << 20;

/**
 * Returns the snapshot with steps of another spec, or with other limits on its tables, as chunks of about 64 KiB that can be read once. Everything else is
 * preserved to the byte: items, keys, priorities, draw counts, random states, episodes, writers, and shared or packed frames. A smaller table removes items
 * with its remover. Reads the source only once. Keeps a chunk, a section, and about 1.2 KB per item of a changed table in memory.
 * @throws TypeError, RangeError if an option is invalid
 * @throws ReplayError CORRUPT while it is read, if the snapshot is damaged
 * @throws ReplayError UNSUPPORTED while it is read, if another version wrote the snapshot, or if a leaf starts or stops being shared or packed
 * @throws ReplayError NOT_FOUND while it is read, if a table is unknown, or if a writer, an item or `transition` uses a removed leaf
 * @throws ReplayError SPEC_MISMATCH while it is read, if a step does not match the new spec
 * @throws ReplayError INVALID_DATA while it is read, if a value does not fit its new dtype
 */
export function migrateSnapshot<const S extends Spec>(source: SnapshotSource, options: SnapshotMigration<S>): MigratedSnapshot {
  const { module, ...others } = onlyKeys("migrateSnapshot", options, `${MIGRATION_OPTIONS}, module`);
  const migration = resolveMigration(others as StateMigration);
  const isBytes = kindOf(source) !== undefined;
  if (!isBytes && typeof (source as Iterable<Uint8Array>)?.[Symbol.iterator] !== "function")
    throw mustBe(TypeError, "source", "a Uint8Array or an iterable of Uint8Arrays", source);
  const migrator = new SnapshotMigrator(migration, module);
  const chunks = migrator.chunks(isBytes ? [source as Uint8Array] : (source as Iterable<Uint8Array>));
  return Object.defineProperty(chunks, "report", { get: () => migrator.report }) as unknown as MigratedSnapshot;
}

class SnapshotMigrator {
  readonly #options: ResolvedMigration;
  readonly #module: WebAssembly.Module | undefined;
  readonly #output: SectionMemory;
  #migrator: StateMigrator | undefined;
  /** The number of sections read, and the number of sections written. */
  #read = 0;
  #written = 0;
  #hasEnded = false;

  constructor(options: ResolvedMigration, module: WebAssembly.Module | undefined) {
    this.#options = options;
    this.#module = module;
    this.#output = new SectionMemory(module);
  }

  get report(): MigrationReport {
    return this.#migrator?.report ?? { steps: 0, removed: {}, newKeys: [] };
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
        if (parser.fault !== undefined) throw corrupt(`the snapshot is truncated or altered at byte ${parser.from}`, parser.fault);
        if (this.#hasEnded && parser.available > 0) throw corrupt(`the snapshot is truncated or altered at byte ${parser.end}`, "bytes follow the end");
      }
    }
    if (!this.#hasEnded) throw corrupt(`the snapshot is truncated or altered at byte ${parser.end}`, "the end is missing");
  }

  *#section({ kind, id, payload, from }: SectionParser): Generator<Uint8Array<ArrayBuffer>, void> {
    const fault = (what: string) => corrupt(`the snapshot is truncated or altered at byte ${from}`, what);
    if ((kind === HEAD) !== (this.#migrator === undefined)) throw fault(kind === HEAD ? "it has a second header" : "the header is missing");
    if (this.#migrator === undefined) {
      this.#migrator = new StateMigrator("the snapshot", checkHead("snapshot", decodeTagged(payload)), this.#options, this.#output, this.#module);
      yield this.#seal(HEAD, id, encodeTagged(this.#migrator.head, "options"));
    } else if (kind === END) {
      if (payload.length !== 4 || new DataView(payload.buffer, payload.byteOffset).getUint32(0, true) !== this.#read) throw fault("sections are missing");
      this.#hasEnded = true;
      for (const section of this.#migrator.finish()) yield this.#seal(...section);
      yield this.#seal(END, id, new Uint8Array(Uint32Array.of(this.#written).buffer));
    } else for (const section of this.#migrator.section(kind, id, payload)) yield this.#seal(...section);
    this.#read++;
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
