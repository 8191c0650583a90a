/** Explains the reasons why a view of a table cannot return a batch. */

import { DISTINCT, INSERTS, NEWEST, PENDING } from "../base/abi.ts";
import { ReplayError, show } from "../base/error.ts";
import type { SampledTable } from "./sampler.ts";

/** Returns the error for a draw from an empty table. @param form the kind of rule that would make items for the view */
export function emptyTable({ core, engine, name }: SampledTable, form: "nStep" | "sequence"): ReplayError {
  const lengths = engine.ruleLengths(name);
  const why =
    core.counter(PENDING) > 0
      ? "its items are still waiting for the rate limiter"
      : core.counter(INSERTS) > 0
        ? "all of its items were evicted, deleted, or drawn maxTimesSampled times"
        : lengths.length > 0
          ? `it has no items yet. The first item is inserted when an episode has ${Math.min(...lengths)} steps (or ends, with ${form})`
          : `nothing was inserted yet, and no open writer has a rule for it. Add a rule: replay.writer({ items: [{ table, ${form} }] })`;
  return new ReplayError("EMPTY", `table ${show(name)} is empty: ${why}`);
}

/** Returns the error if n draws of a non-empty table are not possible now. */
export function notReady({ core, name, limits }: SampledTable, n: number, flags: number, among: number): ReplayError {
  const table = show(name);
  const { minSize } = limits.rateLimiter;
  if (core.canSample(n)) {
    if ((flags & DISTINCT) === 0)
      return new ReplayError("TOO_FEW", `table ${table} has ${core.size} items, and maxTimesSampled removes them before ${n} draws. Sample fewer items`);
    const sure = core.guaranteedDraws(n, flags, among);
    const limit = among === 0 ? core.size : Math.min(among, core.size);
    const of = limit < core.size ? `among selects the ${limit} ${flags & NEWEST ? "newest" : "oldest"} of ${core.size} items` : `it has ${core.size} items`;
    const why = sure < limit ? ", but the other items have priority 0, or the rate limiter requires them to stay" : "";
    const suffix = why === "" && limit === core.size ? "" : ` (${of}${why})`;
    const remedy = core.guaranteedDraws(n, flags & NEWEST, among) < n ? "Sample fewer items" : "Sample fewer items, or sample with replacement";
    return new ReplayError("TOO_FEW", `table ${table} can provide ${sure} items, but the call needs ${n}${suffix}. ${remedy}`);
  }
  const why =
    core.size < minSize ? `has ${core.size} items, and its rate limiter requires ${minSize}` : `needs more inserts before its rate limiter allows ${n} draws`;
  return new ReplayError("RATE_LIMITED", `table ${table} ${why}. Append more steps, or await sampleWhenReady(${n})`);
}
