/** Changes the steps of episodes as columns, one episode at a time. */

import { withSchema } from "../../formats/sinks/writer.ts";
import { columnsOf } from "../../model/chunks.ts";
import type { DatasetForm, RldsDataset, RldsEpisode, RldsStep, StepSpec } from "../../model/dataset.ts";
import { attachSchema, deriveSchema, keepSpec } from "../../model/derive.ts";
import { numberLike, numberOfEpisode } from "../../model/episode-number.ts";
import { sameSpec } from "../../model/leaves.ts";
import { checkIterable } from "../../model/maybe-async.ts";
import { StepColumns } from "../../model/step-columns.ts";

/** An episode whose steps are columns. */
export type ColumnEpisode<S = unknown> = RldsEpisode<S> & { readonly steps: StepColumns<S> };

export type ColumnDataset = RldsDataset & AsyncIterable<ColumnEpisode<RldsStep>>;

export interface ColumnChange {
  /** Returns the new spec of the steps. By default, the spec does not change. @throws RangeError if the spec does not have a path */
  readonly stepSpec?: (spec: StepSpec) => StepSpec;
  readonly metadataSpec?: (spec: NonNullable<DatasetForm["metadataSpec"]>) => NonNullable<DatasetForm["metadataSpec"]>;
  /** Called at the beginning of each iteration. @returns a function that changes an episode, or returns undefined to leave the episode out */
  readonly begin: (
    stepSpec: StepSpec,
    metadataSpec: NonNullable<DatasetForm["metadataSpec"]>,
  ) => (episode: ColumnEpisode, index: number) => ColumnEpisode | undefined;
}

/**
 * Returns a dataset whose episodes are changed lazily. If steps arrive one by one, one episode is kept in memory. Otherwise, only the change itself takes
 * memory.
 */
export function mapColumns(rlds: RldsDataset<unknown>, { stepSpec = keepSpec, metadataSpec, begin }: ColumnChange): ColumnDataset {
  checkIterable("rlds", rlds);
  const episodes = {
    async *[Symbol.asyncIterator]() {
      const form = await withSchema(rlds);
      const change = begin(form.stepSpec, form.metadataSpec);
      let index = 0;
      try {
        for await (const episode of form.episodes) {
          const number = numberOfEpisode(episode, index++);
          const steps = await asColumns(episode, form.stepSpec, number);
          const result = change({ ...episode, steps }, number);
          if (result !== undefined) yield numberLike(result, episode);
        }
      } finally {
        await form.close();
      }
    },
  };
  return attachSchema(episodes as never, deriveSchema(rlds, stepSpec, metadataSpec)) as ColumnDataset;
}

async function asColumns({ steps }: RldsEpisode<unknown>, spec: StepSpec, episode: number): Promise<StepColumns<unknown>> {
  if (steps instanceof StepColumns && sameSpec(steps.spec, spec)) return steps;
  const { data, length } = await columnsOf(steps, spec, { episode });
  return new StepColumns(spec, data, length);
}
