/** Provides the same tables to both kinds of client, in this process and on a real server, for tests of both. */
import { afterAll, beforeAll, beforeEach } from "vitest";
import { type Column, type Dtype, minSize, type Spec, uniform } from "../../src/index.ts";
import { ReverbClient, type ReverbClientOptions } from "../../src/reverb/index.ts";
import { type Client, LocalClient, type NamedTable, type ReplaySample, type Signature } from "../../src/tf-agents/index.ts";
import { python, startServer } from "./peer.ts";

/** Sets up the tests of a `describe`, which must call this function: starts the clients before the tests, and empties the tables before each test. */
export function begun<const S extends Spec>(kind: Kind, options: { readonly spec: S; readonly tables: readonly NamedTable[] }): Clients<S> {
  let clients: Clients<S> | undefined;
  const now = () => clients as Clients<S>;
  beforeAll(async () => {
    clients = await kind.start(options);
  });
  beforeEach(async () => {
    for (const { name } of options.tables) await now().client.reset(name);
  });
  afterAll(() => clients?.stop());
  return {
    get client() {
      return now().client;
    },
    get address() {
      return now().address;
    },
    another: (given) => now().another(given),
    stop: () => now().stop(),
  };
}

/** The clients of the same tables. */
export interface Clients<S extends Spec> {
  readonly client: Client<S>;
  /** `HOST:PORT`, or undefined in this process. */
  readonly address: string | undefined;
  /** Returns another client of the same tables, as another process would create it. */
  another(options?: ReverbClientOptions<S>): Client<S>;
  /** Closes all clients and the server. */
  stop(): Promise<void>;
}

export interface Kind {
  readonly name: "LocalClient" | "ReverbClient";
  /** Whether this kind of client cannot be tested on this machine. For `describe.skipIf`. */
  readonly missing: boolean;
  start<const S extends Spec>(options: { readonly spec: S; readonly tables: readonly NamedTable[] }): Promise<Clients<S>>;
}

/** The kinds for `describe.each`. */
export const kinds: readonly Kind[] = [
  {
    name: "LocalClient",
    missing: false,
    start: async <S extends Spec>({ spec, tables }: { readonly spec: S; readonly tables: readonly NamedTable[] }) => {
      const client = LocalClient.of({ spec, tables }) as unknown as LocalClient<S>;
      return {
        client,
        address: undefined,
        another: () => client,
        stop: async () => client.replay.dispose(),
      };
    },
  },
  {
    name: "ReverbClient",
    missing: python === undefined,
    start: async <S extends Spec>({ spec, tables }: { readonly spec: S; readonly tables: readonly NamedTable[] }) => {
      const peer = await startServer(undefined, tables.map(declared));
      const made: ReverbClient<S>[] = [];
      const another = (options: ReverbClientOptions<S> = {}) => {
        const client = new ReverbClient<S>(peer.address, { spec, ...options });
        made.push(client);
        return client;
      };
      return {
        client: another(),
        address: peer.address,
        another,
        stop: async () => {
          for (const client of made) client.close();
          await peer.stop();
        },
      };
    },
  },
];

/** Returns the items of a table in order, as nested values or converted with `show`. If the table returns each item only once, this removes them. */
export async function taken(
  client: Pick<Client, "serverInfo" | "sample">,
  table: string,
  show: (item: ReplaySample<readonly Column[]>) => unknown = ({ data }) => data.map((column) => column.toArray()),
): Promise<unknown[]> {
  const { currentSize = 0 } = (await client.serverInfo())[table] ?? {};
  const found: unknown[] = [];
  if (currentSize === 0) return found;
  for await (const item of client.sample(table, currentSize, { emitTimesteps: false })) found.push(show(item));
  return found;
}

/** The prefixes of TensorFlow's dtype names. */
const LETTERS = { f: "float", i: "int", u: "uint" } as const;

function tensorFlowName(dtype: Dtype | "string"): string {
  return dtype === "bool" || dtype === "string" ? dtype : `${LETTERS[dtype[0] as keyof typeof LETTERS]}${dtype.slice(1)}`;
}

/** Returns a table in the format of server.py. */
function declared({ name, sampler = uniform(), remover = { kind: "fifo" }, maxSize, maxTimesSampled = 0, rateLimiter = minSize(1), signature }: NamedTable) {
  return { name, sampler, remover, maxSize, maxTimesSampled, rateLimiter, ...(signature !== undefined && { signature: wire(signature) }) };
}

/** Converts a nest of any names: a leaf to `[dtype, shape]` under "leaf", a list to "list". */
function wire(node: Signature): object {
  const { dtype, shape } = node as { readonly dtype?: Dtype | "string"; readonly shape?: readonly (number | null)[] };
  if (typeof dtype === "string") return { leaf: [tensorFlowName(dtype), shape] };
  if (Array.isArray(node)) return { list: (node as readonly Signature[]).map(wire) };
  return { dict: Object.fromEntries(Object.entries(node).map(([name, part]) => [name, wire(part as Signature)])) };
}
