/** Defines the options of a Replay, checked and with their defaults. */

import { checkSeed, finite, integer, mustBe, mustBeOneOf, onlyKeys } from "../base/error.ts";
import { MAX_REPLAY_BYTES } from "../base/limits.ts";
import type { Logger } from "../base/warnings.ts";
import { copySpec, type Spec } from "../schema/spec.ts";
import { type ResolvedTableOptions, resolveTable, type TableOptions } from "../schema/table-options.ts";
import type { TransitionRoles } from "../schema/transition-roles.ts";
import type { SavedOptions } from "../storage/replay-state.ts";

/** The type of an unknown spec. With it, the type `Replay` accepts every Replay. */
// biome-ignore lint/suspicious/noExplicitAny: only any is assignable in both directions
export type Any = any;

/** The type of the option `transition`. It is not `any`, so that an editor can complete the names of roles. */
type RolesOption<R> = 0 extends 1 & R ? TransitionRoles : R;

export interface ReplayOptions<S extends Spec = Any, TableName extends string = string, R extends TransitionRoles = Any> {
  /** The spec of a step: a leaf, or leaves nested in objects and arrays. */
  readonly spec: S;
  /** The tables by name. Default: none, so that only the windows of writers contain steps. */
  readonly tables?: { readonly [K in TableName]: TableOptions };
  /** The maximum memory in bytes. Default and upper limit: 4 GiB. */
  readonly maxBytes?: number;
  /**
   * The limit on the bytes of stored steps, including their frames (`stats().bytes.stored`). It is useful for packed frames, whose size depends on their
   * content. After each call that appends, the table `evictFrom` evicts items with its remover until the bytes are within `max` or the table is empty. Steps
   * that writers or other tables still use are kept. A block of columns is checked about once per thousand steps. If the table is empty, an `append` beyond
   * `max` throws OUT_OF_MEMORY and changes nothing. Default: none, so that only `maxBytes` limits the bytes.
   */
  readonly storedBytes?: StoredBytesOptions<NoInfer<TableName>>;
  /**
   * The seed of all random draws: a whole number from 0 to 2^53 - 1, or a bigint below 2^64. The same seed and calls produce the same bytes. Default: 0, so two
   * Replays without a seed make the same draws.
   */
  readonly seed?: number | bigint;
  /** Maps leaves to their roles in a transition, for `nStep` rules and transition views. Default: the leaves with the roles' own names. */
  readonly transition?: RolesOption<R>;
  /**
   * Another build of the core, such as `reprise/core.wasm` if the host forbids compiling. The whole package then uses this build. Default: the core of the
   * package.
   */
  readonly module?: WebAssembly.Module;
  /**
   * Receives each kind of warning once, but `ignoredPriorities` once per table; `stats().warnings` counts all of them. Pass a function, an object with a method
   * `warn`, or null to silence warnings. Snapshots do not contain the logger. Default: `console.warn`.
   */
  readonly logger?: Logger | null;
}

export interface StoredBytesOptions<TableName extends string = string> {
  /** The maximum number of bytes. It must be at least the size of one step with incompressible frames. */
  readonly max: number;
  /** The table that evicts items. Default: no table, so that `append` throws at the limit. */
  readonly evictFrom?: TableName;
}

/** The options with all defaults filled in, as a snapshot stores them. */
export interface ResolvedReplayOptions extends SavedOptions {
  readonly tables: { readonly [name: string]: ResolvedTableOptions };
  /** The option `transition` as it was passed. */
  readonly transition?: TransitionRoles | undefined;
}

export const OPTIONS = "spec, tables, maxBytes, storedBytes, seed, transition, module, logger";

export function resolveOptions(options: ReplayOptions, keys = OPTIONS): ResolvedReplayOptions {
  if (options === undefined) throw mustBe(TypeError, "the options of Replay", "an object with spec and tables", options);
  const { spec, tables, maxBytes = MAX_REPLAY_BYTES, storedBytes, seed = 0, transition } = onlyKeys("Replay", options, keys);
  if (spec === undefined) throw mustBe(TypeError, "spec", "the leaves of a step, such as { observation: f32(4), action: i32(), reward: f32() }", spec);
  if (typeof (tables ?? {}) !== "object" || Array.isArray(tables))
    throw mustBe(TypeError, "tables", "an object of tables by name, such as { memory: { maxSize: 1000 } }", tables);
  checkSeed(seed);
  return {
    spec: copySpec(spec),
    tables: Object.fromEntries(Object.entries(tables ?? {}).map(([name, table]) => [name, resolveTable(name, table as TableOptions)])),
    maxBytes: Math.min(integer("maxBytes", maxBytes, 1, 2 ** 32), MAX_REPLAY_BYTES),
    ...(storedBytes !== undefined && { storedBytes: { ...onlyKeys("storedBytes", storedBytes, "max, evictFrom") } }),
    seed: String(seed),
    ...(transition !== undefined && { transition: { ...transition } }),
  };
}

/**
 * Checks the option `storedBytes`.
 * @param least the maximum number of bytes of one step, which the limit must allow
 * @throws TypeError, RangeError if `max` is not a finite number, or is less than `least` · ReplayError NOT_FOUND if `evictFrom` is not the name of a table
 */
export function checkStoredBytes({ max, evictFrom }: StoredBytesOptions, tables: object, least: number): void {
  finite("storedBytes.max", max, 0);
  if (max < least) throw mustBe(RangeError, "storedBytes.max", `at least ${least}, the size of a step whose frames cannot be packed`, max);
  if (evictFrom !== undefined && !Object.hasOwn(tables, evictFrom)) throw mustBeOneOf("NOT_FOUND", "storedBytes.evictFrom", Object.keys(tables), evictFrom);
}
