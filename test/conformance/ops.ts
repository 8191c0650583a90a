/** The ops of the tables' family, each a call of the public API. */
import type { HistoryColumn, TrajectoryColumn } from "../../src/agents/index.ts";
import { Malformed, numberOf, type Op, type Result } from "./case.ts";
import { map, pick, shapeText } from "./history.ts";
import { nestedColumn } from "./nested.ts";
import { appendSpec, branchOf, build } from "./step-spec.ts";
import { DEFAULT_WRITER, WAIT_MS, type World } from "./world.ts";

type Args = { readonly [name: string]: unknown };
type Run = (world: World, args: Args, op: Op) => Result | Promise<Result>;

/** Every table's `samples` and `inserts` under the names of Reverb's info. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

export const OPS: { readonly [kind: string]: Run } = {
  // tables
  insert: async (world, args) => {
    const name = world.nameOf(args);
    const known = world.test.tables.some((table) => table.name === name);
    if (known && args.force !== true && !world.table(name).canInsert(1)) return { blocked: true };
    const priorities = (args.priorities ?? { [name]: args.priority ?? 1 }) as { [table: string]: unknown };
    const numbers = Object.fromEntries(Object.entries(priorities).map(([table, priority]) => [table, numberOf(priority) as number]));
    await world.client.insert({ insert: numberOf(args.value) as number }, numbers, { timeoutMs: WAIT_MS });
    return {};
  },
  sample: (world, args) => ({ ...(world.sample(world.nameOf(args)) ?? { blocked: true }) }),
  sample_many: async (world, args) => ({ samples: await sampleMany(world, world.nameOf(args), args.n as number) }),
  drain: async (world, args) => {
    const name = world.nameOf(args);
    return { samples: await sampleMany(world, name, world.table(name).size) };
  },
  sample_tally: async (world, args) => {
    const samples = await sampleMany(world, world.nameOf(args), args.n as number);
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
      const { value } = await world.mustSample(world.nameOf(args));
      return { value: Array.isArray(value) ? value : [value] };
    } catch (error) {
      if ((error as { code?: unknown }).code === "TIMEOUT") return { timed_out: true };
      throw error;
    }
  },
  can_sample: (world, args) => ({ value: world.table(world.nameOf(args)).canSample(args.n as number) }),
  can_insert: (world, args) => ({ value: world.table(world.nameOf(args)).canInsert(args.n as number) }),
  update: (world, args) => {
    update(world, args);
    return {};
  },
  delete: (world, args) => {
    remove(world, args);
    return {};
  },
  update_and_delete: (world, args) => {
    update(world, args);
    remove(world, args);
    return {};
  },
  reset: (world, args) => {
    world.table(world.nameOf(args)).clear();
    return {};
  },
  size: (world, args) => ({ value: world.table(world.nameOf(args)).size }),
  info: (world, args) => {
    const table = world.table(world.nameOf(args));
    const { name, maxSize, size, episodes, deletedEpisodes, uniqueSamples, inserts, samples } = table.stats();
    const { maxTimesSampled, rateLimiter } = table.options;
    return {
      name,
      max_size: maxSize,
      max_times_sampled: maxTimesSampled === NO_LIMIT ? 0 : maxTimesSampled,
      current_size: size,
      num_episodes: episodes,
      num_deleted_episodes: deletedEpisodes,
      num_unique_samples: uniqueSamples,
      rate_limiter: {
        samples_per_insert: rateLimiter.samplesPerInsert,
        min_size_to_sample: rateLimiter.minSize,
        min_diff: rateLimiter.minDiff,
        max_diff: rateLimiter.maxDiff,
        inserts_completed: inserts,
        samples_completed: samples,
      },
    };
  },
  checkpoint_restart: (world, args) => {
    world.restart();
    // A server that comes up asks the checkpoint for its tables.
    for (const { name } of (args.tables as readonly { name: string }[] | undefined) ?? world.test.tables) world.table(name);
    return {};
  },

  // writers
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
  create_item_legacy: (world, args) => {
    world.legacyWriter(args).createItem(world.nameOf(args), args.num_timesteps as number, numberOf(args.priority ?? 1) as number);
    return {};
  },
  create_item: (world, args) => {
    const writer = world.trajectoryWriter(args);
    const trajectory = args.trajectory === undefined ? world.held : pick(writer, args.trajectory);
    if (trajectory === undefined) throw new Malformed("create_item without a trajectory must come after hold");
    writer.createItem(world.nameOf(args), numberOf(args.priority ?? 1) as number, trajectory);
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
    await writer.flush({ timeoutMs: WAIT_MS });
    return {};
  },
  flush: async (world, args) => {
    const { block_until_num_items = 0 } = (args.args ?? {}) as Args;
    await world.anyWriter(args).flush({ timeoutMs: WAIT_MS, blockUntilNumItems: block_until_num_items as number });
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

async function sampleMany(world: World, table: string, n: number): Promise<Awaited<ReturnType<World["mustSample"]>>[]> {
  const samples = [];
  for (let i = 0; i < n; i++) samples.push(await world.mustSample(table));
  return samples;
}

function update(world: World, args: Args): void {
  const name = world.nameOf(args);
  const to = args.to as readonly (readonly [unknown, unknown])[];
  const priorities = to.map(([, priority]) => numberOf(priority) as number);
  world.table(name).updatePriorities(
    to.map(([value]) => world.key(name, value)),
    priorities,
  );
}

function remove(world: World, args: Args): void {
  const name = world.nameOf(args);
  world.table(name).delete((args.values as readonly unknown[]).map((value) => world.key(name, value)));
}
