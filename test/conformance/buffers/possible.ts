/** Computes the possible results of random draws from a buffer, and their probabilities, from lists and the documented rules. */
import { TFUniformReplayBuffer } from "../../../src/tf-agents/index.ts";
import { plain } from "./values.ts";
import type { Buffer } from "./world.ts";

export interface Possible {
  /** Nested arrays: [T], or [] for a single frame. */
  readonly data: unknown;
  readonly ids: unknown;
  readonly probability: number;
}

/** Returns all possible results of a draw without a batch. */
export function possible(buffer: Buffer, numSteps: number | undefined): Possible[] {
  return buffer instanceof TFUniformReplayBuffer ? ofFrames(buffer, numSteps) : ofEpisodes(buffer, numSteps);
}

function ofFrames(buffer: TFUniformReplayBuffer, numSteps: number | undefined): Possible[] {
  const frames = [...buffer.asDataset({ singleDeterministicPass: true })].map(([items, { ids }]) => ({ data: plain(items), id: plain(ids) as number }));
  const steps = frames.length / buffer.batchSize;
  const starts: { data: unknown; ids: unknown }[] = [];
  for (let segment = 0; segment < buffer.batchSize; segment++) {
    const own = frames.slice(segment * steps, (segment + 1) * steps).map(({ data, id }) => ({ data, time: id - segment * buffer.maxLength }));
    for (let start = 0; start + (numSteps ?? 1) <= steps; start++) {
      const window = own.slice(start, start + (numSteps ?? 1));
      const [first] = window as [(typeof own)[0]];
      starts.push(
        numSteps === undefined ? { data: first.data, ids: first.time } : { data: stacked(window.map((one) => one.data)), ids: window.map((one) => one.time) },
      );
    }
  }
  return starts.map((start) => ({ ...start, probability: 1 / starts.length }));
}

function ofEpisodes(buffer: Exclude<Buffer, TFUniformReplayBuffer>, numSteps: number | undefined): Possible[] {
  // A pass over whole episodes returns the episodes that can be drawn.
  const episodes = [...buffer.asDataset({ singleDeterministicPass: true })].map(([items, { ids }]) => ({ steps: unstacked(plain(items)), id: plain(ids) }));
  if (numSteps === undefined) return episodes.map(({ steps, id }) => ({ data: stacked(steps), ids: id, probability: 1 / episodes.length }));
  const long = episodes.filter(({ steps }) => steps.length >= numSteps);
  const total = long.reduce((sum, { steps }) => sum + steps.length, 0);
  return long.flatMap(({ steps, id }) => {
    const starts = steps.length - numSteps + 1;
    return Array.from({ length: starts }, (_, start) => ({
      data: stacked(steps.slice(start, start + numSteps)),
      ids: id,
      probability: steps.length / total / starts,
    }));
  });
}

/** Stacks nests of numbers along a new first dimension of each leaf. */
export function stacked(items: readonly unknown[]): unknown {
  const [first] = items;
  if (typeof first !== "object" || first === null || Array.isArray(first)) return items;
  return Object.fromEntries(Object.keys(first).map((key) => [key, stacked(items.map((item) => (item as { [key: string]: unknown })[key]))]));
}

/** Reverses `stacked`: returns the items along the first dimension. */
export function unstacked(nest: unknown): unknown[] {
  if (Array.isArray(nest)) return nest;
  const parts = Object.entries(nest as object).map(([key, part]) => [key, unstacked(part)] as const);
  const [, first] = parts[0] as readonly [string, unknown[]];
  return first.map((_, i) => Object.fromEntries(parts.map(([key, part]) => [key, part[i]])));
}
