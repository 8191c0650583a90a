/** Converts a server's information about its tables to the form that tables of this process use. */
import { SELECTOR_KINDS } from "../schema/selector.ts";
import { limiterInfo, type TableInfo, type TableSelector } from "../tf-agents/sampling/table-info.ts";
import { readSignature, type WireSignature } from "./tensors/signature.ts";
import type { SelectorMessage, TableMessage } from "./wire/server-info.ts";

export interface TableEntry {
  readonly info: TableInfo;
  readonly signature: WireSignature | undefined;
}

export function toTableEntry(message: TableMessage): TableEntry {
  const { name, rateLimiter, maxSize, maxTimesSampled } = message;
  const signature = message.signature && readSignature(message.signature);
  const info: TableInfo = {
    name,
    sampler: selector(message.sampler),
    remover: selector(message.remover),
    maxSize,
    // For a server, values of 0 and below mean that there is no limit.
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

/** Combines the tables of several servers: counts and sizes are sums, and all other values come from the first server with the table. */
export function mergeTables(servers: readonly ReadonlyMap<string, TableEntry>[]): ReadonlyMap<string, TableEntry> {
  const all = new Map<string, TableEntry>();
  for (const tables of servers)
    for (const [name, table] of tables) {
      const existing = all.get(name);
      all.set(name, existing === undefined ? table : { ...existing, info: sum(existing.info, table.info) });
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
