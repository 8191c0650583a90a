/** Restoring a snapshot: sections as they come, each checked before it is believed. */
import { corrupt, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import { END, HEAD } from "../../base/kinds.ts";
import { kindOf } from "../../base/typed.ts";
import type { Logger } from "../../base/warnings.ts";
import { SectionMemory } from "../../memory/section-memory.ts";
import { State } from "../../memory/state.ts";
import { specDifference } from "../../schema/difference.ts";
import { ownSpec, type Spec } from "../../schema/spec.ts";
import { checkHead, headOf } from "../format/head.ts";
import { MAGIC, SectionParser } from "../format/section.ts";
import { WritersReader } from "../format/writers.ts";
import { checkWriters, type Make, type OpenWriters, type Saved } from "../saved.ts";
import { decodeTagged } from "../untagged.ts";

const CONTRADICTION = "snapshot contradicts itself";

export type SnapshotSource = Uint8Array | Iterable<Uint8Array>;

// biome-ignore lint/suspicious/noExplicitAny: without a spec, nothing is known of it
export interface RestoreOptions<S extends Spec = any> {
  /** The spec that the program takes the steps for: another one than the snapshot's is refused. Default: that of the snapshot, whatever it is. */
  readonly spec?: S;
  /** "close" closes the writers of the snapshot, as `close()` does. Default: "keep", for `replay.writer({ name })` and `replay.writers`. */
  readonly writers?: OpenWriters;
  /** Another build of the core than the one that comes with the package. */
  readonly module?: WebAssembly.Module;
  /** Told of warnings. Default: console.warn; null for nobody. */
  readonly logger?: Logger | null;
}

/** Bytes that are taken over at a time. */
const PIECE = 1 << 20;

export function restore<R>(source: SnapshotSource | AsyncIterable<Uint8Array>, options: RestoreOptions, make: Make<R>): R | Promise<R> {
  const reader = new SnapshotReader(options, make);
  if (kindOf(source) !== undefined) {
    reader.feed(source as Uint8Array);
    return reader.finish();
  }
  if (typeof (source as Iterable<Uint8Array>)?.[Symbol.iterator] === "function") {
    for (const chunk of source as Iterable<Uint8Array>) reader.feed(chunk);
    return reader.finish();
  }
  if (typeof (source as AsyncIterable<Uint8Array>)?.[Symbol.asyncIterator] === "function") {
    return (async () => {
      for await (const chunk of source as AsyncIterable<Uint8Array>) reader.feed(chunk);
      return reader.finish();
    })();
  }
  throw new TypeError("source must be a Uint8Array or an iterable of Uint8Arrays");
}

class SnapshotReader<R> {
  readonly #make: Make<R>;
  readonly #options: Pick<RestoreOptions, "module" | "logger">;
  readonly #spec: Spec | undefined;
  readonly #how: OpenWriters;
  readonly #parser: SectionParser;
  #started = false;
  #saved: Saved<R> | undefined;
  #state: State | undefined;
  readonly #writers = new WritersReader();
  #sections = 0;
  #ended = false;

  constructor(options: RestoreOptions, make: Make<R>) {
    this.#make = make;
    const { spec, writers = "keep", ...rest } = onlyKeys("Replay.restore", options, "module, logger, spec, writers");
    this.#how = checkWriters(writers);
    this.#spec = spec === undefined ? undefined : ownSpec(spec);
    this.#options = rest;
    this.#parser = new SectionParser(new SectionMemory(rest.module));
  }

  feed(chunk: Uint8Array): void {
    if (kindOf(chunk) !== "Uint8Array") throw mustBe(TypeError, "every chunk of source", "a Uint8Array", chunk);
    const parser = this.#parser;
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + Math.max(PIECE, parser.need - parser.waiting));
      parser.room(piece.length).set(piece);
      parser.came(piece.length);
      at += piece.length;
      if (!this.#started && !this.#begins()) continue;
      while (!this.#ended && parser.next()) this.#read();
      if (parser.fault !== undefined) throw this.#corrupt(parser.fault);
      if (this.#ended && parser.waiting > 0) throw this.#corrupt("bytes behind the end");
    }
  }

  finish(): R {
    const saved = this.#saved;
    if (!this.#ended || saved === undefined) throw this.#corrupt("the end is missing");
    const state = this.#state as State;
    if (!this.#writers.adopt(saved)) throw this.#corrupt("the writers are missing");
    if (!state.finish()) throw corrupt(CONTRADICTION, "records are missing, or name what is not there");
    for (const [what, invariant] of state.broken()) throw corrupt(CONTRADICTION, `${what}, invariant ${invariant}`);
    saved.restored(this.#how, true);
    return saved.replay;
  }

  #begins(): boolean {
    const magic = this.#parser.begin();
    if (magic === undefined) return false;
    if (magic !== MAGIC) {
      const other = magic.startsWith(MAGIC.slice(0, -1));
      throw new ReplayError(
        other ? "UNSUPPORTED" : "CORRUPT",
        `snapshot must begin with ${MAGIC}, got ${JSON.stringify(magic)}${other ? ": another version wrote it" : ""}`,
      );
    }
    this.#started = true;
    return true;
  }

  #read(): void {
    const { kind, id, payload } = this.#parser;
    if (kind === HEAD && this.#state === undefined) this.#head(payload);
    else if (this.#state === undefined) throw this.#corrupt("the head is missing");
    else if (kind === END && payload.length === 4 && this.#parser.view.getUint32(0, true) === this.#sections) this.#ended = true;
    else if (!this.#writers.take(kind, id, payload) && !this.#state.load(kind, id, payload))
      throw this.#corrupt(`a section of kind ${kind} contradicts itself`);
    this.#sections++;
  }

  #head(payload: Uint8Array): void {
    const head = checkHead("snapshot", decodeTagged(payload));
    const { options } = head;
    const saved = this.#make({ ...options, seed: BigInt.asUintN(64, BigInt(options.seed)), ...this.#options }, 0);
    if (this.#spec !== undefined) mustBeAlike(this.#spec, saved.options.spec);
    const layout = (of: object): string => JSON.stringify(of);
    if (layout(headOf(saved).layout) !== layout(head.layout))
      throw new ReplayError("UNSUPPORTED", "this snapshot was written by a version with another layout of steps");
    this.#saved = saved;
    this.#state = new State(saved.engine, saved);
  }

  #corrupt(what: string): ReplayError {
    const { fault, from, end } = this.#parser;
    return corrupt(`snapshot is cut or altered at byte ${fault === undefined && !this.#ended ? end : from}`, what);
  }
}

/** @throws ReplayError SPEC_MISMATCH naming the first difference */
function mustBeAlike(asked: Spec, there: Spec): void {
  const found = specDifference(asked, there);
  if (found === undefined) return;
  const rule = `${found.there ?? "left out"} as in the snapshot (pass the spec that it was taken with, or leave spec out)`;
  throw new ReplayError("SPEC_MISMATCH", `${["spec", ...found.keys].join(".")} must be ${rule}, got ${found.asked ?? "nothing"}`);
}
