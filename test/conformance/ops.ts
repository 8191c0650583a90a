/** Implements the ops of the table family. Each op calls the public API. */
import type { HistoryColumn, TableInfo, TrajectoryColumn } from "../../src/tf-agents/index.ts";
import { Malformed, numberOf, type Op, type Result, type TableArgs } from "./case.ts";
import { plainTableInfo } from "./client/values.ts";
import { map, pick, shapeText } from "./history.ts";
import { nestedColumn } from "./nested.ts";
import { appendSpec, branchOf, build } from "./step-spec.ts";
import { DEFAULT_WRITER, type Sampled, type TableWorld } from "./world.ts";

type Args = { readonly [name: string]: unknown };
type Run = (world: TableWorld, args: Args, op: Op) => Result | Promise<Result>;

/** The implementations of the ops by name. They work with tables of this process and of a server. */
export const OPS: { readonly [kind: string]: Run } = {
  // Tables
  insert: async (world, args) => {
    const name = world.nameOf(args);
    const known = world.test.tables.some((table) => table.name === name);
    if (known && args.force !== true && !(await world.canInsert(name, 1))) return { blocked: true };
    const priorities = (args.priorities ?? { [name]: args.priority ?? 1 }) as { [table: string]: unknown };
    const numbers = Object.fromEntries(Object.entries(priorities).map(([table, priority]) => [table, numberOf(priority) as number]));
    await world.client.insert({ insert: numberOf(args.value) as number }, numbers, { timeoutMs: world.waitMs });
    return {};
  },
  sample: async (world, args) => ({ ...((await world.sample(world.nameOf(args))) ?? { blocked: true }) }),
  sample_many: async (world, args) => ({ samples: await world.sampleMany(world.nameOf(args), args.n as number) }),
  drain: async (world, args) => {
    const name = world.nameOf(args);
    return { samples: await world.sampleMany(name, (await infoOf(world, name)).currentSize) };
  },
  sample_tally: async (world, args) => {
    const samples = await world.sampleMany(world.nameOf(args), args.n as number);
    const outcomes = new Map<unknown, { value: unknown; priority: number; probability: number; count: number }>();
    for (const { value, priority, probability } of samples) {
      const outcome = outcomes.get(value) ?? { value, priority, probability, count: 0 };
      outcome.count++;
      outcomes.set(value, outcome);
    }
    return { n: args.n, outcomes: [...outcomes.values()] };
  },
  sample_timeout: async (world, args) => {
    try {
      const [{ value }] = (await world.sampleMany(world.nameOf(args), 1)) as [Sampled];
      return { value: Array.isArray(value) ? value : [value] };
    } catch (error) {
      if ((error as { code?: unknown }).code === "TIMEOUT") return { timed_out: true };
      throw error;
    }
  },
  can_sample: async (world, args) => ({ value: await world.canSample(world.nameOf(args), args.n as number) }),
  can_insert: async (world, args) => ({ value: await world.canInsert(world.nameOf(args), args.n as number) }),
  update: async (world, args) => {
    await update(world, args);
    return {};
  },
  delete: async (world, args) => {
    await remove(world, args);
    return {};
  },
  update_and_delete: async (world, args) => {
    await update(world, args);
    await remove(world, args);
    return {};
  },
  reset: async (world, args) => {
    await world.client.reset(world.nameOf(args));
    return {};
  },
  size: async (world, args) => ({ value: (await infoOf(world, world.nameOf(args))).currentSize }),
  info: async (world, args) => plainTableInfo(await infoOf(world, world.nameOf(args))),
  checkpoint_restart: async (world, args) => {
    await world.restart(args.tables as readonly TableArgs[] | undefined);
    return {};
  },

  // Writers
  trajectory_writer: (world, args) => {
    const { num_keep_alive_refs, validate_items = true } = args;
    const made = world.client.trajectoryWriter({ numKeepAliveRefs: num_keep_alive_refs as number, validateItems: validate_items as boolean });
    world.writers.set(nameOf(args), made);
    return {};
  },
  legacy_writer: (world, args) => {
    const { max_sequence_length, chunk_length, delta_encoded, max_in_flight_items, ...rest } = args.args as Args;
    if (Object.keys(rest).length > 0) throw new Malformed(`unknown arguments of a legacy writer: ${Object.keys(rest)}`);
    const options = { maxSequenceLength: max_sequence_length, chunkLength: chunk_length, deltaEncoded: delta_encoded, maxInFlightItems: max_in_flight_items };
    world.writers.set(nameOf(args), world.client.legacyWriter(options as never));
    return {};
  },
  append: (world, args, op) => {
    const step = { [branchOf(op)]: build(appendSpec(world.test, op), args.data) };
    if (args.legacy === true) {
      world.legacyWriter(args).append(step);
      return {};
    }
    const writer = world.trajectoryWriter(args);
    writer.append(step, { partialStep: args.partial === true });
    return { episode_steps: writer.episodeSteps };
  },
  append_sequence: (world, args, op) => {
    world.legacyWriter(args).appendSequence({ legacy: build(appendSpec(world.test, op), args.data) });
    return {};
  },
  configure: (world, args) => {
    const { path, num_keep_alive_refs, max_chunk_length } = args;
    const options = { numKeepAliveRefs: num_keep_alive_refs, maxChunkLength: max_chunk_length };
    world.trajectoryWriter(args).configure(["step", ...(path as readonly string[])], options as never);
    return {};
  },
  create_item_legacy: async (world, args) => {
    await world.sent(world.legacyWriter(args).createItem(world.nameOf(args), args.num_timesteps as number, numberOf(args.priority ?? 1) as number));
    return {};
  },
  create_item: async (world, args) => {
    const writer = world.trajectoryWriter(args);
    const trajectory = args.trajectory === undefined ? world.held : pick(writer, args.trajectory);
    if (trajectory === undefined) throw new Malformed("create_item without a trajectory must come after hold");
    await world.sent(writer.createItem(world.nameOf(args), numberOf(args.priority ?? 1) as number, trajectory));
    return { shapes: map<TrajectoryColumn>(trajectory, shapeText) };
  },
  hold: (world, args) => {
    world.held = pick(world.trajectoryWriter(args), args.trajectory);
    return {};
  },
  numpy: (world, args) => ({ value: map<TrajectoryColumn>(pick(world.trajectoryWriter(args), args.trajectory), (column) => nestedColumn(column.values())) }),
  history_len: (world, args) => {
    const { step } = world.trajectoryWriter(args).history as { readonly step: unknown };
    return { value: map<HistoryColumn>(step, (column) => column.length) };
  },
  end_episode: async (world, args) => {
    const writer = world.trajectoryWriter(args);
    const { clear_buffers = true } = (args.args ?? {}) as Args;
    writer.endEpisode({ clearBuffers: clear_buffers as boolean });
    await writer.flush({ timeoutMs: world.waitMs });
    return {};
  },
  flush: async (world, args) => {
    const { block_until_num_items = 0 } = (args.args ?? {}) as Args;
    await world.anyWriter(args).flush({ timeoutMs: world.waitMs, blockUntilNumItems: block_until_num_items as number });
    return {};
  },
  close: (world, args) => {
    world.anyWriter(args).close();
    return {};
  },
};

function nameOf({ writer = DEFAULT_WRITER }: Args): string {
  return writer as string;
}

async function infoOf(world: TableWorld, table: string): Promise<TableInfo> {
  const found = (await world.client.serverInfo())[table];
  if (found === undefined) throw new Malformed(`no table ${table}`);
  return found;
}

async function update(world: TableWorld, args: Args): Promise<void> {
  const name = world.nameOf(args);
  const to = args.to as readonly (readonly [unknown, unknown])[];
  await world.client.mutatePriorities(name, { updates: to.map(([value, priority]) => [world.key(name, value), numberOf(priority) as number]) });
}

async function remove(world: TableWorld, args: Args): Promise<void> {
  const name = world.nameOf(args);
  await world.client.mutatePriorities(name, { deletes: (args.values as readonly unknown[]).map((value) => world.key(name, value)) });
}
