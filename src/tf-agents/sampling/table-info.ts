/** Declares the definition and the counts of a table. Corresponds to `TableInfo` of Reverb. */
import type { RateLimiter } from "../../schema/rate-limiter.ts";
import type { Selector } from "../../schema/selector.ts";
import type { ResolvedTableOptions, Table } from "../../tables/table.ts";
import type { Signature } from "../signature.ts";

/** A selector of a table. The kind is "unknown" if the server uses a selector that this version does not support. */
export type TableSelector = Selector | { readonly kind: "unknown" };

export interface TableInfo {
  readonly name: string;
  readonly sampler: TableSelector;
  readonly remover: TableSelector;
  readonly maxSize: number;
  /** The maximum number of draws per item, or 0 for no limit. */
  readonly maxTimesSampled: number;
  readonly rateLimiterInfo: RateLimiterInfo;
  /** The table's signature; undefined if the table has none. */
  readonly signature: Signature | undefined;
  readonly currentSize: number;
  /** The number of episodes with items in the table. */
  readonly numEpisodes: number;
  /** The number of episodes whose items have all been removed from the table. */
  readonly numDeletedEpisodes: number;
  /** The number of items that were sampled at least once. */
  readonly numUniqueSamples: number;
}

/** The limiter's bounds, and the numbers of inserts and samples that the limiter has allowed. */
export interface RateLimiterInfo extends Omit<RateLimiter, "minSize"> {
  readonly minSizeToSample: number;
  readonly insertStats: { readonly completed: number };
  readonly sampleStats: { readonly completed: number };
}

/** The counts of an unused table. */
const NO_COUNTS = { size: 0, episodes: 0, deletedEpisodes: 0, uniqueSamples: 0, inserts: 0, samples: 0 };

/** Returns the information about a table. @param counts the counts of the table, if it is in use. Default: zeros */
export function infoOf(
  name: string,
  { sampler, remover, maxSize, maxTimesSampled, rateLimiter }: Omit<ResolvedTableOptions, "maxSteps" | "maxPending">,
  signature: Signature | undefined,
  counts: typeof NO_COUNTS = NO_COUNTS,
): TableInfo {
  return {
    name,
    sampler,
    remover,
    maxSize,
    maxTimesSampled: maxTimesSampled === Number.MAX_SAFE_INTEGER ? 0 : maxTimesSampled,
    rateLimiterInfo: limiterInfo(rateLimiter, counts.inserts, counts.samples),
    signature,
    currentSize: counts.size,
    numEpisodes: counts.episodes,
    numDeletedEpisodes: counts.deletedEpisodes,
    numUniqueSamples: counts.uniqueSamples,
  };
}

/** Returns the information about a table in this process. O(1) */
export function tableInfo(table: Table, signature: Signature | undefined): TableInfo {
  return infoOf(table.name, table.options, signature, table.stats());
}

/** Returns the information about a limiter, with the field names of Reverb. */
export function limiterInfo({ samplesPerInsert, minSize, minDiff, maxDiff }: RateLimiter, inserts: number, samples: number): RateLimiterInfo {
  return { samplesPerInsert, minSizeToSample: minSize, minDiff, maxDiff, insertStats: { completed: inserts }, sampleStats: { completed: samples } };
}
