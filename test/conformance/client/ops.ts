/** Implements the ops of the client family that the table family lacks. Each op calls the public API. */

import { f64, ReplayError } from "../../../src/index.ts";
import { type HistoryColumn, type PriorityChanges, type TrajectoryColumn, TrajectoryDataset } from "../../../src/tf-agents/index.ts";
import { ourArguments } from "../arguments.ts";
import { Malformed, numberOf, type Op, type Result, type TableArgs } from "../case.ts";
import { nestedColumn } from "../nested.ts";
import { OPS } from "../ops.ts";
import { build, dataBranch } from "../step-spec.ts";
import { selectorOf } from "../tables/options.ts";
import { DEFAULT_WRITER, WAIT_MS } from "../world.ts";
import { dtypeName, nameOfDtype, plainDefinition, plainSample, plainSignature, plainTableInfo, snake } from "./values.ts";
import { type ClientWorld, defined } from "./world.ts";

type Args = { readonly [name: string]: unknown };
type Run = (world: ClientWorld, args: Args, op: Op) => Result | Promise<Result>;

/** A key that no item has. */
const NO_KEY = 0;

/** Returns a short limit, because a result that is not immediate does not arrive later. */
function waited(timeout: unknown): number {
  return Math.min((timeout as number | null | undefined) ?? WAIT_MS, WAIT_MS);
}

export const CLIENT_OPS: { readonly [kind: string]: Run } = {
  ...(OPS as { readonly [kind: string]: Run }),
  insert_data: async (world, args) => {
    const name = world.nameOf(args);
    const priorities = (args.priorities ?? { [name]: 1 }) as { readonly [table: string]: number };
    await world.client.insert({ [dataBranch(args.spec)]: build(args.spec, args.data) }, priorities, { timeoutMs: WAIT_MS });
    return {};
  },
  client_sample: async (world, args) => {
    const { num_samples, emit_timesteps, unpack_as_table_signature } = (args.args ?? {}) as Args;
    const options = ourArguments({ emit_timesteps, unpack_as_table_signature });
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    const signal = AbortSignal.timeout(20 * WAIT_MS);
    const samples: unknown[] = [];
    for await (const sample of world.client.sample(world.nameOf(args), num_samples as number, { ...given, signal }))
      samples.push(Array.isArray(sample) ? sample.map((step) => plainSample(step, world.seen)) : plainSample(sample as never, world.seen));
    return { samples };
  },
  mutate_priorities: async (world, args) => {
    const keys = new Map([...world.seen].map(([key, number]) => [number, key as number]));
    const keyOf = (number: number) => keys.get(number) ?? NO_KEY;
    const updates = (args.updates as readonly (readonly [number, unknown])[] | undefined)?.map(
      ([item, priority]) => [keyOf(item), numberOf(priority)] as const,
    );
    const deletes = (args.deletes as readonly number[] | undefined)?.map(keyOf);
    await world.client.mutatePriorities(world.nameOf(args), { ...(updates && { updates }), ...(deletes && { deletes }) } as PriorityChanges);
    return {};
  },
  reset: async (world, args) => {
    await world.client.reset(world.nameOf(args));
    return {};
  },
  server_info: async (world, args) => {
    const info = await world.client.serverInfo(ourArguments(args.args ?? {}));
    return {
      tables: Object.fromEntries(Object.entries(info).map(([name, one]) => [name, { ...plainTableInfo(one), signature: plainSignature(one.signature) }])),
    };
  },
  sample_info: (world) => {
    const { info } = new TrajectoryDataset(world.client, "t", { spec: f64() }).elementSpec;
    return { fields: Object.keys(info).map(snake) };
  },
  limiter: (world, args) => plainDefinition((world.definitions.get(world.nameOf(args)) as ReturnType<typeof defined>).info),
  table: (_, args) => plainDefinition(defined(args.table as TableArgs).info),
  replace: (world, args) => {
    const { sampler, remover, ...rest } = ourArguments(args.args);
    const selectors = { ...(sampler !== undefined && { sampler: selectorOf(sampler) }), ...(remover !== undefined && { remover: selectorOf(remover) }) };
    const table = world.definitions.get(world.nameOf(args)) as ReturnType<typeof defined>;
    return plainDefinition(table.replace({ ...rest, ...selectors }).info);
  },

  // columns
  column: (world, args) => keep(world, args, picked(historyOf(world, args), args), nameOfWriter(args), "x"),
  of_column: (world, args) => {
    const { column, writer } = kept(world, args.column ?? "x");
    return keep(world, args, picked(column, args), writer, "y");
  },
  again: (world, args) => shown(kept(world, args.column ?? "x").column),
  history: (world, args) => ({ length: historyOf(world, args).length }),
  history_iter: (world, args) => ({ values: [...historyOf(world, args)].map((column) => (column === null ? null : nestedColumn(column.values()))) }),
  create_item_of: (world, args) => {
    const { trajectory, priority = 1 } = args;
    const columns = Object.entries(trajectory as Args).map(([name, column]) => [name, typeof column === "string" ? kept(world, column).column : column]);
    world.trajectoryWriter(args).createItem(world.nameOf(args), numberOf(priority) as number, Object.fromEntries(columns));
    return {};
  },
  items: async (world, args) => {
    const name = world.nameOf(args);
    const { currentSize } = world.client.serverInfo()[name] ?? { currentSize: 0 };
    const items: Result[] = [];
    let dtypes: unknown;
    for (let i = 0; i < currentSize; i++) {
      for (const { info, data } of world.client.sample(name, 1, { emitTimesteps: false })) {
        dtypes ??= data.map(dtypeName);
        items.push({ priority: info.priority, columns: data.map(nestedColumn) });
      }
    }
    return { items, ...(dtypes !== undefined && { dtypes }) } as Result;
  },
  episode_steps: (world, args) => ({ value: world.trajectoryWriter(args).episodeSteps }),
  end_episode: async (world, args) => {
    const { clear_buffers = true, timeout_ms } = (args.args ?? {}) as Args;
    await world.trajectoryWriter(args).endEpisode({ clearBuffers: clear_buffers as boolean, timeoutMs: waited(timeout_ms) });
    return {};
  },
  flush: async (world, args) => {
    const { block_until_num_items = 0, timeout_ms } = (args.args ?? {}) as Args;
    await world.anyWriter(args).flush({ timeoutMs: waited(timeout_ms), blockUntilNumItems: block_until_num_items as number });
    return {};
  },
  context: async (world, args) => {
    using writer = world.client.trajectoryWriter(ourArguments(args.args) as never);
    world.writers.set(DEFAULT_WRITER, writer);
    const results: Result[] = [];
    for (const op of args.ops as readonly Op[]) {
      const run = CLIENT_OPS[op[0]];
      if (run === undefined) throw new Malformed(`unknown op ${JSON.stringify(op[0])}`);
      results.push(await run(world, op[1] ?? {}, [op[0], op[1] ?? {}]));
    }
    return { results };
  },
};

