/** What a client knows of a server's tables: asked once, and again for a table that was not there. */
import type { Shaped } from "../agents/signature.ts";
import { mustFit } from "../agents/signature.ts";
import { mustBe } from "../error.ts";
import type { WaitOptions } from "../wait.ts";
import type { Channel } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import { type KnownTable, knownTable } from "./table-info.ts";
import type { ColumnMessage } from "./wire/item.ts";
import { emptyRequest } from "./wire/requests.ts";
import { readServerInfo } from "./wire/server-info.ts";

export class KnownTables {
  readonly #channel: Channel;
  #tables: ReadonlyMap<string, KnownTable> | undefined;
  #asking: Promise<ReadonlyMap<string, KnownTable>> | undefined;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Asks the server. @throws ReplayError IO, TIMEOUT, UNSUPPORTED */
  async ask(options: WaitOptions = {}): Promise<ReadonlyMap<string, KnownTable>> {
    const message = await this.#channel.ask("ServerInfo", emptyRequest(HEAD), readServerInfo, options);
    this.#tables = new Map(message.tables.map((table) => [table.name, knownTable(table)]));
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
    this.#asking ??= this.ask().finally(() => {
      this.#asking = undefined;
    });
    const tables = await this.#asking;
    const found = tables.get(name);
    if (found === undefined)
      throw mustBe("NOT_FOUND", "table", `one of ${[...tables.keys()].join(", ")}, the tables of the Reverb server at ${this.#channel.address}`, name);
    return found;
  }
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
