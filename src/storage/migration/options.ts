/** Defines the options of a migration to the next version of a program. */
import { integer, mustBe, mustBeOneOf, onlyKeys } from "../../base/error.ts";
import type { OwnStepOf, Spec } from "../../schema/spec.ts";
import { copySpec } from "../../schema/spec.ts";
import { type ResolvedTableOptions, resolveTable, type TableOptions } from "../../schema/table-options.ts";
import type { TransitionRoles } from "../../schema/transition-roles.ts";
import type { Renames } from "./leaf-names.ts";

// biome-ignore lint/suspicious/noExplicitAny: the type of saved steps is known only at run time
export type AnyStep = any;

export interface StateMigration<S extends Spec = Spec> {
  /** The spec of the new steps. Default: the spec of the snapshot. */
  readonly spec?: S;
  /**
   * The new paths of leaves, by old path. They apply to steps before `migrate` receives them, and to the rules of writers, the columns of items, and
   * `transition`.
   */
  readonly rename?: Renames;
  /**
   * Returns the new step for an old step. Default: the old step itself, with its numbers cast to the new dtypes. The function neither receives nor returns
   * leaves that are `shared` or `packed`. These leaves do not change.
   */
  readonly migrate?: (step: AnyStep) => OwnStepOf<S>;
  /** The changed options of tables, by table name. Default: the options of the snapshot. */
  readonly tables?: { readonly [name: string]: Partial<TableOptions> };
  /** Maps leaves to their roles in a transition. Default: the roles of the snapshot. */
  readonly transition?: TransitionRoles;
  /** The memory limit of the Replay. Default: the limit of the snapshot. */
  readonly maxBytes?: number;
}

/** The effects of a migration. The report is complete when all output of the migration has been read. */
export interface MigrationReport {
  /** The number of steps written, including final observations. */
  readonly steps: number;
  /** The number of items removed from each table because its new limits have no room for them, or because they have reached `maxTimesSampled`. */
  readonly removed: { readonly [table: string]: number };
  /** The names of the tables whose items have new keys, because the new `maxSize` or `maxPending` does not permit the old keys. */
  readonly newKeys: readonly string[];
}

export interface ResolvedMigration extends Omit<StateMigration, "migrate" | "spec" | "rename" | "tables"> {
  readonly spec: Spec | undefined;
  readonly rename: Renames;
  readonly migrate: ((step: AnyStep) => unknown) | undefined;
  readonly tables: { readonly [name: string]: Partial<TableOptions> };
}

export const MIGRATION_OPTIONS = "spec, rename, migrate, tables, transition, maxBytes";

/** Returns a checked copy of the options. @throws TypeError, RangeError if an option is invalid */
export function resolveMigration({ spec, rename = {}, migrate, tables = {}, transition, maxBytes }: StateMigration): ResolvedMigration {
  if (migrate !== undefined && typeof migrate !== "function") throw mustBe(TypeError, "migrate", "a function that maps an old step to a new one", migrate);
  for (const [name, value] of Object.entries({ rename, tables, transition: transition ?? {} }))
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw mustBe(TypeError, name, "an object", value);
  if (maxBytes !== undefined) integer("maxBytes", maxBytes, 1);
  return {
    spec: spec === undefined ? undefined : copySpec(spec),
    rename: { ...rename },
    migrate,
    tables,
    ...(transition !== undefined && { transition: { ...transition } }),
    ...(maxBytes !== undefined && { maxBytes }),
  };
}

/** Returns the options of all tables with changes. @throws ReplayError NOT_FOUND if a table does not exist · TypeError, RangeError if an option is invalid */
export function changedTables(
  tables: { readonly [name: string]: object },
  changes: { readonly [name: string]: Partial<TableOptions> },
): { readonly [name: string]: ResolvedTableOptions } {
  const unknown = Object.keys(changes).find((name) => !Object.hasOwn(tables, name));
  if (unknown !== undefined) throw mustBeOneOf("NOT_FOUND", "each name in tables", Object.keys(tables), unknown);
  return Object.fromEntries(
    Object.entries(tables).map(([name, saved]) => {
      if (!Object.hasOwn(changes, name)) return [name, saved as ResolvedTableOptions];
      const change = Object.entries(onlyKeys(`tables.${name}`, changes[name] as object, TABLE_OPTIONS)).filter(([, value]) => value !== undefined);
      return [name, resolveTable(name, { ...(saved as ResolvedTableOptions), ...Object.fromEntries(change) })];
    }),
  );
}

const TABLE_OPTIONS = "maxSize, sampler, remover, rateLimiter, maxTimesSampled, maxSteps, maxPending";
