/**
 * Implements a host of embed.wasm, like a program in any language: it passes text and packed steps, and receives columns. It relies only on the layouts that
 * the instance reports.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/core.ts";
import { type Operation, placed } from "./operation.ts";

/** The exports, one per line, as in assembly/embed.ts. */
export interface EmbedExports {
  readonly memory: WebAssembly.Memory;
  replay_input(bytes: number): number;
  replay_create(text: number, bytes: number): number;
  replay_append(handle: number, writer: number, steps: number, n: number, ends: number, finals: number): number;
  replay_end(handle: number, writer: number, lane: number, how: number, final: number): number;
  replay_item(handle: number, writer: number, lane: number, table: number, length: number, priority: number): number;
  replay_epoch(handle: number, view: number, n: number, state: number): number;
  replay_writer(handle: number, writer: number): number;
  replay_discard(handle: number, writer: number, lane: number): number;
  replay_truncate(handle: number, writer: number): number;
  replay_sample(handle: number, view: number, n: number, beta: number): number;
  replay_mixture(handle: number, view: number): number;
  replay_set_mixture(handle: number, view: number, state: number): number;
  replay_get(handle: number, view: number, keys: number, n: number): number;
  replay_write(handle: number, view: number, column: number, keys: number, n: number, width: number, values: number): number;
  replay_columns(handle: number, view: number): number;
  replay_stats(handle: number, table: number): number;
  replay_update(handle: number, table: number, keys: number, priorities: number, n: number): number;
  replay_delete(handle: number, table: number, keys: number, n: number): number;
  replay_save(handle: number, first: number): number;
  replay_load(snapshot: number, bytes: number, text: number, textBytes: number): number;
  replay_error(): number;
  replay_free(handle: number): number;
}

export type Build = "embed" | "embed.scalar";

/** The text of a Replay with the features that hosts are likely to implement incorrectly. */
export const TEXT = `
leaf observation f32 4
leaf action i32
leaf reward f32
leaf done bool
leaf task text 5
table memory size 10 sampler prioritized 0.6
writer lanes 1
rule memory nStep 2
writer lanes 2 autoreset nextStep
view memory transitions gamma 0.9 weights batch
view memory items length 2
seed 7`;

const modules = new Map<Build, WebAssembly.Module>();

export function embedModule(build: Build): WebAssembly.Module {
  const module = modules.get(build) ?? new WebAssembly.Module(new Uint8Array(readFileSync(join(root, "dist", `${build}.wasm`))));
  modules.set(build, module);
  return module;
}

export function embedOf(build: Build): EmbedExports {
  return new WebAssembly.Instance(embedModule(build), {}).exports as unknown as EmbedExports;
}

/** A column as COLUMN reports it (assembly/embed/describe.ts). */
export interface ToldColumn {
  readonly name: string;
  readonly dtype: number;
  readonly maxBytes: number;
  readonly shape: readonly number[];
  readonly steps: number;
  readonly drawn: boolean;
  readonly at: number;
  readonly bytes: number;
}

export interface ToldColumns {
  readonly entries: number;
  readonly width: number;
  readonly stepBytes: number;
  readonly blocked: number;
  readonly columns: readonly ToldColumn[];
}

/** Thrown if the instance rejects a call, with the text of the rejection. */
export class EmbedError extends Error {}

export class Embed {
  readonly x: EmbedExports;
  handle = 0;

  constructor(build: Build = "embed") {
    this.x = embedOf(build);
  }

  get u8(): Uint8Array {
    return new Uint8Array(this.x.memory.buffer);
  }

  get view(): DataView {
    return new DataView(this.x.memory.buffer);
  }

  /** The text of the last error. */
  get error(): string {
    const at = this.x.replay_error();
    return new TextDecoder("utf-8", { fatal: true }).decode(this.u8.subarray(at, this.u8.indexOf(0, at)));
  }

  /** Copies runs of bytes into the memory, each run at the next multiple of 16. Returns the addresses of the runs. */
  give(...runs: readonly Uint8Array[]): number[] {
    const { places, bytes } = placed(runs);
    const at = this.x.replay_input(bytes.length) >>> 0;
    if (at === 0) throw new EmbedError(this.error);
    this.u8.set(bytes, at);
    return places.map((place) => at + place);
  }

  create(text: string): this {
    const bytes = new TextEncoder().encode(text);
    const [at = 0] = this.give(bytes);
    this.handle = this.x.replay_create(at, bytes.length) >>> 0;
    if (this.handle === 0) throw new EmbedError(this.error);
    return this;
  }

