/** The ops of the tables' family, each a call of the public API. */
import { Malformed, numberOf, type Op, type Result } from "./case.ts";
import { flat, shapes } from "./history.ts";
import { appendSpec, branchOf, build, leafPaths } from "./step-spec.ts";
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
    await world.insert(numberOf(args.value) as number, numbers).flush({ timeoutMs: WAIT_MS });
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
    const across = world.test.ops.some(([kind, { args: how }]) => kind === "end_episode" && (how as Args | undefined)?.clear_buffers === false);
    world.writer((args.writer as string | undefined) ?? DEFAULT_WRITER, args.num_keep_alive_refs as number, across);
    return {};
  },
  legacy_writer: (world, args) => {
    world.writer((args.writer as string | undefined) ?? DEFAULT_WRITER, (args.args as Args).max_sequence_length as number, false);
    return {};
  },
  append: (world, args, op) => {
    const history = world.history(args);
    world.append(history, branchOf(op), build(appendSpec(world.test, op), args.data));
    return args.legacy === true ? {} : { episode_steps: history.writer.episodeSteps };
  },
  create_item_legacy: (world, args) => {
    const columns = Object.fromEntries(leafPaths(world.spec.legacy ?? {}, "legacy").map((leaf, i) => [`${i}`, { leaf }]));
    world
      .history(args)
      .writer.createItem(world.nameOf(args), { length: args.num_timesteps as number, priority: numberOf(args.priority ?? 1) as number, columns });
    return {};
  },
  create_item: (world, args) => {
    const history = world.history(args);
    const trajectory = args.trajectory === undefined ? world.held : history.pick(args.trajectory);
    if (trajectory === undefined) throw new Malformed("create_item without a trajectory must come after hold");
    if (flat(trajectory).length === 0) throw new Malformed("trajectory must have a column");
    history.writer.createItem(world.nameOf(args), { ...history.item(trajectory), priority: numberOf(args.priority ?? 1) as number });
    return { shapes: shapes(trajectory) };
  },
  hold: (world, args) => {
    world.held = world.history(args).pick(args.trajectory);
    return {};
  },
  history_len: (world, args) => ({ value: lengths(world.spec.step, world.history(args).length) }),
  end_episode: async (world, args) => {
    const { writer } = world.history(args);
    writer.endEpisode();
    await writer.flush({ timeoutMs: WAIT_MS });
    return {};
  },
  flush: async (world, args) => {
    await world.history(args).writer.flush({ timeoutMs: WAIT_MS });
    return {};
  },
  close: (world, args) => {
    world.history(args).writer.close();
    return {};
  },
};

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

/** The same number for every field of a step. */
function lengths(spec: unknown, length: number): unknown {
  if (typeof (spec as { dtype?: unknown }).dtype === "string") return length;
  if (Array.isArray(spec)) return spec.map((node) => lengths(node, length));
  return Object.fromEntries(Object.entries(spec as object).map(([key, node]) => [key, lengths(node, length)]));
}
