/** Implements the ops of the replay buffer cases, by name. Each makes the call on our buffer, and returns our answer in the format of the cases. */
import { EpisodicReplayBuffer, TFUniformReplayBuffer } from "../../../src/tf-agents/index.ts";
import { ourArguments } from "../arguments.ts";
import { Malformed, type Op, type Result } from "../case.ts";
import { kindOf } from "../meaning.ts";
import { possible } from "./possible.ts";
import { double, given, plain, shapes } from "./values.ts";
import type { Buffer, BufferWorld } from "./world.ts";

type Args = Op[1];

function add(kind: "addBatch" | "addSequence") {
  return (world: BufferWorld, { on, items, spec, ids = "ids", literal_ids }: Args): Result => {
    const buffer = world.buffer(on);
    const batch = given(spec ?? world.theirSpec, items);
    if (buffer instanceof TFUniformReplayBuffer) {
      buffer.addBatch(batch);
      return {};
    }
    if (!(buffer instanceof EpisodicReplayBuffer)) return { ids: buffer[kind](batch) };
    const added = buffer[kind](batch, (literal_ids ?? world.ids.get(String(ids))) as never);
    world.ids.set(String(ids), added);
    return { ids: added };
  };
}

function episodic(buffer: Buffer): Exclude<Buffer, TFUniformReplayBuffer> {
  if (buffer instanceof TFUniformReplayBuffer) throw new Malformed("the buffer has no episodes");
  return buffer;
}

function dataset(world: BufferWorld, { on, args, take }: Args): Result {
  const buffer = world.buffer(on);
  const { sequencePreprocessFn, ...options } = ourArguments(args) as { sequencePreprocessFn?: unknown; numSteps?: number; singleDeterministicPass?: boolean };
  if (sequencePreprocessFn !== undefined && sequencePreprocessFn !== "double")
    throw new Malformed(`unknown sequence_preprocess_fn ${String(sequencePreprocessFn)}`);
  const fn = sequencePreprocessFn === undefined ? undefined : (items: unknown) => double(world.spec, items);
  const elements: unknown[] = [];
  // A rejected call returns no elements. An iteration that fails midway has returned some.
  const found = buffer.asDataset({ ...options, sequencePreprocessFn: fn });
  try {
    for (const [items, info] of found) {
      if (elements.length === take) return { elements };
      elements.push([plain(items), plain(info)]);
    }
    return { elements, ends: true };
  } catch (error) {
    if (kindOf(error) === undefined) throw error;
    return { elements, error };
  }
}

function tally(world: BufferWorld, { on, args, take }: Args): Result {
  const { sampleBatchSize = 1, ...options } = ourArguments(args) as { sampleBatchSize?: number; numSteps?: number };
  const counts = new Map<string, { count: number; probability: number }>();
  let left = take as number;
  for (const [items, { probabilities }] of world.buffer(on).asDataset({ ...options, ...(sampleBatchSize === 1 ? {} : { sampleBatchSize }) })) {
    const { v } = plain(items) as { v: unknown[] };
    for (const [i, value] of (sampleBatchSize === 1 ? [v] : v).entries()) {
      const key = JSON.stringify(value);
      counts.set(key, { count: (counts.get(key)?.count ?? 0) + 1, probability: probabilities.data[i] as number });
    }
    if (--left === 0) break;
  }
  const all = possible(world.buffer(on), options.numSteps).map(({ data, probability }) => ({ value: JSON.stringify((data as { v: unknown }).v), probability }));
  return { draws: (take as number) * sampleBatchSize, counts, possible: all };
}

export const BUFFER_OPS: { readonly [name: string]: (world: BufferWorld, args: Args) => Result } = {
  add_batch: add("addBatch"),
  add_sequence: add("addSequence"),
  num_frames: (world, { on }) => ({ value: world.buffer(on).numFrames() }),
  capacity: (world, { on }) => ({ value: world.buffer(on).capacity }),
  clear(world, { on, args }) {
    world.buffer(on).clear(ourArguments(args));
    return {};
  },
  gather_all(world, { on }) {
    const all = world.buffer(on).gatherAll();
    return { data: plain(all), shapes: shapes(all) };
  },
  get_next(world, { on, args }) {
    const buffer = world.buffer(on);
    const [items, info] = buffer.getNext(ourArguments(args));
    const { ids, probabilities } = info;
    return {
      shapes: shapes(items),
      info_shapes: { ids: shapes(ids), probabilities: shapes(probabilities) },
      probabilities: plain(probabilities),
      whole: buffer instanceof TFUniformReplayBuffer ? undefined : possible(buffer, undefined).map(({ data }) => data),
    };
  },
  get_next_tally(world, { on, args }) {
    const [items, { ids, probabilities }] = world.buffer(on).getNext(ourArguments(args));
    const data = plain(items) as unknown[];
    const rows = (plain(ids) as unknown[]).map((id, i) => [id, data[i]]);
    const counts = new Map<string, { count: number; probability: number }>();
    for (const [i, row] of rows.entries()) {
      const key = JSON.stringify(row);
      counts.set(key, { count: (counts.get(key)?.count ?? 0) + 1, probability: probabilities.data[i] as number });
    }
    const all = possible(world.buffer(on), ourArguments(args).numSteps as number | undefined);
    return { draws: rows.length, counts, possible: all.map(({ data, ids, probability }) => ({ value: JSON.stringify([ids, data]), probability })) };
  },
  dataset,
  dataset_tally: tally,
  create_episode_ids(world, { on, ids = "ids", num_episodes }) {
    const made = episodic(world.buffer(on)).createEpisodeIds((num_episodes ?? undefined) as number);
    world.ids.set(String(ids), made);
    return { ids: made };
  },
  episode_ids(world, { on }) {
    const buffer = episodic(world.buffer(on));
    if (buffer instanceof EpisodicReplayBuffer) throw new Malformed("only a stateful buffer has episode_ids");
    return { ids: buffer.episodeIds };
  },
  completed_episodes: (world, { on }) => ({ ids: episodic(world.buffer(on)).completedEpisodes() }),
  get_valid_ids_mask: (world, { on, ids }) => ({ mask: [...episodic(world.buffer(on)).getValidIdsMask(ids as number[])] }),
  get_episode: (world, { on, id }) => ({ data: plain(episodic(world.buffer(on)).getEpisode(id as number)) }),
  extract(world, { on, locations, clear_data }) {
    world.extracted = episodic(world.buffer(on)).extract(locations as number[], clear_data as boolean | undefined);
    return { length: [...world.extracted.length], completed: [...world.extracted.completed] };
  },
  extend_episodes(world, { on, ids = "ids", indices }) {
    const buffer = episodic(world.buffer(on));
    const { extracted } = world;
    if (extracted === undefined) throw new Malformed("nothing was extracted");
    if (!(buffer instanceof EpisodicReplayBuffer)) return { ids: buffer.extendEpisodes(indices as number[], extracted) };
    const extended = buffer.extendEpisodes(world.ids.get(String(ids)) as number[], indices as number[], extracted);
    world.ids.set(String(ids), extended);
    return { ids: extended };
  },
};
