/** Restores a snapshot from its sections. Each section is checked before its contents are used. */
import { corrupt, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import { END, HEAD } from "../../base/kinds.ts";
import { kindOf } from "../../base/typed-arrays.ts";
import type { Logger } from "../../base/warnings.ts";
import { SectionMemory } from "../../memory/section-memory.ts";
import { State } from "../../memory/state.ts";
import { copySpec, type Spec } from "../../schema/spec.ts";
import { decodeTagged } from "../decode.ts";
import { checkHead, headOf } from "../format/head.ts";
import { MAGIC, SectionParser } from "../format/section.ts";
import { WritersReader } from "../format/writers.ts";
import { checkWriters, type MakeReplay, type OpenWriters, type ReplayState } from "../replay-state.ts";
import { checkSpec, MIGRATION_PAGE } from "../spec-mismatch.ts";

const CONTRADICTION = "the snapshot is inconsistent";

export type SnapshotSource = Uint8Array | Iterable<Uint8Array>;

// biome-ignore lint/suspicious/noExplicitAny: without the option, the spec is unknown
export interface RestoreOptions<S extends Spec = any> {
  /** The spec that the program expects. A snapshot with another spec is rejected. Default: any spec. */
  readonly spec?: S;
  /**
   * The policy for the snapshot's writers. "close" closes them like `close()`. "keep" keeps them for `replay.writer({ name })` and `replay.writers`. Default:
   * "keep".
   */
  readonly writers?: OpenWriters;
  /** Another build of the core. Default: the core of the package. */
  readonly module?: WebAssembly.Module;
  /** Receives warnings. Default: `console.warn`. Pass null to silence warnings. */
  readonly logger?: Logger | null;
}

/** The number of bytes copied into the parser at a time, unless a section needs more. */
const CHUNK_BYTES = 1 << 20;

export function restore<R>(source: SnapshotSource | AsyncIterable<Uint8Array>, options: RestoreOptions, make: MakeReplay<R>): R | Promise<R> {
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
  readonly #make: MakeReplay<R>;
  readonly #options: Pick<RestoreOptions, "module" | "logger">;
  readonly #spec: Spec | undefined;
  readonly #openWriters: OpenWriters;
  readonly #parser: SectionParser;
  #hasMagic = false;
  #replayState: ReplayState<R> | undefined;
  #state: State | undefined;
  readonly #writers = new WritersReader();
  #sections = 0;
  #hasEnded = false;

  constructor(options: RestoreOptions, make: MakeReplay<R>) {
    this.#make = make;
    const { spec, writers = "keep", ...rest } = onlyKeys("Replay.restore", options, "module, logger, spec, writers");
    this.#openWriters = checkWriters(writers);
    this.#spec = spec === undefined ? undefined : copySpec(spec);
    this.#options = rest;
    this.#parser = new SectionParser(new SectionMemory(rest.module));
  }

  feed(chunk: Uint8Array): void {
    if (kindOf(chunk) !== "Uint8Array") throw mustBe(TypeError, "every chunk of source", "a Uint8Array", chunk);
    const parser = this.#parser;
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + Math.max(CHUNK_BYTES, parser.need - parser.available));
      parser.reserve(part.length).set(part);
      parser.advance(part.length);
      at += part.length;
      if (!this.#hasMagic && !this.#readMagic()) continue;
      while (!this.#hasEnded && parser.next()) this.#read();
      if (parser.fault !== undefined) throw this.#corrupt(parser.fault);
      if (this.#hasEnded && parser.available > 0) throw this.#corrupt("bytes follow the end");
    }
  }

  finish(): R {
    const replayState = this.#replayState;
    if (!this.#hasEnded || replayState === undefined) throw this.#corrupt("the end is missing");
    const state = this.#state as State;
    if (!this.#writers.adopt(replayState)) throw this.#corrupt("the writers are missing");
    if (!state.finish()) throw corrupt(CONTRADICTION, "records are missing, or refer to missing records");
    for (const [what, invariant] of state.brokenInvariants()) throw corrupt(CONTRADICTION, `${what}, invariant ${invariant}`);
    replayState.finishRestore(this.#openWriters, true);
    return replayState.replay;
  }

  #readMagic(): boolean {
    const magic = this.#parser.readMagic();
    if (magic === undefined) return false;
    if (magic !== MAGIC) {
      const isOtherVersion = magic.startsWith(MAGIC.slice(0, -1));
      throw new ReplayError(
        isOtherVersion ? "UNSUPPORTED" : "CORRUPT",
        `the snapshot must begin with ${MAGIC}, got ${JSON.stringify(magic)}${isOtherVersion ? ". Read it with the version of Reprise that wrote it" : ""}`,
      );
    }
    this.#hasMagic = true;
    return true;
  }

  #read(): void {
    const { kind, id, payload } = this.#parser;
    if (kind === HEAD && this.#state === undefined) this.#head(payload);
    else if (this.#state === undefined) throw this.#corrupt("the header is missing");
    else if (kind === END && payload.length === 4 && this.#parser.view.getUint32(0, true) === this.#sections) this.#hasEnded = true;
    else if (!this.#writers.take(kind, id, payload) && !this.#state.load(kind, id, payload)) throw this.#corrupt(`a section of kind ${kind} is inconsistent`);
    this.#sections++;
  }

  #head(payload: Uint8Array): void {
    const head = checkHead("the snapshot", decodeTagged(payload));
    const { options } = head;
    const replayState = this.#make({ ...options, seed: BigInt.asUintN(64, BigInt(options.seed)), ...this.#options }, 0);
    if (this.#spec !== undefined) checkSpec("spec", this.#spec, replayState.options.spec, "the snapshot", REMEDY);
    const layout = (of: object): string => JSON.stringify(of);
    if (layout(headOf(replayState).layout) !== layout(head.layout))
      throw new ReplayError("UNSUPPORTED", "this snapshot was written by a version of Reprise with another layout of steps. Read it with that version");
    this.#replayState = replayState;
    this.#state = new State(replayState.engine, replayState);
  }

  #corrupt(what: string): ReplayError {
    const { fault, from, end } = this.#parser;
    return corrupt(`the snapshot is truncated or altered at byte ${fault === undefined && !this.#hasEnded ? end : from}`, what);
  }
}

/** The remedy if the spec of the snapshot differs. */
const REMEDY = `Pass the spec of the snapshot, or omit spec (see ${MIGRATION_PAGE})`;
