/** Holds the state of a replay buffer case: its buffers, its ids, and its extracted values. */

import type { Spec } from "../../../src/index.ts";
import { EpisodicReplayBuffer, type ExtractedEpisodes, StatefulEpisodicReplayBuffer, TFUniformReplayBuffer } from "../../../src/tf-agents/index.ts";
import { isObject, Malformed } from "../case.ts";
import { bufferSpec, isColumn } from "./values.ts";

export type Buffer = TFUniformReplayBuffer | EpisodicReplayBuffer | StatefulEpisodicReplayBuffer;
type Args = { readonly [name: string]: unknown };

/** Returns the begin or end function that a case names: a field of the items, an entry of a field, or a constant. */
function flagFn(name: unknown): unknown {
  if (name === undefined) return undefined;
  if (name === "true" || name === "false") return () => name === "true";
  const [, field, index] = /^(begin|end)(?:\[(-?\d+)\])?$/.exec(String(name)) ?? [];
  if (field === undefined) return name;
  return (items: { readonly [field: string]: unknown }) => {
    const column = items[field];
    if (!isColumn(column)) throw new Malformed(`items have no field ${field}`);
    return index === undefined ? column : Array.from(column.data as Uint8Array).at(Number(index));
  };
}

export class BufferWorld {
  readonly spec: Spec;
  /** The spec in the case. */
  readonly theirSpec: unknown;
  readonly #buffers: ReadonlyMap<string, Buffer>;
  readonly ids = new Map<string, number | readonly number[]>();
  extracted: ExtractedEpisodes | undefined;
  readonly warnings: string[] = [];

  constructor(raw: Args) {
    if (!isObject(raw.buffers)) throw new Malformed("buffers must be an object");
    this.theirSpec = raw.spec;
    this.spec = bufferSpec(raw.spec);
    this.#buffers = new Map(Object.entries(raw.buffers).map(([name, args]) => [name, this.#make(args as Args)]));
  }

  buffer(name: unknown = "a"): Buffer {
    const found = this.#buffers.get(String(name));
    if (found === undefined) throw new Malformed(`no buffer ${JSON.stringify(name)}`);
    return found;
  }

  #make({ class: kind, num_episodes, ...args }: Args): Buffer {
    const { dataset_drop_remainder: datasetDropRemainder, dataset_window_shift: datasetWindowShift, capacity, ...rest } = args;
    const common = { datasetDropRemainder, datasetWindowShift, seed: 1 } as { seed: number };
    if (kind === "TFUniformReplayBuffer") {
      const { batch_size: batchSize, max_length: maxLength } = rest as { batch_size: number; max_length: number };
      return new TFUniformReplayBuffer(this.spec, { ...common, batchSize, maxLength });
    }
    if (kind !== "EpisodicReplayBuffer" && kind !== "StatefulEpisodicReplayBuffer") throw new Malformed(`unknown buffer ${JSON.stringify(kind)}`);
    const { completed_only: completedOnly, buffer_size: bufferSize, begin_episode_fn, end_episode_fn } = rest;
    const options = { ...common, capacity, completedOnly, bufferSize, beginEpisodeFn: flagFn(begin_episode_fn), endEpisodeFn: flagFn(end_episode_fn) };
    const buffer = new EpisodicReplayBuffer(this.spec, { ...options, onWarning: (text: string) => this.warnings.push(text) } as never);
    return kind === "EpisodicReplayBuffer" ? buffer : new StatefulEpisodicReplayBuffer(buffer, num_episodes as number);
  }
}
