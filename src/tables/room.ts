/** Waits for room after rate limiters rejected a call. */
import { ReplayError } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { AnyTable } from "./table.ts";

const NO_ROOM = "one call inserts more items than the rate limiters permit, and maxPending is too small for the rest to wait. Increase maxPending";

/**
 * Waits until the Replay has changed, and half of the items that wait for one of the limiters are inserted. It waits that long because each failed attempt
 * creates an error, which is slow.
 * @throws ReplayError RATE_LIMITED if no call can ever make room
 */
export function waitForRoom(engine: Engine, tables: readonly AnyTable[], signal: AbortSignal): Promise<unknown> {
  const { changes } = engine;
  // Any of these tables may be the table without room.
  const limiting = tables.filter(({ options }) => options.rateLimiter.maxDiff < Number.MAX_VALUE);
  const isEmpty = ({ size, pending }: { readonly size: number; readonly pending: number }) => size === 0 && pending === 0;
  // If nothing can be drawn, no draw will ever make room.
  if (limiting.every((table) => isEmpty(table.stats()))) throw new ReplayError("RATE_LIMITED", NO_ROOM);
  const targets = limiting.map((table) => table.stats().pending >> 1);
  const isRoom = () => limiting.some((table, i) => table.stats().pending <= (targets[i] as number));
  const room = () => (engine.changes !== changes && isRoom() ? true : undefined);
  return Promise.resolve(engine.waiters.until(room, () => "", { signal }));
}
