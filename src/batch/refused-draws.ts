/** Why a view of a table has no batch: its draws are all or nothing. */

import { DISTINCT, INSERTS, NEWEST, PENDING } from "../base/abi.ts";
import { ReplayError, show } from "../base/error.ts";
import type { SampledTable } from "./sampler.ts";

/** @param form of the rule that would make items for the view */
export function emptyTable({ core, engine, name }: SampledTable, form: "nStep" | "sequence"): ReplayError {
  const lengths = engine.ruleLengths(name);
  const why =
    core.counter(PENDING) > 0
      ? "its items still wait for the rate limiter"
      : core.counter(INSERTS) > 0
        ? "all of its items have left it: they were evicted, deleted, or drawn maxTimesSampled times"
        : lengths.length > 0
          ? `no item was made yet: the first comes when an episode has ${Math.min(...lengths)} steps, or with ${form} when it ends`
          : `nothing was inserted yet, and no open writer has a rule for it: replay.writer({ items: [{ table, ${form} }] })`;
  return new ReplayError("EMPTY", `table ${show(name)} is empty: ${why}`);
}

/** Why n draws of a table with items do not pass now. */
export function notReady({ core, name, limits }: SampledTable, n: number, flags: number, among: number): ReplayError {
  const table = show(name);
  const { minSize } = limits.rateLimiter;
  if (core.canSample(n)) {
    if ((flags & DISTINCT) === 0)
      return new ReplayError("TOO_FEW", `table ${table} has ${core.size} items, which maxTimesSampled lets leave before ${n} draws: sample fewer`);
    const sure = core.guaranteedDraws(n, flags, among);
    const limit = among === 0 ? core.size : Math.min(among, core.size);
    const of = limit < core.size ? `the ${limit} ${flags & NEWEST ? "newest" : "oldest"} of ${core.size} items, as among says` : `${core.size} items`;
    const why = sure < limit ? ": the others have priority 0, or must stay for the rate limiter" : "";
    const suffix = why === "" && limit === core.size ? "" : ` (of ${of}${why})`;
    const remedy = core.guaranteedDraws(n, flags & NEWEST, among) < n ? "sample fewer" : "sample fewer, or with replacement";
    return new ReplayError("TOO_FEW", `table ${table} has ${sure} items that can be drawn, fewer draws than ${n}${suffix}: ${remedy}`);
  }
  const why =
    core.size < minSize ? `has ${core.size} items, and its rate limiter asks for ${minSize}` : "needs inserts before its rate limiter allows as many draws";
  return new ReplayError("RATE_LIMITED", `table ${table} ${why}: append first, or await sampleWhenReady(${n})`);
}
