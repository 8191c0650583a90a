/** What observers ask of a client. */
import { mustBe } from "../../base/error.ts";
import type { Spec } from "../../schema/spec.ts";
import type { ItemRule } from "../../tables/rules.ts";
import type { StepWriter } from "../../tables/step-sink.ts";
import type { Signature } from "../signature.ts";

/** The answer, or a promise of it where it comes from elsewhere, or has to wait. */
export type Awaitable<T> = T | Promise<T>;

export interface StepWriterOptions {
  /** Steps that an item may have. */
  readonly keep: number;
  readonly items?: readonly ItemRule[];
  /** As of `replay.writer`: of tables in this process. */
  readonly name?: string;
}

/** What observers ask of a client: writers across a port have no more. */
export interface StepClient<S extends Spec = Spec> {
  /** What one step is. */
  readonly spec: S;
  /** Whether there is such a table; undefined where only a server could tell. */
  knows(table: string): boolean | undefined;
  signature(table: string): Awaitable<Signature>;
  writer(options: StepWriterOptions): StepWriter<S>;
}

/** The names of one table or several, each of which the client may know. @throws TypeError · ReplayError NOT_FOUND */
export function tableNames(client: Pick<StepClient, "knows">, tableName: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(tableName) ? tableName : [tableName];
  for (const name of names) {
    if (typeof name !== "string") throw mustBe(TypeError, "tableName", "the name of a table, or an array of them", name);
    if (client.knows(name) === false) throw mustBe("NOT_FOUND", "tableName", "a table that the client has", name);
  }
  return names as readonly string[];
}

/** @throws TypeError */
export function mustBeTableName(table: unknown, subject = "table"): void {
  if (typeof table !== "string") throw mustBe(TypeError, subject, "the name of a table", table);
}
