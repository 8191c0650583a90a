/**
 * Runs several Replays in lock-step. One has leaves that share frames, and the others have packed leaves. Every call is made on all Replays, and everything
 * visible must be equal: results, rejections, counts, keys, and the records of a snapshot, without the entries of packed frames.
 */
import { expect } from "vitest";
import { END, ENTRIES, FREE, HEAD, LINKS, POOLS, ROWS } from "../../src/base/kinds.ts";
import type { Replay, Spec, Table } from "../../src/index.ts";
import { engineOf } from "../../src/replay/replay.ts";
import { type Layout, SHARED } from "../../src/schema/layout.ts";
import { isLeaf } from "../../src/schema/leaf.ts";
import { map } from "../../src/schema/nest.ts";
import type { Writer } from "../../src/tables/writer.ts";
import { expectAlike } from "../support/alike.ts";
import { broken } from "../support/health.ts";
import { bytesOf, expectOurs } from "../support/refused.ts";
import type { AnyReplay } from "../support/scenes.ts";

const ROW_HEAD = 12;

/** Returns the same spec with leaves that share their frames unpacked. */
export function unpacked(spec: Spec): Spec {
  return map(spec, (leaf) => {
    const { packed: _, ...rest } = leaf as { packed?: number };
    return rest;
  }) as Spec;
}

/** Returns the result of a call, or its rejection. */
function outcomeOf(call: () => unknown): unknown {
  try {
    return shown(call());
  } catch (error) {
    expectOurs(error);
    return [(error as Error).constructor.name, (error as { code?: string }).code, (error as Error).message];
  }
}

/** Returns the visible part of a value: for batches, their columns. */
function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  const { detached } = (value ?? {}) as { detached?: unknown };
  return typeof detached === "function" ? detached.call(value) : value;
}

/**
 * Returns the records of a snapshot by kind and id. Frames are identified by the order in which steps refer to them, because their places depend on the number
 * of frames per block. Only the number of their pools is compared.
 */
function recordsOf(replay: AnyReplay): { readonly [section: string]: string } {
  const bytes = bytesOf(replay);
  const engine = engineOf(replay as unknown as Replay);
  const steps = engine.entryPools.length + engine.framePools.length;
  const found = new Map<string, Buffer[]>();
  const names = new Names(engine.layout);
  let frames = 0;
  for (let at = 8; at < bytes.length; ) {
    const [kind, id, length] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4), bytes.readUInt32LE(at + 8)] as [number, number, number];
    const payload = Buffer.from(bytes.subarray(at + 16, at + 16 + length));
    at += 16 + length;
    // Skips the counts of sections and the spec. Entries belong only to the frames.
    if (kind === HEAD || kind === END || kind === ENTRIES) continue;
    const ofPool = kind === ROWS || kind === LINKS || kind === FREE;
    if (kind === ROWS && id < steps) frames += payload.readUInt32LE(0);
    if (ofPool && id < steps) continue;
    if (kind === ROWS) names.rename(payload);
    const key = `${kind}.${ofPool ? "steps" : id}`;
    found.set(key, [...(found.get(key) ?? []), kind === POOLS ? payload.subarray(8 * steps) : payload]);
  }
  return {
    frames: `${frames} frames`,
    named: `${names.count} frames`,
    ...Object.fromEntries([...found].map(([key, parts]) => [key, Buffer.concat(parts).toString("latin1")])),
  };
}

