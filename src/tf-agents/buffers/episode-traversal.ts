/** Traverses the episodes once, in the order of their ids. Yields whole episodes, windows or batches of windows. */
import type { Spec } from "../../schema/spec.ts";
import { lengthOf, numbers, slice, stack, unbatch } from "../nest.ts";
import type { Windows } from "../windows.ts";
import type { EpisodeIds, EpisodeMark } from "./episodes.ts";
import { iterateWindows, preprocessItems, roundRobin } from "./iterate.ts";
import type { AsDatasetOptions, BufferInfo } from "./replay-buffer.ts";

export interface TraversalOptions extends AsDatasetOptions<Spec> {
  readonly shift: number | undefined;
  readonly dropRemainder: boolean;
}

/** A range of an episode's steps that is read in one call. */
interface EpisodeSlice {
  readonly id: number;
  readonly location: number;
  readonly begin: number;
  readonly end: number;
  /** The episode as the program's preprocessing function returned it. */
  readonly sequence: unknown;
}

type Element = readonly [items: unknown, info: BufferInfo];

/** Yields the elements of a pass. Skips episodes that are overwritten or cleared during the pass, and ignores steps that are added during the pass. */
export function* traverseEpisodes(episodes: EpisodeIds, windows: Windows, options: TraversalOptions): Generator<Element, void> {
  const { sampleBatchSize: k, numSteps, shift, dropRemainder, sequencePreprocessFn } = options;
  const read = (slices: readonly EpisodeSlice[]): unknown => {
    const [{ sequence, begin, end }] = slices as [EpisodeSlice];
    if (sequence !== undefined) return stack(slices.map((episodeSlice) => slice(episodeSlice.sequence, episodeSlice.begin, episodeSlice.end)));
    const locations = slices.map(({ location }) => location);
    const begins = slices.map((episodeSlice) => episodeSlice.begin);
    return windows.read(locations, begins, end - begin, "stacked");
  };
  const element = (slices: readonly EpisodeSlice[]): Element => [
    read(slices),
    { ids: numbers(slices.map(({ id }) => id)), probabilities: numbers(new Float64Array(slices.length).fill(1)) },
  ];
  const slicesOf = function* (marks: Iterable<EpisodeMark>): Generator<EpisodeSlice, void> {
    for (const mark of marks) {
      if (!episodes.has(mark)) continue;
      const { id, location } = mark;
      let { steps } = mark;
      let sequence: unknown;
      if (sequencePreprocessFn !== undefined) {
        sequence = preprocessItems(sequencePreprocessFn, unbatch(windows.read([location], [0], steps, "stacked")), steps, false);
        steps = lengthOf(sequence);
      }
      const width = numSteps ?? Math.max(steps, 1);
      for (const [begin, end] of iterateWindows(steps, width, numSteps === undefined ? width : (shift ?? width), k !== undefined || dropRemainder)) {
        if (!episodes.has(mark)) break;
        yield { id, location, begin, end, sequence };
      }
    }
  };
  const marks = [...episodes.validMarks()];
  if (k === undefined) {
    for (const episodeSlice of slicesOf(marks)) yield unbatch(element([episodeSlice])) as Element;
    return;
  }
  const shards = new Map<number, EpisodeMark[]>();
  for (const mark of marks) shards.set(mark.id % k, [...(shards.get(mark.id % k) ?? []), mark]);
  const sortedShards = [...shards].sort(([a], [b]) => a - b).map(([, shard]) => slicesOf(shard));
  let batch: EpisodeSlice[] = [];
  for (const episodeSlice of roundRobin(sortedShards)) {
    batch.push(episodeSlice);
    if (batch.length < k) continue;
    yield element(batch);
    batch = [];
  }
  if (batch.length > 0 && !dropRemainder) yield element(batch);
}
