/** What observers and buffers speak to: the tables of this process today, of a server as well once there is one. */
import { mustBe } from "../../error.ts";
import type { Replay } from "../../replay.ts";
import type { RowLeaf } from "../../spec/leaf.ts";
import type { Nest } from "../../spec/nest.ts";
import type { Spec, StepOf } from "../../spec/spec.ts";
import type { Table } from "../../table.ts";
import type { WaitOptions } from "../../wait.ts";
import type { ItemOptions, ItemRule } from "../../writer.ts";

export type Awaitable<T> = T | Promise<T>;

/** What the items of a table look like: the steps' leaves, each with a first dimension of any length (null). */
export type Signature = Nest<LeafSignature>;
export interface LeafSignature {
  readonly dtype: RowLeaf["dtype"];
  readonly shape: readonly (number | null)[];
}

/** Takes the steps of one environment. What must wait for a rate limiter gives a promise, all else nothing. */
export interface StepWriter<S extends Spec = Spec> {
  append(step: StepOf<S>): void;
  createItem(table: string, options: Pick<ItemOptions, "length" | "priority">): Promise<void> | undefined;
  endEpisode(): void;
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

/** A Replay stands for its own tables, wherever a client is asked for. */
export type ClientLike<S extends Spec = Spec, N extends string = string> = Client<S> | Replay<S, N>;
