/**
 * Caches the tables of a client's servers. The servers are queried once, and again for an unknown table. While no server can be reached, the query is retried
 * for as long as a lost connection would be.
 */

import { codeOf, mustBe, ReplayError } from "../base/error.ts";
import { abortable, type WaitOptions } from "../base/wait.ts";
import { type ColumnShape, mustFit } from "../tf-agents/signature.ts";
import { BackOff, isLost } from "./back-off.ts";
import { HEAD } from "./grpc/frames.ts";
import { RpcError } from "./grpc/status.ts";
import type { Servers } from "./servers.ts";
import { mergeTables, type TableEntry, toTableEntry } from "./table-info.ts";
import type { ColumnMessage } from "./wire/item.ts";
import { emptyRequest } from "./wire/requests.ts";
import { readServerInfo } from "./wire/server-info.ts";

const METHOD = "ServerInfo";

/** A query that continues while a caller waits for its response. */
interface TableQuery {
  response: Promise<ReadonlyMap<string, TableEntry>>;
  waiting: number;
  readonly controller: AbortController;
  lastError: RpcError | undefined;
}

export class TableCache {
  readonly #servers: Servers;
  readonly #reconnectTimeoutMs: number;
  #tables: ReadonlyMap<string, TableEntry> | undefined;
  #query: TableQuery | undefined;

  constructor(servers: Servers, reconnectTimeoutMs: number) {
    this.#servers = servers;
    this.#reconnectTimeoutMs = reconnectTimeoutMs;
  }

  /**
   * Queries every server. If no server can be reached, the query is retried until `timeoutMs`, or by default for as long as a lost connection is retried.
   * @returns the tables of all servers
   * @throws ReplayError IO if no server can be reached · TIMEOUT if `timeoutMs` has passed · CLOSED if the client is closed
   * @throws the signal's reason if the signal aborts
   */
  async queryAll({ signal, timeoutMs }: WaitOptions = {}): Promise<ReadonlyMap<string, TableEntry>> {
    const startedAt = performance.now();
    const backOff = new BackOff(timeoutMs ?? this.#reconnectTimeoutMs);
    let lastError: RpcError | undefined;
    for (let remainingMs = timeoutMs; ; remainingMs = timeoutMs && Math.max(0, timeoutMs - (performance.now() - startedAt))) {
      try {
        const responses = await this.#servers.all(METHOD, emptyRequest(HEAD), tablesOf, wait(signal, remainingMs));
        this.#tables = mergeTables(responses.map(({ value }) => value));
        return this.#tables;
      } catch (error) {
        const isTimeout = lastError !== undefined && codeOf(error) === "TIMEOUT";
        if (!isTimeout && !(isLost(error) && error.isUnsent)) throw error;
        if (!isTimeout) lastError = error as RpcError;
        const pause = isTimeout ? undefined : backOff.after(error);
        if (pause === undefined && timeoutMs !== undefined)
          throw new ReplayError("TIMEOUT", `timed out after ${timeoutMs} ms: ${this.#describeWait(lastError)}`);
        if (pause === undefined) throw withRetries(error as RpcError, backOff.limitMs);
        await this.#servers.pause(pause, signal);
        signal?.throwIfAborted();
      }
    }
  }

  #describeWait(lastError: RpcError | undefined): string {
    return `the Reverb server at ${this.#servers.address} did not report its tables${lastError === undefined ? "" : `, despite retries: ${lastError.message}`}`;
  }

  /** Returns a table from the cache. */
  cached(name: string): TableEntry | undefined {
    return this.#tables?.get(name);
  }

  /**
   * Returns a table, and queries a server if the table is not cached.
   * @param closing also aborts the wait
   * @throws ReplayError NOT_FOUND if no server has the table · IO if no server can be reached · TIMEOUT if the time limit ends the wait · CLOSED if the client
   * is closed
   * @throws a signal's reason if the signal aborts
   */
  async get(name: string, options: WaitOptions = {}, closing?: AbortSignal): Promise<TableEntry> {
    const cachedTable = this.cached(name);
    if (cachedTable !== undefined) return cachedTable;
    this.#query ??= this.#startQuery();
    const query = this.#query;
    query.waiting++;
    const describe = () => this.#describeWait(query.lastError);
    try {
      const response = abortable(query.response, describe, options);
      await (closing === undefined ? response : abortable(response, describe, { signal: closing }));
    } finally {
      query.waiting--;
      if (query.waiting === 0) this.#end(query);
    }
    const tableEntry = this.cached(name);
    if (tableEntry === undefined) {
      const names = [...(this.#tables?.keys() ?? [])];
      throw mustBe("NOT_FOUND", "table", `one of ${names.join(", ")}, the tables of the Reverb server at ${this.#servers.address}`, name, names);
    }
    return tableEntry;
  }

  #startQuery(): TableQuery {
    const query = { waiting: 0, controller: new AbortController(), lastError: undefined } as Omit<TableQuery, "response"> as TableQuery;
    query.response = this.#runQuery(query).finally(() => this.#end(query));
    return query;
  }

  #end(query: TableQuery): void {
    if (this.#query === query) this.#query = undefined;
    query.controller.abort();
  }

  async #runQuery(query: TableQuery): Promise<ReadonlyMap<string, TableEntry>> {
    const { signal } = query.controller;
    const backOff = new BackOff(this.#reconnectTimeoutMs);
    for (;;) {
      try {
        // One server's answer is enough to describe a table.
        this.#tables = await this.#servers.request(METHOD, emptyRequest(HEAD), tablesOf, { signal });
        return this.#tables;
      } catch (error) {
        const wait = backOff.after(error);
        if (wait === undefined) throw isLost(error) ? withRetries(error, backOff.limitMs) : error;
        query.lastError = error as RpcError;
        await this.#servers.pause(wait, signal);
      }
    }
  }
}

/** Returns the options of a call, without options that are undefined. */
function wait(signal: AbortSignal | undefined, timeoutMs: number | undefined): WaitOptions {
  return { ...(signal !== undefined && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

/** Returns an error that includes how long the connection was retried, or the same error if there was no retry. */
function withRetries(error: RpcError, ms: number): RpcError {
  if (ms === 0) return error;
  return new RpcError(error.address, METHOD, error.status, `retried for ${ms} ms (reconnectTimeoutMs). Last error: ${error.details}`, error);
}

function tablesOf(bytes: Uint8Array): ReadonlyMap<string, TableEntry> {
  return new Map(readServerInfo(bytes).tables.map((table) => [table.name, toTableEntry(table)]));
}

/**
 * Returns an item's columns in the order of the server's signature, if the table has a signature.
 * @param columns the columns in the order of their names, like `shapes`
 * @throws ReplayError SPEC_MISMATCH if the columns do not fit the signature
 */
export function orderColumns(
  table: string,
  { info, signature }: TableEntry,
  columns: readonly ColumnMessage[],
  shapes: readonly ColumnShape[],
  steps?: readonly ColumnShape[],
): readonly ColumnMessage[] {
  mustFit(table, info.signature, shapes, steps);
  const order = signature?.order;
  return order === undefined || order.length !== columns.length ? columns : order.map((i) => columns[i] as ColumnMessage);
}
