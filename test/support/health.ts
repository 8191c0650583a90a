/** Checks all invariants that the core can check itself. */

import type { Replay, Spec, Table } from "../../src/index.ts";
import { engineOf } from "../../src/replay/replay.ts";

/** Returns the broken invariants by name and number, or an empty list. */
export function broken<S extends Spec, N extends string>(replay: Replay<S, N>): string[] {
  const engine = engineOf(replay);
  const { x } = engine.core;
  const checks: [string, number][] = [
    ["arena", x.arena_check()],
    ...[...engine.entryPools, ...engine.framePools, engine.pool].map((pool): [string, number] => ["pool", x.pool_check(pool)]),
    ...(Object.values(replay.tables) as Table[]).map((table): [string, number] => [`table ${table.name}`, x.table_check(table.handle)]),
    ...replay.writers.flatMap((writer) => writer.streams).map((stream): [string, number] => ["stream", x.stream_check(stream)]),
  ];
  return checks.filter(([, code]) => code !== 0).map(([what, code]) => `${what}: ${code}`);
}
