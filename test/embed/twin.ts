/** Makes the same calls on the public TypeScript API and on embed.wasm. Their results, counters and errors must be the same. */
import { deepEqual, equal } from "node:assert/strict";
import { ReplayError } from "../../src/index.ts";
import type { TestRandom } from "../support/random.ts";
import { Api } from "./api.ts";
import { type Call, Calls } from "./calls.ts";
import { bytesOf, difference, leafColumns } from "./columns.ts";
import { type Build, Embed, EmbedError } from "./host.ts";
import { type Operation, operationOf, reload, statsOf } from "./operation.ts";
import { bytesIn, type Step, Values } from "./values.ts";
import { textOf, viewLine, type World, writersText } from "./world.ts";

/** The result of an operation in TypeScript: a number or an error code, and the bytes that the operation returned. */
export interface Done {
  readonly operation: Operation;
  readonly result: number | string;
  readonly bytes: readonly Uint8Array[];
}

interface TwinOptions {
  /** Unusual floats that occur occasionally. */
  readonly strange?: readonly number[];
  /** The numbers of the tables for which items of any length are created. Default: all tables. */
  readonly windows?: readonly number[];
  /** Whether counters are compared after each call, not only after calls that read them. */
  readonly counts?: boolean;
  readonly onDone?: (done: Done) => void;
}

/** Makes a call. If it is rejected, returns its error and the code of the error. Returns undefined if it succeeds. */
function refusalOf(call: () => void): { readonly code: string; readonly error: Error } | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (error instanceof EmbedError) return { code: error.message.split(":")[0] as string, error };
    if (error instanceof ReplayError) return { code: error.code, error };
    if (error instanceof TypeError || error instanceof RangeError) return { code: "INVALID", error };
    throw error;
  }
}

/** Returns the payload of each section of a snapshot. A key consists of the section's kind, its id and its position among the sections. */
function sectionsIn(bytes: Uint8Array): Map<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 8; at < bytes.length; at += 16 + view.getUint32(at + 8, true))
    found.set(`${view.getUint32(at, true)}.${view.getUint32(at + 4, true)}.${found.size}`, bytes.subarray(at + 16, at + 16 + view.getUint32(at + 8, true)));
  return found;
}

export class Twin {
  readonly #world: World;
  readonly #values: Values;
  readonly #calls: Calls;
  readonly #build: Build;
  readonly #counts: boolean;
  readonly #onDone: (done: Done) => void;
  readonly text: string;
  #api!: Api;
  #embed: Embed;
  /** The number of rejected calls. `batches` counts the batches that are not empty. */
  refused = 0;
  batches = 0;

  constructor(random: TestRandom, world: World, build: Build, options: TwinOptions = {}) {
    const { strange = [Number.NaN, Infinity, -0], windows = [...Object.keys(world.tables).keys()], counts = true, onDone = () => {} } = options;
    this.#world = world;
    this.#values = new Values(random, world.spec, strange);
    this.#calls = new Calls(random, world, this.#values, windows);
    this.text = textOf(random, world);
    this.#build = build;
    this.#counts = counts;
    this.#onDone = onDone;
    this.#embed = new Embed(build);
  }