function nameOfWriter({ writer = DEFAULT_WRITER }: Args): string {
  return writer as string;
}

export function kept(world: ClientWorld, name: unknown) {
  const found = world.columns.get(name as string);
  if (found === undefined) throw new Malformed(`no column ${JSON.stringify(name)} was kept`);
  return found;
}

/** Returns the column of a history. If the spec is a leaf, this is the history itself. */
function historyOf(world: ClientWorld, args: Args): HistoryColumn {
  const path = ["step", ...[args.field].flat()] as readonly string[];
  const history: unknown = world.trajectoryWriter(args).history;
  const found = path.reduce<unknown>((node, key) => (node as { readonly [key: string]: unknown } | undefined)?.[key], history);
  if (found === undefined) throw new ReplayError("NOT_FOUND", `the history has no ${path.join(".")}`);
  return found as HistoryColumn;
}

function picked(of: HistoryColumn | TrajectoryColumn, { slice, at }: Args): TrajectoryColumn {
  if (Array.isArray(slice)) return slice.length === 1 ? of.slice(null, slice[0]) : of.slice(...(slice as [number | null]));
  return Array.isArray(at) ? of.list(at) : of.at(at as number);
}

function keep(world: ClientWorld, args: Args, column: TrajectoryColumn, writer: string, name: string): Result {
  const result = shown(column);
  world.columns.set((args.as as string | undefined) ?? name, { column, writer });
  return result;
}

function shown(column: TrajectoryColumn): Result {
  const { length, shape, dtype, isSqueezed } = column;
  return { length, shape, dtype: nameOfDtype(dtype === "bool" ? "u8" : dtype), is_squeezed: isSqueezed, values: nestedColumn(column.values()) };
}
