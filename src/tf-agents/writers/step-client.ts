/** Defines the part of a client that observers use. */
import { mustBe } from "../../base/error.ts";
import type { Spec } from "../../schema/spec.ts";
import type { ItemRule } from "../../tables/rules.ts";
import type { StepWriter } from "../../tables/step-sink.ts";
import type { Signature } from "../signature.ts";

/** A value, or a promise of the value if it comes from another process or has to wait. */
export type Awaitable<T> = T | Promise<T>;

export interface StepWriterOptions {
  /** The maximum number of steps in an item. */
  readonly keep: number;
  readonly items?: readonly ItemRule[];
  /** The name of the writer, as in `replay.writer`. Only for tables in this process. */
  readonly name?: string;
}

/** The part of a client that observers use. Clients of remote writers have only these members. */
export interface StepClient<S extends Spec = Spec> {
  /** The spec of one step. */
  readonly spec: S;
  /** Returns whether the table exists. Returns undefined if only a server can tell. */
  knows(table: string): boolean | undefined;
  signature(table: string): Awaitable<Signature>;
  writer(options: StepWriterOptions): StepWriter<S>;
}

/**
 * Returns the names of one or more tables, after checking whether the tables exist, as far as the client can tell. @throws TypeError if a name is not a string
 * · ReplayError NOT_FOUND if a table certainly does not exist
 */
export function tableNames(client: Pick<StepClient, "knows">, tableName: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(tableName) ? tableName : [tableName];
  for (const name of names) {
    if (typeof name !== "string") throw mustBe(TypeError, "tableName", "a table name, or an array of table names", name);
    if (client.knows(name) === false) throw mustBe("NOT_FOUND", "tableName", "the name of a table of the client", name);
  }
  return names as readonly string[];
}

/** Checks that a table name is a string. @throws TypeError if it is not */
export function mustBeTableName(table: unknown, subject = "table"): void {
  if (typeof table !== "string") throw mustBe(TypeError, subject, "the name of a table", table);
}