  /** Creates both Replays. Returns false if both sides reject the world. @throws Error if only one side rejects it, or if the codes of the errors differ */
  begin(): boolean {
    const ours = refusalOf(() => {
      this.#api = new Api(this.#world, this.#values);
    });
    const theirs = refusalOf(() => void this.#embed.create(this.text));
    this.#same("create", ours, theirs);
    if (ours === undefined) this.#compareLeaves();
    return ours === undefined;
  }

  /** Makes a random call that appends steps. */
  append(): void {
    this.#play(this.#calls.append());
  }

  /** Makes a random call. */
  play(): void {
    this.#play(this.#calls.any());
  }

  /** Each side opens the snapshot of the other side and continues with it. */
  exchange(): void {
    const [ours, theirs] = this.#compareSnapshots();
    const views = this.#views();
    this.#embed = new Embed(this.#build).load(ours, views);
    this.#api.restore(theirs);
    // The restored Replay has the same snapshot.
    equal(Buffer.compare(this.#embed.snapshot(), theirs), 0);
    this.#onDone({ operation: reload(views), result: 0, bytes: [] });
  }

  /** Loads a snapshot without writers into embed.wasm, with lines of writers after it. This is not an operation: other hosts cannot make such a snapshot. */
  closeAndGoOn(): void {
    this.#api.closeWriters();
    const ours = this.#api.snapshot();
    this.#embed = new Embed(this.#build).load(ours, [...writersText(this.#world), this.#views()].join("\n"));
    this.#api.openWriters();
    this.#compareSnapshots();
  }

  /** Compares the counters of all tables, and reports the counters of `table` as an operation. */
  stats(table: number): void {
    const numbers = this.#compareStats()[table] as number[];
    this.#onDone({ operation: statsOf(table), result: 0, bytes: [bytesIn(Float64Array.from(numbers))] });
  }

  #play(call: Parameters<typeof operationOf>[0]): void {
    const operation = operationOf(call, (steps) => this.#packed(steps));
    let [given, told] = [0, 0];
    const ours = refusalOf(() => {
      given = this.#api.play(call);
    });
    const theirs = refusalOf(() => {
      told = this.#embed.play(operation);
    });
    this.#same(call.call, ours, theirs);
    let bytes: readonly Uint8Array[] = [];
    if (ours !== undefined) this.refused++;
    else {
      if (!this.#mayAdmit(call.call)) equal(told, given, `${call.call} gives`);
      if (call.call === "sample") bytes = this.#compareBatch(call.view);
    }
    this.#onDone({ operation, result: ours?.code ?? given, bytes });
    if (this.#counts) this.#compareStats();
  }

  /**
   * Returns whether a call may evict items to keep the stored bytes within their limit. Evictions can admit waiting items, so the number of waiting items that
   * TypeScript returns may differ from the result of the call.
   */
  #mayAdmit(call: Call["call"]): boolean {
    return (call === "append" || call === "end") && this.#world.storedBytes?.evictFrom !== undefined;
  }

  #same(what: string, ours: ReturnType<typeof refusalOf>, theirs: ReturnType<typeof refusalOf>): void {
    if (ours?.code === theirs?.code) return;
    throw new Error(`${what}: TypeScript says ${ours?.error.stack ?? "yes"}, embed says ${theirs?.error.message ?? "yes"}\n${this.text}`);
  }

  #packed(steps: readonly Step[]): Uint8Array {
    return this.#embed.pack(this.#values.bytes(steps));
  }

  /** Returns the lines of the views, which snapshots do not contain. */
  #views(): string {
    return this.#world.views.map(viewLine).join("\n");
  }

  /** Checks that both snapshots have the same sections, with equal contents except in the sections of kinds 32 (HEAD) and 33 (WRITERS). */
  #compareSnapshots(): [ours: Uint8Array, theirs: Uint8Array] {
    const [ours, theirs] = [this.#api.snapshot(), this.#embed.snapshot()];
    const [a, b] = [sectionsIn(ours), sectionsIn(theirs)];
    deepEqual([...b.keys()], [...a.keys()]);
    for (const [name, payload] of a)
      if (!/^3[23]\./.test(name) && Buffer.compare(payload, b.get(name) as Uint8Array) !== 0) throw new Error(`section ${name} differs\n${this.text}`);
    return [ours, theirs];
  }

  /** Compares the order, dtypes and shapes of the leaves. */
  #compareLeaves(): void {
    const told = this.#embed.columns(-1).columns.map(({ name, dtype, maxBytes, shape }) => ({ name, dtype, maxBytes, shape }));
    deepEqual(told, leafColumns(this.#values.leaves));
  }

  /** Compares the counters of all tables. Returns the counters that TypeScript reports for each table. */
  #compareStats(): number[][] {
    const all = this.#api.stats();
    for (const [table, given] of all.entries()) {
      const told = this.#embed.stats(table).slice(0, 12);
      if (told.join() !== given.join()) throw new Error(`stats of table ${table}: TypeScript ${given}, embed ${told}\n${this.text}`);
    }
    return all;
  }

  /** Compares the last batch of both sides. Returns the columns of the TypeScript batch in the order of embed.wasm. */
  #compareBatch(view: number): Uint8Array[] {
    const told = this.#embed.columns(view);
    const { keys } = this.#api;
    equal(told.entries, keys.length);
    if (told.entries > 0) this.batches++;
    if (this.#world.views[view]?.transitions === undefined) equal([undefined, "minSize", "samplesPerInsert", "items"][told.blocked], this.#api.blocked);
    this.#calls.drew(view, Array.from(keys.subarray(0, 20)));
    const ours = this.#api.columns(view);
    const differs = difference(told, ours, this.#embed.u8);
    if (differs !== undefined) throw new Error(`batch of view ${view}: ${differs}\n${this.text}`);
    return told.columns.map((column) => bytesOf(column, ours, told.entries).slice());
  }
}