/** The frames that steps refer to, in the order of their first use. */
class Names {
  readonly #layout: Layout;
  readonly #known = new Map<string, Map<number, number>>();

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  get count(): number {
    return [...this.#known.values()].reduce((sum, { size }) => sum + size, 0);
  }

  rename(payload: Buffer): void {
    const count = payload.readUInt32LE(0);
    const each = (payload.length - 4) / count;
    for (let record = 4; record < payload.length; record += each)
      for (const { kind, leaf, offset } of this.#layout.leaves)
        for (let f = 0; kind === SHARED && f < (leaf.stack ?? 1); f++) {
          const at = record + ROW_HEAD + offset + 4 * f;
          payload.writeUInt32LE(this.#nameOf(leaf.shared as string, payload.readUInt32LE(at)), at);
        }
  }

  #nameOf(pool: string, number: number): number {
    if (number === 0) return 0;
    const known = this.#known.get(pool) ?? new Map<number, number>();
    this.#known.set(pool, known);
    const name = known.get(number) ?? known.size + 1;
    known.set(number, name);
    return name;
  }
}

export class TwinPacked {
  /** The unpacked Replay is the first. */
  readonly replays: AnyReplay[];
  readonly #into = new Map<string, unknown[]>();
  readonly #views = new Map<string, { sample(n: number, options: object): unknown }[]>();
  readonly #lent: unknown[][] = [];
  /** The number of rejected calls. */
  refused = 0;

  constructor(replays: AnyReplay[]) {
    this.replays = replays;
    this.checkSpecs();
  }

  protected checkSpecs(): void {
    const [first, ...others] = this.replays;
    expect(leavesPacked(first as AnyReplay)).toBe(0);
    for (const replay of others) expect(leavesPacked(replay)).toBeGreaterThan(0);
  }

  get first(): AnyReplay {
    return this.replays[0] as AnyReplay;
  }

  writer(k: number, replay: AnyReplay = this.first): Writer<Spec, string> {
    return replay.writers[k] as Writer<Spec, string>;
  }

  /** Makes the same call on each Replay. Results and rejections must be equal. */
  all(call: (replay: AnyReplay, k: number) => unknown): unknown {
    const [first, ...others] = this.replays.map((replay, k) => outcomeOf(() => call(replay, k)));
    for (const other of others) expectAlike(other, first);
    if (Array.isArray(first) && typeof first[0] === "string" && first.length === 3) this.refused++;
    return first;
  }

  /** Like `all`, for calls that return promises. */
  async allLater(call: (replay: AnyReplay) => Promise<unknown>): Promise<void> {
    const outcomes: unknown[] = [];
    for (const replay of this.replays) {
      const got = await call(replay).then(
        (value) => () => value,
        (error: unknown) => () => {
          throw error;
        },
      );
      outcomes.push(outcomeOf(got));
    }
    for (const other of outcomes.slice(1)) expectAlike(other, outcomes[0]);
  }

  /** Draws into a refilled batch of the same form. */
  into(table: string, n: number, options: { readonly length: number }): void {
    const key = JSON.stringify([table, n, options]);
    const batches = this.#into.get(key) ?? [];
    this.#into.set(key, batches);
    this.all((replay, k) => {
      const own = replay.table(table) as Table;
      batches[k] ??= own.batch(n, options as never);
      return own.sample(n, { ...options, into: batches[k] } as never);
    });
  }

  /** Draws with a view of transitions. */
  view(table: string, n: number, made: object, options: object): void {
    const key = JSON.stringify([table, made]);
    const views = this.#views.get(key) ?? [];
    this.#views.set(key, views);
    this.all((replay, k) => {
      views[k] ??= (replay.table(table) as Table).transitions(made as never) as never;
      return (views[k] as (typeof views)[number]).sample(n, options);
    });
  }

  /** Draws a batch that is released later. */
  lend(table: string, n: number, options: object): void {
    const batches: unknown[] = [];
    this.all((replay) => {
      const batch = (replay.table(table) as Table).sample(n, { ...options, recycle: true } as never);
      batches.push(batch);
      return batch;
    });
    if (batches.length === this.replays.length) this.#lent.push(batches);
  }

  release(which: number): void {
    if (this.#lent.length === 0) return;
    const [batches] = this.#lent.splice(which % this.#lent.length, 1);
    for (const batch of batches as { release(): void }[]) batch.release();
  }

  /** Compares everything visible without a draw. */
  compare(): void {
    this.all((replay) => {
      // The sizes in bytes differ, and warnings are recounted after a Replay is restored.
      const { steps, tables, writers } = replay.stats();
      return [
        steps,
        tables,
        writers,
        replay.writers.map((writer) => [writer.length, writer.episodeSteps, Object.keys(replay.tables).map((name) => writer.lastKey(name))]),
      ];
    });
  }

  /** Compares all canonical state, and runs the checks of the core. The packed Replays have the same bytes. */
  compareAll(): void {
    this.compare();
    for (const replay of this.replays) expect(broken(replay)).toEqual([]);
    const [first, ...others] = this.replays.map(recordsOf) as [ReturnType<typeof recordsOf>, ...ReturnType<typeof recordsOf>[]];
    expect(first.named).toBe(first.frames);
    for (const other of others) expect(Object.keys(first).filter((section) => first[section] !== other[section])).toEqual([]);
  }

  /** Draws every item of every table, with its steps. */
  drawAll(): void {
    for (const { name, size } of Object.values(this.first.tables))
      if (size > 0) this.all((replay) => (replay.table(name) as Table).sample(size, { replacement: false, mask: true, length: 4 }));
  }

  /** Replaces one of the Replays. */
  put(k: number, replay: AnyReplay): void {
    this.replays[k] = replay;
    this.#into.clear();
    this.#views.clear();
    this.#lent.length = 0;
  }

  dispose(): void {
    for (const replay of this.replays) replay.dispose();
  }
}

function leavesPacked(replay: AnyReplay): number {
  let count = 0;
  map(replay.options.spec, (leaf) => void (isLeaf(leaf) && (leaf as { packed?: number }).packed !== undefined && count++));
  return count;
}
