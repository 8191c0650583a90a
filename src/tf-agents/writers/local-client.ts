/** Implements a client of the tables in this process. */

import { mustBe, onlyKeys } from "../../base/error.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { RemoteWriter } from "../../remote/writer.ts";
import type { ReplayOptions } from "../../replay/options.ts";
import { Replay } from "../../replay/replay.ts";
import type { Spec } from "../../schema/spec.ts";
import type { Table, TableOptions } from "../../tables/table.ts";
import type { Writer } from "../../tables/writer.ts";
import { Table as Definition, type NamedTable, setInfo } from "../sampling/table.ts";
import type { TableInfo } from "../sampling/table-info.ts";
import { type Signature, signatureOf } from "../signature.ts";
import type { ClientLike, SampleClient, TableClient } from "./client.ts";
import { ClientCalls } from "./client-calls.ts";
import { RemoteClient } from "./remote-client.ts";
import { ReplayTables } from "./replay-tables.ts";
import type { StepClient, StepWriterOptions } from "./step-client.ts";

export interface LocalClientOptions<N extends string = string> {
  /** The signatures that items must fit, by table. The items of all other tables are not checked. Default: none. */
  readonly signatures?: { readonly [K in N]?: Signature };
}

export class LocalClient<const S extends Spec = Spec, N extends string = string> extends ClientCalls<S, N, "process"> implements TableClient<S, N> {
  readonly replay: Replay<S, N>;
  readonly #tables: ReplayTables<S>;

  /**
   * Creates a client of a Replay.
   * @throws TypeError if an argument is invalid
   * @throws ReplayError NOT_FOUND if a signature names a table that the Replay does not have
   */
  constructor(replay: Replay<S, N>, options: LocalClientOptions<N> = {}) {
    hideFrames(new.target);
    if (!(replay instanceof Replay)) throw mustBe(TypeError, "client", "a Replay, or a client of a Replay", replay);
    const { signatures = {} } = onlyKeys("options", options, "signatures");
    for (const name of Object.keys(signatures)) replay.table(name as N);
    const tables = new ReplayTables<S>(replay as unknown as Replay<S, string>, { ...signatures });
    super(tables);
    this.replay = replay;
    this.#tables = tables;
  }

  /**
   * Creates the client of a new Replay, whose tables are passed as a list. Corresponds to `reverb.Server(tables)`. The `info` of a `Table` in the list then
   * reports the counts of its new table.
   * @throws RangeError if there are no tables, or if two tables have the same name
   * @throws the errors of `new Replay`
   */
  static of<const S extends Spec>(options: Omit<ReplayOptions<S>, "tables"> & { readonly tables: readonly NamedTable[] }): LocalClient<S> {
    const { tables: list, ...rest } = onlyKeys("options", options, "spec, tables, maxBytes, seed, transition, module, logger");
    if (!Array.isArray(list) || list.length === 0) throw mustBe(RangeError, "tables", "a list of at least one table", list);
    const tables: { [name: string]: TableOptions } = {};
    const signatures: { [name: string]: Signature } = {};
    (list as readonly NamedTable[]).forEach((definition, i) => {
      if (typeof definition !== "object" || definition === null)
        throw mustBe(TypeError, `tables[${i}]`, "an object with the name and the options of a table", definition);
      const { name, signature, ...table } = definition;
      if (typeof name !== "string") throw mustBe(TypeError, `tables[${i}].name`, "a string", name);
      if (Object.hasOwn(tables, name)) throw mustBe(RangeError, `tables[${i}].name`, "different from the names of the other tables", name);
      tables[name] = table;
      if (signature !== undefined) signatures[name] = signature;
    });
    const client = createClient(new Replay<S, string>({ ...rest, tables } as ReplayOptions<S>), { signatures });
    for (const definition of list) if (definition instanceof Definition) setInfo(definition, () => client.serverInfo()[definition.name] as TableInfo);
    return client;
  }

  get spec(): S {
    return this.replay.options.spec as S;
  }

  knows(table: string): boolean {
    return Object.hasOwn(this.replay.options.tables, table);
  }

  /** Returns the table of this name. @throws ReplayError NOT_FOUND if the table does not exist */
  table(name: string): Table<S> {
    return this.replay.table(name as N);
  }

  /**
   * Returns the table's signature. If the table has no signature, returns the spec of the steps with a time dimension before each leaf's shape.
   * @throws ReplayError NOT_FOUND if the table does not exist
   */
  signature(table: string): Signature {
    this.table(table);
    return this.#tables.signature(table) ?? signatureOf(this.spec);
  }

  writer(options: StepWriterOptions): Writer<S, string> {
    return this.replay.writer({ items: [], ...options } as object) as unknown as Writer<S, string>;
  }

  /**
   * Returns all tables as the bytes of a snapshot, in chunks of about 64 KiB. `Replay.restore` turns them into a Replay. Don't change the tables before the
   * last chunk is read. Signatures are not included, so pass them to the new client.
   * @throws ReplayError OUT_OF_TURN if the tables changed before the last chunk was read
   */
  checkpoint(): Iterable<Uint8Array<ArrayBuffer>> {
    return this.replay.snapshot();
  }
}

/** The client for a Replay, a remote writer or a client: the `LocalClient` of the Replay, the `StepClient` of the remote writer, or the client itself. */
export type ClientOf<C> = C extends Replay<infer S, infer N> ? LocalClient<S, N> : C extends RemoteWriter<infer S extends Spec> ? StepClient<S> : C;

/** Defined outside the class, because the class must not name itself (see inspect.ts). */
function createClient<S extends Spec, N extends string>(replay: Replay<S, N>, options: LocalClientOptions<N>): LocalClient<S, N> {
  return new LocalClient<S, N>(replay, options);
}

const locals = new WeakMap<Replay, LocalClient>();
const remotes = new WeakMap<object, unknown>();

/** Returns the client itself, or the client of a Replay or remote writer, which is always the same object. */
export function clientOf<S extends Spec, N extends string>(client: ClientLike<S, N>): StepClient<S> {
  if (client instanceof RemoteWriter) {
    const remote = (remotes.get(client) as StepClient<S> | undefined) ?? new RemoteClient<S>(client);
    remotes.set(client, remote);
    return remote;
  }
  if (!(client instanceof Replay)) {
    if (typeof client?.writer !== "function") throw mustBe(TypeError, "client", "a Replay, a client or a remote writer", client);
    return client;
  }
  const replay = client as unknown as Replay;
  const local = locals.get(replay) ?? new LocalClient(replay);
  locals.set(replay, local);
  return local as unknown as LocalClient<S, N>;
}

/** Returns the client of a value from which a program only draws. @throws TypeError if the value is neither a Replay nor a client */
export function sampleClientOf(client: SampleClient | Replay): SampleClient {
  if (client instanceof Replay) return clientOf(client as ClientLike) as LocalClient;
  if (typeof client?.sampler !== "function") throw mustBe(TypeError, "client", "a Replay, or a client with the function sampler", client);
  return client;
}
