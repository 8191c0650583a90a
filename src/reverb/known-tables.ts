/** What a client knows of its servers' tables: asked once, and again for a table that was not there. Where no server is there yet, for as long as a lost connection is tried again. */

import { codeOf, mustBe, ReplayError } from "../base/error.ts";
import { type WaitOptions, within } from "../base/wait.ts";
import type { Shaped } from "../tf-agents/signature.ts";
import { mustFit } from "../tf-agents/signature.ts";
import { BackOff, isLost } from "./back-off.ts";
import { HEAD } from "./grpc/frames.ts";
import { RpcError } from "./grpc/status.ts";
import type { Servers } from "./servers.ts";
import { type KnownTable, knownTable, together } from "./table-info.ts";
import type { ColumnMessage } from "./wire/item.ts";
import { emptyRequest } from "./wire/requests.ts";
import { readServerInfo } from "./wire/server-info.ts";

const METHOD = "ServerInfo";

/** A question that goes on for as long as anybody waits for its answer. */
interface Asking {
  answer: Promise<ReadonlyMap<string, KnownTable>>;
  waiting: number;
  readonly over: AbortController;
  trouble: RpcError | undefined;
}

export class KnownTables {
  readonly #servers: Servers;
  readonly #reconnectTimeoutMs: number;
  #tables: ReadonlyMap<string, KnownTable> | undefined;
  #asking: Asking | undefined;

  constructor(servers: Servers, reconnectTimeoutMs: number) {
    this.#servers = servers;
    this.#reconnectTimeoutMs = reconnectTimeoutMs;
  }

  /**
   * Asks every server. While none can be reached they are tried again: until `timeoutMs`, or else for as long as a lost connection is.
   * @returns what they have together
   * @throws ReplayError IO, TIMEOUT, CLOSED, or the signal's reason
   */
  async ask({ signal, timeoutMs }: WaitOptions = {}): Promise<ReadonlyMap<string, KnownTable>> {
    const since = performance.now();
    const backOff = new BackOff(timeoutMs ?? this.#reconnectTimeoutMs);
    let trouble: RpcError | undefined;
    for (let left = timeoutMs; ; left = timeoutMs && Math.max(0, timeoutMs - (performance.now() - since))) {
      try {
        const answers = await this.#servers.all(METHOD, emptyRequest(HEAD), tablesOf, wait(signal, left));
        this.#tables = together(answers.map(({ value }) => value));
        return this.#tables;
      } catch (error) {
        const isLate = trouble !== undefined && codeOf(error) === "TIMEOUT";
        if (!isLate && !(isLost(error) && error.isUnseen)) throw error;
        if (!isLate) trouble = error as RpcError;
        const pause = isLate ? undefined : backOff.after(error);
        if (pause === undefined && timeoutMs !== undefined) throw new ReplayError("TIMEOUT", `timed out after ${timeoutMs} ms: ${this.#untold(trouble)}`);
        if (pause === undefined) throw tried(error as RpcError, backOff.limitMs);
        await this.#servers.pause(pause, signal);
        signal?.throwIfAborted();
      }
    }
  }

  #untold(trouble: RpcError | undefined): string {
    return `the Reverb server at ${this.#servers.address} has not told of its tables${trouble === undefined ? "" : `: ${trouble.message}; it was tried again all the while`}`;
  }

  /** A table that is known by now. */
  now(name: string): KnownTable | undefined {
    return this.#tables?.get(name);
  }

  /** @param closing ends the wait as well @throws ReplayError NOT_FOUND, IO, TIMEOUT, CLOSED, or a signal's reason */
  async get(name: string, options: WaitOptions = {}, closing?: AbortSignal): Promise<KnownTable> {
    const known = this.now(name);
    if (known !== undefined) return known;
    this.#asking ??= this.#begun();
    const asking = this.#asking;
    asking.waiting++;
    const what = () => this.#untold(asking.trouble);
    try {
      const answer = within(asking.answer, what, options);
      await (closing === undefined ? answer : within(answer, what, { signal: closing }));
    } finally {
      asking.waiting--;
      if (asking.waiting === 0) this.#end(asking);
    }
    const found = this.now(name);
    if (found === undefined) {
      const names = [...(this.#tables?.keys() ?? [])].join(", ");
      throw mustBe("NOT_FOUND", "table", `one of ${names}, the tables of the Reverb server at ${this.#servers.address}`, name);
    }
    return found;
  }

  #begun(): Asking {
    const asking = { waiting: 0, over: new AbortController(), trouble: undefined } as Omit<Asking, "answer"> as Asking;
    asking.answer = this.#ask(asking).finally(() => this.#end(asking));
    return asking;
  }

  #end(asking: Asking): void {
    if (this.#asking === asking) this.#asking = undefined;
    asking.over.abort();
  }

  async #ask(asking: Asking): Promise<ReadonlyMap<string, KnownTable>> {
    const { signal } = asking.over;
    const backOff = new BackOff(this.#reconnectTimeoutMs);
    for (;;) {
      try {
        // One server tells what a table is.
        this.#tables = await this.#servers.ask(METHOD, emptyRequest(HEAD), tablesOf, { signal });
        return this.#tables;
      } catch (error) {
        const wait = backOff.after(error);
        if (wait === undefined) throw isLost(error) ? tried(error, backOff.limitMs) : error;
        asking.trouble = error as RpcError;
        await this.#servers.pause(wait, signal);
      }
    }
  }
}

/** The options of a call. */
function wait(signal: AbortSignal | undefined, timeoutMs: number | undefined): WaitOptions {
  return { ...(signal !== undefined && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

/** An error that says for how long the connection was tried; the same where it was not tried again. */
function tried(error: RpcError, ms: number): RpcError {
  if (ms === 0) return error;
  return new RpcError(error.address, METHOD, error.status, `tried again for ${ms} ms (reconnectTimeoutMs), and last: ${error.details}`, error);
}

function tablesOf(bytes: Uint8Array): ReadonlyMap<string, KnownTable> {
  return new Map(readServerInfo(bytes).tables.map((table) => [table.name, knownTable(table)]));
}

/**
 * An item's columns in the order of the server's signature, where it has one.
 * @param columns in the order of their names, as `shapes`
 * @throws ReplayError SPEC_MISMATCH
 */
export function inOrder(
  table: string,
  { info, signature }: KnownTable,
  columns: readonly ColumnMessage[],
  shapes: readonly Shaped[],
  steps?: readonly Shaped[],
): readonly ColumnMessage[] {
  mustFit(table, info.signature, shapes, steps);
  const order = signature?.order;
  return order === undefined || order.length !== columns.length ? columns : order.map((i) => columns[i] as ColumnMessage);
}
