/** Implements the ops of the dataset family that the client family lacks. */

import type { Column } from "../../../src/index.ts";
import {
  PatternDataset,
  patternDatasetWithInfo,
  ReverbReplayBuffer,
  type SampleBatch,
  type SampleDataset,
  type SampleInfo,
  TimestepDataset,
  TrajectoryDataset,
} from "../../../src/tf-agents/index.ts";
import { ourArguments } from "../arguments.ts";
import { Malformed, type Op, type Result } from "../case.ts";
import { kindOf } from "../meaning.ts";
import { nestedColumn } from "../nested.ts";
import { build, ourSpec } from "../step-spec.ts";
import { configOf } from "../structured/configs.ts";
import { WAIT_MS } from "../world.ts";
import { CLIENT_OPS } from "./ops.ts";
import { plainData, plainInfo, plainSignature, plainTableInfo, snake } from "./values.ts";
import type { ClientWorld } from "./world.ts";

type Args = { readonly [name: string]: unknown };
type Run = (world: ClientWorld, args: Args, op: Op) => Result | Promise<Result>;

const CLASSES = { TrajectoryDataset, TimestepDataset };
const DEFAULTS = { max_in_flight_samples_per_worker: 1, num_workers_per_iterator: 1, rate_limiter_timeout_ms: 300 };

export const DATASET_OPS: { readonly [kind: string]: Run } = {
  ...CLIENT_OPS,
  dataset: async (world, args) => {
    const made = await datasetOf(world, args);
    if (args.element_spec === true) {
      const { info, data } = made.elementSpec;
      return { info: snakeKeys(info, plainSignature), data: plainSignature(data) };
    }
    const elements = args.batch === undefined ? made : made.batch(args.batch as number);
    return taken(elements as AsyncIterable<Element>, args.take as number, ({ info, data }) => ({
      info: typeof info.priority === "number" ? plainInfo(info as SampleInfo, world.seen) : batchInfo(info as SampleBatch["info"], world.seen),
      data: plainData(data),
    }));
  },
  pattern_dataset: async (_, args) => {
    const { spec, steps, configs, respect_episode_boundaries, end, with_info, element_spec, take = 50 } = args as Args & { readonly steps: readonly unknown[] };
    const own = ourSpec(spec);
    const source = steps.map((step) => build(spec, step));
    const made = (configs as readonly unknown[]).map((config) => configOf(config, own));
    const isEnd = (step: unknown) => Number((step as { readonly [field: string]: ArrayLike<unknown> })[end as string]?.[0]) === 1;
    const options = { respectEpisodeBoundaries: respect_episode_boundaries as boolean, isEndOfEpisode: isEnd };
    if (with_info === true) {
      const elements = [...patternDatasetWithInfo(source, made, options)].map(({ info, data }) => ({ info: Object.values(info), data: plainData(data) }));
      return { elements };
    }
    const dataset = new PatternDataset(source, made, options);
    if (element_spec === true) return { data: plainSignature(dataset.elementSpec) };
    return taken(dataset, take as number, (data) => ({ data: plainData(data) }));
  },
  replay_buffer: (world, args) => {
    world.buffer = new ReverbReplayBuffer(world.client.spec, { client: world.client, tableName: world.nameOf(args), ...ourArguments(args.args) } as never);
    return { capacity: world.buffer.capacity };
  },
  get_table_info: (world) => {
    const info = bufferOf(world).getTableInfo();
    return { ...plainTableInfo(info), signature: plainSignature(info.signature) };
  },
  buffer_num_frames: (world) => ({ value: bufferOf(world).numFrames() }),
};

interface Element {
  readonly info: SampleInfo | SampleBatch["info"];
  readonly data: unknown;
}

async function datasetOf(world: ClientWorld, args: Args): Promise<SampleDataset> {
  const { rate_limiter_timeout_ms: timeout, ...rest } = { ...DEFAULTS, ...((args.args ?? {}) as Args) } as Args;
  const options = { ...ourArguments(rest), rateLimiterTimeoutMs: (timeout as number) > WAIT_MS ? WAIT_MS : (timeout as number) };
  const Class = CLASSES[args.class as keyof typeof CLASSES];
  if (Class === undefined) throw new Malformed(`unknown dataset ${JSON.stringify(args.class)}`);
  const table = world.nameOf(args);
  if (args.spec !== undefined) return new Class(world.client, table, { ...options, spec: ourSpec(args.spec) as never });
  return Class.fromTableSignature(world.client, table, options);
}

function bufferOf({ buffer }: ClientWorld): ReverbReplayBuffer {
  if (buffer === undefined) throw new Malformed("a replay buffer must be made first");
  return buffer;
}

/** Takes elements until there are enough, the end, or an error. */
async function taken<E>(elements: AsyncIterable<E>, take: number, show: (element: E) => Result): Promise<Result> {
  const shown: Result[] = [];
  try {
    for await (const element of elements) {
      if (shown.length < take) shown.push(show(element));
      if (shown.length === take) return { elements: shown };
    }
    return { elements: shown, ends: true };
  } catch (error) {
    if (kindOf(error) === undefined) throw error;
    return { elements: shown, error };
  }
}

function batchInfo({ key, ...rest }: SampleBatch["info"], seen: Map<unknown, number>): Result {
  const item = Array.from(key.data as ArrayLike<unknown>, (one) => plainInfo({ key: one } as never, seen).item);
  return { item, ...snakeKeys(rest, (column) => nestedColumn(column as Column)) };
}

function snakeKeys<T>(of: { readonly [name: string]: T }, each: (value: T) => unknown): Result {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [snake(name), each(value)]));
}
