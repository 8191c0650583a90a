/** The same calls on the public TypeScript API and on embed.wasm alone; what they give, what they count and what they refuse must be the same. */
import { expect } from "vitest";
import { COUNTERS } from "../../src/core/abi.ts";
import { type Batch, type Column, Replay, ReplayError } from "../../src/index.ts";
import { DTYPES } from "../../src/spec/dtype.ts";
import type { RowLeaf } from "../../src/spec/leaf.ts";
import { pack, valueAt } from "../../src/spec/nest.ts";
import { type FoundLeaf, leavesOf, type Spec } from "../../src/spec/spec.ts";
import type { Table } from "../../src/table.ts";
import type { AnyTransitions } from "../../src/transitions/filler.ts";
import type { Writer } from "../../src/writer.ts";
import type { TestRandom } from "../support/random.ts";
import { type Build, Embed, EmbedError, type ToldColumn, textBytes } from "./host.ts";
import { textOf, viewLine, type World } from "./world.ts";

/** A leaf's value: for TypeScript, and as bytes. */
interface Value {
  readonly given: ArrayLike<unknown>;
  readonly bytes: Uint8Array;
}
type Step = readonly Value[];

const TEXTS = ["", "a", "né", "long text", "\u{1f600}", "abcdefgh", "\uffee", "x".repeat(200)];
const bytesIn = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function join(runs: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(runs));
}

function randomNumber(random: TestRandom, dtype: Exclude<RowLeaf["dtype"], "string">): number | bigint {
  const { min, max, big, float } = DTYPES[dtype];
  if (float) return random.below(400) === 0 ? random.pick([Number.NaN, Infinity, -0]) : random.pick([0, 1, -2.5, random.next() * 100]);
  if (dtype === "bool") return random.below(2);
  const small = random.below(4);
  if (random.below(3) > 0) return big ? BigInt(small) : small;
  return random.pick([min, max]);
}

function randomValue(random: TestRandom, { leaf, size }: FoundLeaf): Value {
  if (leaf.dtype === "string") {
    const { maxBytes } = leaf;
    const fits = TEXTS.filter((text) => Buffer.byteLength(text) <= maxBytes || random.below(400) === 0);
    const texts = Array.from({ length: size }, () => random.pick(fits));
    return { given: texts, bytes: join(texts.map((text) => tooLong(text, maxBytes) ?? textBytes(text, maxBytes))) };
  }
  const { dtype } = leaf;
  const array = new DTYPES[dtype].array(size) as Float64Array;
  // Long ones are mostly alike.
  if (random.below(4) > 0) for (let i = 0; i < size; i++) array[i] = randomNumber(random, dtype) as number;
  if (dtype === "bool" && random.below(400) === 0) array[0] = 2;
  return { given: array, bytes: bytesIn(array) };
}

/** A length that no text has there, and zeros. */
function tooLong(text: string, maxBytes: number): Uint8Array | undefined {
  if (Buffer.byteLength(text) <= maxBytes) return undefined;
  const bytes = textBytes("", maxBytes);
  new DataView(bytes.buffer).setUint32(0, Buffer.byteLength(text), true);
  return bytes;
}

/** What a call refused; undefined where it did not. */
function refusedBy(call: () => void): Error | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (error instanceof EmbedError || error instanceof ReplayError || error instanceof TypeError || error instanceof RangeError) return error;
    throw error;
  }
}

/** Sections of a snapshot, by kind, id, and how many of these came before. */
function sectionsIn(bytes: Uint8Array): Map<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 8; at < bytes.length; at += 16 + view.getUint32(at + 8, true))
    found.set(`${view.getUint32(at, true)}.${view.getUint32(at + 4, true)}.${found.size}`, bytes.subarray(at + 16, at + 16 + view.getUint32(at + 8, true)));
  return found;
}

/** The call before which each opens the other's snapshot. */
const EXCHANGE = 30;

export class Twin {
  readonly #random: TestRandom;
  readonly #world: World;
  readonly #leaves: readonly FoundLeaf[];
  readonly #text: string;
  readonly #build: Build;
  #embed: Embed;
  #replay!: Replay;
  #writers: Writer[] = [];
  #views: ((n: number, beta: number) => unknown)[] = [];
  /** Keys of what was drawn. */
  #keys: number[] = [0];
  /** Calls that were refused, and batches with something in them. */
  refused = 0;
  batches = 0;

