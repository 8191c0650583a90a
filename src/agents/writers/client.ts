/** What observers and buffers speak to: the tables of this process today, of a server as well once there is one. */
import { mustBe } from "../../error.ts";
import type { RemoteWriter } from "../../remote/writer.ts";
import type { Replay } from "../../replay.ts";
import type { ItemOptions, ItemRule } from "../../rules.ts";
import { leafText, type RowLeaf, shapeOf } from "../../spec/leaf.ts";
import { leaves, map, type Nest } from "../../spec/nest.ts";
import type { Spec, StepOf } from "../../spec/spec.ts";
import type { Table } from "../../table.ts";
import type { WaitOptions } from "../../wait.ts";

export type Awaitable<T> = T | Promise<T>;

/** What the items of a table look like: the steps' leaves, each with a first dimension of any length (null). */
export type Signature = Nest<LeafSignature>;
export interface LeafSignature {
  readonly dtype: RowLeaf["dtype"];
  readonly shape: readonly (number | null)[];
}

/** Takes the steps of one environment. What must wait for a rate limiter gives a promise, all else nothing. */
export interface StepWriter<S extends Spec = Spec> {
  /** A promise where steps are taken elsewhere, and too many are on their way. */
  append(step: StepOf<S>): unknown;
  createItem(table: string, options: Pick<ItemOptions, "length" | "priority">): Promise<void> | undefined;
  endEpisode(): unknown;
  flush(options?: WaitOptions): Promise<void> | undefined;
  close(): void;
}

export interface StepWriterOptions {
  /** Steps that an item may have. */
  readonly keep: number;
  readonly items?: readonly ItemRule[];
}

export interface Client<S extends Spec = Spec> {
  /** What one step is. */
  readonly spec: S;
  /** Whether there is such a table; undefined where only a server could tell. */
  knows(table: string): boolean | undefined;
  signature(table: string): Awaitable<Signature>;
  writer(options: StepWriterOptions): StepWriter<S>;
}

/** A client whose tables are in this process: they answer at once. */
export interface TableClient<S extends Spec = Spec> extends Client<S> {
  /** @throws ReplayError NOT_FOUND */
  table(name: string): Table<S>;
}

/** The names of one table or several, each of which the client may know. @throws TypeError · ReplayError NOT_FOUND */
export function tableNames(client: Pick<Client, "knows">, tableName: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(tableName) ? tableName : [tableName];
  for (const name of names) {
    if (typeof name !== "string") throw mustBe(TypeError, "tableName", "the name of a table, or an array of them", name);
    if (client.knows(name) === false) throw mustBe("NOT_FOUND", "tableName", "a table that the client has", name);
  }
  return names as readonly string[];
}

/** Wherever a client is asked for, a Replay stands for its own tables, and a writer across a port for those at the other end. */
export type ClientLike<S extends Spec = Spec, N extends string = string> = Client<S> | Replay<S, N> | RemoteWriter<S>;

/** A column of an item to be. */
interface Shaped {
  readonly dtype: RowLeaf["dtype"];
  readonly shape: readonly number[];
}

/** The signature of whole items: the steps' leaves, each with a first dimension of any length. */
export function signatureOf(spec: Spec): Signature {
  return map(spec, (leaf): LeafSignature => ({ dtype: leaf.dtype, shape: [null, ...shapeOf(leaf)] }));
}

/** @throws ReplayError SPEC_MISMATCH where there is a signature, and columns are more or fewer than the signature's, or one differs; their names do not count */
export function mustFit(table: string, signature: Signature | undefined, columns: readonly Shaped[]): void {
  if (signature === undefined) return;
  const wanted = leaves(signature);
  const subject = `an item of table ${table}`;
  if (columns.length !== wanted.length) throw mustBe("SPEC_MISMATCH", subject, `an object with ${wanted.length} columns, like the table's signature`, columns);
  wanted.forEach(({ keys, leaf: { dtype, shape } }, i) => {
    const column = columns[i] as Shaped;
    const same = column.dtype === dtype && column.shape.length === shape.length && shape.every((n, k) => n === null || n === column.shape[k]);
    if (same) return;
    const sizes = shape.map((n) => n ?? "any");
    const rule = `as ${keys.join(".") || "the only one"} of its signature, ${leafText(dtype, sizes)}`;
    throw mustBe("SPEC_MISMATCH", `column ${i} of ${subject}`, rule, leafText(column.dtype, column.shape));
  });
}
