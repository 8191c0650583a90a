/** When a call that rate limiters refused may have room. */
import { ReplayError } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { AnyTable } from "./table.ts";

const NO_ROOM = "one call brings more items than the rate limiters let in at once, and maxPending leaves them no place to wait: raise maxPending";

/**
 * Waits until something has changed, and half of the items that wait for one of the limiters are in: each try costs an error.
 * @throws ReplayError RATE_LIMITED where nothing ever makes room
 */
export function waitForRoom(engine: Engine, tables: readonly AnyTable[], signal: AbortSignal): Promise<unknown> {
  const { changes } = engine;
  // Any of these may be the one that has no room.
  const limiting = tables.filter(({ options }) => options.rateLimiter.maxDiff < Number.MAX_VALUE);
  const isEmpty = ({ size, pending }: { readonly size: number; readonly pending: number }) => size === 0 && pending === 0;
  // Where nothing can be drawn, nothing will ever make room.
  if (limiting.every((table) => isEmpty(table.stats()))) throw new ReplayError("RATE_LIMITED", NO_ROOM);
  const targets = limiting.map((table) => table.stats().pending >> 1);
  const isRoom = () => limiting.some((table, i) => table.stats().pending <= (targets[i] as number));
  const room = () => (engine.changes !== changes && isRoom() ? true : undefined);
  return Promise.resolve(engine.waiters.until(room, () => "", { signal }));
}
