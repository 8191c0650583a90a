/** Holds the state of a client case: that of a table case, and the definitions of the tables, stored columns, and sampled items. */
import { type ReverbReplayBuffer, Table, type TrajectoryColumn } from "../../../src/tf-agents/index.ts";
import type { TableArgs, TableCase } from "../case.ts";
import { tableOptions } from "../tables/options.ts";
import { signatureOf, World } from "../world.ts";

/** Converts a table of a case to our class. */
export function defined(args: TableArgs): Table {
  const { name, kind, max_size } = args;
  if (kind === "queue") return Table.queue(name, max_size as number, signatureOf(args));
  if (kind === "stack") return Table.stack(name, max_size as number, signatureOf(args));
  return new Table({ name, ...tableOptions(args), ...signatureOf(args) });
}

/** A stored column, with the name of its writer. */
export interface Kept {
  readonly column: TrajectoryColumn;
  readonly writer: string;
}

export class ClientWorld extends World {
  readonly definitions: ReadonlyMap<string, Table>;
  readonly columns = new Map<string, Kept>();
  /** The number of each key. */
  readonly seen = new Map<unknown, number>();
  buffer: ReverbReplayBuffer | undefined;

  constructor(test: TableCase) {
    const definitions = new Map<string, Table>();
    super(test, (args) => {
      const table = defined(args);
      definitions.set(args.name, table);
      return table;
    });
    this.definitions = definitions;
  }
}