  constructor(random: TestRandom, world: World, build: Build) {
    this.#random = random;
    this.#world = world;
    this.#leaves = leavesOf(world.spec);
    this.#text = textOf(random, world);
    this.#build = build;
    this.#embed = new Embed(build);
  }

  /** Makes both; whether they are there. */
  begin(): boolean {
    return this.#both(
      "create",
      () => this.#make(),
      () => void this.#embed.create(this.#text),
    );
  }

  /** The i-th call. */
  play(i: number): void {
    const random = this.#random;
    if (i === EXCHANGE) this.#exchange();
    // There is something to draw first.
    const kind = i < 6 ? 0 : random.below(12);
    if (kind < 4) this.#append();
    else if (kind === 4) this.#end();
    else if (kind === 5) this.#item();
    else if (kind < 10) this.#sample();
    else if (kind === 10) this.#update();
    else this.#delete();
    this.#compareStats();
  }

  #make(): void {
    const { spec, roles, tables, writers, seed } = this.#world;
    this.#replay = new Replay({ spec, tables, seed, transition: roles, logger: null } as object as ConstructorParameters<typeof Replay>[0]);
    this.#writers = writers.map((options) => this.#replay.writer(options as object) as unknown as Writer);
    this.#look();
  }

  #look(): void {
    this.#views = this.#world.views.map(({ table, transitions, sample, weights }) => {
      const from = this.#replay.table(table) as Table;
      const weighed = (beta: number) => ({ ...sample, ...(weights && { beta }) });
      if (transitions === undefined) {
        // What no draw of the table takes is refused at once there.
        if (weights === "table" && from.options.sampler.kind === "prioritized" && !from.options.sampler.withMin) throw new RangeError("normalize");
        return (n, beta) => from.sample(n, weighed(beta) as object);
      }
      const view = from.transitions(transitions as never);
      if (weights === "table" && from.options.sampler.kind === "prioritized" && !from.options.sampler.withMin) throw new RangeError("normalize");
      return (n, beta) => view.sample(n, weighed(beta) as object);
    });
  }

  /** Each opens the other's snapshot, and both go on with that. The records in both are the same bytes. */
  #exchange(): void {
    const ours = new Uint8Array(Buffer.concat([...this.#replay.snapshot()]));
    const theirs = this.#embed.snapshot();
    const [a, b] = [sectionsIn(ours), sectionsIn(theirs)];
    expect([...b.keys()]).toEqual([...a.keys()]);
    for (const [name, payload] of a)
      if (!/^3[23]\./.test(name) && Buffer.compare(payload, b.get(name) as Uint8Array) !== 0) throw new Error(`section ${name} differs\n${this.#text}`);
    this.#embed = new Embed(this.#build).load(ours, this.#world.views.map(viewLine).join("\n"));
    this.#replay = Replay.restore(theirs, { logger: null });
    this.#writers = [...this.#replay.writers] as Writer[];
    this.#look();
    // What was restored says the same of itself.
    expect(Buffer.compare(this.#embed.snapshot(), theirs)).toBe(0);
  }

  /** The same on both sides; whether it was done. */
  #both(what: string, ours: () => void, theirs: () => void): boolean {
    const [a, b] = [refusedBy(ours), refusedBy(theirs)];
    if ((a === undefined) !== (b === undefined))
      throw new Error(`${what}: TypeScript says ${a?.stack ?? "yes"}, embed says ${b?.message ?? "yes"}\n${this.#text}`);
    if (a !== undefined) this.refused++;
    return a === undefined;
  }

  #steps(n: number): Step[] {
    return Array.from({ length: n }, () => this.#leaves.map((leaf) => randomValue(this.#random, leaf)));
  }

  /** Steps as columns, nested as the spec; or with a single step without a dimension of time. */
  #columns(steps: readonly Step[], single = false): unknown {
    const columns = this.#leaves.map(({ leaf, shape }, i) => {
      if (single && shape.length === 0) return ((steps[0] as Step)[i] as Value).given[0];
      const all = steps.flatMap((step) => Array.from((step[i] as Value).given as unknown[]));
      if (leaf.dtype === "string") return all;
      return (DTYPES[leaf.dtype].array as unknown as { from(values: unknown[]): unknown }).from(all);
    });
    return pack(this.#world.spec, columns);
  }

  /** Packed steps. */
  #packed(steps: readonly Step[]): Uint8Array {
    return this.#embed.pack(steps.map((step) => new Map(this.#leaves.map(({ path }, i) => [path, (step[i] as Value).bytes]))));
  }

  /** Whether some episode ends without a final step now: with rules of nStep that is refused. */
  #endsPlainly(writer: number): boolean {
    const { items } = this.#world.writers[writer] as World["writers"][number];
    return this.#random.below(items.some(({ nStep }) => nStep !== undefined) ? 12 : 2) === 0;
  }

  #append(): void {
    const random = this.#random;
    const number = random.below(this.#writers.length);
    const writer = this.#writers[number] as Writer;
    const { lanes } = this.#world.writers[number] as { lanes: number };
    const one = random.below(3) === 0;
    const n = one ? lanes : lanes * (1 + random.below(9));
    const steps = this.#steps(n);
    const embed = this.#embed;
    if (one) {
      this.#both(
        "append",
        () => writer.append(this.#columns(steps, lanes === 1) as never),
        () => {
          const [at = 0] = embed.give(this.#packed(steps));
          embed.did(embed.x.replay_append(embed.handle, number, at, n, 0, 0));
        },
      );
      return;
    }
    const plainly = this.#endsPlainly(number);
    const how = Uint8Array.from({ length: n }, () => (random.below(6) > 0 ? 0 : plainly ? 1 + random.below(3) : 2 + random.below(2)));
    const ended = how.filter((end) => end > 1).length;
    const finals = ended > 0 && random.below(5) > 0 ? this.#steps(ended) : undefined;
    const flags = (...of: number[]) => Array.from(how, (end) => Number(of.includes(end)));
    const options = {
      ...(how.some((end) => end > 0) && { terminated: flags(3), truncated: flags(2) }),
      ...(how.includes(1) && { ends: flags(1) }),
      ...(finals && { final: this.#columns(finals) }),
    };
    this.#both(
      "append of columns",
      () => void writer.appendColumns(this.#columns(steps) as never, options as object),
      () => {
        const runs = [this.#packed(steps), how, finals ? this.#packed(finals) : new Uint8Array(0)];
        const [at = 0, ends = 0, behind = 0] = embed.give(...runs);
        embed.did(embed.x.replay_append(embed.handle, number, at, n, how.some((end) => end > 0) ? ends : 0, finals ? behind : 0));
      },
    );
  }

  #end(): void {
    const random = this.#random;
    const number = random.below(this.#writers.length);
    const { lanes } = this.#world.writers[number] as { lanes: number };
    const lane = random.below(lanes + Number(random.below(20) === 0));
    const how = this.#endsPlainly(number) ? 1 : 2 + random.below(2);
    const final = how === 1 || (how === 3 && random.below(3) === 0) ? undefined : this.#steps(1);
    const options = { lane, ...(how > 1 && { terminated: how === 3 }), ...(final && { final: this.#columns(final, true) }) };
    const embed = this.#embed;
    this.#both(
      "end of an episode",
      () => (this.#writers[number] as Writer).endEpisode(options as object),
      () => {
        const [at = 0] = embed.give(final ? this.#packed(final) : new Uint8Array(1));
        embed.did(embed.x.replay_end(embed.handle, number, lane, how, final ? at : 0));
      },
    );
  }

  #item(): void {
    const random = this.#random;
    const number = random.below(this.#writers.length);
    const { lanes } = this.#world.writers[number] as { lanes: number };
    const tables = Object.keys(this.#world.tables);
    const table = random.below(tables.length);
    const [lane, length] = [random.below(lanes), random.below(7)];
    const priority = random.pick([0, 1, 1.5, random.next(), -1, Number.NaN]);
    const embed = this.#embed;
    this.#both(
      "createItem",
      () => void (this.#writers[number] as Writer).createItem(tables[table] as string, { lane, length, priority })?.catch(() => {}),
      () => void embed.did(embed.x.replay_item(embed.handle, number, lane, table, length, priority)),
    );
  }

  #sample(): void {
    const random = this.#random;
    const view = random.below(this.#views.length);
    const n = random.pick([1, 2, 5, 9, 30, 0]);
    const beta = random.pick([0, 0.4, 1, -1, Infinity]);
    let batch: unknown;
    const embed = this.#embed;
    const done = this.#both(
      "sample",
      () => {
        batch = (this.#views[view] as (n: number, beta: number) => unknown)(n, beta);
      },
      () => void embed.did(embed.x.replay_sample(embed.handle, view, n, beta)),
    );
    if (done) this.#compareBatch(view, batch as Batch & AnyTransitions);
  }

  #update(): void {
    const random = this.#random;
    const tables = Object.keys(this.#world.tables);
    const table = random.below(tables.length);
    const keys = Float64Array.from({ length: 1 + random.below(6) }, () => random.pick(this.#keys));
    const priorities = Float64Array.from(keys, () => (random.below(40) === 0 ? -1 : random.pick([0, 1, 7, random.next() * 5])));
    const embed = this.#embed;
    let found = 0;
    const done = this.#both(
      "updatePriorities",
      () => {
        found = this.#replay.table(tables[table] as string).updatePriorities(keys, priorities);
      },
      () => {
        const [at = 0, behind = 0] = embed.give(bytesIn(keys), bytesIn(priorities));
        expect(embed.did(embed.x.replay_update(embed.handle, table, at, behind, keys.length))).toBe(found);
      },
    );
    expect(done).toBe(!priorities.includes(-1));
  }

  #delete(): void {
    const random = this.#random;
    const tables = Object.keys(this.#world.tables);
    const table = random.below(tables.length);
    const keys = Float64Array.from({ length: 1 + random.below(2) }, () => random.pick(this.#keys));
    const found = this.#replay.table(tables[table] as string).delete(keys);
    const [at = 0] = this.#embed.give(bytesIn(keys));
    expect(this.#embed.x.replay_delete(this.#embed.handle, table, at, keys.length)).toBe(found);
  }

  #compareStats(): void {
    const { steps, tables } = this.#replay.stats();
    Object.entries(tables).forEach(([name, stats], i) => {
      const told = this.#embed.stats(i);
      const wanted = [...COUNTERS.map((counter) => stats[counter]), (this.#writers[0] as Writer).lastKey(name), steps];
      if (told.slice(0, 12).join() !== wanted.join()) throw new Error(`stats of ${name}: TypeScript ${wanted}, embed ${told}\n${this.#text}`);
    });
  }

  #compareBatch(view: number, batch: Batch & AnyTransitions): void {
    const told = this.#embed.columns(view);
    const { transitions } = this.#world.views[view] as World["views"][number];
    expect(told.entries).toBe(batch.count);
    if (batch.count > 0) this.batches++;
    const blocked = ["", "minSize", "samplesPerInsert", "items"];
    if (transitions === undefined) expect(blocked[told.blocked]).toBe(batch.blocked?.by ?? "");
    for (const column of told.columns) {
      const data = transitions === undefined ? this.#itemData(batch, column) : this.#transitionData(batch, column.name);
      if (data === undefined) throw new Error(`TypeScript has no column ${column.name}`);
      this.#compareColumn(column, data, batch.count, view);
    }
    const { keys } = transitions === undefined ? batch.info : batch;
    this.#keys = [0, 3.5, ...(keys as Float64Array).slice(0, 20)];
  }

  #itemData(batch: Batch, { name, drawn }: ToldColumn): ArrayLike<unknown> | undefined {
    if (drawn)
      return name === "lengths" ? batch.lengths : name === "mask" ? batch.mask : (batch.info as unknown as { [name: string]: ArrayLike<unknown> })[name];
    const { keys } = this.#leaves.find(({ path }) => path === name) as FoundLeaf;
    return (valueAt(batch.steps, keys) as Column | undefined)?.data;
  }

  #transitionData(batch: AnyTransitions, name: string): ArrayLike<unknown> | undefined {
    const found = valueAt(batch, name.split("."));
    return ArrayBuffer.isView(found) ? (found as Float64Array) : (found as Column | undefined)?.data;
  }

  #compareColumn(column: ToldColumn, data: ArrayLike<unknown>, count: number, view: number): void {
    const bytes = column.bytes * count;
    const told = this.#embed.u8.subarray(column.at, column.at + bytes);
    const all = Array.isArray(data)
      ? join(data.slice(0, bytes / textBytes("", column.maxBytes).length).map((text) => textBytes(text as string, column.maxBytes)))
      : bytesIn(data as Float64Array).subarray(0, bytes);
    if (Buffer.compare(told, all) === 0) return;
    throw new Error(
      `column ${column.name} of view ${view}: TypeScript ${Buffer.from(all).toString("hex")}, embed ${Buffer.from(told).toString("hex")}\n${this.#text}`,
    );
  }
}

export type { Spec };
