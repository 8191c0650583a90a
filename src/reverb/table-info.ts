/** What a server tells of its tables, as clients of this process tell of theirs. */
import { SELECTOR_KINDS } from "../schema/selector.ts";
import { limiterInfo, type TableInfo, type TableSelector } from "../tf-agents/sampling/table-info.ts";
import { readSignature, type WireSignature } from "./tensors/signature.ts";
import type { SelectorMessage, TableMessage } from "./wire/server-info.ts";

export interface KnownTable {
  readonly info: TableInfo;
  readonly signature: WireSignature | undefined;
}

export function knownTable(message: TableMessage): KnownTable {
  const { name, rateLimiter, maxSize, maxTimesSampled } = message;
  const signature = message.signature && readSignature(message.signature);
  const info: TableInfo = {
    name,
    sampler: selector(message.sampler),
    remover: selector(message.remover),
    maxSize,
    // A server has no limit from 0 down.
    maxTimesSampled: Math.max(maxTimesSampled, 0),
    rateLimiterInfo: limiterInfo(rateLimiter, rateLimiter.inserts, rateLimiter.samples),
    signature: signature?.nest,
    currentSize: message.currentSize,
    numEpisodes: message.episodes,
    numDeletedEpisodes: message.deletedEpisodes,
    numUniqueSamples: message.uniqueSamples,
  };
  return { info, signature };
}

/** Tables of several servers as if they were of one: counts and sizes are sums, all else is as on the first server that has the table. */
export function together(servers: readonly ReadonlyMap<string, KnownTable>[]): ReadonlyMap<string, KnownTable> {
  const all = new Map<string, KnownTable>();
  for (const tables of servers)
    for (const [name, table] of tables) {
      const before = all.get(name);
      all.set(name, before === undefined ? table : { ...before, info: sum(before.info, table.info) });
    }
  return all;
}

function sum(a: TableInfo, b: TableInfo): TableInfo {
  return {
    ...a,
    maxSize: a.maxSize + b.maxSize,
    currentSize: a.currentSize + b.currentSize,
    numEpisodes: a.numEpisodes + b.numEpisodes,
    numDeletedEpisodes: a.numDeletedEpisodes + b.numDeletedEpisodes,
    numUniqueSamples: a.numUniqueSamples + b.numUniqueSamples,
    rateLimiterInfo: {
      ...a.rateLimiterInfo,
      insertStats: { completed: a.rateLimiterInfo.insertStats.completed + b.rateLimiterInfo.insertStats.completed },
      sampleStats: { completed: a.rateLimiterInfo.sampleStats.completed + b.rateLimiterInfo.sampleStats.completed },
    },
  };
}

function selector({ kind, exponent }: SelectorMessage): TableSelector {
  if (kind === undefined) return { kind: "unknown" };
  return SELECTOR_KINDS[kind].takesExponent ? { kind, exponent } : { kind };
}