  /** Creates a Replay from a snapshot. @param text lines that follow the lines in the snapshot */
  load(snapshot: Uint8Array, text = ""): this {
    const bytes = new TextEncoder().encode(text);
    const [at = 0, behind = 0] = this.give(snapshot, bytes);
    this.handle = this.x.replay_load(at, snapshot.length, behind, bytes.length) >>> 0;
    if (this.handle === 0) throw new EmbedError(this.error);
    return this;
  }

  /** Returns the next chunk of a snapshot. An empty chunk marks the end. */
  chunk(first: boolean): Uint8Array {
    const at = this.x.replay_save(this.handle, Number(first)) >>> 0;
    if (at === 0) throw new EmbedError(this.error);
    const [from, bytes] = [this.view.getUint32(at, true), this.view.getUint32(at + 4, true)];
    return this.u8.slice(from, from + bytes);
  }

  snapshot(): Uint8Array {
    const chunks: Uint8Array[] = [];
    for (let chunk = this.chunk(true); chunk.length > 0; chunk = this.chunk(false)) chunks.push(chunk);
    return new Uint8Array(Buffer.concat(chunks));
  }

  /** Makes the call of an operation and returns its result. @throws EmbedError if the call is rejected */
  play({ call, args, addresses, payload }: Operation): number {
    const [at = 0] = payload.length > 0 ? this.give(payload) : [];
    const given = args.map((arg, i) => ((addresses >> i) & 1 ? (arg < 0 ? 0 : at + arg) : arg));
    return this.did((this.x as unknown as { readonly [name: string]: (...args: number[]) => number })[`replay_${call}`]?.(this.handle, ...given) as number);
  }

  /** Returns a result. @throws EmbedError if it is an error code */
  did(code: number): number {
    if (code < 0) throw new EmbedError(this.error);
    return code;
  }

  /** Returns the columns of a view's last batch, or of a packed step. @param view the number of the view; -1 for a packed step */
  columns(view: number): ToldColumns {
    const at = this.x.replay_columns(this.handle, view) >>> 0;
    if (at === 0) throw new EmbedError(this.error);
    const { view: data, u8 } = this;
    const word = (from: number, i: number) => data.getUint32(from + 4 * i, true);
    const columns = Array.from({ length: word(at, 0) }, (_, k): ToldColumn => {
      const from = at + 24 + 40 * k;
      const name = new TextDecoder().decode(u8.subarray(word(from, 0), word(from, 0) + word(from, 1)));
      const shape = Array.from({ length: word(from, 5) }, (_, i) => word(word(from, 4), i));
      return {
        name,
        dtype: word(from, 2),
        maxBytes: word(from, 3),
        shape,
        steps: word(from, 6),
        drawn: word(from, 7) === 1,
        at: word(from, 8),
        bytes: word(from, 9),
      };
    });
    return { entries: word(at, 1), width: word(at, 2), stepBytes: word(at, 3), blocked: word(at, 4), columns };
  }

  stats(table: number): number[] {
    const at = this.x.replay_stats(this.handle, table) >>> 0;
    if (at === 0) throw new EmbedError(this.error);
    return Array.from({ length: 13 }, (_, i) => this.view.getFloat64(at + 8 * i, true));
  }

  /** Returns packed steps. @param steps for each step, the bytes of each leaf by its path */
  pack(steps: readonly ReadonlyMap<string, Uint8Array>[]): Uint8Array {
    const { columns, stepBytes } = this.columns(-1);
    // Bytes that belong to no leaf may have any value.
    const packed = new Uint8Array(stepBytes * steps.length).fill(0xa5);
    for (const [i, step] of steps.entries()) {
      for (const { name, at, bytes } of columns) {
        const value = step.get(name) as Uint8Array;
        if (value.length !== bytes) throw new Error(`${name} has ${value.length} bytes, not ${bytes}`);
        packed.set(value, i * stepBytes + at);
      }
    }
    return packed;
  }
}

/** Encodes a text as in rows: its length, its UTF-8 bytes, and zeros up to the maximum size. */
export function textBytes(text: string, maxBytes: number): Uint8Array {
  const bytes = new Uint8Array((4 + maxBytes + 3) & ~3);
  const utf8 = new TextEncoder().encode(text);
  new DataView(bytes.buffer).setUint32(0, utf8.length, true);
  bytes.set(utf8, 4);
  return bytes;
}
