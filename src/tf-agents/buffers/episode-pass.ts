/** One pass over episodes, in order of their ids: whole, in windows, or in batches of windows. */
import type { Spec } from "../../schema/spec.ts";
import { lengthOf, numbers, slice, stack, unbatch } from "../nest.ts";
import type { Windows } from "../windows.ts";
import type { EpisodeIds, EpisodeMark } from "./episodes.ts";
import { inTurn, preprocessed, windowsOver } from "./pass.ts";
import type { AsDatasetOptions, BufferInfo } from "./replay-buffer.ts";

export interface EpisodePassOptions extends AsDatasetOptions<Spec> {
  readonly shift: number | undefined;
  readonly dropRemainder: boolean;
}

/** Steps of an episode that go together. */
interface Cut {
  readonly id: number;
  readonly location: number;
  readonly begin: number;
  readonly end: number;
  /** What a program's function made of the episode. */
  readonly sequence: unknown;
}

type Element = readonly [items: unknown, info: BufferInfo];

/** The elements of a pass. Episodes that are overwritten or cleared meanwhile are left out; steps that come meanwhile, too. */
export function* episodePass(episodes: EpisodeIds, windows: Windows, options: EpisodePassOptions): Generator<Element, void> {
  const { sampleBatchSize: k, numSteps, shift, dropRemainder, sequencePreprocessFn } = options;
  const read = (cuts: readonly Cut[]): unknown => {
    const [{ sequence, begin, end }] = cuts as [Cut];
    if (sequence !== undefined) return stack(cuts.map((cut) => slice(cut.sequence, cut.begin, cut.end)));
    const locations = cuts.map(({ location }) => location);
    const begins = cuts.map((cut) => cut.begin);
    return windows.read(locations, begins, end - begin, "stacked");
  };
  const element = (cuts: readonly Cut[]): Element => [
    read(cuts),
    { ids: numbers(cuts.map(({ id }) => id)), probabilities: numbers(new Float64Array(cuts.length).fill(1)) },
  ];
  const cuts = function* (marks: Iterable<EpisodeMark>): Generator<Cut, void> {
    for (const mark of marks) {
      if (!episodes.has(mark)) continue;
      const { id, location } = mark;
      let { steps } = mark;
      let sequence: unknown;
      if (sequencePreprocessFn !== undefined) {
        sequence = preprocessed(sequencePreprocessFn, unbatch(windows.read([location], [0], steps, "stacked")), steps, false);
        steps = lengthOf(sequence);
      }
      const width = numSteps ?? Math.max(steps, 1);
      for (const [begin, end] of windowsOver(steps, width, numSteps === undefined ? width : (shift ?? width), k !== undefined || dropRemainder)) {
        if (!episodes.has(mark)) break;
        yield { id, location, begin, end, sequence };
      }
    }
  };
  const marks = [...episodes.chosen()];
  if (k === undefined) {
    for (const cut of cuts(marks)) yield unbatch(element([cut])) as Element;
    return;
  }
  const shards = new Map<number, EpisodeMark[]>();
  for (const mark of marks) shards.set(mark.id % k, [...(shards.get(mark.id % k) ?? []), mark]);
  const inOrder = [...shards].sort(([a], [b]) => a - b).map(([, shard]) => cuts(shard));
  let batch: Cut[] = [];
  for (const cut of inTurn(inOrder)) {
    batch.push(cut);
    if (batch.length < k) continue;
    yield element(batch);
    batch = [];
  }
  if (batch.length > 0 && !dropRemainder) yield element(batch);
}
