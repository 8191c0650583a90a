/** What a client knows of its servers' tables: asked once, and again for a table that was not there. */
import type { Shaped } from "../agents/signature.ts";
import { mustFit } from "../agents/signature.ts";
import { mustBe } from "../error.ts";
import type { WaitOptions } from "../wait.ts";
import { HEAD } from "./grpc/frames.ts";
import type { Servers } from "./servers.ts";
import { type KnownTable, knownTable, together } from "./table-info.ts";
import type { ColumnMessage } from "./wire/item.ts";
import { emptyRequest } from "./wire/requests.ts";
import { readServerInfo } from "./wire/server-info.ts";

export class KnownTables {
  readonly #servers: Servers;
  #tables: ReadonlyMap<string, KnownTable> | undefined;
  #asking: Promise<ReadonlyMap<string, KnownTable>> | undefined;

  constructor(servers: Servers) {
    this.#servers = servers;
  }

  /** Asks every server. @returns what they have together @throws ReplayError IO, TIMEOUT, UNSUPPORTED */
  async ask(options: WaitOptions = {}): Promise<ReadonlyMap<string, KnownTable>> {
    const answers = await this.#servers.all("ServerInfo", emptyRequest(HEAD), tablesOf, options);
    this.#tables = together(answers.map(({ value }) => value));
    return this.#tables;
  }

  /** A table that is known by now. */
  now(name: string): KnownTable | undefined {
    return this.#tables?.get(name);
  }

  /** @throws ReplayError NOT_FOUND, IO */
  async get(name: string): Promise<KnownTable> {
    const known = this.now(name);
    if (known !== undefined) return known;
    // One server tells what a table is.
    this.#asking ??= this.#servers.ask("ServerInfo", emptyRequest(HEAD), tablesOf);
    const asking = this.#asking;
    try {
      this.#tables = await asking;
    } finally {
      if (this.#asking === asking) this.#asking = undefined;
    }
    const found = this.now(name);
    if (found === undefined)
      throw mustBe("NOT_FOUND", "table", `one of ${[...this.#tables.keys()].join(", ")}, the tables of the Reverb server at ${this.#servers.address}`, name);
    return found;
  }
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
