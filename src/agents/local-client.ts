/** A client of the tables in this process. */
import { internals, type Leaf, Replay, type Spec, type Table, type Writer } from "../index.ts";
import type { Client, ClientLike, Signature, StepWriterOptions, TableClient } from "./client.ts";

export class LocalClient<const S extends Spec = Spec, N extends string = string> implements TableClient<S> {
  readonly replay: Replay<S, N>;

  constructor(replay: Replay<S, N>) {
    if (!(replay instanceof Replay)) throw internals.mustBe(TypeError, "client", "a Replay, or a client of one", replay);
    this.replay = replay;
  }

  get spec(): S {
    return this.replay.options.spec as S;
  }

  knows(table: string): boolean {
    return Object.hasOwn(this.replay.options.tables, table);
  }

  /** @throws ReplayError NOT_FOUND */
  table(name: string): Table<S> {
    return this.replay.table(name as N);
  }

  /** The spec of the steps, with a dimension of time before each leaf's own. @throws ReplayError NOT_FOUND */
  signature(table: string): Signature {
    this.table(table);
    return signatureOf(this.spec);
  }

  writer(options: StepWriterOptions): Writer<S, string> {
    return this.replay.writer(options as object) as unknown as Writer<S, string>;
  }
}

const locals = new WeakMap<Replay, LocalClient>();

/** The client itself, or the one of a Replay; always the same one. */
export function clientOf<S extends Spec, N extends string>(client: ClientLike<S, N>): Client<S> {
  if (!(client instanceof Replay)) {
    if (typeof client?.writer !== "function") throw internals.mustBe(TypeError, "client", "a Replay, or a client", client);
    return client;
  }
  const replay = client as unknown as Replay;
  const local = locals.get(replay) ?? new LocalClient(replay);
  locals.set(replay, local);
  return local as unknown as LocalClient<S, N>;
}

function signatureOf(spec: Spec): Signature {
  if (typeof (spec as Leaf).dtype === "string") return { dtype: (spec as Leaf).dtype, shape: [null, ...shapeOf(spec as Leaf)] };
  if (Array.isArray(spec)) return spec.map(signatureOf);
  return Object.fromEntries(Object.entries(spec).map(([name, node]) => [name, signatureOf(node as Spec)]));
}

/** A value's shape: the stack first, where there is one. */
function shapeOf({ shape, stack }: Leaf): readonly number[] {
  return stack === undefined ? shape : [stack, ...shape];
}
