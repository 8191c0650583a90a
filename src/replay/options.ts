/** The options of a Replay, checked and with their defaults. */

import { checkSeed, finite, integer, mustBe, mustBeOneOf, onlyKeys } from "../base/error.ts";
import { MAX_REPLAY_BYTES } from "../base/limits.ts";
import type { Logger } from "../base/warnings.ts";
import { copySpec, type Spec } from "../schema/spec.ts";
import { type ResolvedTableOptions, resolveTable, type TableOptions } from "../schema/table-options.ts";
import type { TransitionRoles } from "../schema/transition-roles.ts";
import type { SavedOptions } from "../storage/replay-state.ts";

/** A spec of which nothing is known: every Replay goes where `Replay` is asked for. */
// biome-ignore lint/suspicious/noExplicitAny: nothing else goes both ways
export type Any = any;

/** Not `any`, so that an editor knows the names where none is written yet. */
type RolesOption<R> = 0 extends 1 & R ? TransitionRoles : R;

export interface ReplayOptions<S extends Spec = Any, TableName extends string = string, R extends TransitionRoles = Any> {
  /** The form of a step: a leaf, or leaves nested in objects and arrays. */
  readonly spec: S;
  /** The tables by name. Default: none; steps then live only in the windows of writers. */
  readonly tables?: { readonly [K in TableName]: TableOptions };
  /** Maximum memory in bytes. Default and upper limit: 4 GiB. */
  readonly maxBytes?: number;
  /**
   * Limits the bytes of stored steps with their frames (`stats().bytes.stored`), for packed frames, whose size depends on their content. After each call that appends, the
   * table `evictFrom` evicts items with its remover until the bytes are within `max` or it is empty. Steps that writers or other tables hold stay. A block of columns is
   * checked once per thousand steps or so. If the table is empty, an `append` beyond `max` throws OUT_OF_MEMORY and changes nothing. Default: no limit but `maxBytes`.
   */
  readonly storedBytes?: StoredBytesOptions<NoInfer<TableName>>;
  /**
   * Seed of every random draw: the same seed and calls give the same bytes. A whole number from 0, or a bigint below 2^64. Default: 0, always: two Replays without a
   * seed draw alike.
   */
  readonly seed?: number | bigint;
  /** Which leaf plays which part in a transition: for rules with `nStep`, and for views of transitions. Default: the leaves that have the parts' own names. */
  readonly transition?: RolesOption<R>;
  /** Another build of the core than the one that comes with the package, such as `reprise/core.wasm` where the host forbids compiling: all of the package runs with it. */
  readonly module?: WebAssembly.Module;
  /**
   * Told of what is allowed and hardly meant, each kind once; `stats().warnings` counts them. A function, or an object with a method `warn`. Snapshots do not
   * have it. Default: `console.warn`; null for nobody.
   */
  readonly logger?: Logger | null;
}

export interface StoredBytesOptions<TableName extends string = string> {
  /** In bytes. At least the bytes of one step whose frames do not pack. */
  readonly max: number;
  /** The table that evicts items. Default: none, so that `append` throws at the limit. */
  readonly evictFrom?: TableName;
}

/** The options with all defaults filled in, as a snapshot stores them. */
export interface ResolvedReplayOptions extends SavedOptions {
  readonly tables: { readonly [name: string]: ResolvedTableOptions };
  /** As it was given. */
  readonly transition?: TransitionRoles | undefined;
}

export const OPTIONS = "spec, tables, maxBytes, storedBytes, seed, transition, module, logger";

export function resolveOptions(options: ReplayOptions, keys = OPTIONS): ResolvedReplayOptions {
  if (options === undefined) throw mustBe(TypeError, "the options of Replay", "an object with spec and tables", options);
  const { spec, tables, maxBytes = MAX_REPLAY_BYTES, storedBytes, seed = 0, transition } = onlyKeys("Replay", options, keys);
  if (spec === undefined) throw mustBe(TypeError, "spec", "given: the form of a step, such as { observation: f32(4), action: i32(), reward: f32() }", spec);
  if (typeof (tables ?? {}) !== "object" || Array.isArray(tables))
    throw mustBe(TypeError, "tables", "an object of tables by their names, such as { memory: { maxSize: 1000 } }", tables);
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

/** @param least what one step may take */
export function checkStoredBytes({ max, evictFrom }: StoredBytesOptions, tables: object, least: number): void {
  finite("storedBytes.max", max, 0);
  if (max < least) throw mustBe(RangeError, "storedBytes.max", `at least ${least}, the bytes of a step whose frames do not pack`, max);
  if (evictFrom !== undefined && !Object.hasOwn(tables, evictFrom)) throw mustBeOneOf("NOT_FOUND", "storedBytes.evictFrom", Object.keys(tables), evictFrom);
}
